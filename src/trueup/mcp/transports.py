"""Run a server: serves the tools of a workspace to one client on standard input and output, or to many over HTTP.

Standard output contains only the protocol. The end of standard input, Ctrl-C and SIGTERM end the server silently.
"""

import contextlib
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import NoReturn

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from trueup.mcp.key_guard import KeyGuard
from trueup.mcp.lines import AnsweredLines
from trueup.mcp.server import server_of
from trueup.mcp.workspace import Workspace
from trueup.studio.door.guard import Application, Message, Receive, Scope, Send
from trueup.studio.serving import serve

PATH = "/mcp"
_MOST_BODY = 16 * 1024 * 1024  # bytes of a request
_IDLE = 3_600.0  # seconds after which a session without a request ends
_MOST_SESSIONS = 200


def run_stdio(workspace: Workspace) -> None:
    """Serve the client that started this process."""
    with contextlib.closing(workspace), _quiet_end(workspace):
        try:
            anyio.run(_serve_stdio, workspace)
        except* BrokenPipeError:  # the client has left
            pass


async def _serve_stdio(workspace: Workspace) -> None:
    server = server_of(workspace)
    async with stdio_server() as (reading, writing):
        await server.run(AnsweredLines(reading, writing), writing, server.create_initialization_options())


@contextlib.contextmanager
def _quiet_end(workspace: Workspace) -> Iterator[None]:
    """End immediately on a signal: the thread that waits for standard input cannot be woken."""

    def end(*_: object) -> NoReturn:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # a second signal would close the workspace while it is closing
        workspace.close()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class WholeRequests:
    """An application that gets a request only after all of its body has arrived.

    If a client leaves before that, nothing happens; the SDK would report it as an error.
    """

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting: deque[Message] = deque()
        size, is_whole = 0, scope["type"] != "http"
        while not is_whole and size <= _MOST_BODY:  # the SDK refuses a larger body
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            waiting.append(message)
            size += len(message.get("body", b""))
            is_whole = not message.get("more_body")

        async def again() -> Message:
            return waiting.popleft() if waiting else await receive()

        await self._app(scope, again, send)


class HttpApp:
    """The HTTP server as an ASGI application."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        app = server_of(workspace).streamable_http_app(
            streamable_http_path=PATH, max_request_body_size=_MOST_BODY, session_idle_timeout=_IDLE, max_sessions=_MOST_SESSIONS,
            # the key guard has already checked the host and the origin by the names of this server
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )  # fmt: skip
        self._guard = KeyGuard(WholeRequests(app), workspace.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = ""

        async def noted(message: Message) -> None:
            nonlocal state
            if message["type"] == "http.response.start":
                state = "started"
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                state = "complete"
            await send(message)

        await self._guard(scope, receive, noted)
        if state == "started":  # the SDK leaves streams open at the end, which uvicorn would report as an error
            await send({"type": "http.response.body", "body": b""})

    def stop(self) -> None:
        """End long work, so that nothing waits for it."""
        self._workspace.works.close()

    def close(self) -> None:
        """Close the opened resources."""
        self._workspace.close()


def run_http(workspace: Workspace, listening: socket.socket, started: Callable[[], object]) -> None:
    """Serve until a signal stops it; `started` is called when requests are answered."""
    serve(HttpApp(workspace), listening, started, lifespan="on")
