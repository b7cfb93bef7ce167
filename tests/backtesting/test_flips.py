"""Flips: planted changes are found exactly, equal contracts flip nothing, and every reply is judged or counted with a
reason."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup
from tests.backtesting.making import NEW, OLD, REPLIES, contracts, write_units
from tests.effort import SOAK
from tests.store.conftest import Hand
from tests.store.test_rejudging import CONTRACTS, History
from trueup import Contract
from trueup.backtesting.backtest import backtest
from trueup.backtesting.judging import Pair
from trueup.backtesting.needs import needs
from trueup.backtesting.result import Backtest
from trueup.material.case import Case, Recorded
from trueup.material.selection import Selection
from trueup.material.sources import SourceName
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention

KINDS = [(kind, text) for kind, texts in REPLIES.items() for text in texts]
ODD = [b"[1]", b"\xff\xfe", b'{"unit_id": "torn', b'{"unit_id": "x", "raw_response": null}', b"{}", b'"n"']


def counted(found: Backtest) -> dict[str, int]:
    return {
        "same": found.unchanged, "newly_refused": found.newly_refused, "newly_accepted": found.newly_accepted,
        "value_changed": found.value_changed,
    }  # fmt: skip


@pytest.mark.spec("B14")
@given(st.lists(st.sampled_from(KINDS), max_size=40), st.lists(st.sampled_from(ODD), max_size=5))
def test_planted_changes_are_found_exactly_and_nothing_is_lost(
    planted: list[tuple[str, str]], odd: list[bytes]
) -> None:
    new, old = contracts()
    kinds = Counter(kind for kind, _ in planted)
    found = trueup.backtest(new, [text for _, text in planted] + [None] * len(odd), against=old)
    assert counted(found) == {kind: kinds[kind] for kind in REPLIES}
    assert found.total == found.judged + sum(found.unjudgeable.values()) == len(planted) + len(odd)
    assert dict(found.unjudgeable) == ({"no_reply": len(odd)} if odd else {})


@pytest.mark.spec("B14")
@given(
    st.lists(st.one_of(st.sampled_from(KINDS).map(lambda pair: pair[1]), st.text(max_size=40)), max_size=30),
    st.booleans(),
)
def test_a_contract_against_itself_flips_nothing(texts: list[str], rebuilt: bool) -> None:
    old = Contract(OLD)
    found = backtest(Contract(OLD) if rebuilt else old, texts, against=old)
    assert (found.flips, found.judged, found.same) == (0, len(texts), True)
    assert found.equivalent or len(texts) < 300
    again = backtest(Contract(OLD, name="x", accept="guess"), [(old.check(text), None) for text in texts])
    assert (again.flips, again.judged) == (0, len(texts))


def test_files_of_every_kind_of_line_lose_nothing(tmp_path: Path) -> None:
    dice = random.Random(5)
    lines: list[Any] = [dice.choice([*ODD, b"", *(text for _, text in KINDS)]) for _ in range(500)]
    file = write_units(tmp_path / "units.jsonl", lines)
    new, old = contracts()
    found = backtest(new, file, against=old)
    kinds = Counter(kind for line in lines if isinstance(line, str) for kind, text in KINDS if text == line)
    assert counted(found) == dict(kinds)
    assert found.total == found.judged + sum(found.unjudgeable.values()) == sum(line != b"" for line in lines)
    assert set(found.unjudgeable) == {"not_a_unit", "unreadable", "no_reply"}


@pytest.mark.spec("B14")
@pytest.mark.parametrize("seed", range(40 if SOAK else 2))
def test_a_store_with_expired_redacted_and_unkept_replies_loses_nothing(database: Callable[[], str], seed: int) -> None:
    new, old = contracts()
    dice = random.Random(seed)
    url = database()
    settings = [Redaction(), Redaction(bodies="none"), Redaction(words=("20",)), Redaction(bodies="refused")]
    contexts = [{}, {"history": [{"role": "user", "content": "20"}]}, {"input": {"limit": 5}, "state": "A"}, None]
    total = 0
    for redaction in settings:
        with open_store(url, redaction=redaction, keep_context=dice.choice([False, True, 30])) as store:
            for _ in range(40):
                text, context = (
                    dice.choice([*(text for _, text in KINDS), "", "\ud800", '{"n": 1' + "0" * 400 + "}"]),
                    dice.choice(contexts),
                )
                store.record_verdict(
                    old.check(text), contract=old, context=context, request=f"{total // 2}", wait=False
                )
                total += 1
            store.flush()
    found = backtest(new, url, against=old)
    assert found.total == total == found.judged + sum(found.unjudgeable.values())
    assert {"reply_not_kept", "reply_redacted"} <= set(found.unjudgeable)
    assert found.judged >= 40
    raising = Contract(NEW, checks=[breaks])
    broken = backtest(raising, url, against=old, workers=1)
    assert broken.total == total == broken.judged + sum(broken.unjudgeable.values())
    assert {"check_raised", "context_not_kept"} <= set(broken.unjudgeable)
    same = backtest(old, url, against=old)
    assert (same.total, same.flips, same.judged) == (total, 0, found.judged)
    with open_store(url) as store:
        held = backtest(new, store, against=old)
        assert (held.judged, held.unjudgeable, counted(held)) == (found.judged, found.unjudgeable, counted(found))
        store.prune(Retention(replies=0))
        gone = backtest(new, store, against=old)
    assert (gone.total, gone.judged, sum(gone.unjudgeable.values())) == (total, 0, total)
    assert set(gone.unjudgeable) == {"reply_expired", "reply_not_kept"}


@pytest.mark.spec("B14")
@pytest.mark.parametrize("seed", range(40 if SOAK else 2))
def test_random_histories_lose_nothing(database: Callable[[], str], seed: int) -> None:
    """Expiry, redaction, contexts of any size, erased tenants and users, and verdicts written during the backtest."""
    clock = Hand()
    url = database()
    with open_store(url, clock=clock) as store:
        history = History(store, clock, seed)
        steps = [history.record] * 8 + [history.say, history.follow, history.wait, history.prune, history.erase]
        for _ in range(80):
            history.chance.choice(steps)()
        expected = Counter(one["contract"].name for one in history.verdicts.values())
        for contract in CONTRACTS:
            for against in (contract, None):
                chosen = Selection(contract=contract.name)
                found = backtest(
                    contract, url, against=against, selection=chosen, on_progress=lambda _: history.record()
                )
                assert found.total == found.judged + sum(found.unjudgeable.values()) == expected[contract.name]
                assert (found.flips, found.judged) == (0, found.unchanged)
                expected = Counter(one["contract"].name for one in history.verdicts.values())
                if not expected[contract.name]:
                    continue
                store.flush()
                twice = backtest(Contract(OLD), [SourceName(url), SourceName(url)], against=contract)
                assert twice.total == 2 * sum(expected.values()) == twice.judged + sum(twice.unjudgeable.values())


def breaks(verdict: Any, context: Any) -> None:
    """A check that raises for some replies."""
    if "20" in verdict.reply.text:
        raise KeyError("20")


def test_recorded_outcomes_replace_the_old_contract() -> None:
    new, old = contracts()
    verdicts = [old.check(text) for _, text in KINDS]
    found = backtest(new, verdicts)
    assert counted(found) == {kind: len(texts) for kind, texts in REPLIES.items()}
    none = backtest(new, [text for _, text in KINDS])
    assert (none.judged, dict(none.unjudgeable)) == (0, {"no_outcome": len(KINDS)})
    assert none.conclusion == "No reply could be judged under both contracts."


def test_verdicts_that_are_recorded_under_the_same_fingerprint_are_not_made_again() -> None:
    new, old = contracts()

    def recorded(fingerprint: str, engine: str) -> Case:
        return Case("1", '{"n": 5}', {}, recorded=Recorded(True, data={"n": 5}, fingerprint=fingerprint, engine=engine))

    judged = Pair(new, old).judge(recorded(old.fingerprint, trueup.__version__))
    assert (judged.kind, judged.verdicts, judged.skipped) == ("newly_refused", 1, 1)
    for other in (recorded("", trueup.__version__), recorded(old.fingerprint, "0.0.0"), recorded(old.fingerprint, "")):
        judged = Pair(new, old).judge(other)
        assert (judged.kind, judged.verdicts, judged.skipped) == ("newly_refused", 2, 0)
    same = Pair(old, old).judge(recorded(old.fingerprint, trueup.__version__))
    assert (same.kind, same.verdicts, same.skipped) == ("same", 0, 2)
    once = Pair(old, old).judge(recorded("", ""))
    assert (once.kind, once.verdicts, once.skipped) == ("same", 1, 1)


class Plain(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def positive(cls, value: int) -> int:
        assert value > 0
        return value


class Knowing(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def small(cls, value: int, info: pydantic.ValidationInfo) -> int:
        assert value < ((info.context or {}).get("limit", 10))
        return value


LOOK = {"name": "look", "parameters": {"type": "object", "properties": {}}}
BOOK = {"name": "book", "parameters": {"type": "object", "properties": {"day": {"type": "string"}}}}
LOOKING: list[dict[str, Any]] = [
    {"schema": NEW},
    {"schema": NEW, "rules": ["n > limit"], "input": ["limit"]},
    {"schema": Knowing},
    {"schema": Plain, "rules": ["n > 3"]},
    {"reply": True},
    {"reply": {"rules": [{"name": "other", "expr": "question not in text and first and not data"}]}},
    {"reply": {"rules": [{"name": "here", "expr": "state == 'A'"}]}},
    {"states": {"A": {"forbid": [{"terms": ["book"]}]}, "B": {"forbid": [{"terms": ["sentence"]}]}}},
    {"tools": [LOOK, BOOK]},
    {"checks": [lambda verdict, context: None if "mood" in context else "no mood"]},
]
HELD: dict[str, Any] = {
    "state": "A", "data": {"day": "Monday"}, "input": {"limit": 15, "state": "B"}, "question": "a whole sentence", "first": False,
    "expected_sequence": ["look", "book"], "offered": ["look"], "limit": 5, "mood": "glad", "conversation": "c",
    "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "x"}],
}  # fmt: skip
SAID = [
    '{"n": 20}', '{"n": 7}', '{"n": 2}', "a whole sentence, by the way", "I look it up, then I book it.",
    '<tool_call>{"name": "book", "arguments": {"day": "Monday"}}</tool_call>',
    '<tool_call>{"name": "look", "arguments": {}}</tool_call>',
]  # fmt: skip


@given(st.sampled_from(LOOKING), st.sets(st.sampled_from(sorted(HELD))), st.sampled_from(SAID))
def test_unneeded_context_does_not_change_a_verdict(options: dict[str, Any], held: set[str], said: str) -> None:
    contract = Contract(**options)
    context = {name: HELD[name] for name in held}
    needed = needs(contract)
    whole = contract.check(said, context)
    if "anything" not in needed:
        fewer = contract.check(said, {name: value for name, value in context.items() if name in needed})
        assert (fewer.ok, fewer.data, fewer.findings.errors) == (whole.ok, whole.data, whole.findings.errors)


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"schema": NEW}, set()),
        ({"schema": NEW, "rules": ["n > 1"]}, set()),
        ({"schema": NEW, "rules": ["n > limit"], "input": ["limit"]}, {"input"}),
        ({"reply": True}, {"offered"}),
        ({"states": {"A": {}}}, {"state", "data", "history", "input", "offered"}),
        ({"reply": {"rules": [{"name": "kind", "expr": "'no' not in text"}]}}, {"offered"}),
        ({"reply": {"rules": [{"name": "kind", "expr": "question != text"}]}}, {"offered", "question", "history"}),
        ({"reply": {"rules": [{"name": "kind", "check": lambda reply, context: True}]}}, {"offered", "anything"}),
        ({"schema": Plain}, set()),
        ({"schema": Knowing}, {"anything"}),
        ({"tools": [{"name": "book", "parameters": {}}]}, {"history", "expected_sequence"}),
        ({"schema": NEW, "checks": [breaks]}, {"anything"}),
    ],
)
def test_a_contract_needs_the_context_that_it_looks_at(options: dict[str, Any], needed: set[str]) -> None:
    contract = Contract(**options)
    assert needs(contract) == needed
    reply = "a whole sentence, by the way" if "schema" not in options else '{"n": 20}'
    missing = Case("1", reply, {}, missing=("history", "input"), missing_why=("context_too_large", "context_redacted"))
    judged = Pair(contract, contract).judge(missing)
    expected = (
        "context_too_large" if needed & {"history", "anything"} else "context_redacted" if "input" in needed else None
    )
    assert judged.reason == expected


def test_calls_count_as_values() -> None:
    tool = {
        "name": "book",
        "parameters": {"type": "object", "properties": {"day": {"type": "string"}, "n": {"type": "integer"}}},
    }
    loose = {"name": "book", "parameters": {"type": "object", "properties": {"day": {"type": "string"}}}}
    reply = '<tool_call>{"name": "book", "arguments": {"day": "Monday", "n": "2"}}</tool_call>'
    found = backtest(Contract(tools=[tool]), [reply], against=Contract(tools=[loose]))
    assert (found.value_changed, found.groups["path"][0]["key"]) == (1, "$.calls[].args.n")


def test_flips_are_grouped_with_an_example_each() -> None:
    new, old = contracts()
    given = [
        Case(f"{kind}{number}", text, {}, model=f"m{number % 2}", state=kind, tenant="t")
        for kind, texts in REPLIES.items()
        for number, text in enumerate(texts)
    ]
    found = backtest(new, given, against=old)
    codes = {(row["kind"], row["key"]): row["count"] for row in found.groups["code"]}
    assert codes == {("newly_refused", "V004"): 3, ("newly_accepted", "V004"): 2}
    paths = {(row["kind"], row["key"]): row["count"] for row in found.groups["path"]}
    assert paths == {("newly_refused", "$.n"): 3, ("newly_accepted", "$.n"): 2, ("value_changed", "$.t"): 2}
    assert {
        row["key"]: (row["count"], row["of"]) for row in found.groups["state"] if row["kind"] == "newly_refused"
    } == {"newly_refused": (3, 3)}
    example = next(row["example"] for row in found.groups["reason"] if row["kind"] == "newly_refused")
    assert (example["reason"], example["was"], example["now"]) == ("V004 $.n", "accepted", "refused")
    assert example["text"][slice(*example["span"])].strip('"') == "5"
    changed = found.examples["value_changed"][0]
    assert (changed["path"], changed["before"][:1], changed["after"]) == ("$.t", '"', changed["before"].strip('"'))


def test_a_selection_limits_the_replies() -> None:
    new, old = contracts()
    given = [Case(str(n), '{"n": 5}', {}, model=f"m{n % 3}") for n in range(30)]
    assert backtest(new, given, against=old, selection=Selection(model="m1")).total == 10
    assert backtest(new, iter(given), against=old).total == 30
    many = [Case(str(n), '{"n": 5}', {}) for n in range(3000)]
    some = backtest(new, many, against=old, sample=600)
    assert (some.complete, some.total) == (False, 1000)
    assert some.share == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "dask"}, "`engine` must be local or ray"),
        ({"margin": 0}, "`margin` must be a share"),
        ({"against": 7}, "a contract is a path"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        backtest(contracts()[0], ["{}"], **options)
    with pytest.raises(TypeError, match="iterable of replies"):
        backtest(contracts()[0], 7)  # type: ignore[arg-type]
