"""Build one verdict from the parts of a judgement: the findings about the shape, the calls, and the text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from trueup.verdict.facts import Finding, Findings, Fix, finding, promoted
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Fixes, Refusal, Verdict, without_unmet

_CUT = frozenset({"S005", "S028", "S029", "S030"})
_CALL = lazy_regex(r"\$\.toolCalls\[(\d+)\]")


class Account(NamedTuple):
    """One call: as it was given, as it may be run, and the findings about it."""

    given: ToolCall
    passed: ToolCall
    findings: list[Finding]


class JudgedCalls(NamedTuple):
    """The result for the calls of one reply: the calls that may be run, the refused ones, and all findings."""

    calls: tuple[ToolCall, ...]
    refused: tuple[Refusal, ...]
    findings: list[Finding]
    fixes: list[Fix]
    accounts: Sequence[Account] = ()
    unread: bool = False  # the text must not be read any further


NO_CALLS = JudgedCalls((), (), [], [])


def parted(
    accounts: Sequence[Account], common: Sequence[Finding], *, strict: bool
) -> tuple[tuple[ToolCall, ...], tuple[Refusal, ...]]:
    """The calls that may be run and the refused ones; in strict mode a warning is enough to refuse a call."""
    good: list[ToolCall] = []
    refused: list[Refusal] = []
    blocking = tuple(f for f in common if f.path == "$.calls" and f.level == "error")
    for account in accounts:
        errors = tuple(f for f in account.findings if strict or f.level == "error")
        if errors or blocking:
            refused.append(Refusal(account.given, tuple(map(promoted, errors)) or blocking))
        else:
            good.append(account.passed)
    return tuple(good), tuple(refused)


def merge(
    reply: Reply, shape: Sequence[Finding], judged: JudgedCalls, text: Verdict | None, *, strict: bool
) -> Verdict:
    """Combine the parts; in strict mode each warning becomes an error, once."""
    findings = [*shape, *judged.findings]
    data: Any = None
    value: Any = None
    fixes: Any = tuple(judged.fixes)
    ending: list[Finding] = []
    if text is not None:
        ending = _of_the_ending(reply, text)
        refused_by_model = any(f.code == "P010" for f in ending)
        findings += [f for f in text.findings if not (refused_by_model and f.code == "P002")]
        findings += ending
        data, value = text.data, text.value
        fixes = _Both(judged.fixes, text)
    calls, refused = judged.calls, judged.refused
    if strict:
        calls, refused = parted(judged.accounts, judged.findings, strict=True)
        findings = [promoted(f) for f in findings]
    if text is not None and calls:
        calls, held_back = _held_back(calls, [f for f in (*text.findings, *ending) if f.level == "error"])
        refused = (*refused, *held_back)
    if refused and calls:
        calls, more = without_unmet(calls)
        refused = (*refused, *more)
        findings += [found for refusal in more for found in refusal.findings]
    ordered = Findings(sorted(findings, key=lambda f: f.level != "error") if len(findings) > 1 else findings)
    return Verdict(reply, data, ordered, fixes, value, calls, refused=refused)


def _held_back(
    calls: tuple[ToolCall, ...], errors: Sequence[Finding]
) -> tuple[tuple[ToolCall, ...], tuple[Refusal, ...]]:
    """The calls of a value that may be run, and the calls in a part of the value that was refused or cut off."""
    whole = [f for f in errors if f.code[0] in "GP" and f.path in ("$", "$.toolCalls")]
    reasons: dict[int, list[Finding]] = {}
    for found in errors:
        place = _CALL.match(found.path)
        if place is not None:
            reasons.setdefault(int(place[1]), []).append(found)
    good: list[ToolCall] = []
    refused: list[Refusal] = []
    for position, call in enumerate(calls):
        own = reasons.get(call.index if call.origin == "envelope" else position, ())
        if call.origin != "native" and (own or whole):
            refused.append(Refusal(call, (*own, *whole)))
        else:
            good.append(call)
    return tuple(good), tuple(refused)


class _Both:
    """The fixes of the calls and of the text, made only if they are accessed."""

    __slots__ = ("_calls", "_text")

    def __init__(self, calls: list[Fix], text: Verdict) -> None:
        self._calls = calls
        self._text = text

    def __call__(self) -> Fixes:
        return (*self._calls, *self._text.fixes)


_WITHHELD: dict[str, str] = {
    "refusal": "The model refused, and did not say why",
    "filter": "A content filter of the provider withheld the reply",
}


def _of_the_ending(reply: Reply, text: Verdict) -> list[Finding]:
    """The provider's message about how the reply ended, if it contradicts a value that was read."""
    if (reply.refusal or reply.finish in _WITHHELD) and not reply.text.strip() and not reply.calls:
        hint = "Ask in another way, or for something else."
        said = f"The model refused: {reply.refusal[:200]}" if reply.refusal else _WITHHELD[reply.finish]
        return [finding("P010", "$", said, None, {"refusal": reply.refusal[:500]}, hint)]
    if reply.finish == "length" and text.ok and any(f.code in _CUT for f in text.fixes):
        hint = "Give a shorter reply, or raise the output limit."
        return [
            finding("P009", "$", "The provider cut off the reply at its length limit", None, {"finish": "length"}, hint)
        ]
    return []
