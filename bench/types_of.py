"""A JSON Schema as the types that typed peers want: pydantic models, msgspec structs, BAML source.

Only what the benchmark's schemas and the probes use; anything else raises Unsupported, and the peer is left out there.
"""

import types
from collections.abc import Callable
from typing import Any, Literal, Optional, Union

from trueup.measure.peers import Unsupported

Schema = Any
_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_BAML = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}


def _python(schema: Schema, struct: Callable[[str, dict[str, Any], list[str]], type], name: str = "Root") -> Any:
    if not isinstance(schema, dict):
        raise Unsupported("a schema of any value")
    if "enum" in schema or "const" in schema:
        return Literal[tuple(schema.get("enum", [schema.get("const")]))]
    if "anyOf" in schema or "oneOf" in schema:
        arms = schema.get("anyOf") or schema["oneOf"]
        return Union[tuple(_python(arm, struct, f"{name}{i}") for i, arm in enumerate(arms))]  # noqa: UP007
    kind = schema.get("type")
    if isinstance(kind, list):
        return Union[tuple(_python({**schema, "type": one}, struct, name) for one in kind)]  # noqa: UP007
    if kind == "array":
        return list[_python(schema.get("items", {}), struct, name + "Item")]  # type: ignore[misc]
    if kind == "object":
        fields = {key: _python(sub, struct, f"{name}{key.title()}") for key, sub in schema["properties"].items()}
        return struct(name, fields, schema.get("required", []))
    if kind in _PLAIN:
        return _PLAIN[kind]
    raise Unsupported(str(schema))


def pydantic_type(schema: Schema) -> Any:
    from pydantic import ConfigDict, create_model

    def struct(name: str, fields: dict[str, Any], required: list[str]) -> type:
        shaped: dict[str, Any] = {key: (kind, ...) if key in required else (kind, None) for key, kind in fields.items()}
        made: type = create_model(name, __config__=ConfigDict(extra="allow"), **shaped)
        return made

    return _python(schema, struct)


def msgspec_type(schema: Schema) -> Any:
    import msgspec

    def struct(name: str, fields: dict[str, Any], required: list[str]) -> type:
        first = [(key, kind) for key, kind in fields.items() if key in required]
        rest: list[Any] = [(k, Union[kind, None], None) for k, kind in fields.items() if k not in required]  # noqa: UP007
        return msgspec.defstruct(name, [*first, *rest], omit_defaults=True, kw_only=True)

    return _python(schema, struct)


class BamlSource:
    """BAML declarations of a schema, and the Python module its runtime fills."""

    def __init__(self, schema: Schema) -> None:
        self.blocks: list[str] = []
        self.module = types.ModuleType("baml_types")
        self.root = self._write(schema, "Root")[0]

    def _write(self, schema: Schema, name: str) -> tuple[str, Any]:
        if not isinstance(schema, dict):
            raise Unsupported("a schema of any value")
        if "enum" in schema:
            return self._enum(schema["enum"])
        arms = schema.get("anyOf") or schema.get("oneOf")
        kind = schema.get("type")
        if isinstance(kind, list):
            arms = [{**schema, "type": one} for one in kind]
        if arms:
            pairs = [self._write(arm, f"{name}{i}") for i, arm in enumerate(arms)]
            return "(" + " | ".join(text for text, _ in pairs) + ")", Union[tuple(made for _, made in pairs)]  # noqa: UP007
        if "const" in schema and isinstance(schema["const"], str):
            return f'"{schema["const"]}"', Literal[schema["const"]]
        if kind == "array":
            text, made = self._write(schema.get("items", {}), name + "Item")
            return f"{text}[]", list[made]  # type: ignore[valid-type]
        if kind == "object":
            return self._class(schema, name)
        if kind in _BAML:
            return _BAML[kind], _PLAIN[kind]
        raise Unsupported(str(schema))

    def _enum(self, values: list[Any]) -> tuple[str, Any]:
        # Literals, not an enum block: BAML wants its enum's values capitalised.
        if not all(isinstance(value, str) for value in values):
            raise Unsupported("an enum of other than text")
        return "(" + " | ".join(f'"{value}"' for value in values) + ")", Literal[tuple(values)]

    def _class(self, schema: Schema, name: str) -> tuple[str, Any]:
        from pydantic import create_model

        lines, fields = [], {}
        for key, sub in schema["properties"].items():
            text, made = self._write(sub, f"{name}{key.title().replace('_', '')}")
            needed = key in schema.get("required", [])
            lines.append(f"  {key} {text}{'' if needed else '?'}\n")
            fields[key] = (made, ...) if needed else (Optional[made], None)  # noqa: UP045
        self.blocks.append(f"class {name} {{\n{''.join(lines)}}}\n")
        made_class = create_model(name, **fields)  # type: ignore[call-overload]
        setattr(self.module, name, made_class)
        return name, made_class
