"""OpenAPI files: takes one; returns the schema at a pointer, the schema of an operation's response, or tools.

Reads versions 2, 3.0 and 3.1, and converts OpenAPI keywords to JSON Schema. References inside the file are followed,
others are refused: nothing is ever fetched.
"""

from pathlib import Path
from typing import Any

from trueup.contract.files.documents import read_document
from trueup.contract.files.faults import ContractError

_METHODS = ("get", "put", "post", "delete", "patch", "options", "head", "query")
_DROPPED = frozenset({"xml", "externalDocs", "example", "discriminator", "nullable", "readOnly", "writeOnly"})
_NAMED = frozenset({"properties", "patternProperties", "$defs"})
_HOMES = ("#/components/schemas/", "#/definitions/")
_ENDINGS = (".yaml", ".yml", ".json")
MAX_TOOLS = 200


class BadDescription(ValueError):
    """An OpenAPI file or a type cannot be used. The message says which one, why, and what to do."""


def is_description(name: str) -> bool:
    """Whether a name is the name of an OpenAPI file, with or without a pointer."""
    path = Path(name.partition("#")[0])
    if path.suffix.lower() not in _ENDINGS or not path.is_file():
        return False
    with path.open("rb") as opened:
        head = opened.read(65_536)
    return (
        any(mark in head for mark in (b"openapi:", b'"openapi"', b"swagger:", b'"swagger"'))
        or path.suffix.lower() != ".json"
    )


def read_description(name: str) -> dict[str, Any]:
    """The data of an OpenAPI file."""
    try:
        document = read_document(Path(name))
    except ContractError as error:
        raise BadDescription(str(error).replace(" N001", "").replace(" N002", "").replace(" N003", "")) from None
    data = document.data
    if not isinstance(data, dict) or not ("openapi" in data or "swagger" in data):
        raise BadDescription(f"{name}: this is not an OpenAPI file; it has neither `openapi` nor `swagger`")
    return data


def schema_at(document: dict[str, Any], pointer: str, where: str) -> dict[str, Any]:
    """The schema at a pointer, with the definitions that it needs.

    >>> schema_at({"components": {"schemas": {"A": {"type": "string", "nullable": True}}}}, "/components/schemas/A", "")
    {'type': ['string', 'null']}
    """
    return _whole(document, _found(document, pointer, where), where)


def operation_of(document: dict[str, Any], operation: str, where: str) -> dict[str, Any]:
    """The schema of an operation's response, or of its request if it has no response."""
    operations = _operations(document)
    found = next((body for name, body, _ in operations if name == operation), None)
    if found is None:
        from trueup.verdict.likeness import nearest

        names = [name for name, _, _ in operations]
        near = nearest(operation, names)
        hint = f"did you mean {near!r}?" if near else f"it has {', '.join(names[:8]) or 'none'}"
        raise BadDescription(f"{where}: unknown operation {operation!r}; {hint}")
    responses = found.get("responses") or {}
    for code in sorted(map(str, responses)):
        answer = _resolved(document, responses.get(code, responses.get(_number(code))), where)
        schema = _content(answer, document, where) if code.startswith(("2", "default")) else None
        if schema is not None:
            return _whole(document, schema, where)
    sent = _content(_resolved(document, found.get("requestBody"), where), document, where)
    if sent is None:
        raise BadDescription(f"{where}: the operation {operation!r} neither returns nor accepts JSON")
    return _whole(document, sent, where)


def tools_of(document: dict[str, Any], where: str) -> list[tuple[dict[str, Any], str]]:
    """A tool for each operation, and the operation's place in the file."""
    tools = []
    for name, body, place in _operations(document)[:MAX_TOOLS]:
        said = body.get("summary") or body.get("description")
        described = {"description": " ".join(str(said).split())[:300]} if said else {}
        tools.append(
            (
                {"name": name, **described, "parameters": _whole(document, _parameters(document, body, where), where)},
                place,
            )
        )
    if not tools:
        raise BadDescription(f"{where}: no operations found; name a schema, such as {where}#/components/schemas/NAME")
    return tools


def _operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Every operation: its name, its body, and its method and path."""
    found: dict[str, tuple[str, dict[str, Any], str]] = {}
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        for method in _METHODS if isinstance(item, dict) else ():
            body = item.get(method)
            if not isinstance(body, dict):
                continue
            shared = item.get("parameters")
            if isinstance(shared, list):
                own = body.get("parameters")
                body = {**body, "parameters": [*shared, *(own if isinstance(own, list) else ())]}
            name = str(body.get("operationId") or _called(method, str(path)))
            found.setdefault(name, (name, body, f"{method.upper()} {path}"))
    return list(found.values())


def _called(method: str, path: str) -> str:
    """A name for an unnamed operation.

    >>> _called("get", "/orders/{id}")
    'get_orders_id'
    """
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in path).split()
    return "_".join([method, *words])[:64]


def _parameters(document: dict[str, Any], body: dict[str, Any], where: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    listed = body.get("parameters")
    for given in listed if isinstance(listed, list) else ():
        one = _resolved(document, given, where)
        name = one.get("name")
        if not isinstance(name, str) or one.get("in") in ("header", "cookie"):
            continue
        if one.get("in") == "body":  # version 2
            body = {**body, "requestBody": {"content": {"application/json": {"schema": one.get("schema", {})}}}}
            continue
        given_schema = one.get("schema")
        schema: dict[str, Any] = {k: one[k] for k in ("type", "format", "enum", "items") if k in one}
        if isinstance(given_schema, dict):
            schema = given_schema
        properties[name] = {
            **schema,
            **({"description": one["description"]} if isinstance(one.get("description"), str) else {}),
        }
        if one.get("required") is True and name not in required:
            required.append(name)
    sent = _content(_resolved(document, body.get("requestBody"), where), document, where)
    if sent is not None:
        whole = _resolved(document, sent, where)
        if whole.get("type", "object") == "object" and isinstance(whole.get("properties"), dict):
            properties |= whole["properties"]
            required += [name for name in whole.get("required", ()) if name not in required]
        else:
            properties["body"] = sent
            required.append("body")
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _content(holder: dict[str, Any], document: dict[str, Any], where: str) -> dict[str, Any] | None:
    """The JSON schema of a request or response body; None if there is none."""
    content = holder.get("content")
    if isinstance(content, dict):
        for kind, media in content.items():
            if "json" in str(kind) and isinstance(media, dict) and isinstance(media.get("schema"), dict):
                return dict(media["schema"])
    schema = holder.get("schema")  # version 2
    return dict(_resolved(document, schema, where)) if isinstance(schema, dict) else None


def _resolved(document: dict[str, Any], part: Any, where: str) -> dict[str, Any]:
    """A part of the file, with its references followed."""
    for _ in range(20):
        if not isinstance(part, dict):
            return {}
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part
        part = _found(document, reference.removeprefix("#"), where, reference)
    raise BadDescription(f"{where}: the references form a cycle")


def _found(document: dict[str, Any], pointer: str, where: str, reference: str = "") -> dict[str, Any]:
    if reference and not reference.startswith("#"):
        raise BadDescription(f"{where}: the reference {reference[:80]!r} points outside the file; nothing is fetched")
    node: Any = document
    for part in pointer.strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            from trueup.verdict.likeness import nearest

            near = nearest(name, list(node)) if isinstance(node, dict) else None
            raise BadDescription(
                f"{where}: there is no {name!r} at #{pointer[:120]}" + (f"; did you mean {near!r}?" if near else "")
            )
        node = node[name]
    if not isinstance(node, dict):
        raise BadDescription(f"{where}: #{pointer[:120]} is not a schema")
    return node


def _whole(document: dict[str, Any], schema: dict[str, Any], where: str) -> dict[str, Any]:
    """A schema in JSON Schema keywords, with every definition that it refers to."""
    needed: list[str] = []
    _resolved(document, schema, where)
    out: dict[str, Any] = _plain(schema, needed, where)
    definitions: dict[str, Any] = {}
    for pointer in needed:  # grows during the loop
        name = _name_of(pointer)
        if name not in definitions:
            definitions[name] = None
            part = _found(document, pointer.removeprefix("#"), where, pointer)
            _resolved(document, part, where)
            definitions[name] = _plain(part, needed, where)
    return unrolled({**out, "$defs": definitions} if definitions else out)


def unrolled(schema: dict[str, Any]) -> dict[str, Any]:
    """The definition itself, if a schema is only a reference to one of its definitions.

    >>> unrolled({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}})
    {'type': 'string'}
    """
    definitions = schema.get("$defs")
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if not isinstance(definitions, dict) or set(schema) != {"$ref", "$defs"} or name not in definitions:
        return schema
    root = definitions[name]
    rest = {other: inner for other, inner in definitions.items() if other != name}
    is_recursive = f"'#/$defs/{name}'" in repr(definitions)
    kept = definitions if is_recursive else rest
    return {**root, "$defs": kept} if kept else root


def _name_of(pointer: str) -> str:
    name = next((pointer.removeprefix(home) for home in _HOMES if pointer.startswith(home)), pointer.lstrip("#/"))
    return name.replace("/", "_").replace("~1", "_").replace("~0", "~")


def _plain(schema: Any, needed: list[str], where: str) -> Any:
    """A schema in JSON Schema keywords; collects its references. Files have at most a few hundred levels."""
    if isinstance(schema, list):
        return [_plain(item, needed, where) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if not reference.startswith("#"):
            raise BadDescription(
                f"{where}: the reference {reference[:80]!r} points outside the file; nothing is fetched"
            )
        needed.append(reference)
        return _nullable({"$ref": f"#/$defs/{_name_of(reference)}"}, schema)
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _DROPPED or key.startswith("x-"):
            continue
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: _plain(inner, needed, where) for name, inner in value.items()}
        elif key in ("enum", "const", "default", "examples", "required"):
            out[key] = value
        else:
            out[key] = _plain(value, needed, where)
    return _nullable(_told_apart(_bounded(out), schema), schema)


def _told_apart(out: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The variants of a union, each with its discriminator value: without it, a value may fit several of them."""
    given = schema.get("discriminator")
    tag = given.get("propertyName") if isinstance(given, dict) else None
    union = next((word for word in ("oneOf", "anyOf") if isinstance(out.get(word), list)), None)
    if not isinstance(given, dict) or not isinstance(tag, str) or union is None:
        return out
    mapping = given.get("mapping")
    by_arm: dict[str, list[str]] = {}
    for value, target in mapping.items() if isinstance(mapping, dict) else ():
        by_arm.setdefault(_name_of(str(target)), []).append(str(value))
    out[union] = [_with_tag(arm, tag, by_arm) for arm in out[union]]
    return out


def _with_tag(arm: Any, tag: str, by_arm: dict[str, list[str]]) -> Any:
    reference = arm.get("$ref") if isinstance(arm, dict) else None
    if not isinstance(reference, str):
        return arm
    name = reference.removeprefix("#/$defs/")
    values = by_arm.get(name) or [name]
    return {"allOf": [arm, {"properties": {tag: {"enum": values}}, "required": [tag]}]}


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """Exclusive bounds as numbers, as in version 3.1."""
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool) and schema.pop(flag) and bound in schema:
            schema[flag] = schema.pop(bound)
    return schema


def _nullable(out: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("nullable") is not True or not out:
        return out
    kind = out.get("type")
    if isinstance(kind, str):
        out["type"] = [kind, "null"]
        if isinstance(out.get("enum"), list) and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
        return out
    return {"anyOf": [out, {"type": "null"}]}


def _number(code: str) -> Any:
    return int(code) if code.isdecimal() else code
