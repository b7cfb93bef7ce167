"""The guard: checks every request before anything else happens.

It refuses unknown hosts (DNS rebinding), requests from other sites (CSRF) and requests without a key, and adds headers
to every response that make hostile texts in a page harmless. A key is sent as a cookie or as a bearer token; the first
URL has a code that can be used once instead.
"""

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import quote, unquote_plus

from starlette.responses import JSONResponse, RedirectResponse, Response

from trueup.studio.door.attempts import Attempts
from trueup.studio.door.sessions import LASTS, Codes, by_cookie, by_secret, cookie_name, cookie_value, cookies_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key, StudioSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

WHO = "trueup.studio.key"
NONCE = "trueup.studio.nonce"
WRITE_HEADER = "x-trueup-studio"  # a form of another site cannot send it
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
_SAFE = frozenset({"GET", "HEAD"})
_OPEN = frozenset({SIGN_IN, SIGN_OUT, "/healthz"})  # need no key: they contain no user data
_ONCE = frozenset(
    {"host", "origin", "authorization", "content-length", WRITE_HEADER}
)  # two of them would contradict each other
_OURS = frozenset({"same-origin", "none"})


class Guard:
    """The guarded application; `settings` returns the current ones."""

    def __init__(self, app: Application, settings: Callable[[], StudioSettings], *, version: str = "") -> None:
        self._app = app
        self._settings = settings
        self._version = version
        self._random = secrets.token_hex(32)
        self.attempts = Attempts()
        self.codes = Codes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _not_http(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                message["headers"] = [*given, *_headers(nonce, self._version, given)]
            await send(message)

        try:
            answer = self._admit(scope)
        except RequestRefused as refusal:
            answer = JSONResponse(refusal.to_dict(), refusal.status, refusal.headers)
        if answer is None:
            scope[NONCE] = nonce
            await self._app(scope, receive, guarded)
        else:
            await answer(scope, receive, guarded)

    def try_key(self, scope: Scope, secret: str, way: str = "page") -> Key | None:
        """The key that a secret belongs to; a Refusal for an address that has given too many wrong ones.

        A program with an old key must not lock out people at the same address, so each `way` is counted separately.
        """
        address = f"{way} {(scope.get('client') or ('',))[0]}"
        if seconds := self.attempts.wait(address):
            raise RequestRefused(
                429, "Too many wrong keys came from this address.", code="too_many_attempts",
                hint=f"Try again in {seconds} seconds.", headers={"retry-after": str(seconds)},
            )  # fmt: skip
        key = by_secret(self._settings().keys, secret)
        if key is None:
            self.attempts.wrong(address)
        return key

    def keep(self, answer: Response, scope: Scope, key: Key) -> None:
        """Set the cookie for a key."""
        headers = headers_of(scope)
        secure = scope.get("scheme") == "https" or headers.get("origin", "").startswith("https:")
        answer.set_cookie(
            cookie_name(_split(headers.get("host", ""))[1]), cookie_value(key, self._signing), max_age=LASTS,
            path=self._settings().mount or "/", httponly=True, samesite="lax", secure=secure,
        )  # fmt: skip

    def forget(self, answer: Response, scope: Scope) -> None:
        """Delete the cookie."""
        name = cookie_name(_split(headers_of(scope).get("host", ""))[1])
        answer.delete_cookie(name, path=self._settings().mount or "/", httponly=True, samesite="lax")

    @property
    def _signing(self) -> str:
        return self._settings().secret or self._random

    def _admit(self, scope: Scope) -> Response | None:
        """Admit a request with its key, or answer it here."""
        settings = self._settings()
        headers = headers_of(scope)
        host = headers.get("host", "")
        if not is_known(host, settings):
            raise RequestRefused(
                403, f"This studio does not accept the host {host[:100]!r}.", code="unknown_host",
                hint="Open it by the address it printed on startup, or add the name: `--host NAME`, or `hosts` in the gateway's file.",
            )  # fmt: skip
        path = inner_path(scope["path"], settings.mount)
        if (answer := self._first_visit(scope, headers, path)) is not None:
            return answer
        key, by_header = self._key(scope, headers)
        scope[WHO] = key
        writes = scope["method"] not in _SAFE
        if path in _OPEN or path.startswith("/assets/"):
            if writes:
                refuse_other_origin(headers, host)
            return None
        if key is None:
            return self._without_key(scope, path)
        if not by_header and (writes or path.startswith("/api/")):
            refuse_other_origin(headers, host)
            if writes and WRITE_HEADER not in headers:
                raise RequestRefused(
                    403, f"A write with a cookie needs the header {WRITE_HEADER}.", code="no_write_header",
                    hint=f"Send `{WRITE_HEADER}: 1`, or the key as `Authorization: Bearer KEY`.",
                )  # fmt: skip
        return None

    def _first_visit(self, scope: Scope, headers: dict[str, str], path: str) -> Response | None:
        """The first URL has a code: keep its key in a cookie, and remove the code from the address bar.

        Only opening the URL counts: an image or a frame of another site cannot use up the code.
        """
        query = scope.get("query_string", b"").decode("latin-1")
        if "token=" not in query or scope["method"] not in _SAFE or path.startswith(("/api/", "/assets/")):
            return None
        parts = query.split("&")
        given = [part for part in parts if part.startswith("token=")]
        if not given:
            return None
        if scope["method"] == "HEAD":  # checking whether a URL works does not use up the code
            return Response()
        opened = headers.get("sec-fetch-mode", "navigate") == "navigate"
        if not opened or headers.get("sec-fetch-dest", "document") != "document":
            raise RequestRefused(403, "This URL is for the address bar only.", code="cross_origin")
        key = self.codes.take(unquote_plus(given[0].removeprefix("token=")))
        rest = "&".join(part for part in parts if part not in given)
        here = f"{self._settings().mount}{_address(scope, self._settings().mount)}" + (f"?{rest}" if rest else "")
        answer = RedirectResponse(here, 303)
        if key is not None:
            self.keep(answer, scope, key)
        elif self._key(scope, headers)[0] is None:
            return RedirectResponse(f"{self._settings().mount}{SIGN_IN}?used=1&to={quote(here, safe='/')}", 303)
        return answer  # a browser that has its key may open the URL again

    def _without_key(self, scope: Scope, path: str) -> Response:
        """Ask for a key; afterwards the browser returns to the same page."""
        if path.startswith("/api/") or scope["method"] not in _SAFE:
            raise RequestRefused(
                401, "This needs a key.", code="no_key",
                hint="In a browser, sign in: your key may have expired, or the studio was restarted. A program sends `Authorization: Bearer KEY`.",
            )  # fmt: skip
        mount = self._settings().mount
        query = scope.get("query_string", b"").decode("latin-1")
        here = f"{mount}{_address(scope, mount)}" + (f"?{query}" if query else "")
        plain = path == "/" and not query
        return RedirectResponse(f"{mount}{SIGN_IN}" + ("" if plain else f"?to={quote(here, safe='/')}"), 303)

    def _key(self, scope: Scope, headers: dict[str, str]) -> tuple[Key | None, bool]:
        """The key of a request, and whether it came in a header that no browser sends automatically."""
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.try_key(scope, secret.strip(), "header"), True
        cookies = cookies_of(headers, cookie_name(_split(headers.get("host", ""))[1]))
        keys = (by_cookie(self._settings().keys, self._signing, cookie) for cookie in cookies)
        return next((key for key in keys if key is not None), None), False


def inner_path(path: str, mount: str) -> str:
    """The path inside the studio.

    >>> inner_path("/studio/try", "/studio"), inner_path("/studio", "/studio"), inner_path("/try", "")
    ('/try', '/', '/try')
    """
    return path.removeprefix(mount) or "/"


def safe_way(to: str, mount: str) -> str:
    """Where to go after signing in: always a page of this studio.

    >>> (
    ...     safe_way("/try?a=1", ""),
    ...     safe_way("//evil.example", ""),
    ...     safe_way("https://evil.example", ""),
    ...     safe_way("/\\\\evil.example", ""),
    ... )
    ('/try?a=1', '/', '/', '/')
    """
    plain = to.startswith(f"{mount}/") and to.isascii() and to.isprintable() and "\\" not in to
    return to if plain and not to.startswith("//") and not to.startswith(f"{mount}{SIGN_IN}") else f"{mount}/"


def _address(scope: Scope, mount: str) -> str:
    """The path of a request inside the studio in the browser's spelling, with one slash at its start."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
    path = raw.decode("latin-1").partition("?")[0].removeprefix(mount)
    return "/" + quote(path.lstrip("/\\"), safe="/%:@!$&'()*+,;=-._~")


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request by their lower-case names. Headers that decide about access must not be repeated."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1")
        if name == "cookie" and name in found:
            found[name] += f"; {text}"  # HTTP/2 splits cookies
        elif name in found and name in _ONCE:
            raise RequestRefused(400, f"The header {name} was sent twice.", code="two_values")
        else:
            found[name] = text
    return found


def _split(host: str) -> tuple[str, str]:
    """The name and the port of a Host header.

    >>> _split("LocalHost:80"), _split("[::1]:80"), _split("[::1]"), _split("a")
    (('localhost', '80'), ('[::1]', '80'), ('[::1]', ''), ('a', ''))
    """
    if host.endswith("]") or ":" not in host:
        return host.lower(), ""
    name, _, port = host.rpartition(":")
    return name.lower(), port


def is_known(host: str, settings: StudioSettings) -> bool:
    """Whether a studio accepts the name in a Host header."""
    name, port = _split(host)
    if port and not (port.isascii() and port.isdigit()):
        return False
    if name in settings.hosts:
        return True
    if not settings.addresses:
        return False
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def refuse_other_origin(headers: dict[str, str], host: str) -> None:
    """Refuse requests from pages of another origin; another port of this machine is another origin."""
    origin = headers.get("origin")
    other = origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}")
    if other or headers.get("sec-fetch-site", "same-origin") not in _OURS:
        raise RequestRefused(
            403, "Requests from other sites are refused.", code="cross_origin",
            hint="If this is your own browser, the proxy in front of the studio must pass on the Host header unchanged.",
        )  # fmt: skip


async def _not_http(scope: Scope, receive: Receive, send: Send) -> None:
    """Close a web socket; confirm the startup and the shutdown of the server."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    elif scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


def _headers(nonce: str, version: str, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of every response; a response may override how long it may be cached."""
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    headers = {
        "content-security-policy": policy,
        "referrer-policy": "same-origin",  # with `no-referrer`, browsers send the origin `null` with our forms
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-store",
        "x-trueup-studio-version": version,
    }
    known = {bytes(name).lower() for name, _ in given}
    return [(name.encode(), value.encode()) for name, value in headers.items() if value and name.encode() not in known]
