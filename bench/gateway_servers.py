"""The servers that bench/gateway.py puts side by side, each started as a process: `python gateway_servers.py NAME PORT UPSTREAM`.

upstream: a model server that answers at once, whole or as a stream; bare: the smallest pass-through there is with common parts
(uvicorn, a raw ASGI application, aiohttp); bare-own: the same with trueup's own client; trueup-…: the gateway, with less or more to do.
"""

import os
import sys
from typing import Any

import orjson

SAID = '{"name":"Ada Lovelace","age":36,"role":"engineer","tags":["first","program"]}'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "role": {"enum": ["engineer", "poet"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {"day": {"type": "string"}}}},
    }
    for name in ("book", "cancel", "search")
]
STATES = {
    "ASKING": {"forbid": [{"patterns": [rf"\bword{n} [a-z]+{n}\b" for n in range(60)], "why": "not now"}]},
}
_META = {"id": "chatcmpl-1", "created": 1, "model": "m"}
_USAGE = {"prompt_tokens": 40, "completion_tokens": 24, "total_tokens": 64}
WHOLE = orjson.dumps(
    {**_META, "object": "chat.completion", "usage": _USAGE,
     "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID, "refusal": None}, "finish_reason": "stop"}]}
)  # fmt: skip


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {
        **_META,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


EVENTS = [
    _event({"role": "assistant", "content": ""}),
    *(_event({"content": SAID[at : at + 4]}) for at in range(0, len(SAID), 4)),
    _event({}, "stop"),
    b"data: [DONE]\n\n",
]


async def lifespan(receive: Any, send: Any, opened: Any = None, closed: Any = None) -> None:
    """Answer the first and last messages of a server."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            if opened is not None:
                await opened()
            await send({"type": "lifespan.startup.complete"})
        else:
            if closed is not None:
                await closed()
            await send({"type": "lifespan.shutdown.complete"})
            return


async def body_of(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def head(kind: bytes, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind), *more]}


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    if b'"stream":true' in await body_of(receive):
        await send(head(b"text/event-stream"))
        for event in EVENTS:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    await send(head(b"application/json", (b"content-length", str(len(WHOLE)).encode())))
    await send({"type": "http.response.body", "body": WHOLE})


class Bare:
    """Passes everything on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session: Any = None

    async def open(self) -> None:
        import aiohttp

        self.session = aiohttp.ClientSession(auto_decompress=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.open, lambda: self.session.close())
            return
        body = await body_of(receive)
        headers = {"content-type": "application/json", "authorization": "Bearer sk-upstream-0123456789abcdef"}
        async with self.session.post(self.url + scope["path"], data=body, headers=headers) as reply:
            kind = reply.headers["content-type"].encode()
            if not kind.startswith(b"text/event-stream"):
                out = await reply.read()
                await send(head(kind, (b"content-length", str(len(out)).encode())))
                await send({"type": "http.response.body", "body": out})
                return
            await send(head(kind))
            async for piece in reply.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class BareOwn:
    """Passes everything on over trueup's own client."""

    def __init__(self, url: str) -> None:
        from trueup.gateway.config import Upstream

        self.upstream = Upstream("main", url, key="sk-upstream-0123456789abcdef", private=True)
        self.line: Any = None

    async def open(self) -> None:
        from trueup.gateway.client.upstream import UpstreamConnections

        self.line = UpstreamConnections({"main": self.upstream}, 20_000_000)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.open, lambda: self.line.close())
            return
        reply = await self.line.send(self.upstream, scope["path"], await body_of(receive), {})
        try:
            kind = b"text/event-stream" if reply.is_stream else b"application/json"
            if not reply.is_stream:
                out = await reply.read()
                await send(head(kind, (b"content-length", str(len(out)).encode())))
                await send({"type": "http.response.body", "body": out})
                return
            await send(head(kind))
            async for piece in reply.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            reply.close()


def gateway(name: str, url: str, port: int, store: str) -> None:
    """Run trueup's own gateway as `trueup serve` does."""
    from trueup import Contract
    from trueup.gateway.config import of
    from trueup.gateway.serve import serve

    if other := os.environ.get("TRUEUP_BENCH_CLIENT"):
        from http_client_lines import swap

        swap(other)
    contract = None
    if name == "trueup-schema":
        contract = Contract(SCHEMA, name="person")
    elif name in ("trueup-all", "trueup-judged", "trueup-quota"):
        contract = Contract(SCHEMA, tools=TOOLS, states=STATES, name="person")
    charged = name.endswith("-quota")
    config = of(
        url, contract, key="sk-upstream-0123456789abcdef", port=port, quota=charged,
        store=store if charged or name == "trueup-all" else "",
    )  # fmt: skip
    if charged:  # a limit for everyone, as a gateway with quota has one
        from trueup.store.open import open_store

        with open_store(store) as opened:
            opened.quota.set_limit("*", 1_000_000_000)
    serve(config, "", listening=lambda *_: None)


def main() -> None:
    name, port, url, store = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    if name.startswith("trueup"):
        gateway(name, url, port, store)
        return
    import uvicorn

    app: Any = upstream if name == "upstream" else Bare(url) if name == "bare" else BareOwn(url)
    uvicorn.run(
        app, port=port, log_level="warning", access_log=False, http="httptools", ws="none", proxy_headers=False,
        server_header=False, date_header=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
