"""`POST /v1/feedback`: takes a verdict's id and what a person thinks of the reply; stores it. No upstream is asked, no quota charged.

The id is the `x-trueup-verdict` of a reply, sent in the body or as the same header. A verdict of another tenant is not found, as one
that does not exist. Sending the same feedback again changes nothing; a later one of the same user replaces the earlier one.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from trueup.gateway.config import Caller
from trueup.gateway.door.exchange import who
from trueup.gateway.door.visit import Visit
from trueup.gateway.errors import Refused
from trueup.gateway.pages.bodies import object_in
from trueup.gateway.pages.checking import Work
from trueup.gateway.protocols.protocol import encode
from trueup.gateway.replies.tab import unavailable
from trueup.gateway.serving.wire import JSON, Out
from trueup.gateway.watching.metrics import Metrics
from trueup.store.errors import StoreError, UnknownVerdict
from trueup.store.store import Store

log = logging.getLogger("trueup.gateway")

PATH = "/v1/feedback"
KEYS = ("verdict", "helpful", "label", "comment", "user", "tenant")
MOST_COMMENT = 4_000
MOST_LABEL = 100
_MOST_ID = 64


class Feedback:
    """This path of one gateway; `store` gives the open store, or None."""

    def __init__(self, metrics: Metrics, store: Callable[[], Store | None]) -> None:
        self._metrics = metrics
        self._store = store

    def open(
        self, route_name: str, visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None
    ) -> Work:  # fmt: skip
        """The work that a request asks for; a request that cannot be stored raises `Refused`."""
        if route_name and visit.runtime.config.route(route_name) is None:
            raise Refused(404, f"there is no route {route_name[:100]!r}", code="not_found")
        body = object_in(raw, KEYS)
        verdict = body.get("verdict", headers.get("x-trueup-verdict"))
        if not isinstance(verdict, str) or not verdict:
            said = 'name the verdict: "verdict" is the x-trueup-verdict of a reply'
            raise Refused(400, said, code="missing_verdict")
        helpful = body.get("helpful")
        if helpful is not None and not isinstance(helpful, bool):
            raise Refused(400, "'helpful' must be true or false", code="invalid_value")
        label, comment = _text(body, "label", MOST_LABEL), _text(body, "comment", MOST_COMMENT)
        if helpful is None and not label and not comment:
            raise Refused(
                400, "there is nothing to store; send 'helpful', 'label' or 'comment'", code="missing_feedback"
            )
        tenant, user = who(caller, headers, body)
        store = self._store()
        if store is None:
            said = "this gateway stores no verdicts; set `store` in its file"
            raise Refused(503, said, "server_error", "no_store")
        keep = partial(store.record_feedback, helpful=helpful, label=label, note=comment, user=user)
        visit.tenant = tenant
        return partial(self._answer, visit, store, verdict, keep)

    async def _answer(self, visit: Visit, store: Store, verdict: str, keep: Callable[[str], None], out: Out) -> None:
        try:
            await asyncio.to_thread(_keep, store, verdict, visit.tenant, keep)
        except UnknownVerdict:
            raise Refused(404, f"there is no verdict {verdict[:_MOST_ID]!r}", code="verdict_not_found") from None
        except StoreError as error:
            log.error("feedback could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all
            raise unavailable() from None
        visit.outcome = "stored"
        self._metrics.count("trueup_feedback_total")
        await out.whole(200, encode({"verdict": verdict, "stored": True}), [JSON])


def _keep(store: Store, verdict: str, tenant: str, keep: Callable[[str], None]) -> None:
    """Store feedback on a verdict of this tenant; a verdict of another tenant is not found."""
    if len(verdict) > _MOST_ID or not (verdict.isascii() and verdict.isprintable()):
        raise UnknownVerdict(verdict)
    store.flush()  # the verdict may have been made a moment ago
    if store.get(verdict).tenant != tenant:
        raise UnknownVerdict(verdict)
    keep(verdict)


def _text(body: dict[str, Any], name: str, most: int) -> str:
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > most):
        raise Refused(400, f"'{name}' must be a text of at most {most:,} characters", code="invalid_value")
    return value or ""
