"""The upstream side: a body enters, the provider's answer leaves, with its status and the few headers that are let through.

No redirect is followed, no cookie kept, no header of the client sent that is not on the list. Answers are capped, also when
they are compressed, and every attempt has one deadline for everything. Names that lead into private networks are refused
unless the configuration allows them. A key is never part of an error.
"""

import asyncio
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Mapping

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from trueup.ask.clients.request import Failure, TransportFailure
from trueup.gateway.config import Upstream
from trueup.gateway.inflate import BadEncoding, Inflater, TooLarge

PASSED_ON = frozenset({"accept", "anthropic-version", "anthropic-beta", "openai-beta"})
# What of an answer's headers reaches the client; all else, cookies and hop-by-hop headers with it, does not.
LET_THROUGH = frozenset({"content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id"})
LET_THROUGH_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "openai-")
OURS = frozenset({"openai-organization", "openai-project"})  # whose key it is that was used is nobody else's matter


_MOST_ADDRESSES = 1000
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class Forbidden(OSError):
    """A name leads to an address that the configuration does not allow."""


class Guarded(AbstractResolver):
    """Resolves names, and refuses what leads to this machine or a private network, unless it may."""

    def __init__(self, private: frozenset[str]) -> None:
        self._private = private
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if host in self._private or host == "localhost":
            return found
        public = [each for each in found if _is_public(each["host"].partition("%")[0])]
        if not public:
            raise Forbidden(f"{host} leads to a private address; say `private: true` for this upstream to allow that")
        return public

    async def close(self) -> None:
        await self._inner.close()


def _is_public(text: str) -> bool:
    """Whether an address leads to the open network, also when it only carries another one inside."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(each.is_global and not each.is_multicast for each in inside if each is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast


class Reply:
    """An answer whose head has come in; its body is read whole or piece by piece, and must be closed."""

    __slots__ = ("_inflater", "_left", "_limit", "_response", "_secrets", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse, limit: int, secrets: tuple[bytes, ...]) -> None:
        self._response = response
        self._limit = limit
        self._secrets = secrets
        self.status = response.status
        self.headers = response.headers
        encoding = response.headers.get("content-encoding")
        self._inflater = Inflater(encoding, limit) if encoding else None
        self._left = limit

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def let_through(self) -> list[tuple[bytes, bytes]]:
        """The headers that the client may see."""
        found = []
        for name, value in self.headers.items():
            small = name.lower()
            if small in LET_THROUGH or (small.startswith(LET_THROUGH_PREFIXES) and small not in OURS):
                found.append((small.encode("latin-1"), scrubbed(self._secrets, value.encode("latin-1", "replace"))))
        return found

    async def read(self) -> bytes:
        """The whole body, opened and capped."""
        said = self._response.content_length
        if said is not None and said > self._limit:
            raise TooLarge(f"the answer has more than {self._limit:,} bytes")
        content = self._response.content
        body = self._plain(await content.readany())
        if not content.at_eof():
            pieces = [body]
            while piece := await content.readany():
                pieces.append(self._plain(piece))
            body = b"".join(pieces)
        if self._inflater is not None and not self._inflater.whole:
            raise BadEncoding("the compressed answer ends too early")
        return scrubbed(self._secrets, body)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        content = self._response.content
        while piece := await content.readany():
            plain = self._plain(piece)
            if plain:
                yield scrubbed(self._secrets, plain)

    def _plain(self, piece: bytes) -> bytes:
        """A piece of the body, opened; what is beyond the limit is refused."""
        if self._inflater is not None:
            return self._inflater.feed(piece)
        self._left -= len(piece)
        if self._left < 0:
            raise TooLarge(f"the body has more than {self._limit:,} bytes")
        return piece

    def close(self) -> None:
        """Give the connection back when the answer has been read to its end, else cut it."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class Line:
    """The connections to all upstreams."""

    def __init__(self, upstreams: Mapping[str, Upstream], limit: int, connections: int = 1000) -> None:
        private = frozenset(upstream.host for upstream in upstreams.values() if upstream.private)
        connector = aiohttp.TCPConnector(
            limit=connections, resolver=Guarded(private), ttl_dns_cache=60, enable_cleanup_closed=False
        )
        self._limit = limit
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10), raise_for_status=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept", "Content-Type"),
            max_line_size=16_384, max_field_size=16_384,
        )  # fmt: skip
        self._addresses: dict[tuple[str, str], URL] = {}
        self._secrets = {name: tuple(map(str.encode, upstream.secrets)) for name, upstream in upstreams.items()}
        self._heads = {name: _own_headers(upstream) for name, upstream in upstreams.items()}

    async def send(self, upstream: Upstream, path: str, body: bytes | None, given: Mapping[str, str]) -> Reply:
        """Send one request; what goes wrong on the line is a TransportFailure that says what."""
        headers = dict(self._heads[upstream.name])
        for name in PASSED_ON & given.keys():
            headers[name] = given[name]
        try:
            response = await self._session.request(
                "GET" if body is None else "POST", self._address(upstream, path), data=body, headers=headers,
                allow_redirects=False,
            )  # fmt: skip
            return Reply(response, self._limit, self._secrets[upstream.name])
        except (aiohttp.ClientError, OSError, BadEncoding) as error:
            raise TransportFailure(_failure(upstream, error)) from None

    def _address(self, upstream: Upstream, path: str) -> URL:
        """Where a path of an upstream is; the few that are asked for again and again are read once."""
        address = self._addresses.get((upstream.name, path))
        if address is None:
            address = URL(upstream.url + path, encoded=path.startswith("/v1/models/"))
            if len(self._addresses) < _MOST_ADDRESSES:
                self._addresses[upstream.name, path] = address
        return address

    async def close(self) -> None:
        await self._session.close()


def broken(upstream: Upstream, error: Exception) -> Failure:
    """What came of an answer that could not be read to its end."""
    return _failure(upstream, error)


READING = (aiohttp.ClientError, OSError, BadEncoding, TooLarge, asyncio.IncompleteReadError)


def _own_headers(upstream: Upstream) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "trueup"}
    if upstream.protocol == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    if upstream.key:
        name, value = (
            ("x-api-key", upstream.key)
            if upstream.protocol == "anthropic"
            else ("authorization", f"Bearer {upstream.key}")
        )
        headers[name] = value
    return {**headers, **{name.lower(): value for name, value in upstream.headers.items()}}


def _failure(upstream: Upstream, error: Exception) -> Failure:
    """A broken line in words; an address or a key in the error's own text is not repeated."""
    kind = "transient"
    cause = error.__cause__ or getattr(error, "os_error", None)
    if isinstance(error, TooLarge):
        said, kind = str(error), "fatal"
    elif isinstance(error, BadEncoding):
        said = str(error)
    elif isinstance(error, Forbidden) or isinstance(cause, Forbidden):
        said, kind = str(cause if isinstance(cause, Forbidden) else error), "fatal"
    elif isinstance(error, aiohttp.ClientConnectorError):
        code = error.os_error.errno
        said = f"no connection ({os.strerror(code) if code and code > 0 else type(error.os_error).__name__})"
    elif isinstance(error, aiohttp.ClientPayloadError):
        said = "the answer was cut off"
    elif isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError):
        said = "the connection was closed"
    else:
        said = f"the answer cannot be read ({type(error).__name__})"
    return Failure(f"upstream {upstream.name!r}: {said}", kind, code=type(error).__name__)  # type: ignore[arg-type]


def scrubbed(secrets: tuple[bytes, ...], body: bytes) -> bytes:
    """Bytes of an answer without our keys, which some providers repeat in an error."""
    for secret in secrets:
        if secret in body:
            body = body.replace(secret, b"[key]")
    return body
