"""Every kind of client against the scripted server: streams, rejected features, modes, the SDK's retries, addresses."""

from typing import Any

import pytest

from tests.ask.clients.kinds import DIRECT, KINDS, closing, run, run_stream, send
from tests.ask.stage import BAD, GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import Request
from trueup.testing.script import Call, Cut, Erring, Fail, Say, Slow
from trueup.testing.server import ScriptedServer
from trueup.verdict.tool import Tool

# google-genai's aiohttp session causes a warning
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
CONTRACT = Contract(SCHEMA)
VALUE = {"name": "Ada", "age": 36}
USER = [{"role": "user", "content": "Who?"}]
BOOK = Tool("book", "Book a day.", {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]})
every = pytest.mark.parametrize("kind", KINDS)
direct = pytest.mark.parametrize("kind", DIRECT)


def settings(request: Any) -> dict[str, Any]:
    """The settings in a request, including nested ones."""
    fields: dict[str, Any] = dict(request.fields)
    for name in ("generationConfig", "inferenceConfig", "options", "toolConfig"):
        fields |= fields.get(name) or {}
    return fields


@pytest.mark.spec("A13")
@every
def test_a_stream_is_accepted_and_its_tokens_are_counted(kind: str) -> None:
    with ScriptedServer([Say(GOOD, usage=(21, 9), piece=5)]) as server:
        streamed = run_stream(kind, server, CONTRACT)
    assert (streamed.answer.outcome, streamed.answer.value) == ("accepted", VALUE)
    assert streamed.answer.usage["total_tokens"] == 30
    assert len(server.requests) == 1
    assert server.requests[0].streams


@pytest.mark.spec("A13")
@every
def test_a_stream_is_repaired(kind: str) -> None:
    with ScriptedServer([Say(BAD, piece=5), Say(GOOD, piece=5)]) as server:
        streamed = run_stream(kind, server, CONTRACT)
    assert (streamed.answer.outcome, streamed.answer.value) == ("repaired", VALUE)
    assert "V001 $.age" in str(server.requests[1].messages)


@pytest.mark.spec("A14")
@every
def test_calls_come_through_a_stream(kind: str) -> None:
    contract = Contract(tools=[{"name": "book", "parameters": BOOK.parameters}])
    with ScriptedServer([Say("", (Call("book", {"day": 3}, id="call_one"),), piece=4)]) as server:
        answer = run_stream(kind, server, contract).answer
    assert answer.outcome == "accepted"
    assert [(call.name, call.args) for call in answer.calls] == [("book", {"day": 3})]


@pytest.mark.spec("A8", "X36")
@every
@pytest.mark.parametrize(
    "fault",
    [
        Fail(503, "down"),
        Fail(429, "slow down", "rate_limit_exceeded"),
        Erring(Say(GOOD, piece=4), events=3, fail=Fail(503, "Overloaded")),
        Cut(Say(GOOD, piece=4), events=3),
    ],
    ids=["503", "429", "error event", "cut"],
)
def test_a_stream_that_fails_is_asked_for_again(kind: str, fault: Any) -> None:
    with ScriptedServer([fault, Say(GOOD, piece=4)]) as server:
        streamed = run_stream(kind, server, CONTRACT)
    assert (streamed.answer.outcome, streamed.answer.value) == ("accepted", VALUE)
    assert len(server.requests) == 2
    assert len(streamed.clock.waits) == 1


@pytest.mark.spec("A11")
@every
def test_a_stream_that_is_left_closes_its_connection(kind: str) -> None:
    long = Slow(Say("One sentence. " * 400, piece=20), every=0.02)
    with ScriptedServer([long]) as server:
        run_stream(kind, server, Contract(), take=2)
        assert server.wait_until(lambda exchanges: exchanges[0].ended == "client left")


@pytest.mark.spec("A11")
@every
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call_that_takes_too_long_is_given_up_with_its_connection(kind: str, stream: bool) -> None:
    asking = run_stream if stream else run
    with ScriptedServer(then=Slow(Say(GOOD, piece=4), every=60, size=40)) as server:
        for limit in (0.3, 1.5, 6.0, 24.0):  # some SDKs make their HTTP client during the first call
            answer = asking(kind, server, CONTRACT, policy=Policy(models=("m",), timeout=limit, retries=0)).answer
            assert (answer.outcome, answer.reason) == ("failed", "retries")
            if server.requests:
                break
        assert server.wait_until(lambda exchanges: bool(exchanges) and exchanges[0].ended == "client left")
        assert len(server.requests) == len(answer.attempts) == 1


@every
def test_rejected_features_are_left_out(kind: str) -> None:
    numbers: dict[str, Any] = {"temperature": 0.5, "max_tokens": 77, "tools": (BOOK,), "must_call": True}
    with ScriptedServer(then=Say("", (Call("book", {"day": 3}),))) as server:
        send(kind, server, Request(USER, model="m", **numbers), stream=True)
        without = frozenset({"temperature", "max_tokens", "tool_choice", "stream_options", "strict"})
        send(kind, server, Request(USER, model="m", without=without, **numbers), stream=True)
    told, left = (settings(request) for request in server.requests)
    if KINDS[kind].protocol != "anthropic":  # its newer SDK does not take a temperature
        assert told["temperature"] == 0.5
    assert "temperature" not in left
    if kind.startswith("pydantic-ai"):  # it decides the rest itself
        assert left["tool_choice"] == "auto"
        return
    assert not {"tool_choice", "toolChoice", "functionCallingConfig", "stream_options"} & left.keys()
    if KINDS[kind].protocol == "openai" and not kind.startswith("mistral"):
        assert told["stream_options"] == {"include_usage": True}
        assert (told.get("max_tokens") or told["max_completion_tokens"], left.get("max_tokens")) == (77, None)
        assert left["max_completion_tokens"] == 77


FORCED = {
    "openai": {"type": "function", "function": {"name": "book"}},
    "responses": {"type": "function", "name": "book"},
    "anthropic": {"type": "tool", "name": "book"},
    "gemini": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["book"]}},
    "cohere": "REQUIRED",
    "bedrock": {"tool": {"name": "book"}},
}


@pytest.mark.spec("A9")
@every
def test_a_tool_for_the_answer_is_forced(kind: str) -> None:
    with ScriptedServer(then=Say("", (Call("book", {"day": 3}),))) as server:
        able = find_client(KINDS[kind].make(server)).able
        assert ("tool" in able) == (KINDS[kind].protocol != "ollama")
        send(kind, server, Request(USER, model="m", mode="tool", tools=(BOOK,), answer_tool="book"))
    fields = server.requests[0].fields
    if "tool" in able:
        found = fields.get("tool_choice") or fields["toolConfig"].get("toolChoice") or fields["toolConfig"]
        assert found == ("required" if kind.startswith("pydantic-ai") else FORCED[KINDS[kind].protocol])


@pytest.mark.spec("A9")
@every
def test_the_schema_goes_where_the_provider_keeps_it(kind: str) -> None:
    with ScriptedServer(then=GOOD) as server:
        modes = find_client(KINDS[kind].make(server)).modes
        if "json_schema" not in modes:
            assert modes == ("tool", "text")
            return
        send(kind, server, Request(USER, model="m", mode="json_schema", schema=SCHEMA))
    fields = server.requests[0].fields
    places = ("response_format", "text", "output_config", "generationConfig", "format", "outputConfig")
    (held,) = [fields[name] for name in places if name in fields]
    assert "age" in str(held)


SENDS_ONCE = [kind for kind in KINDS if kind not in {"http", "http-async"}]


@pytest.mark.spec("A8")
@pytest.mark.parametrize("kind", SENDS_ONCE)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fail", [Fail(429, "busy"), Fail(500, "down"), Fail(503, "down")], ids=["429", "500", "503"])
def test_the_retries_of_the_sdk_are_off(kind: str, fail: Fail, stream: bool) -> None:
    with ScriptedServer(then=fail) as server:
        with pytest.raises(Exception):  # noqa: B017 - whatever the SDK raises: that it gives up is what is looked at
            send(kind, server, Request(USER, model="m"), stream=stream)
        assert len(server.requests) == 1


@every
def test_a_client_is_identified_by_its_address(kind: str) -> None:
    with ScriptedServer(then=GOOD) as one, ScriptedServer(then=GOOD) as other:
        keys = {find_client(KINDS[kind].make(server)).key for server in (one, other)}
        assert len(keys) == 2
        assert all(any(server.url in key for key in keys) for server in (one, other))


@every
def test_no_message_of_the_caller_is_changed_and_a_conversation_of_tools_is_understood(kind: str) -> None:
    call = {"id": "call_one", "type": "function", "function": {"name": "book", "arguments": '{"day":3}'}}
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Book the third."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_one", "content": "Booked."},
        {"role": "user", "content": "And who am I?"},
    ]
    before = str(messages)
    contract = Contract(SCHEMA, tools=[{"name": "book", "parameters": BOOK.parameters}])
    with ScriptedServer(then=GOOD) as server:
        answer = run(kind, server, contract, messages).answer
    assert answer.ok
    assert str(messages) == before
    told = server.requests[0].body.decode()
    assert all(word in told for word in ("Be brief.", "Booked.", "And who am I?", "book"))


@pytest.mark.parametrize("kind", ["cohere", "cohere-async"])
def test_cohere_is_asked_for_a_call_beside_tools_and_in_its_json_mode_without(kind: str) -> None:
    beside = Contract(SCHEMA, tools=[{"name": "book", "parameters": BOOK.parameters}])
    for contract, expected in ((beside, False), (CONTRACT, True)):
        with ScriptedServer(then=GOOD) as server:
            assert run(kind, server, contract).answer.ok
        assert ("response_format" in server.requests[0].fields) is expected
        assert (server.requests[0].fields.get("tool_choice") == "REQUIRED") is not expected


@direct
def test_a_model_must_be_named(kind: str) -> None:
    if kind.startswith("http"):
        return  # a server with one model does not need a name
    with ScriptedServer(then=GOOD) as server, pytest.raises(ValueError, match=r"needs a model: Policy\(models="):
        run(kind, server, CONTRACT, policy=Policy())
    assert server.requests == []


@pytest.mark.parametrize(
    "kind", ["openai-async", "azure-async", "responses-async", "anthropic-async", "cohere-async", "ollama-async"]
)
def test_an_asynchronous_client_is_refused_by_synchronous_code(kind: str) -> None:
    with ScriptedServer(then=GOOD) as server:
        client = KINDS[kind].make(server)
        with pytest.raises(TypeError, match="aask"):
            CONTRACT.ask(client, "Who?", Policy(models=("m",)))
        with pytest.raises(TypeError, match="aask_stream"):
            list(CONTRACT.ask_stream(client, "Who?", Policy(models=("m",))))
    assert server.requests == []


def test_an_image_reaches_every_provider_that_takes_one() -> None:
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": pixel}}]
    for kind in KINDS:
        with ScriptedServer(then=GOOD) as server:
            run(kind, server, CONTRACT, [{"role": "user", "content": parts}])
        assert "iVBORw0KGgo" in server.requests[0].body.decode(), kind


def test_the_retries_of_a_clients_own_calls_stay_on() -> None:
    import boto3
    from botocore.config import Config

    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
    with ScriptedServer([Fail(503, "down"), "Hi", Fail(503, "down"), GOOD]) as server:
        options = Config(retries={"mode": "standard", "total_max_attempts": 3})
        client = boto3.client("bedrock-runtime", endpoint_url=server.url, config=options, **keys)
        with closing(client):
            find_client(client)
            said = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hi"}]}])
            assert said["output"]["message"]["content"] == [{"text": "Hi"}]
            with pytest.raises(Exception, match="down"):
                find_client(client).send(Request(USER, model="m"))
    assert len(server.requests) == 3


def _called(request: Any) -> Say:
    """A model that gives the value as the arguments of the last tool that it was offered."""
    tools = request.fields.get("tools") or request.fields["toolConfig"]["tools"]
    named = tools[-1].get("toolSpec") or tools[-1].get("function") or tools[-1]
    return Say(None, (Call(named["name"], VALUE, id="call_one"),), piece=6)


@pytest.mark.spec("A9")
@pytest.mark.parametrize("kind", ["bedrock", "bedrock-async", "langchain-anthropic", "langchain-anthropic-async"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_without_a_json_mode_the_value_is_requested_as_a_call(kind: str, stream: bool) -> None:
    asking = run_stream if stream else run
    with ScriptedServer(_called, reject={"outputConfig"}) as server:
        answer = asking(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.value, answer.calls) == ("accepted", VALUE, ())
    rejected = 1 if kind.startswith("bedrock") else 0
    assert [exchange.status for exchange in server.exchanges] == [400] * rejected + [200]


@pytest.mark.spec("A9")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].protocol not in {"ollama", "gemini"}])
def test_every_client_that_can_is_asked_for_a_call_on_demand(kind: str) -> None:
    with ScriptedServer(_called) as server:
        answer = run(kind, server, CONTRACT, policy=Policy(models=("m",), modes=("tool",))).answer
    assert (answer.outcome, answer.value) == ("accepted", VALUE)
    assert len(server.requests) == 1


def test_bedrock_gets_the_tools_that_a_conversation_has_called() -> None:
    """Converse refuses a history with calls if the request does not contain tools."""
    call = {"id": "call_one", "type": "function", "function": {"name": "book", "arguments": '{"day":3}'}}
    messages: list[Any] = [
        *USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_one", "content": "Booked."},
    ]
    with ScriptedServer(then=GOOD) as server:
        assert run("bedrock", server, CONTRACT, messages).answer.ok
    (tool,) = server.requests[0].fields["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "book"


@pytest.mark.parametrize(("store", "kept"), [(None, True), (False, False)], ids=["stored", "not stored"])
def test_reasoning_that_the_provider_has_not_stored_is_not_sent_back_by_its_id(store: bool | None, kept: bool) -> None:
    lost = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAA"}
    parameters = {} if store is None else {"store": store}
    with ScriptedServer(then=GOOD) as server:
        send("responses", server, Request([*USER, lost, whole, *USER], model="m", parameters=parameters))
    sent = [item.get("id") for item in server.requests[0].fields["input"] if item.get("type") == "reasoning"]
    assert sent == (["rs_1", "rs_2"] if kept else ["rs_2"])


OWN = {
    "responses": ({"text": {"verbosity": "low"}}, ("text", "verbosity"), ("text", "format")),
    "anthropic": ({"output_config": {"effort": "low"}}, ("output_config", "effort"), ("output_config", "format")),
    "bedrock": ({"inferenceConfig": {"topP": 0.5}}, ("inferenceConfig", "topP"), ("inferenceConfig", "maxTokens")),
    "ollama": ({"options": {"seed": 1}}, ("options", "seed"), ("options", "num_predict")),
    "gemini": ({"config": {"top_p": 0.5}}, ("generationConfig", "topP"), ("generationConfig", "responseJsonSchema")),
}


@pytest.mark.parametrize("kind", OWN)
def test_the_callers_settings_are_merged_with_the_strategys(kind: str) -> None:
    own, *places = OWN[kind]
    with ScriptedServer(then=GOOD) as server:
        run(kind, server, CONTRACT, policy=Policy(models=("m",), max_tokens=500, parameters=own))
    fields = server.requests[0].fields
    assert [part for group, part in places if part not in fields[group]] == []


def test_geminis_retries_stay_off_with_the_callers_http_options() -> None:
    with ScriptedServer(then=Fail(503, "down")) as server:
        own = {"http_options": {"headers": {"X-Mine": "1"}}}
        with pytest.raises(Exception, match="down"):
            send("gemini", server, Request(USER, model="m", parameters=own))
    assert [request.headers["x-mine"] for request in server.requests] == ["1"]


def test_the_limit_of_the_caller_is_sent_under_one_name() -> None:
    request = Request(USER, model="m", max_tokens=99, parameters={"max_completion_tokens": 50})
    with ScriptedServer(then=GOOD) as server:
        send("openai", server, request)
    assert (server.requests[0].fields.get("max_tokens"), server.requests[0].fields["max_completion_tokens"]) == (
        None,
        50,
    )
