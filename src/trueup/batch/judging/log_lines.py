"""Writes log lines about valid units: one line of text for each fix and warning."""

from collections.abc import Iterable

from trueup.verdict.facts import Finding, Fix


def fix_lines(fixes: Iterable[Fix]) -> tuple[str, ...]:
    """The log lines of fixes: a coercion with the old and new value, any other fix with its code.

    >>> from trueup.verdict.facts import fix
    >>> fix_lines([fix("C001", "$.score", None, '"5"', "5"), fix("S001", "$", None, ",", "")])
    ('[COERCE] score: "5" → 5 (string → int)', '[FIX] S001 $ A comma before a closing bracket was dropped.')
    """
    return tuple(
        f"[COERCE] {fix.path.removeprefix('$.')}: {fix.before} → {fix.after} ({_kind(fix.before)} → {_kind(fix.after)})"
        if fix.code[0] == "C"
        else f"[FIX] {fix.code} {fix.path} {fix.title}"
        for fix in fixes
    )


def warned_line(uid: str, found: Finding) -> str:
    """The log line of a warning about a valid unit.

    >>> from trueup.verdict.facts import finding
    >>> warned_line("u1", finding("B007", "$", "grown was skipped"))
    '[WARN] u1: B007 $ grown was skipped'
    """
    return f"[WARN] {uid}: {found.code} {found.path} {found.message}"


def _kind(text: str) -> str:
    """The type of a value, from its JSON."""
    first = text[:1]
    known = {'"': "string", "[": "array", "{": "object", "t": "bool", "f": "bool", "n": "null", "": "nothing"}
    return known.get(first) or ("number" if any(sign in text for sign in ".eE") else "int")
