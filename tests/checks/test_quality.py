"""The learned score: what a model sees, when it abstains, what a contract does with it, and invalid models."""

import json
import pickle
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import assert_linear
from trueup import Contract
from trueup.backtesting.needs import needs
from trueup.checks.scoring import FORMAT, MOST_BYTES, BadModel, Evaluation, Facts, Model, Scorer, grams, read_model
from trueup.contract.files.faults import ContractError
from trueup.contract.lint.run import lint_contract
from trueup.contract.streaming.holding_back import hold

FACTS = Facts(labels=100, good=60, bad=40)
PASSED = Evaluation(passed=True)


def model_of(weights: dict[str, int], **more: Any) -> Model:
    """A model that knows some words, or pairs of words."""
    rows = sorted((crc32(name.encode()) & 0xFFFFF, weight) for name, weight in weights.items())
    steps = [bucket - before for before, (bucket, _) in zip([0, *(bucket for bucket, _ in rows)], rows, strict=False)]
    options: dict[str, Any] = {"unfamiliar": 1.0, "facts": FACTS, "evaluation": PASSED, **more}
    return Model(FORMAT, steps, [weight for _, weight in rows], 1.0, 0.0, 1.0, 0.0, **options)


RUDE = model_of({"stupid": -9, "thanks": 9})


@pytest.mark.spec("Q15")
def test_a_low_score_is_a_warning_with_the_words_against_it() -> None:
    contract = Contract(quality={"model": RUDE})
    verdict = contract.check("What a stupid thing to ask.")
    (found,) = verdict.findings
    assert (found.code, found.path, found.level) == ("Q008", "$", "warning")
    assert found.data["because"] == ["stupid"]
    assert found.message.endswith("below 0.7: “stupid” speaks against it")
    assert verdict.ok
    assert found.data["score"] == verdict.metrics["quality"] < 0.7
    fine = contract.check("Thanks for asking, with pleasure.")
    assert not fine.findings
    assert fine.metrics["quality"] > 0.7


@pytest.mark.spec("Q15")
def test_the_contract_sets_the_threshold_and_the_level() -> None:
    said = "What a stupid thing to ask."
    assert not Contract(quality={"model": RUDE, "below": 0.01}).check(said).findings
    assert not Contract(quality={"model": RUDE, "level": "error"}).check(said).ok
    assert not Contract(quality={"model": RUDE}, strict=True).check(said).ok


@pytest.mark.spec("Q15")
@pytest.mark.parametrize(
    "options",
    [{"model": RUDE, "shadow": True}, {"model": msgspec.structs.replace(RUDE, evaluation=Evaluation(passed=False))}],
    ids=["asked for", "not passed"],
)
def test_in_shadow_mode_the_score_is_only_recorded(options: dict[str, Any]) -> None:
    verdict = Contract(quality={"level": "error", **options}).check("What a stupid thing to ask.")
    assert verdict.ok
    assert not verdict.findings
    assert verdict.metrics["quality"] < 0.7


@pytest.mark.spec("Q15")
@pytest.mark.parametrize(
    ("model", "reply", "why"),
    [
        (msgspec.structs.replace(RUDE, unfamiliar=0.5), "Das ist eine ganz andere Sprache.", "unfamiliar text"),
        (msgspec.structs.replace(RUDE, facts=Facts(labels=79)), "What a stupid thing.", "fewer than 80 labels"),
        (RUDE, "?!", "no words"),
        (RUDE, "<think>stupid</think>", "no words"),
    ],
)
def test_it_abstains_and_says_why(model: Model, reply: str, why: str) -> None:
    verdict = Contract(quality={"model": model}).check(reply)
    assert verdict.metrics == {"quality": None, "quality_abstained": why}
    assert not verdict.findings


def test_words_count_by_state_if_a_model_learned_so() -> None:
    model = model_of({"SLOT|booked": -9, "booked": 1}, by_state=True)
    contract = Contract(quality={"model": model})
    low, high = (contract.check("It is booked.", {"state": state}).metrics["quality"] for state in ("SLOT", "DONE"))
    assert low < 0.3 < high
    plain = Contract(quality={"model": msgspec.structs.replace(model, by_state=False)})
    assert plain.check("It is booked.", {"state": "SLOT"}).metrics == plain.check("It is booked.").metrics


def test_a_backtest_knows_what_a_score_depends_on() -> None:
    states = model_of({"booked": 1}, by_state=True)
    assert "state" in needs(Contract(quality={"model": states}))
    assert "state" not in needs(Contract(quality={"model": RUDE}))
    assert {"question", "history"} <= needs(Contract(relevance=True))


def test_case_accents_digits_and_reasoning_do_not_count() -> None:
    scorer = Scorer(model_of({"manana": -3, "00": 2}))
    assert scorer.score("Mánana, 10:30").value == scorer.score("MANANA, 09:15").value
    contract = Contract(quality={"model": RUDE})
    assert contract.check("<think>stupid</think>Thanks.").metrics == contract.check("Thanks.").metrics


def test_letters_of_scripts_without_spaces_are_words() -> None:
    assert len(grams("東京です").words) == 4


@given(st.text(max_size=200), st.text(max_size=10))
@example("\ud800 a the", "\udfff")
def test_the_same_reply_has_the_same_score_between_0_and_1(text: str, state: str) -> None:
    scorer = Scorer(model_of({"a": -5, "the": 3, "^ a": 2}, by_state=True))
    score = scorer.score(text, state)
    assert score == Scorer(scorer.model).score(text, state)
    assert score.value is None or 0 <= score.value <= 1
    scorer.against(text, state)


def test_streams_checks_and_copies_agree() -> None:
    contract = Contract(quality={"model": RUDE}, reply=True)
    text = "What a stupid thing to ask."
    verdict = contract.check(text)
    assert contract.stream([text[:7], text[7:]]).finish() == verdict
    assert pickle.loads(pickle.dumps(contract)).check(text) == verdict
    assert verdict.metrics["total_text_length"] == len(text)


async def _acheck(contract: Contract[Any], text: str) -> Any:
    return await contract.acheck(text)


def test_the_asynchronous_way_agrees() -> None:
    import asyncio

    contract = Contract(quality={"model": RUDE})
    assert asyncio.run(_acheck(contract, "stupid")) == contract.check("stupid")


def test_a_warning_is_not_asked_about_again_and_an_error_is() -> None:
    replies = ["What a stupid thing to ask.", "Thanks for asking, with pleasure."]
    for level, asked in (("warning", 1), ("error", 2)):
        left = iter(replies)
        answer = Contract(quality={"model": RUDE, "level": level}).ask(lambda messages, left=left: next(left), "Why?")
        assert (answer.ok, len(answer.attempts)) == (True, asked)
        assert answer.verdict.metrics["quality"] is not None


@pytest.mark.parametrize(
    ("options", "strict", "shown"),
    [({"level": "error"}, False, 0), ({}, True, 0), ({}, False, 1), ({"level": "error", "shadow": True}, True, 1)],
)
def test_a_stream_is_held_back_if_a_score_can_refuse_it(options: dict[str, Any], strict: bool, shown: int) -> None:
    contract = Contract(quality={"model": RUDE, **options}, strict=strict)
    holder = hold(contract, "auto", {})
    parts = [
        part for piece in ("What a stupid thing to ask. ", "I will not say. ", "More.") for part in holder.feed(piece)
    ]
    assert bool(parts) is bool(shown)


def test_a_sift_records_the_finding(tmp_path: Path) -> None:
    from trueup.batch.judging.contracts import spec_of
    from trueup.batch.sift import SiftOptions, sift

    lines = [
        {"unit_id": str(n), "raw_response": text} for n, text in enumerate(('{"say": "stupid"}', '{"say": "thanks"}'))
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    spec = spec_of(Contract({"type": "object"}, quality={"model": RUDE}))
    sift([str(tmp_path / "lines.jsonl")], spec, tmp_path / "out", SiftOptions(workers=2))
    rows = [json.loads(line) for line in (tmp_path / "out" / "validated.jsonl").read_text("utf-8").splitlines()]
    assert [[one["code"] for one in row.get("warnings", ())] for row in rows] == [["Q008"], []]


def test_a_contract_with_a_score_takes_no_shortcut() -> None:
    contract = Contract({"type": "object"}, quality={"model": RUDE})
    assert contract.short_way is None
    assert contract.clean('{"say": "stupid"}', {}) is None
    assert contract.check('{"say": "stupid"}').warnings[0].code == "Q008"
    assert contract.without_scores().short_way is not None


def test_the_content_of_a_model_counts_and_its_path_does_not(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for path in (one, other):
        path.write_bytes(msgspec.json.encode(RUDE))
    contract = Contract(quality={"model": one})
    same = Contract(quality={"model": str(other)}), Contract(quality={"model": msgspec.to_builtins(RUDE)})
    assert {contract.fingerprint} == {each.fingerprint for each in same}
    assert contract.fingerprint != Contract(quality={"model": model_of({"stupid": -8})}).fingerprint
    assert contract.fingerprint != Contract(quality={"model": one, "below": 0.6}).fingerprint
    assert repr(contract) == "<Contract quality>"
    one.unlink()
    assert pickle.loads(pickle.dumps(contract)).fingerprint == contract.fingerprint


def test_a_file_names_its_model_relative_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "model.json").write_bytes(msgspec.json.encode(RUDE))
    (tmp_path / "base.yaml").write_text("quality: {model: model.json, below: 0.6}\n", "utf-8")
    (tmp_path / "contract.yaml").write_text("extends: base.yaml\nquality: {level: error}\n", "utf-8")
    contract = Contract.load(tmp_path / "contract.yaml")
    verdict = contract.check("stupid")
    assert (verdict.errors[0].code, verdict.errors[0].data["below"]) == ("Q008", 0.6)
    assert contract.fingerprint == Contract(quality={"model": RUDE, "below": 0.6, "level": "error"}).fingerprint


def test_a_file_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text("quality: {below: 0.6}\n", "utf-8")
    with pytest.raises(ContractError, match="N006 has no model; name the file"):
        Contract.load(tmp_path / "contract.yaml")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "quality: has no model"),
        ({"model": RUDE, "blow": 1}, "quality.blow: unknown option"),
        ({"model": RUDE, "below": 7}, "quality.below: takes a number between 0 and 1"),
        ({"model": RUDE, "below": True}, "quality.below"),
        ({"model": RUDE, "level": "info"}, "quality.level: takes warning or error"),
        ({"model": RUDE, "shadow": "yes"}, "quality.shadow: takes true or false"),
        ({"model": "nowhere.json"}, "quality.model: nowhere.json: the model cannot be read: No such file"),
        ({"model": "/"}, "it is not a file"),
        ({"model": "m" * 5000}, "the model cannot be read: File name too long"),
        ({"model": 5}, "quality.model: not a quality model"),
        ("model.json", "quality: takes a table"),
    ],
)
def test_wrong_options_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Contract(quality=options)


def broken(**changes: Any) -> dict[str, Any]:
    return {**msgspec.to_builtins(RUDE), **changes}


HOSTILE: dict[str, Any] = {
    "another format": broken(format="pickle"),
    "too few weights": broken(weights=[1]),
    "a weight that is text": broken(weights=["1", "2"]),
    "steps that fall": broken(steps=[9, -4]),
    "steps that stay": broken(steps=[9, 0]),
    "a bucket outside": broken(steps=[1, 1 << 20]),
    "huge weights": broken(weights=[1, 10**12]),
    "bits": broken(bits=60),
    "no slope": broken(slope=-1.0),
    "a share over one": broken(unfamiliar=1.5),
    "counts": broken(facts={"labels": 3, "good": 5}),
    "an unknown key": broken(code="import os"),
    "a list": [],
    "nothing": {},
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_other_data_is_not_a_model(source: Any, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="not a quality model"):
        read_model(source)
    (tmp_path / "model.json").write_text(json.dumps(source), "utf-8")
    (tmp_path / "contract.yaml").write_text("quality: {model: model.json}\n", "utf-8")
    with pytest.raises(ContractError, match="N028"):
        Contract.load(tmp_path / "contract.yaml")


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x80\x04\x95", b"{", b"[" * 100_000, b'{"format": "\xff"}', b"NaN", b" " * (MOST_BYTES + 1),
     msgspec.json.encode(RUDE).replace(b'"scale":1.0', b'"scale":1e999')],
)  # fmt: skip
def test_damaged_files_are_refused(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(raw)
    (tmp_path / "contract.yaml").write_text("quality: {model: model.json}\n", "utf-8")
    linted = lint_contract(tmp_path / "contract.yaml")
    assert [(found.code, found.path, found.line) for found in linted.faults] == [("N028", "$.quality.model", 1)]


@given(st.data())
def test_a_damaged_byte_gives_a_model_or_a_refusal(data: st.DataObject) -> None:
    raw = bytearray(msgspec.json.encode(RUDE))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        model = read_model(bytes(raw))
    except BadModel:
        return
    value = Scorer(model).score("What a stupid thing to ask.").value
    assert value is None or 0 <= value <= 1


@pytest.mark.parametrize("changes", [{"bits": 1 << 60_000}, {"facts": {"labels": 1, "good": 1 << 60_000}}])
def test_numbers_that_are_too_long_to_write_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadModel):
        read_model(broken(**changes))


def test_a_model_survives_its_file() -> None:
    assert read_model(msgspec.json.encode(RUDE)) == RUDE
    assert read_model(msgspec.to_builtins(RUDE)) == RUDE


def test_time_grows_with_the_text() -> None:
    scorer = Scorer(RUDE)
    assert_linear(lambda text: scorer.score(text), lambda n: "What a stupid thing to ask, María? " * (n // 35), 48_000)
