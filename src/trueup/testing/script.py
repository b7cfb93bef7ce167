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
    arguments: Mapping[str, Any] | str = {}
    id: str = ""

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
    calls: tuple[Call, ...] = ()
    finish: Finish | None = None
    usage: tuple[int, int] | None = None
    thinking: str = ""
    refusal: str = ""
    piece: int = 12
    headers: Mapping[str, str] = {}

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
    message: str = "scripted failure"
    code: str | None = None
    param: str | None = None
    retry_after: float | str | None = None
    headers: Mapping[str, str] = {}


class Raw(msgspec.Struct, frozen=True):
    """A body sent as it is: malformed JSON, an HTML error page, nothing at all."""

    body: bytes | str = b""
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class Redirect(msgspec.Struct, frozen=True):
    """A redirect to `location` (a path of this server, or a whole address)."""

    location: str
    status: int = 307


class Hang(msgspec.Struct, frozen=True):
    """No answer at all: the connection stays open until the client or the server closes it."""


class Bomb(msgspec.Struct, frozen=True):
    """A gzip body that grows to `megabytes` when a client unpacks it."""

    megabytes: int = 256


class Wire(msgspec.Struct, frozen=True):
    """Bytes put on the connection as they are, head and all: two lengths, a folded header, an answer that never ends.

    Each of `pieces` is written by itself; afterwards the connection is closed, reset, or left open (`hang`).
    """

    pieces: tuple[bytes, ...]
    end: Literal["close", "reset", "hang"] = "close"


class Cut(msgspec.Struct, frozen=True):
    """A reply that ends early, after `after` bytes (an int), a share of them (a float), or after `events` pieces of a stream.

    `events` counts as a slice does: -1 leaves the last one out. A `silent` cut is one no client can see in the framing: the body
    ends with the connection. Otherwise the length or the last chunk is missing.
    """

    of: "Step"
    after: int | float | None = None
    events: int | None = None
    silent: bool = False


class Reset(msgspec.Struct, frozen=True):
    """A connection reset (RST): before anything is sent, or amid `of`, placed as in `Cut`."""

    of: "Step | None" = None
    after: int | float | None = None
    events: int | None = None


class Erring(msgspec.Struct, frozen=True):
    """A stream that breaks off after `events` pieces with an error event of the provider."""

    of: "Step"
    events: int = 2
    fail: Fail = Fail(529, "Overloaded")


class Slow(msgspec.Struct, frozen=True):
    """A late or dripping reply: `first` seconds before the first byte, then `every` seconds between pieces of `size` bytes.

    Without `size` the pieces are the events of the stream, or the whole body.
    """

    of: "Step"
    first: float = 0.0
    every: float = 0.0
    size: int | None = None


class Zipped(msgspec.Struct, frozen=True):
    """The same reply with `Content-Encoding: gzip`."""

    of: "Step"


class WrongLength(msgspec.Struct, frozen=True):
    """A `Content-Length` that is off by `by` bytes; the connection is closed after the body."""

    of: "Step"
    by: int = 10


Step: TypeAlias = (
    Say | Fail | Raw | Wire | Redirect | Hang | Bomb | Cut | Reset | Erring | Slow | Zipped | WrongLength | str | dict[str, Any] | list[Any]
)  # fmt: skip
Steps: TypeAlias = Sequence[Step] | Callable[[Request], Step]
Script: TypeAlias = Steps | Mapping[str, Steps]

_KINDS = (Say, Fail, Raw, Wire, Redirect, Hang, Bomb, Cut, Reset, Erring, Slow, Zipped, WrongLength)


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
