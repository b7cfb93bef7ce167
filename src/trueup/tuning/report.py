"""The report of a tuning: takes a finished tuning and returns JSON-able data or Markdown.

Text from replies or contracts cannot become markup.
"""

from typing import Any

from trueup.backtesting.markdown import code
from trueup.material.case import REASONS
from trueup.tuning.measures import UnitMeasures
from trueup.tuning.proposals import NEEDED, of
from trueup.tuning.tune import Suggestion, Tuning, facts_of
from trueup.verdict.display import safe_line


def to_dict(tuning: Tuning) -> dict[str, Any]:
    """The tuning as JSON-able data."""
    measured, evidence = tuning.measured, tuning.evidence
    return {
        "contract": tuning.file.path.as_posix(),
        "replies": len(evidence.seen),
        "labelled": len(evidence.labelled),
        "left_out": evidence.left_out,
        "unrecorded": evidence.unrecorded,
        "unnoted": evidence.unnoted,
        "unjudgeable": evidence.unjudgeable,
        "agreement": measured.agreement._asdict(),
        "random_sample": measured.sample,
        "whole": measured.whole.to_dict(),
        "codes": [row.to_dict() for row in measured.codes],
        "units": [row.to_dict() for row in measured.units],
        "patterns": {key: [row.to_dict() for row in rows] for key, rows in measured.patterns.items()},
        "tests": tuning.tests,
        "suggestions": [facts_of(suggestion) for suggestion in tuning.suggestions],
        "labels_needed": [{**row.to_dict(), "needed": NEEDED} for row in tuning.needed],
    }


def share(row: UnitMeasures) -> str:
    """The precision of a unit for people; empty if it has no label."""
    if row.precision is None:
        return ""
    return f"{row.right / row.labelled:.0%} [{row.precision.low:.0%}, {row.precision.high:.0%}]"


def recall(row: UnitMeasures) -> str:
    """The recall of a unit for people."""
    if row.recall is None:
        return "unknown"
    return f"{row.recall.value:.0%} [{row.recall.low:.0%}, {row.recall.high:.0%}]"


def name_of(row: UnitMeasures) -> str:
    """The name of a unit in a table."""
    unit = row.unit
    if unit.kind == "pattern":
        return f"  {unit.name}"
    if unit.kind in ("rule", "reply", "forbid"):
        where = f"{unit.state} " if unit.state else ""
        return f"{unit.kind} {where}{unit.name}"
    return unit.name


def rows_of(tuning: Tuning) -> list[UnitMeasures]:
    """The rows of the table: each unit, followed by its patterns that fired."""
    measured = tuning.measured
    return [row for unit in measured.units for row in (unit, *_fired(measured.patterns.get(unit.unit.key, [])))]


def _fired(rows: list[UnitMeasures]) -> list[UnitMeasures]:
    return [row for row in rows if row.fired]


def agreement(tuning: Tuning) -> str:
    """The agreement between people, in a few words."""
    found = tuning.measured.agreement
    if not found.items:
        return "no reply has labels from two people"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
    return f"κ {kappa} over {of(found.items, 'reply')}"


def evidence_line(suggestion: Suggestion) -> str:
    """The evidence for a suggestion, in a sentence or two."""
    return f"{suggestion.proposal.why} p = {suggestion.p:.2g}, corrected for {of(suggestion.tests, 'test')}."


def backtest_line(suggestion: Suggestion) -> str:
    """The result of a suggestion's backtest, as a sentence."""
    done = suggestion.outcome
    if done is None:
        return ""
    counts = (
        (done.newly_accepted, "newly accepted"), (done.newly_refused, "newly refused"), (done.value_changed, "with another value")
    )  # fmt: skip
    flips = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing changes"
    labels = f"; by their labels, {done.better} are better, {done.worse} worse" if done.better or done.worse else ""
    rates = f"; refused: {done.refused_before:.1%} → {done.refused_now:.1%}"
    return f"Of {of(done.judged, 'reply')}: {flips}{labels}{rates}."


def unjudgeable(tuning: Tuning) -> list[str]:
    """One line for each reason why replies could not be judged."""
    reasons: dict[str, str] = {str(name): words for name, words in REASONS.items()}
    return [f"{of(count, 'reply')} not judged: {reasons[name]}" for name, count in tuning.evidence.unjudgeable.items()]


def to_markdown(tuning: Tuning) -> str:
    """The tuning as Markdown, for a pull request."""
    evidence = tuning.evidence
    lines = [
        f"## {code(tuning.file.path.name)}: {of(sum(one.is_advice for one in tuning.suggestions), 'suggestion')}",
        "",
        f"{of(len(evidence.seen), 'reply')} judged, {len(evidence.labelled):,} labelled; {agreement(tuning)}.",
        *(f"\n{line}." for line in unjudgeable(tuning)),
        "",
        "| | fired | labels | precision | recall |",
        "|---|---:|---:|---|---|",
    ]
    for row in (tuning.measured.whole, *rows_of(tuning)):
        cells = (
            name_of(row) if row is tuning.measured.whole else code(name_of(row).strip()),
            f"{row.fired:,}",
            f"{row.labelled:,}",
            share(row),
            recall(row),
        )
        lines.append(f"| {' | '.join(cells)} |")
    for suggestion in tuning.suggestions:
        lines += [
            "",
            f"### {suggestion.number}. {'' if suggestion.is_advice else 'For your information: '}{_prose(suggestion.proposal.title)}",
            "",
            _prose(evidence_line(suggestion)),
        ]
        lines += ["", backtest_line(suggestion)] if suggestion.outcome else []
        lines += ["", _prose(suggestion.proposal.note)] if suggestion.proposal.note else []
        if suggestion.diff:
            fence = "`" * max(3, _longest_run(suggestion.diff) + 1)
            lines += ["", f"{fence}diff", suggestion.diff.rstrip("\n"), fence]
        else:
            lines += ["", f"No diff: {_prose(suggestion.refusal)}."]
    return "\n".join(lines) + "\n"


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]|"})


def _prose(text: str) -> str:
    r"""A sentence without markup.

    >>> print(_prose("Rule '<b>`a|b`' is"))
    Rule '&lt;b>\`a\|b\`' is
    """
    return safe_line(text).translate(_MARKS).replace("<", "&lt;")


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
