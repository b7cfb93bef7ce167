"""The sources of a stream: iterators, generators and an SDK's own streams, synchronous and asynchronous.

`is_source` decides whether an object is a stream to read, or is itself a reply. Nothing is imported to find out, and nothing
is consumed before the caller iterates. A helper for a `with` block is entered, read and left. An asynchronous stream in a
synchronous place is a `TypeError` that names the other way.
"""

import inspect
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from trueup.read import detect
from trueup.read.incremental import Arriving
from trueup.read.objects import as_dict

_WHOLE = (str, bytes, bytearray, memoryview, Mapping, list, tuple, set, frozenset, type, BaseException)
_DUMPED = ("model_dump", "to_dict", "_asdict", "__struct_fields__", "__dataclass_fields__")


def is_source(thing: Any) -> bool:
    """Whether something yields the pieces of a reply one after the other.

    >>> is_source(iter("ab")), is_source(["a", "b"]), is_source({"choices": []})
    (True, False, False)
    """
    if isinstance(thing, _WHOLE):
        return False
    kind = type(thing)
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__") or inspect.isawaitable(thing):
        return True
    is_iterable = hasattr(kind, "__iter__") or hasattr(kind, "__aiter__")
    if not (is_iterable or _is_manager(kind)) or any(hasattr(kind, name) for name in _DUMPED):
        return False
    body = as_dict(thing)  # an object with attributes may be a response that can be iterated too
    return body is None or detect.family(body) is None


def pieces(source: Any, other: str) -> Iterator[Any]:
    """The pieces of a synchronous stream; `other` is how to read an asynchronous one."""
    if isinstance(source, str | bytes):
        return iter((source,))
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return iter(source)
    kind = type(source)
    if _is_manager(kind) and hasattr(kind, "__enter__"):
        return _entered(source, other)
    if hasattr(kind, "__aiter__") or inspect.isawaitable(source) or _is_manager(kind):
        if inspect.iscoroutine(source):
            source.close()  # nothing will await it any more
        raise TypeError(f"{kind.__name__} is asynchronous: use {other}")
    raise TypeError(f"{kind.__name__} is not a stream; give an iterator of chunks or of pieces of text")


async def apieces(source: Any) -> AsyncIterator[Any]:
    """The pieces of a stream of either kind; a coroutine that returns one is awaited first."""
    if inspect.isawaitable(source):
        source = await source
    if _is_manager(type(source)) and hasattr(type(source), "__aenter__"):
        async with source as opened:
            async for piece in apieces(opened):
                yield piece
        return
    if hasattr(type(source), "__aiter__"):
        async for piece in source:
            yield piece
        return
    for piece in pieces(source, "`async for`"):
        yield piece


def _is_manager(kind: type) -> bool:
    """Whether objects of a type yield their stream only in a `with` block, as the helpers of SDKs do."""
    is_iterable = hasattr(kind, "__iter__") or hasattr(kind, "__aiter__")
    return not is_iterable and (hasattr(kind, "__enter__") or hasattr(kind, "__aenter__"))


def _entered(manager: Any, other: str) -> Iterator[Any]:
    with manager as opened:
        yield from pieces(opened, other)


def collected(source: Any) -> Any:
    """All of a synchronous stream, in the form that `check` takes; anything else is returned unchanged."""
    if not is_source(source):
        return source
    arriving = Arriving()
    for piece in pieces(source, "`await contract.acheck(…)`"):
        arriving.feed(piece)
    return arriving.whole()


async def acollected(source: Any) -> Any:
    """The same for a stream of either kind."""
    if not is_source(source):
        return source
    arriving = Arriving()
    async for piece in apieces(source):
        arriving.feed(piece)
    return arriving.whole()
