"""Values and schemas: hostile patterns (X8), unique items and references that fan out (X9), large enums (X10), coercions."""

from typing import Any

from tests.shapes.shape import Shape
from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.schema import compile_schema

PATTERNS = ["(a+)+$", "^(a|a)*$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"]


def _valid(schema: Any) -> Any:
    return compile_schema(schema).is_valid


def _named(schema: Any) -> Any:
    compiled = compile_schema(schema)
    return lambda value: conform({value: "5"}, compiled, Options("eager"))


def _brought(schema: Any) -> Any:
    compiled = compile_schema(schema)

    def run(value: Any) -> None:
        conform(value, compiled, Options("eager"))
        compiled.errors(value)

    return run


def _wide(size: int) -> Any:
    value: Any = [1] * size + ["zz"]
    for _ in range(100):
        value = {"k": value}
    return value


_NODE = {"$ref": "#/$defs/n"}
_ONE = {"type": "object", "properties": {"k": _NODE, "a": {"type": "integer"}}, "required": ["k"]}
_TWO = {"type": "object", "properties": {"k": _NODE, "b": {"type": "integer"}}, "required": ["k", "b"]}
_UNION = {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [_ONE, _TWO, {"type": "array", "items": {"type": "integer"}}]}}}
_UNIONS = {"items": {"anyOf": [{"type": "integer"}, {"enum": ["a"]}, {"type": "array"}]}}


def _a(size: int) -> str:
    return "a" * size + "!"


BY_PATTERN = [
    *(Shape(p, _a, _valid({"type": "string", "pattern": p}), 1_000_000, 0.050, "a value") for p in PATTERNS),
    *(Shape(p, _a, _brought({"type": "string", "pattern": p}), 1_000_000, None, "a value that fails") for p in PATTERNS),
    *(
        Shape(p, _a, _named({"patternProperties": {p: {"type": "integer"}}, "additionalProperties": False}), 1_000_000, None, "a key")
        for p in PATTERNS
    ),
]  # fmt: skip
UNIQUE = [
    Shape(
        "unique objects", lambda n: [{"a": i, "b": [i, str(i)]} for i in range(n)], _valid({"uniqueItems": True}), 4_000, 0.100
    )
]  # fmt: skip
VALUES = [
    Shape("digits", lambda n: "5" * n, _brought({"type": "integer"}), 1_000_000),
    Shape("spaces", lambda n: " " * n + "x", _brought({"type": "number"}), 1_000_000),
    Shape("dashes", lambda n: "- " * (n // 2), _brought({"enum": ["a", "b"]}), 1_000_000),
    Shape("a sentence", lambda n: "high " * (n // 5), _brought({"enum": ["HIGH", "LOW"]}), 1_000_000),
    Shape("brackets", lambda n: "[" * n, _brought({"type": "array"}), 1_000_000),
    Shape("coercions", lambda n: ["5"] * n, _brought({"items": {"type": "integer"}}), 100_000),
    Shape("keys", lambda n: {f"Key {i}": 1 for i in range(n)}, _brought({"properties": {"a": {}}, "required": ["a", "key_7"]}), 50_000),
    Shape("unions", lambda n: ["x"] * n, _brought(_UNIONS), 200_000),
    Shape("a deep union over a wide value", _wide, _brought(_UNION), 200_000),
]  # fmt: skip


_RECURSIVE = {
    "anyOf": [
        {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
        {"type": "object", "properties": {"x": {"$ref": "#"}, "y": {}}, "required": ["x"]},
        {"type": "integer"},
    ]
}


def _nested(inner: str) -> Any:
    def make(depth: int) -> Any:
        value: Any = inner
        for _ in range(depth):
            value = {"x": value}
        return value

    return make


NESTED = [
    Shape("unions within unions", _nested("5"), _brought(_RECURSIVE), 60, 0.5, "a value that fits"),
    Shape("unions within unions", _nested("bad"), _brought(_RECURSIVE), 60, 0.5, "a value that does not"),
]


def fan(keyword: str, levels: int) -> dict[str, Any]:
    """A schema of few lines whose references double at each level: 2 ** levels when they are followed."""
    defs: dict[str, Any] = {f"a{i}": {keyword: [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(levels)}
    defs[f"a{levels}"] = {"type": "integer"}
    return {"$defs": defs, "$ref": "#/$defs/a0"}


def _fans() -> list[Shape]:
    found = []
    for keyword in ("allOf", "anyOf", "oneOf"):
        schema = compile_schema(fan(keyword, 20))
        found += [
            Shape(f"{keyword}, judged", lambda _, value=value: value, schema.is_valid, 1, 0.100, repr(value))
            for value in (5, "x", {"x": 1})
        ]
        found.append(Shape(f"{keyword}, errors", lambda _: "x", schema.errors, 1, 2.0))
        found.append(Shape(f"{keyword}, conformed", lambda _: "5", _brought(fan(keyword, 20)), 1, 2.0))
    return found


FANS = _fans()
