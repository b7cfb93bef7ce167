"""Settings: what a studio was started with. Folders, a store, keys with their roles, and the names it answers to."""

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
    """Somebody who may open the studio."""

    name: str
    digest: str
    """The SHA-256 of the key in hexadecimal digits; the key itself is nowhere."""
    role: Role = "reader"
    tenant: str | None = None
    """The only tenant whose verdicts this key sees; None: all."""
    expires: float | None = None
    """When the key stops working, in seconds since 1970; None: never."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a studio may use."""

    keys: tuple[Key, ...]
    folders: tuple[Path, ...] = ()
    """Absolute folders with contracts, replies and runs; no other file is read or written."""
    hidden: frozenset[Path] = frozenset()
    """Absolute files inside these folders that are treated as missing: the gateway's own, which may hold keys."""
    store: str = ""
    """The path or address of a store; empty: none."""
    hosts: frozenset[str] = LOOPBACK
    """The names, without a port, that requests may address it by."""
    addresses: bool = False
    """Whether it also answers to any IP address: for a studio that listens on all of a machine's. No site can point an address elsewhere."""
    secret: str = ""
    """What cookies are signed with; empty: something random, so that they end with this process."""
    mount: str = ""
    """The path that it is served below, such as `/studio`; empty: the root."""
    demo: bool = False
    """Whether it shows sample traffic."""
    applies: Literal["", "reload", "signal"] = ""
    """How a saved contract reaches the gateway that serves this studio: by itself (`reload`), or when the gateway gets a SIGHUP (`signal`).
    Empty: there is no gateway."""
