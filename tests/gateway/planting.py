"""Replies with a marker in exactly one field: every field of the list, unknown ones at every level, and keys that come twice."""

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from trueup.gateway.protocols.fields import (
    CHAT,
    CHUNK,
    MESSAGE,
    MESSAGE_EVENTS,
    RESPONSE,
    RESPONSE_EVENTS,
    Blocks,
    JudgedTexts,
    Rule,
)

MARK = "zqx forbidden words"
TWICE = "zqx-twice:"  # a key that is written as one which is there already
SINGLE = frozenset({"content_block", "delta", "item", "part"})  # blocks that stand alone, not in a list
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


class Plant(NamedTuple):
    """One way to hide a marker: where it is, what the list says about the place, and the upstream's reply."""

    name: str
    rule: Rule
    body: bytes


# -- valid replies -----------------------------------------------------------------------------


def unstreamed_reply(protocol: str, text: str) -> dict[str, Any]:
    """A valid reply that is not streamed."""
    if protocol == "chat":
        message = {"role": "assistant", "content": text}
        return {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }  # fmt: skip
    if protocol == "messages":
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
        }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m-1", "output": [response_message(text)],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    }  # fmt: skip


def response_message(text: str) -> dict[str, Any]:
    """A message of a response."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def streamed(protocol: str, text: str) -> list[dict[str, Any]]:
    """The events of a valid reply that is streamed."""
    pieces = [text[at : at + 12] for at in range(0, len(text), 12)]
    if protocol == "chat":
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
        chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        return [*chunks, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    if protocol == "messages":
        begun = {**unstreamed_reply(protocol, ""), "content": [], "stop_reason": None}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        return [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
    item = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    return [
        {
            "type": "response.created",
            "response": {**unstreamed_reply(protocol, ""), "status": "in_progress", "output": []},
        },
        {"type": "response.output_item.added", "output_index": 0, "item": {**response_message(""), "content": []}},
        *({"type": "response.output_text.delta", **item, "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **item, "text": text},
        {"type": "response.output_item.done", "output_index": 0, "item": response_message(text)},
        {"type": "response.completed", "response": unstreamed_reply(protocol, text)},
    ]


# -- places ------------------------------------------------------------------------------------

Steps = tuple[tuple[str, str], ...]


def places(rule: Rule, steps: Steps = ()) -> Iterator[tuple[Steps, Rule]]:
    """Every place below a rule, with unknown fields at each level."""
    if isinstance(rule, JudgedTexts):
        yield steps, rule
        yield from places(rule.parts, steps) if rule.parts else ()
    elif isinstance(rule, Blocks):
        for kind, fields in rule.items():
            yield from places(fields, (*steps, ("block", kind or "function")))
        for kind in ("zqx_unknown", "server_tool_use", "web_search_tool_result", "thinking", "mcp_call", "compaction"):
            if kind not in rule:
                yield (*steps, ("block", kind), ("key", "content")), None
    elif isinstance(rule, dict):
        for name, inner in rule.items():
            yield from places(inner, (*steps, ("key", name)))
        yield (*steps, ("key", "zqx_unknown")), None
        yield (*steps, ("key", MARK)), None
    elif isinstance(rule, list):
        yield steps, rule
        yield from places(rule[0], (*steps, ("first", "")))
    else:
        yield steps, rule


def put(into: Any, steps: Steps, value: Any) -> None:
    """Set what is at a place, and whatever leads there."""
    at = into
    for position, (kind, name) in enumerate(steps[:-1]):
        after, single = steps[position + 1][0], name in SINGLE
        if kind == "key":
            fresh: Any = {} if after == "key" or single else []
            inner = at.get(name)
            at[name] = inner if type(inner) is type(fresh) else fresh
            at = at[name]
        elif kind == "first":
            at += [] if at else [{}]
            at = at[0]
        elif isinstance(at, dict):
            if at.get("type") != name:
                at.clear()
                at["type"] = name
        else:
            found = next((block for block in at if isinstance(block, dict) and block.get("type") == name), None)
            at.append({"type": name} if found is None else found)
            at = at[-1]
    at[steps[-1][1]] = value


def written(body: Any) -> bytes:
    """JSON, with keys that come twice."""
    return json.dumps(body).replace(f'"{TWICE}', '"').encode()


def sse(events: list[Any]) -> bytes:
    """Events as the body of a stream."""
    return b"".join(
        (b"event: %b\n" % event["type"].encode() if isinstance(event.get("type"), str) else b"")
        + b"data: %b\n\n" % written(event)
        for event in events
    )


def shown(steps: Steps) -> str:
    return ".".join(name for _, name in steps)


# -- plants ------------------------------------------------------------------------------------

RULES: dict[str, Rule] = {"chat": CHAT, "messages": MESSAGE, "responses": RESPONSE}
EVENTS: dict[str, dict[str, Rule]] = {
    "chat": {"": CHUNK},
    "messages": MESSAGE_EVENTS,
    "responses": RESPONSE_EVENTS,
}
FULLY = (
    "response.created",
    "response.completed",
)  # the same object is in other events; here all of its fields are tried
VALUES: tuple[Any, ...] = (MARK, [MARK], {"zqx": MARK})


def plants(protocol: str, text: str, values: tuple[Any, ...] = VALUES, *, stream: bool) -> Iterator[Plant]:
    """Every plant in a reply that says `text`."""
    found = _in_events(protocol, text, values) if stream else _in_whole(protocol, text, values)
    yield from found
    yield from _other(protocol, text, stream=stream)


def _in_whole(protocol: str, text: str, values: tuple[Any, ...]) -> Iterator[Plant]:
    for steps, rule in places(RULES[protocol]):
        for value in values:
            body = unstreamed_reply(protocol, text)
            put(body, steps, value)
            yield Plant(shown(steps), rule, written(body))
    for steps in _keys(unstreamed_reply(protocol, text)):
        body = _twice(unstreamed_reply(protocol, text), steps)
        yield Plant(f"{shown(steps)}, twice", None, written(body))


def _in_events(protocol: str, text: str, values: tuple[Any, ...]) -> Iterator[Plant]:
    for kind, rules in EVENTS[protocol].items():
        inner = rules if kind in FULLY or "response" not in rules else {**rules, "response": None}
        for steps, rule in places(inner):
            for value in values:
                events = copy.deepcopy(streamed(protocol, text))
                at = _event(events, kind, steps)
                put(events[at], steps, value)
                yield Plant(f"{kind} {shown(steps)}", rule, sse(events))
    for at, event in enumerate(streamed(protocol, text)):
        for steps in _keys(event):
            events = streamed(protocol, text)
            events[at] = _twice(events[at], steps)
            yield Plant(f"event {at} {shown(steps)}, twice", None, sse(events))


def _event(events: list[Any], kind: str, steps: Steps) -> int:
    """The first event of a kind; where there is none, one is put in before the end."""
    for at, event in enumerate(events):
        if not kind or event.get("type") == kind:
            return at
    events.insert(len(events) - 1, {"type": kind})
    return len(events) - 2


def _keys(body: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Every key of a body; of lists the first item is looked at."""
    if isinstance(body, dict):
        for name, value in body.items():
            yield (*steps, ("key", name))
            yield from _keys(value, (*steps, ("key", name)))
    elif isinstance(body, list) and body:
        yield from _keys(body[0], (*steps, ("first", "")))


def _twice(body: Any, steps: Steps) -> Any:
    """A body with the key at a place written before itself, with the marker."""
    body = copy.deepcopy(body)
    at = body
    for kind, name in steps[:-1]:
        at = at[name] if kind == "key" else at[0]
    name = steps[-1][1]
    rest = dict(at)
    at.clear()
    at.update({TWICE + name: MARK, **rest})
    return body


def _other(protocol: str, text: str, *, stream: bool) -> Iterator[Plant]:
    """Places that are not in the list: other choices, unknown events, names of events, comments and ids of a stream."""
    if protocol == "chat":
        other = {"index": 1, "finish_reason": "stop"}
        if stream:
            for place in (0, 3):
                events = streamed(protocol, text)
                events[place]["choices"].append({**other, "delta": {"content": MARK}})
                yield Plant(f"choices[1] of event {place}", None, sse(events))
            events = streamed(protocol, text)
            events.insert(2, {**events[1], "choices": [{**other, "delta": {"content": MARK}}]})
            yield Plant("another choice", None, sse(events))
            events[2]["choices"] = [{"index": 0, "message": {"content": text + MARK}, "delta": {}}]
            yield Plant("a whole message", None, sse(events))
        else:
            body = unstreamed_reply(protocol, text)
            body["choices"].append({**other, "message": {"role": "assistant", "content": MARK}})
            yield Plant("choices[1]", None, written(body))
    if stream:
        good = streamed(protocol, text)
        yield Plant("unknown event", None, sse([good[0], {"type": "zqx_event", "text": MARK}, *good[1:]]))
        yield Plant("event of no kind", None, sse([*good[:2], {"zqx": MARK}, *good[2:]]))
        for line in (f": {MARK}\n\n", f"id: {MARK}\n", f"retry: {MARK}\n", f"event: {MARK}\n", f"{MARK}: x\n"):
            yield Plant(f"line {line[:5]}", None, line.encode() + sse(good))
        first, rest = sse(good[:2]), sse(good[2:])
        yield Plant("comment inside", None, first + f": {MARK}\n\n".encode() + rest)


class Planted:
    """An upstream on loopback that sends `replies` in turn, the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[bytes] = []
        planted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body = planted.replies.pop(0) if len(planted.replies) > 1 else planted.replies[0]
                kind = "text/event-stream" if asked.get("stream") else "application/json"
                head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-request-id: {MARK}\r\ncontent-length: {len(body)}\r\n\r\n"
                self.wfile.write(head.encode() + body)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
