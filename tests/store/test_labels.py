"""Feedback on verdicts and findings, on each database: what replaces what, and the way through files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.conftest import Hand
from trueup import Contract
from trueup.material.case import Label
from trueup.store.errors import UnknownVerdict
from trueup.store.labels import Said
from trueup.store.open import open_store
from trueup.store.store import Store

BAD = Contract({"type": "object"}, name="c").check("no")


def said(store: Store, **filters: Any) -> set[tuple[str, str, str]]:
    return {(label["subject"], label["author"], label["outcome"]) for label in store.labels(**filters)}


def test_right_and_wrong_replace_each_other_and_other_outcomes_add_up(opened: Store, clock: Hand) -> None:
    made = opened.record_verdict(BAD)
    for outcome in ("right", "refunded", "wrong", "escalated", "refunded"):
        opened.record_feedback(made, outcome=outcome, user="ada")
        clock.go(1)
    opened.record_feedback(made, outcome="right", user="bob", drawn="random", note="clear")
    opened.record_feedback(made, outcome="right", user="ada", subject="code:P001")
    opened.record_feedback(made, outcome="wrong", user="ada", subject="rule:grown up")
    opened.record_feedback(made, True, user="ada", label="tone")
    opened.record_feedback(made, False, user="ada")
    assert said(opened) == {
        ("", "ada", "wrong"), ("", "ada", "refunded"), ("", "ada", "escalated"), ("", "ada", "not_helpful"),
        ("", "bob", "right"), ("code:P001", "ada", "right"), ("rule:grown up", "ada", "wrong"),
    }  # fmt: skip
    assert said(opened, author="bob", drawn="random") == {("", "bob", "right")}
    assert said(opened, subject="code:P001") == {("code:P001", "ada", "right")}
    assert len(said(opened, outcome="wrong", verdicts=[made, "none"])) == 2
    assert said(opened, verdicts=[]) == said(opened, since=clock.micros / 1e6 + 1) == set()
    label = next(opened.labels(author="bob"))
    assert Label(**label) == Label(made, "right", "bob", clock.micros / 1e6, "", "clear", "random", "refused")


@pytest.mark.parametrize(
    "wrong",
    [{"subject": "V005"}, {"subject": "path:x"}, {"subject": "code:"}, {"drawn": "often"}, {"outcome": "x" * 201}],
)
def test_a_meaningless_row_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with open_store(tmp_path / "s.db") as store:
        made = store.record_verdict(BAD)
        with pytest.raises(ValueError, match=next(iter(wrong))):
            store.record_feedback(made, **wrong)
        with pytest.raises(ValueError, match="labels have no 'mood'"):
            list(store.labels(mood="good"))


def test_labels_can_be_exported_and_imported(opened: Store, clock: Hand, tmp_path: Path) -> None:
    ids = [opened.record_verdict(BAD) for _ in range(3)]
    opened.record_feedback(ids[0], outcome="wrong", user="ada\x00\ud800", drawn="uncertain", note="é")
    opened.record_feedback(ids[0], True, label="tone", user="ada")
    opened.record_feedback(ids[1], note="only a word", user="bob", subject="rule:x")
    opened.record_feedback(ids[2], False, label="late", outcome="refunded", user="eve")
    for what, count in (("feedback", 4), ("labels", 7)):
        assert opened.export(tmp_path / f"{what}.jsonl", what) == count
        before = sorted(opened.labels(), key=str)
        lines = [json.loads(line) for line in (tmp_path / f"{what}.jsonl").read_text().splitlines()]
        assert opened.import_labels(lines) == (count, 0, 0)
        assert sorted(opened.labels(), key=str) == before, "the same again changes nothing"
        clock.go(-5)
        with open_store(tmp_path / f"{what}.db", clock=clock) as other:
            for made in ids[:2]:
                other.record_verdict(BAD, id=made)
            assert other.import_labels(lines).unknown == sum(line["verdict"] == ids[2] for line in lines)
            kept = [label for label in before if label["verdict"] != ids[2]]
            assert sorted(other.labels(), key=str) == kept


def test_an_older_label_does_not_replace_a_newer_one(opened: Store, clock: Hand) -> None:
    made = opened.record_verdict(BAD)
    opened.record_feedback(made, outcome="right", user="ada")
    opened.import_labels([Label(made, "wrong", "ada", clock.micros / 1e6 - 1), Label(made, "wrong", "bob", 7.0)])
    assert said(opened) == {("", "ada", "right"), ("", "bob", "wrong")}
    opened.import_labels([Label(made, "wrong", "ada", clock.micros / 1e6 + 1)])
    assert said(opened) == {("", "ada", "wrong"), ("", "bob", "wrong")}
    opened.record_feedback(made, outcome="right", user="ada")
    assert ("", "ada", "right") in said(opened), "what somebody says now counts"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"outcome": "right"}, "label 2: 'verdict' must be"), ("text", "label 2: 'verdict'"),
        ({"verdict": "v", "outcome": 1}, "label 2: 'outcome' must be a string"), ({"verdict": "v", "at": "now"}, "'at' must be"),
        ({"verdict": "v", "helpful": 1}, "'helpful' must be"), ({"verdict": "v", "decided": "yes"}, "label 2: decided must be"), ({"verdict": "v", "subject": "x"}, "label 2: subject must be"),
    ],
)  # fmt: skip
def test_a_label_that_cannot_be_read_is_named(tmp_path: Path, label: Any, said: str) -> None:
    with open_store(tmp_path / "s.db") as store, pytest.raises(ValueError, match=said):
        store.import_labels([{"verdict": "v", "outcome": "right"}, label])


def test_feedback_on_a_missing_verdict_is_reported(opened: Store) -> None:
    with pytest.raises(UnknownVerdict, match="no verdict 'none'"):
        opened.record_feedback("none", outcome="right")


@given(data=st.data())
@settings(max_examples=5)
def test_an_export_of_feedback_loses_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("stores")
    words = st.sampled_from(["", "a", "right", "half \ud800", "=1+1", "\x00"])
    said = st.fixed_dictionaries({
        "helpful": st.sampled_from([None, True, False]), "label": words, "note": words, "user": words,
        "subject": st.sampled_from(["", "code:P001", "rule:\ud800"]), "drawn": st.sampled_from(["", "random"]),
        "outcome": st.sampled_from(["", "right", "wrong", "refunded", "helpful", "not_helpful", "comment"]),
    })  # fmt: skip
    with open_store(folder / "one.db") as one, open_store(folder / "two.db") as two:
        for store in (one, two):
            store.record_verdict(BAD, id="v")
        one.record_all([Said("v", **each) for each in data.draw(st.lists(said, min_size=1, max_size=30))])
        count = one.export(folder / "feedback.jsonl", "feedback")
        lines = (folder / "feedback.jsonl").read_text().splitlines()
        assert two.import_labels(map(json.loads, lines)) == (count, 0, 0)
        assert sorted(map(repr, two.feedback())) == sorted(map(repr, one.feedback()))
        before = one.feedback()
        one.import_labels(map(json.loads, lines))
        assert one.feedback() == before


def test_labels_name_the_decision_that_they_are_about(opened: Store) -> None:
    refused, accepted = opened.record_verdict(BAD), opened.record_verdict(Contract(True).check("{}"))
    for made in (refused, accepted):
        opened.record_feedback(made, outcome="wrong", user="ada")
    assert {label["verdict"]: label["decided"] for label in opened.labels()} == {
        refused: "refused",
        accepted: "accepted",
    }
    assert {label["decided"] for label in opened.labels(verdicts=[accepted])} == {"accepted"}


def test_a_label_about_a_different_decision_is_left_out_and_counted(opened: Store) -> None:
    made = opened.record_verdict(BAD)
    lines = [
        {"verdict": made, "outcome": "right", "author": name, "decided": decided}
        for name, decided in (("ada", "refused"), ("bob", "accepted"), ("eve", ""))
    ]
    assert opened.import_labels([*lines, {"verdict": "none", "outcome": "right"}]) == (2, 1, 1)
    assert said(opened) == {("", "ada", "right"), ("", "eve", "right")}
