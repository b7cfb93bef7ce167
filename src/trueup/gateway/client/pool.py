"""The connections to upstreams: returns an open link to an address, and keeps it after its answer has been read.

The number of links in use is limited; later callers wait. Idle links are closed after a while.
"""

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from typing import NamedTuple

from trueup.gateway.client.addresses import Addresses
from trueup.gateway.client.link import Link
from trueup.gateway.client.proxies import Proxy, ProxyRefused, Tunnel
from trueup.gateway.client.time_limit import Within
from trueup.gateway.client.tls import Tls, context_of

_ASIDE = 15.0  # seconds that an idle link is kept
_CONNECT = 10.0  # seconds for a connection, including its handshake
_HEAD_START = 0.25  # seconds before the next address is tried in parallel


class Origin(NamedTuple):
    """Where an upstream is."""

    host: str
    port: int
    secure: bool
    tls: Tls = Tls()
    proxy: Proxy | None = None


class NoConnection(OSError):
    """No address of an upstream accepted a connection; the cause says why."""


class Pool:
    """All links, in use and idle."""

    def __init__(self, private: frozenset[str], most: int) -> None:
        self._addresses = Addresses(private)
        self._most = most
        self._used: set[Link] = set()
        self._opening = 0
        self._aside: dict[Origin, list[Link]] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._contexts: dict[Tls, ssl.SSLContext] = {}

    def idle(self, origin: Origin) -> Link | None:
        """An idle link, if there is one and there is room; it must be given back."""
        if len(self._used) + self._opening >= self._most:
            return None
        aside = self._aside.get(origin)
        while aside:
            link = aside.pop()
            if link.reusable:
                self._used.add(link)
                return link
            link.cut()
        return None

    async def take(self, origin: Origin) -> Link:
        """An open link, as soon as there is room for it; it must be given back."""
        first = True
        while len(self._used) + self._opening >= self._most:
            await self._wait(first=first)
            first = False
            link = self.idle(origin)
            if link is not None:
                return link
        self._opening += 1
        try:
            link = await self._connect(origin)
        finally:
            self._opening -= 1
            if len(self._used) + self._opening < self._most:
                self._wake()
        self._used.add(link)
        return link

    def give(self, link: Link) -> None:
        """Keep a link for the next request, or close it if its answer was not read completely."""
        self._used.discard(link)
        if link.reusable:
            loop = asyncio.get_running_loop()
            link.at = loop.time()
            self._aside.setdefault(link.key, []).append(link)
            if self._sweep is None:
                self._sweep = loop.call_later(_ASIDE, self._clear)
        else:
            link.cut()
        self._wake()

    async def close(self) -> None:
        """Close all of them."""
        if self._sweep is not None:
            self._sweep.cancel()
        for link in (*self._used, *(each for aside in self._aside.values() for each in aside)):
            link.cut()
        self._used.clear()
        self._aside.clear()
        await asyncio.sleep(0)  # the transports end in the next turn of the loop

    async def _wait(self, *, first: bool) -> None:
        """Wait until a link is given back. A waiter that is woken and leaves wakes the next one; a waiter that comes too late
        is next again.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.append if first else self._waiting.appendleft)(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _clear(self) -> None:
        """Close links that have been idle for long, oldest first."""
        self._sweep = None
        loop = asyncio.get_running_loop()
        old = loop.time() - _ASIDE
        for origin, aside in list(self._aside.items()):
            while aside and (aside[0].at <= old or not aside[0].reusable):
                aside.pop(0).cut()
            if not aside:
                del self._aside[origin]
        if self._aside:
            self._sweep = loop.call_later(_ASIDE, self._clear)

    async def _connect(self, origin: Origin) -> Link:
        try:
            with Within(_CONNECT):
                if origin.proxy is None:
                    addresses = await self._addresses.of(origin.host, origin.port)
                else:
                    await self._addresses.allow(origin.host, origin.port)
                    addresses = [origin.proxy.host]
                return await self._race(origin, addresses)
        except TimeoutError:
            raise NoConnection("timed out") from None

    async def _race(self, origin: Origin, addresses: list[str]) -> Link:
        """Connect to the first address that answers; each gets a moment before the next one is tried as well."""
        if len(addresses) == 1:
            return await self._open(origin, addresses[0])
        tries: set[asyncio.Task[Link]] = set()
        left = deque(addresses)
        last: BaseException | None = None
        try:
            while left or tries:
                if left:
                    tries.add(asyncio.ensure_future(self._open(origin, left.popleft())))
                done, tries = await asyncio.wait(
                    tries, timeout=_HEAD_START if left else None, return_when=asyncio.FIRST_COMPLETED
                )
                for each in done:
                    last = each.exception()
                    if last is None:
                        return each.result()
        finally:
            for each in tries:
                each.cancel()
                each.add_done_callback(_cut)
        assert last is not None
        raise last

    async def _open(self, origin: Origin, address: str) -> Link:
        loop = asyncio.get_running_loop()
        proxy = origin.proxy
        context = self._context(origin.tls) if origin.secure else None
        transport: asyncio.BaseTransport
        try:
            if proxy is None:
                transport, link = await loop.create_connection(
                    lambda: Link(loop, origin), address, origin.port, ssl=context, server_hostname=origin.host if context else None
                )  # fmt: skip
            elif not origin.secure:
                transport, link = await loop.create_connection(lambda: Link(loop, origin), address, proxy.port)
            else:
                transport, link = await self._through(proxy, origin)
        except ProxyRefused:
            raise
        except OSError as error:
            raise NoConnection(str(error)) from error
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return link

    async def _through(self, proxy: Proxy, origin: Origin) -> tuple[asyncio.BaseTransport, Link]:
        """A link to an upstream through a proxy; the proxy sees the address, but not the data."""
        loop = asyncio.get_running_loop()
        plain, tunnel = await loop.create_connection(
            lambda: Tunnel(proxy, origin.host, origin.port), proxy.host, proxy.port
        )
        try:
            await tunnel.ready
            link = Link(loop, origin)
            transport = await loop.start_tls(plain, link, self._context(origin.tls), server_hostname=origin.host)
        except BaseException:
            plain.abort()
            raise
        if transport is None:
            raise ConnectionResetError("the connection was closed")
        link.connection_made(transport)
        return transport, link

    def _context(self, tls: Tls) -> ssl.SSLContext:
        made = self._contexts.get(tls)
        if made is None:
            made = self._contexts[tls] = context_of(tls)
        return made


def _cut(lost: "asyncio.Task[Link]") -> None:
    """Close a connection that lost a race."""
    if not lost.cancelled() and lost.exception() is None:
        lost.result().cut()
