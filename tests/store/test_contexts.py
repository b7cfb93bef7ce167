"""Contexts of judgements: kept only where that was wanted, bounded, redacted, deleted in time, and always accounted for."""

import datetime as dt
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Hand
from trueup import Contract
from trueup.contract.text import rebuilt
from trueup.store.contexts import UNKNOWN, listed, names_of, read, values_of, written
from trueup.store.open import open_store
from trueup.store.records import Note, new_id
from trueup.store.redaction import MARK, Redaction
from trueup.store.retention import Retention
from trueup.store.store import Store

CONTRACT = Contract(True, rules=["n < limit"], input=["limit"], name="limited")
GOOD = CONTRACT.check('{"n": 1}', {"input": {"limit": 5}})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=6), st.integers(0, 200))
def test_a_context_is_restored_or_says_what_is_missing(context: dict[str, Any], most: int) -> None:
    values = values_of(context, "", "")
    found, missing = read(names_of(context), "", "", written(values, None, most), was_kept=True)
    assert found is not None
    assert all(found[name] == context[name] for name in found)
    assert set(missing.values()) <= {"too_large", "not_kept"}
    assert "not_kept" not in missing.values() or "inf" in repr(context)
    gone = {name for name in context if name in values} - found.keys()
    assert {name.encode("utf-8", "replace") for name in gone} == {name.encode("utf-8", "replace") for name in missing}
    assert sum(len(json.dumps(value, ensure_ascii=False)) for value in found.values()) <= most + 50 * len(found)


@given(st.lists(st.text(max_size=20).filter(bool), max_size=50, unique=True))
def test_names_are_restored(names: list[str]) -> None:
    assert list(listed(names_of(dict.fromkeys(names, 1)))) == names


def test_by_default_only_names_and_the_state_are_stored(opened: Store) -> None:
    context = {"state": "ASKING", "conversation": "c-7", "input": {"limit": 5}, "history": [], "data": {}}
    stored = opened.get(opened.record_verdict(GOOD, contract=CONTRACT, context=context))
    assert (stored.state, stored.conversation) == ("ASKING", "c-7")
    assert stored.context == {"state": "ASKING", "conversation": "c-7"}
    assert stored.missing == {"input": "not_kept", "data": "not_kept"}, "an empty history is none"
    assert opened.read(lambda session: session.run("SELECT count(*) FROM contexts")) == [(0,)]
    assert opened.get(opened.record_verdict(GOOD, context={})).missing == {}
    unknown = opened.get(opened.record_verdict(GOOD))
    assert (unknown.context, unknown.missing) == (None, {UNKNOWN: "not_kept"})


def test_a_kept_context_is_enough_to_judge_again(database: Callable[[], str], clock: Hand) -> None:
    context = {
        "state": "ASKING",
        "input": {"limit": 5},
        "history": [{"role": "user", "content": "é\ud800"}],
        "data": {"n": 2**70},
    }
    with open_store(database(), clock=clock, keep_context=True) as store:
        for text in ('{"n": 1}', '{"n": 9}'):
            verdict = CONTRACT.check(text, context)
            stored = store.get(store.record_verdict(verdict, contract=CONTRACT, context=context))
            assert (stored.context, stored.missing, stored.kept) == (context, {}, "whole")
            rules = rebuilt(store.contract_text(stored.fingerprint) or "")
            assert stored.verdict is not None
            again = rules.check(stored.verdict.reply, stored.context)
            assert (again.ok, again.data, again.findings) == (verdict.ok, verdict.data, verdict.findings)
        assert [known["name"] for known in store.contracts()] == ["limited"], "each text once"
        clock.go(31 * 86_400)
        assert store.prune() == {"replies": 2, "contexts": 2}
        stored = store.get(stored.id)
        assert stored.missing == {"input": "expired", "history": "expired", "data": "expired"}
        assert stored.unjudgeable == "reply_expired"
        clock.go(365 * 86_400)
        assert store.prune() == {"verdicts": 2, "contracts": 1, "facts": 2}
        made = store.record_verdict(verdict, contract=CONTRACT)
        assert store.contract_text(store.get(made).fingerprint), (
            "a text that was deleted comes back with its next verdict"
        )


def test_a_history_that_grows_later_is_stored_as_it_was_at_the_check(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "Hi"}]
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        made = store.record_verdict(GOOD, context={"history": history}, wait=False)
        history.append({"role": "assistant", "content": "Hello"})
        store.flush()
        assert store.get(made).context == {"history": history[:1]}


def test_a_crowded_queue_drops_contexts(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        assert store.keepable({"data": 1}) == {"data": 1}
        assert store.keepable(None) is None
        done, release = threading.Event(), threading.Event()

        def hold(_: Any) -> None:
            done.set()
            release.wait(60)

        held = store._writer.submit(hold)
        try:
            assert done.wait(60)
            for _ in range(1000):
                store.note(Note(new_id(), GOOD, context=store.keepable({"data": 1})))
            assert store.keepable({"data": 1}) == "data"
        finally:
            release.set()
        held.result()


def test_an_oversized_context_loses_its_largest_parts_first(tmp_path: Path) -> None:
    context = {"a": "x" * 50, "b": "y" * 80, "c": "z" * 30, "when": dt.datetime.now(tz=dt.UTC), "f": len}
    with open_store(tmp_path / "s.db", keep_context=95) as store:
        stored = store.get(store.record_verdict(GOOD, context=context))
        assert stored.context == {"a": "x" * 50, "c": "z" * 30}
        assert stored.missing == {"b": "too_large", "when": "not_kept", "f": "not_kept"}
    with pytest.raises(ValueError, match="keep_context must be True, False or a number of bytes; got -1"):
        open_store(tmp_path / "s.db", keep_context=-1)


def test_a_context_is_redacted_like_its_reply(database: Callable[[], str]) -> None:
    rules = Redaction(patterns=(r"\b\d{16}\b",), fields=("email",))
    contract = Contract({"type": "object"})
    context = {
        "question": "I am ada@example.org", "data": {"email": "ada@example.org"}, "input": {"card": "4111111111111111"},
        "other": {"n": 1}, "said": "eve@example.org",
    }  # fmt: skip
    with open_store(database(), redaction=rules, keep_context=True) as store:
        stored = store.get(store.record_verdict(contract.check('{"email": "eve@example.org"}'), context=context))
        assert stored.context == {
            "question": f"I am {MARK}", "data": {"email": MARK}, "input": {"card": MARK}, "other": {"n": 1}, "said": MARK,
        }  # fmt: skip
        assert stored.missing == dict.fromkeys(("question", "data", "input", "said"), "redacted")
        assert (stored.kept, stored.unjudgeable) == ("redacted", "reply_redacted")
        plain = store.get(store.record_verdict(contract.check('{"n": 1}'), context={"other": 1}))
        assert (plain.kept, plain.missing, plain.context) == ("whole", {}, {"other": 1})


@pytest.mark.parametrize("bodies", ["none", "refused"])
def test_without_a_body_no_context_is_stored(tmp_path: Path, bodies: Any) -> None:
    with open_store(tmp_path / "s.db", redaction=Redaction(bodies=bodies), keep_context=True) as store:
        stored = store.get(store.record_verdict(GOOD, context={"data": {"name": "Ada"}}))
        assert (stored.context, stored.missing, stored.unjudgeable) == ({}, {"data": "not_kept"}, "reply_not_kept")
    assert not any(b"Ada" in part.read_bytes() for part in tmp_path.iterdir())


def test_contexts_are_never_kept_longer_than_replies(opened: Store, clock: Hand) -> None:
    assert Retention().days_of_contexts == 30
    assert Retention(contexts=40).days_of_contexts == 30
    assert Retention(replies=None).days_of_contexts is None
    opened.follow(Redaction(), Retention(contexts=7), keep_context=True)
    made = opened.record_verdict(GOOD, context={"data": {"n": 1}})
    clock.go(8 * 86_400)
    assert opened.prune() == {"contexts": 1}
    assert opened.get(made).missing == {"data": "expired"}
    opened.follow(Redaction(), Retention(), keep_context=False)
    assert opened.get(opened.record_verdict(GOOD, context={"data": {}})).missing == {"data": "not_kept"}


def test_exports_contain_contexts(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        store.record_verdict(GOOD, contract=CONTRACT, context={"input": {"limit": 5}, "f": len}, conversation="c")
        for ending in ("jsonl", "csv", "parquet"):
            assert store.export(tmp_path / f"v.{ending}") == 1
        line = json.loads((tmp_path / "v.jsonl").read_text())
        assert (line["context"], line["missing"], line["conversation"]) == (
            {"input": {"limit": 5}},
            {"f": "not_kept"},
            "c",
        )
        assert line["kept"] == "whole"
        assert line["engine"]
        store.export(tmp_path / "lean.jsonl", bodies=False)
        assert "context" not in json.loads((tmp_path / "lean.jsonl").read_text())


SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"


@pytest.mark.parametrize("keep", [False, True])
def test_a_name_that_is_a_key_is_stored_nowhere(tmp_path: Path, keep: bool) -> None:
    rules = Contract({"type": "object"}, rules=[f"token == '{SECRET}'", "token == 'our own word'"])
    with open_store(
        tmp_path / "s.db", keep_context=keep, redaction=Redaction(fields=("mail",), words=("our own word",))
    ) as store:
        context = {SECRET: 1, f"{SECRET}2": 2, "our own word": 3, "mail": "ada@example.org", "plain": 4}
        stored = store.get(store.record_verdict(rules.check('{"token": "x"}'), contract=rules, context=context))
        assert stored.missing["[redacted]"] == ("redacted" if keep else "not_kept")
        assert set(stored.missing) - {"plain"} == {"[redacted]", "mail"}
        assert stored.context == ({"plain": 4, "mail": "[redacted]"} if keep else {})
        store.erase("nobody")  # empties the write-ahead log
    whole = (tmp_path / "s.db").read_bytes()
    assert SECRET.encode() not in whole
    assert b"our own word" not in whole
    assert b"our\\u0020own" not in whole


def test_names_count_toward_the_size_and_their_number_is_limited(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", keep_context=1000) as store:
        many = store.record_verdict(GOOD, context={f"name {n}": n for n in range(5000)})
        long = store.record_verdict(GOOD, context={"n" * 100_000: 1, "a": 2})
        sizes = store.read(lambda session: session.run("SELECT length(body) FROM contexts"))
        assert max(size for (size,) in sizes) < 5000
        assert store.get(long).missing == {"n" * 100: "too_large"}
        missing = store.get(many).missing
        assert len(missing) == 51
        assert missing["…"] == "too_large"


@pytest.mark.parametrize("names", [60, 1])
def test_a_stored_entry_is_not_reported_missing_whatever_its_name(tmp_path: Path, names: int) -> None:
    context = {f"{'n' * 150} {n}": n for n in range(names)} | {"?": 0} if names > 1 else {"?": 0}
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        stored = store.get(store.record_verdict(GOOD, context=context))
        assert (stored.context, stored.missing) == (context, {})


def test_a_name_that_cannot_be_encoded_is_reported_missing_with_the_reason(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        stored = store.get(store.record_verdict(GOOD, context={"a\ud800": object()}))
        assert stored.missing == {"a\ud800": "not_kept"}
