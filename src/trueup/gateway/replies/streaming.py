"""Streams under a contract: shows what the holder releases from the upstream's events, and the rest after the verdict.

Until something of a reply has been shown, a bad one is asked for again and the client only waits. Shown text cannot be taken
back: if the reply then breaks its contract, the stream ends with an error of its protocol. Quota is captured once, before the
first word is sent. A violation refunds it; a stream that was cut is judged once, on what was sent.
"""

import math
import time
from functools import partial
from typing import Any

import msgspec

from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.ask.loop.plan import Send, Step
from trueup.contract.streaming.holding_back import Holder, Way, hold
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import READING, UpstreamResponse
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.passing.passing import told_rung
from trueup.gateway.protocols.sse import Reader, ServerSentEvent, TooLong
from trueup.gateway.replies.asking import Asking, carry_out
from trueup.gateway.replies.relays import Relay, relay_for
from trueup.gateway.replies.rendering import is_given, refusal_of, reply_of
from trueup.gateway.replies.shape import holds_calls
from trueup.gateway.replies.tab import Tab
from trueup.gateway.serving.wire import ResponseStream
from trueup.read.reader import read
from trueup.verdict.facts import Findings
from trueup.verdict.reply import Reply as ModelReply
from trueup.verdict.verdict import Verdict

_decode = msgspec.json.Decoder().decode
CHARGED = frozenset({"accepted", "repaired", "regenerated"})
LEAST = 40  # the least characters of text to show first, so that a reply without content is known before


class IncompleteReply(Exception):
    """A partly shown reply cannot be completed; `failure` if the connection broke."""

    def __init__(self, failure: CallFailure | None = None) -> None:
        super().__init__("the reply broke off")
        self.failure = failure


class AttemptEvents:
    """The events of one attempt, and which of them may be shown before the verdict."""

    __slots__ = ("decoded", "fits", "holder", "relay", "shown", "time", "verdict_given", "waits")

    def __init__(self, relay: Relay, holder: Holder, *, waits: bool) -> None:
        self.relay = relay
        self.holder = holder
        self.decoded: list[Any] = []
        self.waits = waits  # nothing more may be shown before the verdict
        self.shown = False
        self.time: tuple[Within, float] | None = None  # its deadline, and when it was sent
        self.verdict_given: Verdict | None = None
        self.fits = True  # the rest of it belongs after what was shown

    def verdict(self, judge: Any) -> Verdict:
        """The reply so far, for judging: a doomed reply is judged by what dooms it, because its end is unknown."""
        if not self.holder.doomed:
            verdict: Verdict = judge(self.decoded or b"")
            return verdict
        reply = msgspec.structs.replace(read(self.decoded).reply, finish="error")
        return Verdict(reply, None, Findings(self.holder.doomed))


class Streaming:
    """One streamed request under a contract."""

    def __init__(self, asking: Asking, tab: Tab, stream: ResponseStream) -> None:
        self._asking = asking
        self._tab = tab
        self._stream = stream
        self._begun: Relay | None = None  # its heads have been shown
        self._last: AttemptEvents | None = None
        self._worth = False  # a whole valid reply is known

    async def run(self) -> Answer:
        """Ask until the plan is finished, showing what may be shown; then show the rest."""
        answer = await carry_out(self._asking.exchange, self._asking.loop, self._attempt, tell=self._tell)
        self._asking.end(answer)
        if not is_given(answer):
            raise refusal_of(self._asking.exchange, answer)
        self._worth = answer.outcome in CHARGED
        await self._stream.finish(self._rest(answer), partial(self._tab.settle_known, charged=self._worth))
        return answer

    async def settle(self, *, left: bool = False) -> None:
        """Settle an incomplete stream, once: the part that was sent is charged if it is worth that. `left`: the client went
        away.
        """
        if not self._tab.captured or not self._stream.started or not await self._is_worth_it(left=left):
            await self._tab.give_back()

    async def _is_worth_it(self, *, left: bool) -> bool:
        """Whether the part that was sent keeps the contract on its own."""
        attempt, contract = self._last, self._asking.exchange.contract
        if self._worth:
            return True
        if attempt is None or contract is None or attempt.holder.doomed:
            return False
        if attempt.verdict_given is not None:
            return attempt.verdict_given.ok and attempt.fits
        if left and contract.schema is not None:
            return attempt.shown  # each shown member kept the schema; the client itself cut the rest
        sent = ModelReply(attempt.holder.shown, finish="stop")
        verdict = await self._asking.verdict(lambda reply: contract.check(reply, self._asking.exchange.context), sent)
        return verdict.ok

    async def _tell(self) -> None:
        """Send new progress to a client that requested it."""
        progress = self._asking.exchange.progress
        if progress is not None:
            await self._stream.write(progress.comments())

    def broken(self, refused: RefusedRequest) -> bytes:
        """An error as the last event of a stream that has begun."""
        event: bytes = self._asking.exchange.protocol.error_event(refused)
        return event

    async def _attempt(self, send: Send) -> Step:
        asking = self._asking
        if asking.is_foreign(send):
            self._last = self._opened()  # none of it is in the client's protocol
            return await asking.attempt(send)
        request = asking.loop.request()
        attempt = self._last = self._opened()
        asking.heard = attempt.decoded
        start = time.perf_counter()
        failed = await self._receive(attempt, request, send)
        asking.exchange.waited += time.perf_counter() - start
        if failed is not None:
            await asking.unpaid()
            if attempt.shown:
                asking.loop.failed(failed, heard=attempt.decoded)
                raise IncompleteReply(failed)
            return asking.loop.failed(failed, heard=attempt.decoded)
        verdict = await asking.verdict(lambda _: attempt.verdict(asking.loop.judge), attempt.decoded or b"")
        book = partial(asking.loop.judged, whole=not attempt.holder.doomed)
        attempt.verdict_given = verdict
        attempt.fits = not attempt.shown or attempt.holder.tail(verdict, verdict.reply.text) is not None
        step = await asking.paid(send, await asking.judging(book, verdict))
        if attempt.shown and not (verdict.ok and attempt.fits):
            raise IncompleteReply
        return step

    def _opened(self) -> AttemptEvents:
        """A new attempt: the first is shown piece by piece where possible, later ones whole."""
        exchange = self._asking.exchange
        relay = relay_for(exchange.protocol.path, self._asking.body)
        waits = self._last is not None or exchange.include or not exchange.protocol.holds
        assert exchange.contract is not None
        way: Way = "auto" if exchange.route is None else exchange.route.hold
        if waits or holds_calls(exchange.contract):  # calls always wait for the verdict
            way = "whole"
        return AttemptEvents(relay, hold(exchange.contract, way, exchange.context, LEAST), waits=waits)

    async def _receive(self, attempt: AttemptEvents, request: Request, send: Send) -> CallFailure | None:
        asking = self._asking
        try:
            with (within := Within(request.timeout)):
                attempt.time = within, time.perf_counter()
                reply = await asking.send(request, send)
                try:
                    failed = await asking.failure(reply, request)
                    if failed is None:
                        await self._read(reply, attempt)
                finally:
                    reply.close()
        except TooLong as error:
            return CallFailure(str(error), "fatal")
        except (TransportFailure, TimeoutError, *READING) as error:
            if attempt.shown and isinstance(error, TimeoutError):
                return CallFailure(f"upstream {asking.exchange.upstream.name!r} took too long", code="timeout")
            return asking.failure_of(error, request)
        return failed

    def _take_all_time(self, attempt: AttemptEvents) -> None:
        """No other upstream can be asked any more, so this one gets the time kept for them."""
        loop = self._asking.loop
        if attempt.time is None or loop.left is None:
            return
        within, began = attempt.time
        timeout = loop.policy.timeout
        own = math.inf if timeout is None else began + timeout - time.perf_counter()
        within.extend(min(loop.left, own))

    async def _read(self, reply: UpstreamResponse, attempt: AttemptEvents) -> None:
        """Read the events, showing what may be shown. A doomed reply is not read further."""
        reader = Reader()
        async for piece in reply.pieces():
            for event in reader.feed(piece):
                await self._take(event, attempt)
            if attempt.holder.doomed:
                return
        for event in reader.end():
            await self._take(event, attempt)

    async def _take(self, event: ServerSentEvent, attempt: AttemptEvents) -> None:
        if not event.data:  # a comment, which is not needed
            return
        data: Any = None
        if event.data != b"[DONE]":
            try:
                data = _decode(event.data)
                attempt.decoded.append(data)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                attempt.decoded.append({"error": {"message": "an event of the stream is not JSON"}})
        if not isinstance(data, dict):
            attempt.waits = True
            return
        relay = attempt.relay
        seen = relay.see(data)
        attempt.waits = attempt.waits or seen.role == "rest"
        if attempt.waits:
            return
        if seen.role == "head":
            self._begun = relay
            if seen.event:
                await self._stream.write(seen.event)
        elif ready := attempt.holder.feed(seen.text):
            await self._show(attempt, ready)

    async def _show(self, attempt: AttemptEvents, text: str) -> None:
        if not attempt.shown:
            await self._tab.settle(charged=True)
            attempt.shown = True
            self._take_all_time(attempt)
        await self._stream.write(attempt.relay.said(text))

    def _rest(self, answer: Answer) -> list[bytes]:
        """Everything that has not been shown, rewritten."""
        exchange, attempt, begun = self._asking.exchange, self._last, self._begun
        if not self._stream.started:
            self._stream.add(*told_rung(exchange))
        relay = None if attempt is None else attempt.relay
        reply = reply_of(
            exchange, answer, None if relay is None else relay.frame, set() if relay is None else relay.dropped
        )
        if begun is not None:
            reply.update({name: begun.frame[name] for name in ("id", "created", "model") if begun.frame.get(name)})
        pieces = [] if exchange.progress is None else [exchange.progress.comments()]
        if attempt is not None and attempt.shown:
            tail = attempt.holder.tail(answer.verdict, answer.verdict.reply.text)
            if tail:
                pieces.append(attempt.relay.said(tail))
            reply = exchange.protocol.without_text(reply)
        if exchange.progress is not None:
            pieces.append(exchange.progress.lost(exchange.dropped))
        in_text = begun is not None and begun.in_text
        pieces += exchange.protocol.events(reply, self._asking.body, started=begun is not None, in_text=in_text)
        return pieces
