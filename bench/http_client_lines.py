"""Other HTTP clients behind the interface of the gateway's own (`Line` and `Reply`), for bench/http_clients.py and the evil upstreams.

Each adapter uses only what its library documents. Everything else is the gateway's: which headers are sent and passed on, the cap on a
body, opening compressed bodies, removing keys, and the words of a failure. An answer must be closed at once, without waiting.
"""

import asyncio
import importlib
import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client import upstream as ours
from trueup.gateway.client.addresses import Addresses, Forbidden
from trueup.gateway.client.inflate import Inflater, TooLarge
from trueup.gateway.client.link import BrokenResponse, CutOff
from trueup.gateway.client.pool import NoConnection
from trueup.gateway.config import Upstream

Headers = list[tuple[bytes, bytes]]
_leaving: set[asyncio.Task[Any]] = set()


class Reply:
    """An answer of another client, with the interface of ours."""

    def __init__(self, status: int, headers: Headers, pieces: AsyncIterator[bytes], close: Callable[..., Any]) -> None:
        self.status = status
        self._headers = headers
        self._pieces = pieces
        self._close = close
        self._whole = False
        self._limit = 0
        self._secrets: tuple[bytes, ...] = ()
        self.errors: tuple[type[BaseException], ...] = ()
        self.is_stream = any(n == b"content-type" and v.startswith(b"text/event-stream") for n, v in headers)

    def limited(self, limit: int, secrets: tuple[bytes, ...], errors: tuple[type[BaseException], ...]) -> "Reply":
        self._limit, self._secrets, self.errors = limit, secrets, errors
        return self

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self._headers)}

    def let_through(self) -> Headers:
        return [
            (name, ours.scrubbed(self._secrets, value))
            for name, value in self._headers
            if name in ours.LET_THROUGH or (name.startswith(ours.LET_THROUGH_PREFIXES) and name not in ours.OURS)
        ]

    async def read(self) -> bytes:
        if int(self.headers.get("content-length", "0")) > self._limit:
            raise TooLarge(f"the answer has more than {self._limit:,} bytes")
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self) -> AsyncIterator[bytes]:
        encoding = dict(self._headers).get(b"content-encoding", b"").decode("latin-1")
        inflater = Inflater(encoding, self._limit)
        try:
            async for piece in self._pieces:
                if plain := inflater.feed(piece):
                    yield ours.scrubbed(self._secrets, plain)
        except self.errors as error:
            raise CutOff(str(error)) from None
        if not inflater.whole:
            raise ours.BadEncoding("the compressed answer ends too early")
        self._whole = True

    def close(self) -> None:
        left = self._close(whole=self._whole)
        if left is not None:
            task = asyncio.ensure_future(left)
            _leaving.add(task)
            task.add_done_callback(_leaving.discard)


class Line:
    """Sends requests over another client; its kinds know how."""

    errors: tuple[type[BaseException], ...] = ()

    def __init__(self, upstreams: Mapping[str, Upstream], limit: int, connections: int = 1000) -> None:
        self._limit, self.connections = limit, connections
        self._secrets = {name: tuple(map(str.encode, upstream.secrets)) for name, upstream in upstreams.items()}
        self._heads = {name: ours._own_headers(upstream) for name, upstream in upstreams.items()}  # noqa: SLF001
        self._urls = {name: _bare(upstream.url) for name, upstream in upstreams.items()}
        self.private = frozenset(upstream.host for upstream in upstreams.values() if upstream.private)
        self.tls = ssl.create_default_context()
        self.ready = False

    async def send(self, upstream: Upstream, path: str, body: bytes | None, given: Mapping[str, str]) -> Reply:
        if not self.ready:
            self.ready = True
            self.start()
        headers = {**self._heads[upstream.name], **{n: given[n] for n in ours.PASSED_ON & given.keys()}}
        for name, value in headers.items():
            ours._one_line(f"{name}: {value}")  # noqa: SLF001
        try:
            reply = await self.ask("GET" if body is None else "POST", self._urls[upstream.name] + path, headers, body)
        except self.errors as error:
            kind: Any = NoConnection if "connect" in type(error).__name__.lower() else BrokenResponse
            if isinstance(error.__cause__, Forbidden) or isinstance(getattr(error, "os_error", None), Forbidden):
                kind = Forbidden
            failure = ours._failure(upstream, kind(str(error)))  # noqa: SLF001
            raise TransportFailure(failure) from None
        return reply.limited(self._limit, self._secrets[upstream.name], self.errors)

    def start(self) -> None: ...

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        raise NotImplementedError

    async def close(self) -> None: ...


def _bare(url: str) -> str:
    place = urlsplit(url)
    return f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"


def _raw(headers: Any) -> Headers:
    return [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers]


class Aiohttp(Line):
    def start(self) -> None:
        import aiohttp
        from aiohttp.abc import AbstractResolver

        addresses = Addresses(self.private)

        class Resolver(AbstractResolver):  # type: ignore[misc]
            async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
                found = await addresses.of(host, port)
                return [
                    {"hostname": host, "host": each, "port": port, "family": family, "proto": 0, "flags": 0}
                    for each in found
                ]

            async def close(self) -> None: ...

        self.errors = (aiohttp.ClientError, ConnectionError)
        connector = aiohttp.TCPConnector(limit=self.connections, ssl=self.tls, resolver=Resolver())
        self.session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout()
        )  # fmt: skip

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        answer = await self.session.request(method, url, headers=headers, data=body, allow_redirects=False)

        def close(*, whole: bool) -> None:
            answer.release() if whole else answer.close()

        named = [(name.lower(), value) for name, value in answer.raw_headers]
        return Reply(answer.status, named, answer.content.iter_any(), close)

    async def close(self) -> None:
        if self.ready:
            await self.session.close()


class Httpcore(Line):
    def start(self) -> None:
        import httpcore

        self.errors = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)
        self.pool = httpcore.AsyncConnectionPool(
            self.tls, max_connections=self.connections, max_keepalive_connections=self.connections
        )
        self.kind = httpcore.Request

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        place = urlsplit(url)
        size = {} if body is None else {"content-length": str(len(body))}
        asked = self.kind(method, url, headers={"host": place.netloc, **headers, **size}, content=body)
        answer = await self.pool.handle_async_request(asked)
        named = [(name.lower(), value) for name, value in answer.headers]
        return Reply(answer.status, named, answer.aiter_stream(), lambda **_: answer.aclose())

    async def close(self) -> None:
        if self.ready:
            await self.pool.aclose()


class Httpx(Line):
    module = "httpx"

    def start(self) -> None:
        httpx = importlib.import_module(self.module)
        self.errors = (httpx.TransportError, httpx.StreamError)
        limits = httpx.Limits(max_connections=self.connections, max_keepalive_connections=self.connections)
        self.client = httpx.AsyncClient(verify=self.tls, timeout=None, limits=limits, trust_env=False)

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        asked = self.client.build_request(method, url, headers=headers, content=body)
        answer = await self.client.send(asked, stream=True)
        named = [(name.lower(), value) for name, value in answer.headers.raw]
        return Reply(answer.status_code, named, answer.aiter_raw(), lambda **_: answer.aclose())

    async def close(self) -> None:
        if self.ready:
            await self.client.aclose()


class Httpx2(Httpx):
    module = "httpx2"


class Pyreqwest(Line):
    def start(self) -> None:
        from pyreqwest.client import ClientBuilder
        from pyreqwest.exceptions import PyreqwestError

        self.errors = (PyreqwestError,)
        made = ClientBuilder().max_connections(self.connections).no_proxy().http1_only()
        made = made.follow_redirects(False).error_for_status(False)  # noqa: FBT003 - the names of its setters
        made = made.gzip(False).deflate(False).brotli(False).zstd(False)  # noqa: FBT003 - the same
        if file := os.environ.get("SSL_CERT_FILE"):
            with open(file, "rb") as certificate:  # noqa: PTH123
                made = made.add_root_certificate_pem(certificate.read())
        self.client = made.build()

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        asked = self.client.request(method, url).headers(headers)
        if body is not None:
            asked = asked.body_bytes(body)
        open_request = asked.build_streamed()
        answer = await open_request.__aenter__()
        reader = answer.body_reader

        async def pieces() -> AsyncIterator[bytes]:
            while (piece := await reader.read_chunk()) is not None:
                yield bytes(piece)

        def close(*, whole: bool) -> Awaitable[None]:  # noqa: ARG001
            return open_request.__aexit__(None, None, None)

        return Reply(answer.status, _raw(answer.headers.items()), pieces(), close)

    async def close(self) -> None:
        if self.ready:
            await self.client.close()


class Niquests(Line):
    def start(self) -> None:
        import niquests

        self.errors = (niquests.exceptions.RequestException,)
        self.session = niquests.AsyncSession(pool_maxsize=self.connections, disable_http2=True, disable_http3=True)
        self.session.trust_env = False
        self.verify: Any = os.environ.get("SSL_CERT_FILE", True)

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        answer = await self.session.request(
            method, url, headers=headers, data=body, stream=True, allow_redirects=False, verify=self.verify
        )

        async def pieces() -> AsyncIterator[bytes]:
            async for piece in await answer.iter_raw(-1):
                yield piece

        return Reply(answer.status_code, _raw(answer.headers.items()), pieces(), lambda **_: answer.close())

    async def close(self) -> None:
        if self.ready:
            await self.session.close()


LINES: dict[str, Any] = {
    "trueup": ours.UpstreamConnections, "aiohttp": Aiohttp, "httpcore": Httpcore, "httpx": Httpx, "httpx2": Httpx2,
    "pyreqwest": Pyreqwest, "niquests": Niquests,
}  # fmt: skip


def swap(name: str) -> None:
    """Put a client in the place of the gateway's own, wherever that is used."""
    importlib.import_module("trueup.gateway.gateway")
    own = ours.UpstreamConnections
    for module in [each for key, each in sys.modules.items() if key.startswith("trueup.gateway")]:
        if getattr(module, "UpstreamConnections", None) is own:
            module.UpstreamConnections = LINES[name]  # type: ignore[attr-defined]
