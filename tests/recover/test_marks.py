"""Every reasoning mark of marks.toml, with every reader: drafts are never shown or run."""

import itertools
import json
import re
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract, Policy
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream
from trueup.ask.words.quoting import disarm
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.recover import marks
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
VALUE, TEXT = Contract(PERSON), Contract()
GOOD = {"name": "Ada", "age": 36}
DRAFT = '{"name": "Bob", "age": 1}'
WORDS = "Hello there, what can I do for you today? We have cuts. And we have colours."


class Mark(NamedTuple):
    """An opening and a closing mark of reasoning."""

    open: str
    close: str

    def around(self, thought: str, said: str) -> str:
        return f"{self.open}{thought}{self.close}\n{said}"


def _marks() -> list[Mark]:
    reasoning = marks.TABLE["reasoning"]
    found = [Mark(f"<{name}>", f"</{name}>") for row in reasoning["tags"] for name in row["names"]]
    for row in reasoning["tokens"]:
        closing = [*row["close"], *row.get("weak", ())]
        found += [Mark(row["open"][0], close) for close in closing if row["open"]]
        found += [Mark(opening, closing[0]) for opening in row["open"][1:]]
    return [
        *found,
        Mark("<Think>", "</THINK>"),
        Mark('<thinking level="high">', "</thinking>"),
        Mark("<seed:think>", "</seed:think>"),
        Mark("<think:opensource>", "</think:opensource>"),
    ]


MARKS = _marks()
TOKENS = [token for row in marks.TABLE["reasoning"]["tokens"] for token in row["open"]]
CLOSING = [token for row in marks.TABLE["reasoning"]["tokens"] for token in [*row["close"], *row.get("weak", ())]]
UNOPENED = [token for row in marks.TABLE["reasoning"]["tokens"] for token in row["close"]]
every = pytest.mark.parametrize("mark", MARKS, ids=["".join(mark) for mark in MARKS])
pieces = pytest.mark.parametrize("piece", [1, 1_000], ids=["char by char", "in one piece"])


def ping(host: str) -> str:
    """Reach a host."""
    return host


def is_part(value: Any) -> bool:
    """Whether a value is a part of the right one."""
    if value is None:
        return True
    name, age = value.get("name", ""), value.get("age", 36)
    return "Ada".startswith(name) and age == 36


@every
@pytest.mark.parametrize("thought", [f"Perhaps {DRAFT} or so.", DRAFT, f"```json\n{DRAFT}\n```"])
def test_the_value_after_the_draft_is_the_value(mark: Mark, thought: str) -> None:
    verdict = VALUE.check(mark.around(thought, json.dumps(GOOD)))
    assert verdict.ok
    assert verdict.data == GOOD


@every
def test_a_draft_alone_is_not_an_answer(mark: Mark) -> None:
    assert not VALUE.check(f"{mark.open}Perhaps {DRAFT}{mark.close}").ok
    assert not VALUE.check(f"{mark.open}Perhaps {DRAFT}").ok


@every
@pieces
def test_a_stream_never_shows_the_draft(mark: Mark, piece: int) -> None:
    text = mark.around(f"Perhaps {DRAFT} or so.", json.dumps(GOOD))
    stream = VALUE.stream()
    for at in range(0, len(text), piece):
        assert is_part(stream.feed(text[at : at + piece]))
        assert is_part(stream.partial)
    assert stream.partial == GOOD
    assert stream.finish().data == GOOD


@every
@pieces
def test_a_stream_of_ask_never_shows_the_draft(mark: Mark, piece: int) -> None:
    text = mark.around(f"Perhaps {DRAFT} or so.", json.dumps(GOOD))
    seen = []
    asked = AskStream(VALUE, _streams(text, piece), "Hi", Policy(attempts=1), memory=Memory())
    for part in asked:
        assert is_part(part.value)
        seen.append(part.kind)
    assert (asked.answer.outcome, asked.answer.value) == ("accepted", GOOD)
    assert set(seen) == {"value"}


@every
@pieces
def test_a_text_from_ask_never_shows_the_reasoning(mark: Mark, piece: int) -> None:
    text = mark.around("Bob is a bad idea. Or is he?\nNo.\n", WORDS)
    asked = AskStream(TEXT, _streams(text, piece), "Hi", Policy(attempts=1), memory=Memory())
    parts = list(asked)
    assert {part.kind for part in parts} == {"text"}
    assert "".join(part.text for part in parts) == WORDS


def _streams(text: str, piece: int) -> Any:
    return lambda _: (text[at : at + piece] for at in range(0, len(text), piece))


@pytest.mark.parametrize("piece", [3, 1_000])
@pytest.mark.parametrize("contract", [VALUE, TEXT], ids=["value", "text"])
def test_the_gateway_never_sends_the_draft(contract: Contract, piece: int) -> None:
    said = json.dumps(GOOD) if contract is VALUE else WORDS
    script = [Say(mark.around(f"Perhaps {DRAFT}. Or Bob. ", said), piece=piece) for mark in MARKS]
    shown = {}
    with (
        ScriptedServer(script) as upstream,
        running(of(upstream.url, contract, policy=Policy(attempts=1))) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        for mark in MARKS:
            body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "stream": True}
            shown["".join(mark)] = _content(client.post("/v1/chat/completions", json=body).text)
    wrong = {
        mark: text
        for mark, text in shown.items()
        if "Bob" in text or value_or_text(text, contract) != value_or_text(said, contract)
    }
    assert not wrong


def _content(events: str) -> str:
    lines = [line[6:] for line in events.splitlines() if line.startswith("data: {")]
    chunks = [chunk for chunk in map(json.loads, lines) if chunk.get("choices")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


def value_or_text(text: str, contract: Contract) -> Any:
    try:
        return json.loads(text) if contract is VALUE else text
    except ValueError:
        return None


CALLS = [
    '<tool_call>{"name": "ping", "arguments": {"host": "HERE"}}</tool_call>',
    '{"name": "ping", "arguments": {"host": "HERE"}}',
    "[ping(host='HERE')]",
    '<function=ping><parameter=host>HERE</parameter></function>',
    "Action: ping\nAction Input: {\"host\": \"HERE\"}",
]  # fmt: skip


@every
def test_a_call_in_reasoning_is_not_a_call(mark: Mark) -> None:
    contract = Contract(tools=[ping])
    for call in CALLS:
        drafted, meant = call.replace("HERE", "draft"), call.replace("HERE", "real")
        assert contract.check(mark.around(f"Perhaps\n{drafted}\n", "Done, all is well.")).calls == (), call
        calls = contract.check(mark.around(f"Perhaps\n{drafted}\n", meant)).calls
        assert [one.args for one in calls] == [{"host": "real"}], call


@every
def test_a_stream_of_ask_runs_no_drafted_call(mark: Mark) -> None:
    text = mark.around(f"Perhaps\n{CALLS[0].replace('HERE', 'draft')}\n", WORDS)
    asked = AskStream(Contract(tools=[ping]), _streams(text, 4), "Hi", Policy(attempts=1), memory=Memory())
    assert "".join(part.text for part in asked) == WORDS
    assert asked.answer.calls == ()


@every
def test_a_quoted_reply_opens_no_reasoning_in_a_prompt(mark: Mark) -> None:
    quoted = disarm(mark.around("Perhaps.", "Done."))
    assert not marks.OPENS_REASONING.search(quoted)
    assert not marks.CLOSES_REASONING.search(quoted.replace("assistantfinal", ""))  # plain words stay


# -- the table and its patterns --------------------------------------------------------------------------------------------


def test_every_row_names_the_models_that_write_it() -> None:
    rows = [*marks.TABLE["reasoning"]["tags"], *marks.TABLE["reasoning"]["tokens"]]
    assert not [row for row in rows if not row["models"].strip()]


@every
def test_every_pattern_recognizes_every_mark(mark: Mark) -> None:
    assert marks.OPENS_REASONING.fullmatch(mark.open)
    assert marks.CLOSES_REASONING.fullmatch(mark.close)
    for text in mark:
        assert marks.may_reason(text)
        assert marks.may_reason(f'{{"a": 1}} é {text} b')
        assert len(text) <= marks.LONGEST_REASONING
        for end in range(1, len(text)):
            begun = marks.begins_reasoning().search("…" + text[:end])
            assert begun is not None, text[:end]
            assert begun.start() == 1, text[:end]


def test_no_mark_is_a_prefix_of_another_of_its_kind() -> None:
    """Otherwise a stream's view would depend on its division into pieces."""
    for kind in (TOKENS, CLOSING):
        pairs = list(itertools.permutations(sorted(set(kind)), 2))
        assert not [(one, other) for one, other in pairs if other.startswith(one)]
        assert not [(one, other) for one, other in pairs if one in other and not other.endswith(one)]


@pytest.mark.parametrize(
    "text",
    ["<b>", "<thinker>", "<think/>", "<think />", "[think]", "<think", "a < b", "<analysis_id>", "think", "<|im_end|>"],
)
def test_some_marks_open_nothing(text: str) -> None:
    assert not marks.OPENS_REASONING.search(text)


@given(
    st.lists(st.sampled_from([*TOKENS, *CLOSING, "<think>", "</think", "a", "<", "{", "◁", "[", " ", "İ", "|>"])).map(
        "".join
    )
)
def test_the_quick_look_misses_nothing(text: str) -> None:
    assert marks.may_reason(text) or not (marks.OPENS_REASONING.search(text) or marks.CLOSES_REASONING.search(text))


@pytest.mark.parametrize(
    "source", [marks.opens_reasoning, marks.closes_reasoning, marks.SPECIAL_TOKEN, marks.ANSWER_TAG]
)
def test_a_source_can_be_inside_another_pattern(source: str) -> None:
    assert re.compile(f"x(?:{source})y", re.IGNORECASE | re.MULTILINE).groups == 0


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>", "<|eot_id|>", "<s>", "</s>", "[INST]", "<｜end▁of▁sentence｜>", "<end_of_turn>", "<|begin_of_box|>",
        "<|start|>assistant<|channel|>final<|message|>", "<|im_start|>", "<start_of_turn>", "<channel|>", "<unused7>",
    ],
)  # fmt: skip
def test_special_tokens_are_removed(token: str) -> None:
    assert re.fullmatch(marks.SPECIAL_TOKEN, token)
    verdict = VALUE.check(f"{token}{json.dumps(GOOD)}")
    assert (verdict.data, [fix.code for fix in verdict.fixes]) == (GOOD, ["W005"])


@pytest.mark.parametrize("close", sorted(set(UNOPENED) | {"</think>", "</thinking>"}))
def test_reasoning_that_the_prompt_opened_is_not_an_answer(close: str) -> None:
    verdict = VALUE.check(f"Perhaps {DRAFT}.{close}{json.dumps(GOOD)}")
    assert (verdict.data, verdict.ok) == (GOOD, True)
    call = CALLS[0].replace("HERE", "draft")
    assert Contract(tools=[ping]).check(f"Perhaps\n{call}\n{close}Done, all is well.").calls == ()


@pytest.mark.parametrize("weak", sorted(set(CLOSING) - set(UNOPENED)))
def test_the_end_of_a_turn_does_not_turn_text_into_reasoning(weak: str) -> None:
    verdict = VALUE.check(f"Here it is: {json.dumps(GOOD)}{weak}")
    assert verdict.data == GOOD
    assert [fix.code for fix in verdict.fixes] == ["W002", "W005"]
