"""The words of schema findings: what is wrong at a place, in a form that a model can act on.

Takes facts; returns a `Finding`, whose message and hint are rendered from its data. The model's own text is
quoted only in part.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from trueup.conform.names import fold
from trueup.verdict import paths
from trueup.verdict.facts import Finding, finding

Parts = tuple[str | int, ...]

MAX_QUOTE = 80
_MAX_LISTED = 12
_MAX_DATA = 50
_CLOSE = 75.0


def field(path: Parts) -> str:
    """The name of a place for a reader.

    >>> field(("toolCalls", 0, "name")), field(())
    ('Field "toolCalls.0.name"', 'Value')
    """
    return 'Field "' + quote_free(".".join(map(str, path))) + '"' if path else "Value"


def quote_free(text: str) -> str:
    return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"


def quote(value: Any) -> str:
    """A value as short JSON text.

    >>> quote("high"), quote([1, None])
    ('"high"', '[1, null]')
    """
    if isinstance(value, dict | list) and len(value) > 20:
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    if isinstance(value, str) and len(value) > MAX_QUOTE:
        value = value[:MAX_QUOTE]
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"


def listing(values: Sequence[Any]) -> str:
    """Allowed values for a reader, shortened if there are many."""
    shown = ", ".join(quote(value) for value in values[:_MAX_LISTED])
    return f"{shown}, … ({len(values)} in all)" if len(values) > _MAX_LISTED else shown


def type_word(value: Any) -> str:
    """The JSON type of a value in one word; every number is a number."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return _TYPE_WORDS.get(type(value), "null")


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name that a misspelled one most likely means, or None if no name is close."""
    if not name or len(name) > MAX_QUOTE:
        return None
    from rapidfuzz import fuzz, process

    found = process.extractOne(name, list(names)[:1000], scorer=fuzz.ratio, processor=fold, score_cutoff=_CLOSE)
    return found[0] if found else None


def wrong_type(path: Parts, expected: Sequence[str], value: Any) -> Finding:
    wanted, got = " or ".join(expected), type_word(value)
    return _say("V001", path, f"Expected {wanted}, got {got}", f"Give {_it(path)} as {_articled(expected)}.",
                expected=list(expected), got=got)  # fmt: skip


def missing(path: Parts, expected: str, similar: str | None) -> Finding:
    about = f" ({expected})" if expected else ""
    hint = f"Rename {quote(similar)} to {quote(path[-1])}." if similar else f"Add {_it(path)}{about}."
    message = "Required field is missing" + (f"; {quote(similar)} may be meant for it" if similar else "")
    return _say("V002", path, message, hint, expected=expected, similar=similar)


def unknown_key(path: Parts, allowed: Sequence[str]) -> Finding:
    near = closest(str(path[-1]), allowed)
    known = f"; known keys are {listing(allowed)}" if allowed else ""
    message = f"Unknown key; did you mean {quote(near)}?" if near else f"Unknown key{known}"
    hint = f"Rename {quote(path[-1])} to {quote(near)}." if near else f"Remove {_it(path)}."
    return _say("V003", path, message, hint, allowed=list(allowed[:_MAX_DATA]), suggestion=near)


def out_of_bounds(path: Parts, keyword: str, limit: Any, value: Any) -> Finding:
    bound = {
        "minimum": "at least",
        "maximum": "at most",
        "exclusiveMinimum": "more than",
        "exclusiveMaximum": "less than",
    }[keyword]
    of = "of " if keyword in ("minimum", "maximum") else ""
    return _say("V004", path, f"Expected a number {of}{bound} {limit}, got {quote(value)}",
                f"Make {_it(path)} {bound} {limit}.",
                rule=keyword, limit=limit, value=quote(value))  # fmt: skip


def not_in_enum(path: Parts, allowed: Sequence[Any], value: Any) -> Finding:
    near = closest(value, [v for v in allowed if isinstance(v, str)]) if isinstance(value, str) else None
    one = "" if len(allowed) == 1 else "one of "
    message = f"Expected {one}{listing(allowed)}, got {quote(value)}"
    message += f"; did you mean {quote(near)}?" if near else ""
    hint = f"Use {quote(near)} for {_it(path)}." if near else f"Use {one}{listing(allowed)} for {_it(path)}."
    return _say("V005", path, message, hint, allowed=list(allowed[:_MAX_DATA]), value=quote(value), suggestion=near)


def pattern(path: Parts, expression: str, value: Any) -> Finding:
    shown = quote_free(expression)
    return _say("V006", path, f"Expected text that matches {shown}, got {quote(value)}",
                f"Make {_it(path)} match the pattern {shown}.", pattern=expression[:500], value=quote(value))  # fmt: skip


def wrong_size(path: Parts, keyword: str, limit: int, size: int) -> Finding:
    bound = "at least" if keyword.startswith("min") else "at most"
    unit = {"Length": "character", "Items": "item", "Properties": "key", "Contains": "matching item"}[keyword[3:]]
    wanted = f"{bound} {limit} {unit}{'' if limit == 1 else 's'}"
    return _say("V007", path, f"Expected {wanted}, got {size}", f"Give {_it(path)} {wanted}.",
                rule=keyword, limit=limit, size=size)  # fmt: skip


def wrong_format(path: Parts, name: str, value: Any) -> Finding:
    example = _EXAMPLES.get(name)
    like = f", such as {example}" if example else ""
    return _say("V010", path, f"Expected text in the format {name}, got {quote(value)}",
                f"Give {_it(path)} in the format {name}{like}.", format=name, value=quote(value))  # fmt: skip


def not_unique(path: Parts, first: int, again: int) -> Finding:
    return _say("V009", path, f"Item {again} repeats item {first}", f"Give every item of {_it(path)} once.",
                first=first, again=again)  # fmt: skip


def no_arm_fits(path: Parts, arms: Sequence[str], nearest: str, faults: Sequence[Finding]) -> Finding:
    message = f"Fits none of {len(arms)} alternatives ({', '.join(arms[:6])}{', …' if len(arms) > 6 else ''})"
    reasons = "; ".join(fault.message for fault in faults[:3])
    if reasons:
        message += f"; the closest is {nearest}: {reasons}"
    hint = " ".join(fault.hint for fault in faults[:3]) or f"Make {_it(path)} one of: {', '.join(arms[:6])}."
    return _say("V008", path, message, hint, alternatives=list(arms[:_MAX_DATA]), closest=nearest,
                faults=[fault.message for fault in faults[:3]])  # fmt: skip


def several_arms_fit(path: Parts, arms: Sequence[str]) -> Finding:
    return _say("V008", path, f"Fits {len(arms)} alternatives ({', '.join(arms[:6])}), but only one may fit",
                f"Change {_it(path)} so that it fits only one of them.", fitting=list(arms[:_MAX_DATA]))  # fmt: skip


def not_allowed(path: Parts, rule: str, message: str, hint: str = "", limit: Any = None) -> Finding:
    hint = hint or f"Change {_it(path)}: {message[0].lower()}{message[1:]}."
    return _say("V011", path, message, hint, rule=rule, limit=limit)


def _articled(types: Sequence[str]) -> str:
    return " or ".join(name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}" for name in types)


def _it(path: Parts) -> str:
    return '"' + quote_free(".".join(map(str, path))) + '"' if path else "the value"


def _say(code: str, path: Parts, message: str, hint: str, **data: Any) -> Finding:
    kept = {key: item for key, item in data.items() if item not in (None, "")}
    return finding(code, paths.render(path), f"{field(path)}: {message}", data=kept, hint=hint)


_TYPE_WORDS: dict[type, str] = {dict: "object", list: "array", tuple: "array", str: "string"}

_EXAMPLES = {
    "date-time": "2024-05-31T09:30:00Z",
    "date": "2024-05-31",
    "time": "09:30:00Z",
    "duration": "PT1H30M",
    "email": "ada@example.org",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.org/page",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.org",
}
