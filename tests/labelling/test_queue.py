"""The replies to show to a person: the uncertain ones of every rule, and a true random sample of accepted ones."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.growth import assert_linear
from trueup.labelling.queue import WEIGHTS, queue, uncertainty
from trueup.labelling.subjects import decisions, subject_of, subjects
from trueup.material.case import Case, Label, Recorded


def refused(name: str, *codes: str, state: str = "", text: str = "", **more: Any) -> Case:
    findings = tuple({"code": code, "path": "$.a", "message": "no", "level": "error"} for code in codes)
    return Case(name, text or f"reply {name}", recorded=Recorded(False, codes, findings, **more), state=state)


def accepted(name: str, **more: Any) -> Case:
    return Case(name, f"reply {name}", recorded=Recorded(True, **more))


def said(case: Case, *labels: tuple[str, str]) -> Case:
    return replace(case, labels=tuple(Label(case.id, outcome, author) for author, outcome in labels))


def test_thirty_labels_cover_the_rules() -> None:
    many = [refused(f"a{n}", "V001") for n in range(2000)]
    few = [refused(f"{code}{n}", code) for code in ("V002", "V003", "V004", "V005", "B005", "T003") for n in range(3)]
    found = queue([*many, *few], size=30, share=0)
    codes = Counter(entry.case.recorded.codes[0] for entry in found.entries if entry.case.recorded)
    assert set(codes) == {"V001", "V002", "V003", "V004", "V005", "B005", "T003"}
    assert all(n == 3 for code, n in codes.items() if code != "V001")


def test_states_of_one_rule_take_turns() -> None:
    cases = [refused(f"{state}{n}", "V001", state=state) for state in ("IDLE", "SLOT", "PAY") for n in range(50)]
    found = queue(cases, size=9, share=0)
    assert Counter(entry.case.state for entry in found.entries) == {"IDLE": 3, "SLOT": 3, "PAY": 3}


def test_a_rule_with_labels_is_less_urgent() -> None:
    known = [said(refused(f"k{n}", "V001"), ("bob", "right")) for n in range(200)]
    cases = [*known, *(refused(f"n{n}", "V001") for n in range(50)), *(refused(f"u{n}", "V002") for n in range(50))]
    found = queue(cases, size=10, share=0, author="ada")
    first = [entry.case.recorded.codes[0] for entry in found.entries[:8] if entry.case.recorded]
    assert first == ["V002"] * 8
    assert "V002 has no label yet" in found.entries[0].why


def test_disagreement_comes_first() -> None:
    split = said(refused("split", "V001"), ("bob", "right"), ("cid", "wrong"))
    found = queue([*(refused(f"n{n}", "V001") for n in range(30)), split], size=3, share=0, author="ada")
    assert found.entries[0].case.id == "split"
    assert found.entries[0].why[0] == "people disagree"


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (refused("1", "V001"), "one finding alone refuses it"),
        (refused("1", "V001", "V002"), "two findings refuse it"),
        (accepted("1", fixes=({"code": "S013", "grade": "guess"},)), "a value was guessed (S013)"),
        (accepted("1", fixes=({"code": "S031", "grade": "lossy"},)), "something was dropped (S031)"),
        (accepted("1", findings=({"code": "P011", "level": "warning"},)), "it passed with a warning (P011)"),
        (accepted("1", metrics={"quality": 0.72}), "close to its threshold"),
        (refused("1", "V001", metrics={"relevance": 0.49}), "close to its threshold"),
        (said(refused("1", "V001"), ("bob", "right")), "a second opinion"),
        (said(refused("1", "V001"), ("bob", "right"), ("cid", "wrong")), "people disagree"),
    ],
)  # fmt: skip
def test_every_reason_is_named_and_weighs(case: Case, reason: str) -> None:
    score, why = uncertainty(case, "ada")
    assert reason in why
    assert score > 0
    assert next(weight for name, weight in WEIGHTS.items() if reason.startswith(name)) > 0


def test_a_certain_decision_does_not_have_a_reason() -> None:
    assert uncertainty(accepted("1", metrics={"quality": 0.99, "relevance": None})) == (0, ())
    assert uncertainty(refused("1", "V001", "V002", "V003")) == (0, ())
    assert uncertainty(said(accepted("1"), ("ada", "right")), "ada") == (0, ()), "one's own word is no second opinion"


def test_the_random_sample_is_a_simple_random_sample_of_accepted_replies() -> None:
    # Over many seeds, each accepted reply is drawn equally often, at any uncertainty and in any position.
    guessed = {"code": "S013", "grade": "guess"}
    cases = [accepted(str(n), fixes=(guessed,) if n % 3 == 0 else ()) for n in range(40)]
    cases += [refused(f"r{n}", "V001") for n in range(40)]
    drawn: Counter[str] = Counter()
    for seed in range(400):
        drawn.update(e.case.id for e in queue(cases, size=20, share=0.5, seed=seed).entries if e.drawn == "random")
    assert sum(drawn.values()) == 400 * 10
    assert set(drawn) == {str(n) for n in range(40)}
    # 400 draws of 10 in 40: 100 each, standard deviation 8.7.
    assert all(60 <= n <= 140 for n in drawn.values())
    odd = sum(n for name, n in drawn.items() if int(name) % 3 == 0) / sum(drawn.values())
    assert odd == pytest.approx(14 / 40, abs=0.03)


@given(st.randoms(use_true_random=False))
def test_the_queue_does_not_depend_on_the_order_of_the_cases(rng: random.Random) -> None:
    cases = [accepted(str(n)) for n in range(30)] + [refused(f"r{n}", f"V00{1 + n % 5}") for n in range(60)]
    before = queue(cases, size=12)
    rng.shuffle(cases)
    after = queue(cases, size=12)
    assert [(e.case.id, e.drawn, e.why) for e in before.entries] == [(e.case.id, e.drawn, e.why) for e in after.entries]


def test_sessions_continue_the_same_random_order() -> None:
    cases = [accepted(str(n)) for n in range(100)]
    at_once = [entry.case.id for entry in queue(cases, size=40, share=1).entries]
    in_steps: list[str] = []
    for _ in range(4):
        labels = set(in_steps)
        labelled = [
            replace(case, labels=(Label(case.id, "right", "ada", drawn="random"),)) if case.id in labels else case
            for case in cases
        ]
        in_steps += [entry.case.id for entry in queue(labelled, size=10, share=1, author="ada").entries]
    assert in_steps == at_once


def test_an_uncertain_reply_that_is_drawn_later_counts_for_the_sample() -> None:
    cases = [accepted(str(n)) for n in range(50)]
    first = queue(cases, size=1, share=1).entries[0].case
    before = Label(first.id, "wrong", "ada", 5.0, note="no", drawn="uncertain")
    cases = [replace(case, labels=(before,)) if case.id == first.id else case for case in cases]
    found = queue(cases, size=4, share=1, author="ada")
    assert found.promoted == (replace(before, drawn="random"),)
    assert first.id not in [entry.case.id for entry in found.entries]
    assert len(found.entries) == 4
    assert queue(cases, size=4, share=0, author="ada").promoted == ()
    assert queue(cases, size=4, share=1, author="bob").promoted == (), "bob has not answered"


def test_labelled_replies_are_not_shown_again_but_skipped_ones_of_the_sample_are() -> None:
    cases = [
        said(refused("mine", "V001"), ("ada", "right")),
        said(refused("skipped", "V001"), ("ada", "skipped")),
        said(refused("theirs", "V001"), ("bob", "right")),
        replace(accepted("drawn"), labels=(Label("drawn", "skipped", "ada", drawn="random"),)),
        replace(accepted("done"), labels=(Label("done", "right", "ada", drawn="random"),)),
    ]
    found = queue(cases, size=10, author="ada")
    assert {entry.case.id for entry in found.entries} == {"theirs", "drawn"}
    assert found.labelled == 2


def test_equal_replies_are_shown_once() -> None:
    cases = [refused(f"a{n}", "V001", text="the same") for n in range(20)] + [
        refused(f"b{n}", "V001") for n in range(3)
    ]
    assert len({entry.case.text for entry in queue(cases, size=4, share=0).entries}) == 4
    assert len(queue(cases, size=10, share=0).entries) == 4
    labelled = [said(case, ("ada", "right")) if case.id == "a7" else case for case in cases]
    assert {entry.case.text for entry in queue(labelled, size=10, share=0, author="ada").entries} == {
        "reply b0", "reply b1", "reply b2",
    }  # fmt: skip


def test_the_random_ones_are_spread_among_the_others() -> None:
    cases = [accepted(str(n)) for n in range(100)] + [refused(f"r{n}", "V001") for n in range(100)]
    entries = queue(cases, size=20, share=0.25).entries
    places = [at for at, entry in enumerate(entries, 1) if entry.drawn == "random"]
    assert places == [4, 8, 12, 16, 20]
    assert all(two.score <= one.score + 0.5 for one, two in pairwise([e for e in entries if e.drawn == "uncertain"]))


def test_replies_that_cannot_be_labelled_are_counted() -> None:
    cases = [Case("1", "text"), Case("2", None, unjudgeable="reply_expired", recorded=Recorded(True)), accepted("3")]
    found = queue(cases)
    assert (found.seen, found.unjudged, sum(found.unreadable.values()), found.accepted) == (3, 1, 1, 1)
    assert [entry.case.id for entry in found.entries] == ["3"]
    assert queue([]).entries == []
    for wrong in (lambda: queue([], size=0), lambda: queue([], share=1.5)):
        with pytest.raises(ValueError, match="must be"):
            wrong()


def test_time_grows_with_the_cases_and_not_with_the_strata() -> None:
    def make(n: int) -> list[Case]:
        return [refused(str(at), f"X{at % 5000:04}", state=str(at % 7)) for at in range(n)]

    assert_linear(lambda cases: queue(cases, size=30), make, 4000)


def test_memory_does_not_grow_with_the_cases() -> None:
    import gc

    def alive() -> int:
        return sum(isinstance(each, Case) and each.id.startswith("kept") for each in gc.get_objects())

    counts = []

    def stream(n: int):
        for at in range(n):
            yield refused(f"kept{at}", f"X{at % 3000:04}")
            if at and at % 4000 == 0:
                gc.collect()
                counts.append(alive())

    queue(stream(12_001), size=30)
    assert len(counts) == 3
    assert max(counts) <= 2 * 2000 + 10


def test_subjects_name_written_rules() -> None:
    assert subject_of({"code": "V004", "data": {"rule": "maximum"}}) == "code:V004"
    assert subject_of({"code": "B001", "data": {"rule": "required"}}) == "code:B001"
    assert subject_of({"code": "Q006", "data": {"rule": "min_text"}}) == "rule:min_text"
    assert subject_of({"code": "D001", "rule": "forbidden-content"}) == "code:D001", "records of sifts name the code"
    assert subject_of({"code": "D001", "rule": "prices"}) == "rule:prices"
    assert subject_of({"code": "ACME001", "data": {"rule": "own"}}) == "rule:own"
    assert subjects(Case("1")) == ()
    assert subjects(Case("1", recorded=Recorded(False, ("V001", "P011"))), errors=True) == ("code:V001",)


def test_an_answer_about_the_verdict_counts_for_its_only_finding() -> None:
    one = said(refused("1", "V001"), ("ada", "right"), ("bob", "rude"))
    assert {tuple(each) for each in decisions(one)} == {("", "ada", "right"), ("code:V001", "ada", "right")}
    two = said(refused("1", "V001", "V002"), ("ada", "right"))
    assert [each.subject for each in decisions(two)] == [""]
    own = replace(one, labels=(Label("1", "right", "ada"), Label("1", "wrong", "ada", subject="code:V001")))
    assert ("code:V001", "ada", "wrong") in {tuple(each) for each in decisions(own)}
