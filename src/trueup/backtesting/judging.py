"""Judge one case under two contracts, and return how its outcome changes.

Clean replies take a shortcut: no verdict is made for them. A recorded verdict with the same fingerprint and this
version of trueup is reused. Nothing here raises: if a check raises, the case counts as one that cannot be judged.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec
from orjson import dumps

from trueup import __version__
from trueup.ask.replies.faults import is_of_asking
from trueup.backtesting.needs import lost, needs
from trueup.batch.comparing.differences import ABSENT, differences
from trueup.batch.judging.records import NO_SOURCE
from trueup.contract.contract import Contract
from trueup.material.case import Case, Reason, Recorded
from trueup.material.selection import rule_of
from trueup.verdict.bugs import bug_of
from trueup.verdict.codec import decode
from trueup.verdict.paths import folded, render
from trueup.verdict.verdict import Verdict

Kind = Literal["same", "newly_refused", "newly_accepted", "value_changed", "unjudgeable"]
FLIPS: tuple[Kind, ...] = ("newly_refused", "newly_accepted", "value_changed")
_MOST = 20  # the maximum number of findings or places per flip
_NOTHING: Mapping[str, Any] = {}
_CALLS = "calls"


class CaseFindings(msgspec.Struct, frozen=True):
    """An error under one of the contracts."""

    code: str
    rule: str
    path: str
    message: str
    span: tuple[int, int] | None = None


class ValueChange(msgspec.Struct, frozen=True):
    """A place where two accepted values differ, with both values; empty if a value is missing."""

    path: str
    before: Any
    now: Any


class CaseOutcome(msgspec.Struct, frozen=True):
    """How the outcome of a case changes."""

    kind: Kind
    was: bool = True
    now: bool = True
    found: tuple[CaseFindings, ...] = ()
    """The reasons of the refusal: of the new one for a newly refused reply, of the old one for a newly accepted
    reply."""
    changes: tuple[ValueChange, ...] = ()
    reason: Reason | None = None
    error: str = ""
    """The check that raised and the error's type. The error's text is left out, because it may quote the reply."""
    verdicts: int = 0
    """The number of verdicts made."""
    skipped: int = 0
    """The number of verdicts that were reused, because they are recorded or the other contract is the same."""


class Side(msgspec.Struct, frozen=True):
    """The outcome under one contract; `written` is the value of a clean reply."""

    ok: bool
    data: Any = None
    calls: Any = ()
    findings: Any = ()
    written: bytes | None = None
    made: int = 1

    @property
    def value(self) -> Any:
        return self.data if self.written is None else decode(self.written)


def _of_verdict(verdict: Verdict) -> Side:
    return Side(verdict.ok, verdict.data, verdict.calls, verdict.findings)


def _of_record(recorded: Recorded) -> Side:
    return Side(recorded.ok, recorded.data, recorded.calls, recorded.findings, made=0)


class _Contract:
    """One of the two contracts, and how it judges."""

    def __init__(self, contract: Any) -> None:
        self.check = contract.check
        own = type(contract) is Contract
        self.fingerprint = str(contract.fingerprint) if hasattr(contract, "fingerprint") else ""
        way = contract.short_way if own else None
        self.clean: Callable[[str, Mapping[str, Any]], bytes | None] | None = None if way is None else way.judge
        self.needs = needs(contract)

    def knows(self, recorded: Recorded | None) -> bool:
        """Whether judging again would give the recorded outcome."""
        return (
            recorded is not None
            and bool(self.fingerprint)
            and recorded.fingerprint == self.fingerprint
            and recorded.engine == __version__
        )

    def judge(self, case: Case) -> Side:
        """The outcome of a case."""
        if self.knows(case.recorded):
            assert case.recorded is not None
            return _of_record(case.recorded)
        if type(case.reply) is str and self.clean is not None:
            context = case.context
            fields = context.get("input") if context else None
            try:
                written = self.clean(case.reply, fields if type(fields) is dict else _NOTHING)
            except Exception:  # noqa: BLE001 - what went wrong is seen again below
                written = None
            if written is not None:
                return Side(ok=True, written=written)
        return _of_verdict(self.check(case.reply, case.context))


class Pair:
    """A new contract and an old one. Without an old contract, the recorded outcomes are the old ones."""

    def __init__(self, new: Any, old: Any = None) -> None:
        self._new = _Contract(new)
        self._old = None if old is None else _Contract(old)
        self.same = (
            self._old is not None and bool(self._new.fingerprint) and self._new.fingerprint == self._old.fingerprint
        )
        # empty and incomplete replies are refused under any contract
        self._refused = CaseOutcome("same", was=False, now=False, skipped=1 if old is None else 2)

    def judge(self, case: Case) -> CaseOutcome:
        """How the outcome of a case changes."""
        reason = case.unjudgeable or self._lost(case)
        if reason is None and self._old is None and case.recorded is None:
            reason = "no_outcome"
        if reason is not None:
            return CaseOutcome("unjudgeable", reason=reason)
        if case.recorded is not None and not case.recorded.ok and any(map(is_of_asking, case.recorded.findings)):
            return self._refused
        try:
            return self._judged(case)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug of the user's or of ours: it costs this case alone
            reason = "out_of_memory" if isinstance(error, MemoryError) else "check_raised"
            return CaseOutcome("unjudgeable", reason=reason, error=str(bug_of(error) or type(error).__name__))

    def _lost(self, case: Case) -> Reason | None:
        """The reason why the context of a case is not enough; None if it is."""
        if not case.missing:
            return None
        sides = [side for side in (self._new, self._old) if side is not None and not side.knows(case.recorded)]
        place = lost(frozenset().union(*(side.needs for side in sides)), case.missing)
        if place is None:
            return None
        return case.missing_why[place] if place < len(case.missing_why) else "context_not_kept"

    def _judged(self, case: Case) -> CaseOutcome:
        now = self._new.judge(case)
        if self.same:
            was = now
            made, skipped = now.made, 2 - now.made
        else:
            assert case.recorded is not None or self._old is not None
            was = _of_record(case.recorded) if self._old is None else self._old.judge(case)  # type: ignore[arg-type]
            made = now.made + was.made
            skipped = (1 if self._old is None else 2) - made
        if _lacks_source(now) is not _lacks_source(was):
            return CaseOutcome("unjudgeable", reason="no_source")  # the verdict would be unknown
        if was.ok is not now.ok:
            kind: Kind = "newly_accepted" if now.ok else "newly_refused"
            return CaseOutcome(kind, was.ok, now.ok, _found(was if now.ok else now), (), None, "", made, skipped)
        if now.ok and was is not now and (was.written is None or now.written is None):
            changes = _changes(was, now)
            if changes:
                return CaseOutcome("value_changed", changes=changes, verdicts=made, skipped=skipped)
        if made == 2 and skipped == 0 and now.ok:
            return _PASSED
        return CaseOutcome("same", was.ok, now.ok, (), (), None, "", made, skipped)


_PASSED = CaseOutcome("same", verdicts=2)


def _lacks_source(side: Side) -> bool:
    """Whether a new verdict says that there was no source to judge by. A recorded verdict did not have one either."""
    return (
        bool(side.made)
        and not side.ok
        and any((one.get("code") if isinstance(one, dict) else one.code) == NO_SOURCE for one in side.findings)
    )


def _found(side: Side) -> tuple[CaseFindings, ...]:
    """The errors of a side. Errors of a record may lack some of their data."""
    found = []
    for each in islice((one for one in side.findings if _is_error(one)), _MOST):
        row = each if isinstance(each, dict) else {
            "code": each.code, "path": each.path, "message": each.message, "span": each.span, "data": each.data,
        }  # fmt: skip
        span = row.get("span")
        found.append(
            CaseFindings(
                str(row.get("code", "")),
                rule_of(row),
                folded(str(row.get("path", "$"))),
                str(row.get("message", "")),
                tuple(span) if isinstance(span, list | tuple) and len(span) == 2 else None,
            )
        )
    return tuple(found)


def _is_error(found: Any) -> bool:
    level = found.get("level", "error") if isinstance(found, dict) else found.level
    return bool(level == "error")


def _changes(was: Side, now: Side) -> tuple[ValueChange, ...]:
    """The places where two accepted values differ; empty for a record without its value."""
    before, after = was.value, now.value
    told: list[ValueChange] = []
    if (was.made or before is not None) and not _is_written_alike(before, after):
        told = [
            ValueChange(folded(render(each.path)), each.before, each.now)
            for each in islice(differences(before, after), _MOST)
        ]
    if was.calls is not None and (was.calls or now.calls):
        pair = differences(_calls(was.calls), _calls(now.calls))
        told += (
            ValueChange(folded(render((_CALLS, *each.path))), each.before, each.now) for each in islice(pair, _MOST)
        )
    return tuple(told)


def _is_written_alike(before: Any, after: Any) -> bool:
    """Whether two values are exactly the same, as most are. Searching for differences takes longer."""
    try:
        return dumps(before) == dumps(after)
    except TypeError:  # an integer of many digits, or half a surrogate pair
        return False


def _calls(calls: Any) -> list[Any]:
    return [
        {"name": call["name"], "args": call["args"]} if isinstance(call, dict) else {"name": call.name, "args": call.args}
        for call in calls
    ]  # fmt: skip


def shown_value(value: Any) -> Any:
    """A value of a change for the report; None if it is missing."""
    return None if value is ABSENT else value
