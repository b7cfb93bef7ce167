"""Decoding: takes the parameters of a request as text and returns the type that its handler takes. If a parameter does
not fit, the refusal says what is wrong, where, and what the path takes.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from trueup.studio.refusal import RequestRefused

_LARGE = 512 * 1024  # bytes; smaller bodies are built in a moment
_SHOWN = 100  # characters of a name or a value in a message
_KINDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list", "object": "an object",
}  # fmt: skip
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_HALF = re.compile(
    rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)  # half a surrogate pair as an escape, which msgspec does not read
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (.*)", re.DOTALL)
_KIND = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_BOUND = re.compile(r"Expected `([^`]+)` (>=|<=|>|<) (\S+)")


def decoded(kind: type[msgspec.Struct], given: Mapping[str, Any], *, strict: bool) -> Any:
    """The parameters of a request, as the type that its handler takes."""
    refuse_unknown(given, kind.__struct_encode_fields__)
    try:
        asked = msgspec.convert(dict(given), kind, strict=strict)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), kind) from None
    except UnicodeEncodeError:  # half a surrogate pair where no text belongs
        raise RequestRefused(400, "A value of this request has the wrong type.") from None
    for name in kind.__struct_fields__:
        value = getattr(asked, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise RequestRefused(400, f"{name} is not a number.")
        if isinstance(value, int) and abs(value) >= 2**63:
            raise RequestRefused(400, f"{name} is too large.")
    return asked


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a request with parameters that its path does not take."""
    unknown = set(given) - set(known)
    if unknown:
        takes = ", ".join(known) or "nothing"
        raise RequestRefused(400, f"Unknown parameter {min(unknown)[:_SHOWN]!r}; this path takes {takes}.")


def refuse_query(given: Iterable[str]) -> None:
    """Refuse parameters in the URL of a request that has them in its body."""
    for name in given:
        raise RequestRefused(
            400,
            f"The parameter {name[:_SHOWN]!r} is in the URL.",
            hint="Send it in the body, as a member of a JSON object.",
        )


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters of a query. A repeated one is refused, because it is ambiguous."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise RequestRefused(400, f"The parameter {name[:_SHOWN]!r} was given twice.", hint="Give it once.")
        found[name] = value
    return found


def json_object(raw: bytes, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The body of a request as JSON, for a handler that takes this type."""
    if not raw:
        return {}
    if len(raw) > _LARGE:
        _skim(raw, kind)
    try:
        held = _loads(raw)
    except ValueError as error:
        raise RequestRefused(400, f"The body is not JSON: {error}") from None
    if not isinstance(held, dict):
        raise RequestRefused(400, "The body must be a JSON object.")
    return held


def _skim(raw: bytes, kind: type[msgspec.Struct]) -> None:
    """Refuse a large body that contains more than texts and numbers, before objects are built from it.

    A list of eight million empty lists takes 24 MB to send, but building it takes seconds and many times the memory,
    and no other thread runs in the meantime.
    """
    try:
        parts = msgspec.json.decode(_HALF.sub(rb"\\u0020", raw), type=_parts_of(kind))
    except msgspec.ValidationError as error:
        raise _misfit(str(error), kind) from None
    except (msgspec.MsgspecError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestRefused(400, f"The body is not JSON: {said}") from None
    for name in kind.__struct_encode_fields__:
        part = memoryview(getattr(parts, name))
        if bytes(part[:1]) in (b"[", b"{") and len(part) > _LARGE:
            raise RequestRefused(413, f"{name} contains too many items.", code="too_large", hint="Send less at a time.")


@cache
def _parts_of(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A type with the same fields, whose values stay undecoded."""
    fields = [(name, msgspec.Raw, msgspec.Raw()) for name in kind.__struct_encode_fields__]
    return msgspec.defstruct("Parts", fields, forbid_unknown_fields=True)


def _loads(raw: bytes) -> Any:
    """JSON text from a browser, which may contain half a surrogate pair as an escape."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        try:
            return json.loads(raw, parse_constant=_no_number)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _misfit(said: str, kind: type[msgspec.Struct]) -> RequestRefused:
    """A message of msgspec, in our words."""
    what, _, at = said.partition(" - at `$")
    where = at.removesuffix("`").removeprefix(".")
    takes = f"This path takes {', '.join(kind.__struct_encode_fields__) or 'nothing'}."
    if match := _MISSING.fullmatch(what):
        return RequestRefused(400, f"{_joined(where, match[1])} is missing.", hint=takes)
    if match := _UNKNOWN.fullmatch(what):
        return RequestRefused(400, f"Unknown parameter {_joined(where, match[1])[:_SHOWN]!r}.", hint=takes)
    if match := _CHOICE.fullmatch(what):
        choices = ", ".join(_choices(inspect.type_info(kind), where)) or "other values"
        return RequestRefused(400, f"{where} cannot be {match[1][:_SHOWN]}.", hint=f"It takes {choices}.")
    if (match := _KIND.fullmatch(what)) and not where:
        return RequestRefused(400, "The body must be a JSON object.")
    if match:
        return RequestRefused(400, f"{where} must be {_words(match[1])}, not {_words(match[2])}.")
    if match := _BOUND.fullmatch(what):
        return RequestRefused(400, f"{where} must be {_words(match[1])}, {_BOUNDS[match[2]]} {match[3]}.")
    return RequestRefused(400, said)


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _words(kinds: str) -> str:
    """Types in ordinary words.

    >>> _words("int | null"), _words("str"), _words("null")
    ('a whole number', 'text', 'null')
    """
    return " or ".join(_KINDS.get(each, each) for each in kinds.removesuffix(" | null").split(" | "))


def _choices(kind: Any, where: str) -> list[str]:
    """The values that a field takes, if there are only a few.

    >>> from typing import Literal
    >>> class Ask(msgspec.Struct):
    ...     window: Literal["1h", "24h"] = "1h"
    >>> _choices(inspect.type_info(Ask), "window")
    ["'1h'", "'24h'"]
    """
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type, where)
    if isinstance(kind, inspect.LiteralType):
        return [repr(value) for value in kind.values]
    if isinstance(kind, inspect.UnionType):
        return [choice for each in kind.types for choice in _choices(each, where)]
    if isinstance(kind, inspect.BoolType):
        return ["true", "false"]
    if isinstance(kind, inspect.VarTupleType):
        return _choices(kind.item_type, where.partition("]")[2].removeprefix("."))
    if isinstance(kind, inspect.StructType):
        name, rest = re.match(r"(\w*)\.?(.*)", where, re.DOTALL).groups()  # type: ignore[union-attr]
        return next((_choices(field.type, rest) for field in kind.fields if field.name == name), [])
    return []
