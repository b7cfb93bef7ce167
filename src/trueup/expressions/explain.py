"""Python's exceptions, explained to the person who wrote the expression: which part is wrong, and why.

This module takes an exception and the record, and returns an `ExpressionError` with its column. The column comes from the
traceback, so an expression records nothing while it runs.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from types import TracebackType
from typing import Any

from trueup.expressions.errors import CONSTANTS, ExpressionError, nearest
from trueup.expressions.syntax import ExpressionText
from trueup.expressions.work import FILENAME
from trueup.verdict.patterns import lazy_regex

_KINDS = {
    "str": "text", "int": "a number", "float": "a number", "bool": "a truth value", "NoneType": "null",
    "list": "a list", "tuple": "a list", "dict": "an object", "set": "a set",
}  # fmt: skip
_UNCOMPARABLE = lazy_regex(r"'(.+)' not supported between instances of '(\w+)' and '(\w+)'")
_UNCOMBINABLE = lazy_regex(r"unsupported operand type\(s\) for (.+): '(\w+)' and '(\w+)'")
_NAMED = lazy_regex(r"'(\w+)' object")
_SHOWN = 200


def explainer(source: ExpressionText) -> Callable[[Exception, Mapping[str, Any]], ExpressionError]:
    """A function that explains the exceptions of one expression."""

    def explain(error: Exception, record: Mapping[str, Any]) -> ExpressionError:
        start, stop = _place(error.__traceback__)
        column = source.column(start)
        if isinstance(error, ExpressionError):
            error.column = error.column or column
            return error.with_traceback(None)
        if isinstance(error, KeyError) and error.args:
            return _missing_key(error.args[0], source.between(start, stop), record, column)
        return ExpressionError(_message(error), column)

    return explain


def _place(trace: TracebackType | None) -> tuple[int, int]:
    """The place in the expression's text of its innermost frame."""
    innermost = (-1, -1)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILENAME:
            place = next(islice(code.co_positions(), trace.tb_lasti // 2, None), None)
            if place is not None and place[2] is not None and place[3] is not None:
                innermost = (place[2], place[3])
        trace = trace.tb_next
    return innermost


def _missing_key(key: Any, text: str, record: Mapping[str, Any], column: int) -> ExpressionError:
    """The error for a missing key: a field of the record, or a part of one."""
    if not isinstance(key, str):
        shown = repr(key) if isinstance(key, int) and -1_000_000 < key < 1_000_000 else "this value"
        return ExpressionError(f"there is no key {shown}", column)
    named = f"{key[:_SHOWN]!r}"
    if text == key or text.startswith("record["):
        meant = CONSTANTS.get(text) or _likely(key, record)
        return ExpressionError(f"there is no field {named}", column, meant)
    parent, _, last = text.rpartition(".")
    if parent and last == key:
        return ExpressionError(f"{parent[:_SHOWN]} has no {named}", column, _likely(key, _walk(record, parent)))
    return ExpressionError(f"there is no key {named}", column)


def _likely(key: str, known: Any) -> str:
    return nearest(key, [*map(str, islice(known, 1000))]) if isinstance(known, Mapping) else ""


def _walk(record: Mapping[str, Any], path: str) -> Any:
    value: Any = record
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def _message(error: Exception) -> str:
    text = str(error)[: 2 * _SHOWN] or type(error).__name__
    if match := _UNCOMPARABLE.search(text):
        return f"'{match[1]}' cannot compare {_kind(match[2])} with {_kind(match[3])}"
    if match := _UNCOMBINABLE.search(text):
        return f"'{match[1]}' cannot combine {_kind(match[2])} and {_kind(match[3])}"
    if isinstance(error, RecursionError):
        return "the value is nested too deeply"
    if isinstance(error, MemoryError):
        return "the value is too large"
    if text.startswith("Exceeds the limit"):
        return "a number has too many digits to be read or written"
    if "indices must be integers" in text:
        return f"{'text' if text.startswith('string') else 'a list'} has no named parts"
    text = _NAMED.sub(lambda name: _kind(name[1]), text)
    text = text.replace("has no attribute", "has no method").replace("is not subscriptable", "has no parts")
    return text[:_SHOWN]


def _kind(name: str) -> str:
    return _KINDS.get(name, name)
