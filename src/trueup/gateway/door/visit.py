"""One request from the moment it arrives: what is known so far, for its count and its line in the access log.

It is created before the request is read, and filled in on the way. It contains no text of the request.
"""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from trueup.gateway.door.exchange import Exchange
    from trueup.gateway.runtime import Runtime
    from trueup.gateway.serving.wire import Out

REFUSED = "refused"  # by the gateway, before a model was asked
GONE = "gone"  # the client left before its reply was complete
FAILED = "failed"  # a model was asked, but gave no valid reply


class Visit(msgspec.Struct):
    """The known facts of one request."""

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
    status: int = 0  # if it differs from the one that was sent
    attempts: int = 0
    waited: float = 0.0  # seconds spent waiting for the upstream

    def met(self, exchange: "Exchange") -> None:
        """Record that the request has been read and admitted."""
        self.tenant, self.request = exchange.tenant, exchange.verdict_id
        if exchange.contract is not None:
            self.verdict = exchange.verdict_id
