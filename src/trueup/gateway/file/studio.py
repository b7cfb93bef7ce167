"""Reads the `studio` section of a gateway's file, and reports faults to the desk.

The studio has its own keys: none of them is a client's. No fault repeats a key or a hash.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trueup.gateway.config import Caller, Route, StudioKey, StudioSection
from trueup.gateway.file.clients import read_expires
from trueup.gateway.keys import hash_of, is_hash
from trueup.store.limits import ANY
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader

NAME = "studio"  # the section, and the first part of the paths
_SECTION = ("keys", "folders", "hosts", "secret")
_KEY = ("name", "role", "key", "hash", "tenant", "expires")
_ROLES = ("reader", "labeller", "editor")
_SHORT = 20  # characters; a shorter key could be guessed
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


def read_studio(
    desk: "SettingsReader", data: Any, clients: Iterable[Caller], routes: Iterable[Route]
) -> StudioSection | None:  # fmt: skip
    """The section of a file with these clients and routes; None if there is none."""
    if data is None:
        return None
    path: Parts = (NAME,)
    part = desk.mapping(data, path, _SECTION)
    for at, route in enumerate(routes):
        if route.name == NAME:
            desk.say(
                "N006",
                ("routes", at, "name"),
                "the studio is at /studio: a route cannot be called 'studio'",
                "Give it another name.",
            )
    keys = _keys(desk, part.get("keys"), (*path, "keys"), clients)
    secret = desk.secret(part.get("secret", ""), (*path, "secret"), "secret")
    if secret and len(secret) < _SHORT:
        desk.say("N006", (*path, "secret"), f"the secret has fewer than {_SHORT} characters, so it may be guessed")
    return StudioSection(
        keys, _folders(desk, part.get("folders"), (*path, "folders")), _hosts(desk, part.get("hosts"), (*path, "hosts")),
        secret, str(desk.file.resolve()) if desk.file is not None else "",
    )  # fmt: skip


def _keys(desk: "SettingsReader", data: Any, path: Parts, clients: Iterable[Caller]) -> tuple[StudioKey, ...]:
    listed = desk.items(data, path)
    if not listed:
        hint = "Give `keys: [{name: ana, role: editor, hash: sha256:…}]`; `trueup keys new --role editor` makes one."
        desk.say("N006", path, "the studio needs keys: without one nobody can open it", hint)
    taken = {each.hash.lower() or hash_of(each.key) for each in clients if each.hash or each.key}
    found: list[StudioKey] = []
    for at, each in enumerate(listed):
        key = _key(desk, desk.mapping(each, (*path, at), _KEY), (*path, at))
        if key.name and key.name in {earlier.name for earlier in found}:
            said = f"another key of the studio is called {key.name!r}"
            desk.say("N006", (*path, at, "name"), said, "Give each its own name.")
        where = (*path, at, "hash" if key.hash else "key")
        hashed = key.hash.lower() or (hash_of(key.key) if key.key else "")
        if hashed and hashed in taken:
            hint = "`trueup keys new` makes a new one."
            desk.say("N006", where, "a client, or another entry of the studio, has the same key", hint)
        taken.add(hashed)
        found.append(key)
    return tuple(found)


def _key(desk: "SettingsReader", part: dict[str, Any], here: Parts) -> StudioKey:
    name = desk.text(part.get("name"), (*here, "name"), needed=True)
    role = desk.word(part.get("role"), (*here, "role"), _ROLES)
    hashed = desk.secret(part.get("hash", ""), (*here, "hash"), "hash")
    plain = desk.sent(part.get("key", ""), (*here, "key"), "key")
    if ("key" in part) == ("hash" in part):
        said = "an entry has a key or a hash of it, not both" if "key" in part else "key is missing"
        hint = "`trueup keys new --role editor` makes one."
        desk.say("N006", here if "key" not in part else (*here, "key"), said, hint)
    elif "key" in part and len(plain) < _SHORT and (plain or part["key"] == ""):
        desk.say(
            "N006",
            (*here, "key"),
            f"this key has fewer than {_SHORT} characters, so it may be guessed",
            "`trueup keys new` makes one.",
        )
    if "hash" in part and not is_hash(hashed):
        said = "hash must be `sha256:` and 64 hexadecimal digits, as `trueup keys new` and `trueup keys hash` print it"
        desk.say("N006", (*here, "hash"), said)
    tenant = desk.text(part["tenant"], (*here, "tenant"), needed=True) if "tenant" in part else ""
    if tenant == ANY:
        desk.say(
            "N006",
            (*here, "tenant"),
            "tenant must be the name of one tenant",
            "Leave it out for a key that sees all tenants.",
        )
    expires = read_expires(desk, part.get("expires"), (*here, "expires"), name)
    return StudioKey(name, role, plain, hashed, tenant, expires)  # type: ignore[arg-type]  # one of the roles


def _folders(desk: "SettingsReader", data: Any, path: Parts) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for at, each in enumerate(desk.items(data, path)):
        name = desk.text(each, (*path, at), needed=True)
        folder = desk.folder / name
        if name and not folder.is_dir():
            desk.say("N006", (*path, at), f"there is no folder {name!r}", "Make it, or give another.")
        elif name:
            found[str(folder.resolve())] = None
    return tuple(found)


def _hosts(desk: "SettingsReader", data: Any, path: Parts) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for at, each in enumerate(desk.items(data, path)):
        name = desk.text(each, (*path, at), needed=True).lower()
        if name and not _HOST.fullmatch(name):
            said = f"a host must be a name without a scheme and a port, such as studio.example.com; got {name!r}"
            desk.say("N006", (*path, at), said)
        elif name:
            found[name] = None
    return tuple(found)
