"""Reads the calls in a value: the many ways in which a JSON object or list names a tool and its arguments.

Takes a value read from text and the offered names; yields its calls. A value without an offered tool yields nothing: an
object with a `name` is usually just an object, and one with a `description` defines a tool. A name and its arguments side
by side, `["f", {…}]`, are a call only if they cannot mean anything else.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from trueup.recover.json.parser import Record

ARGUMENT_KEYS = (
    "arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "tool_args", "toolArgs",
    "tool_arguments", "tool_parameters", "function_arguments", "kwargs", "next_tool_args",
)  # fmt: skip
_SURE_NAMES = ("tool_name", "toolName", "tool", "function_name", "recipient_name", "next_tool_name")
_NAMES = ("name", *_SURE_NAMES, "function", "action", "tool_call", "command", "api", "api_name", "method", "type")
_LISTS = (
    "tool_calls", "toolCalls", "tool_uses", "calls", "function_calls", "functionCalls", "actions", "tools", "parts",
)  # fmt: skip
_SINGLE = (
    "function_call", "functionCall", "tool_call", "toolCall", "tool_use", "toolUse", "function", "tool", "command",
)  # fmt: skip
_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "toolUseId")
_BESIDE = frozenset({*_IDS, "type", "index", "thought", "thoughts", "reasoning", "state"})
_LABELS = frozenset({*_IDS, "type", "index", "role"})  # these describe an object, and have no content
_RESULTS = ("result", "output", "response", "observation")  # an object with one of these reports an earlier call
_CALL_TYPES = ("function", "function_call", "tool_call", "tool_use", "tool", "custom", "tool-call", "toolCall")
_TALK_TYPES = frozenset({"text", "thinking", "reasoning", "output_text", "redacted_thinking"})
_LISTS_OF_MORE = frozenset({"tools", "parts"})  # these also contain other things
_WORDS = frozenset({"command", "api", "api_name", "method"})  # these name other things as well
_KEYS = frozenset({*_LISTS, *_SINGLE, *_NAMES, "role"})
_MAX_DEPTH = 4
CALL_KEYS = frozenset({*ARGUMENT_KEYS, *_NAMES, *_LISTS, *_SINGLE, *_BESIDE, "role", "content"})


class TextValue(str):
    """A value that the dialect itself marks as text."""

    __slots__ = ()


class Leak(NamedTuple):
    """A call found in text: the name as written, its arguments, its place, and its notation.

    `by_place` are positional arguments. `untyped` arguments were written without types, and `bare` has the text of those
    without quotes. `cut` means that the text ends inside the arguments. `open` means that the text ends before the call
    was closed, although nothing seems to be missing. `fault` says why the arguments cannot be determined, and `lost` that
    their end is not known either. `result` is the place of a result in the text itself; a later call `rests` on it.
    """

    name: str
    arguments: Any
    raw: str
    start: int
    stop: int
    dialect: str
    records: tuple[Record, ...] = ()
    id: str = ""
    by_place: tuple[Any, ...] = ()
    untyped: bool = False
    cut: bool = False
    open: bool = False
    result: tuple[int, int] | None = None
    rests: bool = False
    bare: Mapping[str | int, str] = MappingProxyType({})
    fault: str = ""
    lost: bool = False


class ValueCall(NamedTuple):
    """A call in a value: the name as written, and the arguments as a dict, as text, or None if there are none.

    `path` leads to the part of the value with the call, `key` from there to the arguments.
    """

    name: str
    arguments: Any
    id: str = ""
    given: bool = True
    path: tuple[str | int, ...] = ()
    key: str | int | None = None


def calls_in(
    value: Any, offered: Callable[[str], bool], *, marked: bool = True, alone: bool = False, depth: int = 0
) -> Iterator[ValueCall]:
    """Every call in a value, in order; without a mark before it, the value has to be a clear call.

    `alone` says that the text has nothing else, so that a name next to an object is also a call.

    >>> call = next(calls_in({"name": "ping", "arguments": {"host": "a"}}, {"ping"}.__contains__))
    >>> call.name, call.arguments, call.key
    ('ping', {'host': 'a'}, 'arguments')
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        yield from _in_list(value, offered, marked=marked, alone=alone, depth=depth)
    elif isinstance(value, dict):
        yield from _in_object(value, offered, marked=marked, alone=alone, depth=depth)


def _in_list(
    value: list[Any], offered: Callable[[str], bool], *, marked: bool, alone: bool, depth: int
) -> Iterator[ValueCall]:
    if (marked or alone) and isinstance(value[0] if value else None, str):
        yield from _side_by_side(value, offered)
        return
    calls: list[ValueCall] = []
    for index, item in enumerate(value):
        if not _is_talk(item):
            inner = calls_in(item, offered, marked=marked, alone=alone, depth=depth + 1)
            item_calls = [_below(index, call) for call in inner]
            if not item_calls and not marked:
                return
            calls += item_calls
    yield from calls


def _side_by_side(value: list[Any], offered: Callable[[str], bool]) -> Iterator[ValueCall]:
    """`["f", {…}, "g", {…}]`: alternating names and arguments."""
    pairs = list(zip(value[::2], value[1::2], strict=False))
    if len(value) % 2 == 0 and all(isinstance(name, str) and _is_call(name, given, offered) for name, given in pairs):
        yield from (ValueCall(name, given, key=2 * i + 1) for i, (name, given) in enumerate(pairs))


def _below(part: str | int, call: ValueCall) -> ValueCall:
    return call._replace(path=(part, *call.path))


def _in_object(
    value: dict[str, Any], offered: Callable[[str], bool], *, marked: bool, alone: bool, depth: int
) -> Iterator[ValueCall]:
    may_call = not _KEYS.isdisjoint(value)
    inner = _holder(value) if may_call else ""
    if inner:
        sure = marked or (inner in _LISTS and inner not in _LISTS_OF_MORE)
        calls = calls_in(value[inner], offered, marked=sure, alone=alone, depth=depth + 1)
        yield from (_below(inner, call if call.id else call._replace(id=_id(value))) for call in calls)
        return
    named = _named(value, offered, marked=marked) if may_call else None
    if named is not None:
        yield named
    elif all(_is_call(name, given, offered) for name, given in value.items()) and (len(value) == 1 or marked or alone):
        # `{"f": {…}}`, Apertus's format; several names are several calls
        yield from (ValueCall(name, given, key=name) for name, given in value.items())


def _holder(value: dict[str, Any]) -> str:
    """The key under which an object contains calls without being a call itself; empty if there is none."""
    if value.get("role") == "assistant" and isinstance(value.get("content"), list):
        return "content"
    if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):  # JSON-RPC, as in MCP
        return "params"
    held = next((key for key in _LISTS if isinstance(value.get(key), list)), "")
    single = (key for key in _SINGLE if isinstance(value.get(key), dict) and any(name in value[key] for name in _NAMES))
    return held or next(single, "")


def _named(value: dict[str, Any], offered: Callable[[str], bool], *, marked: bool) -> ValueCall | None:
    for key in _NAMES:
        name = value.get(key)
        name = name.strip() if isinstance(name, str) else ""
        if not name or not offered(name):
            continue
        given = next((k for k in ARGUMENT_KEYS if k in value and k != key), None)
        if given is not None:
            inner = value[given]
            reported = not marked and any(value.get(word) not in (None, "") for word in _RESULTS)
            other = not marked and (key == "type" or (key in _WORDS and not isinstance(inner, dict)))
            defined = given == "parameters" and not inner and "description" in value
            if reported or other or defined or _is_schema(inner):
                return None
            return ValueCall(name, {} if inner is None else inner, _id(value), key=given)
        rest = {k: v for k, v in value.items() if k != key and k not in _BESIDE}
        if "description" in rest or (rest and not marked and key not in _SURE_NAMES):
            return None
        odd = "type" in value and value["type"] not in _CALL_TYPES
        if not marked and not rest and (odd or key not in ("name", *_SURE_NAMES)):
            return None
        return ValueCall(name, rest, _id(value), given=bool(rest))
    return None


def other_fields(value: Any, call: ValueCall) -> dict[str, Any]:
    """The other fields of the objects around a call: text, flags, anything that is not part of the call.

    >>> value = {"toolCalls": [{"name": "ping", "arguments": {}}], "content": "One moment.", "needsMoreWork": True}
    >>> other_fields(value, next(calls_in(value, {"ping"}.__contains__)))
    {'content': 'One moment.', 'needsMoreWork': True}
    """
    fields: dict[str, Any] = {}
    for part in call.path:
        if isinstance(value, dict):
            fields |= {key: item for key, item in value.items() if key != part and key not in _LABELS}
        value = value[part]
    if isinstance(value, dict) and call.given:
        own = {call.key, *(key for key in _NAMES if value.get(key) == call.name), *_LABELS}
        known = call.key in ARGUMENT_KEYS  # otherwise the other keys are the arguments
        fields |= {key: item for key, item in value.items() if known and key not in own}
    return fields


def _id(value: dict[str, Any]) -> str:
    return next((value[key] for key in _IDS if isinstance(value.get(key), str)), "")


def _is_call(name: str, given: Any, offered: Callable[[str], bool]) -> bool:
    """Whether a name and a value next to it can be a call: arguments are an object, or the text of one."""
    if isinstance(given, str):
        return given[:1] == "{" and given.rstrip()[-1:] == "}" and offered(name)
    return isinstance(given, dict) and offered(name) and not _is_schema(given)


def _is_talk(item: Any) -> bool:
    """Whether an item of a list is a block of text among the calls."""
    if not isinstance(item, dict) or "name" in item:
        return False
    kind = item.get("type")
    return isinstance(kind, str) and kind in _TALK_TYPES


def _is_schema(value: Any) -> bool:
    """Whether the arguments are a schema of arguments, so that the object defines a tool instead of calling it."""
    if isinstance(value, list):  # the simple form: a list of parameters, each with its name and type
        return bool(value) and all(isinstance(item, dict) and "name" in item and "type" in item for item in value)
    if not isinstance(value, dict) or value.get("type") not in ("object", "OBJECT"):
        return False
    return "properties" in value or len(value) == 1
