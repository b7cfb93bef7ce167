"""Prose about tools: names that no offered tool has, and claims to have run a tool that was not called.

Takes the reply's text without its calls, the offered tools and the names that were called; yields findings.
`unknown_names` decides which names count. Code blocks are not prose, but the names that they define are known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from trueup.checks.stretches import LONG, matches
from trueup.checks.toolset import Toolset
from trueup.checks.unknown_names import USUAL, Mentions, unknown_names
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex

_THE = r"(?:(?:the|a|my|our|la|el|una|un)\s+)?(?:(?:tool|function|herramienta|función)\s+)?[`\"'“]?"
_DID = r"(?:ran|called|invoked|executed|triggered|ejecuté|ejecutamos|llamé|invoqué|utilicé|usé)"
_DONE = r"(?:run|called|used|invoked|executed|triggered|ejecutado|usado|llamado|invocado|utilizado)"
_I = r"(?:I|we|yo|nosotros)"
_HAVE = r"(?:I['’]ve|I have|we['’]ve|we have|he|hemos)"
_ALREADY = r"(?:\s+(?:just|already|also|now|successfully|ya|también))?"
_CLAIM = lazy_regex(
    rf"\b(?:{_I}{_ALREADY}\s+(?:{_DID}|used)|{_HAVE}{_ALREADY}\s+{_DONE}|(?:ejecuté|llamé|invoqué|utilicé|usé))\s+{_THE}([A-Za-z_][\w-]*)",
    re.IGNORECASE,
)
# Verbs with a visible effect: "I've booked the table" claims a call of book_table.
_PARTICIPLES = {
    "book": "booked", "send": "sent", "cancel": "cancelled|canceled", "create": "created", "delete": "deleted",
    "schedule": "scheduled", "reschedule": "rescheduled", "order": "ordered", "pay": "paid", "refund": "refunded",
    "update": "updated", "transfer": "transferred", "submit": "submitted", "reserve": "reserved", "remove": "removed",
    "add": "added", "register": "registered", "save": "saved", "purchase": "purchased", "buy": "bought",
}  # fmt: skip
# The same for the linear engine, for every place where they may match: long texts are searched quickly with these.
_GAP = r"[\s\pZ\x0b\x1c-\x1f\x{85}]+"
_LOOSE_ALREADY = _ALREADY.replace(r"\s+", _GAP)
_CLAIM_GATE = (
    rf"(?i)(?:{_I}{_LOOSE_ALREADY}{_GAP}(?:{_DID}|used)|{_HAVE}{_LOOSE_ALREADY}{_GAP}{_DONE}"
    rf"|ejecuté|llamé|invoqué|utilicé|usé){_GAP}"
)
_DEED_GATE = rf"(?i){_HAVE}{_LOOSE_ALREADY}{_GAP}(?:{'|'.join(_PARTICIPLES.values())})"
# There is no claim without one of these words; searching for them is cheaper than searching for the whole pattern.
_CLAIMING = (" ran ", "called ", "used ", "invoked ", "executed ", "triggered ", "run ", "ejecut", "llam", "invoc", "invoq",
             "utiliz", "utilic", "usé ", "usado ")  # fmt: skip
_HAVING = ("'ve ", "’ve ", " have ", "he ", "hemos ")
_CODE = lazy_regex(r"```[\s\S]*?(?:```|\Z)")
# The names that a code block defines; the prose around it refers to them.
_DEFINED = lazy_regex(r"\b(?:def|function|class|fn|func|fun|const|let|var|sub|proc) {1,4}([A-Za-z_]\w{1,80})")
_DEED = lazy_regex(rf"\b{_HAVE}{_ALREADY}\s+({'|'.join(_PARTICIPLES.values())})\b([^.!?\n]{{0,80}})", re.IGNORECASE)
_VERB = {form: verb for verb, forms in _PARTICIPLES.items() for form in forms.split("|")}
_WORD = lazy_regex(r"[^\W_]+")


def mention_findings(
    text: str,
    tools: Toolset,
    called: AbstractSet[str],
    claims: Mapping[str, Sequence[str]] | None = None,
    asked: Mentions = USUAL,
) -> Iterator[Finding]:
    """A finding for each undefined tool in the text, and a warning for each defined one that it claims to have run."""
    defined: set[str] = set()
    if "```" in text:
        defined = {name for block in _CODE.findall(text) for name in _DEFINED.findall(block)}
        text = _CODE.sub(lambda block: " " * len(block[0]), text)
    yield from unknown_names(text, tools, asked, defined)
    claimed = claimed_tools(text, tools)
    for name, span in _phrases(text, claims or {}):
        claimed.setdefault(name, span)
    for name, span in claimed.items():
        if name in tools.tools and name not in called:
            message = f"The text claims to have run {name!r}, but no such call was made"
            yield finding("T012", "$", message, span, {"name": name}, f"Call {name!r}, or do not claim it.")


def claimed_tools(text: str, tools: Toolset) -> dict[str, tuple[int, int]]:
    """The tools that a text claims to have run, each with the position of the claim."""
    claimed: dict[str, tuple[int, int]] = {}
    looked_up: set[str] = set()
    plain = text.lower() if len(text) <= LONG else ""
    if not plain or _holds(plain, _CLAIMING):
        for claim in matches(_CLAIM, text, _CLAIM_GATE):
            if claim[1] not in looked_up:
                looked_up.add(claim[1])
                claimed.setdefault(tools.meant(claim[1]), claim.span(1))
    if not plain or _holds(plain, _HAVING):
        for name, span in _deeds(text, tools):
            claimed.setdefault(name, span)
    return claimed


def _holds(text: str, words: Sequence[str]) -> bool:
    """Whether a text contains one of these words. Every clean check runs this, so it is a loop and not a generator."""
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _deeds(text: str, tools: Toolset) -> Iterator[tuple[str, tuple[int, int]]]:
    """Reads `I've booked the table` as a claim that book_table was run."""
    for deed in matches(_DEED, text, _DEED_GATE):
        verb = _VERB[deed[1].lower()]
        rest = {word.lower() for word in _WORD.findall(deed[2])}
        for name in tools.by_verb(verb):
            objects = [word.lower() for word in name.split("_")[1:]]
            if not objects or not rest.isdisjoint(objects):
                yield name, deed.span(1)


def _phrases(text: str, claims: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The phrases that the contract defines as claims."""
    if not claims:
        return
    folded = _folded(text)
    for name, phrases in claims.items():
        for phrase in filter(str.strip, phrases):
            sought = _folded(phrase)
            at = folded.find(sought)
            while (
                at > 0 and sought[0].isalnum() and folded[at - 1].isalnum()
            ):  # "noche pagado" does not say "he pagado"
                at = folded.find(sought, at + 1)
            if at >= 0:
                yield name, (at, at + len(phrase))


def _folded(text: str) -> str:
    """A text without case. A letter that would become two, such as ß, is not changed: positions stay right."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = "".join(other if len(other := c.casefold()) == 1 else c for c in text)
    return folded.replace("’", "'")
