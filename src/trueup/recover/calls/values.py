"""A value that means tool calls: the many ways a JSON object or list names a tool and its arguments.

A value read from text and the offered names enter; what it says leaves. A value that names no offered tool yields
nothing: an object with a `name` is most often just an object, and one with a `description` defines a tool.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trueup.recover.json.parser import Record

ARGUMENT_KEYS = (
    "arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "tool_args", "toolArgs",
    "tool_arguments", "tool_parameters", "function_arguments", "kwargs",
)  # fmt: skip
_SURE_NAMES = ("tool_name", "toolName", "tool", "function_name", "recipient_name")
_NAMES = ("name", *_SURE_NAMES, "function", "action", "tool_call", "command", "api", "api_name", "method", "type")
_LISTS = (
    "tool_calls",
    "toolCalls",
    "tool_uses",
    "calls",
    "function_calls",
    "functionCalls",
    "actions",
    "tools",
    "parts",
)
_SINGLE = (
    "function_call",
    "functionCall",
    "tool_call",
    "toolCall",
    "tool_use",
    "toolUse",
    "function",
    "tool",
    "command",
)
_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "toolUseId")
_BESIDE = frozenset({*_IDS, "type", "index", "thought", "thoughts", "reasoning", "state"})
_RESULTS = ("result", "output", "response", "observation")  # an object that holds one of these tells of a call
_CALL_TYPES = ("function", "function_call", "tool_call", "tool_use", "tool", "custom", "tool-call", "toolCall")
_TALK_TYPES = frozenset({"text", "thinking", "reasoning", "output_text", "redacted_thinking"})
_LISTS_OF_MORE = frozenset({"tools", "parts"})  # these hold other things as well
_WORDS = frozenset({"command", "api", "api_name", "method"})  # these name other things as well
_LIST_KEYS, _SINGLE_KEYS, _NAME_KEYS = frozenset(_LISTS), frozenset(_SINGLE), frozenset(_NAMES)
_MAX_DEPTH = 4
CALL_KEYS = frozenset({*ARGUMENT_KEYS, *_NAMES, *_LISTS, *_SINGLE, *_BESIDE, "role", "content"})


class Leak(NamedTuple):
    """A call found in text: the name as written, its arguments, where it stood, and how it was written.

    `by_place` are arguments given by position; `untyped` ones were written without types. `cut` means that the text
    ends inside the arguments, `open` that it ends before the call was closed, with nothing missing that one can see.
    `result` is where the text itself tells what came back; a call behind such a result `rests` on it.
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


class Said(NamedTuple):
    """A call as a value said it: the name as written, the arguments as a dict, as text, or None for none."""

    name: str
    arguments: Any
    id: str = ""
    given: bool = True


def calls_in(value: Any, offered: Callable[[str], bool], marked: bool = True, depth: int = 0) -> Iterator[Said]:
    """Every call that a value stands for, in order; without a mark before it, the value itself has to be plain.

    >>> list(calls_in({"name": "ping", "arguments": {"host": "a"}}, {"ping"}.__contains__))
    [Said(name='ping', arguments={'host': 'a'}, id='', given=True)]
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        found = [list(calls_in(item, offered, marked, depth + 1)) for item in value if not _is_talk(item)]
        if all(found) or marked:
            for said in found:
                yield from said
    elif isinstance(value, dict):
        yield from _in_object(value, offered, marked, depth)


def _in_object(value: dict[str, Any], offered: Callable[[str], bool], marked: bool, depth: int) -> Iterator[Said]:
    if value.get("role") == "assistant" and isinstance(value.get("content"), list):
        yield from calls_in(value["content"], offered, marked, depth + 1)
        return
    if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):  # JSON-RPC, as MCP sends it
        for said in calls_in(value["params"], offered, marked, depth + 1):
            yield said if said.id else said._replace(id=_id(value))
        return
    for key in () if _LIST_KEYS.isdisjoint(value) else _LISTS:
        if isinstance(value.get(key), list):
            yield from calls_in(value[key], offered, marked or key not in _LISTS_OF_MORE, depth + 1)
            return
    for key in () if _SINGLE_KEYS.isdisjoint(value) else _SINGLE:
        if isinstance(value.get(key), dict) and any(name in value[key] for name in _NAMES):
            for said in calls_in(value[key], offered, marked, depth + 1):
                yield said if said.id else said._replace(id=_id(value))
            return
    named = None if _NAME_KEYS.isdisjoint(value) else _named(value, offered, marked)
    if named is not None:
        yield named
    elif len(value) == 1 or (marked and value):
        # `{"f": {…}}`, as Apertus writes it; several names make several calls
        pairs = [(name, inner) for name, inner in value.items() if isinstance(inner, dict) and offered(name)]
        if len(pairs) == len(value) and not any(_is_schema(inner) for _, inner in pairs):
            yield from (Said(name, inner) for name, inner in pairs)


def _named(value: dict[str, Any], offered: Callable[[str], bool], marked: bool) -> Said | None:
    for key in _NAMES:
        name = value.get(key)
        if not isinstance(name, str) or not offered(name):
            continue
        given = next((k for k in ARGUMENT_KEYS if k in value and k != key), None)
        if given is not None:
            inner = value[given]
            told = not marked and any(value.get(word) not in (None, "") for word in _RESULTS)
            other = not marked and (key == "type" or (key in _WORDS and not isinstance(inner, dict)))
            defined = given == "parameters" and not inner and "description" in value
            if told or other or defined or _is_schema(inner):
                return None
            return Said(name, {} if inner is None else inner, _id(value))
        rest = {k: v for k, v in value.items() if k != key and k not in _BESIDE}
        if "description" in rest or (rest and not marked and key not in _SURE_NAMES):
            return None
        odd = "type" in value and value["type"] not in _CALL_TYPES
        if not marked and not rest and (odd or key not in ("name", *_SURE_NAMES)):
            return None
        return Said(name, rest, _id(value), given=bool(rest))
    return None


def _id(value: dict[str, Any]) -> str:
    return next((value[key] for key in _IDS if isinstance(value.get(key), str)), "")


def _is_talk(item: Any) -> bool:
    """Whether an item of a list is a block of text beside the calls."""
    if not isinstance(item, dict) or "name" in item:
        return False
    kind = item.get("type")
    return isinstance(kind, str) and kind in _TALK_TYPES


def _is_schema(value: Any) -> bool:
    """Whether what stands as arguments is the schema of arguments: the object defines a tool and calls none."""
    if isinstance(value, list):  # the simple form: a list of parameters, each with its name and type
        return bool(value) and all(isinstance(item, dict) and "name" in item and "type" in item for item in value)
    if not isinstance(value, dict) or value.get("type") not in ("object", "OBJECT"):
        return False
    return "properties" in value or len(value) == 1
