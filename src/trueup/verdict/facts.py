"""Finding and Fix: the two kinds of facts in a verdict.

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
    """The code of the change, such as `S001`; `trueup explain S001` shows its page."""
    grade: Grade
    """How safe the change is: `lossless` keeps all information, `guess` is an interpretation, `lossy` drops something."""
    path: str
    """Where in the value the change was made, such as `$.tags[0]`; `$` is the whole value."""
    span: Span | None
    """Start and end of the affected part of the reply's text, in characters; None if the change has no place there."""
    before: str
    """The text before the change, shortened if it is long."""
    after: str
    """The text after the change, shortened if it is long; empty if it was dropped."""

    @property
    def title(self) -> str:
        """One sentence about its code; empty if this version does not know the code."""
        kind = FIXES.get(self.code)
        return kind.title if kind else ""

    @property
    def name(self) -> str:
        """The name of its code, such as `trailing-comma`; the code itself if this version does not know the code."""
        kind = FIXES.get(self.code)
        return kind.name if kind else self.code.lower()

    def to_dict(self) -> dict[str, Any]:
        """The fix as JSON-able data, with its name.

        >>> Fix("S001", "lossless", "$.tags", (20, 21), ",", "").to_dict()["name"]
        'trailing-comma'
        """
        kind = FIXES.get(self.code)
        return {
            "code": self.code,
            "name": kind.name if kind else self.code.lower(),
            "grade": self.grade,
            "path": self.path,
            "span": None if self.span is None else [*self.span],
            "before": self.before,
            "after": self.after,
        }

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.before!r} → {self.after!r} ({self.grade})"


def fix(code: str, path: str, span: Span | None, before: str, after: str) -> Fix:
    """A fix with the grade that the catalogue gives its code."""
    return Fix(code, GRADE[code], path, span, before, after)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, where, and what to do about it."""

    code: str
    """The code of the problem, such as `V001`; `trueup explain V001` shows its page."""
    path: str
    """Where in the value the problem is, such as `$.age`; `$.calls[0]` is the first tool call."""
    message: str
    """The problem, in one sentence."""
    span: Span | None = None
    """Start and end of the affected part of the reply's text, in characters; None if the problem has no place there."""
    data: dict[str, Any] = {}
    """The data that the message is made from, by name; empty if there is none."""
    hint: str = ""
    """How the model should correct the problem; empty if there is nothing to do."""
    level: Level = "error"
    """`error` refuses the reply; `warning` lets it pass."""

    @property
    def name(self) -> str:
        """The name of its code; the code itself if it belongs to a custom check that is not loaded."""
        kind = FINDINGS.get(self.code) or OWN.get(self.code)
        return kind.name if kind else self.code.lower()

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-able data, with its name."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return {"code": fields.pop("code"), "name": self.name, **fields}

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


def promoted(warning: Finding) -> Finding:
    """The finding as an error, for strict mode."""
    return warning if warning.level == "error" else msgspec.structs.replace(warning, level="error")


def demoted(error: Finding) -> Finding:
    """The finding as a warning, for cases where it must not refuse the reply."""
    return error if error.level == "warning" else msgspec.structs.replace(error, level="warning")


class Findings(tuple[Finding, ...]):
    """All findings of a verdict, errors first."""

    __slots__ = ()

    @property
    def errors(self) -> "Findings":
        """The findings that refuse the reply."""
        return Findings(f for f in self if f.level == "error") if self else self

    @property
    def warnings(self) -> "Findings":
        """The findings that let the reply pass."""
        return Findings(f for f in self if f.level == "warning") if self else self


NO_FINDINGS = Findings()
