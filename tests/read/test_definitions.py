"""T1: tool definitions in every shape give the same tool."""

import dataclasses
import enum
import types
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel, Field

from trueup import Contract
from trueup.read.definitions import DefinitionError, definitions
from trueup.verdict.tool import Tool

pytestmark = pytest.mark.spec("T1")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "f"]}},
    "required": ["city"],
}
UPPER = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING"}, "unit": {"type": "STRING", "enum": ["c", "f"]}},
    "required": ["city"],
}
FLAT = {"name": "get_weather", "description": "Weather.", "parameters": SCHEMA}
MCP = {"name": "get_weather", "title": "W", "description": "Weather.", "inputSchema": SCHEMA, "outputSchema": {}}
WEATHER = Tool("get_weather", "Weather.", SCHEMA)


class Args(BaseModel):
    city: str
    unit: str = "c"


SHAPES: dict[str, Any] = {
    "openai chat": {"type": "function", "function": {**FLAT, "strict": True}},
    "openai responses": {"type": "function", **FLAT, "strict": True},
    "openai legacy": {"functions": [FLAT]},
    "openai request": {"model": "m", "messages": [], "tools": [{"type": "function", "function": FLAT}]},
    "anthropic": {"name": "get_weather", "description": "Weather.", "input_schema": SCHEMA, "cache_control": {}},
    "gemini": {"functionDeclarations": [{**FLAT, "parameters": UPPER}]},
    "gemini snake": {"function_declarations": [{**FLAT, "parameters": UPPER}]},
    "gemini json schema": {"functionDeclarations": [{**FLAT, "parameters": None, "parametersJsonSchema": SCHEMA}]},
    "gemini tools": {"tools": [{"functionDeclarations": [{**FLAT, "parameters": UPPER}]}]},
    "bedrock": {"toolSpec": {"name": "get_weather", "description": "Weather.", "inputSchema": {"json": SCHEMA}}},
    "bedrock config": {"toolConfig": {"tools": [{"toolSpec": {**FLAT, "inputSchema": {"json": SCHEMA}}}]}},
    "mcp": MCP,
    "mcp list": {"tools": [MCP], "nextCursor": "x"},
    "mcp json-rpc": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}},
    "vercel map": {"get_weather": {"description": "Weather.", "inputSchema": SCHEMA}},
    "vercel old": {"get_weather": {"description": "Weather.", "parameters": SCHEMA}},
    "vercel json schema": {"get_weather": {"description": "Weather.", "inputSchema": {"jsonSchema": SCHEMA}}},
    "langchain": {"name": "get_weather", "description": "Weather.", "args_schema": SCHEMA},
    "simple list": {
        "name": "get_weather",
        "description": "Weather.",
        "parameters": [
            {"name": "city", "type": "string", "required": True},
            {"name": "unit", "type": "string", "required": False, "enum": ["c", "f"]},
        ],
    },
    "simple map": {
        "name": "get_weather",
        "description": "Weather.",
        "parameters": {"city": {"type": "str", "required": True}, "unit": {"type": "string", "enum": ["c", "f"]}},
    },
    "cohere v1": {
        "name": "get_weather",
        "description": "Weather.",
        "parameter_definitions": {"city": {"type": "str", "required": True}, "unit": {"type": "str", "enum": ["c", "f"]}},
    },
    "required at the property": {
        **FLAT,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "required": True}, "unit": SCHEMA["properties"]["unit"]},
        },
    },
    "tool": WEATHER,
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same_tool(shape: Any) -> None:
    (tool,) = definitions(shape)
    assert (tool.name, tool.description) == ("get_weather", "Weather.")
    assert tool.parameters == SCHEMA
    assert Contract(tools=[shape]).check({"tool_calls": [_call(city="Oslo", unit="c")]}).ok
    refused = Contract(tools=shape).check({"tool_calls": [_call(unit="c")]})
    assert [f.code for f in refused.errors] == ["V002"]


def _call(**args: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": args}}


GEMINI = [
    ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": False}, {"type": "string"}),
    ({"type": "STRING", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"anyOf": [{"type": "STRING"}], "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ({"any_of": [{"type": "STRING"}]}, {"anyOf": [{"type": "string"}]}),
    ({"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}),
    ({"type": "TYPE_UNSPECIFIED"}, {}),
    ({"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN"}}}, {"type": "object", "properties": {"a": {"type": "boolean"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "plain"), GEMINI)
def test_geminis_type_names_become_json_schema(given: Any, plain: Any) -> None:
    schema = {"type": "OBJECT", "properties": {"x": given}}
    (tool,) = definitions({"name": "f", "parameters": schema})
    assert tool.parameters == {"type": "object", "properties": {"x": plain}}


def test_only_schemas_are_rewritten_not_names_and_data() -> None:
    schema = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "default": {"type": "STRING"}},
            "nullable": {"type": "boolean"},
            "required": {"type": "boolean"},
            "kind": {"enum": ["STRING", {"type": "INTEGER"}], "examples": [{"nullable": True}]},
        },
        "required": ["type"],
    }
    (tool,) = definitions({"name": "f", "parameters": schema})
    assert tool.parameters == schema


def test_the_given_definition_is_not_changed() -> None:
    given = {"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}}]}  # fmt: skip
    before = repr(given)
    definitions(given)
    assert repr(given) == before


NO_ARGUMENTS = [
    {"name": "now"},
    {"name": "now", "parameters": {}},
    {"name": "now", "parameters": None},
    {"type": "function", "function": {"name": "now"}},
    {"name": "now", "parameters": []},
    {"now": {}},
    {"type": "web_search_20250305", "name": "now"},
    {"type": "custom", "custom": {"name": "now", "format": {"type": "grammar"}}},
    {"type": "custom", "name": "now"},
]


@pytest.mark.parametrize("given", NO_ARGUMENTS)
def test_a_tool_without_parameters_is_a_tool(given: Any) -> None:
    (tool,) = definitions(given)
    assert tool.name == "now"
    assert Contract(tools=[given]).check({"tool_calls": [{"id": "a", "function": {"name": "now", "arguments": ""}}]}).ok


@pytest.mark.parametrize(
    "hosted", [{"type": "web_search_preview"}, {"googleSearch": {}}, {"code_execution": {}}, {"cachePoint": {"type": "default"}}]
)  # fmt: skip
def test_tools_that_the_provider_runs_are_skipped(hosted: Any) -> None:
    assert [tool.name for tool in definitions([hosted, FLAT])] == ["get_weather"]


TYPES = [
    ("str", "string"), ("int", "integer"), ("float", "number"), ("bool", "boolean"), ("list", "array"), ("dict", "object"),
    ("string", "string"), ("number", "number"), ("boolean", "boolean"), ("array", "array"), ("object", "object"),
    ("integer", "integer"), ("List[str]", "array"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "kind"), TYPES)
def test_the_simple_form_accepts_every_type_by_its_common_names(word: str, kind: str) -> None:
    (tool,) = definitions({"name": "f", "parameters": [{"name": "a", "type": word}]})
    assert tool.parameters == {"type": "object", "properties": {"a": {"type": kind}}, "required": []}


BAD = [
    ([{"description": "no name"}], "tools[0]: no tool definition with a name found"),
    ([{"name": ""}], "tools[0]: a tool needs a name"),
    ([{"name": "f", "parameters": [{"type": "string"}]}], "tools[0].parameters[0]: a parameter needs a name"),
    ([{"name": "f", "parameters": [{"name": "a", "type": "strnig"}]}], "tools[0].parameters[0]: unknown type 'strnig'"),
    ([{"name": "f", "parameters": "city"}], "tools[0].parameters: a schema is an object, got str"),
    ([3], "tools[0]: int is not a tool definition"),
    (["f"], "tools[0]: str is not a tool definition"),
    ([{"functionDeclarations": [{"name": "f"}, {}]}], "tools[0].functionDeclarations[1]: no tool definition"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_an_unreadable_definition_is_refused_with_its_position(given: Any, message: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        definitions(given)
    assert str(refused.value).startswith(message)
    with pytest.raises(ValueError):
        Contract(tools=given)


def test_two_tools_with_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named 'get_weather'"):
        Contract(tools=[FLAT, MCP])


def test_an_invalid_schema_is_refused_when_the_contract_is_made() -> None:
    with pytest.raises(ValueError, match="'f'"):
        Contract(tools=[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "strnig"}}}}])


def test_objects_of_sdks_and_frameworks_are_read() -> None:
    from google.genai import types as genai
    from langchain_core.tools import tool as langchain_tool

    declared = genai.FunctionDeclaration(
        name="get_weather",
        description="Weather.",
        parameters=genai.Schema(
            type=genai.Type.OBJECT,
            properties={"city": genai.Schema(type=genai.Type.STRING), "unit": genai.Schema(type=genai.Type.STRING, enum=["c", "f"])},
            required=["city"],
        ),
    )  # fmt: skip
    (tool,) = definitions(declared)
    assert tool.parameters == SCHEMA
    (again,) = definitions(genai.Tool(function_declarations=[declared]))
    assert again == tool

    @langchain_tool
    def get_weather(city: str, unit: str = "c") -> str:
        """Weather."""
        return city + unit

    (tool,) = definitions(get_weather)
    assert (tool.name, tool.description) == ("get_weather", "Weather.")
    assert isinstance(tool.parameters, dict)
    assert tool.parameters["required"] == ["city"]

    (tool,) = definitions({"name": "get_weather", "description": "Weather.", "args_schema": Args})
    assert isinstance(tool.parameters, dict)
    assert tool.parameters["required"] == ["city"]


def test_a_pydantic_model_and_a_dataclass_are_tools() -> None:
    class BookTable(BaseModel):
        """Book a table."""

        guests: int = Field(ge=1)
        name: str

    @dataclasses.dataclass
    class Cancel:
        booking: str

    contract = Contract(tools=[BookTable, Cancel])
    call = {"id": "1", "function": {"name": "BookTable", "arguments": '{"guests": "2", "name": "Ana"}'}}
    verdict = contract.check({"tool_calls": [call]})
    assert verdict.ok
    assert verdict.calls[0].args == {"guests": 2, "name": "Ana"}
    call["function"]["arguments"] = '{"guests": 0, "name": "Ana"}'  # type: ignore[index]
    assert [f.code for f in contract.check({"tool_calls": [call]}).errors] == ["V004"]
    gone = {"id": "2", "function": {"name": "cancel", "arguments": "{}"}}
    assert [f.code for f in contract.check({"tool_calls": [gone]}).errors] == ["V002"]


@pytest.mark.spec("T1")
def test_null_in_a_schema_means_unspecified() -> None:
    said = {"type": "object", "properties": {"x": {"type": "string", "enum": None, "items": None, "default": None}},
            "required": None, "additionalProperties": None}  # fmt: skip
    assert definitions([{"name": "f", "parameters": said}])[0].parameters == {
        "type": "object",
        "properties": {"x": {"type": "string", "default": None}},
    }
    empty = definitions([{"name": "f", "parameters": {"type": "object", "properties": None}}])
    assert empty[0].parameters == {"type": "object"}
    assert definitions([{"name": "f", "parameters": {"const": None}}])[0].parameters == {"const": None}


# -- registries and definitions as objects of an application -----------------------------------------


class Kind(enum.Enum):
    TEXT = "string"


@dataclasses.dataclass
class Parameter:
    name: str
    type: Any = "string"
    required: bool = False
    enum: Any = None
    description: str = ""
    default: Any = None


@dataclasses.dataclass
class Definition:
    name: str
    description: str = ""
    parameters: Any = ()


OBJECT = Definition("get_weather", "Weather.", [Parameter("city", required=True), Parameter("unit", enum=["c", "f"])])


class Registry:
    """As applications write them."""

    def __init__(self, *definitions: Any) -> None:
        self._definitions = {definition.name: definition for definition in definitions}

    def get_all_definitions(self) -> Any:
        return list(self._definitions.values())

    def get_definition(self, name: str) -> Any:
        return self._definitions.get(name)


class PydanticParameter(BaseModel):
    name: str
    type: str
    required: bool = False
    enum: list[str] | None = None


class PydanticDefinition(BaseModel):
    name: str
    description: str = ""
    parameters: list[PydanticParameter] = []


OBJECTS: dict[str, Any] = {
    "registry": Registry(OBJECT),
    "list of definitions": [OBJECT],
    "one definition": OBJECT,
    "dict of definitions": {"get_weather": OBJECT},
    "values": {"x": OBJECT}.values(),
    "generator of a registry": types.SimpleNamespace(list_definitions=lambda: (one for one in [OBJECT])),
    "attribute": types.SimpleNamespace(tools=[OBJECT]),
    "attribute dict": types.SimpleNamespace(tools={"get_weather": OBJECT}),
    "tuple of parameters": types.SimpleNamespace(name="get_weather", description="Weather.", parameters=(*OBJECT.parameters,)),
    "map of parameters": types.SimpleNamespace(
        name="get_weather", description="Weather.", parameters={p.name: p for p in OBJECT.parameters}
    ),
    "enum and type": Definition(
        "get_weather", "Weather.",
        [Parameter("city", Kind.TEXT, required=True), Parameter("unit", str, enum=enum.Enum("Unit", {"C": "c", "F": "f"}))],
    ),
    "pydantic": Registry(
        PydanticDefinition(
            name="get_weather", description="Weather.",
            parameters=[
                PydanticParameter(name="city", type="string", required=True),
                PydanticParameter(name="unit", type="string", enum=["c", "f"]),
            ],
        )
    ),
    "schema": types.SimpleNamespace(name="get_weather", description="Weather.", parameters=SCHEMA),
}  # fmt: skip


@pytest.mark.parametrize("source", OBJECTS.values(), ids=OBJECTS)
def test_registries_and_their_definitions_are_accepted_unchanged(source: Any) -> None:
    (tool,) = Contract(tools=source).tools
    assert tool == WEATHER


def test_a_registry_may_contain_functions_and_models() -> None:
    def ping(host: str) -> str:
        """Ping a host."""
        return host

    registry = types.SimpleNamespace(get_tools=lambda: [ping, Args, FLAT])
    assert [tool.name for tool in Contract(tools=registry).tools] == ["ping", "Args", "get_weather"]


def test_a_definition_without_parameters_accepts_none_or_any() -> None:
    assert definitions(Definition("ping", "", []))[0].parameters == {"type": "object", "properties": {}, "required": []}
    assert definitions(Definition("ping", "", None))[0].parameters is True


def mocked(name: str, *parameters: Any) -> Any:
    """A mock with a name: `MagicMock(name=…)` only names the mock itself."""
    definition = MagicMock(parameters=list(parameters))
    definition.name = name
    return definition


def test_mocks_of_a_registry_work_once_they_have_names() -> None:
    hostnames = MagicMock(type="string", required=False, enum=None)
    hostnames.name = "hostnames"
    registry = MagicMock()
    registry.get_all_definitions.return_value = [
        mocked("check_adapter_status"),
        mocked("test_dns_resolution", hostnames),
    ]
    tools = Contract(tools=registry).tools
    assert [(tool.name, tool.description) for tool in tools] == [
        ("check_adapter_status", ""),
        ("test_dns_resolution", ""),
    ]
    assert tools[1].parameters == {"type": "object", "properties": {"hostnames": {"type": "string"}}, "required": []}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (MagicMock(**{"get_all_definitions.return_value": [MagicMock(name="ping", parameters=[])]}), "the name of a tool must be a string, got MagicMock"),
        (MagicMock(), "the name of a tool must be a string, got MagicMock"),
        (object(), "object is not a tool definition"),
        (types.SimpleNamespace(get_all_definitions=lambda: None), "returns a list of these"),
        (types.SimpleNamespace(description="no name", parameters=[]), "an object with `name` and `parameters`"),
        (Registry(Definition("ping", "", [Parameter(None)])), r"tools\[0\]\.parameters\[0\]: a parameter needs a name"),  # type: ignore[arg-type]
        (Registry(Definition("ping", "", [Parameter("a", "strng")])), "unknown type 'strng'"),
    ],
)  # fmt: skip
def test_an_object_that_is_not_a_registry_is_refused_with_the_reason(source: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Contract(tools=source)


def test_an_asynchronous_registry_is_refused_with_advice() -> None:
    class Server:
        async def list_tools(self) -> list[Any]:
            return [FLAT]

    with pytest.raises(TypeError, match=r"list_tools\(\) is asynchronous: await it"):
        Contract(tools=Server())
