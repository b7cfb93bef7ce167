"""Drafts from declarations: takes a Python type or function, or an OpenAPI file; returns a draft.

A declaration states what is valid. Nothing is guessed, so the evidence of each line is the source itself.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_origin, is_typeddict

from trueup.conform.schema import SchemaError, compile_schema
from trueup.inferring.heading import heading
from trueup.inferring.openapi import (
    BadDescription,
    is_description,
    operation_of,
    read_description,
    schema_at,
    tools_of,
    unrolled,
)
from trueup.inferring.report import ContractDraft, DraftReport
from trueup.inferring.yamltext import Path as Place


class Mixed(ValueError):
    """Sources of different kinds cannot be combined in one draft."""


def described(sources: Sequence[Any], name: str, operation: str) -> ContractDraft | None:
    """The draft for sources that declare what is valid; None for replies.

    >>> described([dict[str, int]], "", "").data["schema"]
    {'type': 'object', 'additionalProperties': {'type': 'integer'}}
    """
    known = [_is_known(source) for source in sources]
    if not any(known):
        if operation:
            raise Mixed(f"--operation {operation}: none of the sources is an OpenAPI file")
        return None
    if len(sources) > 1 and not all(_is_function(source) for source in sources):
        raise Mixed("a type or an OpenAPI file cannot be combined with other sources; give it alone")
    if _is_function(sources[0]):
        return _functions(sources, name)
    if isinstance(sources[0], str | Path):
        return _openapi(str(sources[0]), name, operation)
    return _type(sources[0], name)


def _is_known(source: Any) -> bool:
    if isinstance(source, str | Path):
        return is_description(str(source))
    return isinstance(source, type) or get_origin(source) is not None or is_typeddict(source) or _is_function(source)


def _is_function(source: Any) -> bool:
    return isinstance(source, Callable) and hasattr(source, "__code__")  # type: ignore[arg-type]


def _made(data: dict[str, Any], notes: dict[Place, str], kind: str, source: str) -> ContractDraft:
    report = DraftReport(kind=kind, source=source)
    return ContractDraft(data, notes, heading(report), report)


def _named(name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **data} if name else data


def _type(source: Any, name: str) -> ContractDraft:
    called = getattr(source, "__qualname__", None) or str(source)[:80]
    where = f"{getattr(source, '__module__', '')}:{called}".removeprefix("builtins:")
    try:
        schema = compile_schema(source).source
    except SchemaError as error:
        raise BadDescription(f"{where} cannot be converted to a schema: {error}") from None
    plain = unrolled(_without_titles(schema))
    notes: dict[Place, str] = {("schema", "required"): "without a default in the type"} if plain.get("required") else {}
    return _made(_named(name or _snake(called), {"schema": plain}), notes, "type", f"the type {where}")


def _functions(sources: Sequence[Any], name: str) -> ContractDraft:
    from trueup.contract.contract import Contract

    tools = []
    for tool in Contract(tools=list(sources)).tools:
        said = {"description": tool.description} if tool.description else {}
        parameters = tool.parameters if isinstance(tool.parameters, dict) else {"type": "object"}
        tools.append({"name": tool.name, **said, "parameters": _without_titles(parameters)})
    listed = ", ".join(f"{source.__module__}:{source.__qualname__}" for source in sources)
    return _made(
        _named(name, {"tools": tools}),
        {},
        "type",
        f"the functions {listed}" if len(tools) > 1 else f"the function {listed}",
    )


def _openapi(given: str, name: str, operation: str) -> ContractDraft:
    file, _, pointer = given.partition("#")
    document = read_description(file)
    shown = Path(file).name
    if pointer and operation:
        raise BadDescription(f"{given}: give a pointer or --operation, not both")
    if pointer:
        schema = schema_at(document, pointer, given)
        return _made(
            _named(
                name or _snake(pointer.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")), {"schema": schema}
            ),
            {},
            "openapi",
            f"{shown}#{pointer}",
        )
    if operation:
        schema = operation_of(document, operation, given)
        return _made(
            _named(name or _snake(operation), {"schema": schema}),
            {},
            "openapi",
            f"the operation {operation} of {shown}",
        )
    tools = tools_of(document, given)
    notes: dict[Place, str] = {("tools", index, "name"): where for index, (_, where) in enumerate(tools)}
    return _made(_named(name, {"tools": [tool for tool, _ in tools]}), notes, "openapi", f"the operations of {shown}")


def _snake(name: str) -> str:
    """A contract name from a type name.

    >>> _snake("OrderLine"), _snake("list[int]")
    ('order_line', 'list_int')
    """
    out = "".join(f"_{char.lower()}" if char.isupper() and index else char.lower() for index, char in enumerate(name))
    return "_".join("".join(char if char.isalnum() else " " for char in out.replace("_", " ")).split())


def _without_titles(schema: Any) -> Any:
    """A schema without titles that only repeat the names of its parts. Schemas have at most 200 levels."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without_titles(inner) for name, inner in value.items()}
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict)
        else _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
