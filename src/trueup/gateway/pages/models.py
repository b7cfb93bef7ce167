"""`GET /v1/models`: the names that clients can ask for, in the shape of OpenAI or Anthropic.

The names are those spelled out in routes and `models`, and the models of the upstreams. An upstream that does not answer is
left out of the list, and a header names it; that is an error only if nothing else is known. No key and no address is part of
an answer.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.upstream import READING, UpstreamConnections, broken
from trueup.gateway.config import Caller, Config, Route, Speaks, Upstream
from trueup.gateway.door.exchange import who
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.keys import permit
from trueup.gateway.replies.rungs import rungs_of

log = logging.getLogger("trueup.gateway")

_SECONDS = 10.0  # for one upstream's list; the names of the routes do not wait longer for it
_SIGNS = frozenset("*?[")
_decode = msgspec.json.Decoder(dict[str, Any]).decode
Row = dict[str, Any]


class ModelList(NamedTuple):
    """An answer: its body, and the upstreams that could not be asked."""

    body: Row
    without: tuple[str, ...] = ()


async def models(
    config: Config, line: UpstreamConnections, headers: Mapping[str, str], caller: Caller | None, route_name: str = ""
) -> ModelList:
    """All models that a client can request with its key; with `route_name`, those of this route."""
    speaks, route = _spoken(headers), _route(config, route_name)
    rows = {name: _row(name, speaks) for name in _names(config, speaks, route)}
    asked = _upstreams(config, speaks, route)
    results = await asyncio.gather(*(_of(config, line, each, headers) for each in asked), return_exceptions=True)
    refusals: dict[str, RefusedRequest] = {}
    for upstream, result in zip(asked, results, strict=True):
        if isinstance(result, RefusedRequest):
            refusals[upstream.name] = result
        elif isinstance(result, BaseException):
            raise result
        else:
            for row in result:
                name = row["id"]
                if name not in rows and _leads_to(config, speaks, route, name) is upstream:
                    rows[name] = row if upstream.protocol == speaks else _row(name, speaks)
    for refused in refusals.values():
        if not rows and len(refusals) == len(asked):
            raise refused
        log.warning("%s; /v1/models lists the other models", refused.message)
    shown = [row for name, row in rows.items() if _may_ask(config, headers, caller, route, name)]
    return ModelList(_list(shown, speaks), tuple(refusals))


async def model(
    config: Config,
    line: UpstreamConnections,
    headers: Mapping[str, str],
    caller: Caller | None,
    name: str,
    route_name: str = "",
) -> ModelList:
    """One model by its name; with `route_name`, one of this route."""
    speaks, route = _spoken(headers), _route(config, route_name)
    if not _may_ask(config, headers, caller, route, name):
        raise _unknown(name)
    if name in _names(config, speaks, route):
        return ModelList(_row(name, speaks))
    path = _path_of(name)
    upstream = _leads_to(config, speaks, route, name)
    if upstream is None:
        raise _unknown(name)
    status, body = await _fetched(config, line, upstream, path, headers)
    if status == 200 and upstream.protocol != speaks:
        body = _row(name, speaks)
    if status == 404:
        raise _unknown(name)
    if status != 200:
        raise _refused(upstream, f"the model cannot be looked up (status {status})")
    return ModelList(body)


def _may_ask(config: Config, headers: Mapping[str, str], caller: Caller | None, route: Route | None, name: str) -> bool:
    """Whether a client may ask for a model: its key allows it, and an upstream is open to its tenant."""
    on = route or config.route_for(name)
    try:
        permit(caller, on, name)
    except RefusedRequest:
        return False
    tenant, _ = who(caller, headers, {})
    return any(rung.upstream.takes_from(tenant) for rung in rungs_of(config, on, name, _spoken(headers)))


def _spoken(headers: Mapping[str, str]) -> Speaks:
    """The protocol of a client: Anthropic's clients always send their version."""
    return "anthropic" if "anthropic-version" in headers else "openai"


def _route(config: Config, name: str) -> Route | None:
    route = config.route(name) if name else None
    if name and route is None:
        raise RefusedRequest(404, f"there is no route {name[:100]!r}", code="not_found")
    return route


def _names(config: Config, speaks: Speaks, route: Route | None) -> dict[str, None]:
    """The names that the configuration spells out and that lead to an upstream with the protocol."""
    found = dict.fromkeys(_spelt(config, speaks, route))
    return {name: None for name in found if _leads_to(config, speaks, route, name) is not None}


def _spelt(config: Config, speaks: Speaks, route: Route | None) -> Iterator[str]:
    for each in config.routes if route is None else (route,):
        yield from (name for name in each.models if not _SIGNS & set(name))
    if route is None:
        for name, upstream in config.models.items():
            if not _SIGNS & set(name) and config.upstreams[upstream].protocol == speaks:
                yield name


def _leads_to(config: Config, speaks: Speaks, route: Route | None, name: str) -> Upstream | None:
    """The upstream that a request for this model is sent to first; None if there is none for this protocol."""
    if route is not None and route.models and not any(fnmatchcase(name, pattern) for pattern in route.models):
        return None
    rungs = rungs_of(config, route or config.route_for(name), name, speaks)
    return rungs[0].upstream if rungs else None


def _upstreams(config: Config, speaks: Speaks, route: Route | None) -> list[Upstream]:
    """Upstreams whose models are requested under their own names: those with the protocol, or named by a route with patterns."""
    if route is not None and route.models and not any(_SIGNS & set(pattern) for pattern in route.models):
        return []
    if route is not None and route.upstream:
        found = [config.upstreams[route.upstream]]
    else:
        named = {each.upstream for each in config.routes if any(_SIGNS & set(pattern) for pattern in each.models)}
        found = [each for each in config.upstreams.values() if each.protocol == speaks or each.name in named]
    return [each for each in found if each.access is None]  # clouds list deployments elsewhere


async def _of(config: Config, line: UpstreamConnections, upstream: Upstream, headers: Mapping[str, str]) -> list[Row]:
    """An upstream's models, as it describes them."""
    path = "/v1/models?limit=1000" if upstream.protocol == "anthropic" else "/v1/models"
    status, body = await _fetched(config, line, upstream, path, headers)
    if status != 200:
        raise _refused(upstream, f"the list of models is not available (status {status})")
    rows = body.get("data")
    listed = rows if isinstance(rows, list) else []
    return [row for row in listed if isinstance(row, dict) and isinstance(row.get("id"), str)]


async def _fetched(
    config: Config, line: UpstreamConnections, upstream: Upstream, path: str, headers: Mapping[str, str]
) -> tuple[int, Row]:
    """The status and the body of an answer; a body counts only if the status is a success."""
    seconds = min(_SECONDS, config.limits.total_seconds)
    try:
        async with asyncio.timeout(seconds):
            reply = await line.send(upstream, path, None, headers)
            try:
                if reply.status != 200:
                    return reply.status, {}
                return reply.status, _decode(await reply.read())
            finally:
                reply.close()
    except TransportFailure as failed:
        raise RefusedRequest(502, failed.failure.reason, "server_error", "upstream_failed") from None
    except TimeoutError:
        said = f"upstream {upstream.name!r} did not list its models within {seconds:g} s"
        raise RefusedRequest(504, said, "server_error", "upstream_timeout") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _refused(upstream, "the list of models is not a JSON object") from None
    except (*READING,) as error:
        raise RefusedRequest(502, broken(upstream, error).reason, "server_error", "upstream_failed") from None


def _path_of(name: str) -> str:
    """The path of a model, which is never another path: a name may contain slashes, but cannot go up or add anything after
    it.
    """
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise _unknown(name)
    return f"/v1/models/{quote(name, safe='/:@')}"


def _unknown(name: str) -> RefusedRequest:
    return RefusedRequest(404, f"there is no model {name[:100]!r}", code="model_not_found")


def _refused(upstream: Upstream, said: str) -> RefusedRequest:
    return RefusedRequest(502, f"upstream {upstream.name!r}: {said}", "server_error", "upstream_failed")


def _row(name: str, speaks: Speaks) -> Row:
    """A model of a route; its age is unknown."""
    if speaks == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "trueup"}


def _list(rows: list[Row], speaks: Speaks) -> Row:
    if speaks == "openai":
        return {"object": "list", "data": rows}
    first, last = (rows[0]["id"], rows[-1]["id"]) if rows else (None, None)
    return {"data": rows, "has_more": False, "first_id": first, "last_id": last}
