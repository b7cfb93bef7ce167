"""Store the context of a judgement: always its names, and its values if the store keeps contexts.

Values are kept only if the store is configured to keep them: as JSON, redacted like replies, up to a number of bytes.
If a context is too large, the largest values are dropped first, and the row says what is missing and why. State and
conversation have their own columns.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import orjson

from trueup.store.cells import pack, to_bytes, to_text, unpack

UNKNOWN = "?"  # in place of the names, if the names were not recorded
USUAL = 32_000  # bytes of a context
_AS_WITHOUT = ("history", "question")  # if these are empty, a reply is judged as if they were absent
_MOST_NAMES, _MOST_NAME = 50, 100
_CUT = "…"  # in place of names that are not listed
_QUESTION_MARK = "\\u003f"  # a name, where UNKNOWN is not one
_BLANK = re.compile(r"\s")
_AS_IT_IS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS

Missing = Literal["not_kept", "too_large", "redacted", "expired"]


def bytes_kept(keep: bool | int) -> int:  # noqa: FBT001 - its only value
    """How many bytes of a context are kept: 0 for False, the default for True.

    >>> bytes_kept(True), bytes_kept(1_000), bytes_kept(False)
    (32000, 1000, 0)
    """
    if isinstance(keep, bool):
        return USUAL if keep else 0
    if type(keep) is not int or keep < 0:
        raise ValueError(f"keep_context must be True, False or a number of bytes; got {keep!r}")
    return keep


def names_of(context: Mapping[str, Any] | str | None) -> str:
    """The names in a context, separated by spaces; a text is taken as names already joined.

    >>> names_of({"state": "ASKING", "data": {}, "history": []}), names_of({}), names_of(None)
    ('state data', '', '?')
    """
    if context is None:
        return UNKNOWN
    if isinstance(context, str):
        return context
    return _joined(tuple([name for name, value in context.items() if value or name not in _AS_WITHOUT]))


@functools.lru_cache(maxsize=256)
def _joined(names: tuple[Any, ...]) -> str:
    shown = [_BLANK.sub(_escaped, pack(_cut(str(name)))) for name in names[:_MOST_NAMES]]
    joined = " ".join(filter(None, [*shown, _CUT if len(names) > _MOST_NAMES else ""]))
    return _QUESTION_MARK if joined == UNKNOWN else joined


def _cut(name: str) -> str:
    return name[:_MOST_NAME]


def _escaped(blank: re.Match[str]) -> str:
    return f"\\u{ord(blank[0]):04x}"


def clean_names(names: str, clean: Callable[[str], str]) -> str:
    """Joined names without those that must not be kept: a name can contain a key too.

    >>> clean_names("state ada", lambda name: name.replace("ada", "[redacted]"))
    'state [redacted]'
    """
    if names == UNKNOWN:
        return names
    return _joined(tuple(dict.fromkeys(clean(name) for name in listed(names))))


def listed(names: str) -> tuple[str, ...]:
    """The names that were joined; none if they are unknown."""
    return () if names == UNKNOWN else tuple(unpack(name) for name in names.split(" ") if name)


def copied(context: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of a context that stays the same even if its lists grow, as a history does."""
    return {name: list(value) if type(value) is list else value for name, value in context.items()}


def word_in(context: Mapping[str, Any], name: str) -> str:
    """A text in a context; empty if there is none."""
    found = context.get(name)
    return found if isinstance(found, str) else ""


def values_of(context: Mapping[str, Any], state: str, conversation: str) -> dict[str, Any]:
    """The part of a context that must be kept: everything that has no column of the verdict."""
    columns = {"state": state, "conversation": conversation}
    return {
        str(name): value
        for name, value in context.items()
        if not (name in columns and value == columns[name]) and (value or name not in _AS_WITHOUT)
    }


def written(values: Mapping[str, Any], clean: Sequence[tuple[str, Any]] | None, most: int) -> bytes:
    """The row of a context: its values as JSON, and what is missing; about `most` bytes at most.

    `clean` has the same names and values in the same order, redacted; None if there was nothing to redact.
    """
    missing: dict[str, Missing] = {}
    parts: dict[str, bytes] = {}
    for (name, value), (shown_name, shown) in zip(
        values.items(), values.items() if clean is None else clean, strict=True
    ):
        original = _json(value)
        part = original if clean is None else _json(shown)
        if part != original or shown_name != name:
            missing[_cut(shown_name)] = "redacted"
        elif original is None:
            missing[_cut(name)] = "not_kept"
        if part is not None and shown_name == name:
            parts[name] = _text(name) + b":" + part
    size = sum(map(len, parts.values()))
    for name in sorted(parts, key=lambda each: -len(parts[each])):
        if size <= most:
            break
        size -= len(parts.pop(name))
        missing[_cut(name)] = "too_large"
    return b'{"kept":{' + b",".join(parts.values()) + b'},"missing":{' + _listed(missing) + b"}}"


def _listed(missing: dict[str, Missing]) -> bytes:
    """The missing names, as JSON; if there are very many, the first ones and a mark for the rest."""
    shown = list(missing.items())[:_MOST_NAMES]
    if len(missing) > _MOST_NAMES:
        shown.append((_CUT, next(why for why in list(missing.values())[_MOST_NAMES:])))
    return b",".join(_text(name) + b":" + _text(why) for name, why in shown)


def _json(value: Any) -> bytes | None:
    """JSON that decodes to the same value; None if there is no such JSON."""
    try:
        written = orjson.dumps(value, option=_AS_IT_IS)
        if b"null" in written:
            json.dumps(value, allow_nan=False)  # infinity would become null
        return written
    except ValueError:
        return None
    except TypeError:  # a half surrogate, a large integer, or not data
        try:
            said = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            return to_bytes(said) if json.loads(said) == value else None
        except (TypeError, ValueError, RuntimeError):  # not JSON, too deep, or changed meanwhile
            return None


def _text(name: str) -> bytes:
    return to_bytes(json.dumps(name, ensure_ascii=False))


def read(
    names: str, state: str, conversation: str, body: bytes | None, *, was_kept: bool
) -> tuple[dict[str, Any] | None, dict[str, Missing]]:
    """The stored context of a verdict, and what is missing with the reason; None if nothing is known of it."""
    context: dict[str, Any] = {}
    missing: dict[str, Missing] = {}
    columns = {"state": state, "conversation": conversation}
    if names == UNKNOWN:
        return ({"state": state} if state else None), {UNKNOWN: "not_kept"}
    found = {} if body is None else _decoded(bytes(body))
    kept, left_out = found.get("kept", {}), found.get("missing", {})
    there = {_cut(name) for name in kept} | left_out.keys()
    for name in listed(names):
        if name in kept:
            context[name] = kept[name]
        elif name in columns and columns[name] and name not in left_out:
            context[name] = columns[name]
        elif name not in there and not (body is not None and _CUT in (name, *left_out)):
            missing[name] = "expired" if was_kept else "not_kept"
    context.update((name, value) for name, value in kept.items() if name not in context)
    missing.update(left_out)
    return context, missing


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = json.loads(to_text(body))
    return found
