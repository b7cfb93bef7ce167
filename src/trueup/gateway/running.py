"""Runs a gateway alongside a program, in its own thread and on a free port, for tests and experiments."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from trueup.gateway.config import Config
from trueup.gateway.gateway import Gateway
from trueup.gateway.pages.studio import Offer
from trueup.store.store import Store


class Running:
    """A running gateway: its address, and the application itself."""

    def __init__(self, gateway: Gateway, url: str, server: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.gateway = gateway
        self.url = url
        self.server = server  # of uvicorn
        self._loop = loop

    def adopt(self, config: Config) -> None:
        """Serve new requests under another `config`; those in progress finish under theirs."""
        asyncio.run_coroutine_threadsafe(self.gateway.adopt(config), self._loop).result()


@contextlib.contextmanager
def running(
    config: Config, store: Store | None = None, tracing: Any = None, port: int = 0, studio: Offer | None = None
) -> Iterator[Running]:
    """Run a gateway with this `config` until the block ends; it then stops as on a signal.

    `store` is an open store; None: nothing is stored. `tracing` is a tracer; None: no spans. `port` 0 is any free one.
    `studio` builds the application at `/studio`; None: there is none.
    """
    from trueup.gateway.serve import uvicorn_server

    gateway = Gateway(config, store, tracing)
    gateway.studio.offer = studio
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(256)
    server = uvicorn_server(gateway, config)
    failed: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []
    leave = asyncio.Event()

    def run() -> None:
        try:
            asyncio.run(_serve(server, listener, loops, leave))
        except BaseException as error:  # noqa: BLE001 - told below, in the thread that waits for it
            failed.append(error)

    thread = threading.Thread(target=run, name="trueup-gateway", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError(f"the gateway did not start: {failed or 'see the log'}")
            thread.join(0.005)
        yield Running(gateway, f"http://127.0.0.1:{listener.getsockname()[1]}", server, loops[0])
    finally:
        server.should_exit = True
        with contextlib.suppress(IndexError, RuntimeError):  # it never started, or has already ended
            loops[0].call_soon_threadsafe(leave.set)
        thread.join(60)
        listener.close()


async def _serve(
    server: Any, listener: socket.socket, loops: list[asyncio.AbstractEventLoop], leave: asyncio.Event
) -> None:
    async def main_loop() -> None:
        """Like uvicorn's own, which checks ten times a second whether to stop, but also woken when it should."""
        counter = 0
        while not await server.on_tick(counter):
            counter = (counter + 1) % 864_000
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(leave.wait(), 0.1)

    loops.append(asyncio.get_running_loop())
    server.install_signal_handlers = lambda: None
    server.main_loop = main_loop
    await server.serve(sockets=[listener])
