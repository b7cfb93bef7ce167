"""Warns about routes that no model reaches, because earlier routes take all models of a pattern.

The first route that matches a model is used. A pattern after one that takes all of its models never matches, so its contract
is never applied.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueup.gateway.config import Route, fits
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader


def warn_of_shadows(desk: "SettingsReader", routes: Sequence[Route], path: Parts) -> None:
    """Report the patterns of the last route that earlier routes take."""
    *earlier, last = routes
    for pattern in last.models:
        first = next((route for route in earlier if any(_covers(other, pattern) for other in route.models)), None)
        if first is not None:
            said = f"no model reaches this route by {pattern!r}: the route {first.name!r} above takes it"
            hint = f"Move this route up, or leave out its `models` if clients use /{last.name}/v1."
            desk.say("N053", (*path, "models"), said, hint)


def _covers(wide: str, narrow: str) -> bool:
    """Whether every model that matches `narrow` matches `wide`; False if that is not certain."""
    if "[" in narrow or any(mark in wide for mark in "?["):
        return wide == narrow
    return fits(narrow, wide)
