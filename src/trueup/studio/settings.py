"""Settings: the options of a studio: folders, a store, keys with their roles, and the hosts that it accepts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

Role = Literal["reader", "labeller", "editor"]
Right = Literal["read", "label", "edit"]

RIGHTS: Mapping[Role, frozenset[Right]] = {
    "reader": frozenset({"read"}),
    "labeller": frozenset({"read", "label"}),
    "editor": frozenset({"read", "label", "edit"}),
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Key(msgspec.Struct, frozen=True):
    """A key that opens the studio."""

    name: str
    digest: str
    """The SHA-256 of the key in hexadecimal digits; the key itself is not stored."""
    role: Role = "reader"
    tenant: str | None = None
    """The only tenant whose verdicts this key sees; None: all."""
    expires: float | None = None
    """When the key stops working, in seconds since 1970; None: never."""


class StudioSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a studio."""

    keys: tuple[Key, ...]
    folders: tuple[Path, ...] = ()
    """Absolute folders with contracts, replies and runs; no other file is read or written."""
    hidden: frozenset[Path] = frozenset()
    """Absolute files inside these folders that are treated as missing: the gateway's own files, which may contain keys.
    """
    store: str = ""
    """The path or address of a store; empty: none."""
    hosts: frozenset[str] = LOOPBACK
    """The host names, without a port, that requests may use."""
    addresses: bool = False
    """Whether it also accepts any IP address as host: for a studio that listens on all addresses. Unlike a name, an
    address cannot be rebound by a site.
    """
    secret: str = ""
    """The secret that signs cookies; empty: a random one, so that cookies end with this process."""
    mount: str = ""
    """The path under which it is served, such as `/studio`; empty: the root."""
    demo: bool = False
    """Whether it shows sample traffic."""
    applies: Literal["", "reload", "signal"] = ""
    """How the gateway that serves this studio loads a saved contract: automatically (`reload`), or when it gets a
    SIGHUP (`signal`). Empty: there is no gateway.
    """
