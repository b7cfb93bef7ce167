"""A value that means tool calls: the many ways a JSON object or list names a tool and its arguments.

A value read from text and the offered names enter; (name, arguments) pairs leave. A value that names no offered
tool yields nothing: an object with a `name` is most often just an object.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_NAMES = ("name", "tool_name", "tool", "function_name", "recipient_name", "function", "action", "tool_call", "type")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "kwargs", "data")
_LISTS = ("tool_calls", "toolCalls", "tool_uses", "calls", "function_calls", "actions", "tools")
_SINGLE = ("function_call", "functionCall", "tool_call", "toolCall", "function", "tool_use")
_BESIDE = frozenset({"id", "type", "index", "call_id", "tool_call_id", "thought"})
_MAX_DEPTH = 4


class Said(NamedTuple):
    """A call as a value said it: the name as written, the arguments as a dict, as text, or None for none."""

    name: str
    arguments: Any


def calls_in(value: Any, offered: Callable[[str], bool], depth: int = 0) -> Iterator[Said]:
    """Every call that a value stands for, in order.

    >>> list(calls_in({"name": "ping", "arguments": {"host": "a"}}, {"ping"}.__contains__))
    [Said(name='ping', arguments={'host': 'a'})]
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        found = [list(calls_in(item, offered, depth + 1)) for item in value]
        if all(found):
            for said in found:
                yield from said
    elif isinstance(value, dict):
        yield from _in_object(value, offered, depth)


def _in_object(value: dict[str, Any], offered: Callable[[str], bool], depth: int) -> Iterator[Said]:
    for key in _LISTS:
        if isinstance(value.get(key), list):
            yield from calls_in(value[key], offered, depth + 1)
            return
    for key in _SINGLE:
        if isinstance(value.get(key), dict):
            yield from calls_in(value[key], offered, depth + 1)
            return
    for key in _NAMES:
        name = value.get(key)
        if isinstance(name, str) and offered(name):
            yield Said(name, _arguments(value, key))
            return
    if len(value) == 1:
        (name, arguments), *_ = value.items()
        if offered(name) and isinstance(arguments, dict):
            yield Said(name, arguments)


def _arguments(value: dict[str, Any], name_key: str) -> Any:
    """The arguments beside a name: under their own key, or all the other keys."""
    for key in _ARGUMENTS:
        if key in value and key != name_key:
            inner = value[key]
            return {} if inner is None else inner
    return {key: inner for key, inner in value.items() if key != name_key and key not in _BESIDE}
