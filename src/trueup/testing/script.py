"""The steps of a script: what a model says or how a request fails, as frozen values that know no protocol.

A string, a dict or a list stands for a reply with that text (JSON-encoded where it is no string). A step may be wrapped
in a way of delivering it: `Slow(Cut("hello", 0.5), every=0.01)`. Nothing here does I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from trueup.testing.encoding import dump
from trueup.testing.wire import Request

Finish = Literal["stop", "length", "tool", "filter", "refusal"]


class Call(msgspec.Struct, frozen=True):
    """One tool call; `arguments` is a mapping, or text sent as it is (broken JSON, for example)."""

    name: str
    """The name of the tool."""
    arguments: Mapping[str, Any] | str = {}
    """The arguments as a mapping, or text that is sent as it is, such as broken JSON; empty by default."""
    id: str = ""
    """The id of the call; empty: the server makes one."""

    @property
    def text(self) -> str:
        """The arguments as the wire carries them.

        >>> Call("book", {"day": 3}).text
        '{"day":3}'
        """
        return self.arguments if isinstance(self.arguments, str) else dump(dict(self.arguments)).decode()


class Say(msgspec.Struct, frozen=True):
    """A reply of the model: text, tool calls, how it ended, what it cost.

    `text=None` sends no content at all. `usage` is (input, output) tokens; without it about four characters count as one.
    When the client asks for a stream the text goes out in pieces of `piece` characters.
    """

    text: str | None = ""
    """The text of the reply; None sends no content at all."""
    calls: tuple[Call, ...] = ()
    """The tool calls of the reply; none by default."""
    finish: Finish | None = None
    """How the reply ended; None: as its content says."""
    usage: tuple[int, int] | None = None
    """Input and output tokens; None: about four characters count as one token."""
    thinking: str = ""
    """The reasoning of the model, in the provider's own field; empty: none."""
    refusal: str = ""
    """A refusal, in the provider's own field; empty: none."""
    piece: int = 12
    """How many characters each piece of a stream has."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""

    @property
    def ending(self) -> Finish:
        """How the reply ended, in words of no provider.

        >>> Say("hi").ending, Say(calls=(Call("book"),)).ending, Say(refusal="No.").ending
        ('stop', 'tool', 'refusal')
        """
        if self.finish is not None:
            return self.finish
        return "tool" if self.calls else "refusal" if self.refusal else "stop"


class Fail(msgspec.Struct, frozen=True):
    """An error in the provider's own shape; `retry_after` becomes the header of that name."""

    status: int = 500
    """The HTTP status."""
    message: str = "scripted failure"
    """The error message."""
    code: str | None = None
    """The provider's error code; None: none for OpenAI, and elsewhere the usual one of the status."""
    param: str | None = None
    """The parameter that the error names; None: none."""
    retry_after: float | str | None = None
    """How long to wait: a header `Retry-After`, and in Gemini's error `RetryInfo`, if it is a number. None: not said."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""


class Raw(msgspec.Struct, frozen=True):
    """A body sent as it is: malformed JSON, an HTML error page, nothing at all."""

    body: bytes | str = b""
    """The body; empty by default."""
    status: int = 200
    """The HTTP status."""
    content_type: str = "application/json"
    """The header `content-type`."""
    headers: Mapping[str, str] = {}
    """Further headers of the response; none by default."""


class Redirect(msgspec.Struct, frozen=True):
    """A redirect to `location`; by default to the address that was asked."""

    location: str = ""
    """A path of this server, or a whole address; empty: the address that was asked."""
    status: int = 307
    """The HTTP status."""


class Hang(msgspec.Struct, frozen=True):
    """Silence: before anything is sent, or amid `of`, placed as in `Cut`. The connection stays open until somebody closes it."""

    of: "Step | None" = None
    """The step that is interrupted; None: nothing is sent at all."""
    after: int | float | None = None
    """After how many bytes, or which share of them, as in `Cut`; None: `events` decides."""
    events: int | None = None
    """After how many pieces of a stream, as in `Cut`; None: `after` decides."""


class Bomb(msgspec.Struct, frozen=True):
    """A small gzip body that a client unpacks to a huge one."""

    megabytes: int = 256
    """The size of the body when a client has unpacked it."""


class Wire(msgspec.Struct, frozen=True):
    """Bytes put on the connection as they are, head and all: two lengths, a folded header, an answer that never ends."""

    pieces: tuple[bytes, ...]
    """What is written, each piece by itself."""
    end: Literal["close", "reset", "hang"] = "close"
    """What happens to the connection afterwards: `close` it, `reset` it, or leave it open (`hang`)."""


class Cut(msgspec.Struct, frozen=True):
    """A reply that ends early; unless the cut is `silent`, the length or the last chunk is missing."""

    of: "Step"
    """The step that is cut."""
    after: int | float | None = None
    """After how many bytes it ends (an int), or after which share of them (a float); None: `events` decides."""
    events: int | None = None
    """After how many pieces of a stream it ends; -1 leaves out the last one. None: `after` decides."""
    silent: bool = False
    """Whether the cut is invisible in the framing, so that the body ends with the connection."""


class Reset(msgspec.Struct, frozen=True):
    """A connection reset (RST): before anything is sent, or amid `of`, placed as in `Cut`."""

    of: "Step | None" = None
    """The step that is interrupted; None: the connection is reset before anything is sent."""
    after: int | float | None = None
    """After how many bytes, or which share of them, as in `Cut`; None: `events` decides."""
    events: int | None = None
    """After how many pieces of a stream, as in `Cut`; None: `after` decides."""


class Erring(msgspec.Struct, frozen=True):
    """A stream that breaks off after `events` pieces with an error event of the provider."""

    of: "Step"
    """The step that breaks off."""
    events: int = 2
    """After how many pieces of the stream."""
    fail: Fail = Fail(529, "Overloaded")
    """The error that the provider sends."""


class Slow(msgspec.Struct, frozen=True):
    """A reply that comes late, or piece by piece."""

    of: "Step"
    """The step that is delivered slowly."""
    first: float = 0.0
    """Seconds before the first byte."""
    every: float = 0.0
    """Seconds between two pieces."""
    size: int | None = None
    """The size of a piece in bytes; None: an event of the stream, or the whole body."""
    head: bool = False
    """Whether the status line and the headers are sent one byte at a time too."""


class KeepAlive(msgspec.Struct, frozen=True):
    """A reply behind signs of life: blanks in a body, comments in a stream of events. They may never end."""

    of: "Step"
    """The step that is delayed."""
    every: float = 0.05
    """Seconds between two signs of life."""
    times: int | None = None
    """How many are sent before the rest of the reply; None: they never end."""
    events: int = 0
    """After how many pieces of a stream they begin."""


class Edited(msgspec.Struct, frozen=True):
    """A reply with other JSON than the provider would send."""

    of: "Step"
    """The step that is changed."""
    change: Callable[[Any], Any]
    """Gets the JSON of the body, or of each event of a stream, and returns what is sent in its place."""


class Garbled(msgspec.Struct, frozen=True):
    """A reply with other bytes than the provider would send."""

    of: "Step"
    """The step that is changed."""
    change: Callable[[tuple[bytes, ...]], Sequence[bytes]]
    """Gets the body in its pieces (the events of a stream) and returns the pieces that are sent in their place."""


class Framed(msgspec.Struct, frozen=True):
    """A reply in unusual or faulty HTTP."""

    of: "Step"
    """The step that is delivered."""
    version: Literal["1.1", "1.0"] = "1.1"
    """The version of HTTP; in 1.0 the end of the connection ends the body."""
    status: int | None = None
    """The HTTP status; None: that of the reply."""
    headers: Mapping[str, str] = {}
    """Headers that replace those of the reply; none by default."""
    chunks: Literal["right", "broken"] = "right"
    """Whether the body is sent in chunks of which the second has no valid size (`broken`)."""


class Whole(msgspec.Struct, frozen=True):
    """The whole reply as one JSON body, even if the client asks for a stream."""

    of: "Step"
    """The step that is delivered."""


class Rejecting(msgspec.Struct, frozen=True):
    """A 400 for every request that uses one of some parameters or response formats, and the reply for any other."""

    of: "Step"
    """The reply to requests that use none of them."""
    names: tuple[str, ...]
    """Parameters, such as `temperature`, and response formats, such as `json_schema`."""


class Zipped(msgspec.Struct, frozen=True):
    """The same reply with `Content-Encoding: gzip`."""

    of: "Step"
    """The step that is compressed."""


class WrongLength(msgspec.Struct, frozen=True):
    """A `Content-Length` that is off by `by` bytes; the connection is closed after the body."""

    of: "Step"
    """The step that is delivered."""
    by: int = 10
    """By how many bytes the length is off."""


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
    """The script and what was asked of the server do not fit together."""


def as_step(value: Any) -> Any:
    """A step from its short form; refuses what stands for nothing.

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
    raise ScriptError(f"a script holds steps, text, dicts and lists, not {type(value).__name__}: {value!r:.80}")


class Reel:
    """Hands out the steps of a script, one for each request; a mapping holds one list for each model ("*": any other)."""

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
        """Steps that no request has asked for yet."""
        return sum(
            max(len(steps) - self._at.get(name, 0), 0) for name, steps in self._tracks.items() if not callable(steps)
        )

    def take(self, request: Request) -> Any:
        """The step for this request; raises ScriptError when there is none left."""
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
            f"the script{which} holds {len(steps)} steps and this is request {at + 1}; add a step, or `then=`"
        )
