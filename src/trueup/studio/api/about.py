"""About: facts that the page needs before it shows anything."""

from typing import Any

from trueup import __version__
from trueup.studio.endpoint import Endpoint, Nothing
from trueup.studio.places import labelled
from trueup.studio.settings import RIGHTS, Key
from trueup.studio.studio import Studio


def about(studio: Studio, asked: Nothing, who: Key) -> dict[str, Any]:  # noqa: ARG001 - every handler's signature
    """This studio: its version, its options, and your rights.

    `gateway` says how the gateway that serves this studio loads a saved contract: `reload` automatically, `signal` when
    it gets a SIGHUP; null if there is no gateway.
    """
    settings = studio.settings
    return {
        "version": __version__,
        "demo": settings.demo,
        "store": studio.has_store,
        "folders": list(labelled(settings)),
        "name": who.name,
        "role": who.role,
        "tenant": who.tenant,
        "rights": sorted(RIGHTS[who.role]),
        "gateway": settings.applies or None,
    }


ENDPOINTS = (Endpoint("GET", "/about", "read", about),)
