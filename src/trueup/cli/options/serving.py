"""The folders, the store and the address of a command that serves.

They turn words from the command line into values. If one cannot be used, the error says what to do.
"""

import contextlib
import ipaddress
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    import socket

    from trueup.studio.settings import StudioSettings

HERE = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, and bound only if asked for
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")


def folders_of(given: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders as absolute paths, without duplicates."""
    found: dict[Path, None] = {}
    for each in given or (".",):
        path = Path(each)
        if not path.is_dir():
            said = "this is a file; give the folder that contains it" if path.exists() else "there is no such folder"
            raise Unavailable(f"{each}: {said}")
        found[path.resolve()] = None
    return tuple(found)


def with_store(settings: "StudioSettings", given: str) -> "StudioSettings":
    """The settings with a store: the given one, or the only one in the folders."""
    from msgspec.structs import replace

    from trueup.cli.options.store import opened
    from trueup.studio.stores import stores_in

    if not given:
        found = stores_in(settings.folders)
        if len(found) > 1:
            names = ", ".join(map(short_path, found))
            click.echo(f"there are several stores ({names}); choose one with --store", err=True)
        if len(found) != 1:
            return settings
        given = str(found[0])
    with opened(given):  # errors in it are reported now
        pass
    return replace(settings, store=given)


def address_of(listen: str, usual: int) -> tuple[str, int]:
    """The address and the port that `--listen` names."""
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise click.UsageError(f"--listen {listen!r}: give an address and a port, such as 0.0.0.0:{usual}")
    return host.strip("[]") or HERE, int(port)


def bound(host: str, port: int | None, option: str, *, usual: int) -> "socket.socket":
    """A socket on the given port, or on the usual port, or on any free one if the usual port is in use.

    `option` is the option that gave the port.
    """
    from trueup.studio.serving import CannotListen, bind

    try:
        return bind(host, usual if port is None else port)
    except CannotListen as error:
        if port is not None:
            raise Unavailable(f"{error}; give another with {option}; port 0 is any free one") from None
    try:
        return bind(host, 0)
    except CannotListen as error:
        raise Unavailable(str(error)) from None


def short_path(path: Path) -> str:
    """A path in its shortest form from the current folder."""
    with contextlib.suppress(ValueError, OSError):
        near = os.path.relpath(path)
        return near if not near.startswith("..") else str(path)
    return str(path)


def host_name(given: str) -> str:
    """A host name that requests may use. A name that no client can send is refused."""
    name = as_sent(given)
    if not _HOST.fullmatch(name):
        raise click.UsageError(f"--host {given!r}: give a name without a scheme and a port, such as studio.example.com")
    return name


def as_sent(host: str) -> str:
    """A name or an address in the form that browsers send.

    >>> as_sent("Studio.Example.com"), as_sent("2001:DB8:0::1"), as_sent("[::1]")
    ('studio.example.com', '[2001:db8::1]', '[::1]')
    """
    plain = host.removeprefix("[").removesuffix("]").lower()
    with contextlib.suppress(ValueError):
        plain = str(ipaddress.ip_address(plain))
    return bracketed(plain)


def bracketed(host: str) -> str:
    """An address in the form that URLs use."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
