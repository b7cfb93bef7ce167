"""Answering: takes an HTTP request, calls its endpoint's handler in a thread, and returns JSON.

Errors are returned as `{"error": {code, message, hint}}`; a traceback goes only to the log.
"""

import gzip
import logging
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from trueup.store.errors import StoreError
from trueup.studio.bodies import Room, read_body
from trueup.studio.decoding import decoded, json_object, once, refuse_query
from trueup.studio.door.guard import WHO, Receive, Scope, Send
from trueup.studio.endpoint import Endpoint, JsonLines
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import RIGHTS, Key
from trueup.studio.studio import Studio
from trueup.verdict.codec import spelled

T = TypeVar("T")
log = logging.getLogger("trueup.studio")
_JSON = "application/json"
_LINES = "application/x-ndjson"
_END = object()
_WORTH = 2048  # bytes of an answer that are worth compressing for a client elsewhere
_HERE = ("127.", "::1")
# Inside a gateway, threads of the studio compete with its loop for the interpreter: so there are only a few.
AT_ONCE = 4
SLOW_AT_ONCE = 3
STREAMS = 8  # long jobs at the same time
_UNREAD = 60.0  # seconds that a job waits for its client to continue reading


class Threads:
    """The threads of one studio.

    Quick answers, slow answers and streams have separate ones, so they do not wait for each other.
    """

    def __init__(self) -> None:
        self._quick, self._slow, self._streams = (_Limit(most) for most in (AT_ONCE, SLOW_AT_ONCE, STREAMS + 2))
        self._begun = _Limit(AT_ONCE + SLOW_AT_ONCE)
        self.room = Room()
        self.streaming = 0
        self.stopping = False

    async def answer(self, work: Callable[[], T], request: Request, *, slow: bool) -> T:
        """The result of `work`; if the client left while it was queued, it is not started."""
        async with (self._slow if slow else self._quick).limiter:
            if await request.is_disconnected():
                raise ClientDisconnect
            return await anyio.to_thread.run_sync(work, limiter=self._begun.limiter)

    async def stream(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._streams.limiter)


class _Limit:
    """A limiter that is created on first use, inside a running loop."""

    def __init__(self, most: int) -> None:
        self._most = most

    @cached_property
    def limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(self._most)


class Answering:
    """One endpoint as an ASGI-level handler."""

    def __init__(self, studio: Studio, endpoint: Endpoint, threads: Threads) -> None:
        self._studio = studio
        self._endpoint = endpoint
        self._threads = threads

    async def __call__(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except RequestRefused as refusal:
            return refused(refusal)
        except StoreError as error:
            return refused(self._studio.unavailable(error))
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception:  # a bug of ours: report it to the page without details
            log.exception("the studio failed to answer %s %s", request.method, request.url.path)
            return refused(_failed())

    async def _answer(self, request: Request) -> Response:
        endpoint, who = self._endpoint, request.scope[WHO]
        _permit(endpoint, who)
        if self._threads.stopping:
            raise _stopping()
        if not endpoint.streams:
            return await self._begun(request, who)
        if self._threads.streaming >= STREAMS:
            raise RequestRefused(
                503, f"This studio is already working on {STREAMS} long requests.", code="busy",
                hint="Wait until one ends, or stop one.", headers={"retry-after": "5"},
            )  # fmt: skip
        self._threads.streaming += 1  # before anything else, so that simultaneous requests are counted
        begun: Response | None = None
        try:
            begun = await self._begun(request, who)
            return begun
        finally:
            if not isinstance(begun, JsonLinesResponse):
                self._threads.streaming -= 1

    async def _begun(self, request: Request, who: Key) -> Response:
        endpoint = self._endpoint
        raw = b""
        with self._threads.room.part() as part:
            if endpoint.method not in ("GET", "DELETE"):
                raw = await read_body(request.receive, request.headers, endpoint.most, part)
            work = partial(self._made, request, raw, who, packs=_packs(request))
            made = await self._threads.answer(work, request, slow=endpoint.slow)
        if isinstance(made, JsonLines):
            return JsonLinesResponse(made.events, self._threads, self._studio)
        body, packed = made
        headers = {"vary": "accept-encoding"} | ({"content-encoding": "gzip"} if packed else {})
        return Response(body, media_type=_JSON, headers=headers)

    def _made(self, request: Request, raw: bytes, who: Key, *, packs: bool) -> JsonLines | tuple[bytes, bool]:
        """The body of the answer, and whether it is compressed. Runs in a thread, because it may take time."""
        endpoint = self._endpoint
        path, query = request.path_params, once(request.query_params.multi_items())
        if endpoint.method in ("GET", "DELETE"):
            asked = decoded(endpoint.takes, {**query, **path}, strict=False)
        else:
            refuse_query(query)
            asked = decoded(endpoint.takes, {**json_object(raw, endpoint.takes), **path}, strict=True)
        answer = endpoint.handle(self._studio, asked, who)
        if isinstance(answer, JsonLines):
            return answer
        body = spelled(answer)
        return (gzip.compress(body, 1, mtime=0), True) if packs and len(body) >= _WORTH else (body, False)


class JsonLinesResponse(Response):
    """Many answers to one request, each sent as soon as it is ready.

    The job ends when the client leaves or stops reading, or the studio stops.
    """

    media_type = _LINES

    def __init__(self, events: Iterator[Any], threads: Threads, studio: Studio) -> None:
        self.status_code = 200
        self.background = None
        self.body = b""
        self.raw_headers = [(b"content-type", _LINES.encode()), (b"x-accel-buffering", b"no")]
        self._events = events
        self._threads = threads
        self._studio = studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        threads = self._threads
        try:
            async with anyio.create_task_group() as group:

                async def hear() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(hear)
                await self._send(send)
                group.cancel_scope.cancel()
        finally:
            threads.streaming -= 1
            with anyio.CancelScope(shield=True):
                await threads.stream(self._close)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        more = True
        while more:
            line, more = await self._threads.stream(self._line)
            with anyio.move_on_after(_UNREAD) as waited:
                await send({"type": "http.response.body", "body": line, "more_body": more})
            if waited.cancelled_caught:
                log.warning("a client of the studio has stopped reading; its job was ended")
                return

    def _line(self) -> tuple[bytes, bool]:
        """The next line, and whether there may be more."""
        if self._threads.stopping:
            return spelled(_stopping().to_dict()) + b"\n", False
        try:
            event = next(self._events, _END)
            return (b"", False) if event is _END else (spelled(event) + b"\n", True)
        except RequestRefused as refusal:
            return spelled(refusal.to_dict()) + b"\n", False
        except StoreError as error:
            return spelled(self._studio.unavailable(error).to_dict()) + b"\n", False
        except Exception:
            log.exception("the studio failed in the middle of an answer")
            return spelled(_failed().to_dict()) + b"\n", False

    def _close(self) -> None:
        close = getattr(self._events, "close", None)
        if close is not None:
            try:
                close()
            except Exception:
                log.exception("the studio failed to end a job")


def refused(refusal: RequestRefused) -> Response:
    """A refusal as a response."""
    return Response(spelled(refusal.to_dict()), refusal.status, refusal.headers, media_type=_JSON)


def _permit(endpoint: Endpoint, who: Key) -> None:
    rights = RIGHTS[who.role]
    if endpoint.right not in rights:
        raise RequestRefused(
            403, f"Your key may not {endpoint.right} here.", code="no_right",
            hint=f"The role {who.role!r} may {' and '.join(right for right in ('read', 'label', 'edit') if right in rights)}.",
        )  # fmt: skip


def _packs(request: Request) -> bool:
    """Whether to compress answers for a client: not on this machine, where compressing takes longer than sending."""
    address = request.client.host if request.client is not None else ""
    return not address.startswith(_HERE) and accepts_gzip(request.headers.get("accept-encoding", ""))


def accepts_gzip(header: str) -> bool:
    """Whether a client accepts gzip.

    >>> accepts_gzip("br, gzip"), accepts_gzip("gzip;q=0, br"), accepts_gzip("")
    (True, False, False)
    """
    for part in header.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _stopping() -> RequestRefused:
    return RequestRefused(503, "The studio is stopping.", code="stopping")


def _failed() -> RequestRefused:
    return RequestRefused(500, "The studio failed. See its log for the reason.", code="internal")
