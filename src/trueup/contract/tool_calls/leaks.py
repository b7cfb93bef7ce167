"""Leaked calls as calls: values that the text wrote without types get the types of the tool's schema.

Takes a leak and its tool; returns a ToolCall. Tags have no types and Python calls may have no names, so the schema is
needed to read them. Afterwards they are judged like the arguments of any call.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from trueup.read.history import Earlier
from trueup.recover.calls.lines import named_arguments
from trueup.recover.calls.source import NOT_JSON, json_value
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import Parser, TooDeep
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Finish, ToolCall
from trueup.verdict.tool import Tool

CUT = "the arguments were cut off"
_JSON_TYPES = {dict: "object", list: "array", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_NULLS = frozenset({"null", "none", "nil"})
_WORDS: dict[str, Any] = {"true": True, "false": False}
_MEMBER = lazy_regex(r"""\s*["']?\w+["']?\s*:""")
_PLAIN = lazy_regex(r"[^\s{}\[\]<>\"'`:=][^{}\[\]<>\n:=]{0,200}\Z")  # not JSON that is damaged
_MAX_STEPS = 8


def as_call(leak: Leak, tool: Tool | None, index: int, finish: Finish) -> ToolCall:
    """A leak as a call, with its id from the text, if there is one."""
    arguments, fault = leak.arguments, ""
    if tool is not None:
        arguments, fault = _arguments(leak, tool)
    fault = leak.fault or fault
    if leak.cut or (leak.open and finish not in ("stop", "tool")):
        fault = CUT
    args = arguments if isinstance(arguments, dict) else None
    given = arguments if isinstance(arguments, str) else leak.raw if args is not None else written(arguments).decode()
    return ToolCall(leak.name, args, leak.id, given, f"text:{leak.dialect}", fault, index)


def with_ids(calls: Sequence[ToolCall], before: Sequence[Earlier]) -> list[ToolCall]:
    """The calls, each with an id that no other call of the conversation has; `before` are the earlier replies.

    >>> from trueup.verdict.reply import Reply
    >>> earlier = Earlier(Reply(calls=(ToolCall("ping", {}, "call_0"),)))
    >>> [call.id for call in with_ids([ToolCall("ping", {}), ToolCall("ping", {}, "a")], [earlier])]
    ['call_1', 'a']
    """
    used = {call.id for said in before for call in said.reply.calls}
    out: list[ToolCall] = []
    number = 0
    for call in calls:
        ident = call.id
        while not ident or ident in used:
            ident, number = f"call_{number}", number + 1
        used.add(ident)
        out.append(call if ident == call.id else replace(call, id=ident))
    return out


def is_signature(leak: Leak, tool: Tool | None) -> bool:
    """Whether this only looks like a call: `f(city, days)` shows how a tool is called, `["f", {…}]` is a list.

    A name next to an object is a call if the tool has one of the object's keys.
    """
    if tool is None:
        return False
    if leak.dialect == "pair" and isinstance(leak.arguments, dict):
        return bool(leak.arguments) and _properties(tool).keys().isdisjoint(leak.arguments)
    names = list(_properties(tool))[: len(leak.by_place)]
    return bool(names) and list(leak.by_place) == names and leak.raw.lstrip().startswith(names[0])


def invented(leak: Leak, index: int) -> Iterator[Finding]:
    """The findings about a call if the text made up its result, or if the call comes after such a result."""
    if leak.rests:
        message = f"Call {index} ({leak.name}) comes after a result that the reply invented"
        hint = "Call again once the real result is known."
        yield finding("T018", f"$.calls[{index}]", message, (leak.start, leak.stop), {"name": leak.name}, hint)
    if leak.result:
        message = f"The reply invents the result of its call {index} ({leak.name})"
        hint = "Stop after the call and wait for its result."
        yield finding("T017", f"$.calls[{index}]", message, leak.result, {"name": leak.name}, hint)


def unbundled(call: ToolCall) -> list[ToolCall]:
    """The calls inside a call of `multi_tool_use.parallel`, a tool that only exists in models' imagination; for other
    calls, the call itself.

    >>> use = {"recipient_name": "functions.ping", "parameters": {"host": "a"}}
    >>> [inner.name for inner in unbundled(ToolCall("multi_tool_use.parallel", {"tool_uses": [use]}))]
    ['functions.ping']
    """
    uses = call.args.get("tool_uses") if call.args is not None and call.name.endswith("parallel") else None
    if not isinstance(uses, list) or not uses or not all(map(_is_use, uses)):
        return [call]
    return [
        ToolCall(
            use["recipient_name"],
            use.get("parameters") or {},
            f"{call.id}_{i}" if call.id else "",
            written(use.get("parameters") or {}).decode(),
        )
        for i, use in enumerate(uses)
    ]


def _is_use(use: Any) -> bool:
    if not isinstance(use, dict) or not isinstance(use.get("recipient_name"), str):
        return False
    return isinstance(use.get("parameters"), dict | type(None))


def _arguments(leak: Leak, tool: Tool) -> tuple[Any, str]:
    """The arguments with the names and types of the tool, or the reason why that is impossible."""
    properties = _properties(tool)
    arguments = leak.arguments
    if leak.untyped and isinstance(arguments, dict):
        return {key: _typed(value, properties.get(key), tool) for key, value in arguments.items()}, ""
    if (leak.by_place or leak.bare) and isinstance(arguments, dict):
        free = [name for name in properties if name not in arguments]
        if len(leak.by_place) > len(free):
            return (
                arguments,
                f"{len(leak.by_place)} arguments are given by position, {len(free)} are there to take them",
            )
        given = {**dict(zip(free, leak.by_place, strict=False)), **arguments}
        for key, raw in leak.bare.items():
            name = free[key] if isinstance(key, int) else key
            if _is_text(given[name], properties.get(name), tool):
                given[name] = raw
        return given, ""
    if isinstance(arguments, str) and (leak.dialect == "react" or _PLAIN.match(arguments)):
        found = _spoken(arguments, tool, properties)
        if found is not None or _MEMBER.match(arguments):
            return (arguments if found is None else found), ""
        only = _only(tool, properties)
        if not only:
            return arguments, ""
        bare = arguments[1:-1] if arguments[:1] == arguments[-1:] and arguments[:1] in ('"', "'") else arguments
        return {only: _typed(bare, properties.get(only), tool)}, ""
    return arguments, ""


def _spoken(line: str, tool: Tool, properties: dict[str, Any]) -> dict[str, Any] | None:
    """A line of text that is more than one value: it is empty, or contains arguments with their names."""
    said = named_arguments(line, properties)
    if said is None or not said[1]:
        return said and said[0]
    return {key: _typed(value, properties.get(key), tool) for key, value in said[0].items()}


def _properties(tool: Tool) -> dict[str, Any]:
    found = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
    return found if isinstance(found, dict) else {}


def _only(tool: Tool, properties: dict[str, Any]) -> str:
    """The one argument that a line of text can mean: the only one, or the only required one."""
    required = tool.parameters.get("required") if isinstance(tool.parameters, dict) else None
    names = list(properties) if len(properties) == 1 else required
    return names[0] if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str) else ""


def _typed(value: Any, schema: Any, tool: Tool) -> Any:
    """A value from bare text, converted to the type in its schema; it stays text if that is allowed."""
    if not isinstance(value, str) or type(value) is not str:
        return str(value) if isinstance(value, str) else value
    types = _types(schema, tool)
    bare = value.strip()
    if bare.lower() in _NULLS and "null" in types:
        return None
    container = bare[:1] in ("{", "[") and bool(types & {"object", "array"})
    if not types or ("string" in types and not container):
        return value
    if "boolean" in types and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    found = _read(bare)
    kind = _JSON_TYPES.get(type(found))
    return found if kind in types or (kind == "integer" and "number" in types) else value


def _is_text(value: Any, schema: Any, tool: Tool) -> bool:
    """Whether a value without quotes is text: `1.10` as a version is not a number."""
    types = _types(schema, tool)
    return "string" in types and _JSON_TYPES.get(type(value), "string") not in types and value is not None


def _read(bare: str) -> Any:
    found = json_value(bare)
    if found is not NOT_JSON or bare[:1] not in ("{", "["):
        return bare if found is NOT_JSON else found
    try:
        outcome = Parser(bare, 0, len(bare), frozenset(), 200).read()
    except TooDeep:
        return bare
    lossy = outcome.cut or outcome.end < len(bare)
    return bare if lossy else outcome.value


def _types(schema: Any, tool: Tool, steps: int = 0) -> set[str]:
    """The types a schema allows; empty if it does not give any."""
    if not isinstance(schema, dict) or steps > _MAX_STEPS:
        return set()
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return set(kind)
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(listed, list):
        return {"string" if isinstance(item, str) else _JSON_TYPES.get(type(item), "string") for item in listed}
    found: set[str] = set()
    for word in ("anyOf", "oneOf", "allOf"):
        arms = schema.get(word)
        for arm in arms if isinstance(arms, list) else ():
            found |= _types(arm, tool, steps + 1)
    return found or _types(_referred(schema.get("$ref"), tool), tool, steps + 1)


def _referred(ref: Any, tool: Tool) -> Any:
    """The part of the tool's own schema that a reference names."""
    here: Any = tool.parameters
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    for part in ref[2:].split("/"):
        here = here.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(here, dict) else None
    return here
