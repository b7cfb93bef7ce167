"""The gateway as an ASGI application. Serves replies and checks without a framework; `pages.py` serves everything else.

A request is read, judged, answered, stored and counted. Every failure becomes an error in the client's own protocol, without
a traceback or a key. If a client leaves, the work for it ends and its quota is settled.
"""

import asyncio
import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.upstream import UpstreamConnections
from trueup.gateway.config import Caller, Config
from trueup.gateway.door.exchange import Door
from trueup.gateway.door.visit import FAILED, GONE, REFUSED, Visit
from trueup.gateway.errors import NO_RETRY, Gone, RefusedRequest
from trueup.gateway.keys import set_limits
from trueup.gateway.pages.checking import Work, route_of
from trueup.gateway.pages.feedback import PATH as FEEDBACK
from trueup.gateway.pages.feedback import Feedback
from trueup.gateway.pages.pages import Pages
from trueup.gateway.pages.studio import StudioPages
from trueup.gateway.passing.endpoints import MatchedPath, place_of
from trueup.gateway.passing.forwarding import Forwarding
from trueup.gateway.protocols.chat import Chat
from trueup.gateway.protocols.messages import Messages
from trueup.gateway.protocols.protocol import Speaking
from trueup.gateway.protocols.responses import Responses
from trueup.gateway.replies.judging import bug_found, bug_refusal
from trueup.gateway.replies.replying import Replying
from trueup.gateway.replies.tab import Replayed
from trueup.gateway.runtime import Runtime
from trueup.gateway.serving.keeping import Keeper
from trueup.gateway.serving.reloading import NotUsable, Read, report, taken_over, terminal_is_gone
from trueup.gateway.serving.wire import (
    JSON,
    Out,
    Receive,
    Scope,
    Send,
    ServerTurn,
    body_of,
    headers_of,
    read_body,
)
from trueup.gateway.watching.logged import log_access
from trueup.gateway.watching.logs import LogBook
from trueup.gateway.watching.metrics import RELOAD_FAILURES, REQUESTS, Metrics
from trueup.gateway.watching.tracing import Tracing
from trueup.store.errors import StoreError
from trueup.store.store import Store
from trueup.verdict.bugs import bug_of
from trueup.verdict.codec import spelled

log = logging.getLogger("trueup.gateway")

TURN = "trueup.turn"  # added to a request by our own server; see `deadline.py`
_SETTLING = 5.0  # seconds for requests that are ended at a stop to settle their quota
_PLAIN = Chat()  # whose form the errors of our own paths have
Serves = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]
PROTOCOLS: dict[str, Speaking] = {protocol.path: protocol for protocol in (_PLAIN, Messages(), Responses())}


class Gateway:
    """The application; `serve.py` runs it, and a test may call it directly."""

    def __init__(
        self, config: Config, store: Store | None = None, tracing: Tracing | None = None, folder: Path | None = None
    ) -> None:
        self.store = store
        self.metrics = Metrics(folder)
        self.stopping = False
        self.logs = LogBook(self.metrics)
        self.runtime = self._runtime_of(config)
        self._working: set[asyncio.Task[Any]] = set()
        self._retired: list[Runtime] = []  # of earlier configurations, while requests use them
        self._own_store = store is None and bool(config.store)
        self.keeper = Keeper(self.metrics, lambda: self.store, prunes=self._own_store)
        self.source: Read | None = None  # where `reload` reads from; None: it cannot reload
        self.quiet = False  # whether this worker's parent reports settings that a reload cannot change
        self.followers: list[Callable[[Config], object]] = []  # called with each configuration that is adopted
        self._reloading = asyncio.Lock()
        self._tasks: set[asyncio.Future[object]] = set()
        self.began = time.monotonic()
        self.watches = False  # whether changes of its files are applied without a signal
        self.secret = ""  # a secret shared by all workers of this gateway; empty: none
        self.studio = StudioPages(self)
        self._loaded = time.time()
        self.metrics.gauge("trueup_config_loaded_timestamp_seconds", lambda: self._loaded, how="min")
        self._pages = Pages(self)
        self._feedback = Feedback(self.metrics, lambda: self.store)
        self._forwarding = Forwarding(self.metrics, lambda: self.store)
        self._tracing = Tracing() if tracing is None and config.telemetry else tracing
        self._replying = Replying(self, self._tracing)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.runtime.config

    @property
    def door(self) -> Door:
        """The door of the configuration in force."""
        return self.runtime.door

    @property
    def line(self) -> UpstreamConnections:
        """The connections of the configuration in force; none before `start` and after `stop`."""
        return self.runtime.line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            name, protocol = _find(scope["path"])
            if protocol is not None and scope["method"] == "POST":
                await self._serve(scope, receive, send, protocol, partial(self._replying.open, protocol, name))
            else:
                with self._held():
                    if self.studio.takes(scope["path"]):
                        await self._page(scope, receive, send, self.studio, "studio")
                    else:
                        await self._other(scope, receive, send, "POST" if protocol is not None else "")
        elif kind == "lifespan":
            await self._live(receive, send)

    async def _other(self, scope: Scope, receive: Receive, send: Send, allowed: str) -> None:
        """Serve everything that is not a model's reply; `allowed` is the only method of a path requested with another method."""
        path = scope["path"]
        checked = route_of(path)
        opened: Callable[..., Work] | None = None
        if checked is not None:
            opened = partial(self._checked, checked)
        elif (name := route_of(path, FEEDBACK)) is not None:
            opened = partial(self._feedback.open, name)
        if opened is not None and scope["method"] == "POST":
            await self._serve(scope, receive, send, _PLAIN, opened)
        elif opened is None and not allowed and (place := place_of(path)) is not None:
            await self._forward(scope, receive, send, place)
        else:
            allowed = "POST" if opened is not None else allowed
            await self._page(scope, receive, send, partial(self._pages, allowed=allowed))

    async def _page(self, scope: Scope, receive: Receive, send: Send, app: Serves, outcome: str = "page") -> None:
        """Serve a page, and write its line in the access log."""
        if self.logs.access is None:
            await app(scope, receive, send)
            return
        out = Out(send)
        visit = Visit(self.runtime, scope, out, time.perf_counter(), outcome=outcome)
        try:
            await app(scope, receive, out.send)
        finally:
            if self.logs.access is not None:
                log_access(self.logs.access, visit)

    async def _forward(self, scope: Scope, receive: Receive, send: Send, place: MatchedPath) -> None:
        """Serve another endpoint of a provider."""
        endpoint = place.methods.get(scope["method"])
        if endpoint is None:
            await self._page(scope, receive, send, partial(self._pages, allowed=", ".join(place.methods)))
            return

        def opened(visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None) -> Work:
            return self._forwarding.open(place, endpoint, receive, visit, headers=headers, raw=raw, caller=caller)

        unread = endpoint.carries == "upload" or endpoint.group not in self.config.endpoints
        protocol = PROTOCOLS["/v1/messages"] if endpoint.speaks == "anthropic" else _PLAIN
        await self._serve(scope, receive, send, protocol, opened, unread=unread)

    async def start(self) -> None:
        """Open the logs, the store and the connections."""
        await asyncio.to_thread(self.logs.follow, self.config.logs)
        if self._own_store:
            from trueup.store.open import open_store

            config = self.config
            self.store = await asyncio.to_thread(
                lambda: open_store(
                    config.store,
                    redaction=self.runtime.redaction,
                    retention=config.retention,
                    keep_context=config.keep_context,
                )
            )
        if self.store is not None and self.config.meters:
            await asyncio.to_thread(set_limits, self.store.quota, self.config.clients)
        await self.studio.follow(self.config)
        self.runtime.start()
        self.keeper.start()
        self._hear()
        self.metrics.ready()

    async def stop(self) -> None:
        """Refuse new requests, wait for those in progress, then close."""
        self.stopping = True
        self.studio.stop()
        until = time.monotonic() + self.config.limits.stop_seconds
        while self.metrics.active and time.monotonic() < until:  # noqa: ASYNC110 - rare, and there is no one event
            await asyncio.sleep(0.02)
        await self._end_work()
        await asyncio.to_thread(self.studio.close)
        await self.keeper.stop()
        for runtime in (*self._retired, self.runtime):
            await runtime.close()
        self._retired.clear()
        if self._own_store and self.store is not None:
            await asyncio.to_thread(self.store.close)
            self.store = None
        await asyncio.to_thread(self.logs.close)
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)

    async def _end_work(self) -> None:
        """End the remaining requests; each settles its quota, which needs the store."""
        for task in self._working:
            task.cancel()
        if self._working:
            await asyncio.wait(self._working, timeout=_SETTLING)

    async def adopt(self, config: Config) -> None:
        """Serve new requests under another configuration; those in progress finish under theirs, on their own connections.

        Settings that only a start can change (the address, the workers, the store) stay the same.
        """
        before, fresh = self.runtime, self._runtime_of(config)
        await asyncio.to_thread(self.logs.follow, config.logs)
        if self.store is not None and config.meters:
            await asyncio.to_thread(set_limits, self.store.quota, config.clients)
        if self._own_store and self.store is not None:
            self.store.follow(fresh.redaction, config.retention, keep_context=config.keep_context)
        await self.studio.follow(config)
        fresh.start(before)
        self.runtime = fresh
        self._loaded = time.time()
        for name in before.config.upstreams.keys() - config.upstreams.keys():
            self.metrics.forget("trueup_breaker_open", upstream=name)
        for follow in self.followers:
            follow(config)
        self._retired.append(before)
        await self._close_idle()

    async def reload(self) -> bool:
        """Read the configuration from its source again, and adopt it; a broken one is reported and changes nothing."""
        if self.source is None:
            return False
        async with self._reloading:
            try:
                fresh = await asyncio.to_thread(self.source)
                await self.adopt(taken_over(self.config, fresh, quiet=self.quiet))
            except (NotUsable, StoreError, OSError) as error:
                report(error if isinstance(error, NotUsable) else NotUsable([str(error)]))
                self.metrics.count(RELOAD_FAILURES)
                return False
            except Exception:  # a contract's code may raise anything; the gateway keeps serving
                log.exception("the changed configuration was not applied; the current one stays in force")
                self.metrics.count(RELOAD_FAILURES)
                return False
        self.metrics.count("trueup_config_reloads_total")
        if not self.quiet:
            log.info("the changed configuration was applied")
        return True

    def _on_hangup(self) -> None:
        if terminal_is_gone():
            signal.raise_signal(signal.SIGTERM)
        else:
            self._later(self.reload())

    def _later(self, work: Coroutine[Any, Any, object]) -> None:
        """Do some work alongside requests; a task without a reference may be garbage-collected."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hear(self) -> None:
        """Reload on SIGHUP, if this process can receive it."""
        if self.source is not None and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError, AttributeError, ValueError):  # Windows
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._on_hangup)

    def _runtime_of(self, config: Config) -> Runtime:
        return Runtime(config, self.metrics, lambda: self.store, self.logs)

    @contextlib.contextmanager
    def _held(self) -> Iterator[Runtime]:
        """The runtime in force, kept open while it is used."""
        runtime = self.runtime
        runtime.active += 1
        try:
            yield runtime
        finally:
            self._let_go(runtime)

    def _let_go(self, runtime: Runtime) -> None:
        runtime.active -= 1
        if not runtime.active and runtime is not self.runtime:
            self._later(self._close_idle())

    async def _close_idle(self) -> None:
        """Close connections that only earlier configurations use, after their last request."""
        idle = [runtime for runtime in self._retired if not runtime.active]
        self._retired = [runtime for runtime in self._retired if runtime.active]
        for runtime in idle:
            if not any(runtime.shares_with(other) for other in (self.runtime, *self._retired)):
                await runtime.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except Exception as error:  # noqa: BLE001 - the server must be told, whatever it is
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _checked(
        self, name: str, visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None
    ) -> Work:  # fmt: skip
        """Handle a request for a verdict."""
        return visit.runtime.checking.open(name, visit, headers, raw, caller)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, protocol: Speaking, opened: Callable[..., Work], *,
        unread: bool = False,
    ) -> None:  # fmt: skip
        """Serve a request; an `unread` body is read by its own handler, piece by piece."""
        runtime = self.runtime
        extensions = scope.get("extensions")
        turn: ServerTurn | None = extensions.get(TURN) if extensions else None
        out = Out(send, turn)
        visit = Visit(runtime, scope, out, time.perf_counter())
        task: asyncio.Task[Any] | None = None
        self.metrics.active += 1
        runtime.active += 1
        try:
            headers, caller = self._admit(runtime, scope)
            raw = b"" if unread else None if turn is None else body_of(turn, runtime.config.limits)
            if raw is None:
                raw = await read_body(receive, headers, runtime.config.limits)
            work = opened(visit, headers, raw, caller)
            task = asyncio.current_task()
            assert task is not None
            self._working.add(task)
            if turn is None:
                await self._watched(work, _nothing_more if unread else receive, visit, task)
            else:
                await self._attended(work, turn, visit, task)
        except Gone:
            visit.outcome, visit.status = GONE, 499
        except RefusedRequest as refused:
            await self._refuse(visit, protocol, refused)
        except Replayed as replayed:
            visit.outcome = "replayed"
            await replayed.send(out)
        except Exception as error:
            if bug_of(error) is not None:
                await self._refuse(visit, protocol, bug_refusal(bug_found(error)))
                return
            # An unexpected error: the log has all of it, the client gets a sentence, and other requests continue.
            log.exception("a request failed: %s", type(error).__name__)
            await self._refuse(
                visit, protocol, RefusedRequest(500, "an internal error of the gateway", "server_error", "internal")
            )
        finally:
            if task is not None:
                self._working.discard(task)
            self.metrics.active -= 1
            self._let_go(runtime)
            self._count(visit)

    async def _refuse(self, visit: Visit, protocol: Speaking, refused: RefusedRequest) -> None:
        visit.status = refused.status
        if visit.outcome != FAILED:
            visit.outcome = REFUSED
        out = visit.out
        if out.started:
            if not out.cut():
                raise ConnectionError(
                    refused.message
                )  # the server cuts the connection, so that the client does not take the reply for complete
            await asyncio.sleep(0)  # the server notices in the next turn of the loop
            return
        headers = [
            JSON,
            *((name.encode(), value.encode("latin-1", "replace")) for name, value in refused.headers.items()),
        ]
        await out.whole(refused.status, spelled(protocol.error(refused)), headers)

    def _admit(self, runtime: Runtime, scope: Scope) -> tuple[dict[str, str], Caller | None]:
        """The headers of an admitted request, and its caller."""
        if self.stopping or self.metrics.active > runtime.config.limits.at_once:
            why = "the gateway is stopping" if self.stopping else "too many requests at once"
            raise RefusedRequest(503, why, "server_error", "overloaded", headers={"retry-after": "1"})
        headers = headers_of(scope)
        return headers, runtime.door.caller(headers)

    async def _attended(self, work: Work, turn: ServerTurn, visit: Visit, task: "asyncio.Task[Any]") -> None:
        """Run the work for a client whose departure the server reports."""
        turn.leaving.add(task)
        try:
            with Within(visit.runtime.seconds, task):
                await work(visit.out)
        except asyncio.CancelledError:
            if task in turn.leaving:
                raise
            task.uncancel()
            raise Gone from None
        except TimeoutError:
            raise _too_late() from None
        finally:
            turn.leaving.discard(task)

    async def _watched(self, work: Work, receive: Receive, visit: Visit, task: "asyncio.Task[Any]") -> None:
        """Run the work for a client while listening to it, because otherwise its departure would go unnoticed."""
        gone = asyncio.ensure_future(_gone(receive, task))
        try:
            with Within(visit.runtime.seconds, task):
                await work(visit.out)
        except asyncio.CancelledError:
            if not gone.done() or gone.cancelled():
                raise
            task.uncancel()
            raise Gone from None
        except TimeoutError:
            raise _too_late() from None
        finally:
            gone.cancel()

    def _count(self, visit: Visit) -> None:
        """Count a finished request."""
        metrics, status = self.metrics, visit.status or visit.out.status
        metrics.tick(REQUESTS, (visit.route, visit.model, visit.outcome, str(status)))
        if visit.outcome not in (REFUSED, GONE):
            metrics.time("trueup_overhead_seconds", time.perf_counter() - visit.began - visit.waited)
            if visit.attempts:
                metrics.time("trueup_upstream_seconds", visit.waited)
        if self.logs.access is not None:
            log_access(self.logs.access, visit)


def _too_late() -> RefusedRequest:
    return RefusedRequest(504, "the request took too long", "server_error", "deadline_exceeded", headers=dict(NO_RETRY))


def _find(path: str) -> tuple[str, Speaking | None]:
    """The route that a path names, and its protocol: `/v1/…`, or `/NAME/v1/…`."""
    protocol = PROTOCOLS.get(path)
    if protocol is not None:
        return "", protocol
    name, slash, rest = path[1:].partition("/")
    return (name, PROTOCOLS.get(f"/{rest}")) if slash and name else ("", None)


async def _nothing_more() -> dict[str, Any]:
    """Receives for a request whose own work listens to its client."""
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # until it is cancelled


async def _gone(receive: Receive, task: "asyncio.Task[Any]") -> None:
    """Ends the work for a client that has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()
