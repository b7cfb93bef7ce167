"""The ways to request a value: strict schemas from plain models, wrapped roots, one forced tool; whole and as a stream."""

import asyncio
import json
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.ask.clients.kinds import KINDS, aclose, closing, run
from tests.ask.stage import Model, StageClock
from trueup import Contract, Policy
from trueup.ask.clients.client import Client
from trueup.ask.clients.request import Request
from trueup.ask.loop.loop import Loop, Traits
from trueup.ask.memory import Memory
from trueup.ask.requests.root_wrapping import Unwrapping, is_object, unwrapped, wrapped
from trueup.ask.requests.strictness import held_schema, tool_schema
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.conform.schema import compile_schema
from trueup.conform.strict import is_strict
from trueup.testing.script import Call, Fail, Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.tool import Tool

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


class Person(BaseModel):
    """A person."""

    name: str
    age: int | None = None
    city: str = "unknown"
    tags: list[str] = []


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


NULLS = {"name": "Ada", "age": None, "city": None, "tags": None}


def chat(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def asked(contract: Contract, *replies: Any, policy: Policy | None = None) -> tuple[Any, Model]:
    model = Model([chat(reply) if isinstance(reply, str) else reply for reply in replies])
    clock = StageClock()
    answer = contract.ask(model, "Who?", policy, memory=Memory(), clock=clock, wait=clock.wait)
    return answer, model


def form_of(model: Model, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = model.seen[number]["response_format"]["json_schema"]
    return found


# -- strict -----------------------------------------------------------------------------------------


@pytest.mark.spec("A9")
def test_a_plain_model_is_enforced_and_its_nulls_are_absent_fields() -> None:
    answer, model = asked(Contract(Person), json.dumps(NULLS))
    form = form_of(model)
    assert form["strict"] is True
    assert is_strict(form["schema"], "openai")
    assert form["schema"]["required"] == ["name", "age", "city", "tags"]
    assert answer.value == Person(name="Ada")
    assert answer.verdict.data == {"name": "Ada", "age": None}  # the model's own null stays
    assert answer.verdict.fixes == ()


@pytest.mark.parametrize("options", [{"accept": "none"}, {"accept": "lossless"}, {"coerce": "off"}])
def test_a_contract_without_fixes_accepts_absent_fields(options: dict[str, Any]) -> None:
    answer, _ = asked(Contract(Person, **options), json.dumps(NULLS))
    assert (answer.outcome, answer.value) == ("accepted", Person(name="Ada"))


@pytest.mark.parametrize("options", [{}, {"accept": "none"}, {"coerce": "off"}])
def test_nulls_for_absent_fields_do_not_end_a_stream(options: dict[str, Any]) -> None:
    text = json.dumps({"value": [NULLS, NULLS]})

    def model(messages: Any, response_format: Any) -> Any:
        for at in range(0, len(text), 6):
            yield {
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": text[at : at + 6]}}],
            }
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    with Contract(list[Person], **options).ask_stream(model, "Who?", memory=Memory()) as parts:
        shown = list(parts)
    assert (parts.answer.outcome, parts.answer.value) == ("accepted", [Person(name="Ada"), Person(name="Ada")])
    assert [part.kind for part in shown] == ["value"] * len(shown)
    assert len(shown) > 3


def test_a_null_that_was_not_requested_is_still_a_fix() -> None:
    contract = Contract({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert [fix.code for fix in contract.check('{"a": null}').fixes] == ["C009"]


def test_a_schema_that_cannot_be_strict_is_sent_unchanged() -> None:
    schema = {"type": "object", "properties": {"any": {}}, "required": ["any"]}
    answer, model = asked(Contract(schema), '{"any": 1}')
    assert form_of(model) == {"name": "reply", "schema": schema, "strict": False}
    assert answer.outcome == "accepted"


def test_strict_is_left_out_if_the_address_rejected_it() -> None:
    schema = Person.model_json_schema()
    loose = Request([], schema=schema, mode="json_schema", without=frozenset({"strict"}))
    assert held_schema(loose, "openai") == (schema, False)
    tool = Tool("f", parameters=schema)
    assert tool_schema(tool, "openai", loose) == (schema, False)
    assert tool_schema(tool, "openai", Request([]))[1]
    assert tool_schema(tool, "gemini", Request([])) == (schema, False)


def test_the_form_is_made_once() -> None:
    request = Request([], schema=Person.model_json_schema(), mode="json_schema")
    assert held_schema(request, "openai")[0] is held_schema(request, "openai")[0]
    assert held_schema(request, "anthropic")[0]["required"] == ["name"]  # there, fields may be absent


@pytest.mark.parametrize("kind", ["openai", "azure", "responses", "http"])
def test_tools_are_enforced_and_nulls_in_their_arguments_are_absent(kind: str) -> None:
    parameters = {
        "type": "object",
        "properties": {"host": {"type": "string"}, "port": {"type": "integer"}},
        "required": ["host"],
    }
    contract = Contract(tools=[{"name": "ping", "parameters": parameters}], accept="none", coerce="off")
    with ScriptedServer([Say("", (Call("ping", {"host": "a", "port": None}, id="c1"),), thinking="Hm.")]) as server:
        answer = run(kind, server, contract).answer
        tool = json.loads(server.requests[0].body)["tools"][0]
    tool = tool.get("function", tool)
    assert tool["strict"] is True
    assert tool["parameters"]["required"] == ["host", "port"]
    assert (answer.outcome, answer.calls[0].args) == ("accepted", {"host": "a"})
    assert "scripted" in json.dumps(answer.next_messages) or kind != "responses"  # the reasoning before the call


def test_a_reply_that_is_passed_on_has_neither_wrapper_nor_nulls() -> None:
    for schema in (Person, list[str]):
        traits = Traits(modes=("json_schema", "json_object", "text"))
        loop = Loop(Contract(schema), traits, "Who?")
        loop.start()
        request = loop.request()
        assert not request.wrapped
        assert request.schema is None or held_schema(request, "openai") == (request.schema, False)


# -- roots ------------------------------------------------------------------------------------------

ROOTS: dict[str, tuple[Any, Any]] = {
    "list": (list[str], ["a", "b"]),
    "models": (list[Person], [{"name": "Ada", "age": 1, "city": "Rome", "tags": []}]),
    "enum": (Colour, "red"),
    "literal": (Literal["yes", "no"], "yes"),
    "integer": (int, 7),
    "union": (int | list[int], [1]),
    "schema": ({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}, [1, 2]),
    "recursive": ({"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}, [[1], 2]),
}


@pytest.mark.parametrize("root", ROOTS)
def test_a_root_that_is_not_an_object_is_wrapped_and_unwrapped(root: str) -> None:
    schema, data = ROOTS[root]
    contract = Contract(schema)
    answer, model = asked(contract, json.dumps({"value": data}))
    form = form_of(model)
    assert form["schema"]["required"] == ["value"]
    assert (answer.outcome, answer.verdict.data, answer.verdict.fixes) == ("accepted", data, ())
    assert json.loads(answer.text) == data
    # the wrapped schema means the same as the contract's own
    compiled = compile_schema(wrapped(contract.schema.source))  # type: ignore[union-attr,arg-type]
    assert compiled.is_valid({"value": data})
    assert not compiled.is_valid({"value": {"never": 1}})


@pytest.mark.parametrize("root", ROOTS)
def test_a_model_that_ignores_the_wrapper_is_accepted(root: str) -> None:
    schema, data = ROOTS[root]
    answer, _ = asked(Contract(schema), json.dumps(data))
    assert (answer.outcome, answer.verdict.data) == ("accepted", data)


def test_an_object_of_the_contract_with_its_own_value_is_not_unwrapped() -> None:
    class Box(BaseModel):
        value: int

    class Bag(BaseModel):
        items: list[int]

    contract = Contract(Box | Bag)
    assert asked(contract, '{"value": {"items": [1]}}')[0].value == Bag(items=[1])
    assert asked(contract, '{"value": {"value": 5}}')[0].value == Box(value=5)
    assert asked(contract, '{"value": 5}')[0].value == Box(value=5)


class Node(BaseModel):
    name: str
    children: list["Node"] = []


def test_a_model_that_contains_itself_is_an_object() -> None:
    answer, model = asked(Contract(Node), '{"name": "a", "children": [{"name": "b", "children": null}]}')
    form = form_of(model)
    assert (form["strict"], form["schema"]["required"]) == (True, ["name", "children"])
    assert answer.value == Node(name="a", children=[Node(name="b")])
    assert answer.verdict.fixes == ()
    _, model = asked(Contract(Node), '{"name": "a"}', policy=Policy(modes=("json_object", "text")))
    assert model.seen[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "https://example.com/all.json", "type": "array", "items": {"$ref": "#/$defs/n"}},
        {"type": "array", "items": {"$ref": "#number"}},
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/items/anyOf/0"}]}},
    ],
)
def test_references_lead_to_the_same_place_in_a_wrapped_root(schema: dict[str, Any]) -> None:
    compiled = compile_schema(wrapped({**schema, "$defs": {"n": {"$anchor": "number", "type": "integer"}}}))
    assert compiled.is_valid({"value": [1]})
    assert not compiled.is_valid({"value": ["a"]})


def test_a_null_of_one_alternative_stays_beside_another_that_may_leave_it_out() -> None:
    class Counted(BaseModel):
        of: int
        note: int = 0

    class Named(BaseModel):
        of: str
        note: str | None

    text = json.dumps({"value": [{"of": 1, "note": None}, {"of": "a", "note": None}]})
    answer, model = asked(Contract(list[Counted | Named]), text)
    assert form_of(model)["strict"] is True
    assert (answer.outcome, answer.value) == ("accepted", [Counted(of=1), Named(of="a", note=None)])


def test_findings_and_the_correction_are_about_the_value_itself() -> None:
    answer, model = asked(Contract(list[int]), '{"value": [1, "x"]}', '{"value": [1, 2]}')
    assert answer.attempts[0].verdict.errors[0].path == "$[1]"
    assert '"value"' not in model.seen[1]["messages"][-1]["content"]
    assert (answer.outcome, answer.value) == ("repaired", [1, 2])


def test_single_fields_are_requested_under_a_wrapped_root() -> None:
    contract = Contract({"type": "array", "items": {"type": "integer", "minimum": 1}})
    answer, model = asked(contract, '{"value": [1, -2, 3]}', '{"$[1]": 2}', policy=Policy(repair="fields"))
    assert (answer.outcome, answer.value) == ("repaired", [1, 2, 3])
    assert "value" not in form_of(model, 1)["schema"]["properties"]


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('```json\n{"value": [1, 2]}\n```', "[1, 2]"),
        ('{"value": [1, 2', "[1, 2"),
        ('{ "value" : {"a": {}} }', '{"a": {}}'),
        ('{"value": "}"}', '"}"'),
        ('{"values": 1}', '{"values": 1}'),
        ("prose", "prose"),
    ],
)
def test_wrappers_in_any_spelling(text: str, inner: str) -> None:
    assert unwrapped(text).rstrip() == inner
    for size in (1, 2, 3, 50):
        taking = Unwrapping()
        assert "".join(taking.feed(text[at : at + size]) for at in range(0, len(text), size)).rstrip() == inner


def test_what_is_an_object() -> None:
    assert is_object({"properties": {}})
    assert not is_object({"type": "object", "oneOf": [{}]})
    assert not is_object({"$ref": "#/$defs/a"})
    assert wrapped({"type": "object"}) == {"type": "object"}


def test_text_and_object_modes_are_asked_as_before() -> None:
    def plain(messages: Any) -> str:
        assert '"value"' not in messages[0]["content"]
        return '["a"]'

    assert Contract(list[str]).ask(plain, "Which?").value == ["a"]
    answer, model = asked(Contract(list[str]), '["a"]', policy=Policy(modes=("json_object", "text")))
    assert "response_format" not in model.seen[0]  # an object is not requested if a list is wanted
    assert answer.value == ["a"]


# -- tool -------------------------------------------------------------------------------------------

ABLE = [
    kind for kind in KINDS if not kind.startswith(("ollama", "langchain-openai", "pydantic-ai"))
]  # Ollama has no tool choice
TOOL = Policy(models=("m",), modes=("tool", "text"))


def name_of(contract: Contract) -> str:
    return contract.name or "reply"


@pytest.mark.parametrize("kind", ABLE)
@pytest.mark.parametrize("schema", [Person, list[str]])
def test_the_value_is_requested_as_the_arguments_of_one_tool(kind: str, schema: Any) -> None:
    given = {"name": "Ada", "age": 36, "city": "Rome", "tags": []} if schema is Person else {"value": ["a", "b"]}
    with ScriptedServer([Say("", (Call("reply", given, id="c1"),))]) as server:
        answer = run(kind, server, Contract(schema), policy=TOOL).answer
        sent = server.requests[0].body.decode()
    assert answer.outcome == "accepted", answer.verdict.findings
    assert answer.value == (Person(name="Ada", age=36, city="Rome") if schema is Person else ["a", "b"])
    assert answer.calls == ()
    assert '"reply"' in sent
    assert answer.next_messages[-1].get("tool_calls") is None


@pytest.mark.parametrize("kind", ABLE)
def test_the_arguments_grow_in_a_stream(kind: str) -> None:
    given = {"value": ["one", "two", "three"]}
    with ScriptedServer([Say("", (Call("reply", given, id="c1"),), piece=5)]) as server:
        client, clock = KINDS[kind].make(server), StageClock()
        options: dict[str, Any] = {"clock": clock, "memory": Memory()}
        if KINDS[kind].is_async:

            async def going() -> tuple[list[Any], Any]:
                try:
                    parts = AsyncAskStream(Contract(list[str]), client, "?", TOOL, wait=clock.await_, **options)
                    return [part async for part in parts], parts.answer
                finally:
                    await aclose(client)

            parts, answer = asyncio.run(going())
        else:
            with (
                closing(client),
                AskStream(Contract(list[str]), client, "?", TOOL, wait=clock.wait, **options) as asked_,
            ):
                parts, answer = list(asked_), asked_.answer
    assert answer.value == ["one", "two", "three"]
    assert parts[-1].value == ["one", "two", "three"]
    assert all(part.kind == "value" and isinstance(part.value, list) for part in parts)


def by_tool(*replies: Any) -> Model:
    return Model([chat(reply) if isinstance(reply, str) else reply for reply in replies])


def call(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}


class ToolClient(Client):
    """A provider without a JSON mode."""

    modes = ("tool", "text")
    able = modes
    key = "by-tool"
    finishes = False

    def __init__(self, *replies: Any) -> None:
        self._replies = list(replies)
        self.seen: list[Request] = []

    def send(self, request: Request) -> Any:
        self.seen.append(request)
        return self._replies[len(self.seen) - 1]


def test_a_faulty_value_is_corrected_without_a_call_in_the_history() -> None:
    client = ToolClient(call("reply", {"value": ["a", 5]}), call("reply", {"value": ["a", "b"]}))
    answer = Contract({"type": "array", "items": {"type": "string", "minLength": 1}}, coerce="off").ask(
        client, "Which?", memory=Memory()
    )
    assert (answer.outcome, answer.value) == ("repaired", ["a", "b"])
    first, second = client.seen
    assert (first.mode, first.forced_tool, second.forced_tool) == ("tool", "reply", "reply")
    assert [message["role"] for message in second.messages] == ["user"]
    assert answer.attempts[0].verdict.errors[0].path == "$[1]"


def test_the_contracts_own_tools_may_be_called_in_its_place() -> None:
    find = {"name": "find", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}
    contract = Contract(Person, tools=[find])
    client = ToolClient(call("find", {"what": "Ada"}))
    answer = contract.ask(client, "Who?", memory=Memory())
    assert [made.name for made in answer.calls] == ["find"]
    request = client.seen[0]
    assert [tool.name for tool in request.tools] == ["find", "reply"]
    assert (request.forced_tool, request.must_call) == ("", True)
    client = ToolClient(call("reply", {"name": "Ada"}))
    assert contract.ask(client, "Who?", memory=Memory()).value == Person(name="Ada")


def test_a_tool_of_the_contract_with_the_same_name_is_another() -> None:
    client = ToolClient(call("reply_answer", {"name": "Ada"}))
    contract = Contract(Person, tools=[{"name": "reply"}])
    assert contract.ask(client, "Who?", memory=Memory()).value == Person(name="Ada")


def test_the_tool_for_the_answer_has_a_name_of_its_own_that_providers_take() -> None:
    name = "n" * 64
    contract = Contract(Person, tools=[{"name": name}, {"name": f"{'n' * 55}_answer"}], name=name)
    client = ToolClient(call(f"{'n' * 55}_answer1", {"name": "Ada"}))
    assert contract.ask(client, "Who?", memory=Memory()).value == Person(name="Ada")
    assert len(client.seen[0].answer_tool) <= 64


def test_an_answer_beside_a_call_is_out_of_its_wrapper_too() -> None:
    both = call("find", {})
    both["choices"][0]["message"]["tool_calls"] += call("reply", {"value": ["a"]}, "c2")["choices"][0]["message"][
        "tool_calls"
    ]
    answer = Contract(list[str], tools=[{"name": "find"}]).ask(ToolClient(both), "Which?", memory=Memory())
    assert ([made.name for made in answer.calls], answer.text) == (["find"], '["a"]')


def test_a_model_that_writes_the_value_is_accepted() -> None:
    client = ToolClient(chat('{"name": "Ada"}'))
    assert Contract(Person).ask(client, "Who?", memory=Memory()).value == Person(name="Ada")


def test_a_provider_without_tools_continues_in_text() -> None:
    client = ToolClient()
    client.takes_tools = False
    loop = Loop(Contract(Person), client, "Who?", memory=Memory())
    loop.start()
    assert loop.request().mode == "text"


def test_arguments_that_were_cut_are_judged_as_a_cut_value() -> None:
    cut = call("reply", '{"name": "Ad')
    cut["choices"][0]["finish_reason"] = "length"
    answer = Contract(Person).ask(ToolClient(cut, call("reply", {"name": "Ada"})), "Who?", memory=Memory())
    assert (answer.outcome, answer.value) == ("repaired", Person(name="Ada"))


def test_a_rejected_mode_steps_down_to_words() -> None:
    refused = Fail(400, "tools are not supported by this model")
    with ScriptedServer([refused, Say('{"name": "Ada"}')]) as server:
        answer = run("openai", server, Contract(Person), policy=TOOL).answer
        second = json.loads(server.requests[1].body)
    assert answer.value == Person(name="Ada")
    assert "tools" not in second


# -- placeholders -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['{"name": "<text>"}', '{"name": "<text>", "age": <integer>}', '{"age": <integer>, "name": 5}']
)
@pytest.mark.parametrize("otherwise", ["degraded", "text"])
def test_a_value_of_placeholders_is_never_given(text: str, otherwise: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
    model = Model([text])
    answer = Contract(schema).ask(model.plain, "Who?", Policy(otherwise=otherwise, repairs=1))
    assert answer.outcome == "failed"
    assert any(found.code == "A006" for found in answer.attempts[0].verdict.errors)


@pytest.mark.parametrize("tag", [{"enum": ["<b>", "<i>", "<text>"]}, {"const": "<b>"}])
def test_a_value_in_the_schema_is_not_a_placeholder(tag: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"tag": tag, "of": {"type": "string"}}, "required": ["tag", "of"]}
    model = Model(['{"tag": "<b>", "of": "a word"}'])
    assert Contract(schema).ask(model.plain, "Which?").outcome == "accepted"
