"""The application: takes settings and builds an ASGI application. Its routes are the page, its assets and the table of
endpoints.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from trueup.studio.answering import Answering, Threads, accepts_gzip, refused
from trueup.studio.api.table import endpoints
from trueup.studio.assets import assets, index, version
from trueup.studio.bodies import read_body
from trueup.studio.door.guard import NONCE, SIGN_IN, SIGN_OUT, Guard, Receive, Scope, Send, inner_path, safe_way
from trueup.studio.endpoint import Endpoint
from trueup.studio.openapi import document
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key, StudioSettings
from trueup.studio.studio import Studio

if TYPE_CHECKING:
    from trueup.store.store import Store

VIEWS = ("try", "verdicts", "contracts", "runs", "live", "tune")
_FOREVER = "public, max-age=31536000, immutable"
_MOST_FORM = 16 * 1024  # bytes of a sign-in


class Application:
    """The studio as an ASGI application."""

    def __init__(self, settings: StudioSettings, lent: "Callable[[], Store | None] | None" = None) -> None:
        self.studio = Studio(settings, lent)
        self._threads = Threads()
        self._table = tuple(endpoints())
        mount = settings.mount
        paths: list[tuple[str, Callable[..., object], list[str]]] = [
            ("/", self._front, ["GET"]),
            ("/healthz", _healthz, ["GET"]),
            (SIGN_IN, self._sign_in, ["GET", "POST"]),
            (SIGN_OUT, self._sign_out, ["POST"]),
            ("/assets/{version}/{name:path}", _asset, ["GET"]),
            ("/api/openapi.json", self._openapi, ["GET"]),
            *((f"/{view}{rest}", self._page, ["GET"]) for view in VIEWS for rest in ("", "/{rest:path}")),
        ]
        routes = [Route(f"{mount}{path}", handler, methods=methods) for path, handler, methods in paths]
        routes += _routes(self.studio, self._table, self._threads)
        if mount:
            routes.append(Route(mount, self._front))
        app = Starlette(routes=routes, exception_handlers={404: self._missing, 405: self._missing})
        app.router.redirect_slashes = False
        self._guard = Guard(app, lambda: self.studio.settings, version=version())

    @property
    def settings(self) -> StudioSettings:
        """The settings in force."""
        return self.studio.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    def follow(self, settings: StudioSettings) -> None:
        """Use other settings from the next request on; the mount stays."""
        self.studio.settings = settings

    def code_for(self, key: Key) -> str:
        """A code that opens the studio once, in place of the key: `/?token=CODE`."""
        return self._guard.codes.new(key)

    def stop(self) -> None:
        """Refuse new requests, and end long jobs at their next message."""
        self._threads.stopping = True

    def close(self) -> None:
        """Close what the studio opened."""
        self.studio.close()

    async def _front(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        return RedirectResponse(f"{self.settings.mount}/try", 303)

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(index(self.settings.mount, request.scope[NONCE]))

    async def _openapi(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(document(self._table, self.settings.mount))

    async def _sign_in(self, request: Request) -> Response:
        """Accept a key from a form, for a browser that did not get one from the first URL."""
        if request.method != "POST":
            return HTMLResponse(index(self.settings.mount, request.scope[NONCE]))
        mount = self.settings.mount
        to = f"{mount}/"
        try:
            raw = await read_body(request.receive, request.headers, _MOST_FORM)
            given = parse_qs(raw.decode("utf-8", "replace"), max_num_fields=10)
            to = safe_way(given.get("to", [""])[0], mount)
            key = self._guard.try_key(request.scope, given.get("key", [""])[0].strip())
        except RequestRefused as refusal:
            if refusal.status != 429:
                return refused(refusal)
            return RedirectResponse(f"{mount}{SIGN_IN}?wait=1&to={quote(to, safe='/')}", 303)
        except ValueError:
            return refused(RequestRefused(400, "That is not a key."))
        except ClientDisconnect:
            return Response(status_code=499)
        if key is None:
            return RedirectResponse(f"{mount}{SIGN_IN}?failed=1&to={quote(to, safe='/')}", 303)
        answer = RedirectResponse(to, 303)
        self._guard.keep(answer, request.scope, key)
        return answer

    async def _sign_out(self, request: Request) -> Response:
        """Let the browser forget its key."""
        answer = RedirectResponse(f"{self.settings.mount}{SIGN_IN}", 303)
        self._guard.forget(answer, request.scope)
        return answer

    async def _missing(self, request: Request, error: Exception) -> Response:
        path = inner_path(request.url.path, self.settings.mount)
        if getattr(error, "status_code", 404) == 405:
            allowed = ", ".join(sorted(_methods(request)))
            said = f"This path takes {allowed.replace(', ', ' or ')}."
            return refused(RequestRefused(405, said, code="method_not_allowed", headers={"allow": allowed}))
        if "text/html" in request.headers.get("accept", "") and not path.startswith(("/api/", "/assets/")):
            page = index(self.settings.mount, request.scope[NONCE])
            return HTMLResponse(page, 404)
        hint = f"{self.settings.mount}/api/openapi.json lists the paths of the API." if path.startswith("/api") else ""
        return refused(RequestRefused(404, f"There is nothing at {path[:200]!r}.", code="not_found", hint=hint))


def _routes(studio: Studio, table: Iterable[Endpoint], threads: Threads) -> list[Route]:
    mount = studio.settings.mount
    return [
        Route(f"{mount}/api{each.path}", Answering(studio, each, threads).__call__, methods=[each.method])
        for each in table
    ]


def _methods(request: Request) -> set[str]:
    """The methods that the path of a request takes."""
    routes: list[Route] = request.app.routes
    fitting = (route.methods or () for route in routes if route.path_regex.match(request.url.path))
    return {method for methods in fitting for method in methods}


async def _healthz(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
    return JSONResponse({"status": "ok"})


async def _asset(request: Request) -> Response:
    asset = assets().get(request.path_params["name"])
    if asset is None:
        return refused(RequestRefused(404, "There is no such file.", code="not_found"))
    if request.path_params["version"] != version():
        return refused(RequestRefused(404, "The studio was updated.", code="updated", hint="Reload the page."))
    headers = {"cache-control": _FOREVER, "vary": "accept-encoding", "content-type": asset.kind}
    if asset.packed and accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(asset.packed, headers={**headers, "content-encoding": "gzip"})
    return Response(asset.body, headers=headers)
