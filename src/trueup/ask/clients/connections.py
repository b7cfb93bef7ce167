"""Separate connections for the caller's asynchronous httpx client.

Takes a client; returns a copy with the same settings and no connections. Connections belong to the event loop in which they were opened,
so a client that is used in the caller's loop and in trueup's needs two sets of them. The copy keeps no connections open after a call,
because the caller cannot close it. A client that is not built as expected is returned unchanged.
"""

import contextlib
import os
import threading
import weakref
from copy import copy
from typing import Any

from trueup.ask.clients import event_loop

_lock = threading.Lock()
_copies: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # a child process must not use its parent's connections
    os.register_at_fork(after_in_child=_copies.clear)


def own_connections(client: Any) -> Any:
    """A copy of a client for trueup's own event loop, made once; the client itself if it cannot be copied.

    >>> own_connections("no client")
    'no client'
    """
    transports = getattr(client, "_transport", None), *(getattr(client, "_mounts", None) or {}).values()
    if not all(transport is None or _can_copy(transport) for transport in transports) or transports[0] is None:
        return client
    with _lock:
        if client not in _copies:
            found = copy(client)
            found._transport = _emptied(client._transport)  # noqa: SLF001 - httpx has no other way to copy a client
            found._mounts = {pattern: _emptied(transport) for pattern, transport in client._mounts.items()}  # noqa: SLF001
            _copies[client] = found
            weakref.finalize(client, _close, found)
        return _copies[client]


def _can_copy(transport: Any) -> bool:
    pool = getattr(transport, "_pool", None)
    return isinstance(getattr(pool, "_connections", None), list) and isinstance(getattr(pool, "_requests", None), list)


def _emptied(transport: Any) -> Any:
    if transport is None:
        return None
    found = copy(transport)
    found._pool = copy(transport._pool)  # noqa: SLF001 - as above
    found._pool._connections, found._pool._requests = [], []  # noqa: SLF001 - as above
    found._pool._max_keepalive_connections = 0  # noqa: SLF001 - as above
    return found


def _close(copied: Any) -> None:
    """Close the connections in the loop that they belong to, at the latest when the program ends."""
    with contextlib.suppress(Exception):  # the program is ending: nobody could handle an error
        event_loop.leave(copied.aclose())
