"""The part of a stream that may be shown: sentences, fields or nothing, but never reasoning or special tokens."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, each
from tests.shapes.shape import Shape, repeated
from trueup import Contract
from trueup.contract.streaming.holding_back import Fields, Holder, Sentences, Way, hold, spoken
from trueup.verdict.facts import finding

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
STATES = {"ASKING": {"forbid": [{"terms": ["Ana"], "why": "names a stylist"}]}}
ASKING = Contract(states=STATES)
HERE = {"state": "ASKING"}
PROSE = Contract()


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def fed(holder: Holder, text: str, piece: int) -> str:
    return "".join(holder.feed(text[at : at + piece]) for at in range(0, len(text), piece))


_words = st.lists(
    st.sampled_from(
        [
            "Hola. ", "¿Qué servicio quieres?", " Mañana abrimos a las 3.5 ", "semana!\n", "e.g. this ", "Ana ", "x" * 50, "\n",
            "<think>", "</think>", "Ana?<|end|>", "<|im_end|>", "[THINK]", "`<think>`", "```\n", "<", "assistant", "[/THINK]",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.spec("C15")
@given(_words, st.lists(st.integers(0, 400), max_size=12), st.sampled_from([0, 40]))
def test_the_text_shown_by_sentence_is_a_start_without_forbidden_text(text: str, places: list[int], least: int) -> None:
    holder = Sentences(ASKING, HERE, least)
    shown = "".join(holder.feed(piece) for piece in cut(text, places))
    assert shown == holder.shown
    assert ASKING.check(shown, HERE).ok or not shown.strip()
    verdict = ASKING.check(text, HERE)
    tail = holder.tail(verdict, text)
    if holder.retracted:
        holder.take_back()
    assert tail is not None
    assert holder.shown + tail == spoken(text)


@given(_words, st.lists(st.integers(0, 400), max_size=12))
def test_the_shown_text_does_not_depend_on_the_chunks(text: str, places: list[int]) -> None:
    one, other = Sentences(PROSE, {}), Sentences(PROSE, {})
    assert one.feed(text) == one.shown
    for piece in cut(text, places):
        other.feed(piece)
    for holder in (one, other):
        tail = holder.tail(PROSE.check(text), text)
        if holder.retracted:
            holder.take_back()
        assert holder.shown + (tail or "") == spoken(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello.<|im_end|>", "Hello."),
        ("<|start|>assistant<|channel|>final<|message|>Hello.<|return|>", "Hello."),
        ("<|channel|>analysis<|message|>Who?<|end|><|start|>assistant<|channel|>final<|message|>Hello.", "Hello."),
        ("<|im_start|>assistant\nHello.", "Hello."),
        ("analysisWho is it?assistantfinalHello.", "Hello."),
        ("Who is it?\n</think>\n\nHello.", "Hello."),
        ("Write `<think>` first. Then `</think>`.", "Write `<think>` first. Then `</think>`."),
        ("```xml\n<think>\n</think>\n<s>\n```\nSo.", "```xml\n<think>\n</think>\n<s>\n```\nSo."),
        ("a < b and b > c.", "a < b and b > c."),
        ("  Hello.", "  Hello."),
        ("Wait. <think>Who?</think> Ada.", "Wait.  Ada."),
        ("<think>never closed. And on. ", ""),
        ("Cut <thi", "Cut <thi"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("piece", [1, 4, 1_000])
def test_a_text_as_it_may_be_shown(text: str, shown: str, piece: int) -> None:
    assert spoken(text) == shown
    holder = Sentences(PROSE, {})
    fed(holder, text, piece)
    tail = holder.tail(PROSE.check(text), text)
    if holder.retracted:
        holder.take_back()
    assert holder.shown + (tail or "") == shown


def test_reasoning_that_the_prompt_opened_is_taken_back_where_that_can_be_done() -> None:
    text = "The user says hi. I should greet. </think>Hello there. How are you?"
    holder = Sentences(PROSE, {})
    assert fed(holder, text, 5).startswith("The user says hi.")
    assert holder.retracted
    tail = holder.tail(PROSE.check(text), text)
    assert holder.shown + str(tail) == "The user says hi. I should greet.Hello there. How are you?"
    holder.take_back()
    assert not holder.retracted
    assert holder.shown + str(holder.tail(PROSE.check(text), text)) == "Hello there. How are you?"


def test_a_claim_waits_for_the_call_that_justifies_it_and_forbidden_text_does_not() -> None:
    claims = Contract(states={**STATES, "claims": {"book": {"terms": ["is booked"]}}})
    holder = Sentences(claims, HERE)
    assert fed(holder, "Your visit is booked. Bye. ", 3) == ""
    assert holder.doomed == ()
    fed(holder, "Ana is free. ", 3)
    assert [found.code for found in holder.doomed] == ["D001"]


@pytest.mark.parametrize("before", ["Let me see. ", "\n\n  Let me see.\n", "<think>Ping?</think>\n\nLet me see. "])
@pytest.mark.parametrize("behind", ["", " Done.", "\n\nDone."])
def test_text_after_a_call_follows_the_text_that_was_shown(before: str, behind: str) -> None:
    def ping(host: str) -> str:
        return host

    contract = Contract(tools=[ping])
    text = before + '<tool_call>{"name": "ping", "arguments": {"host": "a"}}</tool_call>' + behind
    for piece in (1, 5, 1_000):
        holder = Sentences(contract, {})
        shown = fed(holder, text, piece)
        assert shown.strip() == "Let me see."
        tail = holder.tail(contract.check(text), text)
        assert tail is not None
        assert (shown + tail).split() == ["Let", "me", "see.", *behind.split()]


def test_a_thought_that_was_shown_before_its_action_does_not_break_the_stream() -> None:
    def ping(host: str) -> str:
        return host

    contract = Contract(tools=[ping])
    text = 'Thought: I should look whether the host answers at all.\nAction: ping\nAction Input: {"host": "a"}'
    holder = Sentences(contract, {})
    assert fed(holder, text, 7).startswith("Thought:")
    assert contract.check(text).calls
    assert holder.tail(contract.check(text), text) == ""


def test_from_where_a_call_may_start_nothing_is_shown_before_the_verdict() -> None:
    def ping(host: str) -> str:
        return host

    contract = Contract(tools=[ping])
    text = 'Let me see. <tool_call>{"name": "ping", "arguments": {"host": "a. b"}}</tool_call>\nDone. '
    for piece in (1, 7, 1_000):
        holder = Sentences(contract, {})
        assert fed(holder, text, piece) == "Let me see."
        assert holder.tail(contract.check(text), text) == "\nDone."  # the text next to the call is not lost
    holder = Sentences(contract, {})
    assert fed(holder, "ping(host='a')\nDone. ", 4) == "", "a call without a mark is seen by the contract"


def test_at_first_a_few_words_wait_for_more() -> None:
    text = "Hi. Yes. " + "A long sentence that says what there is to say. Bye. "
    assert fed(Sentences(PROSE, {}, 40), text, 3).startswith("Hi. Yes. A long")
    assert Sentences(PROSE, {}, 40).feed("Hi. Yes. ") == ""
    assert Sentences(PROSE, {}).feed("Hi. Yes. ") == "Hi. Yes."


_objects = st.dictionaries(
    st.sampled_from(["name", "age", "tags", "note"]),
    st.one_of(st.text(max_size=8), st.integers(), st.lists(st.integers(), max_size=3)),
)
_AROUND = ["{}", "```json\n{}\n```", "Sure:\n{}", '<think>{"name": 1}</think>{}', '◁think▷{"age": 7}◁/think▷\n{}']


@given(_objects, st.lists(st.integers(0, 300), max_size=10), st.sampled_from(_AROUND))
def test_the_text_shown_by_field_and_its_tail_are_the_value(
    data: dict[str, Any], places: list[int], around: str
) -> None:
    contract = Contract({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}})
    text = around.replace("{}", json.dumps(data))
    holder = Fields(contract)
    shown = "".join(holder.feed(piece) for piece in cut(text, places))
    verdict = contract.check(text)
    if verdict.ok:
        tail = holder.tail(verdict, json.dumps(verdict.data))
        assert tail is not None
        assert json.loads(shown + tail) == verdict.data


def test_a_field_that_cannot_be_valid_dooms_the_reply_and_is_named_by_its_path() -> None:
    holder = Fields(Contract(PERSON))
    assert fed(holder, '{"name": "Ada", "age": {"years": 1}, ', 4) == '{"name":"Ada"'
    assert [(found.code, found.path) for found in holder.doomed] == [("V001", "$.age")]
    assert holder.value is None


@pytest.mark.parametrize(
    ("contract", "way", "kind"),
    [
        (Contract(PERSON), "auto", Fields),
        (Contract(PERSON), "field", Fields),
        (Contract(PERSON), "sentence", Holder),
        (Contract(PERSON), "whole", Holder),
        (ASKING, "auto", Sentences),
        (ASKING, "whole", Holder),
        (PROSE, "field", Sentences),
        (Contract(PERSON, rules=[{"name": "r", "expr": "age > 1", "error": "no"}]), "auto", Holder),
        (Contract(PERSON, states=STATES), "auto", Holder),
        (Contract(checks=[lambda _verdict, _context: [finding("Q001", "$", "no", None, {}, "")]]), "auto", Holder),
    ],
)
def test_the_way_of_holding_follows_the_contract(contract: Contract, way: Way, kind: type[Holder]) -> None:
    assert type(hold(contract, way, {})) is kind


def test_nothing_leaves_before_the_verdict_where_all_is_held() -> None:
    holder = hold(PROSE, "whole", {})
    text = "<think>Who?</think>Hello. And more. "
    assert fed(holder, text, 4) == ""
    assert (holder.value, holder.tail(PROSE.check(text), text)) == (None, "Hello. And more. ")
    assert hold(Contract(PERSON), "whole", {}).tail(Contract(PERSON).check("{}"), "{}") == "{}"


def _held(text: str) -> None:
    holder = Sentences(PROSE, {})
    fed(holder, text, 40)
    holder.tail(PROSE.check("Hello."), text)


def _held_whole(text: str) -> None:
    Sentences(PROSE, {}).feed(text)


_UNITS = {
    "sentences": "Hello there. ",
    "marks": "<think>a</think>b ",
    "closing": "</think>",
    "tokens": "<|im_end|>",
    "begun": "<thi",
}
_SHAPES = [
    *(Shape(name, repeated(unit), _held, 40_000, 1.0, "in pieces") for name, unit in _UNITS.items()),
    *(Shape(name, repeated(unit), _held_whole, 40_000, 1.0, "at once") for name, unit in _UNITS.items()),
]


@each(_SHAPES)
def test_holding_back_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)
