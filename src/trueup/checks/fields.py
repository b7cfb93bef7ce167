"""Checks of single fields, apart from the rules of a contract: whether they are present, and their types, ranges and
values.

Takes the parts of a `validation:` section and makes tests of them; these take a record and return findings. Null counts
as absent: only `required` asks for more. A field is named by its key or by a path such as `address.lines[0]`.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from trueup.checks.problems import Problem
from trueup.expressions.errors import nearest
from trueup.expressions.messages import MISSING, Steps, follow, read_path, shown
from trueup.verdict.facts import Finding, finding
from trueup.verdict.paths import render

Test = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _of(kind: type) -> Test:
    return lambda value: isinstance(value, kind)


# The name of each type in messages, and how to recognize a value of it. JSON has one kind of number: 5 is a float too.
TYPES: dict[str, tuple[str, Test]] = {
    "string": ("text", _of(str)),
    "number": ("a number", _is_number),
    "integer": ("a whole number", _is_integer),
    "float": ("a number", _is_number),
    "boolean": ("true or false", _of(bool)),
    "object": ("an object", _of(dict)),
    "dict": ("an object", _of(dict)),
    "array": ("a list", _of(list)),
    "list": ("a list", _of(list)),
}


class Field(NamedTuple):
    """A field's name, and the path to it."""

    name: str
    steps: Steps

    def value(self, record: Mapping[str, Any]) -> Any:
        """The value in the record. A key with exactly this name comes before a path."""
        if self.name in record:
            return record[self.name]
        return follow(record, self.steps) if len(self.steps) > 1 else MISSING

    @property
    def path(self) -> str:
        return render(self.steps)


def field(name: str) -> Field:
    return Field(name, read_path(name) if any(sign in name for sign in ".[") else (name,))


class Required(NamedTuple):
    """Fields that must be present and not null."""

    fields: tuple[Field, ...]

    def check(self, record: Mapping[str, Any]) -> Iterator[Finding]:
        for one in self.fields:
            value = one.value(record)
            if value is MISSING or value is None:
                how = "missing" if value is MISSING else "null"
                data = {"rule": "required", "field": one.name}
                yield finding("B001", one.path, f"{one.name} is {how}", None, data, f"Give a value for {one.name}.")


class TypedField(NamedTuple):
    """A field of one type."""

    field: Field
    type: str

    def check(self, record: Mapping[str, Any]) -> Iterator[Finding]:
        value = self.field.value(record)
        wanted, test = TYPES[self.type]
        if value is MISSING or value is None or test(value):
            return
        name = self.field.name
        message = f"{name} is {_kind(value)}; expected {wanted}"
        data = {"rule": "types", "field": name, "type": self.type}
        yield finding("B002", self.field.path, message, None, data, f"Give {wanted} for {name}.")


class Ranged(NamedTuple):
    """A field that is a number between two bounds, both included."""

    field: Field
    low: int | float | None
    high: int | float | None

    def check(self, record: Mapping[str, Any]) -> Iterator[Finding]:
        value = self.field.value(record)
        if value is MISSING or value is None:
            return
        name = self.field.name
        if not _is_number(value):
            message = f"{name} is {_kind(value)}; expected a number {self._said()}"
        elif (self.low is None or self.low <= value) and (self.high is None or value <= self.high):
            return
        else:
            message = f"{name} is {shown(value, 'a number')}; expected a number {self._said()}"
        data = {"rule": "ranges", "field": name, "range": [self.low, self.high]}
        yield finding("B003", self.field.path, message, None, data, f"Give a number {self._said()} for {name}.")

    def _said(self) -> str:
        if self.low is None:
            return f"up to {self.high}"
        return f"from {self.low}" + ("" if self.high is None else f" to {self.high}")


class EnumField(NamedTuple):
    """A field with one of a few values; case is ignored."""

    field: Field
    values: tuple[Any, ...]
    known: frozenset[tuple[bool, Any]]

    def check(self, record: Mapping[str, Any]) -> Iterator[Finding]:
        value = self.field.value(record)
        if value is MISSING or value is None or (_is_scalar(value) and _folded(value) in self.known):
            return
        name = self.field.name
        said = [shown(one, "…") for one in self.values]
        listing = ", ".join(said[:20]) + (f" and {len(said) - 20} more" if len(said) > 20 else "")
        close = nearest(value, said) if isinstance(value, str) and len(value) < 200 else ""
        hint = f"For {name} give one of: {listing}." + (f" {close!r} is the nearest." if close else "")
        data = {"rule": "enums", "field": name, "values": list(self.values)}
        yield finding(
            "B004", self.field.path, f"{name} is {shown(value, 'a value')}; expected one of {listing}", None, data, hint
        )


Check = TypedField | Ranged | EnumField


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _folded(value: Any) -> tuple[bool, Any]:
    """A value prepared for comparison: text without case, and true never equal to 1."""
    if isinstance(value, str):
        folded = value.casefold()
        return False, folded if folded.isascii() else unicodedata.normalize("NFC", folded)
    return isinstance(value, bool), value


def _kind(value: Any) -> str:
    for said, test in TYPES.values():
        if test(value):
            return said
    return type(value).__name__


def read_required(source: Any) -> Iterator[Field | Problem]:
    """The fields of `required`, and the problems of this section."""
    if not isinstance(source, list | tuple):
        yield Problem(("required",), "required is a list of field names")
        return
    for index, name in enumerate(source):
        if isinstance(name, str) and name:
            yield field(name)
        else:
            yield Problem(("required", index), f"a field name must be text; got {name!r}")


def read_checks(section: str, source: Any) -> Iterator[Check | Problem]:
    """The checks of `types`, `ranges` or `enums`, and the problems of the section."""
    if not isinstance(source, Mapping):
        yield Problem((section,), f"{section} is a mapping from field names")
        return
    for name, wanted in source.items():
        if not isinstance(name, str):
            yield Problem((section, str(name)), f"a field name must be text; got {name!r}")
        else:
            yield _READ[section](field(name), wanted, (section, name))


def _read_type(one: Field, wanted: Any, where: tuple[str, ...]) -> Check | Problem:
    if isinstance(wanted, str) and wanted in TYPES:
        return TypedField(one, wanted)
    suggestion = nearest(wanted, list(TYPES)) if isinstance(wanted, str) else ""
    return Problem(where, f"unknown type {wanted!r}; the types are {', '.join(TYPES)}", 0, suggestion)


def _read_range(one: Field, wanted: Any, where: tuple[str, ...]) -> Check | Problem:
    if isinstance(wanted, Mapping) and wanted and not set(wanted) - {"min", "max"}:
        wanted = [wanted.get("min"), wanted.get("max")]
    if not isinstance(wanted, list | tuple) or len(wanted) != 2:
        return Problem(where, "a range is [lowest, highest]; null leaves an end open")
    low, high = wanted
    if not all(bound is None or _is_number(bound) for bound in wanted):
        return Problem(where, f"the bounds of a range must be numbers or null; got {low!r} and {high!r}")
    if low is None and high is None:
        return Problem(where, "a range has at least one bound")
    if low is not None and high is not None and not low <= high:
        return Problem(where, f"the range from {low} to {high} is empty")
    return Ranged(one, low, high)


def _read_values(one: Field, wanted: Any, where: tuple[str, ...]) -> Check | Problem:
    if not isinstance(wanted, list | tuple) or not wanted:
        return Problem(where, "an enum is a list of values")
    if not all(map(_is_scalar, wanted)):
        return Problem(where, "the values of an enum are texts, numbers or truth values")
    return EnumField(one, tuple(wanted), frozenset(map(_folded, wanted)))


_READ: dict[str, Callable[[Field, Any, tuple[str, ...]], Check | Problem]] = {
    "types": _read_type,
    "ranges": _read_range,
    "enums": _read_values,
}
