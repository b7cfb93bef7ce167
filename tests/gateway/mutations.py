"""Requests as nobody would write them: whole requests of the three protocols enter, damaged ones leave, the same for the same seed."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

DEEP: Any = "deep"
for _ in range(300):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 5, 2**63, 10**40, 1.5, 1e308, "", "x", " ", "\x00", "\ud800", "é\u200b", "a" * 5000, "\r\nx: y",
    [], [None], [[]], ["x", 5, None], {}, {"type": 5}, {"": ""}, {"type": "text", "text": ["x"]}, {"role": "system"}, DEEP,
)  # fmt: skip
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
STORED = {"type": "function_call_output", "call_id": "c1", "output": "9"}
CHAT: list[dict[str, Any]] = [
    {"model": "m", "messages": [{"role": "user", "content": "Who?"}]},
    {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Who?"}, {"type": "image_url", "image_url": {"url": "x"}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "9"},
        ],
        "tools": [TOOL], "tool_choice": "auto", "temperature": 0.5, "max_tokens": 100, "stream": False, "user": "ada", "n": 1,
        "response_format": {"type": "json_object"}, "metadata": {"a": "b"}, "stop": ["x"],
        "trueup": {"state": "OPEN", "data": {"a": 1}, "include": True, "history": [{"role": "user", "content": "x"}]},
    },
    {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "stream": True, "stream_options": {"include_usage": True}},
]  # fmt: skip
MESSAGES: list[dict[str, Any]] = [
    {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Who?"}]},
    {
        "model": "m", "max_tokens": 100, "system": [{"type": "text", "text": "Be short."}], "stop_sequences": ["x"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look_up", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "9"}]},
        ],
        "tools": [{"name": "look_up", "input_schema": {"type": "object"}}], "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "ada"}, "output_config": {"format": {"type": "json_schema", "schema": {}}}, "thinking": {"type": "enabled"},
        "trueup": {"state": "OPEN", "progress": True},
    },
    {"model": "m", "max_tokens": 9, "system": "Be short.", "messages": [{"role": "user", "content": "Who?"}], "stream": True},
]  # fmt: skip
RESPONSES: list[dict[str, Any]] = [
    {"model": "m", "input": "Who?"},
    {
        "model": "m", "instructions": "Be short.", "text": {"format": {"type": "text"}}, "user": "ada", "background": False,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Who?"}]},
            {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}, STORED,
        ],
        "tools": [{"type": "function", "name": "look_up", "parameters": {"type": "object"}}], "tool_choice": "auto", "store": False,
    },
    {"model": "m", "input": "Who?", "stream": True, "max_output_tokens": 90},
]  # fmt: skip
CHECK: list[dict[str, Any]] = [
    {"reply": '{"name": "Ada", "age": 36}', "context": {"state": "OPEN", "question": "Who?"}, "model": "m", "user": "ada"},
    {"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ada"}], "record": False},
    {"reply": {"choices": [{"message": {"role": "assistant", "content": "Ada"}, "finish_reason": "stop"}]}},
]  # fmt: skip
PATHS = {
    "/v1/chat/completions": CHAT, "/v1/messages": MESSAGES, "/v1/responses": RESPONSES, "/v1/check": CHECK,
}  # fmt: skip
HEADERS = (
    "x-trueup-state", "x-trueup-context", "x-trueup-contract", "x-trueup-tenant", "x-trueup-user", "x-trueup-include", "x-trueup-progress",
    "idempotency-key", "authorization", "x-api-key", "content-type", "accept", "anthropic-beta", "traceparent",
)  # fmt: skip
VALUES = (
    b"", b"x", b"OPEN", b"open", b"1", b"{}", b"[]", b'{"state": 5}', b'{"data": []}', b"{", b"\xff\xfe", b"\xc3\xa9", b"a" * 3000, b"Bearer",
    b"bearer x", b'{"history": "x"}', b"\t",
)  # fmt: skip


class Sent(NamedTuple):
    """One request."""

    path: str
    headers: tuple[tuple[str, bytes], ...]
    body: bytes


def valid_requests() -> list[Sent]:
    """Every request as it should be."""
    return [Sent(path, (), json.dumps(body).encode()) for path, bodies in PATHS.items() for body in bodies]


def mutated(seed: int, count: int) -> Iterator[Sent]:
    """So many damaged requests; about one in twenty is whole."""
    dice = random.Random(seed)
    for _ in range(count):
        path = dice.choice(tuple(PATHS))
        body = copy.deepcopy(dice.choice(PATHS[path]))
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
            _damage(body, dice)
        yield Sent(path, _headers(dice), _bytes(body, dice))


def _headers(dice: random.Random) -> tuple[tuple[str, bytes], ...]:
    number = dice.choice((0, 0, 0, 1, 2))
    return tuple((dice.choice(HEADERS), dice.choice(VALUES)) for _ in range(number))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value, as its container and key."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        each = left.pop()
        inside = list(each.items()) if isinstance(each, dict) else list(enumerate(each))
        for key, below in inside:
            found.append((each, key))
            if isinstance(below, dict | list):
                left.append(below)
    return found


def _damage(body: dict[str, Any], dice: random.Random) -> None:
    """Change one place: another value, none, one more, another name."""
    known = places(body)
    if not known:
        return
    holder, key = dice.choice(known)
    way = dice.random()
    if way < 0.6:
        holder[key] = copy.deepcopy(dice.choice(ODD))
    elif way < 0.75:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, copy.deepcopy(dice.choice(ODD)))
    elif way < 0.9:
        holder[dice.choice(("role", "content", "type", "x", "\x00", "trueup"))] = copy.deepcopy(dice.choice(ODD))
    else:
        holder[key + "s"] = holder.pop(key)


def _bytes(body: dict[str, Any], dice: random.Random) -> bytes:
    """The bytes of a body, of which some are damaged too."""
    raw = json.dumps(body, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    way = dice.random()
    if way < 0.8:
        return raw
    at = dice.randrange(len(raw) + 1)
    if way < 0.88:
        return raw[:at] + dice.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b'"', b"}", b"\\u12")) + raw[at:]
    if way < 0.93:
        return raw[:at]
    if way < 0.97:
        return raw[:at] + bytes([dice.randrange(256)]) + raw[at + 1 :]
    return dice.choice((b"", b"\xef\xbb\xbf" + raw, b"[]", b"null", b"5", raw + raw, b"\xff" * 9, b" "))
