"""Tool definitions in every common shape, and the order of calls over a reply and a conversation: each sentence as a test."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from trueup import Contract

PARAMETERS = {
    "type": "object",
    "properties": {"day": {"type": "integer"}, "room": {"type": "string", "enum": ["garden", "hall"]}},
    "required": ["day"],
}


def book(day: int, room: Literal["garden", "hall"] = "hall") -> str:
    """Book a table."""
    return f"{day} {room}"


class Book(BaseModel):
    """Book a table."""

    day: int
    room: Literal["garden", "hall"] = Field("hall", description="Where to sit.")


SHAPES: dict[str, Any] = {
    "OpenAI": {"type": "function", "function": {"name": "book", "description": "Book.", "parameters": PARAMETERS}},
    "OpenAI, flat": {"type": "function", "name": "book", "description": "Book.", "parameters": PARAMETERS},
    "Anthropic": {"name": "book", "description": "Book.", "input_schema": PARAMETERS},
    "Gemini": {"functionDeclarations": [{"name": "book", "description": "Book.", "parameters": PARAMETERS}]},
    "MCP": {"name": "book", "description": "Book.", "inputSchema": PARAMETERS},
    "a Python function": book,
    "a pydantic model": Book,
    "the simple list": {
        "name": "book",
        "parameters": [
            {"name": "day", "type": "integer", "required": True},
            {"name": "room", "type": "string", "required": False, "enum": ["garden", "hall"]},
        ],
    },
}


def calling(name: str, arguments: dict[str, Any], key: str = "c1") -> dict[str, Any]:
    """A reply that makes one call."""
    return calls((name, arguments, key))


def calls(*made: tuple[str, dict[str, Any], str]) -> dict[str, Any]:
    tool_calls = [
        {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments, key in made
    ]
    message = {"role": "assistant", "content": None, "tool_calls": tool_calls}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


@pytest.mark.spec("T1")
@pytest.mark.parametrize("shape", SHAPES)
def test_definitions_are_read_from_every_common_shape(shape: str) -> None:
    contract = Contract(tools=[SHAPES[shape]])
    name = contract.tools[0].name
    assert name.lower() == "book"
    assert contract.check(calling(name, {"day": 3, "room": "garden"})).ok
    assert not contract.check(calling(name, {"room": "garden"})).ok
    assert not contract.check(calling(name, {"day": 3, "room": "cellar"})).ok
    assert not contract.check(calling(name, {"day": "soon"})).ok


@pytest.mark.spec("T1")
def test_the_answer_of_an_mcp_server_is_read_whole() -> None:
    listed = {"tools": [{"name": "book", "description": "Book.", "inputSchema": PARAMETERS}]}
    assert [tool.name for tool in Contract(tools=listed).tools] == ["book"]


# T6, the order of calls

STEPS = ["check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution"]


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def diagnosis() -> Contract:
    return Contract(tools=[*map(tool, [*STEPS, "say"])], order={"sequence": STEPS})


def answered(name: str, key: str, *, error: bool = False, text: str = "done") -> list[dict[str, Any]]:
    """A call in the history, and its result, in Anthropic's format."""
    use = {"type": "tool_use", "id": key, "name": name, "input": {}}
    result = {"type": "tool_result", "tool_use_id": key, "content": text, **({"is_error": True} if error else {})}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def unanswered(name: str, key: str) -> list[dict[str, Any]]:
    return answered(name, key)[:1]


@pytest.mark.spec("T6")
def test_an_earlier_step_after_a_later_one_is_a_warning_that_names_the_furthest() -> None:
    verdict = diagnosis().check(calls(("ping_gateway", {}, "a"), ("get_ip_config", {}, "b")))
    assert verdict.ok
    assert any("ping_gateway" in found.message for found in verdict.warnings)


@pytest.mark.spec("T6")
def test_repeats_skips_and_other_tools_are_fine() -> None:
    made = [
        ("check_adapter_status", {}, "a"),
        ("check_adapter_status", {"n": 1}, "b"),
        ("say", {}, "c"),
        ("ping_dns", {}, "d"),
    ]
    assert not diagnosis().check(calls(*made)).warnings


@pytest.mark.spec("T6")
def test_the_sequence_works_across_the_conversation() -> None:
    context = {"history": answered("ping_dns", "a")}
    verdict = diagnosis().check(calling("get_ip_config", {}), context)
    assert any("ping_dns" in found.message for found in verdict.warnings)
    assert not diagnosis().check(calling("test_dns_resolution", {}), context).warnings


def booking() -> Contract:
    tools = [tool(name) for name in ("check_slot", "collect_name", "book", "pay", "cancel")]
    order = {"requires": {"book": ["check_slot", "collect_name"]}, "only_once": ["pay"], "at_most": {"book": 2}}
    return Contract(tools=tools, order=order)


@pytest.mark.spec("T6")
def test_a_call_without_its_prerequisites_is_an_error() -> None:
    contract = booking()
    assert not contract.check(calling("book", {})).ok
    assert not contract.check(calls(("check_slot", {}, "a"), ("book", {}, "b"))).ok
    assert contract.check(calls(("check_slot", {}, "a"), ("collect_name", {}, "b"), ("book", {}, "c"))).ok
    assert not contract.check(calls(("book", {}, "a"), ("check_slot", {}, "b"), ("collect_name", {}, "c"))).ok


@pytest.mark.spec("T6")
def test_across_turns_only_calls_that_were_answered_without_an_error_count() -> None:
    contract = booking()
    good = [*answered("check_slot", "a"), *answered("collect_name", "b")]
    assert contract.check(calling("book", {}), {"history": good}).ok
    failed = [*answered("check_slot", "a", error=True), *answered("collect_name", "b")]
    assert not contract.check(calling("book", {}), {"history": failed}).ok
    never_ran = [*answered("collect_name", "b"), *unanswered("check_slot", "a")]
    assert not contract.check(calling("book", {}), {"history": never_ran}).ok


@pytest.mark.spec("T6")
def test_a_refused_call_does_not_use_up_only_once() -> None:
    contract = booking()
    assert contract.check(calling("pay", {}), {"history": answered("pay", "a", error=True)}).ok
    assert not contract.check(calling("pay", {}), {"history": answered("pay", "a")}).ok
    assert not contract.check(calls(("pay", {}, "a"), ("pay", {"n": 1}, "b"))).ok


@pytest.mark.spec("T6")
def test_answers_of_execute_for_refused_calls_do_not_count() -> None:
    from trueup import execute

    contract = booking()
    for provider in ("openai", "anthropic", "gemini"):
        reply = calling("check_slot", {"n": "many"})
        verdict = contract.check(reply)
        assert not verdict.ok
        done = execute(verdict, {"check_slot": lambda n=0: n}, provider)
        said = reply["choices"][0]["message"]
        history = [said, *done.messages] if provider == "openai" else [*unanswered("check_slot", "c1"), *done.messages]
        if provider == "gemini":
            part = {"functionCall": {"name": "check_slot", "args": {}}}
            history = [{"role": "model", "parts": [part]}, *done.messages]
        verdict = contract.check(calling("book", {}, "c9"), {"history": [*history, *answered("collect_name", "b")]})
        assert not verdict.ok, provider


@pytest.mark.spec("T6")
def test_at_most_and_never_with_bound_calls() -> None:
    contract = Contract(
        tools=[tool("pay"), tool("cancel")], order={"at_most": {"pay": 2}, "never_with": {"pay": ["cancel"]}}
    )
    assert contract.check(calls(("pay", {"n": 1}, "a"), ("pay", {"n": 2}, "b"))).ok
    assert not contract.check(calls(("pay", {"n": 1}, "a"), ("pay", {"n": 2}, "b"), ("pay", {"n": 3}, "c"))).ok
    assert not contract.check(calls(("pay", {}, "a"), ("cancel", {}, "b"))).ok
