"""Instructions: the texts that `ask` sends, for people who call a model themselves."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from pydantic import BaseModel, Field

from tests.ask.words.test_prompts import ASKS, RICH, SCHEMA, TOOLS
from tests.conform.test_properties import SCHEMAS
from trueup import Contract, Policy
from trueup.ask.words.instructions import FORMS
from trueup.testing.server import ScriptedServer

LANGUAGES = ("en", "es")


def sent(contract: Contract, policy: Policy, reply: Any) -> str:
    """The system messages that a server receives in one ask, over HTTP."""
    with ScriptedServer([reply]) as server:
        contract.ask(server.url + "/v1", "Who?", policy)
        return "\n\n".join(m["content"] for m in server.requests[0].messages if m["role"] == "system")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mode", ["text", "json_object", "json_schema"])
def test_a_server_receives_exactly_these_words(mode: Any, language: str) -> None:
    policy = Policy(modes=(mode,), instruct="always", language=language)
    for schema, reply in ((SCHEMA, {"name": "Ada", "age": 1}), (RICH, {"id": "AB", "count": 1, "to": {"street": "x"}})):
        contract = Contract(schema)
        assert sent(contract, policy, reply) == contract.instructions(language=language)


@pytest.mark.parametrize("calls", [None, {"required": True}])
def test_a_server_receives_exactly_these_words_for_an_envelope(calls: Any) -> None:
    contract = Contract.envelope(TOOLS, calls=calls, language="es")
    reply = {"toolCalls": [{"name": "ping", "arguments": {}}]}
    assert sent(contract, Policy(instruct="always"), reply) == contract.instructions()
    assert "Puedes llamar a estas herramientas" in contract.instructions()


def test_tools_that_the_provider_gets_can_be_left_out() -> None:
    contract = Contract(SCHEMA, tools=TOOLS)
    reply = {"name": "Ada", "age": 1}
    assert sent(contract, Policy(instruct="always"), reply) == contract.instructions(tools=False)
    assert contract.instructions().startswith(
        contract.instructions(tools=False) + "\n\nYou can call these tools:\n- book "
    )
    seen: list[Any] = []
    contract.ask(lambda messages: seen.append(messages) or '{"name": "Ada", "age": 1}', "Who?")
    assert "\n\n".join(m["content"] for m in seen[0] if m["role"] == "system") == contract.instructions()


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("form", FORMS)
def test_every_legal_contract_has_instructions(name: str, form: Any) -> None:
    contract, *_ = ASKS[name]
    for language in (None, *LANGUAGES, "es-MX", "en_GB"):
        text = contract.instructions(form, language)
        assert bool(text) == (contract.schema is not None or bool(contract.tools))
        assert "{shape}" not in text
        assert "{typescript}" not in text


@given(SCHEMAS, SCHEMAS)
def test_every_schema_has_instructions(source: Any, shared: Any) -> None:
    schema = {**source, "$defs": {"r": shared}} if isinstance(source, dict) else source
    contract = Contract(schema, tools=[{"name": "t", "parameters": schema}] if isinstance(schema, dict) else None)
    for form in FORMS:
        assert contract.instructions(form)


class Address(BaseModel):
    street: str
    zip: str | None = None


class Person(BaseModel):
    name: Annotated[str, Field(min_length=2, pattern="^[A-Z]", description="The full name.")]
    age: Annotated[int, Field(ge=0, le=150)] = 18
    at: list[Address] = []
    friends: "list[Person]" = []
    contact: Address | str | None = None


@pytest.mark.parametrize("form", ["json-schema", "typescript"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_in_a_type_is_shown(form: Any, language: str) -> None:
    text = Contract(Person).instructions(form, language)
    for said in ("The full name.", "^[A-Z]", "150", "18", "Address", "Person", "street", "null", "string"):
        assert said in text
    assert text.startswith("Reply with one JSON" if language == "en" else "Responde con un único valor JSON")


def test_a_long_json_schema_is_complete() -> None:
    schema = {"type": "object", "properties": {f"field_{n}": {"oneOf": [SCHEMA, {"type": "null"}]} for n in range(100)}}
    text = Contract(schema).instructions("json-schema")
    assert text.count('"minimum":0') == 100


@pytest.mark.parametrize(
    ("form", "meant"), [("typescrpt", "typescript"), ("json_schema", "json-schema"), ("yaml", None), (None, None)]
)
def test_the_message_for_an_unknown_format_lists_the_known_ones(form: Any, meant: str | None) -> None:
    with pytest.raises(ValueError, match="format must be one of form, json-schema, typescript; got") as raised:
        Contract(SCHEMA).instructions(form)
    assert (f"did you mean {meant!r}?" in str(raised.value)) == (meant is not None)


@pytest.mark.parametrize(("language", "meant"), [("eng", "en"), ("esp", "es"), ("klingon", None)])
def test_the_message_for_an_unknown_language_lists_the_known_ones(language: str, meant: str | None) -> None:
    with pytest.raises(ValueError, match="there are texts for en, es") as raised:
        Contract(SCHEMA).instructions(language=language)
    assert (f"did you mean {meant!r}?" in str(raised.value)) == (meant is not None)


def test_the_contracts_own_language_is_the_default() -> None:
    assert Contract(SCHEMA, language="es").instructions() == Contract(SCHEMA).instructions(language="es")
    assert Contract(SCHEMA, language="es").instructions(language="en") == Contract(SCHEMA).instructions()


class Branch(BaseModel):
    """A branch of a tree."""

    leaves: Annotated[int, Field(ge=1)]
    branches: "list[Branch]" = []


WORDS = " ".join(f"word{n}" for n in range(300))
LONG_PATTERN = "^(" + "|".join(f"code{n}" for n in range(60)) + ")$"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (Annotated[int, Field(ge=3, le=7)], ["3", "7"]),
        (Annotated[int, Field(description="How sure you are.")], ["How sure you are."]),
        (list[Annotated[str, Field(min_length=3)]], ["3"]),
        (list[Annotated[int, Field(description="A year.")]], ["A year."]),
        (dict[str, Annotated[int, Field(le=77)]], ["77"]),
        (UUID, ["uuid"]),
        (Branch, ["A branch of a tree."]),
        (Address | None, ["street"]),
        ({"properties": {"at": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": {"type": "integer", "minimum": 5}}}, ["5"]),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"description": "A place."}}}, ["A place."]),
        ({"properties": {"a": {"type": ["string", "integer", "null"]}}}, ["string", "null"]),
        ({"properties": {"a": {"type": "object", "minProperties": 4}}}, ["4"]),
        ({"enum": [f"code{n}" for n in range(30)]}, [f"code{n}" for n in range(30)]),
        ({"enum": [f"code{n}" for n in range(300)]}, [f"code{n}" for n in range(300)]),
        ({"properties": {"a": {"type": "string", "pattern": LONG_PATTERN}}}, [LONG_PATTERN]),
        ({"properties": {"a": {"type": "string", "description": WORDS}}}, [WORDS]),
        ({"properties": {f"f{n}": {"minimum": 1000 + n} for n in range(200)}}, [str(1000 + n) for n in range(200)]),
        (
            {"properties": {f"f{n}": {"oneOf": [{"const": n}, {"const": 1000 + n}]} for n in range(200)}},
            [str(1000 + n) for n in range(200)],
        ),
    ],
)  # fmt: skip
def test_no_format_leaves_anything_out(schema: Any, told: list[str], form: Any) -> None:
    text = Contract(schema).instructions(form)
    assert [word for word in told if word not in text] == []


def test_a_set_has_no_duplicates_in_words_too() -> None:
    assert "no duplicates" in Contract(set[int]).instructions()
    assert "uniqueItems" in Contract(set[int]).instructions("json-schema")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_type_that_refers_to_itself_is_shown_as_a_schema(language: str) -> None:
    text = Contract(Branch).instructions(language=language)
    assert "JSON Schema" in text
    assert text.count("leaves") == 2  # the field, and that it is required


def test_only_a_json_schema_is_called_one() -> None:
    """A schema that is too long to send is shown as a form, and the text calls it a form."""
    arms = [{"properties": {f"a_name_{n}": {"type": "string"}}, "required": [f"a_name_{n}"]} for n in range(2000)]
    text = Contract({"oneOf": arms}).instructions()
    assert len(text) < 20_000
    assert "It has this form" in text
    assert "JSON Schema" not in text


def test_values_with_commas_are_distinguishable() -> None:
    text = Contract({"enum": ["a, b", "a", "b"]}).instructions()
    assert text.endswith('<one of "a, b", "a", "b">')


@pytest.mark.parametrize("form", FORMS)
def test_a_line_break_in_a_name_or_a_pattern_does_not_begin_a_new_rule(form: Any) -> None:
    odd = "a\n- b: leave it out\u2028"
    schema = {"properties": {odd: {"type": "string", "pattern": "^x\n$", "description": "one\n- two"}}}
    lines = Contract(schema).instructions(form).splitlines()
    assert not [line for line in lines if line.lstrip().startswith(("- b", "- two", "$"))]
    if form != "json-schema":
        assert any(r"^x\n$" in line for line in lines)


def test_a_long_description_of_a_tool_is_complete() -> None:
    tool = {"name": "book", "description": WORDS, "parameters": {"type": "object"}}
    assert WORDS in Contract(tools=[tool]).instructions()


def test_a_type_that_refers_to_itself_has_one_name() -> None:
    lines = Contract(Branch).instructions("typescript").splitlines()
    assert lines[1] == "It has the type Branch, in TypeScript (do not repeat the types):"
    assert [line for line in lines if line.startswith("type ")] == ["type Branch = {"]
    assert Contract({"$ref": "#"}).instructions("typescript").endswith("type Reply = Reply;")
