"""Selects stored replies by time, models, contracts, states, tenants, codes, rules, outcomes, labels and words.

Takes a case and returns whether it is selected. A field without a value selects everything. Stores filter by the same fields in SQL;
this module checks the fields that they cannot filter by.
"""

from typing import Any

import msgspec

from trueup.material.case import Case
from trueup.verdict.catalogue import FINDINGS


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The selected cases; all of them by default."""

    since: float | None = None
    """The earliest time, in seconds since 1970. A case without a time is not in any time range."""
    until: float | None = None
    """The latest time, which is not included, in seconds since 1970; None for now."""
    model: str | None = None
    """The model that was asked; None for any."""
    contract: str | None = None
    """The name of the contract that judged; None for any."""
    fingerprint: str | None = None
    """The fingerprint of the contract that judged; None for any."""
    state: str | None = None
    """The state of the conversation; None for any."""
    tenant: str | None = None
    """The tenant of the request; None for any."""
    code: str | None = None
    """A code in the recorded findings; None for any or no code."""
    rule: str | None = None
    """A rule that the recorded findings name; None for any or no rule."""
    outcome: str | None = None
    """How the request ended, such as `repaired`; None for any outcome."""
    ok: bool | None = None
    """Whether the reply was accepted when it was recorded; None for either."""
    label: str | None = None
    """A label: `right`, `wrong` or your own word; None for any or no label."""
    text: str | None = None
    """Words in the reply, ignoring case; None for any reply."""
    limit: int | None = None
    """The largest number of cases; None for all."""

    @property
    def is_open(self) -> bool:
        """Whether every case is selected.

        >>> Selection(limit=5).is_open, Selection(model="m").is_open
        (True, False)
        """
        return all(getattr(self, name) is None for name in _FIELDS)

    def takes(self, case: Case) -> bool:
        """Whether a `case` is selected; the caller applies `limit`.

        >>> Selection(model="a").takes(Case("1", model="a")), Selection(since=5.0).takes(Case("1"))
        (True, False)
        """
        for name in _EQUAL:
            wanted = getattr(self, name)
            if wanted is not None and getattr(case, name) != wanted:
                return False
        if self.since is not None and case.at < self.since:
            return False
        if self.until is not None and not 0 < case.at < self.until:
            return False
        if self.label is not None and all(label.outcome != self.label for label in case.labels):
            return False
        if self.text is not None and self.text.casefold() not in case.text.casefold():
            return False
        return self._takes_recorded(case)

    def _takes_recorded(self, case: Case) -> bool:
        if self.ok is None and self.code is None and self.rule is None and self.fingerprint is None:
            return True
        recorded = case.recorded
        if recorded is None:
            return False
        return (
            (self.ok is None or recorded.ok is self.ok)
            and (self.code is None or self.code in recorded.codes)
            and (self.fingerprint is None or recorded.fingerprint == self.fingerprint)
            and (self.rule is None or any(rule_of(found) == self.rule for found in recorded.findings))
        )


_EQUAL = ("model", "contract", "state", "tenant", "outcome")
_FIELDS = tuple(name for name in Selection.__struct_fields__ if name != "limit")


def rule_of(found: dict[str, Any]) -> str:
    """The rule that a recorded finding names; empty if it names none.

    >>> rule_of({"code": "B005", "data": {"rule": "positive"}}), rule_of({"code": "B005", "rule": "positive"})
    ('positive', 'positive')
    """
    data = found.get("data")
    if isinstance(data, dict):
        named = data.get("rule")
    else:  # a record of a sift, which has the code if there is no rule
        named, kind = found.get("rule"), FINDINGS.get(str(found.get("code")))
        named = "" if kind is not None and named == kind.name else named
    return named if isinstance(named, str) else ""
