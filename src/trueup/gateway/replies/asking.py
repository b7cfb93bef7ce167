"""Carries out the plan over the wire: sends each request, and returns its result to the loop.

This is the gateway's own driver: it sends and waits, and decides nothing. Every attempt has one deadline, and its cost is
counted whether or not its reply is used.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure, Request, TransportFailure, failure_in, retry_after
from trueup.ask.loop.loop import Loop, known
from trueup.ask.loop.plan import Finish, Send, Step
from trueup.ask.replies.faults import unplaced
from trueup.ask.shapes.parts import MessageError
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import READING, UpstreamConnections, UpstreamResponse, broken
from trueup.gateway.door.exchange import Exchange, refuse_bad_source
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.gateway.protocols.protocol import Body, RequestParts, Speaking, encode, offered_names
from trueup.gateway.replies.disclosure import unknown_state
from trueup.gateway.replies.judging import bug_found, in_thread
from trueup.gateway.replies.lanes import Lanes
from trueup.gateway.replies.naming import renamed
from trueup.gateway.replies.tab import Tab
from trueup.gateway.replies.translating import UNTRANSLATABLE, instructed, target_of, translated
from trueup.read.reader import read
from trueup.verdict.events import Event
from trueup.verdict.facts import Findings
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

log = logging.getLogger("trueup.gateway")

R = TypeVar("R")
_OTHERS = frozenset({"user", "system", "developer"})
_decode = msgspec.json.Decoder().decode


async def carry_out(
    exchange: Exchange,
    loop: Loop,
    attempt: Callable[[Send], Awaitable[Step]],
    step: Step | None = None,
    tell: Callable[[], Awaitable[None]] | None = None,
) -> Answer:
    """Carry out the steps of the plan until it is finished, starting with `step` or the first one.

    `tell` is called before each step and may report progress.
    """
    step = step or loop.start()
    while not isinstance(step, Finish):
        if tell is not None:
            await tell()
        if isinstance(step, Send):
            step = await attempt(step)
        else:
            start = time.perf_counter()
            await asyncio.sleep(step.seconds)
            exchange.waited += time.perf_counter() - start  # spent on an upstream, so it is not the gateway's own time
            step = loop.waited()
    return loop.answer()


class Asking:
    """One request under a contract."""

    def __init__(
        self,
        exchange: Exchange,
        lanes: Lanes,
        line: UpstreamConnections,
        on_event: Callable[[Event], object] | None = None,
    ) -> None:
        assert exchange.contract is not None
        self.exchange = exchange
        self._lanes = lanes
        self._line = line
        self.tab = Tab(None)
        self.body: Body = exchange.body()
        self.asked: RequestParts = exchange.protocol.read(self.body)
        self.raw: Any = None  # the upstream's last answer, decoded
        self.bytes = b""  # and its bytes
        self.heard: list[Any] = []  # events of the current stream
        self._unpaid: Send | None = None  # the attempt that was sent and whose cost has not been counted
        self.on_end: Callable[[Answer], object] | None = None
        self._began = self._sent = 0.0
        exchange.native = self.asked.native
        context = exchange.context
        if exchange.contract.call_options is None:
            context["offered"] = offered_names(self.body)
        if "history" not in context:
            context["history"] = [m for m in self.asked.messages if not _is_plain(m)]
        exchange.context = known(context, self.asked.messages)
        refuse_bad_source(exchange.contract, exchange.context)
        lanes.budget.count(exchange.began)
        lane = lanes.of(exchange, self.asked)
        nowhere = unplaced(exchange.contract, exchange.context)
        if nowhere and exchange.route is not None and exchange.route.unknown_state == "refuse":
            raise unknown_state(exchange.contract, nowhere)
        self._opening = None if on_event or self.asked.stream or nowhere else lanes.opening(lane)
        self._loop: Loop | None = None
        if self._opening is None:
            self._loop = Loop(
                exchange.contract, lane.rungs, self.asked.messages, lane.policy, context=exchange.context,
                on_event=on_event, memory=lanes.memory, retries=lanes.budget,
            )  # fmt: skip

    @property
    def loop(self) -> Loop:
        """The ask; after an opening, it is created on first use, in the state after the first request."""
        if self._loop is None:
            assert self._opening is not None
            self._loop = self._opening.loop(
                self.asked.messages, self.exchange.context, self._began, self._sent, self._lanes.budget
            )
        return self._loop

    async def run(self) -> Answer:
        """Ask until the plan is finished."""
        opening = self._opening
        if opening is None:
            return await carry_out(self.exchange, self.loop, self.attempt)
        send, messages = opening.send, self.asked.messages
        self._began = self._sent = time.monotonic()
        failed = await self._fetch(opening.request(messages), send) or self._decoded()
        if failed is not None:
            self._unpaid = None
            return await carry_out(self.exchange, self.loop, self.attempt, self.loop.failed(failed))
        raw = self.raw if self.raw is not None else self.bytes
        if self.is_foreign(send):
            self._forget()
        verdict = await self.verdict(opening.judge, raw, self.exchange.context)
        self._unpaid = None
        answer = opening.answer(verdict, messages, self._began, self._sent)
        if answer is not None:
            return answer
        return await carry_out(self.exchange, self.loop, self.attempt, await self.judging(self.loop.judged, verdict))

    async def verdict(self, judge: Callable[..., Verdict], raw: Any, *given: Any) -> Verdict:
        """The verdict on a reply. A bug in the contract is a verdict too, and ends the asking."""
        self.exchange.judged = True
        try:
            return await self.judging(judge, raw, *given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what is not a bug in the contract is raised again
            return Verdict(read(raw).reply, None, Findings((bug_found(error),)))

    async def judging(self, judge: Callable[..., R], *given: Any) -> R:
        """The result of judging; computed in a thread if a check of the contract waits for something, so that other requests
        do not wait.
        """
        contract = self.exchange.contract
        assert contract is not None
        return await in_thread(judge, *given) if contract.awaits else judge(*given)

    def end(self, answer: Answer | None = None) -> None:
        """The request is over: report its outcome, once."""
        tell, self.on_end = self.on_end, None
        if tell is not None:
            found = self.answer_so_far() if answer is None else answer
            if found.outcome == "fallback":
                self._warn(found)
            tell(found)

    def _warn(self, answer: Answer) -> None:
        """Log that a client gets the fallback."""
        exchange = self.exchange
        contract = "" if exchange.contract is None else exchange.contract.name
        codes = ", ".join(
            dict.fromkeys(
                found.code
                for attempt in answer.attempts
                if attempt.verdict is not None
                for found in attempt.verdict.errors
            )
        )
        said = "%s: no reply met the contract %r in the state %r after %d attempts; the fallback is sent (%s)"
        log.warning(
            said,
            exchange.verdict_id,
            contract,
            exchange.context.get("state", ""),
            len(answer.attempts),
            codes or answer.reason,
        )

    def answer_so_far(self) -> Answer:
        """The outcome of a request that was broken off."""
        if not isinstance(self.loop.step, Finish):
            self.loop.cancelled(self.heard)
        return self.loop.answer()

    async def attempt(self, send: Send) -> Step:
        """Ask once, read the whole reply, and judge it."""
        failed = await self._fetch(self.loop.request(), send)
        if failed is not None:
            await self.unpaid()
        else:
            failed = self._decoded()
        if failed is not None:
            return self.loop.failed(failed)
        raw = self.raw if self.raw is not None else self.bytes
        if self.is_foreign(send):
            self._forget()
        verdict = await self.verdict(self.loop.judge, raw)
        return await self.paid(send, await self.judging(self.loop.judged, verdict))

    def _forget(self) -> None:
        """The reply is not in the client's protocol, so it is rewritten from what was read."""
        self.raw, self.bytes = None, b""

    async def _fetch(self, request: Request, send: Send) -> CallFailure | None:
        """Send a request and read the body of its answer; return why there is none, if there is none."""
        start = time.perf_counter()
        failed: CallFailure | None
        try:
            with Within(request.timeout):
                reply = await self.send(request, send)
                try:
                    failed = None if reply.status < 300 else await self.failure(reply, request)
                    if failed is None:
                        self.bytes = await reply.read()
                finally:
                    reply.close()
        except (TransportFailure, TimeoutError, *READING) as error:
            failed = self.failure_of(error, request)
        self.exchange.waited += time.perf_counter() - start
        return failed

    def _decoded(self) -> CallFailure | None:
        """Parse the body; return why it is not a reply, if it is not."""
        try:
            self.raw = _decode(self.bytes)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self.raw = None
            if not self.bytes.startswith((b"data:", b"event:", b":")):
                return CallFailure(f"upstream {self.exchange.upstream.name!r}: the answer is not JSON")
        return None

    async def paid(self, send: Send, step: Step) -> Step:
        """Count the cost of the attempt; an exhausted cost budget ends the asking."""
        last, self._unpaid = self.loop.attempts[-1], None
        cost = last.cost
        if cost is None and self.loop.policy.prices:
            cost = self._guess(Reply() if last.verdict is None else last.verdict.reply, last.model)
        if cost and await self.tab.spend(send.attempt, cost) and not isinstance(step, Finish):
            said = "the cost budget is used up"
            raise RefusedRequest(429, said, "insufficient_quota", "insufficient_quota", headers=NO_RETRY)
        return step

    @property
    def owes(self) -> bool:
        """Whether an attempt was sent and its cost has not been counted."""
        return self._unpaid is not None

    async def unpaid(self) -> None:
        """Count an attempt that did not finish: its request, and what arrived of the reply, still cost something."""
        send, self._unpaid = self._unpaid, None
        if send is not None and self.loop.policy.prices:
            cost = self._guess(read(self.heard).reply if self.heard else Reply(), send.model)
            await asyncio.shield(self.tab.spend(send.attempt, cost))

    def _guess(self, reply: Reply, model: str) -> float | None:
        """The estimated cost of an attempt whose cost the upstream did not report."""
        return self.loop.policy.cost(model or reply.model or self.asked.model, self.loop.spent(reply))

    async def send(self, request: Request, send: Send) -> UpstreamResponse:
        """Send the request of a step to the upstream of its rung."""
        exchange = self.exchange
        exchange.upstream = exchange.rungs[send.client].upstream
        protocol = target_of(exchange.protocol, exchange.upstream)
        body = self._outgoing(request, send, protocol)
        self._unpaid, exchange.judged = send, False
        try:
            return await self._line.send(exchange.upstream, protocol.path, body, exchange.headers)
        except TransportFailure as error:
            self._unpaid = None  # no answer
            raise TransportFailure(msgspec.structs.replace(error.failure, unsent=True)) from error

    def is_foreign(self, send: Send) -> bool:
        """Whether a step asks an upstream with another protocol than the client's."""
        exchange = self.exchange
        return target_of(exchange.protocol, exchange.rungs[send.client].upstream) is not exchange.protocol

    def _outgoing(self, request: Request, send: Send, protocol: Speaking) -> bytes:
        """The body of a request: the client's own bytes, if only the model changes."""
        exchange, asked = self.exchange, self.asked
        if protocol is not exchange.protocol:
            try:
                new = translated(self.body, instructed(request, self.body), asked, exchange.protocol, protocol)
            except MessageError as error:
                said = f"the request cannot be sent to the upstream {exchange.upstream.name!r}: {error}"
                raise TransportFailure(CallFailure(said, "fatal", code=UNTRANSLATABLE, unsent=True)) from None
            exchange.left_out = new.left_out
            return encode(new.body)
        exchange.left_out = ()
        untouched = (
            send.attempt == 1 and not exchange.extended and request.mode == "text" and request.temperature is None
            and request.max_tokens is None and not request.must_call
            and len(request.messages) == len(asked.messages)
            and not (asked.stream and protocol.holds)
        )  # fmt: skip
        if untouched:
            return renamed(exchange.raw, request.model) if request.model else exchange.raw
        return encode(protocol.request(self.body, request, asked))

    async def failure(self, reply: UpstreamResponse, request: Request) -> CallFailure | None:
        """Convert an answer that is not a reply to a failure."""
        if reply.status < 300:
            return None
        self._unpaid = None
        name = self.exchange.upstream.name
        if reply.status < 400:
            return CallFailure(
                f"upstream {name!r} redirects the request, which the gateway does not follow",
                "fatal",
                reply.status,
                code="redirect",
            )
        body = await reply.read()
        try:
            said: Any = _decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            said = body.decode("utf-8", "replace")[:500]
        found = read(said, reply.status).findings[0]
        return failure_in(found, request.mode, retry_after(reply.headers))

    def failure_of(self, error: BaseException, request: Request) -> CallFailure:
        if isinstance(error, TransportFailure):
            return error.failure
        if isinstance(error, TimeoutError):
            said = f"upstream {self.exchange.upstream.name!r} did not answer within {request.timeout or 0:g} s"
            return CallFailure(said, code="timeout")
        assert isinstance(error, Exception)
        return broken(self.exchange.upstream, error)


def _is_plain(message: Any) -> bool:
    """Whether a message contains only words to the model, so that no check of a reply reads it."""
    return type(message) is dict and message.get("role") in _OTHERS and isinstance(message.get("content"), str)
