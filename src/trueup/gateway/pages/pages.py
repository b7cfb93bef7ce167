"""Everything that is not a model's reply: the list of models, health, readiness, metrics, a status page, and 404.

These are small and rare, so a framework serves them. None of them reveals a key, and none asks an upstream for a reply.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from trueup import __version__
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.pages.models import model, models
from trueup.gateway.pages.openapi import document
from trueup.gateway.pages.status import HEADERS, Status, contract_names, is_local, key_headers, page
from trueup.gateway.serving.wire import Receive, Scope, Send
from trueup.store.errors import StoreError
from trueup.store.stats import Recent, recent

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway


INCOMPLETE = "x-trueup-incomplete"  # the upstreams whose models are missing from a list


class Pages:
    """The other paths of a gateway."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._began = time.monotonic()
        self._looking = asyncio.Lock()
        self._app = Starlette(
            routes=[
                Route("/", self.status),
                Route("/healthz", self.healthz),
                Route("/readyz", self.readyz),
                Route("/metrics", self.metrics),
                Route("/openapi.json", self.openapi),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.models),
                Route("/{route}/v1/models", self.models),
                Route("/{route}/v1/models/{name:path}", self.models),
            ],
            exception_handlers={404: _missing, 405: _missing, 500: _failed},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send, allowed: str = "") -> None:
        """Serve a path; `allowed` is the right method of a path that was requested with another one."""
        await (_not_allowed(allowed) if allowed else self._app)(scope, receive, send)

    async def healthz(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature, as below
        """The process is alive."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:  # noqa: ARG002
        """It can take requests: it is not stopping, and verdicts can be stored."""
        problems = await self._problems()
        return JSONResponse(
            {"status": "not ready" if problems else "ok", "problems": problems}, 503 if problems else 200
        )

    async def _problems(self) -> list[str]:
        """Why it cannot take requests."""
        gateway = self._gateway
        problems = ["stopping"] if gateway.stopping else []
        store = gateway.store
        if store is not None and (store.trouble is not None or store.crowded or await store.areach() is not None):
            problems.append("store")
        return problems

    async def status(self, request: Request) -> Response:
        """The page about this gateway, for people."""
        gateway = self._gateway
        config = gateway.config
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            caller = gateway.door.caller(key_headers(headers))
        except RefusedRequest as refused:
            if refused.status == 401:
                refused.headers["www-authenticate"] = 'Basic realm="trueup: any user, a client key as password"'
            return _told(refused)
        if caller is None and not is_local(headers.get("host", ""), config):
            said = "under a host name, this page is only available with client keys; open it by IP address, or configure `clients`"
            return _told(RefusedRequest(403, said, "permission_error", "unknown_host"))
        shown = Status(
            __version__, time.monotonic() - self._began, await self._problems(),
            [route for route in config.routes if caller is None or not caller.routes or route.name in caller.routes], contract_names(config),
            await self._recent(None if caller is None else caller.tenant),
        )  # fmt: skip
        return HTMLResponse(page(shown), headers=HEADERS)

    async def _recent(self, tenant: str | None) -> Recent | str:
        """The requests of the last hour, or why they are unknown; reads the store one request at a time."""
        store = self._gateway.store
        if store is None:
            return "No store is configured. Counters since the start are at /metrics."
        since = time.time() - 3600
        try:
            async with self._looking:
                return await asyncio.to_thread(store.read, lambda session: recent(session, since, tenant))
        except StoreError:
            return "The store does not answer."

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        """The counts of all workers."""
        gateway = self._gateway
        await gateway.keeper.look()
        return PlainTextResponse(gateway.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(document())

    async def models(self, request: Request) -> Response:
        """The models that clients can ask for, or one of them by its name."""
        gateway = self._gateway
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            caller = gateway.door.caller(headers)
            name, route = request.path_params.get("name", ""), request.path_params.get("route", "")
            config, line = gateway.config, gateway.line
            listed = await (
                model(config, line, headers, caller, name, route)
                if name
                else models(config, line, headers, caller, route)
            )
        except RefusedRequest as refused:
            return _told(refused)
        return JSONResponse(listed.body, headers={INCOMPLETE: ", ".join(listed.without)} if listed.without else None)


def _told(refused: RefusedRequest) -> Response:
    error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code or None}
    return JSONResponse({"error": error}, refused.status, refused.headers)


async def _missing(request: Request, error: Any) -> Response:
    if getattr(error, "status_code", 404) == 405:
        return _not_allowed((error.headers or {}).get("Allow", "GET"))
    return _told(RefusedRequest(404, f"there is nothing at {request.url.path[:200]!r}", code="not_found"))


def _not_allowed(allowed: str) -> Response:
    said = f"this path accepts only {allowed.replace(', ', ' or ')}"
    return _told(RefusedRequest(405, said, code="method_not_allowed", headers={"allow": allowed}))


async def _failed(request: Request, error: Any) -> Response:  # noqa: ARG001 - starlette's signature
    return _told(RefusedRequest(500, "an internal error of the gateway", "server_error", "internal"))
