"""Sources: equal replies from a file, a sift, a run, a store and Python; every line is a case, and errors are clear."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import ANSWER, GOOD, asking, reply, run_pipeline, write_pipeline
from trueup import Contract
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import SiftOptions, sift
from trueup.batch.siftdir.directory import read_sifted
from trueup.material.case import Case, Label, Recorded
from trueup.material.labels import BadLabels, read_labels
from trueup.material.selection import Selection
from trueup.material.sources import SourceError, cases, open_material
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.verdict.reply import Reply

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
TEXTS = ['{"n": 1}', '{"n": "2",}', "sorry", '{"m": 1}', '```json\n{"n": 5}\n```', '{"n": 6, "é": "ü"}']


def write_units(path: Path, texts: list[str] = TEXTS) -> Path:
    rows = [{"unit_id": f"u{n}", "input": {}, "raw_response": text} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def texts_of(found: list[Case]) -> list[str]:
    return sorted(case.text for case in found)


def test_every_source_gives_the_same_replies(tmp_path: Path, database: Callable[[], str]) -> None:
    plain = write_units(tmp_path / "plain.jsonl")
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    sift([str(plain)], spec_of(options={"schema": SCHEMA}), tmp_path / "sifted", SiftOptions(workers=1))
    contract = Contract(SCHEMA, name="n")
    with open_store(database()) as store:
        for number, text in enumerate(TEXTS):
            store.record_verdict(contract.check(text), request=f"r{number}", contract=contract, context={})
        store.export(tmp_path / "exported.jsonl")
        found = {
            "store": list(cases([store])),
            "exported": list(cases([tmp_path / "exported.jsonl"])),
            "plain": list(cases([str(plain)])),
            "packed": list(cases([packed])),
            "sifted": list(cases([tmp_path / "sifted"])),
            "python": list(cases([TEXTS])),
            "pairs": list(cases([[(text, {"state": "A"}) for text in TEXTS]])),
            "verdicts": list(cases([[contract.check(text) for text in TEXTS]])),
            "stored": list(cases([list(store.verdicts())])),
        }
    for name, each in found.items():
        assert texts_of(each) == sorted(TEXTS), name
        assert not any(case.unjudgeable for case in each), name
    for name in ("store", "exported", "stored", "verdicts"):
        assert [case.recorded.ok for case in found[name] if case.recorded] == [contract.check(t).ok for t in TEXTS], (
            name
        )
    for name in ("store", "exported", "stored"):
        assert {case.recorded.fingerprint for case in found[name] if case.recorded} == {contract.fingerprint}, name
        assert [case.conversation for case in found[name]] == [f"r{n}" for n in range(len(TEXTS))], name
        assert not any(case.missing for case in found[name]), name
    assert sum(case.recorded.ok for case in found["sifted"] if case.recorded) == sum(
        contract.check(t).ok for t in TEXTS
    )


def test_the_replies_of_a_run_have_their_step_and_their_outcome(tmp_path: Path) -> None:
    replies = [*reply("say", "a", "{}", GOOD), *reply("say", "b", GOOD), *reply("say", "c", "{}", "{}", "{}")]
    folder = write_pipeline(tmp_path / "pipeline", [asking("say", ANSWER)], replies=replies)
    run = run_pipeline(folder, tmp_path / "run").path
    found = sorted(cases([run]), key=lambda case: case.id)
    assert [case.id for case in found] == ["a", "a#2", "b", "c", "c#2", "c#3"]
    assert [case.recorded.ok for case in found if case.recorded] == [False, True, True, False, False, False]
    assert {case.contract for case in found} == {"say"}
    assert (found[1].attempt, found[1].attempts, found[1].conversation) == (2, 2, "a")
    assert found[0].context is not None
    assert found[0].context["input"]["unit_id"] == "a"
    assert "Say a" in found[0].context["question"]
    assert list(cases([run], Selection(contract="other"))) == []


def test_a_line_without_a_reply_is_a_case_with_a_reason(tmp_path: Path) -> None:
    lines = [
        b'{"unit_id": "a", "raw_response": "{}"}', b"", b"[1]", b"\xff", b'{"unit_id": "torn', b'{"unit_id": "b", "raw_response": null}',
        b'{"custom_id": "c", "error": {"message": "overloaded"}, "response": null}',
        b'{"id": "v", "ok": true, "codes": [], "attempts": 1, "body": null}',
    ]  # fmt: skip
    file = tmp_path / "odd.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    found = list(cases([file]))
    reasons = [case.unjudgeable for case in found]
    assert reasons == [None, "not_a_unit", "unreadable", "unreadable", "no_reply", "no_reply", "reply_not_kept"]
    assert found[0].id == "a"
    assert all(case.reply is None for case in found[1:])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("none.jsonl", "none.jsonl: there is no such file; give a store, a folder"),
        ("none.db", "there is no such store; give a store"),
        ("postgresql://nobody@127.0.0.1:1/none", "cannot be reached"),
        ("", "give a store"),
        (7, "int is not a source"),
    ],
)
def test_a_source_that_is_not_there_is_named(
    given: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as error:
        list(cases([given]))
    assert says in str(error.value)


def test_an_sqlite_file_that_is_not_a_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    with pytest.raises(SourceError, match="is not a store"):
        list(cases([tmp_path / "other.db"]))


def test_an_impossible_time_is_unknown(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(f'{{"verdict": "u1", "outcome": "right", "at": {"9" * 400}}}\n', "utf-8")
    assert read_labels([labels])["u1"][0].at == 0


def test_labels_of_a_file_are_matched_by_id(tmp_path: Path) -> None:
    units = write_units(tmp_path / "units.jsonl")
    labels = tmp_path / "labels.jsonl"
    rows = [
        {"verdict": "u1", "outcome": "right", "author": "ana"},
        {"verdict": "u1", "outcome": "wrong", "author": "ana", "at": 5},
        {"unit_id": "u2", "outcome": "rude"},
        {"verdict": "nobody", "outcome": "right"},
    ]
    labels.write_text("\n".join(map(json.dumps, rows)))
    found = {case.id: case.labels for case in cases([units], labels=[labels])}
    assert found["u1"] == (Label("u1", "wrong", "ana", 5.0),)
    assert [label.outcome for label in found["u2"]] == ["rude"]
    assert [case.id for case in cases([units], Selection(label="wrong"), labels=[labels])] == ["u1"]
    for bad, says in (("{\n", "labels.jsonl:1: the line is not JSON"), ("{}", "not a label")):
        labels.write_text(bad)
        with pytest.raises(BadLabels, match=says):
            list(cases([units], labels=[labels]))
    with pytest.raises(BadLabels, match="no such file"):
        list(cases([units], labels=[tmp_path / "none"]))


def test_a_store_filters_like_a_file(tmp_path: Path, database: Callable[[], str]) -> None:
    contract = Contract(SCHEMA, rules=["n < 4"], name="n")
    with open_store(database()) as store:
        for number, text in enumerate(TEXTS * 3):
            known = {
                "model": f"m{number % 2}",
                "state": f"S{number % 3}",
                "tenant": f"t{number % 2}",
                "contract": contract,
            }
            name = store.record_verdict(contract.check(text), request=f"r{number}", context={}, **known)
            if number % 4 == 0:
                store.record_feedback(name, outcome="wrong", user="ana")
        store.export(tmp_path / "verdicts.jsonl")
        store.export(tmp_path / "labels.jsonl", "labels")
        middle = sorted(stored.at for stored in store.verdicts())[9]
        for selection in (
            Selection(model="m1"), Selection(state="S2"), Selection(tenant="t0"), Selection(contract="n"), Selection(contract="x"),
            Selection(ok=False), Selection(code="V002"), Selection(outcome="failed"), Selection(label="wrong"), Selection(text="SORRY"),
            Selection(fingerprint=contract.fingerprint, ok=True), Selection(since=middle), Selection(until=middle),
            Selection(rule=next(iter(contract.check('{"n": 5}').errors)).data["rule"]), Selection(model="m1", ok=True, limit=2),
        ):  # fmt: skip
            stored = [case.id for case in cases([store], selection)]
            filed = [
                case.id for case in cases([tmp_path / "verdicts.jsonl"], selection, labels=[tmp_path / "labels.jsonl"])
            ]
            assert stored == filed, selection
            assert selection.contract == "x" or stored, selection


def test_missing_parts_of_a_store_are_reported(database: Callable[[], str]) -> None:
    contract = Contract(SCHEMA, name="n")
    url = database()
    with open_store(url, redaction=Redaction(words=("hunter2",))) as store:
        store.record_verdict(
            contract.check('{"n": 1}'),
            context={"history": [{"role": "user", "content": "hi"}], "state": "A"},
            state="A",
        )
        store.record_verdict(contract.check('{"n": 1, "password": "hunter2"}'), context={})
    with open_store(url, redaction=Redaction(bodies="none")) as store:
        store.record_verdict(contract.check('{"n": 2}'), context={})
        kept, redacted, none = cases([store])
        assert (kept.unjudgeable, kept.missing, kept.missing_why, kept.context) == (
            None,
            ("history",),
            ("context_not_kept",),
            {"state": "A"},
        )
        assert (redacted.unjudgeable, none.unjudgeable) == ("reply_redacted", "reply_not_kept")
        store.prune(Retention(replies=0))
        assert [case.unjudgeable for case in cases([store])] == ["reply_expired", "reply_expired", "reply_not_kept"]


def test_context_that_was_kept_comes_back(database: Callable[[], str]) -> None:
    contract = Contract(SCHEMA, name="n")
    context = {"history": [{"role": "user", "content": "hi"}], "state": "A", "input": {"limit": 5}}
    with open_store(database(), keep_context=True) as store:
        store.record_verdict(contract.check('{"n": 1}'), context=context, state="A")
        (case,) = cases([store])
    assert (case.context, case.missing) == (context, ())


def test_two_readers_may_share_a_store(tmp_path: Path) -> None:
    contract = Contract(SCHEMA, name="n")
    with open_store(tmp_path / "s.db") as store:
        for text in TEXTS:
            store.record_verdict(contract.check(text), context={})
    first = cases([tmp_path / "s.db"])
    next(first)
    assert len(list(cases([tmp_path / "s.db"]))) == len(TEXTS)
    assert len(list(first)) == len(TEXTS) - 1


def test_a_unit_that_could_not_be_judged_has_no_outcome(tmp_path: Path) -> None:
    rows = [
        {
            "unit_id": "a",
            "input": {},
            "raw_response": "{}",
            "failure_stage": "pipeline_internal",
            "errors": [{"code": "U006", "path": "$"}],
            "fixes": [],
        },
        {
            "unit_id": "b",
            "input": {},
            "raw_response": "{}",
            "failure_stage": "schema_validation",
            "errors": [{"code": "V002", "path": "$.n"}],
            "fixes": [],
        },
    ]
    file = tmp_path / "failures.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = cases([file])
    assert (first.recorded, first.unjudgeable) == (None, None)
    assert second.recorded is not None
    assert (second.recorded.ok, second.recorded.codes) == (False, ("V002",))


def test_a_provider_s_response_has_its_text() -> None:
    response = {"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}
    told = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    assert [case.text for case in cases([[response, told, b"Hello.", "Hello."]])] == ["Hello."] * 4


def test_labels_name_their_decision(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(
        '{"verdict": "1", "outcome": "wrong", "decided": "accepted"}\n{"verdict": "2", "outcome": "wrong"}\n'
    )
    assert [label.decided for labels in read_labels([file]).values() for label in labels] == ["accepted", ""]
    file.write_text('{"verdict": "1", "outcome": "wrong", "decided": "accept"}\n')
    with pytest.raises(BadLabels, match=r"labels.jsonl:1: decided must be 'accepted' or 'refused'; got 'accept'"):
        read_labels([file])
    label = Label("1", "wrong")
    assert [Case("1", recorded=kept).was_accepted(label, now=True) for kept in (None, Recorded(ok=False))] == [
        True,
        False,
    ]


def test_fallbacks_and_cut_replies_are_distinguished(tmp_path: Path) -> None:
    contract = Contract(SCHEMA, name="n")
    whole, cut = contract.check('{"n": 1}'), contract.check(Reply(text='{"n": 1', finish="error"))
    with open_store(tmp_path / "v.db") as store:
        for request, verdict, outcome, attempt in (
            ("fallback", whole, "fallback", 2), ("part", whole, "degraded", 0), ("degraded", whole, "degraded", 1),
            ("cut", cut, "refused", 1), ("said", whole, "repaired", 3),
        ):  # fmt: skip
            store.record_verdict(
                verdict, request=request, outcome=outcome, attempt=attempt, attempts=3, latency=6.0, cost=900, contract=contract,
                context={},
            )  # fmt: skip
        store.export(tmp_path / "exported.jsonl")
        for source in (store, tmp_path / "exported.jsonl", list(store.verdicts())):
            found = {case.conversation: case for case in cases([source])}
            assert {name: case.unjudgeable for name, case in found.items()} == {
                "fallback": "no_model", "part": "no_model", "degraded": None, "cut": "cut_off", "said": None,
            }  # fmt: skip
            assert (found["said"].latency, found["said"].cost) == (2.0, 300), "latency and cost of one attempt"


def test_an_unfinished_sift_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sift(
        [str(write_units(tmp_path / "plain.jsonl"))],
        spec_of(options={"schema": SCHEMA}),
        tmp_path / "sifted",
        SiftOptions(workers=1),
    )
    whole = read_sifted(tmp_path / "sifted")
    monkeypatch.setattr("trueup.material.sources.read_sifted", lambda path: whole._replace(state="judging"))
    with open_material([tmp_path / "sifted"]) as material:
        assert material.names == [f"{tmp_path / 'sifted'} (not finished: only some of the replies)"]
        assert texts_of(list(material.cases())) == sorted(TEXTS)
    monkeypatch.setattr("trueup.material.sources.read_sifted", lambda path: whole._replace(state="judging", pieces=()))
    with pytest.raises(
        SourceError, match="the sift is not finished, and has no results yet; run it again to finish it"
    ):
        list(cases([tmp_path / "sifted"]))
