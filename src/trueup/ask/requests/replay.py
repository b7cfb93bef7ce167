"""Replies that are stored and used again: the key of a request, a reply as bytes, and a client that returns it without sending.

Takes a request and its client; returns a digest without API keys or headers. Takes a provider's reply from any SDK, whole or in pieces;
returns JSON, if that reads as exactly the same reply.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from types import FunctionType
from typing import Any

import msgspec

from trueup.ask.clients.call import CallableClient
from trueup.ask.clients.identity import token
from trueup.ask.clients.request import Request
from trueup.ask.shapes.parts import Media
from trueup.read.objects import as_dict
from trueup.read.reader import read
from trueup.verdict.codec import plain
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.secrets import masked

_SECRET = lazy_regex(
    r"(?i)api_?key|access_?key|secret|password|authorization|credential|session_token|headers|extra_query"
)
_DEEP = 60  # levels of a reply; a deeper one is not kept


class CachedReply:
    """Replaces a client if the reply is in the cache: returns the reply, whole or in pieces, and sends nothing."""

    def __init__(self, client: Any, raw: Any) -> None:
        self._client = client
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def send(self, _: Request) -> Any:
        return self._raw

    async def asend(self, _: Request) -> Any:
        return self._raw

    def stream(self, _: Request) -> Iterator[Any]:
        yield from self._raw

    async def astream(self, _: Request) -> AsyncIterator[Any]:
        for piece in self._raw:
            yield piece


def key_of(client: Any, request: Request, *, streams: bool = False) -> str | None:
    """The key of a request: a digest of the client and of everything that affects the reply. None if the request cannot be serialized."""
    facts = {name: getattr(request, name) for name in request.__struct_fields__ if name != "timeout"}
    facts["without"] = sorted(request.without)
    facts["tools"] = [(tool.name, tool.description, tool.parameters) for tool in request.tools]  # not their functions
    facts["parameters"] = {name: value for name, value in request.parameters.items() if not _SECRET.search(name)}
    try:
        text = msgspec.json.encode([_identity(client), streams, facts], enc_hook=_known, order="sorted")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return hashlib.sha256(text).hexdigest()


def entry_of(raw: Any) -> bytes | None:
    """The provider's reply as JSON, for storing; None if that does not read as the same reply."""
    try:
        entry = msgspec.json.encode(_plain(raw, _DEEP))
        again = read(msgspec.json.decode(entry)).reply
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    same = msgspec.structs.replace(again, raw=None) == msgspec.structs.replace(read(raw).reply, raw=None)
    return entry if same else None


def raw_in(entry: bytes, *, streams: bool = False) -> Any:
    """The provider's reply from an entry; None if it cannot be read, or is not bytes. A stream is a list of its pieces."""
    try:
        raw = msgspec.json.decode(entry)
    except (TypeError, ValueError, RecursionError):
        return None
    return raw if not streams or isinstance(raw, list) else None


def _identity(client: Any) -> str:
    """The identity of a client: its address, or a unique token for a callable that has its own state."""
    call = client.function if isinstance(client, CallableClient) else None
    if call is None or (isinstance(call, FunctionType) and not call.__closure__):
        return f"{type(client).__qualname__} {masked(client.key)}"
    return token(getattr(call, "__self__", call)) + getattr(call, "__name__", "")


def _plain(value: Any, depth: int) -> Any:
    """A provider's reply as JSON data."""
    if value is None or isinstance(value, str | int | float):
        return value
    if depth == 0:
        raise TypeError("too deep")
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    return {str(name): _plain(item, depth - 1) for name, item in _plain_record(value).items()}


def _known(value: Any) -> Any:
    """An object in a request as data that is equal only for equal objects. Raises an error for unknown kinds of objects."""
    if isinstance(value, Media):
        return [value.media_type, value.name, value.url, value.data]
    return plain(value)


def _plain_record(value: Any) -> Mapping[str, Any]:
    body = as_dict(value)
    if body is None:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return body
