"""The upstream side: sends a body and returns the provider's answer, with its status and the few headers that are let
through.

Follows no redirect, keeps no cookie, and sends no client header that is not on the list. Answers are limited in size, even
compressed, and every attempt has one deadline. Names that resolve to private networks are refused unless the configuration
allows them. A key is never part of an error.
"""

import os
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import msgspec

from trueup.ask.clients.request import CallFailure, TransportFailure
from trueup.gateway.client.addresses import Forbidden, Unresolved
from trueup.gateway.client.inflate import BadEncoding, Inflater, TooLarge
from trueup.gateway.client.link import Closed, CutOff, Link
from trueup.gateway.client.memory import LARGE, give_back
from trueup.gateway.client.pool import NoConnection, Origin, Pool
from trueup.gateway.client.proxies import ProxyRefused, proxy_for
from trueup.gateway.config import Upstream
from trueup.gateway.errors import RefusedRequest

PASSED_ON = frozenset({"accept", "anthropic-version", "anthropic-beta", "openai-beta"})
# The answer's headers that reach the client; all others, including cookies and hop-by-hop headers, do not.
LET_THROUGH = frozenset({b"content-type", b"retry-after", b"retry-after-ms", b"request-id", b"x-request-id"})
LET_THROUGH_PREFIXES = (b"x-ratelimit-", b"anthropic-ratelimit-", b"openai-")
OURS = frozenset({b"openai-organization", b"openai-project"})  # which key was used is private
_PATH = "/:@!$&'()*+,;=~%-._"
_MOST_STARTS = 1000
_LONGEST_START = 4096  # bytes; longer heads come from headers that rarely repeat


class UpstreamResponse:
    """An answer whose head has arrived; its body is read whole or in pieces, and must be closed."""

    __slots__ = (
        "_inflater",
        "_is_json",
        "_left",
        "_limit",
        "_link",
        "_pool",
        "_said",
        "_secrets",
        "is_stream",
        "status",
    )

    def __init__(self, link: Link, pool: Pool, limit: int, secrets: tuple[bytes, ...]) -> None:
        self._link: Link | None = link
        self._pool = pool
        self._limit = self._left = limit
        self._secrets = secrets
        self.status = link.status
        self.is_stream = self._is_json = False
        self._said = 0  # bytes that the head announces
        self._inflater: Inflater | None = None
        for name, value in link.headers:
            if name == b"content-type":
                self.is_stream = value.startswith(b"text/event-stream")
                self._is_json = b"json" in value
            elif name == b"content-length":
                self._said = int(value)
            elif name == b"content-encoding":
                self._inflater = Inflater(value.decode("latin-1"), limit)

    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name; of several with one name, the first."""
        assert self._link is not None
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self._link.headers)}

    def let_through(self) -> list[tuple[bytes, bytes]]:
        """The headers that the client may see."""
        assert self._link is not None
        return [
            (name, scrubbed(self._secrets, value))
            for name, value in self._link.headers
            if name in LET_THROUGH or (name.startswith(LET_THROUGH_PREFIXES) and name not in OURS)
        ]

    @property
    def size(self) -> int:
        """How many bytes the head announces; 0 if it does not say."""
        return self._said

    def hide(self, secrets: Iterable[str]) -> None:
        """Remove these strings from the answer too."""
        self._secrets = (*self._secrets, *(secret.encode() for secret in secrets if secret))

    def clean(self, body: bytes) -> bytes:
        """Bytes of the answer without our keys."""
        return scrubbed(self._secrets, body)

    async def read(self) -> bytes:
        """The whole body, decompressed and limited."""
        link = self._link
        assert link is not None
        if self._said > self._limit:
            raise TooLarge(f"the answer has more than {self._limit:,} bytes")
        if link.complete:
            body = self._plain(link.taken())
        else:
            pieces: list[bytes] = []
            try:
                while piece := await link.read():
                    pieces.append(self._plain(piece))
                body = b"".join(pieces)
            finally:
                pieces.clear()  # an error keeps its frames, and their contents, alive for a while
        self._ended()
        if link.ends_with_connection and self._is_json and not _is_whole(body):
            raise CutOff("the answer was cut off")
        return scrubbed(self._secrets, body)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives; bytes that may be the start of a key wait for the following ones."""
        assert self._link is not None
        veil = Veil(self._secrets)
        while piece := await self._link.read():
            plain = veil.feed(self._plain(piece))
            if plain:
                yield plain
        self._ended()
        if veil.held:
            yield veil.held

    def _ended(self) -> None:
        if self._inflater is not None and not self._inflater.whole:
            raise BadEncoding("the compressed answer ends too early")

    def _plain(self, piece: bytes) -> bytes:
        """A piece of the body, decompressed; data beyond the limit is refused."""
        if self._inflater is not None:
            return self._inflater.feed(piece)
        self._left -= len(piece)
        if self._left < 0:
            raise TooLarge(f"the body has more than {self._limit:,} bytes")
        return piece

    def close(self) -> None:
        """Give the connection back if the answer was read completely, else close it."""
        link, self._link = self._link, None
        if link is not None:
            self._pool.give(link)
            if link.held >= LARGE:
                give_back(link.held)


class ForwardRequest(NamedTuple):
    """A request to forward unchanged, with our own key and headers."""

    method: str
    path: str  # including the query, if there is one
    body: "bytes | AsyncIterator[bytes] | None" = None
    content_type: str = ""  # of the body; empty: JSON
    length: int | None = None  # of a streamed body, if it is known
    limit: int = 0  # bytes of the answer; 0: the common limit


class UpstreamConnections:
    """The connections to all upstreams."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        limit: int,
        connections: int = 1000,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._limit = limit
        self._origins = {name: _origin(upstream, environ) for name, upstream in upstreams.items()}
        private = frozenset(self._origins[name].host for name, upstream in upstreams.items() if upstream.private)
        self._pool = Pool(private, connections)
        self._secrets = {name: tuple(map(str.encode, upstream.secrets)) for name, upstream in upstreams.items()}
        self._heads = {name: _own_headers(upstream) for name, upstream in upstreams.items()}
        self._starts: dict[tuple[object, ...], bytes] = {}

    async def send(
        self, upstream: Upstream, path: str, body: bytes | None, given: Mapping[str, str]
    ) -> UpstreamResponse:
        """Send one request; failures of the connection are a TransportFailure that says why."""
        return await self._sent(upstream, self._head(upstream, path, body, given), body or b"", self._limit)

    async def forward(self, upstream: Upstream, parcel: ForwardRequest, given: Mapping[str, str]) -> UpstreamResponse:
        """Send a request of any method and kind of body; a streamed body is not held in memory."""
        headers = {name: given[name] for name in PASSED_ON & given.keys()}
        if parcel.content_type:
            headers["content-type"] = parcel.content_type
        body, length = parcel.body, parcel.length
        if isinstance(body, bytes):
            length = len(body)
        if body is None:
            framing = b"" if parcel.method in ("GET", "DELETE") else b"content-length: 0\r\n"
        else:
            framing = b"transfer-encoding: chunked\r\n" if length is None else b"content-length: %d\r\n" % length
        head = b"%s%s\r\n" % (self._start(upstream, parcel.path, headers, parcel.method), framing)
        if body is not None and not isinstance(body, bytes) and length is None:
            body = _chunked(body)
        return await self._sent(upstream, head, body or b"", parcel.limit or self._limit)

    async def _sent(
        self, upstream: Upstream, head: bytes, body: bytes | AsyncIterator[bytes], limit: int
    ) -> UpstreamResponse:
        pool = self._pool
        origin = self._origins[upstream.name]
        link = pool.idle(origin)
        kept = link is not None
        while True:
            try:
                if link is None:
                    link = await pool.take(origin)
                await (link.ask(head, body) if isinstance(body, bytes) else link.upload(head, body))
                return UpstreamResponse(link, pool, limit, self._secrets[upstream.name])
            except BaseException as error:
                if link is not None:
                    link.cut()
                    pool.give(link)
                    if kept and isinstance(error, Closed) and link.silent and head.startswith(b"GET "):
                        link, kept = None, False  # closed as it was sent; a request that only reads may be repeated
                        continue
                if isinstance(error, READING):
                    raise TransportFailure(_failure(upstream, error)) from None
                raise

    def _head(self, upstream: Upstream, path: str, body: bytes | None, given: Mapping[str, str]) -> bytes:
        """The head of a request; all but its length is reused."""
        get = given.get
        place = (upstream.name, path, *map(get, PASSED_ON), body is None)
        start = self._starts.get(place)
        if start is None:
            passed = {name: given[name] for name in PASSED_ON & given.keys()}
            start = self._start(upstream, path, passed, "GET" if body is None else "POST")
            start += b"\r\n" if body is None else b""
            if len(start) <= _LONGEST_START:
                if len(self._starts) >= _MOST_STARTS:
                    self._starts.clear()
                self._starts[place] = start
        return start if body is None else b"%scontent-length: %d\r\n\r\n" % (start, len(body))

    def _start(self, upstream: Upstream, path: str, given: dict[str, str], method: str) -> bytes:
        """The lines of a head that do not depend on the body."""
        origin = self._origins[upstream.name]
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        port = "" if origin.port == (443 if origin.secure else 80) else f":{origin.port}"
        where = quote(urlsplit(upstream.url).path, safe=_PATH) + path
        headers = {"host": host + port, **self._heads[upstream.name], **given}
        if (
            origin.proxy is not None and not origin.secure
        ):  # the proxy reads the request, so the target is the whole URL
            where = f"http://{host}{port}{where}"
            if origin.proxy.authorization:
                headers["proxy-authorization"] = origin.proxy.authorization
        lines = [f"{method} {where} HTTP/1.1", *(f"{n}: {value}" for n, value in headers.items())]
        return ("\r\n".join(map(_one_line, lines)) + "\r\n").encode("latin-1")

    async def close(self) -> None:
        await self._pool.close()


async def _chunked(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a body of unknown length, in HTTP's chunk framing."""
    async for piece in pieces:
        if piece:
            yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def _one_line(text: str) -> str:
    """A header line, which must stay one line."""
    if any(sign in text for sign in "\r\n\0") or not text.isprintable():
        raise RefusedRequest(400, f"a header cannot be sent on: {text.partition(':')[0][:100]!r}", code="invalid_value")
    return text


def _origin(upstream: Upstream, environ: Mapping[str, str]) -> Origin:
    address = urlsplit(upstream.url)
    host = address.hostname or ""
    secure = address.scheme == "https"
    try:
        host = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        host = host.encode("ascii", "replace").decode()  # which cannot be resolved
    port = address.port or (443 if secure else 80)
    return Origin(host, port, secure, upstream.tls, proxy_for(host, port, environ, secure=secure))


def broken(upstream: Upstream, error: Exception) -> CallFailure:
    """The failure of an answer that could not be read completely."""
    return _failure(upstream, error)


READING = (OSError, BadEncoding, TooLarge)


def _own_headers(upstream: Upstream) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "trueup"}
    if upstream.protocol == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    address = urlsplit(upstream.url)
    if address.username:
        said = f"{unquote(address.username)}:{unquote(address.password or '')}"
        headers["authorization"] = f"Basic {b64encode(said.encode()).decode()}"
    if upstream.key:
        name, value = (
            ("x-api-key", upstream.key)
            if upstream.protocol == "anthropic"
            else ("authorization", f"Bearer {upstream.key}")
        )
        headers[name] = value
    return {**headers, **{name.lower(): value for name, value in upstream.headers.items()}}


def _failure(upstream: Upstream, error: Exception) -> CallFailure:
    """A broken connection in words; an address or a key in the error's own text is not repeated."""
    kind = "transient"
    cause = error.__cause__
    if isinstance(error, TooLarge):
        said, kind = str(error), "fatal"
    elif isinstance(error, BadEncoding):
        said = str(error)
    elif isinstance(error, Forbidden):
        said, kind = str(error), "fatal"
    elif isinstance(error, Unresolved | ProxyRefused):
        said = str(error)
    elif isinstance(error, NoConnection):
        said = f"no connection ({_why(cause or error)})"
    elif isinstance(error, CutOff):
        said = "the answer was cut off"
    elif isinstance(error, Closed | ConnectionError):
        said = "the connection was closed"
    else:
        said = f"the answer cannot be read ({type(error).__name__})"
    return CallFailure(f"upstream {upstream.name!r}: {said}", kind, code=type(error).__name__)  # type: ignore[arg-type]


def _why(error: BaseException) -> str:
    """Why there is no connection, in a few words without an address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}"
    code = error.errno if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return os.strerror(code) if code and code > 0 else type(error).__name__


def _is_whole(body: bytes) -> bool:
    """Whether a body is complete JSON."""
    try:
        msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


class Veil:
    """Bytes of an answer without our keys, piece by piece: a possible start of a key is held until more has arrived.

    >>> veil = Veil((b"sk-123",))
    >>> veil.feed(b"your key sk-"), veil.feed(b"123 is wrong"), veil.held
    (b'your key ', b'[key] is wrong', b'')
    """

    __slots__ = ("_secrets", "held")

    def __init__(self, secrets: tuple[bytes, ...]) -> None:
        self._secrets = secrets
        self.held = b""

    def feed(self, piece: bytes) -> bytes:
        """The text that may be shown now."""
        if self.held:
            piece = self.held + piece
            self.held = b""
        keep = 0
        for secret in self._secrets:
            if secret in piece:
                piece = piece.replace(secret, b"[key]")
        for secret in self._secrets:
            keep = max(keep, _begun(secret, piece))
        if keep:
            piece, self.held = piece[:-keep], piece[-keep:]
        return piece


def _begun(secret: bytes, text: bytes) -> int:
    """How many bytes at the end of a text are the start of a secret."""
    first = secret[:1]
    at = text.find(first, max(0, len(text) - len(secret) + 1))
    while at >= 0:
        if secret.startswith(text[at:]):
            return len(text) - at
        at = text.find(first, at + 1)
    return 0


def scrubbed(secrets: tuple[bytes, ...], body: bytes) -> bytes:
    """Bytes of an answer without our keys, which some providers repeat in an error."""
    for secret in secrets:
        if secret in body:
            body = body.replace(secret, b"[key]")
    return body
