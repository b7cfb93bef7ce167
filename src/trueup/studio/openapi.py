"""The API as OpenAPI: takes the table of endpoints and returns a document.

The descriptions of handlers and request fields come from their docstrings.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
import msgspec.inspect

from trueup import __version__
from trueup.studio.endpoint import Endpoint, Nothing

_REF = "#/components/schemas/{name}"
_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
            "required": ["code", "message", "hint"],
        }
    },
    "required": ["error"],
}
_FAILED = {
    "description": "The reason.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key of the studio."},
}


def document(table: Iterable[Endpoint], mount: str = "") -> dict[str, Any]:
    """The description of every endpoint."""
    table = tuple(table)
    kinds = list(dict.fromkeys(each.takes for each in table if each.takes is not Nothing))
    kinds += dict.fromkeys(each.gives for each in table if each.gives is not None)
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    _describe(schemas, kinds)
    named = {kind: schemas[ref["$ref"].rpartition("/")[2]] for kind, ref in zip(kinds, refs, strict=True)}
    paths: dict[str, Any] = {}
    for each in table:
        paths.setdefault(f"/api{_plain(each.path)}", {})[each.method.lower()] = _operation(
            each, named.get(each.takes, {})
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "trueup studio",
            "version": __version__,
            "description": "The data of the studio's pages. A client that keeps its key in a cookie sends `x-trueup-studio: 1` with each write.",
        },
        "servers": [{"url": mount or "/"}],
        "paths": paths,
        "components": {"schemas": {**schemas, "Error": _ERROR}, "securitySchemes": _KEYS},
        "security": [{"bearer": []}],
    }


def _plain(path: str) -> str:
    """A path without the kinds of its parameters.

    >>> _plain("/runs/{name:path}/units")
    '/runs/{name}/units'
    """
    return re.sub(r"{(\w+):\w+}", r"{\1}", path)


def _operation(endpoint: Endpoint, takes: dict[str, Any]) -> dict[str, Any]:
    fields, required = takes.get("properties", {}), takes.get("required", ())
    in_path = re.findall(r"{(\w+)", endpoint.path)
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": fields[name], **_description(fields[name])}
        for name in in_path
    ]
    found: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": "\n\n".join(filter(None, (endpoint.details, f"Needs the right to {endpoint.right}."))),
        "operationId": _id(endpoint),
        "x-right": endpoint.right,
    }
    if endpoint.method in ("GET", "DELETE"):
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": shape, **_description(shape)}
            for name, shape in fields.items() if name not in in_path
        ]  # fmt: skip
    else:
        body = {name: shape for name, shape in fields.items() if name not in in_path}
        needed = [name for name in required if name in body]
        shape = {"type": "object", "properties": body, "required": needed, "additionalProperties": False}
        found["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": shape}}}
    kind = "application/x-ndjson" if endpoint.streams else "application/json"
    shape = {} if endpoint.gives is None else {"schema": {"$ref": _REF.format(name=endpoint.gives.__name__)}}
    answers = {"200": {"description": endpoint.summary, "content": {kind: shape}}, "4XX": _FAILED, "5XX": _FAILED}
    return {**found, "parameters": parameters, "responses": answers}


def _description(shape: dict[str, Any]) -> dict[str, str]:
    return {"description": shape["description"]} if "description" in shape else {}


def _describe(schemas: dict[str, Any], kinds: Iterable[type[msgspec.Struct]]) -> None:
    """Add the descriptions in the source to the fields of each type."""
    for kind in _all_of(kinds):
        said = {name: text for base in reversed(kind.__mro__) for name, text in field_sentences(base).items()}
        for name, shape in schemas.get(kind.__name__, {}).get("properties", {}).items():
            if name in said:
                shape["description"] = said[name]


def _all_of(kinds: Iterable[type[msgspec.Struct]]) -> Iterator[type[msgspec.Struct]]:
    """These types, and the types of their fields."""
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(kinds))
    while waiting:
        found = waiting.pop()
        if isinstance(found, msgspec.inspect.StructType):
            yield found.cls
            waiting += [field.type for field in found.fields]
        elif isinstance(found, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
            waiting.append(found.item_type)
        elif isinstance(found, msgspec.inspect.UnionType):
            waiting += found.types


@cache
def field_sentences(kind: type) -> dict[str, str]:
    """The texts below the fields of a class, by field; empty if the source is not available."""
    if not issubclass(kind, msgspec.Struct) or kind is msgspec.Struct:
        return {}
    try:
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for field, text in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = inspect.cleandoc(said)
    return found


def _id(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", _plain(endpoint.path))
    return "_".join([endpoint.method.lower(), *words])
