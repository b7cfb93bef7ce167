"""Evidence: cases judged under the current contract, with people's labels.

Takes cases and a contract. Returns what fired in each case, and whether the reply should be accepted. Recorded findings
are not trusted: every reply is judged again. Cases that cannot be judged are counted with the reason.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.backtesting.needs import lost, needs
from trueup.checks.conversation import spoken_texts
from trueup.checks.rules import Rule
from trueup.contract.contract import Contract
from trueup.contract.meaning.meaning import prose, record
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression
from trueup.expressions.work import BUDGET
from trueup.material.case import RIGHT, WRONG, Case, Label
from trueup.material.selection import rule_of
from trueup.tuning.units import STRUCTURAL, RefusingUnit, names_of, unit_of
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding, Findings
from trueup.verdict.verdict import Verdict

MOST = 20_000  # the maximum number of replies without a label
UNNOTED = ("?",)  # missing, if the context of a reply was not recorded


class CaseLabels(NamedTuple):
    """People's labels for one case; the majority decides disagreements."""

    should: bool | None = None
    """Whether the reply should be accepted; None without labels or if people disagree."""
    subjects: dict[str, bool] = {}
    """For `rule:NAME` and `code:CODE`, whether its firing, or not firing, under the current contract is right."""
    is_random: bool = False
    """Whether the reply is from the random sample of accepted replies."""
    note: str = ""


class JudgedCase(NamedTuple):
    """One case, judged."""

    number: int
    """The reply's number in the evidence."""
    case: Case
    ok: bool
    findings: Findings
    data: Any
    """The reply's data, kept if there are labels."""
    length: int
    """The number of characters in the text, as reply rules count them."""
    units: frozenset[str]
    """The keys of everything that fired."""
    refusing: tuple[str, ...]
    """The keys of the units that refuse the reply, without duplicates."""
    structured: bool
    """Whether the data has a valid structure and every field that rules require. Otherwise no rule is evaluated."""
    unasked: frozenset[str]
    """The names of rules that were not evaluated because their `when` is false."""
    is_spoken: bool
    """Whether there is text that a state could forbid."""
    state: str
    said: CaseLabels
    verdict: Verdict | None = None
    """The whole verdict, kept if there are labels or forbidden words."""

    @property
    def cluster(self) -> str:
        """The group that counts as one vote: the conversation, or otherwise the reply itself."""
        return self.case.cluster or f"#{self.number}"

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse the reply."""
        return tuple(self.findings.errors)


class JudgedCases(NamedTuple):
    """All cases, judged."""

    seen: list[JudgedCase]
    labelled: list[JudgedCase]
    """The cases for which it is known whether they should be accepted."""
    units: dict[str, RefusingUnit]
    """All units that the contract lists or that fired, by key."""
    unjudgeable: dict[str, int]
    left_out: int
    """The number of replies without a label beyond the maximum."""
    unnoted: int = 0
    """The number of replies without a recorded context, if the contract uses context."""

    @property
    def unrecorded(self) -> int:
        """The number of labelled replies without a recorded decision; the current decision is assumed."""
        return sum(
            one.case.recorded is None
            and any(not label.decided for label in one.case.labels if label.outcome in (RIGHT, WRONG))
            for one in self.labelled
        )


def gather(
    cases: Iterable[Case], contract: Contract, listed: Iterable[RefusingUnit] = (), most: int = MOST
) -> JudgedCases:
    """Judge cases under a contract, which lists these units. Every labelled case is kept, and at most `limit`
    others.
    """
    seen: list[JudgedCase] = []
    units: dict[str, RefusingUnit] = {unit.key: unit for unit in listed}
    reasons: Counter[str] = Counter()
    plain = left_out = 0
    known: set[tuple[str, str]] = set()
    wanted = needs(contract)
    for case in cases:
        reason = _unjudgeable(case, wanted)
        if reason is not None:
            reasons[reason] += 1
            continue
        if not case.labels and plain >= most:
            left_out += 1
            continue
        if case.labels:
            if (case.id, case.text) in known:  # a store and an export of it, for instance
                continue
            known.add((case.id, case.text))
        plain += not case.labels
        verdict = judged(contract, case)
        if verdict is None:
            reasons["check_raised"] += 1
            continue
        seen.append(_seen(len(seen), case, verdict, contract, units))
    labelled = [one for one in seen if one.said.should is not None]
    unnoted = sum(one.case.missing == UNNOTED and lost(wanted, UNNOTED) is not None for one in seen)
    return JudgedCases(seen, labelled, units, dict(reasons), left_out, unnoted)


def _unjudgeable(case: Case, wanted: frozenset[str]) -> str | None:
    """The reason why a case cannot be judged by a contract that uses this context; None if it can.

    If the context was not recorded, an empty one is assumed; `unnoted` counts these cases.
    """
    if case.unjudgeable is not None or case.reply is None:
        return case.unjudgeable or "no_reply"
    place = None if case.missing == UNNOTED else lost(wanted, case.missing)
    if place is None:
        return None
    return case.missing_why[place] if place < len(case.missing_why) else "context_not_kept"


def judged(contract: Contract, case: Case) -> Verdict | None:
    """The verdict on a case; None if a check of the contract raised an error."""
    try:
        return contract.check(case.reply, dict(case.context) if case.context else None)
    except (Exception, SystemExit) as error:
        if bug_of(error) is None:
            raise
        return None


def _seen(number: int, case: Case, verdict: Verdict, contract: Contract, units: dict[str, RefusingUnit]) -> JudgedCase:
    fired: set[str] = set()
    refusing: dict[str, None] = {}
    for found in verdict.findings:
        unit = unit_of(found, units)
        units.setdefault(unit.key, unit)
        fired.add(unit.key)
        if found.level == "error":
            refusing[unit.key] = None
    structured = not any(found.code[0] not in STRUCTURAL for found in verdict.findings.errors)
    structured = structured and verdict.data is not None and not any(found.code == "B001" for found in verdict.findings)
    meaning = contract.meaning
    state = ""
    is_spoken = False
    if meaning is not None and meaning.states is not None:
        state = meaning.states.standing(case.context or {}).state
        is_spoken = any(text.strip() for text, _ in spoken_texts(prose(verdict)))
    length = verdict.metrics.get("total_text_length", 0)
    said = settled(case, verdict.findings, ok_now=verdict.ok)
    unasked = _unasked(case, verdict, contract) if structured else frozenset()
    return JudgedCase(
        number, case, verdict.ok, verdict.findings, verdict.data if case.labels else None, length, frozenset(fired), tuple(refusing),
        structured, unasked, is_spoken, state, said, verdict if case.labels or any(found.code == "D001" for found in verdict.findings) else None,
    )  # fmt: skip


def _unasked(case: Case, verdict: Verdict, contract: Contract) -> frozenset[str]:
    """The names of rules with a `when` that is false for a reply."""
    rules: tuple[Rule, ...] = () if contract.meaning is None else getattr(contract.meaning.rules, "rules", ())
    if all(rule.when is None for rule in rules):
        return frozenset()
    fields = record(verdict.data, case.context or {})
    return frozenset(rule.name for rule in rules if rule.when is not None and not _holds(rule.when, fields))


def _holds(when: Expression, fields: dict[str, Any]) -> bool:
    try:
        return bool(when.evaluate(fields, BUDGET))
    except ExpressionError:
        return False


def settled(case: Case, findings: Findings, *, ok_now: bool) -> CaseLabels:
    """The labels' answers about a case: each says whether the decision that it refers to is right."""
    if not case.labels:
        return _NOTHING
    whole: list[bool] = []
    subjects: dict[str, list[bool]] = {}
    fired = {name for found in findings for name in names_of(found)}
    note = ""
    for label in case.labels:
        note = note or label.note
        if label.outcome not in (RIGHT, WRONG):
            continue
        is_right = label.outcome == RIGHT
        if label.subject:
            then = _fired_then(case, label, fired, ok_now=ok_now)
            if then is not None:  # a unit that was right to fire then and does not fire now is a miss
                subjects.setdefault(label.subject, []).append(is_right is (then is (label.subject in fired)))
        else:
            whole.append(case.was_accepted(label, now=ok_now) is is_right)
    votes = {subject: vote for subject, all_votes in subjects.items() if (vote := _majority(all_votes)) is not None}
    should = _majority(whole)
    if should is None and not whole:
        should = _from_findings(votes, findings, ok=ok_now)
    drawn = any(label.drawn == "random" and case.was_accepted(label, now=ok_now) for label in case.labels)
    return CaseLabels(should, votes, drawn, note)


_NOTHING = CaseLabels()


def _fired_then(case: Case, label: Label, fired_now: set[str], *, ok_now: bool) -> bool | None:
    """Whether the subject of a label fired in the labelled decision; None if unknown."""
    recorded, subject = case.recorded, label.subject
    accepted = case.was_accepted(label, now=ok_now)
    if recorded is not None and recorded.ok is accepted:
        named = {f"rule:{rule_of(found)}" for found in recorded.findings} | {f"code:{code}" for code in recorded.codes}
        if subject in named or not recorded.codes or recorded.findings or subject.startswith("code:"):
            return subject in named
    if not accepted:
        return True  # a label of a finding refers to an existing finding
    if accepted is ok_now:
        return subject in fired_now
    return None


def _majority(votes: list[bool]) -> bool | None:
    yes = sum(votes)
    return None if 2 * yes == len(votes) else 2 * yes > len(votes)


def _from_findings(votes: dict[str, bool], findings: Findings, *, ok: bool) -> bool | None:
    """Whether the reply should pass by the labels of single findings: one right error refuses it; if all are wrong, it
    passes.

    On an accepted reply, `wrong` about a rule or a code that did not fire means that it should have fired.
    """
    if not votes:
        return None
    if ok:
        fired = {name for found in findings for name in names_of(found)}
        return False if any(not vote and name not in fired for name, vote in votes.items()) else None
    said = [next((votes[name] for name in names_of(found) if name in votes), None) for found in findings.errors]
    if any(said):
        return False
    return True if all(vote is False for vote in said) else None


def finding_vote(one: JudgedCase, found: Finding) -> bool | None:
    """Whether a finding is right; None if the labels do not decide it.

    A label of the finding itself counts. A label of the whole verdict counts if this is the only reason of the refusal
    and the labelled verdict had the same code.
    """
    for name in names_of(found):
        if name in one.said.subjects:
            return one.said.subjects[name]
    if one.said.should is None or found.level != "error" or len(one.refusing) != 1:
        return None
    recorded = one.case.recorded
    if recorded is not None and not recorded.ok and recorded.codes and found.code not in recorded.codes:
        return None
    return not one.said.should
