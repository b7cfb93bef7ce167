"""Passes a request without a contract to the first of several upstreams that answers.

An upstream that does not answer within its share of the time, or answers that it is busy, broken or not for us, is skipped as
long as nothing has been shown. An upstream of the client's own protocol answers byte for byte. The reply of any other is
rewritten in the client's protocol: text, calls, usage and the finish reason are kept, and a stream arrives in one piece.
"""

import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.request import CallFailure, Request, TransportFailure, failure_in, retry_after
from trueup.ask.drivers.clock import SYSTEM
from trueup.ask.shapes.parts import MessageError
from trueup.gateway.client.link import CutOff
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import READING, UpstreamConnections, UpstreamResponse, broken
from trueup.gateway.config import POLICY
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.gateway.passing.passing import break_off, overhead, pass_through, shown_headers, told
from trueup.gateway.protocols.protocol import OutgoingReply, encode
from trueup.gateway.protocols.sse import Ending, Reader, TooLong
from trueup.gateway.replies.lanes import Lanes
from trueup.gateway.replies.naming import renamed
from trueup.gateway.replies.rendering import failed_refusal
from trueup.gateway.replies.rungs import UpstreamRung
from trueup.gateway.replies.tab import Tab
from trueup.gateway.replies.translating import UNTRANSLATABLE, instructed, target_of, translated
from trueup.gateway.serving.wire import EVENTS, JSON, Out, ResponseStream
from trueup.read.reader import read

_decode = msgspec.json.Decoder().decode
_NOT_FOR_US = frozenset(
    {401, 402, 403, 404, 408, 429}
)  # another upstream may answer; 400 and the like are the client's fault
_FEATURES = 4  # calls after which rejected parameters are no longer removed


class _Envelope(msgspec.Struct):
    """The part of a passing answer or event that is read: whether it is a reply or an error."""

    error: Any = None
    type: Any = None


_envelope = msgspec.json.Decoder(_Envelope).decode


class _Answer(NamedTuple):
    """An answer that may be sent on: its status, headers and body, or a stream whose first event has arrived."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    reply: UpstreamResponse | None = None  # the rest of a stream
    pieces: Any = None


class _Failed(Exception):
    """A rung that did not answer; `answer` is an error of the client's own protocol."""

    def __init__(self, failure: CallFailure, answer: _Answer | None = None) -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.answer = answer


async def passed(
    exchange: Exchange, lanes: Lanes, line: UpstreamConnections, out: Out, tab: Tab, seconds: float
) -> tuple[int, int]:
    """Pass a request through; return how many calls that took, and the status that the client got."""
    rungs = exchange.rungs
    if len(rungs) == 1 and target_of(exchange.protocol, rungs[0].upstream) is exchange.protocol:
        return 1, await pass_through(exchange, line, out, seconds, tab)
    falling = Falling(exchange, lanes, line, out, tab)
    status = await falling.run(seconds)
    return falling.calls, status


class Falling:
    """One request that several upstreams may answer."""

    def __init__(self, exchange: Exchange, lanes: Lanes, line: UpstreamConnections, out: Out, tab: Tab) -> None:
        self._exchange = exchange
        self._lanes = lanes
        self._line = line
        self._out = out
        self._tab = tab
        self._policy = POLICY if exchange.route is None else exchange.route.policy
        self.calls = 0

    async def run(self, seconds: float) -> int:
        """Ask one upstream after the other; return the status that the client got."""
        over = time.perf_counter() + seconds
        last: _Failed | None = None
        order = self._order()
        for at, rung in enumerate(order):
            below = sum(each.share for each in order[at + 1 :])
            left = over - time.perf_counter()
            if left <= 0:
                break
            try:
                answer = await self._asked(rung, left * rung.share / (rung.share + below) if below else left)
            except _Failed as failed:
                if last is None or failed.failure.code != UNTRANSLATABLE:  # says less than any other failure
                    last = failed
                continue
            return await self._give(answer, over)
        if last is None:
            said = f"no upstream answered within {seconds:g} s"
            raise RefusedRequest(504, said, "server_error", "upstream_timeout", headers=NO_RETRY)
        if last.answer is not None:
            final = [*last.answer.headers, *((k.encode(), v.encode()) for k, v in NO_RETRY.items() if self.calls > 1)]
            return await self._give(last.answer._replace(headers=final), over)
        raise failed_refusal(last.failure, self._exchange, self.calls)

    def _order(self) -> list[UpstreamRung]:
        """The rungs, those with an open breaker last: they are asked only if no other answers."""
        rungs, breakers = self._exchange.rungs, self._lanes.memory.breakers
        if not breakers or not self._policy.breaker:
            return list(rungs)
        now = SYSTEM.now()
        return sorted(rungs, key=lambda rung: breakers.rest(rung.place, now))

    async def _asked(self, rung: UpstreamRung, seconds: float) -> _Answer:
        """The answer of a rung, which its breaker is informed of."""
        exchange, policy, breakers = self._exchange, self._policy, self._lanes.memory.breakers
        exchange.upstream = rung.upstream
        place = rung.place
        breakers.begin(place, SYSTEM.now(), policy.cooldown)
        start = time.perf_counter()
        try:
            answer = await self._fetched(rung, seconds)
        except _Failed as failed:
            failure = failed.failure
            self._tried(rung, str(failure.status or failure.code or failure.kind))
            if policy.breaker and (failure.kind != "fatal" or failure.status in (401, 402, 403)):
                breakers.failed(
                    place, SYSTEM.now(), limit=policy.breaker, cooldown=policy.cooldown, after=failure.retry_after
                )
            raise
        finally:
            exchange.waited += time.perf_counter() - start
        breakers.answered(place)
        self._tried(rung, "" if answer.status < 400 else str(answer.status))
        return answer

    def _tried(self, rung: UpstreamRung, reason: str) -> None:
        """Record a call for the rates of its model."""
        exchange = self._exchange
        exchange.tried += ((rung.model or str(exchange.head.model or ""), reason),)

    async def _fetched(self, rung: UpstreamRung, seconds: float) -> _Answer:
        exchange = self._exchange
        native = target_of(exchange.protocol, rung.upstream) is exchange.protocol
        try:
            with Within(seconds):
                return await (self._native(rung) if native else self._foreign(rung))
        except TransportFailure as failed:
            raise _Failed(failed.failure) from None
        except (MessageError, RefusedRequest) as error:
            said = f"the request cannot be sent to the upstream {rung.upstream.name!r}: {error}"
            raise _Failed(CallFailure(said, "fatal", 400, code=UNTRANSLATABLE, unsent=True)) from None
        except TimeoutError:
            said = f"upstream {rung.upstream.name!r} did not answer within {seconds:g} s"
            raise _Failed(CallFailure(said, code="timeout")) from None
        except READING as error:
            raise _Failed(broken(rung.upstream, error)) from None

    async def _native(self, rung: UpstreamRung) -> _Answer:
        exchange = self._exchange
        exchange.left_out = ()
        body = encode(exchange.body()) if exchange.extended else exchange.raw
        reply = await self._send(rung, exchange.protocol.path, renamed(body, rung.model) if rung.model else body)
        keep = False
        try:
            headers = shown_headers(reply)
            if reply.status in _NOT_FOR_US or reply.status >= 500:
                said = await reply.read()
                raise _Failed(_failure(said, reply), _Answer(reply.status, headers, said))
            if 300 <= reply.status < 400:
                said_so = f"upstream {rung.upstream.name!r} redirects the request, which the gateway does not follow"
                raise _Failed(CallFailure(said_so, "fatal", code="redirect"))
            if not reply.is_stream:
                said = await reply.read()
                if reply.status < 300:
                    _refuse_error(said, reply, rung)
                return _Answer(reply.status, headers, said)
            pieces = reply.pieces()
            first = await _first_event(pieces, reply, rung)
            keep = True
            return _Answer(reply.status, headers, first, reply, pieces)
        finally:
            if not keep:
                reply.close()

    async def _foreign(self, rung: UpstreamRung) -> _Answer:
        """The reply of an upstream of another protocol, in the client's protocol."""
        exchange = self._exchange
        protocol, target = exchange.protocol, target_of(exchange.protocol, rung.upstream)
        body = exchange.body()
        asked = protocol.read(body)
        key, memory = f"gateway:{rung.upstream.name}:{target.path}:{asked.model}", self._lanes.memory
        request = instructed(Request(asked.messages, model=rung.model, without=memory.known(key, rung.model)), body)
        while True:
            new = translated(body, request, asked, protocol, target)
            exchange.left_out = new.left_out
            reply = await self._send(rung, target.path, encode(new.body))
            try:
                raw = await reply.read()
                failure = None if reply.status < 300 else _failure(raw, reply)
            finally:
                reply.close()
            if failure is None:
                break
            if failure.kind != "feature" or failure.feature in request.without or self.calls > _FEATURES:
                raise _Failed(failure)
            memory.reject(key, rung.model, {failure.feature})
            request = request.replace(without=request.without | {failure.feature})
        return self._rewritten(raw, body, streams=asked.stream)

    def _rewritten(self, raw: bytes, body: dict[str, Any], *, streams: bool) -> _Answer:
        name, protocol = self._exchange.upstream.name, self._exchange.protocol
        try:
            reading = read(_decode(raw))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise _Failed(CallFailure(f"upstream {name!r}: the answer is not JSON")) from None
        wrong = next((found for found in reading.findings if found.level == "error"), None)
        if wrong is not None:
            raise _Failed(CallFailure(f"upstream {name!r}: {wrong.message}"))
        reply = reading.reply
        said = OutgoingReply(reply.text or reply.refusal, reply.calls, reply.model, reply.usage, finish=reply.finish)
        composed = protocol.composed(said)
        if not streams:
            return _Answer(200, [JSON], encode(composed))
        return _Answer(200, list(EVENTS), b"".join(protocol.events(composed, body)))

    async def _send(self, rung: UpstreamRung, path: str, body: bytes) -> UpstreamResponse:
        self.calls += 1
        return await self._line.send(rung.upstream, path, body, self._exchange.headers)

    async def _give(self, answer: _Answer, over: float) -> int:
        """Send an answer to the client; a stream to its end."""
        exchange, tab, reply = self._exchange, self._tab, answer.reply
        headers = [*answer.headers, *told(exchange, "passed", self.calls, clock=False)]
        if reply is None:
            await tab.settle(headers, answer.body, charged=answer.status < 300)
            await self._out.whole(answer.status, answer.body, [*headers, overhead(exchange)])
            return answer.status
        stream = ResponseStream(self._out, answer.status, headers, tab.copy(headers, exchange.protocol.error_event))
        ending = Ending(exchange.protocol.path)
        try:
            await tab.settle(charged=answer.status < 300)
            ending.feed(answer.body)
            await stream.write(answer.body)
            with Within(max(0.001, over - time.perf_counter())):
                async for piece in answer.pieces:
                    ending.feed(piece)
                    await stream.write(piece)
            if answer.status < 300 and not ending.seen:
                raise CutOff("the stream broke off before its end")
        except TimeoutError:
            said = f"upstream {exchange.upstream.name!r} took too long"
            await break_off(exchange, stream, RefusedRequest(504, said, "server_error", "upstream_timeout"))
        except READING as error:
            said = broken(exchange.upstream, error).reason
            await break_off(exchange, stream, RefusedRequest(502, said, "server_error", "upstream_failed"))
        finally:
            reply.close()
        await stream.end()
        return answer.status


async def _first_event(pieces: AsyncIterator[bytes], reply: UpstreamResponse, rung: UpstreamRung) -> bytes:
    """The bytes of a stream up to its first meaningful event; a stream that begins with an error has failed."""
    reader, held = Reader(), []
    async for piece in pieces:
        held.append(piece)
        try:
            events = reader.feed(piece)
        except TooLong:
            break
        said = next((event.data for event in events if event.data), b"")
        if said:
            if reply.status < 300 and said != b"[DONE]":
                _refuse_error(said, reply, rung)
            break
    else:
        raise CutOff("the stream ended before its first event")
    return b"".join(held)


def _refuse_error(said: bytes, reply: UpstreamResponse, rung: UpstreamRung) -> None:
    """Whether there is an error instead of a reply, or something that is not a reply, under a status that promises one."""
    try:
        envelope = _envelope(said)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise _Failed(CallFailure(f"upstream {rung.upstream.name!r}: the answer is not JSON")) from None
    if envelope.error or envelope.type == "error":
        found = read(_decode(said)).findings
        wrong = next((each for each in found if each.code == "R002"), None)
        after = retry_after(reply.headers)
        said_so = f"upstream {rung.upstream.name!r} sent an error in place of a reply"
        raise _Failed(CallFailure(said_so, retry_after=after) if wrong is None else failure_in(wrong, "text", after))


def _failure(body: bytes, reply: UpstreamResponse) -> CallFailure:
    """An error of an upstream as a failure."""
    try:
        said: Any = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        said = body.decode("utf-8", "replace")[:500]
    return failure_in(read(said, reply.status).findings[0], "text", retry_after(reply.headers))
