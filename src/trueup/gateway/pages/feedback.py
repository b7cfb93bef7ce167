"""`POST /v1/feedback`: stores what a person, or a downstream system, says about a verdict. No upstream is asked, and no quota
is charged.

The verdict's id is the `x-trueup-verdict` of a reply, sent in the body or as the same header. With `code` or `rule`, the
feedback is about the findings of that code or rule. Another tenant's verdict is not found, like one that does not exist.
Several items in one request are stored only if all of them can be.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from trueup.gateway.config import Caller
from trueup.gateway.door.exchange import who
from trueup.gateway.door.visit import Visit
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.pages.bodies import object_in
from trueup.gateway.pages.checking import Work
from trueup.gateway.protocols.protocol import encode
from trueup.gateway.replies.tab import unavailable
from trueup.gateway.serving.wire import JSON, Out
from trueup.gateway.watching.metrics import Metrics
from trueup.store.errors import StoreError, UnknownVerdict
from trueup.store.labels import MOST_SUBJECT, Said
from trueup.store.store import Store

log = logging.getLogger("trueup.gateway")

PATH = "/v1/feedback"
ABOUT = ("verdict", "helpful", "label", "comment", "outcome", "code", "rule")
KEYS = (*ABOUT, "items", "user", "tenant")
MOST_COMMENT = 4_000
MOST_LABEL = 100
MOST_ITEMS = 100
_MOST_ID = 64
MOST_NAME = MOST_SUBJECT - len("rule:")


class Feedback:
    """This path of one gateway; `store` returns the open store, or None."""

    def __init__(self, metrics: Metrics, store: Callable[[], Store | None]) -> None:
        self._metrics = metrics
        self._store = store

    def open(
        self, route_name: str, visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None
    ) -> Work:  # fmt: skip
        """The work that a request asks for; a request that cannot be stored raises `RefusedRequest`."""
        if route_name and visit.runtime.config.route(route_name) is None:
            raise RefusedRequest(404, f"there is no route {route_name[:100]!r}", code="not_found")
        body = object_in(raw, KEYS)
        said = _items(body, headers.get("x-trueup-verdict"))
        tenant, user = who(caller, headers, body)
        store = self._store()
        if store is None:
            told = "this gateway stores no verdicts; set `store` in its file"
            raise RefusedRequest(503, told, "server_error", "no_store")
        said = [each._replace(user=user) for each in said]
        visit.tenant = tenant
        return partial(self._answer, visit, store, said, many="items" in body)

    async def _answer(self, visit: Visit, store: Store, said: list[Said], out: Out, *, many: bool) -> None:
        try:
            await asyncio.to_thread(store.record_all, said, tenant=visit.tenant)
        except UnknownVerdict as error:
            told = f"there is no verdict {error.args[1][:_MOST_ID]!r}"
            raise RefusedRequest(404, told, code="verdict_not_found") from None
        except StoreError as error:
            log.error("feedback could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all
            raise unavailable() from None
        visit.outcome = "stored"
        for _ in said:
            self._metrics.count("trueup_feedback_total")
        answer = {"stored": len(said)} if many else {"verdict": said[0].verdict, "stored": True}
        await out.whole(200, encode(answer), [JSON])


def _items(body: dict[str, Any], header: str | None) -> list[Said]:
    """The feedback items, each with the id of its verdict."""
    if "items" not in body:
        return [_item(body, header, "")]
    listed = body["items"]
    if (
        not isinstance(listed, list)
        or not 0 < len(listed) <= MOST_ITEMS
        or not all(isinstance(i, dict) for i in listed)
    ):
        raise RefusedRequest(400, f"'items' must be a list of 1 to {MOST_ITEMS} objects", code="invalid_value")
    if len(body.keys() & set(ABOUT)):
        raise RefusedRequest(400, "send either 'items' or one feedback, not both", code="invalid_value")
    for at, each in enumerate(listed):
        odd = next((name for name in each if name not in ABOUT), None)
        if odd is not None:
            said = f"items[{at}]: unknown key {odd[:100]!r}; known keys: {', '.join(ABOUT)}"
            raise RefusedRequest(400, said, code="unknown_key")
    return [_item(each, header, f"items[{at}]: ") for at, each in enumerate(listed)]


def _item(body: dict[str, Any], header: str | None, place: str) -> Said:
    verdict = body.get("verdict", header)
    if not isinstance(verdict, str) or not verdict:
        said = f'{place}"verdict" is missing: send the x-trueup-verdict of a reply'
        raise RefusedRequest(400, said, code="missing_verdict")
    helpful = body.get("helpful")
    if helpful is not None and not isinstance(helpful, bool):
        raise RefusedRequest(400, f"{place}'helpful' must be true or false", code="invalid_value")
    label, comment = _text(body, "label", MOST_LABEL, place), _text(body, "comment", MOST_COMMENT, place)
    outcome = _text(body, "outcome", MOST_LABEL, place)
    about = {kind: _text(body, kind, MOST_NAME, place) for kind in ("code", "rule")}
    if all(about.values()):
        raise RefusedRequest(400, f"{place}send 'code' or 'rule', not both", code="invalid_value")
    if helpful is None and not label and not comment and not outcome:
        said = f"{place}there is nothing to store; send 'outcome', 'helpful', 'label' or 'comment'"
        raise RefusedRequest(400, said, code="missing_feedback")
    subject = next((f"{kind}:{name}" for kind, name in about.items() if name), "")
    return Said(verdict, helpful, label, comment, "", subject, outcome)


def _text(body: dict[str, Any], name: str, most: int, place: str) -> str:
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > most):
        raise RefusedRequest(
            400, f"{place}'{name}' must be a string of at most {most:,} characters", code="invalid_value"
        )
    return value or ""
