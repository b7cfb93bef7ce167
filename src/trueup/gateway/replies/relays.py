"""The role of each event of a stream: which only begin something, which carry text, which must wait.

A `head` may be shown immediately, `text` passes through the holder, the `rest` waits for the verdict. No event is passed on:
the output is written from judged text and from the fields that the list keeps. These are collected in `frame`, in the form of
a whole reply.
"""

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

from trueup.gateway.protocols.chat import chunk_of
from trueup.gateway.protocols.field_filter import keep
from trueup.gateway.protocols.fields import CHUNK, MESSAGE_EVENTS, RESPONSE_EVENTS
from trueup.gateway.protocols.messages import event_of, own_stop
from trueup.gateway.protocols.protocol import Body


class RelayedEvent(NamedTuple):
    """The role of an event, its text, and for a head the client's event that begins the same."""

    role: Literal["head", "text", "rest"]
    text: str = ""
    event: bytes = b""


_REST = RelayedEvent("rest")
_ENDING = ("stop_reason", "stop_sequence")


class Relay(ABC):
    """One protocol's stream, for a client that sent this `body`."""

    def __init__(self, body: Body) -> None:
        self.frame: Body = {}  # what is kept of the events besides text and calls
        self.dropped: set[str] = set()  # places of dropped parts
        self.in_text = False  # a head has opened a text
        self._body = body

    @abstractmethod
    def see(self, data: Body) -> RelayedEvent:
        """The role of an event."""

    @abstractmethod
    def said(self, text: str) -> bytes:
        """An event that carries a text."""


class ChatRelay(Relay):
    """Chunks of a chat completion."""

    _begun = False

    def see(self, data: Body) -> RelayedEvent:
        kept = keep(CHUNK, data, self.dropped, self._body)
        usage, choices = kept.get("usage"), kept.get("choices")
        frame = self.frame = self.frame or {name: value for name, value in kept.items() if name != "choices"}
        if usage:
            frame["usage"] = usage
        if choices and choices[0] and choices[0].get("finish_reason"):
            frame["choices"] = choices
        return self._role(data.get("choices"))

    def _role(self, choices: Any) -> RelayedEvent:
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
            return _REST
        choice = choices[0]
        delta = choice.get("delta")
        if not isinstance(delta, dict) or choice.get("finish_reason") or choice.get("index") not in (None, 0):
            return _REST
        if choice.get("message"):  # a whole message, which the reader takes for the reply
            return _REST
        said = {key for key, value in delta.items() if value not in (None, "", [])}
        if said <= {"role"}:
            begun, self._begun = self._begun, True
            return RelayedEvent(
                "head", "", b"" if begun else chunk_of(self.frame, {"role": "assistant", "content": ""})
            )
        text = delta.get("content")
        return RelayedEvent("text", text) if said <= {"role", "content"} and isinstance(text, str) else _REST

    def said(self, text: str) -> bytes:
        return chunk_of(self.frame, {"content": text})


class MessagesRelay(Relay):
    """Events of a message: its start, and the start of a leading text, are heads."""

    def see(self, data: Body) -> RelayedEvent:
        kind = data.get("type")
        rules = MESSAGE_EVENTS.get(kind) if isinstance(kind, str) else None
        if rules is None:
            self.dropped.add("*")
            return _REST
        kept = keep(rules, data, self.dropped, own_stop(data.get("delta"), self._body))
        if kind == "message_start":
            return self._start(data.get("message"), kept.get("message"))
        if kind == "ping":
            return RelayedEvent("head", "", event_of("ping", {}))
        if kind == "message_delta":
            self.frame.update({name: value for name, value in (kept.get("delta") or {}).items() if value is not None})
            self.frame["usage"] = {**(self.frame.get("usage") or {}), **(kept.get("usage") or {})}
            return _REST
        return self._role(kind, data) if data.get("index") == 0 else _REST

    def _start(self, message: Any, kept: Body | None) -> RelayedEvent:
        if self.frame:
            return _REST
        self.frame = {name: value for name, value in (kept or {}).items() if name not in _ENDING}
        if isinstance(message, dict) and message.get("content"):
            return _REST
        begun: Body = {
            "type": "message", "role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }  # fmt: skip
        return RelayedEvent("head", "", event_of("message_start", {"message": {**begun, **self.frame}}))

    def _role(self, kind: Any, data: Body) -> RelayedEvent:
        block: Any = data.get("content_block")
        if kind == "content_block_start" and isinstance(block, dict) and block.get("type") == "text":
            self.in_text = not block.get("text")
            opened = {"index": 0, "content_block": {"type": "text", "text": ""}}
            return RelayedEvent("head", "", event_of(kind, opened)) if self.in_text else _REST
        delta: Any = data.get("delta")
        if kind == "content_block_delta" and self.in_text and isinstance(delta, dict):
            text = delta.get("text")
            return RelayedEvent("text", text) if delta.get("type") == "text_delta" and isinstance(text, str) else _REST
        return _REST

    def said(self, text: str) -> bytes:
        return event_of("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})


class ResponsesRelay(Relay):
    """Events of a response: they number each other, so all of them wait."""

    def see(self, data: Body) -> RelayedEvent:
        kind = data.get("type")
        rules = RESPONSE_EVENTS.get(kind) if isinstance(kind, str) else None
        if rules is None:
            self.dropped.add("*")
        else:
            kept = keep(rules, data, self.dropped, self._body)
            self.frame = kept.get("response") or self.frame
        return _REST

    def said(self, text: str) -> bytes:
        raise NotImplementedError("nothing is shown before the verdict")


def relay_for(path: str, body: Body) -> Relay:
    """The relay of a protocol, for the stream that a client requests."""
    if path == "/v1/chat/completions":
        return ChatRelay(body)
    return MessagesRelay(body) if path == "/v1/messages" else ResponsesRelay(body)
