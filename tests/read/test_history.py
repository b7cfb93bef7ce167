"""The results of a conversation's calls: in every provider's shape, errors, refusals and silence are not success."""

from typing import Any

import pytest

from tests.growth import assert_linear
from trueup import Contract, ToolCall, execute
from trueup.read.answers import PROVIDERS, CallResult, tool_results
from trueup.read.history import earlier
from trueup.read.outcomes import is_failure, says_failure
from trueup.read.reader import read

pytestmark = pytest.mark.spec("T6")

CALLS: dict[str, Any] = {
    "openai": {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    "openai_responses": {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
    "gemini": {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "look", "args": {}}}]},
    "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "look", "input": {}}}]},
    "vercel": {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "look", "input": {}}]},
    "langchain": {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {}, "id": "a", "type": "tool_call"}]},
    "ollama": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]},
}  # fmt: skip
SHAPES = [name for name in PROVIDERS if name != "mcp"]  # what a server answers is not a message


def history(provider: str, text: str, *, is_error: bool) -> list[Any]:
    said = CALLS.get(provider, CALLS["openai"])
    return [said, *tool_results([CallResult(ToolCall("look", {}, "a"), text, is_error)], provider)]


def worked(messages: list[Any]) -> list[tuple[str, bool, bool]]:
    return [(c.name, c.answered, c.failed) for said in earlier(messages, read) for c in said.reply.calls]


@pytest.mark.parametrize("provider", SHAPES)
def test_results_that_we_write_say_whether_the_call_succeeded(provider: str) -> None:
    assert worked(history(provider, "free", is_error=False)) == [("look", True, False)]
    for text in (
        "no",
        "The call of 'look' was not made. Why not.",
        "Timeout: late",
        "KeyError: 'x'",
        "",
        "0.5",
        "HTTPError: 0.5",
    ):
        assert worked(history(provider, text, is_error=True)) == [("look", True, True)], text
    assert worked(history(provider, "free", is_error=False)[:1]) == [("look", False, False)]


FAILED = [
    {"role": "tool", "tool_call_id": "a", "content": '{"error": "no such slot"}'},
    {"role": "tool", "tool_call_id": "a", "content": '{"error": {"code": 404}}'},
    {"role": "tool", "tool_call_id": "a", "content": "Error: timed out"},
    {"role": "tool", "tool_call_id": "a", "content": "Error: 3.11 is not supported"},
    {"role": "tool", "tool_call_id": "a", "content": "KeyError: 3"},
    {"role": "tool", "tool_call_id": "a", "content": "  requests.exceptions.ConnectionError: refused"},
    {"role": "tool", "tool_call_id": "a", "content": "Traceback (most recent call last):\n …"},
    {"role": "tool", "tool_call_id": "a", "content": "La llamada no se ha hecho:\n- …"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "Error: no"}]},
    {"role": "tool", "tool_call_id": "a", "content": '{"content": [], "isError": true}'},
    {"type": "tool", "tool_call_id": "a", "content": "no", "status": "error"},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"error": "no"}}}]},
    {"type": "function_call_output", "call_id": "a", "output": "Error: no"},
    {"type": "function_call_output", "call_id": "a", "output": "Error: no", "status": "completed"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {"data": '{"error": "no"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": '{"ok": false, "error": "no"}'},
    {"role": "tool", "tool_call_id": "a", "content": '{"type": "sensor", "value": null, "error": "no signal"}'},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "look", "output": {"type": "error-json", "value": {}}}]},
]  # fmt: skip
WORKED = [
    {"role": "tool", "tool_call_id": "a", "content": "Error rates fell by 3 %."},
    {"role": "tool", "tool_call_id": "a", "content": "MeanSquaredError: 0.12"},
    {"role": "tool", "tool_call_id": "a", "content": "error: 3 %, value: 2"},
    {"role": "tool", "tool_call_id": "a", "content": '{"error": null, "slot": 3}'},
    {"role": "tool", "tool_call_id": "a", "content": '{"value": 3.1, "error": 0.2}'},
    {"role": "tool", "tool_call_id": "a", "content": '{"error": ""}'},
    {"role": "tool", "tool_call_id": "a", "content": '{"success": true, "error": "the receipt was not mailed"}'},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {"data": "free"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "The call of duty was not made up."},
    {"role": "tool", "tool_call_id": "a", "content": ""},
    {"role": "tool", "tool_call_id": "a", "content": "{broken error"},
    {"type": "tool", "tool_call_id": "a", "content": "Error: is the first word of the book", "status": "success"},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "Error: 1", "is_error": False}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "look", "output": {"type": "json", "value": {"error": "x"}}}]},
]  # fmt: skip


@pytest.mark.parametrize("output", FAILED)
def test_an_error_is_recognized_by_its_field_or_its_words(output: dict[str, Any]) -> None:
    assert worked([CALLS["openai"], output]) == [("look", True, True)]


@pytest.mark.parametrize("output", WORKED)
def test_text_that_only_mentions_errors_is_a_result(output: dict[str, Any]) -> None:
    assert worked([CALLS["openai"], output]) == [("look", True, False)]


@pytest.mark.parametrize(
    ("state", "failed"), [("output-available", False), ("output-error", True), ("output-denied", True)]
)
def test_a_call_may_contain_its_own_output(state: str, failed: bool) -> None:
    part = {"type": "tool-look", "toolCallId": "a", "state": state, "input": {}, "output": "ok"}
    assert worked([{"role": "assistant", "parts": [part]}]) == [("look", True, failed)]


def test_a_repeated_id_belongs_to_the_last_call() -> None:
    result = {"role": "tool", "tool_call_id": "a", "content": "free"}
    assert worked([CALLS["openai"], CALLS["openai"], result]) == [("look", False, False), ("look", True, False)]


def test_langchain_objects_are_read_too() -> None:
    from langchain_core.messages import AIMessage, ToolMessage

    said = AIMessage(content="", tool_calls=[{"name": "look", "args": {}, "id": "a"}])
    for status, failed in (("success", False), ("error", True)):
        result = ToolMessage("no", tool_call_id="a", status=status)
        assert worked([said, result]) == [("look", True, failed)]


@pytest.mark.parametrize(
    ("content", "failed"), [(None, False), (3, False), ([], False), ({"error": "x"}, True), (["Error: x"], True)]
)
def test_content_of_any_kind_is_read(content: Any, failed: bool) -> None:
    assert says_failure(content) is failed
    assert is_failure({"content": content}) is failed


# -- the sentences of T6, over turns ------------------------------------------------------------------


def check_slot(day: int) -> str:
    """Look whether a day is free."""
    if day > 30:
        raise TimeoutError("late")
    return "free"


def book(day: int) -> str:
    """Book a day."""
    return "booked"


def pay(amount: int) -> str:
    """Pay."""
    return "paid"


TOOLS = [check_slot, book, pay]
SALON = Contract(tools=TOOLS, order={"requires": {"book": ["check_slot"]}, "only_once": ["pay"]})


def openai(*calls: tuple[str, str]) -> dict[str, Any]:
    rows = [{"id": f"c{i}", "function": {"name": name, "arguments": args}} for i, (name, args) in enumerate(calls)]
    return {"role": "assistant", "content": None, "tool_calls": rows}


def anthropic(*calls: tuple[str, str]) -> dict[str, Any]:
    import json

    blocks = [
        {"type": "tool_use", "id": f"t{i}", "name": name, "input": json.loads(args)}
        for i, (name, args) in enumerate(calls)
    ]
    return {"role": "assistant", "content": blocks}


@pytest.mark.parametrize("say", [openai, anthropic])
@pytest.mark.parametrize("args", ['{"day": "soon"}', '{"day": 31}'], ids=["refused", "raised"])
def test_book_does_not_pass_after_a_check_slot_that_never_worked(say: Any, args: str) -> None:
    messages = [{"role": "user", "content": "Book!"}, say(("check_slot", args))]
    messages += execute(SALON.check(messages[-1], {"history": messages[:-1]}), TOOLS).messages
    verdict = SALON.check(say(("book", '{"day": 3}')), {"history": messages})
    assert [found.code for found in verdict.errors] == ["T008"]
    messages += [say(("check_slot", '{"day": 3}'))]
    messages += execute(SALON.check(messages[-1], {"history": messages[:-1]}), TOOLS).messages
    assert SALON.check(say(("book", '{"day": 3}')), {"history": messages}).ok


@pytest.mark.parametrize("say", [openai, anthropic])
def test_a_refused_pay_does_not_make_the_correct_one_impossible(say: Any) -> None:
    messages = [{"role": "user", "content": "Pay!"}, say(("pay", '{"amount": "much"}'))]
    messages += execute(SALON.check(messages[-1]), TOOLS).messages
    right = say(("pay", '{"amount": 3}'))
    verdict = SALON.check(right, {"history": messages})
    assert verdict.ok
    messages += [right, *execute(verdict, TOOLS).messages]
    assert [found.code for found in SALON.check(right, {"history": messages}).errors] == ["T009"]


def test_a_call_without_a_result_does_not_count() -> None:
    messages = [openai(("check_slot", '{"day": 3}'), ("pay", '{"amount": 1}'))]
    verdict = SALON.check(openai(("book", '{"day": 3}'), ("pay", '{"amount": 1}')), {"history": messages})
    assert [found.code for found in verdict.errors] == ["T008"]
    assert [call.name for call in verdict.calls] == ["pay"]


def test_the_same_applies_when_a_whole_conversation_is_checked() -> None:
    asked = {"role": "user", "content": "Book!"}
    failed = {"role": "tool", "tool_call_id": "c0", "content": "Error: timed out"}
    told = [asked, openai(("check_slot", '{"day": 3}')), failed]
    later = {
        "role": "assistant",
        "tool_calls": [{"id": "d", "function": {"name": "book", "arguments": '{"day": 3}'}}],
    }
    assert [found.code for found in SALON.check([*told, later]).errors] == ["T008"]
    assert SALON.check([*told[:2], {**failed, "content": "free"}, later]).ok


def test_steps_and_places_count_in_the_same_way() -> None:
    steps = Contract(tools=TOOLS, order=["check_slot", "book"])
    placed = Contract(tools=TOOLS, order={"expected_sequence": ["check_slot", "book"]})
    messages = [openai(("book", '{"day": 3}')), {"role": "tool", "tool_call_id": "c0", "content": "Error: no"}]
    assert steps.check(openai(("check_slot", '{"day": 3}')), {"history": messages}).findings == ()
    assert placed.check(openai(("check_slot", '{"day": 3}')), {"history": messages}).findings == ()


@pytest.mark.parametrize(("output", "code"), [("free", None), ('{"error": "no"}', "T008")])
def test_calls_written_in_the_text_are_read(output: str, code: str | None) -> None:
    said = {"role": "assistant", "content": '<tool_call>{"name": "check_slot", "arguments": {"day": 3}}</tool_call>'}
    for result in (
        {"role": "tool", "content": output},
        {"role": "user", "content": f"<tool_response>\n{output}\n</tool_response>"},
    ):
        verdict = SALON.check(openai(("book", '{"day": 3}')), {"history": [said, result]})
        assert [found.code for found in verdict.errors] == ([code] if code else [])
    unanswered = SALON.check(openai(("book", '{"day": 3}')), {"history": [said, {"role": "user", "content": "Well?"}]})
    assert [found.code for found in unanswered.errors] == ["T008"]


@pytest.mark.growth
def test_a_long_history_takes_linear_time() -> None:
    def turns(count: int) -> list[Any]:
        return [
            message
            for at in range(count)
            for message in (
                openai(("check_slot", '{"day": 3}')),
                {"role": "tool", "tool_call_id": "c0", "content": f"Error: {at}" if at % 2 else "free"},
            )
        ]

    assert_linear(lambda messages: earlier(messages, read), turns, 4_000)
    assert_linear(says_failure, lambda size: "a." * size + "Err", 400_000)
    assert_linear(says_failure, lambda size: '{"error" ' * size, 200_000)
