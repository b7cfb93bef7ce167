"""Misbehaviours of model servers, by name. Each turns a good reply into a step that spoils it.

They do not depend on a protocol: the scripted server uses the client's protocol. Use them to test your own client: it
must end in time and never return a spoiled reply as a good one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from trueup.testing.script import (
    Bomb,
    Call,
    Cut,
    Edited,
    Erring,
    Fail,
    Framed,
    Garbled,
    Hang,
    KeepAlive,
    Raw,
    Redirect,
    Rejecting,
    Reset,
    Say,
    Slow,
    Step,
    Whole,
    Wire,
    WrongLength,
    Zipped,
    as_step,
)

KEY = "sk-proj-0123456789abcdefghijABCDEFGHIJ"
"""The key that `key-echoed` repeats in its error message."""

_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_FINISH = re.compile(
    rb'"(?:finish_reason|finishReason|stop_reason|stopReason|done_reason)":\s?"|"done":true'
    rb'|"type":"(?:response\.completed|response\.incomplete|message-end)"|messageStop'
)
_HOLDERS = (
    "choices",
    "candidates",
    "output",
    "content",
    "message",
    "delta",
    "content_block",
    "item",
    "part",
    "response",
)
_USAGES = ("usage", "usageMetadata", "usage_metadata", "meta", "eval_count", "prompt_eval_count")


class Misbehaviour(msgspec.Struct, frozen=True):
    """One way in which a server misbehaves."""

    name: str
    """Its name, such as `hangs-midway`."""
    about: str
    """A short description of what the client sees."""
    make: Callable[[Say], Step]
    """A function that turns a good reply into the step that spoils it."""
    only: Literal["", "stream", "whole"] = ""
    """`stream` or `whole` if it exists only in streams or only in whole replies; empty: in both."""

    def of(self, reply: Step | Call) -> Step:
        """The step that spoils `reply`: a text, data, a `Say` or a `Call`.

        >>> MISBEHAVIOURS["fenced"].of({"age": 36}).text
        '```json\\n{"age":36}\\n```'
        """
        return self.make(as_step(reply))


def _text(change: Callable[[str], str], **more: Any) -> Callable[[Say], Step]:
    return lambda say: replace(say, text=change(say.text or ""), **more)


def _always(step: Step) -> Callable[[Say], Step]:
    return lambda _: step


def _finish_at(pieces: Sequence[bytes]) -> int:
    """The number of the first piece with the reason why the reply ended."""
    return next((at for at, piece in enumerate(pieces) if _FINISH.search(piece)), len(pieces) - 1)


def _without_finish(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return pieces[: _finish_at(pieces)]


def _without_mark(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """All pieces but the last, unless that piece says how the reply ended."""
    return pieces if _finish_at(pieces) == len(pieces) - 1 else pieces[:-1]


def _finished_twice(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    at = _finish_at(pieces)
    return (*pieces[: at + 1], *pieces[at:])


def _with_crlf(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    texts = (b"data:", b"event:", b":", b"{")
    return tuple(piece.replace(b"\n", b"\r\n") if piece.startswith(texts) else piece for piece in pieces)


def _with_mark(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return (b"\xef\xbb\xbf" + pieces[0], *pieces[1:])


def _not_utf8(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The bytes with every character beyond ASCII replaced by a byte that is not valid UTF-8."""
    return tuple(re.sub(rb"[\xc2-\xf4][\x80-\xbf]+", b"\xff", piece) for piece in pieces)


def _holding(what: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A change of the field with the reply, under any provider's name for it."""

    def change(value: Any) -> Any:
        if not isinstance(value, dict) or value.get("error"):
            return value
        return {key: what(held) if key in _HOLDERS else held for key, held in value.items()}

    return change


def _hollow(held: Any) -> Any:
    """The same list or object with null for each part of it."""
    if isinstance(held, list):
        return [_hollow(part) if isinstance(part, dict) else None for part in held]
    return dict.fromkeys(held) if isinstance(held, dict) else None


def _without_usage(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_usage(held) for key, held in value.items() if key not in _USAGES}
    return value


def _other_model(value: Any) -> Any:
    """The same reply with another model's name."""
    names = ("model", "modelVersion")
    if isinstance(value, dict):
        return {key: "somebody-else" if key in names else _other_model(held) for key, held in value.items()}
    return value


def _calls(*calls: Call) -> Callable[[Say], Step]:
    return lambda say: Say(None, calls or say.calls)


def _same_ids(say: Say) -> Step:
    return replace(say, calls=tuple(replace(call, id="call_1") for call in say.calls * 2))


def _broken(text: str) -> str:
    """JSON with an extra comma."""
    return re.sub(r"([}\]])\s*$", r",\1", text)


def _not_a_number(text: str) -> str:
    return re.sub(r"-?\d+", "NaN", text)


def _looping(text: str) -> str:
    """The text up to its first string, followed by a string that never ends."""
    begin = re.match(r'.*?:\s*"', text, re.DOTALL)
    return (begin[0] if begin else "") + "la " * 8000


def _usage(into: int, out: int) -> Callable[[Say], Step]:
    return lambda say: replace(say, usage=(into, out))


_TABLE = (
    # Connections
    Misbehaviour("never-answers", "nothing is sent, the connection stays open", _always(Hang())),
    Misbehaviour("closes", "the connection is closed without an answer", _always(Wire(()))),
    Misbehaviour("resets", "the connection is reset before an answer", _always(Reset())),
    Misbehaviour("garbage", "bytes that are not HTTP", _always(Wire((b"\x15\x03\x01\x00\x02\x02\x46",)))),
    Misbehaviour("hangs-midway", "part of the reply, then silence", lambda say: Hang(say, 0.5)),
    Misbehaviour("resets-midway", "part of the reply, then a reset", lambda say: Reset(say, 0.5)),
    Misbehaviour("cut-midway", "part of the reply, then the connection ends", lambda say: Cut(say, 0.5)),
    # HTTP
    Misbehaviour("http-1.0", "HTTP/1.0, the body ends with the connection", lambda say: Framed(say, version="1.0")),
    Misbehaviour("length-too-long", "a Content-Length beyond the body", lambda say: WrongLength(say, 10)),
    Misbehaviour("length-too-short", "a Content-Length that cuts the body", lambda say: WrongLength(say, -40)),
    Misbehaviour("bad-chunks", "a chunk without a valid size", lambda say: Framed(say, chunks="broken")),
    Misbehaviour("gzipped", "a reply in gzip", Zipped),
    Misbehaviour("not-gzip", "plain text that claims to be gzip", lambda say: Framed(say, headers={"Content-Encoding": "gzip"})),
    Misbehaviour("gzip-bomb", "a small body that unpacks to 8 MB of blanks", _always(Bomb(8))),
    Misbehaviour("wrong-type", "JSON that claims to be plain text", lambda say: Framed(say, headers={"Content-Type": "text/plain"}), "whole"),
    Misbehaviour("redirects", "a redirect to the same address", _always(Redirect())),
    Misbehaviour("no-stream", "whole JSON, although a stream was requested", Whole, "stream"),
    # Slowness
    Misbehaviour("blanks-first", "blanks before the body, comments before the stream", lambda say: KeepAlive(say, 0.002, 5)),
    Misbehaviour("blanks-forever", "blanks and no body, comments and no stream", lambda say: KeepAlive(say, 0.02)),
    Misbehaviour("comments-midway", "part of the stream, then comments forever", lambda say: KeepAlive(say, 0.02, events=3), "stream"),
    Misbehaviour("drips", "the body arrives byte by byte", lambda say: Slow(say, size=1)),
    Misbehaviour("drips-forever", "the body arrives too slowly to ever end", lambda say: Slow(say, every=0.05, size=1)),
    Misbehaviour("drips-head", "the headers arrive too slowly to ever end", lambda say: Slow(say, every=0.05, head=True)),
    Misbehaviour("drips-events", "the events arrive too slowly to ever end", lambda say: Slow(replace(say, piece=1), every=0.1), "stream"),
    # Streams
    Misbehaviour("no-finish", "the stream ends and does not say how", lambda say: Cut(Garbled(say, _without_finish), 1.0, silent=True), "stream"),
    Misbehaviour("no-done", "the stream ends without its end marker", lambda say: Garbled(say, _without_mark), "stream"),
    Misbehaviour("finished-twice", "the stream has two finish reasons", lambda say: Garbled(say, _finished_twice), "stream"),
    Misbehaviour("crlf-events", "the lines of events end with CR LF", lambda say: Garbled(say, _with_crlf), "stream"),
    Misbehaviour("error-event", "an error event in the middle of the stream", lambda say: Erring(say, 3), "stream"),
    # Bodies
    Misbehaviour("error-in-200", "an error object with status 200", _always(Framed(Fail(503, "The engine is overloaded", "overloaded_error"), status=200))),
    Misbehaviour("html-200", "an HTML page with status 200", _always(Raw(_PAGE, 200, "text/html"))),
    Misbehaviour("html-502", "an HTML page with status 502", _always(Raw(_PAGE, 502, "text/html"))),
    Misbehaviour("empty-body", "an empty body with status 200", _always(Raw(b""))),
    Misbehaviour("null-body", "the body is `null`", _always(Raw(b"null"))),
    Misbehaviour("empty-object", "the body is `{}`", _always(Raw(b"{}"))),
    Misbehaviour("cut-json", "half of a JSON body, framed as whole", lambda say: Cut(say, 0.5, silent=True)),
    Misbehaviour("bom", "a byte order mark before the body", lambda say: Garbled(say, _with_mark)),
    Misbehaviour("not-utf8", "bytes that are not UTF-8", lambda say: Garbled(say, _not_utf8)),
    # Replies without a reply
    Misbehaviour("empty-choices", "a reply without choices", lambda say: Edited(say, _holding(lambda held: type(held)() if held else held))),
    Misbehaviour("null-choices", "`null` instead of the choices", lambda say: Edited(say, _holding(lambda _: None))),
    Misbehaviour("null-message", "choices with `null` instead of their content", lambda say: Edited(say, _holding(_hollow))),
    Misbehaviour("null-content", "a message without content", _always(Say(None))),
    Misbehaviour("empty-text", "a message with empty text", _always(Say(""))),
    Misbehaviour("blank-text", "a message of blanks and line breaks", _always(Say(" \n\t "))),
    # Errors of the provider
    Misbehaviour("key-echoed", "401 that repeats the key", _always(Fail(401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"))),
    Misbehaviour("forbidden", "403", _always(Fail(403, "You have no access to this project."))),
    Misbehaviour("no-such-model", "404 for the model", _always(Fail(404, "The model does not exist or you have no access to it.", "model_not_found"))),
    Misbehaviour("too-large", "413", _always(Fail(413, "The request is too large."))),
    Misbehaviour("unprocessable", "422", _always(Fail(422, "The request could not be processed."))),
    Misbehaviour("no-schema-mode", "400 for JSON schemas", lambda say: Rejecting(say, ("json_schema", "responseJsonSchema", "responseSchema", "output_config", "output_format", "format"))),
    Misbehaviour("no-temperature", "400 for a temperature", lambda say: Rejecting(say, ("temperature",))),
    Misbehaviour("no-max-tokens", "400 for `max_tokens`", lambda say: Rejecting(say, ("max_tokens",))),
    Misbehaviour("no-tool-choice", "400 for a forced tool call", lambda say: Rejecting(say, ("tool_choice", "toolChoice", "functionCallingConfig"))),
    Misbehaviour("no-stream-options", "400 for `stream_options`", lambda say: Rejecting(say, ("stream_options",)), "stream"),
    Misbehaviour("rate-limited", "429 with a short wait", _always(Fail(429, "Rate limit reached", "rate_limit_exceeded", retry_after=0.02))),
    Misbehaviour("rate-limited-long", "429 with a wait of an hour", _always(Fail(429, "Rate limit reached", "rate_limit_exceeded", retry_after=3600))),
    Misbehaviour("server-error", "500", _always(Fail(500, "The server had an error"))),
    Misbehaviour("unavailable", "503", _always(Fail(503, "Service unavailable"))),
    Misbehaviour("overloaded", "529", _always(Fail(529, "Overloaded"))),
    # Contents of the reply
    Misbehaviour("prose", "prose instead of JSON", _always(Say("I would rather talk about the weather."))),
    Misbehaviour("chatty", "the JSON with prose around it", _text(lambda text: f"Sure! Here it is:\n\n{text}\n\nAnything else?")),
    Misbehaviour("fenced", "the JSON in a code fence", _text(lambda text: f"```json\n{text}\n```")),
    Misbehaviour("thinking-aloud", "reasoning in tags before the JSON", _text(lambda text: f"<think>Let me see: {{}}.</think>{text}")),
    Misbehaviour("trailing-comma", "JSON with an extra comma", _text(_broken)),
    Misbehaviour("cut-at-length", "half of the text, cut at the token limit", _text(lambda text: text[: len(text) // 2], finish="length")),
    Misbehaviour("refuses", "a refusal", _always(Say(None, refusal="I cannot help with that."))),
    Misbehaviour("filtered", "no text, stopped by a content filter", _always(Say("", finish="filter"))),
    Misbehaviour("wrong-tool", "a call to a tool that does not exist", _calls(Call("launch_rocket", {}))),
    Misbehaviour("wrong-arguments", "a call with arguments that do not fit", lambda say: replace(say, calls=tuple(replace(call, arguments={"surprise": []}) for call in say.calls))),
    Misbehaviour("broken-arguments", "a call with arguments that are not JSON", lambda say: replace(say, calls=tuple(replace(call, arguments=call.text[:-1] + '"') for call in say.calls))),
    Misbehaviour("same-call-ids", "two calls with one id", _same_ids),
    Misbehaviour("repeats-itself", "a text that repeats one word until the token limit", _text(_looping, finish="length", piece=120)),
    Misbehaviour("huge", "a valid reply after 300 KB of blanks", lambda say: replace(say, text=" " * 300_000 + (say.text or ""), piece=8192)),
    Misbehaviour("deep", "ten thousand opening brackets", _always(Say("[" * 10_000, piece=1000))),
    Misbehaviour("nan", "NaN instead of numbers", _text(_not_a_number)),
    Misbehaviour("two-values", "the JSON twice", _text(lambda text: f"{text}\n{text}")),
    # Metadata of the reply
    Misbehaviour("no-usage", "no token counts", lambda say: Edited(say, _without_usage)),
    Misbehaviour("zero-usage", "token counts of 0", _usage(0, 0)),
    Misbehaviour("negative-usage", "negative token counts", _usage(-1000, -1000)),
    Misbehaviour("absurd-usage", "token counts of a trillion", _usage(10**12, 10**12)),
    Misbehaviour("other-model", "the name of a model other than the requested one", lambda say: Edited(say, _other_model)),
)  # fmt: skip

MISBEHAVIOURS: dict[str, Misbehaviour] = {row.name: row for row in _TABLE}
"""Every misbehaviour by its name."""
