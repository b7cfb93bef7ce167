"""Findings from the fixes of a reply: grades that are not accepted, values that JSON cannot represent.

Takes fixes; returns findings. A fix that is accepted and harmless gives no finding.
"""

from collections.abc import Iterator

from trueup.verdict.catalogue import FIXES, GRADE, GRADES, SPOKEN_FOR
from trueup.verdict.facts import Finding, Fix, finding

_SAID_OF = {
    "S032": ("P003", "Key given twice; the last value was kept", "Give each key once."),
    "S033": ("P004", "{before} is not a JSON number", "Use a finite number, or null if the schema allows it."),
    "S034": ("P005", "Number {before} is too large to represent", "Use a smaller number, or a string."),
    "S035": (
        "P006",
        "Text contains half of a surrogate pair",
        "Write the character itself, or a full \\uXXXX\\uXXXX pair.",
    ),
    "S043": (
        "P011",
        "The reply ends right after {before}, which may be incomplete",
        "The reply was cut off: give a shorter reply or raise the output limit.",
    ),
    "S039": ("P007", "Bytes {before} are not UTF-8", "Send the reply as UTF-8."),
}
SPEAKING = frozenset(_SAID_OF)
_ACCEPTED = {"none": "no fixes", "lossless": "only lossless fixes", "guess": "fixes up to guess"}
_HINTS = {
    "S027": "Write the value in full; do not shorten it with '...'.",
    "S028": "The reply was cut off: give a shorter reply or raise the output limit.",
    "S029": "The reply was cut off: give a shorter reply or raise the output limit.",
    "S030": "The reply was cut off: give a shorter reply or raise the output limit.",
    "W013": "Give the answer after the reasoning, not inside it.",
}


def remarks(fixes: tuple[Fix, ...], accept: str) -> Iterator[Finding]:
    """Findings that follow from the fixes of a reply under a contract's `accept`."""
    allowed = GRADES[accept]
    for fix in fixes:
        said = _SAID_OF.get(fix.code)
        if said is not None:
            code, message, hint = said
            yield finding(
                code, fix.path, message.replace("{before}", fix.before[:40]), fix.span, {"fix": fix.code}, hint
            )
        if fix.code not in SPOKEN_FOR and GRADES[fix.grade] > allowed:
            yield _refused(fix, accept)


def too_many(limit: Exception) -> Finding:
    """The finding for a reply with too many parts; the exception has the name of the parts and their limit."""
    what, most = limit.args
    message = f"The reply has more than {most:,} {what}; reading stopped there"
    return finding("L003", "$", message, None, {"what": what, "limit": most}, "Give one value, as plain JSON.")


def _refused(fix: Fix, accept: str) -> Finding:
    title = FIXES[fix.code].title
    return finding(
        "G001",
        fix.path,
        f"{title[:-1]} ({fix.code}, {GRADE[fix.code]}); the contract accepts {_ACCEPTED[accept]}",
        fix.span,
        {"fix": fix.code, "grade": GRADE[fix.code], "accept": accept},
        _HINTS.get(fix.code, ""),
    )
