"""What is taken of stored replies: a time range, models, contracts, states, tenants, codes, rules, outcomes, labels, words.

A case enters, whether it is taken leaves. A field that is None takes everything. Stores filter by the same fields in SQL; what they
cannot filter by is looked at here.
"""

from typing import Any

import msgspec

from trueup.material.case import Case
from trueup.verdict.catalogue import FINDINGS


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases are taken; all of them by default."""

    since: float | None = None
    """The earliest time, in seconds since 1970. A case without a time is not in a time range."""
    until: float | None = None
    """The time before which it must lie, in seconds since 1970; None: until now."""
    model: str | None = None
    """The model that was asked; None: any."""
    contract: str | None = None
    """The name of the contract that judged; None: any."""
    fingerprint: str | None = None
    """The fingerprint of the contract that judged; None: any."""
    state: str | None = None
    """The state of the conversation; None: any."""
    tenant: str | None = None
    """Whose request it was; None: anybody's."""
    code: str | None = None
    """A code that the recorded findings have; None: any or none."""
    rule: str | None = None
    """A rule that the recorded findings name; None: any or none."""
    outcome: str | None = None
    """How the request ended, such as `repaired`; None: in any way."""
    ok: bool | None = None
    """Whether the reply was accepted when it was recorded; None: either."""
    label: str | None = None
    """A label that somebody gave: `right`, `wrong` or a word of your own; None: any or none."""
    text: str | None = None
    """Words that the reply holds, in any case; None: any reply."""
    limit: int | None = None
    """How many cases at most; None: all."""

    @property
    def is_open(self) -> bool:
        """Whether every case is taken.

        >>> Selection(limit=5).is_open, Selection(model="m").is_open
        (True, False)
        """
        return all(getattr(self, name) is None for name in _FIELDS)

    def takes(self, case: Case) -> bool:
        """Whether a `case` is taken; `limit` is for whoever counts.

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
    else:  # a record of a sift, which names the code where there is no rule
        named, kind = found.get("rule"), FINDINGS.get(str(found.get("code")))
        named = "" if kind is not None and named == kind.name else named
    return named if isinstance(named, str) else ""
