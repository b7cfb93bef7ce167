"""The same assistant through the gateway: applications that only change an address get the same, in the shape that they requested."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.acceptance.self_repair.assistant import CONTRACT, POLICY
from tests.acceptance.self_repair.clients import PROTOCOLS, SAY, Got, send
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.gateway.settings import load_config
from trueup.store.open import open_store
from trueup.testing.script import Call, Fail, Say
from trueup.testing.server import ScriptedServer

SPOKEN = {
    "toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}],
    "content": "Speaking now",
    "needsMoreWork": True,
}
GOOD = '{"content": "Hello", "needsMoreWork": false}'
PROSE = "I would rather tell you in my own words."
QUICK = replace(POLICY, backoff=0.001, backoff_cap=0.002)

WRAPPERS: dict[str, Callable[[str], str]] = {
    "clean": lambda text: text,
    "fence": lambda text: f"```json\n{text}\n```",
    "XML": lambda text: f"<function_calls>\n{text}\n</function_calls>",
    "XML and fence": lambda text: f"<function_calls>\n```json\n{text}\n```\n</function_calls>",
    "tool call": lambda text: f"<tool_call>{text}</tool_call>",
    "words around": lambda text: f"Here you are:\n{text}\nThat is all.",
    "reasoning before": lambda text: f'<think>Or {{"content": "a draft"}}?</think>\n{text}',
    "JSON in a string": json.dumps,
    "no end of the fence": lambda text: f"```json\n{text}",
    "trailing comma": lambda text: text[:-1] + ",}",
}
texts = st.text(alphabet="ab é}{[]\"'\\\n,:.?", max_size=30).map(lambda text: f"Yes {text} no")
calls = st.fixed_dictionaries({"name": st.just("speak"), "arguments": st.fixed_dictionaries({"text": texts})})
envelopes = st.fixed_dictionaries(
    {"content": texts},
    optional={"toolCalls": st.lists(calls, max_size=3), "needsMoreWork": st.booleans(), "mood": texts},
) | st.fixed_dictionaries(
    {"toolCalls": st.lists(calls, min_size=1, max_size=3)},
    optional={"content": st.none() | texts, "needsMoreWork": st.booleans(), "mood": texts},
)


class Stage:
    """A gateway in front of a model that replies with the content of `says`."""

    says: Any = ""
    url = ""


@contextlib.contextmanager
def staged(contract: Contract) -> Iterator[Stage]:
    here = Stage()
    with ScriptedServer(lambda request: here.says) as model, running(of(model.url, contract, policy=QUICK)) as gateway:
        here.url = gateway.url
        yield here


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged(CONTRACT) as here:
        yield here


@pytest.fixture(scope="module")
def plain() -> Iterator[Stage]:
    with staged(Contract(tools=CONTRACT.tools, name="plain")) as here:
        yield here


# -- the shape that the client asked for, with every field -----------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=20)
@given(envelope=envelopes, wrapper=st.sampled_from(sorted(WRAPPERS)))
def test_every_field_of_an_envelope_arrives(
    stage: Stage, protocol: str, stream: bool, envelope: dict[str, Any], wrapper: str
) -> None:
    stage.says = WRAPPERS[wrapper](json.dumps(envelope, ensure_ascii=False))
    got = send(stage.url, protocol, stream=stream)
    assert json.loads(got.text) == envelope
    assert got.calls == []
    native = send(stage.url, protocol, stream=stream, tools=True)
    beside = {key: value for key, value in envelope.items() if key not in ("toolCalls", "content")}
    assert native == Got(envelope.get("content") or "", envelope.get("toolCalls") or [], beside)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_envelope_of_the_document_arrives(stage: Stage, protocol: str, stream: bool, wrapper: str) -> None:
    stage.says = WRAPPERS[wrapper](json.dumps(SPOKEN))
    assert json.loads(send(stage.url, protocol, stream=stream).text) == SPOKEN
    native = send(stage.url, protocol, stream=stream, tools=True)
    assert native == Got("Speaking now", SPOKEN["toolCalls"], {"needsMoreWork": True})  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize(
    ("reply", "text", "fields"),
    [
        (json.dumps(SPOKEN), "Speaking now", {"needsMoreWork": True}),
        (f"```json\n{json.dumps(SPOKEN)}\n```", "Speaking now", {"needsMoreWork": True}),
        (f"<function_calls>{json.dumps(SPOKEN)}</function_calls>", "Speaking now", {"needsMoreWork": True}),
        (f"<function_calls>```json\n{json.dumps(SPOKEN)}\n```</function_calls>", "Speaking now", {"needsMoreWork": True}),
        (f"<response>{json.dumps(SPOKEN)}</response>", "Speaking now", {"needsMoreWork": True}),
        (f"\ufeff{json.dumps(SPOKEN)}", "Speaking now", {"needsMoreWork": True}),
        (json.dumps(json.dumps(SPOKEN)), "Speaking now", {"needsMoreWork": True}),
        ('One moment. <tool_call>{"name": "speak", "arguments": {"text": "Hello"}}</tool_call> Done.', "One moment. Done.", {}),
        ('Well.\n<function_calls><invoke name="speak"><parameter name="text">Hello</parameter></invoke></function_calls>', "Well.", {}),
        ('{"name": "speak", "arguments": {"text": "Hello"}, "mood": "kind"}', "", {"mood": "kind"}),
        (Say("One moment.", (Call("speak", {"text": "Hello"}),)), "One moment.", {}),
    ],
)  # fmt: skip
def test_under_a_contract_of_text_and_tools_the_words_next_to_a_call_stay(
    plain: Stage, protocol: str, stream: bool, tools: bool, reply: Any, text: str, fields: dict[str, Any]
) -> None:
    plain.says = reply
    got = send(plain.url, protocol, stream=stream, tools=tools)
    assert got == Got(text, [{"name": "speak", "arguments": {"text": "Hello"}}], fields)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_native_calls_are_an_envelope_to_a_client_that_offers_no_tools(
    stage: Stage, protocol: str, stream: bool
) -> None:
    stage.says = Say("Speaking now", (Call("speak", {"text": "Hello"}),))
    got = send(stage.url, protocol, stream=stream)
    assert got.calls == []
    assert json.loads(got.text) == {"toolCalls": SPOKEN["toolCalls"], "content": "Speaking now"}
    native = send(stage.url, protocol, stream=stream, tools=True)
    assert native == Got("Speaking now", SPOKEN["toolCalls"], {})  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_native_call_and_an_envelope_next_to_it_arrive_as_one(stage: Stage, protocol: str, stream: bool) -> None:
    stage.says = Say('{"content": "Speaking now", "needsMoreWork": true}', (Call("speak", {"text": "Hello"}),))
    assert json.loads(send(stage.url, protocol, stream=stream).text) == SPOKEN
    native = send(stage.url, protocol, stream=stream, tools=True)
    assert native == Got("Speaking now", SPOKEN["toolCalls"], {"needsMoreWork": True})  # type: ignore[arg-type]


def test_other_keys_of_a_call_and_null_fields_arrive_too(stage: Stage) -> None:
    first, second = {**SPOKEN["toolCalls"][0], "why": "greeting"}, SPOKEN["toolCalls"][0]  # type: ignore[index]
    stage.says = json.dumps({"toolCalls": [first, second], "note": None})
    assert send(stage.url, "chat", tools=True).fields == {"note": None, "toolCalls": [{"why": "greeting"}, {}]}


def test_the_ids_of_calls_from_text_are_unique_in_a_conversation(plain: Stage) -> None:
    plain.says = '<tool_call>{"id": "call_1", "name": "speak", "arguments": {"text": "Hello"}}</tool_call>' * 2
    tool = {"type": "function", "function": {"name": "speak", "parameters": {"type": "object"}}}
    client = openai.OpenAI(base_url=plain.url + "/v1", api_key="any", max_retries=0)
    messages: list[Any] = list(SAY)
    ids: list[str] = []
    for _ in range(3):
        made = client.chat.completions.create(model="m", messages=messages, tools=[tool]).choices[0].message  # type: ignore[list-item]
        called = [call.id for call in made.tool_calls or ()]
        messages += [made, *({"role": "tool", "tool_call_id": ident, "content": "spoken"} for ident in called)]
        ids += called
    assert len(set(ids)) == len(ids) == 6


def test_the_clients_own_format_is_json_even_with_tools(stage: Stage) -> None:
    stage.says = f"```json\n{json.dumps(SPOKEN)}\n```"
    tool = {"type": "function", "function": {"name": "speak", "parameters": {"type": "object"}}}
    body = {"model": "m", "messages": SAY, "tools": [tool], "response_format": {"type": "json_object"}}
    message = httpx.post(stage.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert json.loads(message["content"]) == SPOKEN
    assert not message.get("tool_calls")


@pytest.mark.parametrize(
    ("path", "more", "native"),
    [
        ("messages", {"tools": [{"name": "speak", "input_schema": {"type": "object"}}], "output_config": {"effort": "low"}}, True),
        ("messages", {"tools": [{"name": "speak", "input_schema": {"type": "object"}}], "output_config": {"format": {"type": "json_schema", "schema": {}}}}, False),
        ("messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, False),
        ("responses", {"tools": [{"type": "function", "name": "speak", "parameters": {"type": "object"}}]}, True),
        ("responses", {"tools": [{"type": "function", "name": "speak", "parameters": {"type": "object"}}], "text": {"format": {"type": "json_object"}}}, False),
        ("responses", {"tools": [{"type": "web_search"}]}, False),
    ],
)  # fmt: skip
def test_calls_are_native_for_a_client_that_has_functions_and_no_format(
    stage: Stage, path: str, more: dict[str, Any], native: bool
) -> None:
    stage.says = json.dumps(SPOKEN)
    said = {"messages": SAY, "max_tokens": 50} if path == "messages" else {"input": "Say hello."}
    reply = httpx.post(f"{stage.url}/v1/{path}", json={"model": "m", **said, **more}).json()
    kinds = {part["type"] for part in reply["content" if path == "messages" else "output"]}
    assert bool(kinds & {"tool_use", "function_call"}) == native


def test_fields_are_next_to_the_findings(stage: Stage) -> None:
    stage.says = json.dumps(SPOKEN)
    tool = {"type": "function", "function": {"name": "speak", "parameters": {"type": "object"}}}
    body = {"model": "m", "messages": SAY, "tools": [tool]}
    reply = httpx.post(stage.url + "/v1/chat/completions", json=body, headers={"x-trueup-include": "1"}).json()
    assert reply["trueup"]["fields"] == {"needsMoreWork": True}
    assert reply["trueup"]["outcome"] == "accepted"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_calls_in_a_stream_wait_for_the_verdict(stream: bool) -> None:
    bad = '{"toolCalls": [{"name": "launch", "arguments": {}}], "content": "On it."}'
    with ScriptedServer([bad, GOOD]) as model, running(of(model.url, CONTRACT, policy=QUICK)) as gateway:
        assert json.loads(send(gateway.url, "chat", stream=stream).text) == json.loads(GOOD)


# -- plain text when nothing helps -----------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_after_the_last_repair_the_text_is_a_normal_reply(protocol: str, stream: bool) -> None:
    with ScriptedServer([], then=PROSE) as model, running(of(model.url, CONTRACT, policy=QUICK)) as gateway:
        assert json.loads(send(gateway.url, protocol, stream=stream).text) == {"content": PROSE}
        assert send(gateway.url, protocol, stream=stream, tools=True) == Got(PROSE, [], {})
        assert len(model.requests) == 6
    person = Contract({"type": "object", "required": ["name"]}, name="person")
    with ScriptedServer([], then=PROSE) as model, running(of(model.url, person, policy=QUICK)) as gateway:
        assert send(gateway.url, protocol, stream=stream).text == PROSE


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_valid_part_of_a_partly_valid_reply_is_sent(protocol: str, stream: bool) -> None:
    right = {"name": "speak", "arguments": {"text": "Hello"}}
    reply = {"toolCalls": [{"name": "speak", "arguments": {}}, right], "content": "Hi", "needsMoreWork": True}
    with ScriptedServer([], then=reply) as model, running(of(model.url, CONTRACT, policy=QUICK)) as gateway:
        assert json.loads(send(gateway.url, protocol, stream=stream).text) == {**reply, "toolCalls": [right]}
        assert send(gateway.url, protocol, stream=stream, tools=True) == Got("Hi", [right], {"needsMoreWork": True})


@pytest.mark.parametrize("protocol", ["chat", "messages"])
def test_an_abandoned_stream_is_not_sent_as_text(protocol: str) -> None:
    ages = Contract(
        {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age", "name"]}, name="a"
    )
    doomed = Say('{"age": "very old indeed", "name": "Ada, whose name comes too late to be read"}', piece=4)
    once = replace(QUICK, repairs=0)
    with (
        ScriptedServer([], then=doomed) as model,
        running(of(model.url, ages, policy=once)) as gateway,
        pytest.raises((openai.APIError, anthropic.APIError)),
    ):
        send(gateway.url, protocol, stream=True)


def test_a_partial_reply_is_reported_and_stored_as_degraded_and_not_charged(tmp_path: Path) -> None:
    # A reply that kept the contract is charged, a repaired one too; a part of one is free.
    with open_store(tmp_path / "s.db") as store:
        config = {"policy": QUICK, "quota": True}
        with (
            ScriptedServer([GOOD, *[PROSE] * 3]) as model,
            running(of(model.url, CONTRACT, **config), store) as gateway,
        ):
            body = {"model": "m", "messages": SAY}
            replies = [httpx.post(gateway.url + "/v1/chat/completions", json=body) for _ in range(2)]
        assert [reply.status_code for reply in replies] == [200, 200]
        assert [reply.headers["x-trueup-outcome"] for reply in replies] == ["accepted", "degraded"]
        store.flush()
        assert {stored.outcome for stored in store.verdicts()} >= {"degraded", "accepted"}
        charged = [row.used for row in store.quota.standings("") if (row.unit, row.period) == ("replies", "total")]
        assert charged[0] == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_forbidden_text_is_still_withheld(stream: bool) -> None:
    salon = Contract.envelope(CONTRACT.tools, states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "early"}]}})
    with ScriptedServer([], then="Ana is free.") as model, running(of(model.url, salon, policy=QUICK)) as gateway:
        with pytest.raises(openai.APIError) as refused:
            send(gateway.url, "chat", stream=stream, headers={"x-trueup-state": "ASKING"})
        assert "Ana is free" not in str(refused.value)


def test_the_policy_is_in_the_gateways_file(tmp_path: Path) -> None:
    (tmp_path / "assistant.yaml").write_text((Path(__file__).parent / "assistant.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "gateway.yaml").write_text(
        """
        upstreams: {local: {url: "http://127.0.0.1:9", private: true}}
        contracts: {assistant: assistant.yaml}
        routes: [{models: "*", contract: assistant, policy: {otherwise: text, redaction: {fields: [email]}}}]
        progress: true
        """,
        "utf-8",
    )
    config = load_config(tmp_path / "gateway.yaml")
    assert config.routes[0].policy.otherwise == "text"
    assert config.progress


# -- retries and repairs as they happen ------------------------------------------------------

TROUBLE = [Fail(503), PROSE, Fail(429), GOOD]
TOLD = [("waiting", False, 1, 3, "transient"), ("repairing", True, 1, 2, "prose"), ("waiting", False, 1, 3, "rate")]


def repair_steps(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(e["event"], e["repair"], e["nth"], e["most"], e["reason"]) for e in lines if e["event"] != "stepped_down"]


def comments(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line[9:]) for line in stream.splitlines() if line.startswith(": trueup ")]


@pytest.mark.parametrize("opt", [{"headers": {"x-trueup-progress": "1"}}, {"trueup": {"progress": True}}])
def test_a_client_that_asks_for_it_sees_progress_as_comments_or_in_a_header(opt: dict[str, Any]) -> None:
    headers = opt.pop("headers", {})
    body = {"model": "m", "messages": SAY, **opt}
    with ScriptedServer(TROUBLE * 2) as model, running(of(model.url, CONTRACT, policy=QUICK)) as gateway:
        whole = httpx.post(gateway.url + "/v1/chat/completions", json=body, headers=headers)
        assert repair_steps(json.loads(whole.headers["x-trueup-progress"])) == TOLD
        stream = httpx.post(gateway.url + "/v1/chat/completions", json={**body, "stream": True}, headers=headers)
    lines = comments(stream.text)
    assert repair_steps(lines) == TOLD
    assert [line["delay"] > 0 for line in lines if line["event"] == "waiting"] == [True, True]
    assert stream.text.index(": trueup") < stream.text.index("data:")  # before the reply, not after it
    assert PROSE not in stream.text


def test_a_step_to_the_configured_reply_is_reported_too() -> None:
    fallback = replace(QUICK, repairs=0, fallback={"content": "Sorry."})
    with ScriptedServer([], then=PROSE) as model, running(of(model.url, CONTRACT, policy=fallback)) as gateway:
        body = {"model": "m", "messages": SAY, "stream": True, "trueup": {"progress": True}}
        text = httpx.post(gateway.url + "/v1/chat/completions", json=body).text
    assert [line["event"] for line in comments(text)] == ["fell_back"]
    assert "Sorry." in text


def test_a_comment_arrives_while_the_gateway_waits() -> None:
    slow = replace(QUICK, backoff=30.0, backoff_cap=30.0)
    with ScriptedServer([], then=Fail(503)) as model, running(of(model.url, CONTRACT, policy=slow)) as gateway:
        body = {"model": "m", "messages": SAY, "stream": True}
        headers = {"x-trueup-progress": "1"}
        with httpx.stream("POST", gateway.url + "/v1/chat/completions", json=body, headers=headers) as reply:
            first = next(line for line in reply.iter_lines() if line)
        assert comments(first)[0]["event"] == "waiting"  # seen long before the wait of 15 to 30 seconds is over
        assert len(model.requests) == 1


@pytest.mark.parametrize("default", [False, True])
def test_without_asking_for_it_nothing_changes_unless_the_gateway_says_so(default: bool) -> None:
    with (
        ScriptedServer(TROUBLE * 3) as model,
        running(of(model.url, CONTRACT, policy=QUICK, progress=default)) as gateway,
    ):
        body = {"model": "m", "messages": SAY}
        whole = httpx.post(gateway.url + "/v1/chat/completions", json=body)
        stream = httpx.post(gateway.url + "/v1/chat/completions", json={**body, "stream": True})
        none = httpx.post(gateway.url + "/v1/chat/completions", json=body, headers={"x-trueup-progress": "0"})
    assert ("x-trueup-progress" in whole.headers) == default
    assert bool(comments(stream.text)) == default
    assert "x-trueup-progress" not in none.headers


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_sdks_read_such_replies_like_any_other(protocol: str, stream: bool) -> None:
    with ScriptedServer(TROUBLE) as model, running(of(model.url, CONTRACT, policy=QUICK)) as gateway:
        got = send(gateway.url, protocol, stream=stream, headers={"x-trueup-progress": "1"})
    assert json.loads(got.text) == json.loads(GOOD)


@pytest.mark.parametrize(
    ("protocol", "stream"), [(p, s) for p in PROTOCOLS for s in (False, True) if (p, s) != ("responses", True)]
)
def test_a_refusal_after_comments_is_an_error_for_the_sdks(protocol: str, stream: bool) -> None:
    strict = replace(QUICK, otherwise="failed")
    with (
        ScriptedServer([], then=PROSE) as model,
        running(of(model.url, CONTRACT, policy=strict)) as gateway,
        pytest.raises((openai.APIError, anthropic.APIError)) as refused,
    ):
        send(gateway.url, protocol, stream=stream, headers={"x-trueup-progress": "1"})
    if not stream:
        headers = refused.value.response.headers  # type: ignore[union-attr]
        assert repair_steps(json.loads(headers["x-trueup-progress"]))[0][0] == "repairing"


def test_a_refusal_after_comments_is_an_error_event_in_a_response_stream() -> None:
    strict = replace(QUICK, otherwise="failed")
    with ScriptedServer([], then=PROSE) as model, running(of(model.url, CONTRACT, policy=strict)) as gateway:
        client = openai.OpenAI(base_url=gateway.url + "/v1", api_key="any", max_retries=0)
        events = client.responses.create(model="m", input="?", stream=True, extra_headers={"x-trueup-progress": "1"})
        last = list(events)[-1]
    assert last.type == "error"
    assert last.code == "contract_violation"
