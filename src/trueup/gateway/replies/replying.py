"""Replies to requests: a model's reply, judged under its contract or passed through.

The outcome is stored, logged, traced and counted here, and its quota is settled.
"""

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from trueup.ask.answer import Answer
from trueup.gateway.config import Caller
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.door.incoming import admit
from trueup.gateway.door.visit import FAILED, Visit
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.pages.checking import Work
from trueup.gateway.passing.fallback import passed
from trueup.gateway.passing.passing import overhead, told
from trueup.gateway.protocols.protocol import Speaking
from trueup.gateway.replies.asking import Asking
from trueup.gateway.replies.recording import record, state_of
from trueup.gateway.replies.rendering import is_given, refusal_of, rendered
from trueup.gateway.replies.streaming import CHARGED, IncompleteReply, Streaming
from trueup.gateway.replies.tab import NO_TAB, Replayed, Tab, metered, unavailable
from trueup.gateway.serving.wire import EVENTS, JSON, Out, ResponseStream
from trueup.gateway.watching.counting import count_attempts, count_passed
from trueup.gateway.watching.logged import log_verdicts
from trueup.gateway.watching.tracing import Tracing
from trueup.store.alarm import Alarm
from trueup.verdict.events import Event, Subscriber

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway


class Replying:
    """Answers requests for a `gateway`, whose store, logs and counters it uses; without a `tracing` there are no spans."""

    def __init__(self, gateway: "Gateway", tracing: Tracing | None) -> None:
        self._gateway = gateway
        self._metrics = gateway.metrics
        self._logs = gateway.logs
        self._tracing = tracing
        self._alarm = Alarm()  # for a gateway without a store; a store has its own

    def open(
        self, protocol: Speaking, name: str, visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None
    ) -> Work:
        """The work of a request for a reply."""
        exchange = visit.runtime.door.open(protocol, name, headers, raw, caller, visit)
        visit.met(exchange)
        return partial(self._ask, visit, exchange)

    async def _ask(self, visit: Visit, exchange: Exchange, out: Out) -> None:
        if self._tracing is None:
            await self._reply(visit, exchange, out)
            return
        exchange.span = self._tracing.begin(exchange)
        failed: BaseException | None = None
        try:
            await self._reply(visit, exchange, out)
        except Replayed:
            raise
        except BaseException as error:
            failed = error
            raise
        finally:
            self._tracing.end(exchange.span, failed)

    async def _reply(self, visit: Visit, exchange: Exchange, out: Out) -> None:
        runtime, store = visit.runtime, self._gateway.store
        config = runtime.config
        if exchange.route is not None and exchange.route.request is not None:
            await admit(visit, exchange, exchange.route.request, store, self._metrics)
        if exchange.contract is None:
            await self._passed(visit, exchange, out)
            return
        if store is not None and store.crowded:
            raise unavailable()
        traced = None if self._tracing is None else self._tracing.listener(exchange.span)
        listener = _both(traced, exchange.progress)
        asking = Asking(exchange, runtime.lanes, runtime.line, listener)
        user = exchange.user or asking.asked.user
        asking.tab = tab = metered(
            store, config, exchange.route, tenant=exchange.tenant, key=exchange.key, user=user,
            model=asking.asked.model, request=exchange.identity() if exchange.key else (),
        )  # fmt: skip
        async with tab:
            asking.on_end = lambda answer: self._note(visit, asking, answer, user)
            try:
                await (self._streamed if asking.asked.stream else self._whole)(visit, asking, tab)
            finally:
                asking.end()
                if asking.owes:
                    await asking.unpaid()

    async def _passed(self, visit: Visit, exchange: Exchange, out: Out) -> None:
        """Answer a request without a contract: the answer is passed through."""
        runtime, store = visit.runtime, self._gateway.store
        config = runtime.config
        tab = NO_TAB
        if store is not None and config.charges(exchange.route):
            model, user = exchange.named()
            tab = metered(
                store, config, exchange.route, tenant=exchange.tenant, key=exchange.key, user=user, model=model,
                request=exchange.identity() if exchange.key else (),
            )  # fmt: skip
        try:
            async with tab:
                visit.outcome = FAILED
                visit.attempts, visit.status = await passed(
                    exchange, runtime.lanes, runtime.line, out, tab, config.limits.total_seconds
                )
        except RefusedRequest as refused:
            if visit.outcome == FAILED:
                count_passed(self._metrics, exchange, visit.model, refused.code or str(refused.status))
            raise
        visit.outcome, visit.waited = "passed", exchange.waited
        count_passed(self._metrics, exchange, visit.model, "" if visit.status < 400 else str(visit.status))

    async def _whole(self, visit: Visit, asking: Asking, tab: Tab) -> None:
        exchange = asking.exchange
        answer = await asking.run()
        asking.end(answer)
        if not is_given(answer):
            raise _with_outcome(refusal_of(exchange, answer), exchange, answer)
        body = rendered(exchange, answer, asking.raw, asking.body)
        headers = [JSON, *told(exchange, answer.outcome, len(answer.attempts), clock=False)]
        if tab.charges:
            await tab.settle(headers, body, charged=answer.outcome in CHARGED)
        await visit.out.whole(200, body, [*headers, overhead(exchange)])

    async def _streamed(self, visit: Visit, asking: Asking, tab: Tab) -> None:
        exchange = asking.exchange
        headers = [*EVENTS, *told(exchange, "streamed", 1, clock=False)]
        stream = ResponseStream(visit.out, 200, headers, tab.copy(headers, exchange.protocol.error_event))
        streaming = Streaming(asking, tab, stream)
        try:
            await streaming.run()
            return
        except IncompleteReply as broken:
            refused = _broken(asking, broken)
        except RefusedRequest as error:
            refused = error
        except asyncio.CancelledError:
            await streaming.settle(left=not self._gateway.stopping)
            raise
        await streaming.settle()
        asking.end()
        if not stream.started:
            raise _with_outcome(refused, exchange, asking.answer_so_far())
        visit.outcome, visit.status = FAILED, refused.status
        await stream.write(streaming.broken(refused))
        await stream.end()

    def _note(self, visit: Visit, asking: Asking, found: Answer, user: str) -> None:
        """Store and count the outcome of a request, whether it was answered or not."""
        exchange = asking.exchange
        if self._gateway.store is not None:
            record(self._gateway.store, asking, found, user)
        if self._tracing is not None:
            self._tracing.answered(exchange.span, exchange, found, time.time() - found.seconds)
        lines = self._logs.verdicts
        if lines is not None:
            log_verdicts(lines, exchange, asking.asked.model, state_of(exchange), found, visit.runtime.redaction)
        visit.outcome = found.outcome if is_given(found) else FAILED
        visit.attempts, visit.waited = len(found.attempts), exchange.waited
        count_attempts(
            self._metrics, exchange, asking.asked.model, found, self._alarm if self._gateway.store is None else None
        )


def _both(one: Subscriber | None, other: Subscriber | None) -> Subscriber | None:
    """One subscriber instead of two optional ones."""
    if one is None or other is None:
        return one or other

    def tell(event: Event) -> None:
        one(event)
        other(event)

    return tell


def _with_outcome(refused: RefusedRequest, exchange: Exchange, answer: Answer) -> RefusedRequest:
    """A refusal with the headers about the request's outcome."""
    refused.headers.update({k.decode(): v.decode() for k, v in told(exchange, answer.outcome, len(answer.attempts))})
    return refused


def _broken(asking: Asking, broken: IncompleteReply) -> RefusedRequest:
    if broken.failure is not None:
        return RefusedRequest(502, f"the reply broke off: {broken.failure.reason}", "server_error", "upstream_failed")
    return refusal_of(asking.exchange, asking.answer_so_far())
