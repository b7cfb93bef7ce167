"""Everything that is not a model's reply: the list of models, health, readiness, metrics, and what is not found.

These are small and rare, so a framework serves them. None of them says a key, and none asks an upstream for a reply.
"""

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.upstream import READING
from trueup.gateway.errors import Refused
from trueup.gateway.openapi import document
from trueup.gateway.wire import Receive, Scope, Send

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway


class Pages:
    """The other paths of a gateway."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._app = Starlette(
            routes=[
                Route("/healthz", self.healthz),
                Route("/readyz", self.readyz),
                Route("/metrics", self.metrics),
                Route("/openapi.json", self.openapi),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.models),
                Route("/{route}/v1/models", self.models),
            ],
            exception_handlers={404: _missing, 405: _missing, 500: _failed},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send, allowed: str = "") -> None:
        """Serve a path; `allowed` is the method of one that is not served here and was asked for in another way."""
        await (_not_allowed(allowed) if allowed else self._app)(scope, receive, send)

    async def healthz(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature, as below
        """The process is alive."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:  # noqa: ARG002
        """It can take requests: it is not stopping, and verdicts can be stored."""
        gateway = self._gateway
        problems = ["stopping"] if gateway.stopping else []
        store = gateway.store
        if store is not None and (store.trouble is not None or store.crowded or await store.areach() is not None):
            problems.append("store")
        return JSONResponse(
            {"status": "not ready" if problems else "ok", "problems": problems}, 503 if problems else 200
        )

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        gateway = self._gateway
        store = gateway.store
        gauges = (
            []
            if store is None
            else [
                ("trueup_store_queued", float(store.queued)),
                ("trueup_store_trouble", float(store.trouble is not None)),
            ]
        )
        return PlainTextResponse(gateway.metrics.page(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(document())

    async def models(self, request: Request) -> Response:
        """The models of the first upstream of OpenAI's kind, or those that routes name, where it has no list."""
        gateway = self._gateway
        try:
            gateway.door.caller({name.lower(): value for name, value in request.headers.items()})
            upstream = next((each for each in gateway.config.upstreams.values() if each.protocol == "openai"), None)
            if upstream is None:
                upstream = next(iter(gateway.config.upstreams.values()))
            async with asyncio.timeout(gateway.config.limits.total_seconds):
                reply = await gateway.line.send(upstream, _path_of(request.path_params.get("name", "")), None, {})
                try:
                    body = await reply.read()
                finally:
                    reply.close()
            if 300 <= reply.status < 400:
                return _told(Refused(502, "the upstream wants to send the request elsewhere", "server_error"))
            return Response(body, reply.status, media_type="application/json")
        except Refused as refused:
            return _told(refused)
        except TransportFailure as failed:
            return _told(Refused(502, failed.failure.reason, "server_error", "upstream_failed"))
        except TimeoutError:
            return _told(Refused(504, "the list of models did not come in time", "server_error", "upstream_timeout"))
        except (*READING,) as error:
            return _told(Refused(502, f"the list of models cannot be had ({type(error).__name__})", "server_error"))


def _path_of(name: str) -> str:
    """The path of a model, which is never another path: a name may hold slashes, but no way up and nothing behind it."""
    if not name:
        return "/v1/models"
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise Refused(404, f"there is no model {name[:100]!r}", code="model_not_found")
    return f"/v1/models/{quote(name, safe='/:@')}"


def _told(refused: Refused) -> Response:
    error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code or None}
    return JSONResponse({"error": error}, refused.status, refused.headers)


async def _missing(request: Request, error: Any) -> Response:
    if getattr(error, "status_code", 404) == 405:
        return _not_allowed((error.headers or {}).get("Allow", "GET"))
    return _told(Refused(404, f"there is nothing at {request.url.path[:200]!r}", code="not_found"))


def _not_allowed(allowed: str) -> Response:
    said = f"this path takes {allowed.replace(', ', ' or ')}"
    return _told(Refused(405, said, code="method_not_allowed", headers={"allow": allowed}))


async def _failed(request: Request, error: Any) -> Response:  # noqa: ARG001 - starlette's signature
    return _told(Refused(500, "the gateway failed", "server_error", "internal"))
