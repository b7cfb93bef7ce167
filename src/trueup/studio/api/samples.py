"""Samples: replies to try, each with its contract."""

from typing import Any

from trueup.studio.demo.samples import samples
from trueup.studio.endpoint import Endpoint, Nothing
from trueup.studio.settings import Key
from trueup.studio.studio import Studio

_SHOWN = ("name", "title", "reply", "contract", "kind", "state", "source")


def listed(studio: Studio, asked: Nothing, who: Key) -> list[dict[str, Any]]:  # noqa: ARG001 - every handler's signature
    """Sample replies with their contracts, in the order of the menu."""
    return [{name: getattr(sample, name) for name in _SHOWN} for sample in samples()]


ENDPOINTS = (Endpoint("GET", "/samples", "read", listed),)
