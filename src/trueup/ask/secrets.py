"""The secrets that clients send: their keys, headers and passwords, found where each SDK keeps them.

Takes clients; masks their secrets in texts. It searches the clients only when the first failure is reported, and changes nothing. It reads
the members of objects, calls only methods that return a stored secret, and stops after a bounded number of objects.
"""

import base64
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from trueup.verdict.patterns import lazy_regex
from trueup.verdict.secrets import MARK, masked

_SECRET = lazy_regex(
    r"(?i)(?:^|[_\-])(?:api_?key|key|token|secret|secret_key|access_key|password|passwd|authorization|auth|cookie|credentials?)$"
    r"|^(?:x-)?(?:goog-)?api-key$|^x-api-key$|apikey|api[-_]key"
)
_NOT = lazy_regex(r"(?i)max_|_tokens$|tokenizer|token_usage|^key$")  # a client's `key` is its name, not a secret
_ADDRESS = lazy_regex(r"(?i)url|endpoint|address|^host$")
_ENVIRONMENT = lazy_regex(r"(?:_API_KEY|_TOKEN|_SECRET|_SECRET_ACCESS_KEY|_ACCESS_KEY_ID|_PASSWORD|_ACCESS_KEY)$")
_DEEP = 6
_LEAST = 6  # characters of a secret; a shorter text is a word such as `none`
# Given if no key is needed; each is also a word of ordinary messages.
_PLACEHOLDERS = frozenset(
    "ollama lm-studio lmstudio openai api-key api_key apikey your-api-key no-key no-key-required sk-no-key-required not-needed"
    " not-used not-required unused dummy-key fake-key test-key placeholder anything password bearer".split()
)
_PART = 8  # the first characters of a secret that are masked at the end of a text that was cut
_SHORT = 150  # texts of up to this many characters are never cut
_MOST = 3000  # objects to look at


class Secrets:
    """Masks the secrets of some clients, and anything that looks like a secret, in texts."""

    __slots__ = ("_clients", "_values")

    def __init__(self, clients: Iterable[Any]) -> None:
        self._clients = tuple(clients)
        self._values: tuple[str, ...] | None = None

    def masked(self, text: str) -> str:
        """A text without secrets."""
        if not text:
            return text
        if self._values is None:
            found = {spelled for value in self._found() for spelled in spellings(value)}
            self._values = tuple(sorted(found, key=len, reverse=True))
        return masked(_without_start(text, self._values), self._values)

    def _found(self) -> Iterator[str]:
        yield from (value for name, value in os.environ.items() if _ENVIRONMENT.search(name))
        for client in self._clients:
            yield from secrets_in(client)


def _without_start(text: str, values: Iterable[str]) -> str:
    """The text without the first part of a secret at its end, which is left if the text was cut there."""
    for value in values:
        start = text.find(value[:_PART], max(_SHORT, len(text) - len(value)))
        while start >= 0:
            if value.startswith(text[start:]):
                return text[:start] + MARK
            start = text.find(value[:_PART], start + 1)
    return text


def secrets_in(client: Any) -> set[str]:
    """The secrets in an object, down to a limited depth.

    >>> from types import SimpleNamespace
    >>> held = SimpleNamespace()
    >>> held.api_key, held.url = "k-12345678", "https://ada:lovelace@host/?key=abc"
    >>> sorted(secrets_in(held))
    ['abc', 'ada:lovelace', 'k-12345678', 'lovelace']
    """
    found: set[str] = set()
    seen: set[int] = set()
    todo: deque[tuple[str, Any, int]] = deque([("", client, 0)])
    while todo and len(seen) < _MOST:  # breadth first
        name, value, depth = todo.popleft()
        if isinstance(value, str | bytes):
            found.update(_in_text(name, value if isinstance(value, str) else value.decode("latin-1")))
            continue
        if value is None or isinstance(value, int | float | type | ModuleType) or id(value) in seen or depth > _DEEP:
            continue
        seen.add(id(value))
        try:
            parts = list(_parts(value))
        except Exception:  # noqa: BLE001 - an object that cannot be looked into must not turn a failure into an exception
            parts = []
        todo.extend((part or name, inner, depth + 1) for part, inner in parts)  # an item has the name of its container
    return found - {""}


def _in_text(name: str, text: str) -> Iterator[str]:
    if _SECRET.search(name) and not _NOT.search(name):
        yield text
        yield text.partition(" ")[2]  # without the word `Bearer`
    if "://" in text and (_ADDRESS.search(name) or text.startswith("http")):
        try:
            parts = urlsplit(text)
        except ValueError:
            return
        if parts.password:
            yield unquote(parts.password)
            yield parts.netloc.rpartition("@")[0]
        for pair in parts.query.split("&"):
            key, _, value = pair.partition("=")
            if _SECRET.search(key):
                yield unquote(value)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The contents of an object, by name; names of headers may be bytes."""
    reveal = getattr(type(value), "get_secret_value", None)
    if reveal is not None:
        yield "secret", reveal(value)
    elif isinstance(value, Mapping):
        yield from ((_text(key), inner) for key, inner in _items(value))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in list(value)[:200]:
            pair = isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], str | bytes)
            yield (_text(item[0]), item[-1]) if pair else ("", item)
    elif isinstance(value, partial):
        yield from value.keywords.items()
        yield "", value.func
    elif isinstance(value, Callable) and hasattr(value, "__closure__"):  # type: ignore[arg-type]
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
        yield from ((name, _cell(cell)) for name, cell in cells)
    else:
        yield from _members(value)


def _items(value: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """The first items of a mapping; some, such as urllib3's pools, cannot be iterated."""
    try:
        return list(value.items())[:200]
    except Exception:  # noqa: BLE001 - a foreign mapping may raise anything
        return []


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        yield from list(held.items())
    owner = getattr(value, "__self__", None)
    if owner is not None:
        yield "", owner
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member: Any = kind.__dict__.get(name)
            if hasattr(member, "__get__"):
                try:
                    yield name, member.__get__(value, type(value))
                except AttributeError:  # an empty slot
                    continue


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


def spellings(value: str) -> set[str]:
    """The ways to write a secret: as it is, encoded for a URL, escaped for JSON, or in base64 as in Basic authentication.

    >>> sorted(spellings("a:b+c=="))
    ['YTpiK2M9PQ==', 'a%3Ab%2Bc%3D%3D', 'a:b+c==']
    """
    if len(value) < _LEAST or value.lower() in _PLACEHOLDERS:
        return set()
    plain = base64.b64encode(value.encode("utf-8", "replace")).decode()
    return {
        value, quote(value, safe=""), quote(value), quote_plus(value), plain, plain.replace("+", "-").replace("/", "_"),
        value.replace("\\", "\\\\").replace('"', '\\"'), value.replace("/", "\\/"),
    }  # fmt: skip
