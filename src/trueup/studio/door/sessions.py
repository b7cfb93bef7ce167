"""Sessions: makes a cookie from a key, and checks cookies without state on the server.

The cookie contains the name of the key and its expiry, signed with a secret that all workers share. The signature
covers the key's digest: a cookie becomes invalid once its key is changed or removed from the settings, and a digest
alone opens nothing.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping

from trueup.studio.settings import Key

LASTS = 30 * 24 * 3600  # seconds
_NAME = "trueup_studio"


def digest_of(secret: str) -> str:
    """The digest that identifies a key.

    >>> digest_of("example")[:8]
    '50d858e0'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def new_secret() -> str:
    """A new key, safe in a URL."""
    return secrets.token_urlsafe(24)


def by_secret(keys: Iterable[Key], secret: str, now: float | None = None) -> Key | None:
    """The key that a secret belongs to, unless it has expired."""
    digest = digest_of(secret)
    matches = [key for key in keys if hmac.compare_digest(key.digest, digest)]
    return matches[0] if matches and _lasts(matches[0], now) else None


def cookie_name(port: str) -> str:
    """The name of the cookie; ports share cookies, so each studio on a machine has its own name."""
    return f"{_NAME}_{port}" if port.isascii() and port.isdigit() else _NAME


def cookie_value(key: Key, signing: str, now: float | None = None) -> str:
    """A cookie for a key."""
    until = int((time.time() if now is None else now) + LASTS)
    name = _spelled(key)
    return f"{name}.{until}.{_signature(key, signing, name, until)}"


def by_cookie(keys: Iterable[Key], signing: str, value: str, now: float | None = None) -> Key | None:
    """The key of a cookie, unless the cookie has expired or was forged.

    >>> ana = Key("ana", digest_of("example"))
    >>> by_cookie([ana], "s", cookie_value(ana, "s")) == ana, by_cookie([ana], "s", "616e61.9999999999.00")
    (True, None)
    """
    name, _, rest = value.partition(".")
    ends, _, signature = rest.partition(".")
    if not (value.isascii() and ends.isdigit() and len(ends) < 12):
        return None
    until = int(ends)
    if until < (time.time() if now is None else now):
        return None
    for key in keys:
        if _spelled(key) == name and hmac.compare_digest(_signature(key, signing, name, until), signature):
            return key if _lasts(key, now) else None
    return None


def cookies_of(headers: Mapping[str, str], name: str) -> list[str]:
    """All cookies of a request with a name: any other server on this machine can add one.

    >>> cookies_of({"cookie": "a=1; b=2;a=3"}, "a")
    ['1', '3']
    """
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for given, _, value in parts if given == name]


class Codes:
    """Codes that open the studio once, in this process.

    A browser keeps the first URL in its history, and other users of the machine may see it in the list of processes, so
    its code must be useless afterwards.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Key] = {}

    def new(self, key: Key) -> str:
        """A code that can be used once in place of a key."""
        code = new_secret()
        self._waiting[code] = key
        return code

    def take(self, code: str) -> Key | None:
        """The key for a code; the code is used up."""
        return self._waiting.pop(code, None)


def _lasts(key: Key, now: float | None) -> bool:
    return key.expires is None or (time.time() if now is None else now) < key.expires


def _spelled(key: Key) -> str:
    return key.name.encode("utf-8", "surrogatepass").hex()


def _signature(key: Key, signing: str, name: str, until: int) -> str:
    return hmac.new(signing.encode(), f"{name}.{until}.{key.digest}".encode(), hashlib.sha256).hexdigest()
