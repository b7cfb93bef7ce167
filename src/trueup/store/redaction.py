"""Remove from a verdict's data what must not be kept; the input is not changed.

Keys of providers are always removed. Patterns are matched in linear time. Fields are named by key, at any depth, and their
values are removed from the reply's text as well.
"""

import functools
import json
import re
from typing import Any, Literal

import msgspec

from trueup.verdict.secrets import FORMS, HINT

MARK = "[redacted]"
Bodies = Literal["all", "refused", "none"]


class Redaction(msgspec.Struct, frozen=True):
    r"""The parts of a reply that are kept, and those that are not.

    >>> rules = Redaction(patterns=(r"\b\d{16}\b",), fields=("email",))
    >>> rules.clean({"email": "ada@example.org", "note": "card 4111111111111111"})
    {'email': '[redacted]', 'note': 'card [redacted]'}
    """

    patterns: tuple[str, ...] = ()
    """Regular expressions; every match is replaced. Empty: only keys and tokens."""
    fields: tuple[str, ...] = ()
    """Names of fields whose values are replaced, at any depth and in the text as well; empty: none."""
    words: tuple[str, ...] = ()
    """Exact texts to replace, such as your own keys; empty: none."""
    bodies: Bodies = "all"
    """Which replies are stored with their text: `all`, only the `refused` ones, or `none`."""

    def __post_init__(self) -> None:
        if self.bodies not in ("all", "refused", "none"):
            raise ValueError(f"bodies must be all, refused or none; got {self.bodies!r}")
        _compiled(self.patterns, self.words)  # reports a bad pattern now

    def suspects(self, written: bytes) -> bool:
        """Whether data, `written` as JSON, may contain something to remove; False is certain."""
        if self.patterns or self.fields or _hint(written):
            return True
        plain, odd = _sought(self.words)
        return odd or any(word in written for word in plain)

    def clean(self, data: Any) -> Any:
        """The `data` without secrets, pattern matches and named fields. Deep data needs no stack."""
        find = _compiled(self.patterns, self.words)
        hidden = {name.casefold() for name in self.fields}
        said = _hidden_values(data, hidden) if hidden else []
        root: list[Any] = [None]
        todo: list[tuple[Any, Any, Any]] = [(data, root, 0)]
        while todo:
            value, holder, slot = todo.pop()
            if isinstance(value, str):
                holder[slot] = _scrub(find, _without(value, said))
            elif isinstance(value, dict):
                copy: dict[Any, Any] = {}
                holder[slot] = copy
                for key, part in value.items():
                    name = _scrub(find, key) if isinstance(key, str) else key
                    copy[name] = MARK
                    if not (isinstance(key, str) and key.casefold() in hidden):
                        todo.append((part, copy, name))
            elif isinstance(value, list | tuple):
                copies: list[Any] = [None] * len(value)
                holder[slot] = copies
                todo.extend((part, copies, at) for at, part in enumerate(value))
            else:
                holder[slot] = value
        return root[0]


@functools.cache
def _hinted() -> Any:
    import re2

    return re2.compile(HINT)


def _hint(written: bytes) -> bool:
    return _hinted().search(written) is not None


@functools.lru_cache(maxsize=64)
def _sought(words: tuple[str, ...]) -> tuple[tuple[bytes, ...], bool]:
    """Words as JSON writes them, and whether JSON writes some of them in another way, so that they may always be there."""
    plain = [w for w in words if w.isascii() and w.isprintable() and '"' not in w and "\\" not in w]
    return tuple(word.encode() for word in plain), len(plain) < len(words)


_cache: dict[tuple[tuple[str, ...], tuple[str, ...]], Any] = {}


def _compiled(patterns: tuple[str, ...], words: tuple[str, ...]) -> Any:
    """One linear-time pattern of everything to remove."""
    known = _cache.get((patterns, words))
    if known is None:
        import re2

        options = re2.Options()
        options.log_errors = False
        parts = [*FORMS, *(re2.escape(word) for word in words if word), *patterns]
        for part in parts:
            try:
                re2.compile(part, options)
            except re2.error as error:
                reason = error.args[0] if error.args else error
                said = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
                raise ValueError(f"redaction pattern {part!r} cannot be used: {said}") from None
        known = _cache[patterns, words] = re2.compile("|".join(f"(?:{part})" for part in parts), options)
    return known


def _hidden_values(data: Any, hidden: set[str]) -> list[str]:
    """The values of the named fields, longest first: the reply's own text contains them too."""
    found: set[str] = set()
    todo: list[tuple[Any, bool]] = [(data, False)]
    while todo:
        value, inside = todo.pop()
        if isinstance(value, dict):
            todo.extend((v, inside or (isinstance(k, str) and k.casefold() in hidden)) for k, v in value.items())
        elif isinstance(value, list | tuple):
            todo.extend((part, inside) for part in value)
        elif inside and value is not None and not isinstance(value, bool):
            text = str(value)
            found |= {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return sorted(found - {""}, key=len, reverse=True)


def _without(text: str, said: list[str]) -> str:
    for value in said:
        if value in text:
            text = text.replace(value, MARK)
    return text


def _scrub(find: Any, text: str) -> str:
    if text.isascii() or not _has_half(text):
        return str(find.sub(MARK, text)) if find.search(text) else text
    # re2 rejects half surrogates: the text between them is scrubbed.
    parts = re.split("([\ud800-\udfff]+)", text)
    return "".join(part if at % 2 else _scrub(find, part) for at, part in enumerate(parts))


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
