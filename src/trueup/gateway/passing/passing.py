"""Passing through: without a contract, the request goes up and the answer comes down, byte for byte.

Only our key and headers differ. Quota is captured before the first byte of a reply with a 2xx status is sent. If a body
breaks off, the client's breaks off too, and never looks complete.
"""

import time

from trueup.ask.clients.request import TransportFailure, retry_after
from trueup.gateway.client.link import CutOff
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import READING, UpstreamConnections, UpstreamResponse, broken
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.errors import NO_RETRY, RefusedRequest, whole_seconds
from trueup.gateway.protocols.protocol import encode
from trueup.gateway.protocols.sse import Ending
from trueup.gateway.replies.naming import renamed
from trueup.gateway.replies.tab import Tab
from trueup.gateway.serving.wire import Out, ResponseStream

_MOST_HEADER = 1000


async def pass_through(exchange: Exchange, line: UpstreamConnections, out: Out, seconds: float, tab: Tab) -> int:
    """Send a request to its only upstream and the answer back; return its status."""
    body = encode(exchange.body()) if exchange.extended else exchange.raw
    if exchange.rungs[0].model:
        body = renamed(body, exchange.rungs[0].model)
    stream: ResponseStream | None = None
    reply: UpstreamResponse | None = None
    try:
        with Within(seconds):
            start = time.perf_counter()
            reply = await line.send(exchange.upstream, exchange.protocol.path, body, exchange.headers)
            if not reply.is_stream:
                return await _whole(exchange, reply, out, start, tab)
            exchange.waited = time.perf_counter() - start
            headers = [*shown_headers(reply), *told(exchange, "passed", 1, clock=False)]
            stream = ResponseStream(out, reply.status, headers, tab.copy(headers, exchange.protocol.error_event))
            ending = Ending(exchange.protocol.path)
            async for piece in reply.pieces():
                if not stream.started:
                    await tab.settle(charged=reply.status < 300)
                ending.feed(piece)
                await stream.write(piece)
            if reply.status < 300 and not ending.seen:
                raise CutOff("the stream broke off before its end")
    except TransportFailure as failed:
        raise RefusedRequest(502, failed.failure.reason, "server_error", "upstream_failed") from None
    except TimeoutError:
        said = f"the upstream did not answer within {seconds:g} s"
        late = RefusedRequest(504, said, "server_error", "upstream_timeout", headers=NO_RETRY)
        await break_off(exchange, stream, late)
    except READING as error:
        said = broken(exchange.upstream, error).reason
        await break_off(exchange, stream, RefusedRequest(502, said, "server_error", "upstream_failed"))
    finally:
        if reply is not None:
            reply.close()
    assert stream is not None
    await stream.end()
    return stream.status


async def _whole(exchange: Exchange, reply: UpstreamResponse, out: Out, start: float, tab: Tab) -> int:
    body = await reply.read()
    exchange.waited = time.perf_counter() - start
    if 300 <= reply.status < 400:
        raise RefusedRequest(
            502,
            "the upstream redirects the request, which the gateway does not follow",
            "server_error",
            "upstream_redirects",
        )
    headers = [*shown_headers(reply), *told(exchange, "passed", 1, clock=False)]
    await tab.settle(headers, body, charged=reply.status < 300)
    await out.whole(reply.status, body, [*headers, overhead(exchange)])
    return reply.status


async def break_off(exchange: Exchange, stream: ResponseStream | None, refused: RefusedRequest) -> None:
    """A stream that ends too early ends with an error; before its first byte it is only an error."""
    if stream is None or not stream.started:
        raise refused from None
    await stream.write(b"\n\n" + exchange.protocol.error_event(refused))


def shown_headers(reply: UpstreamResponse) -> list[tuple[bytes, bytes]]:
    """The headers of an upstream that the client may see; a wait is a whole number of seconds, or left out."""
    found = reply.let_through()
    if not any(name == b"retry-after" for name, _ in found):
        return found
    wait = retry_after([(name, value) for name, value in found if name == b"retry-after"])
    told = [] if wait is None else [(b"retry-after", whole_seconds(wait).encode())]
    return [row for row in found if row[0] != b"retry-after"] + told


def told_rung(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    """The headers that say which upstream answered, if it is not the first, and which parts of the request it did not get."""
    found: list[tuple[bytes, bytes]] = []
    if exchange.upstream is not exchange.rungs[0].upstream:
        found.append((b"x-trueup-upstream", exchange.upstream.name.encode("ascii", "replace")))
    if exchange.left_out:
        found.append((b"x-trueup-left-out", ", ".join(exchange.left_out)[:_MOST_HEADER].encode()))
    return found


def told(exchange: Exchange, outcome: str, attempts: int, *, clock: bool = True) -> list[tuple[bytes, bytes]]:
    """The headers with the outcome of a request."""
    found = [(b"x-trueup-outcome", outcome.encode()), (b"x-trueup-attempts", b"%d" % attempts)]
    if exchange.contract is not None:
        found.append((b"x-trueup-verdict", exchange.verdict_id.encode()))
    if exchange.dropped:
        found.append((b"x-trueup-dropped", ", ".join(exchange.dropped).encode()))
    if exchange.progress is not None and (seen := exchange.progress.header()):
        found.append((b"x-trueup-progress", seen))
    found += told_rung(exchange)
    if clock:
        found.append(overhead(exchange))
    return found


def overhead(exchange: Exchange) -> tuple[bytes, bytes]:
    """The header with the time that the gateway itself took."""
    seconds = time.perf_counter() - exchange.began - exchange.waited
    return b"x-trueup-overhead-ms", b"%.3f" % (seconds * 1000)
