"""Sentences: where they end, and which words show that something is not claimed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.checks.folding import fold
from trueup.checks.sentences import CONDITIONAL, NEGATED, Around, Form, around, asks


def marked(said: str) -> Around:
    before, word, after = said.split("|")
    return around(before + word + after, len(before), len(before) + len(word))


def place(text: str, word: str) -> Around:
    folded = fold(text)
    start = folded.index(fold(word))
    return around(folded, start, start + len(fold(word)))


@given(st.text(st.sampled_from("ab .!?\n,¿"), max_size=40), st.integers(0, 40), st.integers(1, 5))
def test_the_sentence_around_a_position_contains_it(text: str, start: int, length: int) -> None:
    folded = fold(text)
    start = min(start, len(folded))
    end = min(start + length, len(folded))
    found = around(folded, start, end)
    assert found.sentence[found.start : found.end] == folded[start:end]


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("I have not booked it", True),
        ("I haven't booked it", True),
        ("I haven’t yet booked it", True),
        ("nothing is booked", True),
        ("not a problem at all, it is booked", False),
        ("do not worry about it because it is booked", False),
        ("aún no está booked", True),
        ("knot booked", False),
        ("sin duda está booked", False),
        ("no hay duda de que está booked", False),
        ("no solo está booked", False),
        ("it is not only booked", False),
        ("without doubt it is booked", False),
        ("sin pagar no está booked", True),
    ],
)
def test_a_denial_is_shortly_before_the_position_in_the_same_clause(text: str, denied: bool) -> None:
    assert Form("negated", NEGATED).holds(place(text, "booked")) is denied


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "supposed"),
    [
        ("once it is booked you get a mail", True),
        ("if you like, it is booked", False),
        ("as soon as it is booked", True),
        ("it is booked", False),
        ("cuando esté booked", True),
        ("it will be booked", True),
        ("it will soon be booked", False),
    ],
)
def test_a_condition_is_before_the_position_in_the_same_clause(text: str, supposed: bool) -> None:
    assert Form("conditional", CONDITIONAL).holds(place(text, "booked")) is supposed


@pytest.mark.spec("C7")
def test_words_inside_a_claim_deny_it_but_do_not_make_a_condition() -> None:
    denied, supposed = Form("negated", NEGATED), Form("conditional", CONDITIONAL)
    for text in ("your visit after lunch is booked", "your visit, if any, is booked"):
        whole = around(text, 0, len(text))
        assert not supposed.holds(whole)
        assert not denied.holds(whole)
    for text in ("your visit is not booked", "your visit, which is not booked"):
        assert denied.holds(around(text, 0, len(text)))
    assert not denied.holds(around("your visit, not mine, is booked", 0, 31))
    assert supposed.holds(around("your visit will be booked", 0, 25))


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Is it booked?", True),
        ("It is booked. Anything else?", False),
        ("It is booked, anything else?", False),
        ("Would you like it booked, or not?", True),
        ("Great, shall I get it booked?", True),
        ("¿Está booked, sí o no?", True),
        ("¡¿Está booked?!", True),
        ("It is booked?!", True),
        ("It is booked!", False),
        ("¿Está booked con la Dra. Peña?", True),
        ("¿Quieres que quede booked", True),
        ("¿Qué tal! Está booked", False),
        ("¿Qué tal. Está booked.", False),
        ("Ya está booked, ¿vale?", False),
        ("It is booked", False),
    ],
)
def test_a_question_is_not_a_claim(text: str, asked: bool) -> None:
    assert asks(place(text, "booked")) is asked


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    "said",
    [
        "the visit is |confirmed| after we've received your details.",
        "your visit is |booked| once you pay.",
        "it is |booked| for monday at nine as soon as you pay.",
        "la cita queda |confirmada| en cuanto pagues.",
        "la cita queda |confirmada| si nos das tu nombre.",
    ],
)
def test_a_condition_after_a_claim_counts(said: str) -> None:
    assert Form("conditional", CONDITIONAL).holds(marked(said))


@pytest.mark.parametrize(
    "said",
    [
        "your visit is |confirmed| after lunch.",
        "it is |booked|, tell me if you need anything.",
        "you are |booked| for monday. if you cannot come, call us.",
        "tu cita esta |confirmada| para el lunes, si no puedes venir avisa.",
    ],
)
def test_a_time_or_another_clause_after_a_claim_is_not_a_condition(said: str) -> None:
    assert not Form("conditional", CONDITIONAL).holds(marked(said))
