"""A value that means tool calls: the many ways a JSON object or list names a tool and its arguments.

A value read from text and the offered names enter; what it says leaves. A value that names no offered tool yields
nothing: an object with a `name` is most often just an object, and one with a `description` defines a tool. A name and
its arguments side by side, `["f", {…}]`, are a call only where nothing else could be meant.
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
_LABELS = frozenset({*_IDS, "type", "index", "role"})  # these say what an object is, and nothing to anybody
_RESULTS = ("result", "output", "response", "observation")  # an object that holds one of these tells of a call
_CALL_TYPES = ("function", "function_call", "tool_call", "tool_use", "tool", "custom", "tool-call", "toolCall")
_TALK_TYPES = frozenset({"text", "thinking", "reasoning", "output_text", "redacted_thinking"})
_LISTS_OF_MORE = frozenset({"tools", "parts"})  # these hold other things as well
_WORDS = frozenset({"command", "api", "api_name", "method"})  # these name other things as well
_KEYS = frozenset({*_LISTS, *_SINGLE, *_NAMES, "role"})
_MAX_DEPTH = 4
CALL_KEYS = frozenset({*ARGUMENT_KEYS, *_NAMES, *_LISTS, *_SINGLE, *_BESIDE, "role", "content"})


class Typed(str):
    """A value that the dialect itself says is text."""

    __slots__ = ()


class Leak(NamedTuple):
    """A call found in text: the name as written, its arguments, where it stood, and how it was written.

    `by_place` are arguments given by position; `untyped` ones were written without types, and `bare` is how those
    without quotes were written. `cut` means that the text ends inside the arguments, `open` that it ends before the
    call was closed, with nothing missing that one can see; `fault` says why they cannot be known, and `lost` that their
    end is not known either. `result` is where the text itself tells what came back; a call behind it `rests` on it.
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


class Said(NamedTuple):
    """A call as a value said it: the name as written, the arguments as a dict, as text, or None for none.

    `path` leads to the part of the value that says it, `key` from there to the arguments.
    """

    name: str
    arguments: Any
    id: str = ""
    given: bool = True
    path: tuple[str | int, ...] = ()
    key: str | int | None = None


def calls_in(
    value: Any, offered: Callable[[str], bool], marked: bool = True, alone: bool = False, depth: int = 0
) -> Iterator[Said]:
    """Every call that a value stands for, in order; without a mark before it, the value itself has to be plain.

    `alone` says that nothing else stands in the text, so that a name beside an object is a call as well.

    >>> said = next(calls_in({"name": "ping", "arguments": {"host": "a"}}, {"ping"}.__contains__))
    >>> said.name, said.arguments, said.key
    ('ping', {'host': 'a'}, 'arguments')
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        yield from _in_list(value, offered, marked, alone, depth)
    elif isinstance(value, dict):
        yield from _in_object(value, offered, marked, alone, depth)


def _in_list(value: list[Any], offered: Callable[[str], bool], marked: bool, alone: bool, depth: int) -> Iterator[Said]:
    if (marked or alone) and isinstance(value[0] if value else None, str):
        yield from _side_by_side(value, offered)
        return
    calls: list[Said] = []
    for index, item in enumerate(value):
        if not _is_talk(item):
            said = [_below(index, call) for call in calls_in(item, offered, marked, alone, depth + 1)]
            if not said and not marked:
                return
            calls += said
    yield from calls


def _side_by_side(value: list[Any], offered: Callable[[str], bool]) -> Iterator[Said]:
    """`["f", {…}, "g", {…}]`: names and arguments in turn."""
    pairs = list(zip(value[::2], value[1::2], strict=False))
    if len(value) % 2 == 0 and all(isinstance(name, str) and _is_call(name, given, offered) for name, given in pairs):
        yield from (Said(name, given, key=2 * i + 1) for i, (name, given) in enumerate(pairs))


def _below(part: str | int, said: Said) -> Said:
    return said._replace(path=(part, *said.path))


def _in_object(
    value: dict[str, Any], offered: Callable[[str], bool], marked: bool, alone: bool, depth: int
) -> Iterator[Said]:
    says = not _KEYS.isdisjoint(value)
    inner = _holder(value) if says else ""
    if inner:
        calls = calls_in(
            value[inner], offered, marked or (inner in _LISTS and inner not in _LISTS_OF_MORE), alone, depth + 1
        )
        yield from (_below(inner, said if said.id else said._replace(id=_id(value))) for said in calls)
        return
    named = _named(value, offered, marked) if says else None
    if named is not None:
        yield named
    elif all(_is_call(name, given, offered) for name, given in value.items()) and (len(value) == 1 or marked or alone):
        # `{"f": {…}}`, as Apertus writes it; several names make several calls
        yield from (Said(name, given, key=name) for name, given in value.items())


def _holder(value: dict[str, Any]) -> str:
    """The key under which an object holds calls and says nothing itself; none where it does not."""
    if value.get("role") == "assistant" and isinstance(value.get("content"), list):
        return "content"
    if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):  # JSON-RPC, as MCP sends it
        return "params"
    held = next((key for key in _LISTS if isinstance(value.get(key), list)), "")
    single = (key for key in _SINGLE if isinstance(value.get(key), dict) and any(name in value[key] for name in _NAMES))
    return held or next(single, "")


def _named(value: dict[str, Any], offered: Callable[[str], bool], marked: bool) -> Said | None:
    for key in _NAMES:
        name = value.get(key)
        name = name.strip() if isinstance(name, str) else ""
        if not name or not offered(name):
            continue
        given = next((k for k in ARGUMENT_KEYS if k in value and k != key), None)
        if given is not None:
            inner = value[given]
            told = not marked and any(value.get(word) not in (None, "") for word in _RESULTS)
            other = not marked and (key == "type" or (key in _WORDS and not isinstance(inner, dict)))
            defined = given == "parameters" and not inner and "description" in value
            if told or other or defined or _is_schema(inner):
                return None
            return Said(name, {} if inner is None else inner, _id(value), key=given)
        rest = {k: v for k, v in value.items() if k != key and k not in _BESIDE}
        if "description" in rest or (rest and not marked and key not in _SURE_NAMES):
            return None
        odd = "type" in value and value["type"] not in _CALL_TYPES
        if not marked and not rest and (odd or key not in ("name", *_SURE_NAMES)):
            return None
        return Said(name, rest, _id(value), given=bool(rest))
    return None


def beside(value: Any, said: Said) -> dict[str, Any]:
    """The other fields of the objects around a call: text, flags, anything that is not part of the call.

    >>> value = {"toolCalls": [{"name": "ping", "arguments": {}}], "content": "One moment.", "needsMoreWork": True}
    >>> beside(value, next(calls_in(value, {"ping"}.__contains__)))
    {'content': 'One moment.', 'needsMoreWork': True}
    """
    found: dict[str, Any] = {}
    for part in said.path:
        if isinstance(value, dict):
            found |= {key: item for key, item in value.items() if key != part and key not in _LABELS}
        value = value[part]
    if isinstance(value, dict) and said.given:
        own = {said.key, *(key for key in _NAMES if value.get(key) == said.name), *_LABELS}
        known = said.key in ARGUMENT_KEYS  # else the other keys are the arguments
        found |= {key: item for key, item in value.items() if known and key not in own}
    return found


def _id(value: dict[str, Any]) -> str:
    return next((value[key] for key in _IDS if isinstance(value.get(key), str)), "")


def _is_call(name: str, given: Any, offered: Callable[[str], bool]) -> bool:
    """Whether a name and a value beside it can be a call: arguments are an object, or the text of one."""
    if isinstance(given, str):
        return given[:1] == "{" and given.rstrip()[-1:] == "}" and offered(name)
    return isinstance(given, dict) and offered(name) and not _is_schema(given)


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
