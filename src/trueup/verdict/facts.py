"""Finding and Fix: the two kinds of fact a verdict is made of.

Both are frozen, sortable and JSON-able. A finding says what is wrong; a fix says what was changed.
Spans are character offsets into the original text.
"""

from typing import Any

import msgspec

from trueup.verdict.catalogue import FINDINGS, FIXES, GRADE, OWN, Grade, Level

Span = tuple[int, int]


class Fix(msgspec.Struct, frozen=True, order=True):
    """One change made to a reply.

    >>> Fix("S001", "lossless", "$.tags", (20, 21), ",", "").title
    'A comma before a closing bracket was dropped.'
    """

    code: str
    grade: Grade
    path: str
    span: Span | None
    before: str
    after: str

    @property
    def title(self) -> str:
        """What its code says, in one sentence."""
        return FIXES[self.code].title

    @property
    def name(self) -> str:
        """The name of its code, such as `trailing-comma`."""
        return FIXES[self.code].name

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.before!r} → {self.after!r} ({self.grade})"


def fix(code: str, path: str, span: Span | None, before: str, after: str) -> Fix:
    """A fix with the grade that the catalogue gives its code."""
    return Fix(code, GRADE[code], path, span, before, after)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, where, and what to do about it."""

    code: str
    path: str
    message: str
    span: Span | None = None
    data: dict[str, Any] = {}
    hint: str = ""
    level: Level = "error"

    @property
    def name(self) -> str:
        """The name of its code; of a custom check that is not loaded here, the code."""
        kind = FINDINGS.get(self.code) or OWN.get(self.code)
        return kind.name if kind else self.code.lower()

    @property
    def sort_key(self) -> tuple[bool, str, str, str]:
        """The order of findings: errors first, then by path and code."""
        return (self.level != "error", self.path, self.code, self.message)

    def __lt__(self, other: "Finding") -> bool:
        return self.sort_key < other.sort_key

    def __hash__(self) -> int:
        return hash((self.code, self.path, self.message, self.level))

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.message}"


def finding(
    code: str, path: str, message: str, span: Span | None = None, data: dict[str, Any] | None = None, hint: str = ""
) -> Finding:
    """A finding with the level that the catalogue gives its code."""
    return Finding(code, path, message, span, data or {}, hint, FINDINGS[code].level)


def promoted(found: Finding) -> Finding:
    """A finding as an error, as strict mode wants it."""
    return found if found.level == "error" else msgspec.structs.replace(found, level="error")


def demoted(found: Finding) -> Finding:
    """A finding as a warning, where it does not decide whether a reply passes."""
    return found if found.level == "warning" else msgspec.structs.replace(found, level="warning")


class Findings(tuple[Finding, ...]):
    """All findings of a verdict, errors first."""

    __slots__ = ()

    @property
    def errors(self) -> "Findings":
        return Findings(f for f in self if f.level == "error") if self else self

    @property
    def warnings(self) -> "Findings":
        return Findings(f for f in self if f.level == "warning") if self else self


NO_FINDINGS = Findings()
