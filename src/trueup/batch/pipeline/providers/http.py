"""Providers with an address: openai, anthropic, gemini, and every server that is compatible with OpenAI's.

Takes a request and returns the parsed body. Anything but a reply is raised as a failure with its status. Redirects are not
followed, bodies are limited, and keys are only sent to the configured address; a key that an answer repeats is masked.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.ask.clients.request import CallFailure, Request, TransportFailure, failure_in, retry_after
from trueup.ask.secrets import spellings
from trueup.batch.pipeline.providers.wire import body_of, headers_of
from trueup.read.reader import read
from trueup.verdict.extras import install
from trueup.verdict.secrets import MARK, masked

MOST_REPLY = 64 << 20
MOST_FILE = 1 << 30
MOST_PAGE = 65_536  # characters kept of an answer that is not a reply


class HttpSession:
    """A session with one provider."""

    def __init__(self, provider: str, base: str, key: str) -> None:
        self.provider = provider
        self.base = base
        self._headers = {"user-agent": "trueup", **headers_of(provider, key)}
        self._secrets = sorted(spellings(key), key=len, reverse=True)
        self._session: Any = None

    def _open(self) -> Any:
        if self._session is None:
            try:
                import aiohttp
            except ImportError:
                raise ModuleNotFoundError(f"asking providers needs aiohttp: {install('pipelines')}") from None
            timeout = aiohttp.ClientTimeout(total=None, connect=30)
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                timeout=timeout,
                connector=aiohttp.TCPConnector(limit=0),  # workers are the limit
            )
        return self._session

    async def fetch(
        self, method: str, path: str, body: Any = None, *, form: Any = None, most: int = MOST_REPLY, mode: str = "text"
    ) -> bytes:
        """The body of an answer. An error of the provider or the connection is a TransportFailure."""
        import aiohttp

        url = path if path.startswith(("http://", "https://")) else f"{self.base}{path}"
        if not url.startswith(self.base):
            raise TransportFailure(CallFailure(f"the provider names another host: {url[:200]}", "fatal"))
        given: dict[str, Any] = {"allow_redirects": False}
        if body is not None:
            given |= {"data": msgspec.json.encode(body), "headers": {"content-type": "application/json"}}
        if form is not None:
            given["data"] = form
        try:
            async with self._open().request(method, url, **given) as response:
                pieces, size = [], 0
                async for piece in response.content.iter_chunked(1 << 18):
                    size += len(piece)
                    if size > most:
                        raise TransportFailure(CallFailure(f"the answer is longer than {most:,} bytes", "fatal"))
                    pieces.append(piece)
                return self._checked(response.status, response.headers, self._scrubbed(b"".join(pieces)), mode)
        except aiohttp.ClientError as error:
            reason = masked(str(error), self._secrets) or type(error).__name__
            raise TransportFailure(CallFailure(reason, "transient", code=type(error).__name__)) from None

    def _scrubbed(self, body: bytes) -> bytes:
        for secret in map(str.encode, self._secrets):
            if secret in body:
                body = body.replace(secret, MARK.encode())
        return body

    def _checked(self, status: int, headers: Mapping[str, str], body: bytes, mode: str) -> bytes:
        if status < 300:
            return body
        page = page_of(body)
        if status < 400:
            raise TransportFailure(CallFailure(f"a redirect ({status}) is not followed", "fatal", status), page)
        findings = read(body, status).findings
        after = retry_after({key.lower(): value for key, value in headers.items()})
        if findings:
            raise TransportFailure(failure_in(findings[0], mode, after), page)  # type: ignore[arg-type]  # a mode of the plan
        kind = "rate" if status == 429 else "transient" if status >= 500 else "fatal"
        raise TransportFailure(CallFailure(f"status {status}", kind, status, after), page)  # type: ignore[arg-type]

    async def json(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """The same, parsed."""
        raw = await self.fetch(method, path, body, **more)
        try:
            found = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            failure = CallFailure("the body of the answer is not JSON, or was cut off", code="cut")
            raise TransportFailure(failure, page_of(raw)) from None
        if not isinstance(found, dict):
            raise TransportFailure(CallFailure("the body of the answer is not a JSON object", "fatal"), page_of(raw))
        return found

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def page_of(body: bytes) -> str:
    """The part of a body without a reply that is kept.

    >>> page_of(b"<h1>Bad gateway</h1>")
    '<h1>Bad gateway</h1>'
    """
    return masked(body[:MOST_PAGE].decode("utf-8", "replace"))


class HttpProvider:
    """A provider that is asked with one call at a time."""

    def __init__(self, name: str, base: str, key: str) -> None:
        self.name = name
        self._http = HttpSession(name, base, key)

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:  # noqa: ARG002 - the same for all
        path, body = body_of(self.name, request)
        return await self._http.json("POST", path, body, mode=request.mode)

    async def close(self) -> None:
        await self._http.close()
