"""Streams: the value so far at any moment, findings as soon as they are certain, the verdict on the whole at the end."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, assert_at_most, each
from tests.recover.material import CONTRACTS, chunks, json_containers, mutated, same, texts, written
from tests.shapes.shape import Shape
from tests.shapes.streams import VALUES
from trueup import Contract
from trueup.measure import reading, replies

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "age"],
}  # fmt: skip
# A busy machine may take twice as long; a stream that is not linear takes much longer than that.
SLACK = 2.0

pytestmark = pytest.mark.spec("A15")


def begins(part: Any, whole: Any) -> bool:
    """Whether a value can have grown into another: closed members are still there, and the last may be longer."""
    if part is None and whole is not None:
        return True
    if type(part) is not type(whole):
        return False
    if isinstance(part, str):
        return bool(whole.startswith(part))
    if isinstance(part, list):
        closed = all(same(a, b) for a, b in zip(part[:-1], whole, strict=False))
        return len(part) <= len(whole) and closed and (not part or begins(part[-1], whole[len(part) - 1]))
    if isinstance(part, dict):
        names = list(part)
        if names != list(whole)[: len(names)]:
            return False
        return all(same(part[key], whole[key]) for key in names[:-1]) and (
            not names or begins(part[names[-1]], whole[names[-1]])
        )
    return same(part, whole)


def test_one_value_begins_another() -> None:
    assert begins({"a": [1, "x"]}, {"a": [1, "xy"], "b": 2})
    assert begins(None, {})
    assert not begins({"a": "x", "b": 1}, {"a": "xy", "b": 1}), "a closed string has changed"
    assert not begins({"a": 1}, {"b": 1})
    assert not begins([1, 2], [1])
    assert not begins([1], [1.0])


@given(chunks(written(json_containers).map(lambda case: case[1])))
def test_the_partial_value_of_plain_json_grows_into_the_value(case: tuple[str, list[str]]) -> None:
    text, pieces = case
    final = json.loads(text)
    stream = Contract(True).stream()
    before: Any = None
    for piece in pieces:
        shown = stream.feed(piece)
        now = copy.deepcopy(stream.partial)
        assert begins(shown, final)
        assert begins(before, now)
        assert begins(now, final)
        before = now
    assert same(stream.partial, final)
    verdict = stream.finish()
    assert same(verdict.data, final)
    assert verdict.fixes == ()


@given(chunks(texts))
def test_a_closed_member_never_changes(case: tuple[str, list[str]]) -> None:
    stream = CONTRACTS["person"].stream()
    before: Any = None
    for piece in case[1]:
        stream.feed(piece)
        now = copy.deepcopy(stream.partial)
        assert begins(before, now)
        before = now


@given(chunks(written(json_containers).map(lambda case: case[1])))
def test_the_open_path_leads_to_the_value_that_is_still_open(case: tuple[str, list[str]]) -> None:
    stream = Contract(True).stream()
    for piece in case[1]:
        stream.push(piece)
        here, path = stream.partial, stream.open_path
        assert path is None or here is not None
        for part in path or ():
            here = here[part]
    assert stream.open_path is None


@given(chunks(texts))
def test_the_partial_value_does_not_depend_on_the_cuts(case: tuple[str, list[str]]) -> None:
    text, pieces = case
    cut, single = CONTRACTS["any"].stream(), CONTRACTS["any"].stream()
    for piece in pieces:
        cut.feed(piece)
    for sign in text:
        single.feed(sign)
    assert same(cut.partial, single.partial)
    assert cut.findings == single.findings


@given(st.one_of(texts, mutated()), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_bytes_may_be_cut_anywhere_even_inside_a_character(text: str, sizes: list[int]) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    stream = CONTRACTS["lossy"].stream()
    at = turn = 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        stream.feed(raw[at : at + size])
        at, turn = at + size, turn + 1
    assert stream.finish() == CONTRACTS["lossy"].check(raw)


@given(chunks(written(json_containers).map(lambda case: case[1])))
def test_a_certain_fault_is_wrong_in_the_end_too(case: tuple[str, list[str]]) -> None:
    contract = CONTRACTS["person"]
    stream = contract.stream()
    for piece in case[1]:
        stream.feed(piece)
        if stream.findings.errors:
            break
    if stream.findings.errors:
        assert not contract.check(case[0]).ok


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        ("", None),
        ("Sure, here", None),
        ("<think>{\"a\": 1", None),
        ("<think>{\"a\": 1}</think>\n{\"b", {}),
        ("```json\n{\"a", {}),
        ('{"a": ', {}),
        ('{"a": "', {"a": ""}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u00e', {"a": "x"}),
        ('{"a": "x\\u00e9', {"a": "xé"}),
        ('{"a": "\\ud83d', {"a": ""}),
        ('{"a": "\\ud83d\\ude00', {"a": "😀"}),
        ('{"a": 12', {}),
        ('{"a": 12,', {"a": 12}),
        ('{"a": tru', {}),
        ('{"a": true}', {"a": True}),
        ('{"a": [1, "b', {"a": [1, "b"]}),
        ('{"a": [{"b": {"c": [', {"a": [{"b": {"c": []}}]}),
        ("{'a': True, b: 'x", {"a": True, "b": "x"}),
        ('{"a": 1, // note', {"a": 1}),
        ('[1, 2.5, "x", null', [1, 2.5, "x"]),
        ('{"a": 1} and more', {"a": 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_value_so_far(text: str, partial: Any, size: int) -> None:
    stream = Contract(True).stream()
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    assert same(stream.partial, partial)


def test_findings_come_as_soon_as_a_member_has_closed() -> None:
    stream = Contract(PERSON).stream()
    stream.feed('{"name": "Ada", "age": "thir')
    assert stream.findings == ()
    stream.feed('ty", "tags": [')
    assert [(found.code, found.path) for found in stream.findings] == [("V001", "$.age")]
    stream.feed('"a"]}')
    assert [(found.code, found.path) for found in stream.findings] == [("V001", "$.age")]
    verdict = stream.finish()
    assert [(found.code, found.path) for found in verdict.findings] == [("V001", "$.age")]


def test_a_member_that_can_be_coerced_is_not_a_finding() -> None:
    stream = Contract(PERSON).stream()
    stream.feed('{"name": 5, "age": "36", "tags": "a", "more": 1}')
    assert stream.findings == ()
    assert stream.finish().data == {"name": "5", "age": 36, "tags": ["a"], "more": 1}


def test_findings_about_the_items_of_a_list() -> None:
    stream = Contract({"type": "array", "items": PERSON}).stream()
    stream.feed('[{"name": "Ada", "age": 36}, {"name": "Bob"}')
    assert [(found.code, found.path) for found in stream.findings] == [("V002", "$[1].age")]


def test_a_stream_that_is_too_long_says_so_once_and_keeps_nothing_more() -> None:
    stream = Contract(True, max_size=10).stream()
    for _ in range(5):
        stream.feed('["aaaa", ')
    assert [found.code for found in stream.findings] == ["L001"]
    assert [found.code for found in stream.finish().findings] == ["L001"]


def test_a_stream_that_nests_too_deep_ends_refused() -> None:
    stream = Contract(True, max_depth=3).stream()
    stream.feed("[[[[1]]]]")
    assert [found.code for found in stream.finish().findings] == ["L002"]


def test_an_empty_stream_is_an_empty_reply() -> None:
    stream = Contract(PERSON).stream()
    assert stream.partial is None
    assert stream.finish() == Contract(PERSON).check("")


def test_finish_may_be_asked_twice_and_before_the_end() -> None:
    stream = Contract(PERSON, accept="lossy").stream()
    with pytest.raises(RuntimeError, match=r"call `finish\(\)`"):
        _ = stream.verdict
    stream.feed('{"name": "Ada", "age": 36, "tags": ["a')
    assert stream.finish() is stream.finish() is stream.verdict
    assert stream.finish().data == {"name": "Ada", "age": 36, "tags": ["a"]}
    with pytest.raises(RuntimeError, match="the stream is finished"):
        stream.feed('bc"]}')


def test_a_stream_without_a_schema_has_no_findings() -> None:
    stream = Contract().stream()
    stream.feed("Hello")
    assert stream.findings == ()
    assert stream.finish().ok


SALON = Contract(
    states={
        "SERVICE": {
            "forbid": [{"terms": ["Ana", "Pilar"], "except": ["negated"]}],
            "allow": [{"terms": ["Pilar Ruiz"]}],
        },
        "BOOKED": {},
    }
)


@given(piece=st.integers(1, 60), filler=st.integers(0, 90))
def test_text_that_the_state_forbids_is_reported_when_its_sentence_has_ended(piece: int, filler: int) -> None:
    before = "Hello, Susana. " + "We cut hair. " * filler + "It is not Ana. "
    text = before + "It would be Ana on Monday. And more."
    stream = SALON.stream(context={"state": "SERVICE"})
    for at in range(0, len(text), piece):
        stream.feed(text[at : at + piece])
        if stream.findings:
            break
    (found,) = stream.findings
    start, end = found.span or (0, 0)
    assert (found.code, text[start:end], start > len(before)) == ("D001", "Ana", True)
    assert at + piece >= text.index("Monday. ")
    rest = text[at + piece :]
    stream.feed(rest)
    assert (stream.findings, stream.finish().to_dict()) == ((found,), SALON.check(text, {"state": "SERVICE"}).to_dict())


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("It would be Ana. Or so. ", {"state": "BOOKED"}),
        ("Ask Ana", {"state": "SERVICE"}),
        ("<think>Not with Ana. Or so.</think> Which service?", {"state": "SERVICE"}),
        ("Susana cuts hair. " * 100, {"state": "SERVICE"}),
        ("a" * 30_000 + " Ana. ", {"state": "SERVICE"}),
    ],
)
def test_an_uncertain_fault_waits_for_the_verdict(text: str, context: dict[str, Any] | None) -> None:
    stream = SALON.stream(context=context)
    for at in range(0, len(text), 7):
        stream.feed(text[at : at + 7])
    assert not stream.findings
    assert stream.finish().to_dict() == SALON.check(text, context).to_dict()


@each(VALUES)
def test_feeding_takes_linear_time_in_small_pieces(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.growth
def test_states_that_are_kept_cost_no_more_than_reading_everything_again_with_jiter() -> None:
    pytest.importorskip("jiter")
    text = replies.stream_document(16_000)
    pieces = [text[at : at + 8] for at in range(0, len(text), 8)]
    kept, jiter = reading.stream_trueup(keep=True), reading.stream_jiter()
    assert_at_most(1.0, lambda: kept(pieces), lambda: jiter(pieces))
