"""Explains why a schema was refused, in one sentence with the place and what to do.

Takes an error of the schema compiler; returns text. Values of the schema are shortened.
"""

import re
from typing import TYPE_CHECKING, Any

from trueup.conform.document import HOME
from trueup.verdict import paths
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_BEYOND_LINEAR = lazy_regex(r"\(\?(?:[=!]|<[=!]|>)|\\[1-9]|\\k<|[*+?}]\+")


class SchemaError(ValueError):
    """The schema itself cannot be used; the message says what, where, and what to do."""


def reason(error: ValueError) -> str:
    """One sentence about why the compiler refused a schema."""
    import jsonschema_rs  # as in `schema`

    if not isinstance(error, jsonschema_rs.ValidationError):
        return f"the schema cannot be compiled: {error}"
    where = paths.render(tuple(error.instance_path))
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        return _reference_reason(error)
    if getattr(error.kind, "format", None) == "regex":
        return _pattern_reason(where, str(error.instance))
    return f"the schema is not valid JSON Schema at {where}: {_invalid_rule(error)}"


def _reference_reason(error: "ValidationError") -> str:
    message = error.message
    if "retriev" in message.lower():
        found = re.search(r"'([^']*)'", message)
        name = found.group(1).removeprefix(HOME.rsplit("/", 1)[0] + "/") if found else ""
        return (
            f"$ref {name!r} points outside the schema, and nothing is ever fetched; "
            "put the definition under $defs and refer to it as #/$defs/…"
        )
    return f"a $ref does not resolve: {message[:200]}"


def _pattern_reason(where: str, pattern: str) -> str:
    shown = pattern if len(pattern) <= 80 else pattern[:79] + "…"
    if _BEYOND_LINEAR.search(pattern):
        why = "it uses lookaround, a back-reference or another construct that a linear-time engine does not support"
    elif re.search(r"\{\d*,?\d{3,}\}", pattern):
        why = "it is too large once its repetitions are expanded"
    else:
        why = "it is not a valid regular expression for the linear-time engine (RE2 syntax)"
    return f"pattern {shown!r} at {where} cannot be used: {why}; rewrite it, or check it in a rule"


def _invalid_rule(error: "ValidationError") -> str:
    instance: Any = error.instance
    shown = repr(instance)
    if len(shown) > 60:
        shown = shown[:59] + "…"
    parent = error.instance_path[-1] if error.instance_path else ""
    if parent == "type":
        return f"{shown} is not a type; use object, array, string, number, integer, boolean or null"
    return f"{shown} breaks the rule {error.kind.name!r} for {str(parent)!r}" if parent else f"{shown} is not a schema"
