"""The events of a stream as the gateway sees them: which only begin something, which carry text, which must wait.

A decoded event enters, its role leaves: a `head` may be shown at once, `text` goes through the holder, the `rest` waits for
the verdict. Text is shown in an event made from one that came, so that nothing else in it changes.
"""

from typing import Any, Literal, NamedTuple, Protocol

from trueup.gateway.protocols.protocol import Body, encode
from trueup.gateway.sse import Event, written


class Seen(NamedTuple):
    """What an event is for, and its text."""

    role: Literal["head", "text", "rest"]
    text: str = ""


_HEAD, _REST = Seen("head"), Seen("rest")


class Relay(Protocol):
    """One protocol's stream."""

    head: Body  # the first head that was seen: it says whose reply this is
    in_text: bool  # a head has opened a text

    def see(self, data: Body) -> Seen: ...

    def with_text(self, event: Event, data: Body, text: str) -> bytes: ...


class ChatRelay:
    """Chunks of a chat completion."""

    def __init__(self) -> None:
        self.head: Body = {}
        self.in_text = False

    def see(self, data: Body) -> Seen:
        choices = data.get("choices")
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
            return _REST
        choice = choices[0]
        delta = choice.get("delta")
        if not isinstance(delta, dict) or choice.get("finish_reason") or choice.get("index") not in (None, 0):
            return _REST
        said = {key for key, value in delta.items() if value not in (None, "", [])}
        if said <= {"role"}:
            self.head = self.head or data
            return _HEAD
        text = delta.get("content")
        return Seen("text", text) if said <= {"role", "content"} and isinstance(text, str) else _REST

    def with_text(self, event: Event, data: Body, text: str) -> bytes:  # noqa: ARG002 - as all relays
        choice = data["choices"][0]
        return written(encode({**data, "choices": [{**choice, "delta": {**choice["delta"], "content": text}}]}))


class MessagesRelay:
    """Events of a message: its start, and that of a text that comes first, are heads."""

    def __init__(self) -> None:
        self.head: Body = {}
        self.in_text = False

    def see(self, data: Body) -> Seen:
        kind, at = data.get("type"), data.get("index")
        if kind in ("message_start", "ping"):
            self.head = self.head or data
            return _HEAD
        block: Any = data.get("content_block")
        if kind == "content_block_start" and at == 0 and isinstance(block, dict) and block.get("type") == "text":
            self.in_text = not block.get("text")
            return _HEAD if self.in_text else _REST
        delta: Any = data.get("delta")
        if kind == "content_block_delta" and at == 0 and self.in_text and isinstance(delta, dict):
            text = delta.get("text")
            return Seen("text", text) if delta.get("type") == "text_delta" and isinstance(text, str) else _REST
        return _REST

    def with_text(self, event: Event, data: Body, text: str) -> bytes:
        return written(encode({**data, "delta": {**data["delta"], "text": text}}), event.name)


def relay_for(path: str) -> Relay | None:
    """The relay of a protocol; None where its streams are kept until they are whole."""
    if path == "/v1/chat/completions":
        return ChatRelay()
    return MessagesRelay() if path == "/v1/messages" else None
