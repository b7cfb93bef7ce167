"""The shape of the table. A row is one annotation or one tool function, with replies and what must become of each.

A reply that is JSON already means what `json` reads in it; what any other reply means is written beside it by hand, and so
is every expected value. For a tool function, a reply is the text of the arguments.
"""

import json
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple


class Reader(Enum):
    """Who has the say over a value, and so who is asked whether the table is right."""

    MODEL = "pydantic"
    """pydantic models and validators of the user: pydantic as it is, lax or strict."""
    LIMITED = "pydantic, strict"
    """Plain annotations with limits that only pydantic reads: scalars are as JSON has them, before or after our coercion."""
    CHECKED = "pydantic, lax or strict"
    """Plain annotations whose only validators run after pydantic's own: no case depends on how pydantic takes the scalars."""
    PLAIN = "msgspec"
    """Plain annotations and msgspec structs."""


class Refused(Enum):
    REFUSED = "refused"


REFUSED = Refused.REFUSED


class Case(NamedTuple):
    """One reply: what a careful reader recovers from it, and the value the type makes of that (or `REFUSED`)."""

    kind: str
    reply: str
    written: Any
    """What the reply says."""
    judged: Any
    """What the type is asked about: the same, unless our coercion comes first."""
    expected: Any
    path: str | None = None
    """Where the first error must point; None where more than one place would do."""

    @property
    def accepted(self) -> bool:
        return self.expected is not REFUSED


class Row(NamedTuple):
    """One annotation, who reads it, and its cases."""

    name: str
    annotation: Any
    reader: Reader
    cases: tuple[Case, ...]
    twin: Any
    """The same type in a form that its reader knows (pydantic wants the `TypedDict` of typing_extensions on old Pythons)."""


class ToolRow(NamedTuple):
    """One tool function. It returns its arguments by name; the expected value of a case is what it returns."""

    name: str
    function: Callable[..., dict[str, Any]]
    reader: Reader
    cases: tuple[Case, ...]


def valid(reply: str, expected: Any) -> Case:
    """A clean reply that the type accepts as it is."""
    says = json.loads(reply)
    return Case("valid", reply, says, says, expected)


def invalid(reply: str, path: str | None = None) -> Case:
    """A clean reply that the type refuses, and no coercion may save."""
    says = json.loads(reply)
    return Case("invalid", reply, says, says, REFUSED, path)


def broken(reply: str, says: Any, expected: Any, path: str | None = None) -> Case:
    """A reply that is not JSON but can be read one way only."""
    return Case("broken", reply, says, says, expected, path)


def coerced(reply: str, becomes: Any, expected: Any) -> Case:
    """A clean reply that the type refuses until our coercion makes `becomes` of it."""
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
