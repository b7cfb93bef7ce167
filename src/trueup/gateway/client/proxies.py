"""Chooses an upstream's proxy from the environment, and opens the tunnel through it.

Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower case first. This machine is never reached through a
proxy. Only proxies over plain HTTP are supported; any other is an error, never a direct connection.
"""

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from trueup.gateway.client.addresses import literal

_MOST_HEAD = 16_384


class Proxy(NamedTuple):
    """The address of a proxy, and the credentials for it."""

    host: str
    port: int
    authorization: str = ""

    def __repr__(self) -> str:  # keeps the password out of logs
        return f"Proxy({self.host!r}, {self.port})"


class ProxyRefused(OSError):
    """A proxy did not open a tunnel to the upstream."""


def proxy_for(host: str, port: int, environ: Mapping[str, str], *, secure: bool) -> Proxy | None:
    """The proxy for a host.

    >>> environ = {"HTTPS_PROXY": "http://ada:pw@proxy.example:3128", "NO_PROXY": ".test"}
    >>> proxy_for("api.example", 443, environ, secure=True)
    Proxy('proxy.example', 3128)
    """
    name = "https_proxy" if secure else "http_proxy"
    names = (name, name.upper(), "all_proxy", "ALL_PROXY")
    found = next((each for each in names if environ.get(each)), "")
    if not found or _is_exempt(host, port, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    text = environ[found]
    address = urlsplit(text if "://" in text else f"http://{text}")
    try:
        at = address.port or 80
    except ValueError:
        at = 0
    if address.scheme != "http" or not address.hostname or not at:
        raise ValueError(f"{found} does not name a supported proxy; it must be an address such as http://HOST:PORT")
    said = ""
    if address.username:
        pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
        said = f"Basic {b64encode(pair.encode()).decode()}"
    return Proxy(address.hostname, at, said)


def _is_exempt(host: str, port: int, listed: str) -> bool:
    written = literal(host)
    if host == "localhost" or host.endswith(".localhost") or (written is not None and written.is_loopback):
        return True
    for each in filter(None, (part.strip().lower() for part in listed.split(","))):
        if each == "*":
            return True
        if written is not None:
            with contextlib.suppress(ValueError):
                if ip_address(str(written)) in ip_network(each.strip("[]"), strict=False):
                    return True
        name, _, at = each.rpartition(":") if each.count(":") == 1 else (each, "", "")
        if at and at != str(port):
            continue
        name = name.removeprefix("*").removeprefix(".")
        if name and (host == name or host.endswith(f".{name}")):
            return True
    return False


class Tunnel(asyncio.Protocol):
    """Asks a proxy for a tunnel to a host and waits for its answer; does not read the bytes after that."""

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        said = f"proxy-authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
        self._ask = f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n{said}\r\n".encode("latin-1")
        self._head = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._ask)

    def data_received(self, data: bytes) -> None:
        self._head += data
        head, end, more = self._head.partition(b"\r\n\r\n")
        if not end:
            if len(self._head) > _MOST_HEAD:
                self._end(ProxyRefused("the proxy's answer has no end"))
            return
        status = head.split(b"\r\n")[0].split(b" ")
        if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or not status[1].isdigit():
            self._end(ProxyRefused("the proxy's answer is not HTTP"))
        elif not status[1].startswith(b"2"):
            self._end(ProxyRefused(f"the proxy refused the connection (status {int(status[1][:4])})"))
        elif more:
            self._end(ProxyRefused("the proxy sent more than an answer"))
        else:
            self._transport.pause_reading()
            self._end(None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - as asyncio calls it
        self._end(ProxyRefused("the proxy closed the connection"))

    def _end(self, error: ProxyRefused | None) -> None:
        if self.ready.done():
            return
        if error is None:
            self.ready.set_result(None)
        else:
            self.ready.set_exception(error)
