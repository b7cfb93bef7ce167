"""The key guard: checks every request of the HTTP server before the SDK sees it.

It refuses unknown hosts (DNS rebinding), requests from web pages of other origins, and requests without a key. The key is a bearer token.
Too many wrong keys from one address lock that address out for a minute.
"""

from typing import Any

from starlette.responses import JSONResponse

from trueup.mcp.wording import reworded
from trueup.studio.door.attempts import Attempts
from trueup.studio.door.guard import Application, Receive, Scope, Send, headers_of, is_known, refuse_other_origin
from trueup.studio.door.sessions import by_secret
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings


class KeyGuard:
    """An application that only lets requests with a key through."""

    def __init__(self, app: Application, settings: StudioSettings) -> None:
        self._app = app
        self._settings = settings
        self._attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._admit(scope)
            except RequestRefused as refusal:
                await _refused(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        headers = headers_of(scope)
        host = headers.get("host", "")
        if not is_known(host, self._settings):
            raise RequestRefused(
                403, f"This server does not answer to the host {host[:100]!r}.", code="unknown_host",
                hint="Use the address that it printed on startup, or add the name with --host NAME.",
            )  # fmt: skip
        refuse_other_origin(headers, host)
        address = (scope.get("client") or ("",))[0]
        if seconds := self._attempts.wait(address):
            raise RequestRefused(
                429, "Too many wrong keys came from this address.", code="too_many_attempts",
                hint=f"Try again in {seconds} seconds.", headers={"retry-after": str(seconds)},
            )  # fmt: skip
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise _unauthorized("This server needs a key.", "no_key")
        if by_secret(self._settings.keys, secret.strip()) is None:
            self._attempts.wrong(address)
            raise _unauthorized("The key is wrong.", "wrong_key")


def _unauthorized(message: str, code: str) -> RequestRefused:
    return RequestRefused(
        401, message, code=code, hint="Send the header `Authorization: Bearer KEY` with the key of this server: the one in its TRUEUP_MCP_KEY, or the one that it printed on startup.",
        headers={"www-authenticate": 'Bearer realm="trueup"'},
    )  # fmt: skip


def _refused(refusal: RequestRefused) -> Any:
    error = {"code": refusal.code, "message": reworded(refusal.message), "hint": reworded(refusal.hint)}
    return JSONResponse({"error": error}, refusal.status, refusal.headers)
