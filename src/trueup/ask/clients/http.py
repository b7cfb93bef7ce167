"""Plain HTTP to any server that supports OpenAI's chat completions; needs the extra `http`.

Takes a request; returns the parsed body. Redirects are not followed, and the size of bodies is limited. The driver decides how long a call
may take. A body that is not JSON was cut off and is a failure, never the model's text.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import CallFailure, Request, TransportFailure, failure_in, retry_after
from trueup.ask.policy import ALL_MODES
from trueup.ask.shapes.openai import as_openai
from trueup.read.reader import read
from trueup.verdict.extras import install
from trueup.verdict.secrets import masked

MAX_BYTES = 64_000_000
_DONE = b"[DONE]"


class Http(Client):
    """A server by its address: `Http("http://127.0.0.1:8080/v1", key=…)`."""

    able = ALL_MODES
    kind = "this address"  # asynchronous calls close their connections

    def __init__(
        self, url: str, *, key: str | None = None, headers: dict[str, str] | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self._httpx = _httpx()
        self.url = completions_url(url)
        self.key = f"http:{self.url}"
        self._headers = {"accept": "application/json", "user-agent": "trueup", **(headers or {})}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._max = max_bytes
        # A TLS context is expensive to make: make it once for all calls, and only if TLS is used.
        self._verify: Any = self._httpx.create_ssl_context() if self.url.startswith("https:") else False
        self._sync: Any = None

    def _client(self) -> Any:
        if self._sync is None:
            self._sync = self._httpx.Client(follow_redirects=False, verify=self._verify)
        return self._sync

    def close(self) -> None:
        """Close the connections that were kept open."""
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    def _sending(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        body = {"messages": as_openai(request.messages), **chat_parameters(request, stream=stream)}
        headers = {**self._headers, "content-type": "application/json"}
        return {"url": self.url, "content": msgspec.json.encode(body), "headers": headers, "timeout": request.timeout}

    def send(self, request: Request) -> Any:
        pieces: list[bytes] = []
        with self._client().stream("POST", **self._sending(request)) as response:
            size = 0
            for piece in response.iter_bytes():
                size = self._bounded(size + len(piece))
                pieces.append(piece)
        return _parsed(response, b"".join(pieces), request)

    async def asend(self, request: Request) -> Any:
        pieces: list[bytes] = []
        async with (
            self._httpx.AsyncClient(follow_redirects=False, verify=self._verify) as client,
            client.stream("POST", **self._sending(request)) as response,
        ):
            size = 0
            async for piece in response.aiter_bytes():
                size = self._bounded(size + len(piece))
                pieces.append(piece)
        return _parsed(response, b"".join(pieces), request)

    def stream(self, request: Request) -> Iterator[Any]:
        events = _Events()
        with self._client().stream("POST", **self._sending(request, stream=True)) as response:
            if response.status_code >= 300:
                raise TransportFailure(_refused(response, response.read(), request))
            size = 0
            for piece in response.iter_bytes():
                size = self._bounded(size + len(piece))
                yield from events.feed(piece)

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        events = _Events()
        async with (
            self._httpx.AsyncClient(follow_redirects=False, verify=self._verify) as client,
            client.stream("POST", **self._sending(request, stream=True)) as response,
        ):
            if response.status_code >= 300:
                raise TransportFailure(_refused(response, await response.aread(), request))
            size = 0
            async for piece in response.aiter_bytes():
                size = self._bounded(size + len(piece))
                for event in events.feed(piece):
                    yield event

    def _bounded(self, size: int) -> int:
        if size > self._max:
            raise TransportFailure(
                CallFailure(f"the reply is longer than {self._max:,} bytes", "fatal", code="too_large")
            )
        return size


class _Events:
    """Reads the data of server-sent events from pieces of bytes."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._rest.append(piece)
        if b"\n" not in piece:
            return
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data and data != _DONE:
                try:
                    yield msgspec.json.decode(data)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    raise TransportFailure(CallFailure("an event of the stream is not JSON", code="cut")) from None


def completions_url(url: str) -> str:
    """The URL of the server's chat completions endpoint.

    >>> completions_url("http://127.0.0.1:8080"), completions_url("http://x/v1/")
    ('http://127.0.0.1:8080/v1/chat/completions', 'http://x/v1/chat/completions')
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueError(f"cannot ask {masked(url)!r}: an address must start with http:// or https:// and name a host")
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = f"{path or '/v1'}/chat/completions"
    return parts._replace(path=path, fragment="").geturl()


def _parsed(response: Any, body: bytes, request: Request) -> Any:
    if response.status_code >= 300:
        raise TransportFailure(_refused(response, body, request))
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise TransportFailure(
            CallFailure("the body of the reply is not JSON: it was cut off", status=response.status_code, code="cut")
        ) from None
    if not isinstance(found, dict):
        raise TransportFailure(
            CallFailure("the body of the reply is not a JSON object", status=response.status_code, code="cut")
        )
    return found


def _refused(response: Any, body: bytes, request: Request) -> CallFailure:
    status = response.status_code
    if status < 400:
        return CallFailure(f"the server answered with a redirect ({status}), which is not followed", "fatal", status)
    return failure_in(read(body, status).findings[0], request.mode, retry_after(response.headers))


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise ModuleNotFoundError(f"asking over HTTP needs httpx: {install('http')}") from None
    return httpx
