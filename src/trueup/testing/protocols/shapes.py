"""Code that the protocols share: the three methods of a Protocol, JSON and event bodies, pieces of text, token
counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from trueup.testing.encoding import dump, load
from trueup.testing.script import Call, Fail, Say
from trueup.testing.wire import Request, Response

CREATED = 1_750_000_000
CREATED_TEXT = "2025-06-15T15:06:40Z"


class Speaks(Protocol):
    """A provider's wire protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """The reply as JSON, or as a stream if the request asks for one."""

    def failure(self, fail: Fail, number: int) -> Response:
        """An error of the provider."""

    def error_event(self, fail: Fail) -> bytes:
        """The event that ends a stream with an error."""


def json_body(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a JSON body."""
    named = (("Content-Type", "application/json"), *(headers or {}).items())
    return Response(status, named, (dump(value),))


def event_body(events: Iterable[bytes], headers: Mapping[str, str]) -> Response:
    """A response with a stream of events, one per HTTP chunk."""
    named = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache"), *headers.items())
    return Response(200, named, tuple(events), "chunked")


def event(value: Any, name: str = "") -> bytes:
    """One server-sent event.

    >>> event({"a": 1}, "ping")
    b'event: ping\\ndata: {"a":1}\\n\\n'
    """
    return b"%sdata: %s\n\n" % (f"event: {name}\n".encode() if name else b"", dump(value))


def pieces_of(text: str, size: int) -> Iterator[str]:
    """The text in pieces of `size` characters.

    >>> list(pieces_of("hello", 2))
    ['he', 'll', 'o']
    """
    step = max(size, 1)
    return (text[at : at + step] for at in range(0, len(text), step))


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments as an object, as some protocols require. Other text is put into an object.

    >>> arguments_of(Call("book", "soon"))
    {'text': 'soon'}
    """
    try:
        value = load(call.text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": call.text}


def tokens_of(say: Say, request: Request) -> tuple[int, int]:
    """The (input, output) tokens: as scripted, or one for about four characters."""
    if say.usage is not None:
        return say.usage
    size = (
        len(say.text or "") + len(say.thinking) + len(say.refusal) + sum(len(c.name) + len(c.text) for c in say.calls)
    )
    return max(len(request.body) // 4, 1), max(size // 4, 1)


def failure_headers(fail: Fail) -> dict[str, str]:
    """The headers of an error: its own headers and Retry-After.

    >>> failure_headers(Fail(429, retry_after=2))
    {'Retry-After': '2'}
    """
    also = {} if fail.retry_after is None else {"Retry-After": str(fail.retry_after)}
    return {**also, **fail.headers}
