"""The real SDKs against the scripted server: the rules of the loop apply to every kind of client."""

import copy
from itertools import pairwise
from typing import Any

import pytest

from tests.ask.clients.kinds import DIRECT, KINDS, run
from tests.ask.stage import BAD, GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.memory import Memory
from trueup.testing.script import Call, Cut, Fail, Raw, Reset, Say, WrongLength
from trueup.testing.server import ScriptedServer

# google-genai's aiohttp session causes a warning
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
CONTRACT = Contract(SCHEMA)
VALUE = {"name": "Ada", "age": 36}
every = pytest.mark.parametrize("kind", KINDS)
direct = pytest.mark.parametrize("kind", DIRECT)


@pytest.mark.spec("A13")
@every
def test_a_good_reply_is_accepted_and_counted(kind: str) -> None:
    with ScriptedServer([Say(GOOD, usage=(21, 9))]) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.value) == ("accepted", VALUE)
    assert answer.usage["total_tokens"] == 30
    assert len(server.requests) == 1
    assert server.requests[0].model == "m"


@pytest.mark.spec("A7", "A13")
@every
def test_an_always_bad_model_gets_exactly_two_repairs(kind: str) -> None:
    with ScriptedServer(then=BAD) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.repairs, len(server.requests)) == ("degraded", 2, 3)
    told = str(server.requests[2].messages)
    assert "V001 $.age" in told
    assert "correction 2 of 2" in told
    assert len(server.requests[2].body) <= len(server.requests[1].body) + 60, "the context grows"


@pytest.mark.spec("A6")
@pytest.mark.parametrize("kind", [k for k in KINDS if KINDS[k].protocol == "openai"])
def test_temperature_is_0_on_repair_and_the_providers_own_before(kind: str) -> None:
    with ScriptedServer([BAD, GOOD]) as server:
        run(kind, server, CONTRACT)
    assert [request.fields.get("temperature") for request in server.requests] == [None, 0.0]


@pytest.mark.spec("A8", "X37")
@direct
def test_429_waits_as_long_as_the_provider_says(kind: str) -> None:
    busy = Fail(429, "slow down", "rate_limit_exceeded", retry_after=7)
    with ScriptedServer([busy] * 5 + [GOOD]) as server:
        asked = run(kind, server, CONTRACT, policy=Policy(models=("m",), attempts=1))
    assert asked.answer.outcome == "accepted"
    assert len(asked.clock.waits) == 5
    least = 7.0 if kind != "gemini-async" else 0.5
    assert all(wait >= least for wait in asked.clock.waits)


@pytest.mark.spec("A8")
@every
def test_server_errors_are_retried_three_times(kind: str) -> None:
    with ScriptedServer(then=Fail(503, "down")) as server:
        asked = run(kind, server, CONTRACT)
    assert (asked.answer.outcome, asked.answer.reason, len(server.requests)) == ("failed", "retries", 4)
    assert asked.answer.verdict.findings[0].code == "R002"
    assert [round(wait, 2) for wait in asked.clock.waits] == [0.75, 1.5, 3.0]


@pytest.mark.spec("A8")
@every
def test_client_errors_are_not_retried(kind: str) -> None:
    with ScriptedServer(then=Fail(401, "bad key sk-1234567890abcdef", "invalid_api_key")) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.reason, len(server.requests)) == ("failed", "rejected", 1)
    assert "sk-1234567890abcdef" not in str(answer.verdict.to_dict())


@pytest.mark.spec("A8", "X36")
@direct
@pytest.mark.parametrize(
    "fault",
    [
        Reset(),
        Cut(GOOD, after=0.7),
        Cut(GOOD, after=0.7, silent=True),
        WrongLength(GOOD, by=50),
        Raw("<html>busy</html>", content_type="text/html"),
        Raw("", content_type="application/json"),
    ],
    ids=["reset", "cut", "cut unseen", "length", "page", "nothing"],
)
def test_broken_responses_are_retried_and_never_valid(kind: str, fault: Any) -> None:
    with ScriptedServer([fault, GOOD]) as server:
        asked = run(kind, server, CONTRACT)
    assert (asked.answer.outcome, asked.answer.value) == ("accepted", VALUE)
    if kind.startswith("bedrock") and isinstance(fault, WrongLength):
        return  # botocore does not compare the length with the body, which is whole
    assert len(server.requests) == 2
    if kind == "gemini-async" and len(asked.answer.attempts) == 1:
        assert isinstance(fault, Reset)  # google-genai may reopen a connection that was reset
        return
    assert [attempt.verdict is None or not attempt.verdict.ok for attempt in asked.answer.attempts] == [True, False]
    assert len(asked.clock.waits) == 1


@pytest.mark.spec("X36")
@pytest.mark.parametrize("kind", ["openai", "openai-async", "http", "http-async"])
def test_a_reply_without_a_finish_reason_was_cut(kind: str) -> None:
    body = '{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": '
    body += '{"role": "assistant", "content": "{\\"name\\": \\"Ada\\", \\"age\\": 36}"}, "finish_reason": null}]}'
    with ScriptedServer(then=Raw(body)) as server:
        answer = run(kind, server, CONTRACT).answer
    assert answer.outcome == "failed"
    assert "A002" in {found.code for found in answer.findings}
    assert len(server.requests) == 4


@pytest.mark.spec("A8")
@every
def test_empty_replies_are_retried(kind: str) -> None:
    with ScriptedServer([Say(""), Say(" "), GOOD]) as server:
        asked = run(kind, server, CONTRACT)
    assert (asked.answer.outcome, asked.answer.repairs, asked.answer.retries) == ("accepted", 0, 2)
    assert len(asked.clock.waits) == 2


@pytest.mark.spec("A9")
@pytest.mark.parametrize("kind", [k for k in DIRECT if KINDS[k].protocol == "openai"])
def test_a_refused_mode_is_stepped_down_from_once(kind: str) -> None:
    memory = Memory()
    with ScriptedServer([GOOD, GOOD], reject={"json_schema"}) as server:
        first = run(kind, server, CONTRACT, memory=memory).answer
        second = run(kind, server, CONTRACT, memory=memory).answer
    assert [first.outcome, second.outcome] == ["accepted", "accepted"]
    forms = [request.fields["response_format"]["type"] for request in server.requests]
    assert forms == ["json_schema", "json_object", "json_object"]


@pytest.mark.spec("A9")
@pytest.mark.parametrize("kind", ["anthropic", "anthropic-async"])
def test_anthropic_is_held_to_a_schema_only_by_output_config(kind: str) -> None:
    with ScriptedServer([GOOD], reject={"output_config"}) as server:
        answer = run(kind, server, CONTRACT).answer
    assert answer.outcome == "accepted"
    held, free = (request.fields for request in server.requests)
    strict = held["output_config"]["format"]["schema"]
    assert strict["additionalProperties"] is False
    assert strict["properties"]["age"] == {"description": "(minimum: 0)", "type": "integer"}, (
        "the provider takes no bounds"
    )
    assert "output_config" not in free
    assert '{"name": "<text>", "age": <integer>}' in free["system"][-1]["text"]


@pytest.mark.spec("A9")
@direct
def test_the_next_model_is_asked_and_then_the_configured_reply_given(kind: str) -> None:
    policy = Policy(models=("small", "large"), repairs=1, fallback={"name": "nobody", "age": 0})
    with ScriptedServer({"small": [BAD, BAD], "large": [GOOD]}) as server:
        answer = run(kind, server, CONTRACT, policy=policy).answer
    assert (answer.outcome, answer.model) == ("accepted", "large")
    assert [request.model for request in server.requests] == ["small", "small", "large"]
    with ScriptedServer(then=BAD) as server:
        answer = run(kind, server, CONTRACT, policy=policy).answer
    assert (answer.outcome, answer.value) == ("fallback", {"name": "nobody", "age": 0})


@direct
def test_a_model_that_does_not_exist_is_passed_over(kind: str) -> None:
    with ScriptedServer([GOOD], models=("large",)) as server:
        answer = run(kind, server, CONTRACT, policy=Policy(models=("small", "large"))).answer
    assert (answer.outcome, answer.model, len(server.requests)) == ("accepted", "large", 2)


def book(day: int, name: str) -> str:
    """Book a day.

    Args:
        day: The day of the month.
        name: Who comes.
    """
    return f"{name} on {day}"


TOOLS = Contract(tools=[book], order={"only_once": ["book"]})


@pytest.mark.spec("A14", "X43")
@every
def test_calls_that_were_refused_keep_their_results(kind: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "Book the third for Ada and the fourth for Bob."}]
    if KINDS[kind].protocol == "gemini":
        messages = [{"role": "user", "parts": [{"text": "Book the third for Ada."}]}]
    before = copy.deepcopy(messages)
    wrong = Say(
        "",
        (
            Call("book", {"day": "soon", "name": "Ada"}, id="call_one"),
            Call("book", {"day": 4, "name": "B"}, id="call_two"),
        ),
    )
    right = Say("", (Call("book", {"day": 3, "name": "Ada"}, id="call_three"),))
    with ScriptedServer([wrong, right]) as server:
        answer = run(kind, server, TOOLS, messages).answer
    assert answer.outcome == "repaired"
    assert [call.args for call in answer.calls] == [{"day": 3, "name": "Ada"}]
    assert messages == before
    first, second = server.requests
    assert _tools(first) == _tools(second) != [], "tools stay as they are"
    assert PAIRED[KINDS[kind].protocol](second.messages) == 2
    assert "T0" in str(second.messages) or "V001" in str(second.messages)


def _tools(request: Any) -> Any:
    return request.fields.get("tools") or request.fields.get("toolConfig", {}).get("tools") or []


def paired_chat(messages: list[Any]) -> int:
    """The number of calls with a result directly after the message that makes them."""
    done = 0
    for at, message in enumerate(messages):
        calls = [call["id"] for call in message.get("tool_calls") or ()]
        answers = [m.get("tool_call_id") for m in messages[at + 1 : at + 1 + len(calls)] if m["role"] == "tool"]
        assert answers == calls
        done += len(calls)
    roles = [message["role"] for message in messages]
    assert all(a != b or a in {"tool", "system"} for a, b in pairwise(roles)), roles
    return done


def paired_messages(messages: list[Any]) -> int:
    done = 0
    roles = [message["role"] for message in messages]
    assert all(a != b for a, b in pairwise(roles)), roles
    for at, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if calls:
            answers = [b["tool_use_id"] for b in messages[at + 1]["content"] if b["type"] == "tool_result"]
            assert answers == calls
        done += len(calls)
    return done


def paired_contents(messages: list[Any]) -> int:
    done = 0
    for at, message in enumerate(messages):
        calls = [p["functionCall"]["name"] for p in message["parts"] if "functionCall" in p]
        if calls:
            answers = [p["functionResponse"]["name"] for p in messages[at + 1]["parts"]]
            assert answers == calls
        done += len(calls)
    return done


def paired_items(items: list[Any]) -> int:
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    assert [item["call_id"] for item in items if item.get("type") == "function_call_output"] == calls
    return len(calls)


def paired_names(messages: list[Any]) -> int:
    """The same for Ollama, which has no ids: a result names its tool, and results are in the order of the calls."""
    done = 0
    for at, message in enumerate(messages):
        calls = [call["function"]["name"] for call in message.get("tool_calls") or ()]
        assert [m["tool_name"] for m in messages[at + 1 : at + 1 + len(calls)] if m["role"] == "tool"] == calls
        done += len(calls)
    return done


def paired_blocks(messages: list[Any]) -> int:
    done = 0
    roles = [message["role"] for message in messages]
    assert all(a != b for a, b in pairwise(roles)), roles
    for at, message in enumerate(messages):
        calls = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        if calls:
            answers = [b["toolResult"]["toolUseId"] for b in messages[at + 1]["content"] if "toolResult" in b]
            assert answers == calls
        done += len(calls)
    return done


PAIRED = {
    "openai": paired_chat,
    "anthropic": paired_messages,
    "gemini": paired_contents,
    "responses": paired_items,
    "cohere": paired_chat,
    "ollama": paired_names,
    "bedrock": paired_blocks,
}


@pytest.mark.spec("Q12")
@direct
def test_the_last_retry_after_empty_replies_may_not_call_tools(kind: str) -> None:
    contract = Contract(tools=[book], reply=True)
    only_calls = Say("", (Call("book", {"day": 3, "name": "Ada"}, id="call_one"),))
    with ScriptedServer([only_calls] * 3 + ["Booked: Ada comes on the third."]) as server:
        asked = run(kind, server, contract)
    assert asked.answer.outcome == "accepted"
    assert [round(wait, 2) for wait in asked.clock.waits] == [0.75, 1.5, 3.0]
    last = server.requests[3].fields
    if KINDS[kind].protocol == "ollama":  # it has no tool choice: tools that may not be called are left out
        assert not last["tools"]
        return
    if KINDS[kind].protocol != "bedrock":  # nor has it: it keeps the tools for the calls in the history
        said = last.get("tool_choice") or last.get("toolConfig")
        assert said in ("none", "NONE", {"type": "none"}, {"functionCallingConfig": {"mode": "NONE"}})
    assert _tools(server.requests[3]) == _tools(server.requests[0])


SALON = Contract(
    states={"SERVICE": {"forbid": [{"terms": ["Ana"]}], "hint": "Name no stylist yet.", "fallback": "Which one?"}}
)


@pytest.mark.spec("C9", "C10", "C11")
@direct
def test_the_hint_is_a_system_message_in_the_providers_form(kind: str) -> None:
    messages: list[Any] = [{"role": "system", "content": "You are a salon."}, {"role": "user", "content": "Hello"}]
    with ScriptedServer(["Ana is free.", "We cut hair."]) as server:
        answer = run(kind, server, SALON, messages, context={"state": "SERVICE"}).answer
    assert (answer.outcome, answer.text) == ("regenerated", "We cut hair.")
    again = server.requests[1].fields
    said = again.get("system") or again.get("systemInstruction") or server.requests[1].messages[:2]
    assert str(said).index("You are a salon.") < str(said).index("Name no stylist yet.")
    if KINDS[kind].protocol != "anthropic":
        nested = [again.get(name) or {} for name in ("generationConfig", "inferenceConfig", "options")]
        assert next(part["temperature"] for part in (again, *nested) if "temperature" in part) == 0.3
    assert "Ana is free" not in str(again), "what was withheld is not said again"
    with ScriptedServer(then="Ana is free.") as server:
        answer = run(kind, server, SALON, messages, context={"state": "SERVICE"}).answer
    assert (answer.outcome, answer.text, len(server.requests)) == ("fallback", "Which one?", 2)
