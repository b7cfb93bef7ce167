"""Texts about a draft as a whole: where it comes from, and how far it can be trusted."""

from trueup.inferring.reading import WHY
from trueup.inferring.report import DraftReport, HeldOut
from trueup.inferring.words import count, share

_SHOWN = 5


def heading(report: DraftReport) -> list[str]:
    """The first lines of a draft."""
    if report.source:
        return [f"Drafted by `trueup infer` from {report.source}."]
    held = report.held
    unusable = sum(report.unusable.values())
    out = [
        f"Drafted by `trueup infer` from {_replies(report.cases)}: {count(report.used)} used, {count(held.total)} held out"
        + (f", {count(unusable)} not usable." if unusable else "."),
        accepted(held),
    ]
    if held.relaxed:
        out.append(f"Relaxed for held-out replies: {_some(held.relaxed)}.")
    return out


def told(report: DraftReport) -> list[str]:
    """The report in sentences."""
    if report.source:
        return [f"Drafted from {report.source}."]
    held = report.held
    out = [
        f"{_replies(report.cases)}: {count(report.used)} used, {count(held.total)} held out, {count(sum(report.unusable.values()))} not usable."
    ]
    out += [
        f"Not usable ({count(times)}): {WHY.get(reason, reason)}." for reason, times in sorted(report.unusable.items())
    ]
    if report.whole_lines:
        out.append("No line shows which field is the reply, so each line was read as a value; --reply-column sets it.")
    if report.mended:
        out.append(
            f"{count(report.mended)} of the used replies {'was' if report.mended == 1 else 'were'} broken and had to be repaired."
        )
    if report.other:
        out.append(f"The replies are text, but {count(report.other)} contain a value; --expect value drafts a schema.")
    out.append(accepted(held))
    if held.cut or held.without:
        out.append(
            f"Also held out: {count(held.cut)} incomplete or damaged, of which {count(held.cut_accepted)} "
            f"{'passes' if held.cut_accepted == 1 else 'pass'}; {count(held.without)} without a usable value."
        )
    if held.relaxed:
        first = (
            f"Before relaxing, {count(held.at_first)} passed. Relaxed: "
            if held.at_first < held.accepted
            else "Relaxed: "
        )
        out.append(f"{first}{_some(held.relaxed)}.")
    if not report.ok:
        codes = ", ".join(
            f"{code} ({count(times)})"
            for code, times in sorted(held.refused_by.items(), key=lambda pair: -pair[1])[:_SHOWN]
        )
        out.append(f"Fewer than 99 % pass. The others are refused by {codes}; relaxing the draft cannot change that.")
    return out


def _replies(number: int) -> str:
    return "1 reply" if number == 1 else f"{count(number)} replies"


def _some(listed: tuple[str, ...]) -> str:
    rest = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {count(rest)} more" if rest > 0 else "")


def accepted(held: HeldOut) -> str:
    """How many held-out replies pass, in a sentence.

    >>> accepted(HeldOut(total=100, whole=90, accepted=90, at_first=90, cut=10))
    '90 of 90 complete held-out replies pass (95 % interval: 95.9 % to 100 %).'
    """
    if not held.total:
        return "No reply was held out, so nothing is known about other replies."
    if not held.whole:
        return "No held-out reply is complete, so nothing is known about other replies."
    low, high = held.interval
    return (
        f"{count(held.accepted)} of {count(held.whole)} complete held-out replies pass "
        f"(95 % interval: {share(low, 1)} to {share(high, 1)})."
    )
