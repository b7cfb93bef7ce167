"""Client keys: find the caller of a request by its key, create keys and hashes, and apply their limits.

A key is found by its SHA-256, so neither timing nor a stolen configuration reveals a key. No message, log or repr here
contains a key, a hash or a header.
"""

import hashlib
import logging
import math
import re
import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from trueup.gateway.config import Caller, Route
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.store.limits import Limit
from trueup.store.quota import Quota

log = logging.getLogger("trueup.gateway")

MOST_PER_MINUTE = 100_000
_FORM = re.compile(r"sha256:([0-9a-fA-F]{64})")
_MINUTE = 60.0


def new_key() -> str:
    """A new key: `tu-` and 192 random bits.

    >>> len(new_key()), new_key()[:3], new_key() == new_key()
    (51, 'tu-', False)
    """
    return f"tu-{secrets.token_hex(24)}"


def hash_of(key: str) -> str:
    """The hash of a `key`, as a gateway's file stores it.

    >>> hash_of("tu-example")[:15]
    'sha256:2c9bf6be'
    """
    return f"sha256:{_digest(key).hex()}"


def is_hash(text: str) -> bool:
    """Whether a string is a hash in the form of `hash_of`."""
    return _FORM.fullmatch(text) is not None


def presented(headers: Mapping[str, str]) -> str:
    """The key that a request carries, in any of the places where clients put it; empty if there is none.

    >>> presented({"authorization": "bearer tu-1"}), presented({"api-key": "tu-2"}), presented({})
    ('tu-1', 'tu-2', '')
    """
    own = headers.get("x-api-key")
    if own:
        return own
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":  # the scheme's name ignores case
        return rest.strip()
    return headers.get("api-key") or (f"{scheme} {rest}" if rest else scheme)


class RateLimiter:
    """Limits the requests of one client in any 60 seconds, in this process."""

    __slots__ = ("seen",)

    def __init__(self, per_minute: int) -> None:
        self.seen: deque[float] = deque(maxlen=per_minute)

    def follow(self, before: "RateLimiter") -> None:
        """Keep the previous counts, as far as the new limit allows."""
        self.seen.extend(before.seen)

    def wait(self, now: float) -> float:
        """Seconds until there is room; 0 if this request was admitted and counted."""
        seen = self.seen
        if len(seen) == seen.maxlen and now - seen[0] < _MINUTE:
            return _MINUTE - (now - seen[0])
        seen.append(now)  # drops the oldest one, which is over a minute old
        return 0.0


class Keyring:
    """The keys of a configuration. Without any, everyone has access."""

    def __init__(self, callers: Iterable[Caller]) -> None:
        self._callers = {_digest_of(caller): caller for caller in callers}
        self.clients: dict[str | bytes, RateLimiter] = {}
        self._rates = {
            id(caller): self.clients.setdefault(caller.client or digest, RateLimiter(caller.per_minute))
            for digest, caller in self._callers.items()
            if caller.per_minute
        }
        self._told: set[int] = set()

    def follow(self, before: "Keyring") -> None:
        """Take over the counts of an earlier configuration's keyring."""
        for client, rate in self.clients.items():
            if client in before.clients:
                rate.follow(before.clients[client])

    def admit(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller; None if no key is needed. Refuses an unknown or expired key, and requests over the client's rate."""
        if not self._callers:
            return None
        given = presented(headers)
        caller = self._callers.get(_digest(given)) if given else None
        if caller is None:
            said = "unknown API key" if given else "an API key is required: send `Authorization: Bearer KEY`"
            raise RefusedRequest(401, said, "authentication_error", "invalid_api_key")
        if caller.expires is not None and time.time() >= caller.expires:
            self._tell_expired(caller)
            raise RefusedRequest(401, "this API key has expired", "authentication_error", "expired_api_key")
        rate = self._rates.get(id(caller))
        if rate is not None and (seconds := rate.wait(time.monotonic())):
            raise RefusedRequest(
                429, f"too many requests: this client may send {caller.per_minute} per minute", "rate_limit_error",
                "rate_limit_exceeded", headers={"retry-after": str(math.ceil(seconds))},
            )  # fmt: skip
        return caller

    def _tell_expired(self, caller: Caller) -> None:
        """Log once for each key: a client that keeps trying must not fill the log."""
        if id(caller) not in self._told:
            self._told.add(id(caller))
            log.warning("an expired key was used: %r of tenant %r", caller.name, caller.tenant)


def permit(caller: Caller | None, route: Route | None, model: str | None) -> None:
    """Refuse a route or a model that the caller's key does not allow; a `model` of None is not checked."""
    if caller is None:
        return
    if caller.routes and (route is None or route.name not in caller.routes):
        said = f"this API key can only be used for the routes {', '.join(caller.routes)}"
        raise RefusedRequest(403, said, "permission_error", "route_not_allowed", headers=NO_RETRY)
    if caller.models and model is not None and not any(fnmatchcase(model, pattern) for pattern in caller.models):
        said = f"this API key can only be used for the models {', '.join(caller.models)}"
        raise RefusedRequest(403, said, "permission_error", "model_not_allowed", headers=NO_RETRY)


def limits_of(callers: Iterable[Caller]) -> list[Limit]:
    """The limits of clients in the file, in the store's terms: of the user if the key has one, else of the tenant."""
    found = {
        Limit(caller.tenant, "user" if caller.user else "tenant", caller.user, each.unit, each.period, each.amount)
        for caller in callers
        for each in caller.limits
    }
    return sorted(found)


def set_limits(quota: Quota, callers: Iterable[Caller]) -> None:
    """Write the limits of the file to the store; log each one that replaces a different limit."""
    wanted = limits_of(callers)
    if not wanted:
        return
    known = {limit[:-1]: limit.amount for limit in quota.limits()}
    for limit in wanted:
        before = known.get(limit[:-1])
        if before == limit.amount:
            continue
        if before is not None:
            whose = f"{limit.tenant}, user {limit.name}" if limit.name else limit.tenant
            said = "the limit of %s (%s, %s) was %d and is now %d, as set in the gateway's file"
            log.warning(said, whose, limit.unit, limit.period, before, limit.amount)
        quota.set_limit(
            limit.tenant, limit.amount, scope=limit.scope, name=limit.name, unit=limit.unit, period=limit.period  # type: ignore[arg-type]
        )  # fmt: skip


def _digest_of(caller: Caller) -> bytes:
    hashed = _FORM.fullmatch(caller.hash)
    return bytes.fromhex(hashed[1]) if hashed is not None else _digest(caller.key)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
