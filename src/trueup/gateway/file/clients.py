"""Reads the `clients` of a gateway's file into a Caller for each key, and reports faults to the desk.

An entry has one key, or several for rotation. No fault repeats a key or a hash.
"""

import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from trueup.gateway.config import Allowance, Caller
from trueup.gateway.keys import MOST_PER_MINUTE, hash_of, is_hash, limits_of
from trueup.store.errors import MOST
from trueup.store.limits import ANY
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader

_ONE = ("name", "key", "hash", "expires")
_CLIENT = (*_ONE, "tenant", "user", "keys", "routes", "models", "limits")
_LIMITS = ("replies", "cost", "requests_per_minute")
_AMOUNT = re.compile(r"(\d{1,16}(?:\.\d{1,6})?) (?:per (hour|day|month)|in (total))")
_MONEY = 1_000_000
SOON = 14 * 86_400


def now() -> float:
    """The clock that decides whether a key expires soon."""
    return time.time()


def read_clients(desk: "SettingsReader", data: Any, routes: Iterable[str], *, quota: bool) -> tuple[Caller, ...]:
    """The callers of a file whose routes have these names; `quota` says whether limits can be counted."""
    known = dict.fromkeys(routes)
    found: list[Caller] = []
    places: list[Parts] = []
    for at, each in enumerate(desk.items(data, ("clients",))):
        here: Parts = ("clients", at)
        part = desk.mapping(each, here, _CLIENT)
        shared = _shared(desk, part, here, known)
        if shared["limits"] and not quota:
            desk.say(
                "N006", (*here, "limits"), "limits of replies and cost need quota", "Give `quota: true` and a store."
            )
        for place, key in _keys(desk, part, here):
            found.append(_caller(desk, key, place, shared))
            places.append(place)
    _refuse_same(desk, found, places)
    _refuse_disagreeing(desk, found, places)
    return tuple(found)


def refuse_open_door(desk: "SettingsReader", top: dict[str, Any], host: str) -> None:
    """Report an empty list of clients; warn about an address that others can reach if there are no clients."""
    if "clients" in top and not top["clients"]:
        said = "clients is empty, and without clients everyone has access"
        desk.say("N006", ("clients",), said, "Add a client, or leave `clients` out.")
    if "clients" not in top and not is_loopback(host):
        said = "others can reach this address, and without `clients` they may all use the keys of the upstreams"
        desk.say("N052", ("listen",), said, "Add `clients`, or listen on 127.0.0.1 behind a proxy that checks clients.")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listening address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shared(desk: "SettingsReader", part: dict[str, Any], here: Parts, routes: dict[str, None]) -> dict[str, Any]:
    """The settings that all keys of an entry share."""
    tenant = desk.text(part.get("tenant"), (*here, "tenant"), needed=True)
    for what in ("tenant", "user"):
        if part.get(what) == ANY:
            desk.say(
                "N006", (*here, what), f"a {what} cannot be called `*`, which stands for all of them", "Give a name."
            )
    name = desk.text(part.get("name", ""), (*here, "name"))
    limits, per_minute = _limits(desk, part.get("limits"), (*here, "limits"))
    allowed = [desk.one_of(each, (*here, "routes"), routes, "route") for each in _list(desk, part, here, "routes")]
    return {
        "tenant": tenant, "user": desk.text(part.get("user", ""), (*here, "user")), "name": name,
        "routes": tuple(each for each in allowed if each),
        "models": tuple(desk.text(each, (*here, "models")) for each in _list(desk, part, here, "models")),
        "limits": limits, "per_minute": per_minute, "client": f"{tenant}/{name}" if name else f"#{here[-1]}",
    }  # fmt: skip


def _list(desk: "SettingsReader", part: dict[str, Any], here: Parts, name: str) -> list[Any]:
    """A list of names, or a single name. An empty list is a fault: it could be taken for all names."""
    given = part.get(name)
    if name in part and not given:
        desk.say("N006", (*here, name), f"{name} must be a list of names", "Leave it out to allow all of them.")
    return [given] if isinstance(given, str) else desk.items(given or None, (*here, name))


def _keys(desk: "SettingsReader", part: dict[str, Any], here: Parts) -> list[tuple[Parts, dict[str, Any]]]:
    """Each key of an entry, with its place."""
    if "keys" not in part:
        return [(here, part)]
    for name in ("key", "hash", "expires"):
        if name in part:
            desk.say("N006", (*here, name), f"an entry with `keys` cannot also have `{name}`", "Put it into `keys`.")
    listed = desk.items(part["keys"], (*here, "keys"))
    if not listed:
        desk.say("N006", (*here, "keys"), "keys must be a list of keys or hashes", "Give `keys: [{hash: sha256:…}]`.")
    return [((*here, "keys", at), desk.mapping(each, (*here, "keys", at), _ONE)) for at, each in enumerate(listed)]


def _caller(desk: "SettingsReader", key: dict[str, Any], here: Parts, shared: dict[str, Any]) -> Caller:
    hashed = desk.secret(key.get("hash", ""), (*here, "hash"), "hash")
    plain = desk.sent(key.get("key", ""), (*here, "key"), "key")
    if ("key" in key) == ("hash" in key):
        said = "a client has a key or a hash of it, not both" if "key" in key else "key is missing"
        desk.say("N006", here if "key" not in key else (*here, "key"), said, "`trueup keys new` makes one.")
    elif "key" in key and key["key"] == "":
        desk.say("N006", (*here, "key"), "key is missing")
    if "hash" in key and not is_hash(hashed):
        said = "hash must be `sha256:` and 64 hexadecimal digits, as `trueup keys new` and `trueup keys hash` print it"
        desk.say("N006", (*here, "hash"), said)
    name = desk.text(key.get("name", ""), (*here, "name")) or shared["name"]
    expires = read_expires(desk, key.get("expires"), (*here, "expires"), name)
    return Caller(plain, hash=hashed, expires=expires, **{**shared, "name": name})


def read_expires(desk: "SettingsReader", data: Any, path: Parts, name: str) -> float | None:
    """When a key stops working; warns if that is soon."""
    if data is None:
        return None
    try:
        moment = datetime.fromisoformat(desk.text(data, path, needed=True))
    except ValueError:
        desk.say("N006", path, f"expires must be a day or a moment, such as 2027-01-31; got {data!r}")
        return None
    until = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    left = until - now()
    if left < SOON:
        whose = f"the key {name!r}" if name else "this key"
        when = (
            "has expired"
            if left <= 0
            else "expires in less than a day"
            if left < 86_400
            else f"expires in {int(left // 86_400)} d"
        )
        desk.say("N050", path, f"{whose} {when}", "Add its successor with `trueup keys new`, then remove this one.")
    return until


def _limits(desk: "SettingsReader", data: Any, path: Parts) -> tuple[tuple[Allowance, ...], int]:
    if data is None:
        return (), 0
    part = desk.mapping(data, path, _LIMITS)
    found: list[Allowance] = []
    for unit in ("replies", "cost"):
        given = part.get(unit, [])
        for text in given if isinstance(given, list) else [given]:
            allowance = _allowance(unit, text)
            if allowance is None:
                said = f"{unit} must be an amount and a period, such as `1000 per day` (or hour, month) or `1000 in total`; got {text!r}"
                desk.say("N006", (*path, unit), said)
            else:
                found.append(allowance)
    per_minute = part.get("requests_per_minute")
    if per_minute is None:
        return tuple(found), 0
    return tuple(found), desk.whole(per_minute, (*path, "requests_per_minute"), MOST_PER_MINUTE)


def _allowance(unit: str, text: Any) -> Allowance | None:
    """The limit in a string, in the units of the store; None if it is not one.

    >>> _allowance("cost", "2.5 per day").amount, _allowance("replies", "2.5 per day"), _allowance("replies", 5)
    (2500000, None, None)
    """
    match = _AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if match is None or (unit == "replies" and "." in match[1]):
        return None
    whole, _, part = match[1].partition(".")
    amount = int(whole) if unit == "replies" else int(whole) * _MONEY + int(part.ljust(6, "0"))
    return Allowance(unit, match[2] or match[3], amount) if amount <= MOST else None  # type: ignore[arg-type]


def _refuse_same(desk: "SettingsReader", callers: list[Caller], places: list[Parts]) -> None:
    seen: set[str] = set()
    for caller, place in zip(callers, places, strict=True):
        hashed = caller.hash.lower() or (hash_of(caller.key) if caller.key else "")
        if hashed and hashed in seen:
            where = (*place, "hash" if caller.hash else "key")
            desk.say("N006", where, "another client has the same key", "Give each client its own key.")
        seen.add(hashed)


def _refuse_disagreeing(desk: "SettingsReader", callers: list[Caller], places: list[Parts]) -> None:
    """Report contradictory limits of one tenant, user or client: it would be unclear which one applies."""
    amounts: dict[tuple[str, ...], int] = {}
    for caller, place in zip(callers, places, strict=True):
        said = {limit[:-1]: limit.amount for limit in limits_of([caller])} | {(caller.client,): caller.per_minute}
        if any(amounts.setdefault(what, amount) != amount for what, amount in said.items()):
            message = "another entry of the same client, user or tenant has a different limit"
            desk.say("N006", (*place[:2], "limits"), message, "Give one limit, or entries with different users.")
