"""The trace of a flat unit: its text as it was first given, and every fix since, under one field of its own, `_trueup`.

A row enters with its line; the trace leaves, and again with further fixes. The next phase takes the fixes and the text for its
failure records from here. Schemas and rules never see the field. One that holds something else is refused.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.batch.input.units import Row
from trueup.verdict.facts import Finding, Fix, finding

TRACE = "_trueup"


class Trace(NamedTuple):
    """The text of a unit as it was first given, and the fixes that were made to it."""

    raw: str
    fixes: tuple[Row, ...] = ()

    def with_fixes(self, fixes: Iterable[Fix], *, placed: bool = False) -> "Trace":
        """The trace after further fixes; `placed`, their spans are those of the text. Fixes of values have none there."""
        rows = (fix.to_dict() if placed else {**fix.to_dict(), "span": None} for fix in fixes)
        return self._replace(fixes=(*self.fixes, *rows))

    def field(self) -> Row:
        """The trace as it is written."""
        return {"raw_response": self.raw, "fixes": list(self.fixes)}


def read_trace(row: Row, text: str) -> Trace | None:
    """The trace that a unit brings, or a new one; None if the field holds something else.

    >>> read_trace({"_trueup": {"raw_response": "{…", "fixes": []}}, "{}"), read_trace({"_trueup": 1}, "{}")
    (Trace(raw='{…', fixes=()), None)
    """
    held = row.get(TRACE)
    if TRACE not in row:
        return Trace(text)
    if not isinstance(held, dict) or held.keys() != {"raw_response", "fixes"}:
        return None
    raw, fixes = held["raw_response"], held["fixes"]
    if not isinstance(raw, str) or not isinstance(fixes, list) or not all(isinstance(fix, dict) for fix in fixes):
        return None
    return Trace(raw, tuple(fixes))


def not_a_trace() -> Finding:
    """Why a unit with another field of that name is refused."""
    message = (
        f"{TRACE} is the field for the text and the fixes of an earlier phase; this unit holds something else there"
    )
    return finding("U002", f"$.{TRACE}", message, None, {}, "Rename the field.")


def earlier_fixes(row: Any) -> list[Any]:
    """The fixes in the record of an earlier phase.

    >>> earlier_fixes({"fixes": [{"code": "C001"}]}), earlier_fixes({"fixes": 3})
    ([{'code': 'C001'}], [])
    """
    fixes = row.get("fixes") if isinstance(row, dict) else None
    return [fix for fix in fixes if isinstance(fix, dict)] if isinstance(fixes, list) else []
