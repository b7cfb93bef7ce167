"""The API in OpenAPI's words: the table of endpoints enters, a document leaves."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

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
    "description": "Why not.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key of the studio."},
}


def document(table: Iterable[Endpoint], mount: str = "") -> dict[str, Any]:
    """The description of every endpoint."""
    table = tuple(table)
    kinds = list(dict.fromkeys(each.takes for each in table if each.takes is not Nothing))
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
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
            "description": "What the pages of the studio are made of. A client that keeps its key in a cookie sends `x-trueup-studio: 1` with each write.",
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
        {"name": name, "in": "path", "required": True, "schema": fields.get(name, {"type": "string"})}
        for name in in_path
    ]
    found: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": f"Needs the right to {endpoint.right}.",
        "operationId": _id(endpoint),
        "x-right": endpoint.right,
    }
    if endpoint.method in ("GET", "DELETE"):
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": shape}
            for name, shape in fields.items() if name not in in_path
        ]  # fmt: skip
    else:
        body = {name: shape for name, shape in fields.items() if name not in in_path}
        needed = [name for name in required if name in body]
        shape = {"type": "object", "properties": body, "required": needed, "additionalProperties": False}
        found["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": shape}}}
    kind = "application/x-ndjson" if endpoint.streams else "application/json"
    answers = {"200": {"description": endpoint.summary, "content": {kind: {}}}, "4XX": _FAILED, "5XX": _FAILED}
    return {**found, "parameters": parameters, "responses": answers}


def _id(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", _plain(endpoint.path))
    return "_".join([endpoint.method.lower(), *words])
