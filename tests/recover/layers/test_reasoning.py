"""Reasoning in a whole text and in a stream: the same for any division of the stream, as far as a stream can know."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, each
from tests.shapes.shape import Shape, repeated
from trueup.recover.layers.reasoning import Visible, reasoning_spans
from trueup.recover.marks import TABLE

_ROWS = TABLE["reasoning"]["tokens"]
_PIECES = [
    *(token for row in _ROWS for token in [*row["open"], *row["close"], *row.get("weak", ())]),
    *("<think>", "</think>", "<Thinking a='b'>", "</ THINKING >", "<seed:think>", "<think:x>", "</think:x>", "<analysis>"),
    *("{", "}", "[", "]", '"', "\\", "\n", " ", "\t", ": ", "a", "as", "assistant", "to=", "hello. ", '{"a": "', "<b>", "é"),
    *("<", "</", "<|", "<thi", "◁", "`", "```\n", "~~~", "<|im_start|>", "<s>", "<|channel|>", "final", "<|start|>assistant"),
]  # fmt: skip
_texts = st.lists(st.sampled_from(_PIECES), max_size=10).map("".join)
_cuts = st.lists(st.integers(0, 200), max_size=6)


def outside(text: str) -> str:
    """A text without its reasoning."""
    out, at = [], 0
    for start, stop in reasoning_spans(text):
        out.append(text[at:start])
        at = stop
    return "".join(out) + text[at:]


def streamed(text: str, cuts: list[int], *, prose: bool = False) -> tuple[str, bool]:
    """The complete output of a stream, and whether the prompt opened reasoning."""
    visible = Visible(prose=prose)
    edges = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    given = [visible.feed(text[a:b]) for a, b in itertools.pairwise(edges)]
    return "".join([*given, visible.finish()])[visible.retracted :], visible.misled


@given(_texts, _cuts)
@example('{"a": "\n<think>"}', [9])
@example('say "</think>" or </think>4', [])
@example("<|channel|>final<|message|>{}", [11])
def test_a_stream_gives_the_text_outside_reasoning(text: str, cuts: list[int]) -> None:
    assert streamed(text, cuts)[0] == outside(text)


@given(_texts, _cuts)
def test_prose_is_the_same_however_the_stream_is_split(text: str, cuts: list[int]) -> None:
    assert streamed(text, cuts, prose=True) == streamed(text, [], prose=True)
    assert streamed(text, list(range(len(text))), prose=True) == streamed(text, [], prose=True)


@given(_texts)
def test_spans_are_in_order_and_do_not_touch(text: str) -> None:
    at = 0
    for start, stop in reasoning_spans(text):
        assert at <= start < stop <= len(text)
        at = stop


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>a</think>b", "b"),
        ("a<think>b", "a"),
        ("a</think>b", "b"),
        ('{"a": "x <think> y"}', '{"a": "x <think> y"}'),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ('{"a": 1}\n<think>b</think>', '{"a": 1}\n'),
        ('{"a": 1}<think>b</think>', '{"a": 1}'),
        ('Say "</think>" there', 'Say "</think>" there'),
        ('Say "</think>" or\n{"b": 2}</think>{"a": 1}', '{"a": 1}'),
        ('{draft} <think>b</think>\n</think>x', '{draft} \n</think>x'),
        ('{"a": x <think>b</think>}', '{"a": x <think>b</think>}'),
        ("Hm {1} </think>x <think>b</think>y", "x y"),
        ("<think/>a", "<think/>a"),
        ("The answer is 4<|end|>", "The answer is 4<|end|>"),
        ("<|channel|>final<|message|>4", "<|channel|>final<|message|>4"),
        ("so<|start|>assistant<|channel|>final<|message|>4", "4"),
        ("<|channel|>commentary to=functions.f<|message|>{}", "<|channel|>commentary to=functions.f<|message|>{}"),
    ],
)  # fmt: skip
def test_reasoning_is_recognized(text: str, shown: str) -> None:
    assert outside(text) == shown
    assert streamed(text, list(range(len(text))))[0] == shown


def test_only_a_possible_mark_is_held_back() -> None:
    stream = Visible()
    assert [stream.feed(piece) for piece in ("a <", "b", "> <th", "e ", "m <think", "ing", ">x", "</thinking", ">b")] == [
        "a ", "", "<b> ", "<the ", "m ", "", "", "", "b",
    ]  # fmt: skip
    stream = Visible()
    assert [stream.feed(sign) for sign in '{"a": "[THINK], <t'] == list('{"a": "[THINK], <t'), (
        "inside a string nothing is"
    )
    assert not stream.inside


def test_reasoning_opened_in_the_prompt_is_recognized() -> None:
    stream = Visible()
    assert stream.feed("I think so.") == "I think so."
    assert not stream.misled
    assert stream.feed("</think>Yes") == "Yes"
    assert (stream.misled, stream.retracted) == (True, len("I think so."))


def _fed(text: str) -> None:
    for prose in (False, True):
        visible = Visible(prose=prose)
        for at in range(0, len(text), 7):
            visible.feed(text[at : at + 7])


def _at_once(text: str) -> None:
    reasoning_spans(text)
    for prose in (False, True):
        Visible(prose=prose).feed(text)


_UNITS = [
    "<",
    "<thi",
    "<think>",
    "</think>",
    "{ <think>",
    '"</think>',
    " ",
    "`",
    "a",
    "<b>x</b>",
    "[",
    "\\",
    "<think a",
    "<|im_start|>",
]
_SHAPES = [
    Shape(repr(unit), repeated(unit), work, 20_000, 1.0, work.__name__) for unit in _UNITS for work in (_fed, _at_once)
]


@each(_SHAPES)
def test_reading_past_reasoning_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)
