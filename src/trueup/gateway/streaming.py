"""Streams under a contract: events of the upstream enter, what the holder lets go leaves, and the rest once the verdict is in.

As long as nothing of a reply has been shown, a bad one is asked for again and the client only waits. What has been shown
stays: if the reply then breaks its contract, the stream ends with an error of its protocol. Quota is captured before the
first word leaves, once. A violation gives it back; a stream that was cut is judged once, on what was sent.
"""

import time
from functools import partial
from typing import Any

import msgspec

from trueup.ask.answer import Answer
from trueup.ask.clients.request import Failure, Request, TransportFailure
from trueup.ask.plan import Send, Step
from trueup.contract.holder import Holder, Way, hold, spoken
from trueup.gateway.asking import Asking, carry_out
from trueup.gateway.client.upstream import READING, Reply
from trueup.gateway.client.within import Within
from trueup.gateway.errors import Refused
from trueup.gateway.passing import told_rung
from trueup.gateway.protocols.protocol import Body
from trueup.gateway.relays import Relay, relay_for
from trueup.gateway.rendering import is_given, refusal_of, reply_of
from trueup.gateway.shape import holds_calls, shape_of
from trueup.gateway.sse import Event, Reader, TooLong
from trueup.gateway.tab import Tab
from trueup.gateway.wire import Stream
from trueup.read.reader import read
from trueup.verdict.facts import Findings
from trueup.verdict.reply import Reply as Said
from trueup.verdict.verdict import Verdict

_decode = msgspec.json.Decoder().decode
CHARGED = frozenset({"accepted", "repaired", "regenerated"})
LEAST = 40  # characters of text that are shown at first, at the least: a reply that says nothing is known before


class Broken(Exception):
    """A reply of which a part has been shown cannot be brought to its end; `failure` where the line broke."""

    def __init__(self, failure: Failure | None = None) -> None:
        super().__init__("the reply broke off")
        self.failure = failure


class Attempt:
    """The events of one attempt: text that comes first, and all that comes after it."""

    __slots__ = ("after", "before", "decoded", "fits", "holder", "relay", "shown", "text", "verdict_given")

    def __init__(self, relay: Relay | None, holder: Holder) -> None:
        self.relay = relay
        self.holder = holder
        self.before: list[tuple[Event, Body]] = []  # events with text that may be shown before the verdict
        self.after: list[tuple[Event, Any]] = []  # everything from the first event on that must wait for it
        self.decoded: list[Any] = []
        self.text: list[str] = []
        self.shown = False
        self.verdict_given: Verdict | None = None
        self.fits = True  # the rest of it belongs behind what was shown

    def verdict(self, judge: Any) -> Verdict:
        """What is to be said of what came: a doomed reply is judged by what dooms it, for its end is not known."""
        if not self.holder.doomed:
            verdict: Verdict = judge(self.decoded or b"")
            return verdict
        reply = msgspec.structs.replace(read(self.decoded).reply, finish="stop")
        return Verdict(reply, None, Findings(self.holder.doomed))


class Streaming:
    """One streamed request that is asked under a contract."""

    def __init__(self, asking: Asking, tab: Tab, stream: Stream) -> None:
        self._asking = asking
        self._tab = tab
        self._stream = stream
        self._begun: Relay | None = None  # its heads have been shown
        self._last: Attempt | None = None

    async def run(self) -> Answer:
        """Ask until the plan is finished, showing what may be shown; then show the rest."""
        answer = await carry_out(self._asking.loop, self._attempt, tell=self._tell)
        self._asking.end(answer)
        if not is_given(answer):
            raise refusal_of(self._asking.exchange, answer)
        await self._tab.settle(answer.outcome in CHARGED)
        await self._tell()
        await self._show_rest(answer)
        return answer

    async def settle(self, left: bool = False) -> None:
        """Settle a stream that did not come to its end, once: what was sent is charged if it is worth that. `left`: the client went away."""
        if not self._tab.captured or not self._stream.started or not await self._is_worth_it(left):
            await self._tab.give_back()

    async def _is_worth_it(self, left: bool) -> bool:
        """Whether what was sent keeps the contract by itself."""
        attempt, contract = self._last, self._asking.exchange.contract
        if attempt is None or contract is None or attempt.holder.doomed:
            return False
        if attempt.verdict_given is not None:
            return attempt.verdict_given.ok and attempt.fits
        if left and contract.schema is not None:
            return attempt.shown  # each member that was shown kept the schema; the client itself cut the rest
        sent = Said(attempt.holder.shown, finish="stop")
        verdict = await self._asking.verdict(lambda reply: contract.check(reply, self._asking.exchange.context), sent)
        return verdict.ok

    async def _tell(self) -> None:
        """Send new progress to a client that asked for it."""
        progress = self._asking.exchange.progress
        if progress is not None:
            await self._stream.write(progress.comments())

    def broken(self, refused: Refused) -> bytes:
        """An error as the last event of a stream that has begun."""
        event: bytes = self._asking.exchange.protocol.error_event(refused)
        return event

    async def _attempt(self, send: Send) -> Step:
        asking = self._asking
        if asking.is_foreign(send):
            self._last = Attempt(None, self._way()[1])  # nothing of it is in the client's protocol
            return await asking.attempt(send)
        request = asking.loop.request()
        attempt = self._last = Attempt(*self._way())
        asking.heard = attempt.decoded
        start = time.perf_counter()
        failed = await self._receive(attempt, request, send)
        asking.exchange.waited += time.perf_counter() - start
        if failed is not None:
            await asking.unpaid()
            if attempt.shown:
                asking.loop.failed(failed, heard=attempt.decoded)
                raise Broken(failed)
            return asking.loop.failed(failed, heard=attempt.decoded)
        verdict = await asking.verdict(lambda _: attempt.verdict(asking.loop.judge), attempt.decoded or b"")
        book = partial(asking.loop.judged, whole=not attempt.holder.doomed)
        attempt.verdict_given = verdict
        attempt.fits = not attempt.shown or attempt.holder.tail(verdict, verdict.reply.text) is not None
        step = await asking.paid(send, await asking.judging(book, verdict))
        if attempt.shown and not (verdict.ok and attempt.fits):
            raise Broken
        return step

    def _way(self) -> tuple[Relay | None, Holder]:
        """How an attempt is shown: the first piece by piece where that can be done, later ones whole."""
        exchange = self._asking.exchange
        relay = relay_for(exchange.protocol.path) if self._last is None and not exchange.include else None
        assert exchange.contract is not None
        way: Way = "auto" if exchange.route is None else exchange.route.hold
        if relay is None or holds_calls(exchange.contract):  # calls always wait for the verdict
            way = "whole"
        return relay, hold(exchange.contract, way, exchange.context, LEAST)

    async def _receive(self, attempt: Attempt, request: Request, send: Send) -> Failure | None:
        asking = self._asking
        try:
            with Within(request.timeout):
                reply = await asking.send(request, send)
                try:
                    failed = await asking.failure(reply, request)
                    if failed is None:
                        await self._read(reply, attempt)
                finally:
                    reply.close()
        except TooLong as error:
            return Failure(str(error), "fatal")
        except (TransportFailure, TimeoutError, *READING) as error:
            return asking.failure_of(error, request)
        return failed

    async def _read(self, reply: Reply, attempt: Attempt) -> None:
        """Read the events, showing what may be shown. A doomed reply is not read on."""
        reader = Reader()
        async for piece in reply.pieces():
            for event in reader.feed(piece):
                await self._take(event, attempt)
            if attempt.holder.doomed:
                return
        for event in reader.end():
            await self._take(event, attempt)

    async def _take(self, event: Event, attempt: Attempt) -> None:
        data: Any = None
        if event.data and event.data != b"[DONE]":
            try:
                data = _decode(event.data)
                attempt.decoded.append(data)
            except (msgspec.MsgspecError, RecursionError):
                attempt.decoded.append({"error": {"message": "an event of the stream is not JSON"}})
        relay = attempt.relay
        if relay is None or attempt.after or not isinstance(data, dict):
            attempt.after.append((event, data))
            return
        seen = relay.see(data)
        if seen.role == "rest":
            attempt.after.append((event, data))
        elif seen.role == "head":
            self._begun = relay
            await self._stream.write(event.raw)
        else:
            attempt.before.append((event, data))
            attempt.text.append(seen.text)
            ready = attempt.holder.feed(seen.text)
            if ready:
                await self._show(attempt, ready)

    async def _show(self, attempt: Attempt, text: str) -> None:
        if not attempt.shown:
            await self._tab.settle(charged=True)
            attempt.shown = True
        assert attempt.relay is not None
        event, data = attempt.before[-1]
        await self._stream.write(attempt.relay.with_text(event, data, text))

    async def _show_rest(self, answer: Answer) -> None:
        """Everything that has not been shown: as it came where nothing was changed, else written anew."""
        attempt, exchange = self._last, self._asking.exchange
        if not self._stream.started:
            self._stream.add(*told_rung(exchange))
        verdict = answer.verdict
        own = answer.outcome in CHARGED and not verdict.fixes and not exchange.include and not self._hides(verdict)
        own = own and shape_of(exchange, answer).is_own
        if own and attempt is not None and attempt.decoded and (attempt.relay is not None or self._begun is None):
            for piece in self._as_it_came(attempt, verdict):
                await self._stream.write(piece)
        else:
            await self._write_anew(attempt, answer)
        await self._stream.end()

    def _hides(self, verdict: Verdict) -> bool:
        """Whether the text of a reply holds what is not for the client: reasoning, special tokens."""
        contract, text = self._asking.exchange.contract, verdict.reply.text
        return contract is not None and contract.schema is None and spoken(text) != text

    def _as_it_came(self, attempt: Attempt, verdict: Verdict) -> list[bytes]:
        out: list[bytes] = []
        relay, holder = attempt.relay, attempt.holder
        if relay is not None and attempt.before:
            if not attempt.shown:
                out += [event.raw for event, _ in attempt.before]
            else:
                tail = holder.tail(verdict, "".join(attempt.text))
                if tail:
                    out.append(relay.with_text(*attempt.before[-1], tail))
        return out + [event.raw for event, data in attempt.after if not self._is_ours(data)]

    def _is_ours(self, data: Any) -> bool:
        """Whether an event tells the usage only because we asked for it."""
        options = self._asking.body.get("stream_options")
        wanted = isinstance(options, dict) and options.get("include_usage")
        return not wanted and isinstance(data, dict) and data.get("choices") == [] and bool(data.get("usage"))

    async def _write_anew(self, attempt: Attempt | None, answer: Answer) -> None:
        exchange = self._asking.exchange
        reply = reply_of(exchange, answer, None)
        if self._begun is not None:
            reply.update({key: self._begun.head[key] for key in ("id", "created", "model") if key in self._begun.head})
        if attempt is not None and attempt.shown:
            assert attempt.relay is not None
            tail = attempt.holder.tail(answer.verdict, answer.verdict.reply.text)
            if tail:
                await self._stream.write(attempt.relay.with_text(*attempt.before[-1], tail))
            reply = exchange.protocol.without_text(reply)
        begun = self._begun
        for piece in exchange.protocol.events(
            reply, self._asking.body, begun is not None, begun is not None and begun.in_text
        ):
            await self._stream.write(piece)
