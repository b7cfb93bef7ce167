"""Labels in files and in the store: written labels are on disk immediately and can be read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.labelling.judging import with_verdicts
from trueup.labelling.labels import BadLabels, LabelFile, LabelStore, labels_of, line_of, read_labels, write_labels
from trueup.labelling.summary import summarise
from trueup.material.case import Case, Label, Recorded
from trueup.material.labels import label_of
from trueup.material.sources import cases
from trueup.store.open import open_store

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = st.text(max_size=20)


@given(st.builds(Label, st.text(min_size=1), st.text(min_size=1), texts, st.floats(0, 2e9), texts, texts, texts))
def test_a_line_is_the_label(label: Label) -> None:
    import json

    line = line_of(label)
    assert b"\n" not in line
    assert label_of(json.loads(line)) == label


def test_files_grow_by_whole_lines(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    sink = LabelFile(file)
    sink.write(Label("1", "right", "ada"))
    with file.open("ab") as torn:
        torn.write(b'{"verdict": "2", "outcome": "wrong"}')  # a crash, or an editor
    sink.write(Label("3", "wrong", "ada"))
    assert [label.verdict for label in labels_of(file)] == ["1", "2", "3"]
    sink.write(Label("1", "wrong", "ada"))
    assert [label.outcome for label in read_labels([file])["1"]] == ["wrong"]


@pytest.mark.parametrize("cut", range(1, 40, 6))
def test_a_line_that_a_crash_cut_off_is_removed(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "labels.jsonl"
    line = line_of(Label("2", "wrong", "é" * 70_000))
    file.write_bytes(line_of(Label("1", "right")) + b"\n" + line[:-cut])
    assert [label.verdict for label in labels_of(file)] == ["1"]
    LabelFile(file).write(Label("3", "wrong", "ada"))
    assert [label.verdict for label in labels_of(file)] == ["1", "3"]
    file.write_bytes(b"no label" + b"\n" + line + b"\n")
    with pytest.raises(BadLabels, match=":1: the line is not JSON"):
        list(labels_of(file))


def test_several_people_may_write_into_one_file(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "labels.jsonl"
    with ThreadPoolExecutor(4) as pool:
        for author in "abcd":
            for n in range(20):
                pool.submit(LabelFile(file).write, Label(str(n), "right", author, note=author * 20_000))
    assert len(list(labels_of(file))) == 80


def test_an_export_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    assert write_labels(file, [Label("1", "right"), Label("2", "wrong")]) == 2

    def broken():
        yield Label("3", "right")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_labels(file, broken())
    assert [label.verdict for label in labels_of(file)] == ["1", "2"]
    assert [path.name for path in tmp_path.iterdir()] == ["labels.jsonl"]
    assert write_labels(file, []) == 0
    with pytest.raises(BadLabels, match="no such file"):
        list(labels_of(tmp_path / "none"))


def test_the_store_keeps_the_labels_of_a_session(tmp_path: Path) -> None:
    contract = Contract({"type": "object", "required": ["age"]})
    with open_store(tmp_path / "s.db") as store:
        made = store.record_verdict(contract.check("{}"), contract=contract)
        sink = LabelStore(store)
        sink.write(Label(made, "right", "ada", drawn="uncertain", note="yes"))
        sink.write(Label(made, "wrong", "ada", subject="code:V002", drawn="uncertain"))
        sink.write(Label(made, "rude", "ada", drawn="uncertain"))
        sink.write(Label(made, "wrong", "ada", drawn="uncertain"))
        sink.write(Label(made, "comment", "ada", note="hm"))
    (case,) = cases([str(tmp_path / "s.db")])
    said = {(label.subject, label.outcome) for label in case.labels}
    assert said == {("", "wrong"), ("code:V002", "wrong"), ("", "rude"), ("", "comment")}
    found = summarise([case])
    assert found.subjects == [("code:V002", 1, 0, 1)]
    assert found.words == {"rude": 1, "comment": 1}


def test_the_summary_shows_present_and_missing_labels() -> None:
    refused = Recorded(False, ("V005",), ({"code": "V005", "level": "error"},))
    made = [
        Case(str(n), "x", recorded=refused, labels=(Label(str(n), "right" if n % 2 else "wrong", "ada"),))
        for n in range(4)
    ]
    made += [Case(f"n{n}", "x", recorded=refused) for n in range(20)]
    drawn = [("right", "ada"), ("wrong", "bob"), ("skipped", "bob")]
    made += [
        Case(f"a{n}", "x", recorded=Recorded(True), labels=(Label(f"a{n}", outcome, author, drawn="random"),))
        for n, (outcome, author) in enumerate(drawn)
    ]
    made.append(
        Case(
            "both", "x", recorded=Recorded(True), labels=(Label("both", "right", "ada"), Label("both", "right", "bob"))
        )
    )
    found = summarise(made)
    assert (found.replies, found.labelled) == (28, 7)
    (subject,) = found.subjects
    assert (subject.fired, subject.right, subject.wrong, subject.needed) == (24, 2, 2, 6)
    assert subject.precision is not None
    assert found.sample == (1, 1, 1)
    assert found.sample.missed is not None
    assert found.agreement.items == 1
    assert found.agreement.observed == 1.0
    data = found.to_dict()
    assert data["random_sample"]["skipped"] == 1
    assert data["subjects"][0]["needed"] == 6
    empty = summarise([])
    assert (empty.sample.missed, empty.agreement.kappa, empty.subjects) == (None, None, [])


def test_replies_without_a_verdict_are_judged_and_others_stay() -> None:
    def explode(reply, context):
        raise RuntimeError

    contract = Contract({"type": "object"}, name="c")
    recorded = Recorded(False, ("V001",))
    given = [Case("1", "```json\n{}\n```"), Case("2", "{}", recorded=recorded), Case("3", None, unjudgeable="no_reply")]
    one, two, three = with_verdicts(given, contract)
    assert one.recorded is not None
    assert (one.recorded.ok, one.contract, one.recorded.fingerprint) == (True, "c", contract.fingerprint)
    assert [fix["code"] for fix in one.recorded.fixes] == ["W001", "W001"]
    assert two.recorded is recorded
    assert three.recorded is None

    class Broken:
        name, fingerprint = "b", "f"

        def check(self, reply, context):
            raise RuntimeError

    (raised,) = with_verdicts([Case("1", "{}")], Broken())
    assert raised.unjudgeable == "check_raised"
