"""The rungs of a request: which upstreams to ask in turn, for which model, and for how long.

Built from a configuration, a route and the model that a client names. Nothing is sent here.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from trueup.gateway.config import Config, Route, Speaks, Upstream


class UpstreamRung(NamedTuple):
    """One upstream that a request may be sent to."""

    upstream: Upstream
    model: str = ""  # the model to request; empty: the client's
    share: float = 1.0  # its share of the request's time
    place: tuple[str, str] = (
        "",
        "",
    )  # of its circuit breaker: the upstream, plus the model if several rungs share one


def rungs_of(config: Config, route: Route | None, model: str, speaks: Speaks) -> tuple[UpstreamRung, ...]:
    """The rungs for a `model` on a route; empty if no upstream can be asked."""
    first = config.upstream_for(model, speaks, route)
    if first is None:
        return ()
    if route is None:
        return (UpstreamRung(first, place=(first.name, "")),)
    rows: list[tuple[Upstream, str, float | None]] = [(first, route.model, route.share)]
    others = (name for name in route.policy.models if name != (route.model or model))
    rows += [(config.upstream_for(name, speaks, route) or first, name, None) for name in others]
    rows += [(config.upstreams[spare.upstream], spare.model, spare.share) for spare in route.fallback]
    shares = shared([share for _, _, share in rows])
    often = Counter(upstream.name for upstream, _, _ in rows)
    return tuple(
        UpstreamRung(upstream, name, share, (upstream.name, (name or model) if often[upstream.name] > 1 else ""))
        for (upstream, name, _), share in zip(rows, shares, strict=True)
    )


def shared(given: Sequence[float | None]) -> list[float]:
    """The share of each rung; those without one divide what the others leave.

    >>> shared([None, 0.4]), shared([None, None])
    ([0.6, 0.4], [0.5, 0.5])
    """
    rest = 1.0 - sum(share for share in given if share is not None)
    unset = sum(share is None for share in given)
    return [rest / unset if share is None else share for share in given]
