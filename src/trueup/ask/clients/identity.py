"""The identity of a callable, for everything that a process remembers about it.

Takes a callable; returns a name, which is the same if the callable is made again from the same parts. Objects are identified by
tokens that are never used twice, so a new object at the memory address of a deleted one has another identity.
"""

import os
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from inspect import ismethod
from types import FunctionType
from typing import Any
from weakref import ref

_PLAIN = (str, bytes, int, float, type(None))
_DEEP = 4  # levels of functions inside functions
_tokens: "dict[int, tuple[ref[Any], str]]" = {}


def identity(call: Callable[..., Any]) -> str:
    """The name of a callable.

    >>> def provider(url):
    ...     return lambda messages: url
    >>> identity(provider("a")) == identity(provider("a")), identity(provider("a")) == identity(provider("b"))
    (True, False)
    """
    return _name(call, _DEEP) or f"{title(call)}:{token(call)}"


def token(held: Any) -> str:
    """A unique token for an object, across processes; an object without weak references gets a new one each time."""
    place = id(held)
    known = _tokens.get(place)
    if known is not None and known[0]() is held:
        return known[1]
    made = os.urandom(8).hex()
    try:
        _tokens[place] = (ref(held, lambda gone: _forget(place, gone)), made)
    except TypeError:
        return made
    return _tokens[place][1]


def _forget(place: int, gone: "ref[Any]") -> None:
    known = _tokens.get(place)
    if known is not None and known[0] is gone:  # another object may have this id now
        del _tokens[place]


def _name(call: Any, depth: int) -> str | None:
    """The name of a callable; None if only the callable object itself can identify its contents."""
    if ismethod(call):
        return f"{title(call)}:{token(call.__self__)}"
    if isinstance(call, partial):
        held = _digest([call.func, *call.args, *call.keywords, *call.keywords.values()], depth)
        return held and f"{title(call.func)}:{held}"
    if not isinstance(call, FunctionType):
        return f"{title(call)}:{token(call)}"
    code = call.__code__
    name = f"{title(call)}:{code.co_firstlineno}"
    if call.__name__ == "<lambda>":  # a line may contain several
        name += f":{max(column or 0 for *_, column, _ in code.co_positions())}"
    defaults = call.__kwdefaults__ or {}
    cells = call.__closure__ or ()
    if not cells and not defaults and not call.__defaults__:
        return name
    try:
        contents = [cell.cell_contents for cell in cells]
    except ValueError:  # a cell is not filled yet
        return None
    held = _digest([*contents, *(call.__defaults__ or ()), *defaults.values()], depth)
    return held and f"{name}:{held}"


def _digest(values: list[Any], depth: int) -> str | None:
    """A short text that is equal for equal values. It does not reveal them, because they may contain a key."""
    parts = [_part(value, depth) for value in values]
    if None in parts:
        return None
    return blake2b("\0".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _part(value: Any, depth: int) -> str | None:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if callable(value):
        return _name(value, depth - 1) if depth else None
    made = token(value)
    return made if id(value) in _tokens else None


def title(call: Any) -> str:
    """The module and the name of a callable, which others may share."""
    if isinstance(call, partial):
        return title(call.func)
    return f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', type(call).__qualname__)}"
