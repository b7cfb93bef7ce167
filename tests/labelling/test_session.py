"""A session: keys become labels immediately. Also going back, answers per finding, notes, own labels, and early
ends."""

from pathlib import Path

import pytest

from trueup.labelling.labels import LabelFile, labels_of
from trueup.labelling.queue import QueueEntry
from trueup.labelling.session import KEYS, MOST, LabellingSession
from trueup.material.case import Case, Label, Recorded


class Kept:
    name = "memory"

    def __init__(self) -> None:
        self.labels: list[Label] = []

    def write(self, label: Label) -> None:
        self.labels.append(label)

    @property
    def said(self) -> list[tuple[str, str, str]]:
        return [(label.verdict, label.subject, label.outcome) for label in self.labels]


def made(n: int = 3, drawn: str = "uncertain") -> tuple[LabellingSession, Kept]:
    findings = ({"code": "V005", "level": "error"}, {"code": "B005", "data": {"rule": "late"}, "level": "error"})
    recorded = Recorded(False, ("V005", "B005"), findings)
    kept = Kept()
    entries = [QueueEntry(Case(str(at), "text", recorded=recorded), drawn, ("why",)) for at in range(n)]
    return LabellingSession(entries, kept, "ada"), kept


def press(session: LabellingSession, keys: str) -> str:
    said = ""
    for key in keys:
        said = session.press(key)
    return said


def test_one_key_per_reply() -> None:
    session, kept = made()
    assert press(session, "rwS") == ""
    assert kept.said == [("0", "", "right"), ("1", "", "wrong"), ("2", "", "skipped")]
    assert all(label.author == "ada" and label.drawn == "uncertain" and label.at > 1e9 for label in kept.labels)
    assert session.is_over
    assert session.counts() == {"right": 1, "wrong": 1, "skipped": 1}


def test_back_and_another_answer() -> None:
    session, kept = made()
    press(session, "ru")
    assert (session.at, session.outcome()) == (0, "right")
    press(session, "w")
    assert kept.said == [("0", "", "right"), ("0", "", "wrong")]
    assert session.counts() == {"wrong": 1}
    assert press(session, "uu") == "this is the first reply"
    press(session, "s")
    assert kept.said[2:] == [], "to skip an answered one leaves its answer"
    assert session.at == 1


def test_per_finding() -> None:
    session, kept = made()
    press(session, "f")
    assert session.focus == "code:V005"
    press(session, "r")
    assert session.focus == "rule:late"
    press(session, "w")
    assert (session.focus, session.at) == ("", 0)
    press(session, "r")
    assert kept.said == [("0", "code:V005", "right"), ("0", "rule:late", "wrong"), ("0", "", "right")]
    assert session.counts() == {"finding": 2, "right": 1}
    clean = LabellingSession([QueueEntry(Case("1", "x", recorded=Recorded(True)), "random", ())], kept)
    assert "no finding" in clean.press("f")


def test_notes_go_with_the_answer_and_are_not_lost() -> None:
    session, kept = made()
    assert session.remark("  far too strict ") == "the note is added to your next answer"
    press(session, "wr")
    assert [label.note for label in kept.labels] == ["far too strict", ""]
    session.remark("unsure")
    session.quit()
    session.quit()
    assert (kept.labels[-1].outcome, kept.labels[-1].note) == ("comment", "unsure")
    assert len(kept.labels) == 3
    assert made()[0].remark(" ") == "no note"


def test_custom_labels_add_up() -> None:
    session, kept = made()
    assert session.name("rude") == "labelled 'rude'"
    session.name("late")
    assert session.at == 0
    assert kept.said == [("0", "", "rude"), ("0", "", "late")]
    assert "already has a meaning" in session.name("wrong")
    assert "at most" in session.name("x" * (MOST + 1))
    assert session.name("  ") == "no label"
    assert session.words == {"rude": 1, "late": 1}


def test_skips_of_the_random_sample_are_counted_apart() -> None:
    session, kept = made(drawn="random")
    press(session, "ssr")
    assert session.counts()["skipped at random"] == 2
    assert {label.drawn for label in kept.labels} == {"random"}


def test_other_keys_change_nothing() -> None:
    session, kept = made()
    assert "is not a key" in session.press("x")
    press(session, "m")
    assert session.whole_text
    press(session, "q")
    assert session.is_over
    assert kept.said == []
    assert LabellingSession([], kept).is_over


def test_every_key_is_explained() -> None:
    for key, (word, sentence) in KEYS.items():
        assert word, key
        assert len(sentence.split()) > 2, key


def test_a_label_that_cannot_be_stored_is_not_counted() -> None:
    class Full(Kept):
        def write(self, label: Label) -> None:
            raise OSError(28, "no space")

    session = LabellingSession(made()[0].entries, Full())
    with pytest.raises(OSError, match="no space"):
        session.press("r")
    assert not session.answers
    assert session.at == 0


def test_an_answer_names_its_decision(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    made = [Case(name, "{}", recorded=kept) for name, kept in (("a", Recorded(True)), ("b", Recorded(False)))]
    session = LabellingSession([QueueEntry(case, "uncertain", ()) for case in made], LabelFile(file), "ada")
    session.press("w")
    session.press("r")
    assert {label.verdict: label.decided for label in labels_of(file)} == {"a": "accepted", "b": "refused"}
