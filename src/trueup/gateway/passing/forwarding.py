"""Passes other endpoints of providers through: the upstream's answer is sent on piece by piece, and quota is charged.

They cannot bypass a contract: an endpoint that can return model text is refused for a model with a contract, and nothing is
sent for a model whose requests are judged. Only the tenant of an upstream can reach what it keeps (files, batches,
responses). Uploads and answers are passed on piece by piece; if an answer breaks off, the client sees that, too.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import READING, ForwardRequest, UpstreamResponse, broken
from trueup.gateway.config import Caller, Config, Route, Speaks, Upstream
from trueup.gateway.door.binding import refuse_two_models
from trueup.gateway.door.exchange import other_tenant, who
from trueup.gateway.door.visit import FAILED, Visit
from trueup.gateway.errors import NO_RETRY, RefusedRequest, not_json
from trueup.gateway.keys import permit
from trueup.gateway.pages.checking import Work
from trueup.gateway.passing.endpoints import Endpoint, MatchedPath, query_of
from trueup.gateway.passing.forms import Named, boundary_of, model_in
from trueup.gateway.passing.passing import shown_headers
from trueup.gateway.protocols.chat import Chat
from trueup.gateway.protocols.protocol import a_name, encode, no_model
from trueup.gateway.replies.naming import renamed
from trueup.gateway.replies.tab import NO_TAB, Tab, metered
from trueup.gateway.serving.wire import Out, Receive, ResponseStream, Upload, upload
from trueup.gateway.watching.metrics import ASKED, ATTEMPTS, FAILURES, Metrics
from trueup.store.store import Store

_PLAIN = Chat()  # the protocol of errors inside a stream
_whole = msgspec.json.Decoder(dict[str, Any])
_SMALL = 65_536  # bytes of an answer that is sent in one piece
# An upstream may send any file; no browser may take it for a page of the gateway.
_INERT = [(b"content-security-policy", b"sandbox; default-src 'none'"), (b"x-content-type-options", b"nosniff")]


class _Sent(NamedTuple):
    """A request that may be passed on."""

    endpoint: Endpoint
    upstream: Upstream
    parcel: ForwardRequest
    headers: dict[str, str]
    tab: Tab
    model: str  # requested from the upstream; empty: unknown
    uploaded: Upload | None = None


class _Body(NamedTuple):
    """The facts about a request in its body."""

    model: str = ""
    user: str = ""
    given: dict[str, Any] = {}  # our own extension
    raw: bytes | None = None  # the body that is passed on
    named: Named | None = None  # where a form names the model
    models: tuple[str, ...] = ()  # of the requests it contains

    @property
    def nameless(self) -> bool:
        """Whether one of its requests names no model."""
        return not all(map(str.strip, self.models or (self.model,)))

    def asking_for(self, model: str) -> bytes | None:
        """The body to pass on, with another model."""
        if self.raw is None or not model or not self.model:
            return self.raw
        if self.named is None:
            return renamed(self.raw, model)
        return self.raw[: self.named.start] + model.encode() + self.raw[self.named.end :]


class Forwarding:
    """These paths of one gateway; `store` returns the open store, or None."""

    def __init__(self, metrics: Metrics, store: Callable[[], Store | None]) -> None:
        self._metrics = metrics
        self._store = store

    def open(
        self, place: MatchedPath, endpoint: Endpoint, receive: Receive, visit: Visit, *, headers: dict[str, str], raw: bytes, caller: Caller | None,
    ) -> Work:  # fmt: skip
        """The work that a request asks for; a request that may not be passed on raises `RefusedRequest`."""
        config = visit.runtime.config
        if endpoint.group not in config.endpoints:
            said = (
                f"this endpoint is turned off here; `endpoints: [{endpoint.group}]` in the gateway's file turns it on"
            )
            raise RefusedRequest(404, said, code="endpoint_off", headers=NO_RETRY)
        one_model = config.binds or (caller is not None and bool(caller.models))
        body = _read(endpoint, headers, raw, one_model=one_model)
        tenant, user = who(caller, headers, body.given)
        route = _route(config, place.route, body.model)
        visit.model, visit.tenant = body.model, tenant
        visit.route = "" if route is None else route.name
        if endpoint.names_models and config.binds and body.nameless:
            raise no_model()  # an upstream may then use the bound one
        for model in (body.model, *body.models):
            on = route if model == body.model else _route(config, place.route, model)
            permit(caller, on, model)
            _refuse_unjudged(endpoint, on, headers, body)
            if model:  # the path of another route does not cancel the contract of the model's own
                _refuse_unjudged(endpoint, config.bound_to(model), headers, body)
        speaks = endpoint.speaks or ("anthropic" if "anthropic-version" in headers else "openai")
        upstream = _upstream(config, endpoint, speaks, route, body.model, tenant)
        path = place.path + query_of(endpoint, visit.scope.get("query_string", b""))
        limit = config.limits.file if endpoint.large else 0
        alias = route.model if route is not None and body.model else ""
        parcel = ForwardRequest(
            endpoint.method,
            path,
            body.asking_for(alias),
            _content_type(endpoint, headers),
            limit=limit,
        )
        uploaded = None
        if endpoint.carries == "upload":
            uploaded = upload(receive, headers, config.limits)
            parcel = parcel._replace(body=uploaded.pieces(), length=uploaded.length)
        tab = NO_TAB
        if endpoint.method == "POST":
            # An upload is unknown before it has been sent, so no idempotency key can identify it.
            key = "" if uploaded else a_name(headers.get("idempotency-key"), "idempotency-key")
            tab = metered(
                self._store(), config, route, tenant=tenant, key=key, user=user or body.user, model=body.model,
                request=(endpoint.method, path, body.raw or b""),
            )  # fmt: skip
        return partial(
            self._answer, visit, _Sent(endpoint, upstream, parcel, headers, tab, alias or body.model, uploaded)
        )

    async def _answer(self, visit: Visit, sent: _Sent, out: Out) -> None:
        """Pass a request on, and count its outcome."""
        try:
            await self._pass(visit, sent, out)
        except RefusedRequest as refused:
            self._count(visit, sent, refused.status, refused.code)
            raise
        status = visit.out.status
        self._count(visit, sent, status, "" if status < 400 else str(status))

    def _count(self, visit: Visit, sent: _Sent, status: int, reason: str) -> None:
        """Count a request; a call counts for the model it asked, with the `reason` if it failed."""
        metrics = self._metrics
        metrics.count("trueup_endpoints_total", endpoint=sent.endpoint.group, status=str(status))
        if visit.attempts and sent.model:
            metrics.tick(ATTEMPTS, (sent.model,))
            metrics.tick(ASKED, (sent.model,))
            if reason:
                metrics.tick(FAILURES, (sent.model, reason))

    async def _pass(self, visit: Visit, sent: _Sent, out: Out) -> None:
        seconds = visit.runtime.config.limits.total_seconds
        reply: UpstreamResponse | None = None
        if sent.uploaded is not None:
            await sent.uploaded.admit()
        async with sent.tab:
            visit.outcome, visit.attempts = FAILED, 1
            start = time.perf_counter()
            try:
                with Within(seconds):
                    reply = await visit.runtime.line.forward(sent.upstream, sent.parcel, sent.headers)
                    visit.waited = time.perf_counter() - start
                    if 300 <= reply.status < 400:
                        said = "the upstream redirects the request, which the gateway does not follow"
                        raise RefusedRequest(502, said, "server_error", "upstream_redirects")
                    await _pass_on(visit, reply, sent.tab, out)
            except TransportFailure as failed:
                raise RefusedRequest(502, failed.failure.reason, "server_error", "upstream_failed") from None
            except TimeoutError:
                said = f"the upstream did not answer within {seconds:g} s"
                raise RefusedRequest(504, said, "server_error", "upstream_timeout") from None
            except READING as error:
                said = broken(sent.upstream, error).reason
                raise RefusedRequest(502, said, "server_error", "upstream_failed") from None
            finally:
                if reply is not None:
                    reply.close()
        visit.outcome = "passed"


async def _pass_on(visit: Visit, reply: UpstreamResponse, tab: Tab, out: Out) -> None:
    """Send an answer to the client: a small one whole, any other as it arrives. It is charged before its first byte is sent."""
    headers = [*shown_headers(reply), *_INERT, (b"x-trueup-outcome", b"passed"), (b"x-trueup-attempts", b"1")]
    overhead = (b"x-trueup-overhead-ms", b"%.3f" % ((time.perf_counter() - visit.began - visit.waited) * 1000))
    good = reply.status < 300
    if 0 < reply.size <= _SMALL and not reply.is_stream:
        body = await reply.read()
        await tab.settle(headers, body, charged=good)
        await out.whole(reply.status, body, [*headers, overhead])
        return
    copy = tab.copy(headers, _PLAIN.error_event) if reply.is_stream else None
    stream = ResponseStream(out, reply.status, [*headers, overhead], copy)
    async for piece in reply.pieces():
        if not stream.started:
            await tab.settle(charged=good)
        await stream.write(piece)
    await tab.settle(charged=good)
    await stream.end()


def _read(endpoint: Endpoint, headers: dict[str, str], raw: bytes, *, one_model: bool) -> _Body:
    """The part of a body that is read, and the body to pass on; with `one_model`, it must not name two."""
    kind = headers.get("content-type", "")
    if endpoint.carries == "nothing":
        return _Body()
    if endpoint.carries == "upload":
        boundary_of(kind)
        return _Body()
    if endpoint.carries == "form" and not kind.lower().startswith("application/json"):
        named = model_in(raw, kind)
        return _Body(a_name(named.model, "model"), raw=raw, named=named)
    try:
        body = _whole.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise not_json(error) from None
    if one_model:
        refuse_two_models(raw, body)
    given = body.pop("trueup", None)
    if given is not None and not isinstance(given, dict):
        raise RefusedRequest(400, "'trueup' must be an object", code="invalid_value")
    user = body.get("user")
    # Where a contract could be bound, a duplicate key is sent once, with the value that was read.
    anew = given is not None or endpoint.generates
    return _Body(
        a_name(body.get("model"), "model"),
        a_name(user if isinstance(user, str) else None, "user"),
        given or {},
        encode(body) if anew else raw,
        models=_models(body) if endpoint.many else (),
    )


def _models(body: dict[str, Any]) -> tuple[str, ...]:
    """The models of the requests in a batch, each once."""
    rows = body.get("requests")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("params"), dict) for row in rows
    ):
        raise RefusedRequest(400, "'requests' must be a list of requests with their 'params'", code="invalid_value")
    for row in rows:
        refuse_two_models(b"", row["params"])
    return tuple({a_name(row["params"].get("model"), "model"): None for row in rows})


def _route(config: Config, name: str, model: str) -> Route | None:
    route = config.route(name) if name else config.route_for(model) if model else None
    if name and route is None:
        raise RefusedRequest(404, f"there is no route {name[:100]!r}", code="not_found")
    return route


def _refuse_unjudged(endpoint: Endpoint, route: Route | None, headers: dict[str, str], body: _Body) -> None:
    """Refuse what a contract would have to judge: no contract can read these replies and requests."""
    use = "use chat completions, responses or messages"
    if headers.get("x-trueup-contract") or body.given.get("contract"):
        raise RefusedRequest(400, f"no contract can judge this endpoint; {use}", code="not_judged", headers=NO_RETRY)
    if route is None:
        return
    if route.request is not None or (route.contract is not None and endpoint.generates):
        message = f"the route {route.name!r} has a contract that cannot judge this endpoint; {use}"
        raise RefusedRequest(403, message, "permission_error", "contract_bound", headers=NO_RETRY)


def _upstream(
    config: Config, endpoint: Endpoint, speaks: Speaks, route: Route | None, model: str, tenant: str
) -> Upstream:
    """The upstream to ask; what it keeps is only for its own tenant."""
    upstream = config.upstream_for(model, speaks, route)
    if endpoint.kept and (route is None or not route.upstream):
        of_it = [each for each in config.upstreams.values() if each.protocol == speaks and each.keeps_for(tenant)]
        upstream = of_it[0] if of_it else upstream
    if upstream is None or upstream.protocol != speaks:
        raise RefusedRequest(404, f"no upstream of this gateway uses the protocol {speaks!r}", code="not_found")
    if endpoint.kept and not upstream.keeps_for(tenant):
        said = "no upstream keeps files, batches or responses for this tenant; set `tenant` of an upstream to allow it"
        raise RefusedRequest(403, said, "permission_error", "tenant_not_allowed", headers=NO_RETRY)
    if not upstream.takes_from(tenant):
        raise other_tenant()
    return upstream


def _content_type(endpoint: Endpoint, headers: dict[str, str]) -> str:
    """The content type of a form, which contains its boundary; everything else is JSON."""
    given = headers.get("content-type", "")
    is_form = endpoint.carries in ("form", "upload") and not given.lower().startswith("application/json")
    return given if is_form else ""
