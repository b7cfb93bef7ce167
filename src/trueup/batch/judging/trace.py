"""The trace of a flat unit: its original text and every fix since, in a field named `_trueup`.

Takes a row and its line, and returns its trace, which further fixes can be added to. The next phase takes the fixes and the text
of its failure records from the trace. Schemas and rules never see the field. A unit that uses the field for something else is
refused.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.batch.input.units import Row
from trueup.verdict.facts import Finding, Fix, finding

TRACE = "_trueup"


class UnitTrace(NamedTuple):
    """The original text of a unit, and the fixes that were made to it."""

    raw: str
    fixes: tuple[Row, ...] = ()

    def with_fixes(self, fixes: Iterable[Fix], *, placed: bool = False) -> "UnitTrace":
        """The trace with further fixes. `placed` fixes have spans in the text; fixes of values have none."""
        rows = (fix.to_dict() if placed else {**fix.to_dict(), "span": None} for fix in fixes)
        return self._replace(fixes=(*self.fixes, *rows))

    def field(self) -> Row:
        """The trace for the unit's line."""
        return {"raw_response": self.raw, "fixes": list(self.fixes)}


def read_trace(row: Row, text: str) -> UnitTrace | None:
    """The trace of a unit, or a new one; None if the field has other content.

    >>> read_trace({"_trueup": {"raw_response": "{…", "fixes": []}}, "{}"), read_trace({"_trueup": 1}, "{}")
    (UnitTrace(raw='{…', fixes=()), None)
    """
    held = row.get(TRACE)
    if TRACE not in row:
        return UnitTrace(text)
    if not isinstance(held, dict) or held.keys() != {"raw_response", "fixes"}:
        return None
    raw, fixes = held["raw_response"], held["fixes"]
    if not isinstance(raw, str) or not isinstance(fixes, list) or not all(isinstance(fix, dict) for fix in fixes):
        return None
    return UnitTrace(raw, tuple(fixes))


def not_a_trace() -> Finding:
    """The finding that refuses a unit with other content in that field."""
    message = f"{TRACE} is the field for the text and the fixes of an earlier phase; this unit has other content there"
    return finding("U002", f"$.{TRACE}", message, None, {}, "Rename the field.")


def earlier_fixes(row: Any) -> list[Any]:
    """The fixes in the record of an earlier phase.

    >>> earlier_fixes({"fixes": [{"code": "C001"}]}), earlier_fixes({"fixes": 3})
    ([{'code': 'C001'}], [])
    """
    fixes = row.get("fixes") if isinstance(row, dict) else None
    return [fix for fix in fixes if isinstance(fix, dict)] if isinstance(fixes, list) else []
