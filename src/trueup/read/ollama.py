"""Ollama `/api/chat` and `/api/generate`, llama.cpp's native `/completion`, and the lines of their streams.

Arguments are objects, ids optional. `done` false at the end, or `stop` false, means that the reply was cut off.
"""

from typing import Any

from trueup.read import usage
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, record, rows
from trueup.read.openai_chat import fill_message
from trueup.read.reading import Reading, cut


def read(body: Row, raw: Any) -> Reading:
    """Read a chat or a generate response."""
    draft = ReplyDraft()
    message = body.get("message")
    if message is not None:
        fill_message(draft, record(message))
    else:
        draft.think(body.get("thinking"))
        draft.say(body.get("response"))
    ended = body.get("done") is not False
    ending = body.get("done_reason") or ("stop" if ended else None)
    reading = Reading(draft.reply(ending, usage.ollama(body), body.get("model"), "ollama", raw))
    return reading if ended else cut(reading)


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One body from a stream's lines, and whether it is complete."""
    body: Row = {}
    message: Row = {}
    pieces: dict[str, list[str]] = {}
    calls: list[Any] = []
    chat = False
    for event in events:
        body |= {name: value for name, value in event.items() if value is not None}
        part = event
        if event.get("message") is not None:
            chat = True
            part = record(event["message"])
            calls += rows(part.get("tool_calls"))
        for name in ("content", "response", "thinking"):
            if isinstance(part.get(name), str):
                pieces.setdefault(name, []).append(part[name])
    whole = {name: "".join(found) for name, found in pieces.items()}
    if chat:
        message |= whole
        body["message"] = {**message, "tool_calls": calls} if calls else message
    else:
        body |= whole
    ended = done or body.get("done") is True
    body["done"] = True  # the stream itself reports what is missing
    return body, ended


def read_llama_cpp(body: Row, raw: Any) -> Reading:
    """Read llama.cpp's native completion."""
    draft = ReplyDraft()
    draft.say(body.get("content"))
    ending = body.get("stop_type")
    if not ending or ending == "none":
        old = ("stopped_limit", "limit"), ("stopped_eos", "eos"), ("stopped_word", "word")
        ending = next((name for flag, name in old if body.get(flag)), "stop" if body.get("stop") else None)
    counted = usage.counts(body.get("tokens_evaluated"), body.get("tokens_predicted"))
    reading = Reading(draft.reply(ending, counted, body.get("model"), "llama.cpp", raw))
    return cut(reading) if body.get("stop") is False else reading


def join_llama_cpp(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One body from the pieces of a native completion."""
    body: Row = {}
    pieces: list[str] = []
    for event in events:
        body |= event
        if isinstance(event.get("content"), str):
            pieces.append(event["content"])
    ended = done or body.get("stop") is True
    return {**body, "content": "".join(pieces), "stop": True}, ended
