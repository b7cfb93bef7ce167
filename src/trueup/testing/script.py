"""The steps of a script: replies and failures as frozen values, independent of any protocol.

A string, a dict or a list is short for a reply with that text (as JSON if it is not a string). Wrappers change the
delivery of a step: `Slow(Cut("hello", 0.5), every=0.01)`. Nothing here does I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from trueup.testing.encoding import dump
from trueup.testing.wire import Request

Finish = Literal["stop", "length", "tool", "filter", "refusal"]


class Call(msgspec.Struct, frozen=True):
    """One tool call; `arguments` is a mapping, or text that is sent unchanged, such as broken JSON."""

    name: str
    """The name of the tool."""
    arguments: Mapping[str, Any] | str = {}
    """The arguments as a mapping, or text that is sent unchanged, such as broken JSON; empty by default."""
    id: str = ""
    """The id of the call; empty: the server makes one."""

    @property
    def text(self) -> str:
        """The arguments as the text that is sent.

        >>> Call("book", {"day": 3}).text
        '{"day":3}'
        """
        return self.arguments if isinstance(self.arguments, str) else dump(dict(self.arguments)).decode()


class Say(msgspec.Struct, frozen=True):
    """A model's reply: text, tool calls, finish reason and usage.

    `text=None` sends no content at all. `usage` is (input, output) tokens; by default, about four characters count as
    one token. If the client asks for a stream, the text is sent in pieces of `piece` characters.
    """

    text: str | None = ""
    """The text of the reply; None sends no content at all."""
    calls: tuple[Call, ...] = ()
    """The tool calls of the reply; empty by default."""
    finish: Finish | None = None
    """The reason why the reply ended; None: derived from its content."""
    usage: tuple[int, int] | None = None
    """The input and output tokens; None: about four characters count as one token."""
    thinking: str = ""
    """The model's reasoning, in the provider's own field; empty by default."""
    refusal: str = ""
    """A refusal, in the provider's own field; empty by default."""
    piece: int = 12
    """The number of characters in each piece of a stream."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""

    @property
    def ending(self) -> Finish:
        """The finish reason, independent of providers.

        >>> Say("hi").ending, Say(calls=(Call("book"),)).ending, Say(refusal="No.").ending
        ('stop', 'tool', 'refusal')
        """
        if self.finish is not None:
            return self.finish
        return "tool" if self.calls else "refusal" if self.refusal else "stop"


class Fail(msgspec.Struct, frozen=True):
    """An error in the provider's own format; `retry_after` becomes the header of that name."""

    status: int = 500
    """The HTTP status."""
    message: str = "scripted failure"
    """The error message."""
    code: str | None = None
    """The provider's error code; None: no code for OpenAI, and otherwise the usual code for the status."""
    param: str | None = None
    """The parameter that the error names, or None."""
    retry_after: float | str | None = None
    """How long to wait: sent as the header `Retry-After`, and a number also as `RetryInfo` in Gemini's error. None: not
    sent."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""


class Raw(msgspec.Struct, frozen=True):
    """A body that is sent unchanged: malformed JSON, an HTML error page, nothing at all."""

    body: bytes | str = b""
    """The body; empty by default."""
    status: int = 200
    """The HTTP status."""
    content_type: str = "application/json"
    """The header `content-type`."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""


class Redirect(msgspec.Struct, frozen=True):
    """A redirect to `location`, by default to the requested address."""

    location: str = ""
    """A path on this server, or a complete URL; empty: the requested address."""
    status: int = 307
    """The HTTP status."""


class Hang(msgspec.Struct, frozen=True):
    """Silence before anything is sent, or inside `of` at a place as in `Cut`. The connection stays open until it is
    closed.
    """

    of: "Step | None" = None
    """The step that is interrupted; None: nothing is sent at all."""
    after: int | float | None = None
    """The number or share of bytes before it, as in `Cut`; None: `events` decides."""
    events: int | None = None
    """The number of pieces of a stream before it, as in `Cut`; None: `after` decides."""


class Bomb(msgspec.Struct, frozen=True):
    """A small gzip body that a client unpacks to a huge one."""

    megabytes: int = 256
    """The size of the unpacked body."""


class Wire(msgspec.Struct, frozen=True):
    """Bytes that are sent unchanged, including the head: two lengths, a folded header, an answer that never ends."""

    pieces: tuple[bytes, ...]
    """The pieces to send, each in its own write."""
    end: Literal["close", "reset", "hang"] = "close"
    """How the connection ends: `close` it, `reset` it, or leave it open (`hang`)."""


class Cut(msgspec.Struct, frozen=True):
    """A reply that ends early. Unless the cut is `silent`, the client can see it from the length or the missing last
    chunk.
    """

    of: "Step"
    """The step that is cut."""
    after: int | float | None = None
    """The number of bytes (an int) or the share of bytes (a float) before the cut; None: `events` decides."""
    events: int | None = None
    """The number of pieces of a stream before the cut; -1 leaves out the last one. None: `after` decides."""
    silent: bool = False
    """Whether HTTP does not show the cut: the body ends with the connection."""


class Reset(msgspec.Struct, frozen=True):
    """A connection reset (RST) before anything is sent, or inside `of` at a place as in `Cut`."""

    of: "Step | None" = None
    """The step that is interrupted; None: the connection is reset before anything is sent."""
    after: int | float | None = None
    """The number or share of bytes before it, as in `Cut`; None: `events` decides."""
    events: int | None = None
    """The number of pieces of a stream before it, as in `Cut`; None: `after` decides."""


class Erring(msgspec.Struct, frozen=True):
    """A stream that ends after `events` pieces with the provider's error event."""

    of: "Step"
    """The step that is interrupted."""
    events: int = 2
    """The number of pieces before the error."""
    fail: Fail = Fail(529, "Overloaded")
    """The error that the provider sends."""


class Slow(msgspec.Struct, frozen=True):
    """A reply that arrives late, or piece by piece."""

    of: "Step"
    """The step that is delivered slowly."""
    first: float = 0.0
    """The seconds before the first byte."""
    every: float = 0.0
    """The seconds between two pieces."""
    size: int | None = None
    """The size of a piece in bytes; None: an event of the stream, or the whole body."""
    head: bool = False
    """Whether the status line and the headers are also sent one byte at a time."""


class KeepAlive(msgspec.Struct, frozen=True):
    """A reply after signs of life: blanks in a body, comments in a stream of events. They may never end."""

    of: "Step"
    """The step that is delayed."""
    every: float = 0.05
    """The seconds between two signs of life."""
    times: int | None = None
    """The number of signs before the rest of the reply; None: they never end."""
    events: int = 0
    """The number of pieces of a stream before them."""


class Edited(msgspec.Struct, frozen=True):
    """A reply with JSON that differs from the provider's."""

    of: "Step"
    """The step that is changed."""
    change: Callable[[Any], Any]
    """A function that takes the JSON of the body, or of each event of a stream, and returns the JSON to send
    instead."""


class Garbled(msgspec.Struct, frozen=True):
    """A reply with bytes that differ from the provider's."""

    of: "Step"
    """The step that is changed."""
    change: Callable[[tuple[bytes, ...]], Sequence[bytes]]
    """A function that takes the pieces of the body (the events of a stream) and returns the pieces to send instead."""


class Framed(msgspec.Struct, frozen=True):
    """A reply in unusual or faulty HTTP."""

    of: "Step"
    """The step that is delivered."""
    version: Literal["1.1", "1.0"] = "1.1"
    """The HTTP version; in 1.0, the end of the connection ends the body."""
    status: int | None = None
    """The HTTP status; None: the reply's status."""
    headers: Mapping[str, str] = {}
    """Headers that replace the reply's headers; empty by default."""
    chunks: Literal["right", "broken"] = "right"
    """`broken`: the body is sent in chunks, and the second one has no valid size."""


class Whole(msgspec.Struct, frozen=True):
    """The whole reply as one JSON body, even if the client asks for a stream."""

    of: "Step"
    """The step that is delivered."""


class Rejecting(msgspec.Struct, frozen=True):
    """An error 400 for every request that uses certain parameters or response formats, and the reply for other
    requests.
    """

    of: "Step"
    """The reply to requests without them."""
    names: tuple[str, ...]
    """The parameters, such as `temperature`, and response formats, such as `json_schema`."""


class Zipped(msgspec.Struct, frozen=True):
    """The same reply with `Content-Encoding: gzip`."""

    of: "Step"
    """The step that is compressed."""


class WrongLength(msgspec.Struct, frozen=True):
    """A `Content-Length` that is wrong by `by` bytes. The connection is closed after the body."""

    of: "Step"
    """The step that is delivered."""
    by: int = 10
    """The number of bytes to add to the length."""


Step: TypeAlias = (
    Say | Fail | Raw | Wire | Redirect | Hang | Bomb | Cut | Reset | Erring | Slow | KeepAlive | Zipped | WrongLength | Edited | Garbled
    | Framed | Whole | Rejecting | str | dict[str, Any] | list[Any]
)  # fmt: skip
Steps: TypeAlias = Sequence[Step] | Callable[[Request], Step]
Script: TypeAlias = Steps | Mapping[str, Steps]

_KINDS = (
    Say, Fail, Raw, Wire, Redirect, Hang, Bomb, Cut, Reset, Erring, Slow, KeepAlive, Zipped, WrongLength, Edited, Garbled, Framed,
    Whole, Rejecting,
)  # fmt: skip


class ScriptError(AssertionError):
    """The script does not match the requests."""


def as_step(value: Any) -> Any:
    """A step from its short form; refuses other values.

    >>> as_step("hi").text, as_step({"a": 1}).text
    ('hi', '{"a":1}')
    """
    if isinstance(value, _KINDS):
        return value
    if isinstance(value, str):
        return Say(value)
    if isinstance(value, dict | list):
        return Say(dump(value).decode())
    if isinstance(value, Call):
        return Say(None, (value,))
    raise ScriptError(f"a script can contain steps, text, dicts and lists, not {type(value).__name__}: {value!r:.80}")


class Reel:
    """Hands out the steps of a script, one for each request. A mapping has one list for each model ("*": any other)."""

    def __init__(self, script: Script, then: Step | None = None) -> None:
        self._tracks: dict[str, Steps] = dict(script) if isinstance(script, Mapping) else {"*": script}
        if any(isinstance(steps, str) for steps in self._tracks.values()):
            raise ScriptError("a script is a list of steps; put the text in a list, or pass it as `then`")
        self._then = None if then is None else as_step(then)
        self._at: dict[str, int] = {}
        for steps in self._tracks.values():
            if not callable(steps):
                _ = [as_step(step) for step in steps]

    @property
    def left(self) -> int:
        """The steps that no request has used yet."""
        return sum(
            max(len(steps) - self._at.get(name, 0), 0) for name, steps in self._tracks.items() if not callable(steps)
        )

    def take(self, request: Request) -> Any:
        """The step for this request; raises ScriptError if there are no more steps."""
        name = request.model if request.model in self._tracks else "*"
        steps = self._tracks.get(name, ())
        if callable(steps):
            return as_step(steps(request))
        at = self._at.get(name, 0)
        self._at[name] = at + 1
        if at < len(steps):
            return as_step(steps[at])
        if self._then is not None:
            return self._then
        which = f" for model {request.model!r}" if len(self._tracks) > 1 or "*" not in self._tracks else ""
        raise ScriptError(
            f"the script{which} has {len(steps)} steps, but this is request {at + 1}; add a step, or `then=`"
        )
