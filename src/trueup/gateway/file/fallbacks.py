"""Reads the fallbacks of a route, with a fault for each that cannot be used."""

from typing import TYPE_CHECKING, Any

from trueup.gateway.config import Spare, Upstream
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader

_SPARE = ("upstream", "model", "share")


def read_fallback(
    desk: "SettingsReader", part: dict[str, Any], path: Parts, upstreams: dict[str, Upstream]
) -> tuple[Spare, ...]:
    """The upstreams that a route asks next; the shares must leave time for all of them."""
    found: list[Spare] = []
    for at, each in enumerate(desk.items(part.get("fallback"), (*path, "fallback"))):
        here: Parts = (*path, "fallback", at)
        row = desk.mapping(each, here, _SPARE)
        if isinstance(each, dict) and "upstream" not in row:
            desk.say("N006", here, "a fallback names an upstream: `fallback: [{upstream: NAME, model: MODEL}]`")
        name = desk.one_of(row.get("upstream"), (*here, "upstream"), upstreams, "upstream")
        model = desk.text(row.get("model", ""), (*here, "model"))
        found.append(Spare(name or "", model, read_share(desk, row.get("share"), (*here, "share"))))
    given = [part.get("share"), *(spare.share for spare in found)]
    known = sum(share for share in given if isinstance(share, int | float))
    if found and (known > 1.0 + 1e-9 or (None in given and known >= 1.0)):
        desk.say("N006", (*path, "fallback"), f"the shares add up to {known:g}; all rungs together have 1")
    return tuple(found)


def read_share(desk: "SettingsReader", data: Any, path: Parts) -> float | None:
    """A share of the time, if one is given."""
    if data is None:
        return None
    if type(data) not in (int, float) or not 0 < data < 1:
        desk.say("N006", path, f"share must be a number above 0 and below 1; got {data!r}")
        return None
    return float(data)
