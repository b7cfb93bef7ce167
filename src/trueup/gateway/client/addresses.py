"""Resolves the host of an upstream to the addresses that the gateway may connect to, or refuses it.

Addresses of this machine or a private network are refused unless the configuration allows them, except for the name
`localhost`. The checked addresses are the ones that are used: the name is not looked up a second time.
"""

import asyncio
import contextlib
import ipaddress
import socket
import time

_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_KEPT = 60.0  # seconds that a lookup is valid
_MOST = 1000


class Forbidden(OSError):
    """A name resolves to an address that the configuration does not allow."""


class Unresolved(OSError):
    """A name has no address."""


class Addresses:
    """Looks up names, and caches the results for a minute."""

    def __init__(self, private: frozenset[str]) -> None:
        self._private = private
        self._known: dict[tuple[str, int], tuple[float, list[str]]] = {}

    async def allow(self, host: str, port: int) -> None:
        """Refuse a private host behind a proxy, as far as that is visible from here: the proxy looks up the name itself."""
        with contextlib.suppress(Unresolved):
            await self.of(host, port)

    async def of(self, host: str, port: int) -> list[str]:
        """The addresses of a host that may be connected to."""
        written = literal(host)
        if written is not None:
            if host not in self._private and not is_public(str(written)):
                raise Forbidden(f"{host} is a private address; set `private: true` for this upstream to allow it")
            return [str(written)]
        known = self._known.get((host, port))
        if known is not None and known[0] > time.monotonic():
            return known[1]
        loop = asyncio.get_running_loop()
        try:
            rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise Unresolved(f"the name {host} cannot be resolved ({_why(error)})") from None
        found = list(dict.fromkeys(str(row[4][0]) for row in rows))
        if host not in self._private and host != "localhost":
            found = [each for each in found if is_public(each)]
            if not found:
                said = f"{host} resolves to a private address; set `private: true` for this upstream to allow it"
                raise Forbidden(said)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[host, port] = (time.monotonic() + _KEPT, found)
        return found


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host spells out, including the old forms that resolvers accept; None for a name.

    >>> literal("2130706433"), literal("0x7f.1"), literal("::1"), literal("models.example")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'), IPv6Address('::1'), None)
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _why(error: Exception) -> str:
    absent = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
    if isinstance(error, UnicodeError) or (isinstance(error, socket.gaierror) and error.errno in absent):
        return "no such host"
    return "the name service did not answer"


def is_public(text: str) -> bool:
    """Whether an address is in the public network; an address that embeds another one is judged by that one too.

    >>> is_public("8.8.8.8"), is_public("::ffff:127.0.0.1")
    (True, False)
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(each.is_global and not each.is_multicast for each in inside if each is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast
