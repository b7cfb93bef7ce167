"""Names of upstreams as addresses: a host enters, the addresses that may be connected to leave, or a refusal.

What leads to this machine or a private network is refused unless the configuration allows it. The addresses that were looked at
are the ones that are used: nobody asks for the name a second time.
"""

import asyncio
import ipaddress
import socket
import time

_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_KEPT = 60.0  # seconds that an answer of the name service holds
_MOST = 1000


class Forbidden(OSError):
    """A name leads to an address that the configuration does not allow."""


class Addresses:
    """Looks names up, and remembers what was found for a minute."""

    def __init__(self, private: frozenset[str]) -> None:
        self._private = private
        self._known: dict[tuple[str, int], tuple[float, list[str]]] = {}

    async def of(self, host: str, port: int) -> list[str]:
        """The addresses of a host; one that is written as an address is taken as it is."""
        if _is_address(host):
            return [host]
        known = self._known.get((host, port))
        if known is not None and known[0] > time.monotonic():
            return known[1]
        loop = asyncio.get_running_loop()
        rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(row[4][0]) for row in rows))
        if host not in self._private and host != "localhost":
            found = [each for each in found if is_public(each.partition("%")[0])]
            if not found:
                said = f"{host} leads to a private address; say `private: true` for this upstream to allow that"
                raise Forbidden(said)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[host, port] = (time.monotonic() + _KEPT, found)
        return found


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(text: str) -> bool:
    """Whether an address leads to the open network, also when it only carries another one inside.

    >>> is_public("8.8.8.8"), is_public("::ffff:127.0.0.1")
    (True, False)
    """
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(each.is_global and not each.is_multicast for each in inside if each is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast
