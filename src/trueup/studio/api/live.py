"""Live: recent requests in the store, and the state of the gateway, if the studio belongs to one."""

from typing import Any, Literal

import msgspec

from trueup.studio.endpoint import Endpoint
from trueup.studio.live.looking import look
from trueup.studio.settings import Key
from trueup.studio.studio import Studio


class Asked(msgspec.Struct, frozen=True):
    """A time window."""

    window: Literal["5m", "1h", "24h", "7d"] = "1h"


def live(studio: Studio, asked: Asked, who: Key) -> dict[str, Any]:
    """Requests in a time window: outcomes, latencies, cost, models, quotas, refusals.

    Times are seconds since 1970, money is in millionths. `is_cut`: only the latest `replies` are counted, starting at
    `since`. `is_sampled`: latencies and tokens come from an even sample `of` that many requests. `gateway` is the state
    of the gateway that serves this studio; None if there is none, or if your key is for one tenant.
    """
    numbers = studio.store.read(lambda session: look(session, asked.window, who.tenant))
    status = studio.gateway() if studio.gateway is not None and who.tenant is None else None
    return {**numbers, "gateway": status}


ENDPOINTS = (Endpoint("GET", "/live", "read", live, takes=Asked),)
