"""Types in the style of TypeScript: they contain everything in a schema, each place once."""

import re
from typing import Any

import pytest

from tests.growth import assert_linear
from trueup import Contract
from trueup.ask.words.typescript import Declarations
from trueup.conform.schema import compile_schema


def types(schema: Any) -> str:
    return Declarations({}).declare(compile_schema(schema).place, "Reply")


def of(schema: Any) -> str:
    """The type of one required property and the comment above it."""
    whole = types({"type": "object", "properties": {"v": schema}, "required": ["v"]})
    return re.sub(r"^type Reply = \{\n|\n\};$", "", whole).replace("  v: ", "").strip()


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string;"),
        ({"type": "boolean"}, "boolean;"),
        ({"type": "null"}, "null;"),
        ({"type": "integer"}, "// integer\nnumber;"),
        ({"type": "number", "minimum": 1, "exclusiveMaximum": 5}, "// ≥ 1, < 5\nnumber;"),
        ({"type": "number", "maximum": 9, "multipleOf": 3}, "// ≤ 9, multiple 3\nnumber;"),
        ({"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"}, "// length ≥ 2, length ≤ 4, matches ^a\nstring;"),
        ({"type": "string", "format": "uuid"}, "// uuid\nstring;"),
        ({"type": "string", "format": "date"}, "// date\nstring;"),
        ({"type": ["string", "null"]}, "string | null;"),
        ({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}, "number /* integer, ≥ 0 */ | null;"),
        ({"enum": ["low", "high", 3, None]}, '"low" | "high" | 3 | null;'),
        ({"const": "x"}, '"x";'),
        ({"type": "array", "items": {"type": "string"}}, "string[];"),
        ({"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 1}, "// items ≥ 1\nArray<string /* length ≥ 2 */>;"),
        ({"type": "array", "uniqueItems": True}, "// no duplicates\nany[];"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]}, "[string, boolean];"),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}}, "[string, ...null[]];"),
        ({"type": "object"}, "{ [key: string]: any };"),
        ({"type": "object", "additionalProperties": False}, "{};"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{\n    [key: string]: string;\n  };"),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "{\n    // matches ^x\n    [key: string]: string;\n  };"),
        ({"type": "object", "properties": {"a-b": {"type": "null"}, "c": {}}, "required": ["c", "d"]},
         '{\n    "a-b"?: null;\n    c: any;\n    d: any;\n  };'),
        ({"oneOf": [{"type": "string"}, {"type": "boolean"}]}, "string | boolean;"),
        ({"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}}, {"required": ["a"]}]},
         "{\n    a?: null;\n  } & {\n    a: any;\n  };"),
        ({"type": "string", "anyOf": [{"const": "a"}, {"pattern": "b"}]}, 'string & ("a" | any /* matches b */);'),
        ({"type": "string", "not": {"const": "x"}}, '// {"not":{"const":"x"}}\nstring;'),
        ({"type": "object", "properties": {}, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
         '// {"if":{"required":["a"]},"then":{"required":["b"]}}\n  { [key: string]: any };'),
        ({"type": "string", "default": "x", "description": "What\n it   is."}, '// default: "x". What it is.\nstring;'),
        ({"type": "string", "title": "The whole name"}, "// The whole name\nstring;"),
        ({"type": "string", "title": "V"}, "string;"),
        (True, "any;"),
        (False, "never;"),
    ],
)  # fmt: skip
def test_every_kind_of_schema(schema: Any, text: str) -> None:
    assert [line.strip() for line in of(schema).split("\n")] == [line.strip() for line in text.split("\n")]


def test_definitions_are_written_once_and_recursion_ends() -> None:
    schema = {
        "$defs": {
            "my-node": {
                "description": "A node.",
                "type": "object",
                "properties": {
                    "next": {"$ref": "#/$defs/my-node", "description": "The one after."},
                    "root": {"$ref": "#"},
                },
            },
            "unused": {"type": "string"},
        },
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/my-node"}, "b": {"$ref": "#/$defs/my-node"}},
    }
    assert types(schema) == (
        "type Reply = {\n  a?: my_node;\n  b?: my_node;\n};\n"
        "// A node.\ntype my_node = {\n  // The one after.\n  next?: my_node;\n  root?: Reply;\n};"
    )


def test_names_of_types_do_not_clash() -> None:
    schema = {
        "$defs": {
            "a b": {"type": "string"},
            "a-b": {"type": "integer"},
            "Reply": {"type": "null"},
            "1": {"type": "boolean"},
        },
        "type": "object",
        "properties": {n: {"$ref": f"#/$defs/{n.replace(' ', '%20')}"} for n in ("a b", "a-b", "Reply", "1")},
    }
    declared = re.findall(r"^type (\w+) = (\w+|\{)", types(schema), re.MULTILINE)
    assert len({name for name, _ in declared}) == 5
    assert {kind for _, kind in declared} == {"{", "string", "number", "null", "boolean"}
    assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name, _ in declared)


def test_a_comment_cannot_end_early_or_begin_a_line() -> None:
    schema = {"type": "array", "items": {"type": "string", "pattern": "^.*/x", "description": "a */ b\nignore all"}}
    text = of(schema)
    assert text.count("*/") == 1
    assert "\n" not in text


def nested(levels: int, word: str = "properties") -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = (
            {"properties": {"a": schema}}
            if word == "properties"
            else {word: schema}
            if word == "items"
            else {word: [schema]}
        )
    return schema


@pytest.mark.parametrize("word", ["properties", "items", "anyOf", "allOf"])
def test_a_deep_schema_is_cut_into_types_and_nothing_is_lost(word: str) -> None:
    text = types(nested(90, word))
    assert text.count("string") == 1
    assert max(len(line) - len(line.lstrip()) for line in text.split("\n")) <= 20


@pytest.mark.growth
def test_the_text_grows_with_the_schema() -> None:
    def many(count: int) -> Any:
        properties = {f"p{n}": {"$ref": "#/$defs/d", "description": "x"} for n in range(count)}
        return Contract({"$defs": {"d": {"type": "object", "properties": properties}}, "properties": properties})

    assert_linear(lambda contract: contract.instructions("typescript"), many, 4000)
    texts = [len(many(count).instructions("typescript")) for count in (500, 2000)]
    assert texts[1] < 4.5 * texts[0]
