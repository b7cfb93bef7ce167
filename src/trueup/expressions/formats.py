"""Formatted text: f-strings and `.format()`.

Takes values and format specifications, and returns text, for which it charges the meter. Widths and precisions are bounded. A field of
`.format()` can read keys and list indexes of data, never attributes. The conversions are `!r`, `!s` and `!a`.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from string import Formatter
from typing import Any

from trueup.expressions.errors import ExpressionError
from trueup.expressions.functions import as_text
from trueup.expressions.translate import Handler, Made, Translator, ValueKind
from trueup.expressions.work import ATOMS, Meter, bulk, spend, spend_weight
from trueup.verdict.patterns import lazy_regex

MAX_WIDTH = 1_000
_DIGITS = 9  # of an index
_NUMBER = lazy_regex(r"\d+")
_STEP = lazy_regex(r"\.([^.\[\]]+)|\[([^\]]+)\]")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
_SPEC_DEPTH = 2  # a specification may contain fields, but the specification of such a field may not
_FIELD = 10  # the cost of finding one field of `.format()` and reading its specification
_PARSE = Formatter().parse


def formatted(meter: Meter, value: Any, conversion: str, spec: str) -> str:
    """A value as text, formatted by a specification."""
    for number in _NUMBER.findall(spec):
        if len(number) > 4 or int(number) > MAX_WIDTH:
            raise ExpressionError(f"a width or precision is at most {MAX_WIDTH:,}; got {number[:20]}")
    if spec.endswith("n"):
        raise ExpressionError("'n' in a format depends on the machine's locale; use ','")
    spend(meter, 2 + (len(spec) >> 1))
    if conversion:
        value = _converted(meter, value, conversion)
    if not spec:
        return as_text(meter, value)
    kind = type(value)
    if kind is not str and (kind not in ATOMS or value is None):
        raise ExpressionError(f"only text and numbers support a format such as {spec[:20]!r}; write !s before the ':'")
    spend(meter, bulk(value))
    made = format(value, spec)
    spend(meter, bulk(made))
    return made


def _converted(meter: Meter, value: Any, conversion: str) -> str:
    act = _CONVERSIONS.get(conversion)
    if act is None:
        raise ExpressionError(f"unknown conversion '!{conversion[:20]}'; use !r, !s or !a")
    if type(value) is int:
        return as_text(meter, value)  # refuses a number that is too long
    spend_weight(meter, value)
    return act(value)


def joined(meter: Meter, *pieces: str) -> str:
    """The pieces of an f-string, joined into one text."""
    spend(meter, sum(map(len, pieces)) >> 4)
    return "".join(pieces)


def fill(meter: Meter, template: Any, /, *args: Any, **named: Any) -> str:
    """The result of `.format()`: a template with its fields filled in."""
    if type(template) is not str:
        raise ExpressionError(".format() is a method of text")
    return "".join(_filled(meter, template, _Arguments(args, named), _SPEC_DEPTH))


class _Arguments:
    """The arguments of `.format()`; fields without a name take them in order."""

    def __init__(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._args = args
        self._named = named
        self._next = 0
        self._counted = set[bool]()  # True: automatic numbers were used; False: the template has its own

    def find(self, field: str) -> Any:
        """The value of a field: `0`, `name` or empty for the next one, then any number of keys and indexes."""
        head = re.split(r"[.\[]", field, maxsplit=1)[0]
        rest = field[len(head) :]
        if not head or head.isdecimal():
            self._counted.add(not head)
        if len(self._counted) > 1:
            raise ExpressionError("a format uses either '{}' or numbers such as '{0}', not both")
        if not head:
            head, self._next = str(self._next), self._next + 1
        if _is_index(head, self._args):
            value = self._args[int(head)]
        elif head in self._named:
            value = self._named[head]
        else:
            raise ExpressionError(f".format() has no argument {head[:60]!r}")
        steps = list(_STEP.finditer(rest))
        if "".join(step[0] for step in steps) != rest:
            raise ExpressionError(f"{field[:60]!r} is not a valid format field")
        for step in steps:
            value = _inside(value, step[1] or step[2])
        return value


def _inside(value: Any, key: str) -> Any:
    """The value under a key or at an index; never an attribute."""
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list | tuple) and _is_index(key, value):
        return value[int(key)]
    raise ExpressionError(f"there is nothing under {key[:60]!r}; a format can read only keys and list indexes of data")


def _is_index(text: str, items: Sequence[Any]) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS and int(text) < len(items)


def _filled(meter: Meter, template: str, arguments: _Arguments, depth: int) -> Iterator[str]:
    if not depth:
        raise ExpressionError("a format is nested too deeply")
    spend(meter, 1 + (len(template) >> 2))
    for literal, field, spec, conversion in _PARSE(template):
        yield literal
        if field is not None:
            spend(meter, _FIELD + len(field))
            value = arguments.find(field)
            inner = "".join(_filled(meter, spec, arguments, depth - 1)) if spec else ""
            yield formatted(meter, value, conversion or "", inner)


def f_string(to: Translator, node: ast.JoinedStr) -> Made:
    """An f-string: one guard formats each value, another joins the pieces."""
    return Made(to.guard(node, joined, *(_piece(to, one) for one in node.values)), ValueKind.OTHER)


def _piece(to: Translator, node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.FormattedValue):
        return to.tree(node)
    conversion = ast.Constant("" if node.conversion < 0 else chr(node.conversion))
    spec = ast.Constant("") if node.format_spec is None else to.tree(node.format_spec)
    return to.guard(node, formatted, to.tree(node.value), conversion, spec)


FORMATS: dict[type[ast.expr], Handler] = {ast.JoinedStr: f_string}
