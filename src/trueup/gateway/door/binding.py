"""Refuses requests that would bypass the contract of their model.

A model is bound to the contract of the route for it, under every name that this route requests from an upstream. The path of
another route, another spelling or a body that can be read in two ways does not change that.
"""

import json
from collections.abc import Mapping
from typing import Any

from trueup.gateway.config import Config, Route
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.gateway.protocols.protocol import no_model

_KEY = b'"model"'
_ESCAPED = b"\\u006"  # the first characters of an escaped key
_LENGTH = len("model")


def refuse_unbound(config: Config, route: Route | None, model: str) -> None:
    """Refuse a request that would use a `route` without the contract that its model is bound to."""
    if not config.binds:
        return
    if not model.strip():
        raise no_model()  # an upstream may then use the bound one
    bound = config.bound_to(model)
    if bound is None or bound is route or not _lacks(route, bound):
        return
    said = f"the model {model!r} is bound to the contract of the route {bound.name!r}; "
    if config.route_for(model) is None:
        said += "ask for a model of that route, or add a route for this one to the gateway's file"
    else:
        said += "leave the other route out of the path"
    raise RefusedRequest(403, said, "permission_error", "contract_bound", headers=NO_RETRY)


def _lacks(route: Route | None, bound: Route) -> bool:
    """Whether a route lacks a contract that the other one has."""
    if route is None:
        return True
    return (bound.contract is not None and route.contract is None) or (
        bound.request is not None and route.request is None
    )


def refuse_two_models(raw: bytes, body: Mapping[str, Any]) -> None:
    """Refuse a body that names two models: upstreams may read either of two duplicate keys, and some ignore the case of keys."""
    for key in body:
        if len(key) == _LENGTH and key != "model" and key.casefold() == "model":
            raise _two_models(key)
    escaped = b"\\" in raw and _ESCAPED in raw  # a single byte is found much faster
    if (escaped or raw.count(_KEY) > 1) and _keys(raw).count("model") > 1:
        raise _two_models("model")


def _keys(raw: bytes) -> list[str]:
    """The keys of a body, each as often as it occurs."""
    keys: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        keys[:] = [key for key, _ in pairs]  # the outermost object is the last to end

    try:
        json.loads(raw, object_pairs_hook=note, parse_int=float)
    except (ValueError, RecursionError):
        return ["model", "model"]  # which this parser cannot report
    return keys


def _two_models(key: str) -> RefusedRequest:
    return RefusedRequest(400, f"the request names two models; send 'model' once, without {key!r}", code="two_models")
