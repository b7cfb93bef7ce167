"""LaTeX boxes: the content of the last one is read without LaTeX's signs, and every character maps to its origin."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.candidate import Candidate
from trueup.recover.layers.boxed import unboxed

PIECES = [
    "\\boxed{", "\\fbox {", "{", "}", "\\{", "\\}", "\\text{", "\\frac{1}{2}", "\\frac12", "\\,", "\\quad", "$", "\\[", "\\]", "a", "1",
    " ", "\n", '"', ":", ",", "{,}", "\\", "\\left", "```json",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r"\boxed{42}", "42"),
        (r"so $\boxed{-7}$.", "-7"),
        (r"\boxed{\text{no solution}}", "no solution"),
        (r"\boxed{\frac{3}{4}}", "3/4"),
        (r"\boxed{-\dfrac12}", "-1/2"),
        (r"\boxed{1{,}234}", "1,234"),
        (r"\boxed{50\%}", "50%"),
        (r"\boxed{ \{\"a\": 1\} }".replace('\\"', '"'), ' {"a": 1} '),
        (r"\boxed{\{\text{a}: \text{b c}, \{x\}\}}", "{a: b c, {x}}"),
        (r'\boxed{{"re": "\\d\{2\}"}}', r'{"re": "\\d\{2\}"}'),
        (r"\boxed{\left[1,\ 2\right]}", "[1, 2]"),
        ("\\boxed{\n```json\n{}\n```\n}", "\n```json\n{}\n```\n"),
        (r"\boxed{3} and then \boxed{4}", "4"),
        (r"\boxed{\boxed{5}}", "5"),
    ],
)
def test_the_content_of_a_box_is_read(text: str, inside: str) -> None:
    box = unboxed(text)
    assert box is not None
    assert box.view.text == inside


@pytest.mark.parametrize("text", ["", "boxed", r"\boxed{42", r"\boxed 42", "{boxed}", "the box {42}"])
def test_other_text_is_not_a_box(text: str) -> None:
    assert unboxed(text) is None


@pytest.mark.parametrize(
    ("text", "alone", "rivals", "span"),
    [
        (r"\boxed{1}", True, False, r"\boxed{1}"),
        (r"$$\boxed{1}$$.", True, False, r"$$\boxed{1}$$"),
        ("\\[\n\\boxed{1}\n\\]", True, False, "\\[\n\\boxed{1}\n\\]"),
        (r"x is \(x = \boxed{1}\)", False, False, r"\(x = \boxed{1}\)"),
        (r"\boxed{1}, again \boxed{1}", False, False, r"\boxed{1}"),
        (r"\boxed{1}, no, \boxed{2}", False, True, r"\boxed{2}"),
    ],
)
def test_the_text_around_a_box_is_kept(text: str, alone: bool, rivals: bool, span: str) -> None:
    box = unboxed(text)
    assert box is not None
    assert (box.alone, box.rivals, text[slice(*box.span)]) == (alone, rivals, span)
    inner: list[Any] = [("S015", 0, 1, "", None)]
    candidate = box.candidate(Candidate("1", [(0, 1)], inner))
    assert candidate.codes == {"S015", "W004"} | ({"W010"} if rivals else set())
    assert candidate.spans == [box.span]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_every_letter_has_its_original_position(text: str) -> None:
    box = unboxed(text)
    if box is not None:
        ends = [box.view.back(at) for at in range(len(box.view.text) + 1)]
        assert ends == sorted(ends)
        assert all(box.span[0] <= end <= box.span[1] for end in ends)
