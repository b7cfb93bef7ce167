"""Serving: takes an application and serves it on this machine until it is stopped."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Literal, Protocol

from trueup.studio.door.guard import Receive, Scope, Send

_MOST_HEAD = 64 * 1024  # bytes of a request before its body
_MOST_CONNECTIONS = 500


class Served(Protocol):
    """An ASGI application that can be told to stop, and closed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def stop(self) -> None:
        """Let nothing new begin."""

    def close(self) -> None:
        """Close what was opened."""


class CannotListen(Exception):
    """The address cannot be used; the message says why."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listening


def serve(
    app: Served, listening: socket.socket, started: Callable[[], object], *, lifespan: Literal["off", "on"] = "off"
) -> None:
    """Serve until a signal stops it; `started` is called once requests are answered.

    `lifespan` says whether the application hears of startup and shutdown as events.
    """
    import uvicorn

    from trueup.studio.deadline import Connection

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.stop()
            await super().shutdown(sockets=sockets)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            if lifespan == "on":  # a second Ctrl-C must not skip the end of the lifespan, which would be an error
                self.force_exit = False

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Like uvicorn's, but a signal is the usual way to stop a studio, not a failure."""
            with super().capture_signals():
                yield
                self._captured_signals.clear()

    # h11 limits the head of a request; httptools does not
    config = uvicorn.Config(
        app, http=Connection, log_level="error", access_log=False, lifespan=lifespan, ws="none", server_header=False,
        date_header=False, proxy_headers=False, timeout_graceful_shutdown=3, h11_max_incomplete_event_size=_MOST_HEAD,
        limit_concurrency=_MOST_CONNECTIONS,
    )  # fmt: skip
    with contextlib.closing(app):
        Server(config).run(sockets=[listening])
