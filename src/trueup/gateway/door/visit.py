"""One request from the moment it comes in: what is known of it so far, for counting it once and for its line in the access log.

It is made before anything of the request has been read, and filled in on the way. It holds no text of the request.
"""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from trueup.gateway.door.exchange import Exchange
    from trueup.gateway.runtime import Runtime
    from trueup.gateway.serving.wire import Out

REFUSED = "refused"  # by the gateway, before a model was asked
GONE = "gone"  # the client left before its reply was complete
FAILED = "failed"  # a model was asked, and no valid reply came of it


class Visit(msgspec.Struct):
    """What is known of one request."""

    runtime: "Runtime"
    scope: Any  # of ASGI
    out: "Out"
    began: float
    route: str = ""
    model: str = ""
    tenant: str = ""
    verdict: str = ""  # its id
    request: str = ""  # the id that all verdicts of this request share
    outcome: str = REFUSED
    status: int = 0  # if it is not the one that was sent
    attempts: int = 0
    waited: float = 0.0  # seconds spent waiting for the upstream

    def met(self, exchange: "Exchange") -> None:
        """The request has been read, and may come in."""
        self.tenant, self.request = exchange.tenant, exchange.verdict_id
        if exchange.contract is not None:
            self.verdict = exchange.verdict_id
