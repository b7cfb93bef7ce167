"""The shape of the table. A row is one annotation or one tool function, with replies and the expected result of each.

A reply that is already JSON means what `json` reads in it. The meaning of any other reply is written next to it by
hand, and so is every expected value. For a tool function, a reply is the text of the arguments.
"""

import json
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple


class Reader(Enum):
    """Decides about a value, and therefore whether the table is right."""

    MODEL = "pydantic"
    """pydantic models and the user's validators: pydantic decides, lax or strict."""
    LIMITED = "pydantic, strict"
    """Plain annotations with limits that only pydantic reads: scalars are read as in JSON."""
    CHECKED = "pydantic, lax or strict"
    """Plain annotations with validators that run after pydantic's own: no case depends on scalars."""
    PLAIN = "msgspec"
    """Plain annotations and msgspec structs."""


class Refused(Enum):
    REFUSED = "refused"


REFUSED = Refused.REFUSED


class Case(NamedTuple):
    """One reply: the value that a careful reader recovers, and what the type makes of it (or `REFUSED`)."""

    kind: str
    reply: str
    written: Any
    """The value in the reply."""
    judged: Any
    """The value that the oracle gets: the same, unless our coercion runs first."""
    expected: Any
    path: str | None = None
    """The place of the first error; None if several places would be correct."""

    @property
    def accepted(self) -> bool:
        return self.expected is not REFUSED


class Row(NamedTuple):
    """One annotation, its oracle, and its cases."""

    name: str
    annotation: Any
    reader: Reader
    cases: tuple[Case, ...]
    twin: Any
    """The same type in a form that its oracle supports (pydantic needs another `TypedDict` on old Pythons)."""


class ToolRow(NamedTuple):
    """One tool function. It returns its arguments by name; the expected value of a case is what it returns."""

    name: str
    function: Callable[..., dict[str, Any]]
    reader: Reader
    cases: tuple[Case, ...]


def valid(reply: str, expected: Any) -> Case:
    """A clean reply that the type accepts unchanged."""
    says = json.loads(reply)
    return Case("valid", reply, says, says, expected)


def invalid(reply: str, path: str | None = None) -> Case:
    """A clean reply that the type refuses and that coercion must not rescue."""
    says = json.loads(reply)
    return Case("invalid", reply, says, says, REFUSED, path)


def broken(reply: str, says: Any, expected: Any, path: str | None = None) -> Case:
    """A reply that is not JSON but has only one reading."""
    return Case("broken", reply, says, says, expected, path)


def coerced(reply: str, becomes: Any, expected: Any) -> Case:
    """A clean reply that the type refuses until our coercion converts it to `becomes`."""
    return Case("coerced", reply, json.loads(reply), becomes, expected)


def row(name: str, annotation: Any, reader: Reader, *cases: Case, twin: Any = None) -> Row:
    return Row(name, annotation, reader, cases, annotation if twin is None else twin)


def tool(function: Callable[..., dict[str, Any]], reader: Reader, *cases: Case) -> ToolRow:
    return ToolRow(function.__name__, function, reader, cases)


def wrapped(case: Case) -> Case:
    """The same reply in a code fence, between two sentences."""
    return case._replace(
        kind=f"wrapped {case.kind}", reply=f"Here is the result:\n\n```json\n{case.reply}\n```\n\nAnything else?"
    )
