"""Prose about tools: names that no tool has, and claims to have run one that was not called.

The reply's text without its calls, the offered tools and the names that were called enter; warnings leave. Words that
merely look like identifiers stay quiet unless they stand where a call is talked about, or are made like an offered
name. Code blocks are no prose.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from trueup.checks.stretches import LONG, matches
from trueup.checks.toolset import Toolset
from trueup.verdict.facts import Finding, finding

_NAME = r"[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){0,6}?_[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){0,6}"
_CAMEL = r"[a-z][a-z0-9]{1,40}(?:[A-Z][a-z0-9]{1,40}){1,8}"
_THE = r"(?:(?:the|a|my|our|la|el|una|un)\s+)?(?:(?:tool|function|herramienta|función)\s+)?[`\"'“]?"
_DID = r"(?:ran|called|invoked|executed|triggered|ejecuté|ejecutamos|llamé|invoqué|utilicé|usé)"
_DOING = r"(?:running|calling|invoking|executing|run|call|invoke|execute|ejecutando|llamando|invocando|ejecutar|llamar|invocar)"
_DONE = r"(?:run|called|used|invoked|executed|triggered|ejecutado|usado|llamado|invocado|utilizado)"
_I = r"(?:I|we|yo|nosotros)"
_HAVE = r"(?:I['’]ve|I have|we['’]ve|we have|he|hemos)"
_ALREADY = r"(?:\s+(?:just|already|also|now|successfully|ya|también))?"
_TOOL = r"(?:tool|function|herramienta|función)\s+(?:called\s+|named\s+|llamada\s+)?[`\"'“]?"
_EDGE = r"(?![\w.\-/]{0,80}[\w/])"  # `run test_all.py` and `a_b.c` speak of files and members
_IN_CONTEXT = re.compile(
    rf"(?:\b(?i:{_DID}|{_DOING}|{_I}{_ALREADY}\s+used|{_HAVE}{_ALREADY}\s+{_DONE})\s+{_THE}|\b(?i:{_TOOL}))({_NAME}|{_CAMEL}){_EDGE}"
    rf"|(?<![`\w])`({_NAME})(?:\([^`\n]{{0,200}}\))?`(?!`)|(?<![\w.`/\"'])({_NAME})\((?!s\))",
)
_IN_TICKS = 2  # the group of a name in backticks
# The words beside a name in backticks that say it is none of a tool: "the `created_at` field".
_DATA = (
    r"(?:fields?|columns?|keys?|variables?|parameters?|arguments?|attributes?|propert(?:y|ies)|tables?|files?|folders?|flags?|options?"
    r"|settings?|campos?|columnas?|claves?|variables?|par[áa]metros?|argumentos?|atributos?|propiedad(?:es)?|tablas?|archivos?|opci[óo]n)"
)
_DATA_BEFORE = re.compile(rf"\b{_DATA}[ \t]+(?:called |named |llamad[oa]s? )?\Z", re.IGNORECASE)
_DATA_BEHIND = re.compile(rf"[ \t]+{_DATA}\b", re.IGNORECASE)
_ANY_NAME = re.compile(rf"(?<![\w.\-/])({_NAME}){_EDGE}")
_CLAIM = re.compile(
    rf"\b(?:{_I}{_ALREADY}\s+(?:{_DID}|used)|{_HAVE}{_ALREADY}\s+{_DONE}|(?:ejecuté|llamé|invoqué|utilicé|usé))\s+{_THE}([A-Za-z_][\w-]*)",
    re.IGNORECASE,
)
# Verbs whose deed shows in the world; "I've booked the table" claims a call of book_table.
_PARTICIPLES = {
    "book": "booked", "send": "sent", "cancel": "cancelled|canceled", "create": "created", "delete": "deleted",
    "schedule": "scheduled", "reschedule": "rescheduled", "order": "ordered", "pay": "paid", "refund": "refunded",
    "update": "updated", "transfer": "transferred", "submit": "submitted", "reserve": "reserved", "remove": "removed",
    "add": "added", "register": "registered", "save": "saved", "purchase": "purchased", "buy": "bought",
}  # fmt: skip
# The same for the linear engine, wherever they may match: with these, long texts are looked through in a moment.
_GAP = r"[\s\pZ\x0b\x1c-\x1f\x{85}]+"
_LOOSE_THE = _THE.replace(r"\s+", _GAP)
_LOOSE_TOOL = _TOOL.replace(r"\s+", _GAP)
_SPEAKING = (
    rf"(?i:{_DID}|{_DOING}|{_DONE}|used){_GAP}{_LOOSE_THE}[a-z][a-z0-9_]*[A-Z_]"
    rf"|(?i:{_LOOSE_TOOL})[a-z][a-z0-9_]*[A-Z_]|`[a-z][a-z0-9]*_|[a-z0-9]_[a-z0-9_]+\("
)
_OF_THREE = "[a-z0-9]_[a-z0-9]{1,40}_[a-z0-9]"  # a name made like an offered one has three words at least
_LOOSE_ALREADY = _ALREADY.replace(r"\s+", _GAP)
_CLAIM_GATE = (
    rf"(?i)(?:{_I}{_LOOSE_ALREADY}{_GAP}(?:{_DID}|used)|{_HAVE}{_LOOSE_ALREADY}{_GAP}{_DONE}"
    rf"|ejecuté|llamé|invoqué|utilicé|usé){_GAP}"
)
_DEED_GATE = rf"(?i){_HAVE}{_LOOSE_ALREADY}{_GAP}(?:{'|'.join(_PARTICIPLES.values())})"
# Without one of these words there is no claim; a look for them is cheaper than for the whole pattern.
_CLAIMING = (" ran ", "called ", "used ", "invoked ", "executed ", "triggered ", "run ", "ejecut", "llam", "invoc", "invoq",
             "utiliz", "utilic", "usé ", "usado ")  # fmt: skip
_HAVING = ("'ve ", "’ve ", " have ", "he ", "hemos ")
_HUMP = re.compile(r"[a-z][A-Z]")
_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)")
_DEED = re.compile(rf"\b{_HAVE}{_ALREADY}\s+({'|'.join(_PARTICIPLES.values())})\b([^.!?\n]{{0,80}})", re.IGNORECASE)
_VERB = {form: verb for verb, forms in _PARTICIPLES.items() for form in forms.split("|")}
_WORD = re.compile(r"[^\W_]+")
_MAX = 10


def mention_findings(
    text: str, tools: Toolset, called: AbstractSet[str], claims: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Finding]:
    """A warning for each undefined tool that the text talks of, and for each defined one it claims to have run."""
    if "```" in text:
        text = _CODE.sub(lambda block: " " * len(block[0]), text)
    if "_" in text or _HUMP.search(text):
        yield from _undefined(text, tools)
    claimed = claimed_tools(text, tools)
    for name, span in _phrases(text, claims or {}):
        claimed.setdefault(name, span)
    for name, span in claimed.items():
        if name in tools.tools and name not in called:
            message = f"The text claims to have run {name!r}, but no such call was made"
            yield finding("T012", "$", message, span, {"name": name}, f"Call {name!r}, or do not claim it.")


def claimed_tools(text: str, tools: Toolset) -> dict[str, tuple[int, int]]:
    """The tools that a text claims to have run, each with the place of the claim."""
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
    """Whether a text holds one of these words. It is on the path of every clean check: a loop, no generator."""
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _undefined(text: str, tools: Toolset) -> Iterator[Finding]:
    said: dict[str, tuple[int, int]] = {}
    for found in matches(_IN_CONTEXT, text, _SPEAKING):
        group = found.lastindex or 1
        if group != _IN_TICKS or not _is_data(text, *found.span()):
            said.setdefault(found[group], found.span(group))
    if "_" in text and tools.phrases:
        made_alike = _likeness(tools)
        for word in matches(_ANY_NAME, text, _OF_THREE):
            if word[1] not in said and made_alike(word[1]):
                said[word[1]] = word.span(1)
    count = 0
    for name, span in said.items():
        if tools.by_convention(name) or name in tools.words:
            continue
        count += 1
        if count > _MAX:
            return
        yield undefined(name, span, tools)


def _is_data(text: str, start: int, end: int) -> bool:
    """Whether what stands beside a name says that it is a field, a file or the like."""
    return (
        _DATA_BEHIND.match(text, end) is not None or _DATA_BEFORE.search(text[max(0, start - 40) : start]) is not None
    )


def undefined(name: str, span: tuple[int, int], tools: Toolset) -> Finding:
    """The warning that a text speaks of a tool that is not offered."""
    closest = tools.closest(name)
    near = f"; the closest is {closest!r}" if closest else ""
    message = f"The text speaks of a tool {name!r} that is not defined{near}"
    hint = f"Speak only of offered tools{f', such as {closest!r}' if closest else ''}."
    return finding("T011", "$", message, span, {"name": name, "closest": closest}, hint)


def _likeness(tools: Toolset) -> Callable[[str], bool]:
    """A test for names that begin or end as an offered name does."""
    phrases = tools.phrases

    def made_alike(name: str) -> bool:
        words = name.split("_")
        return len(words) > 2 and not phrases.isdisjoint(
            {("start", *words[:2]), ("end", *words[-2:]), ("both", words[0], words[-1])}
        )

    return made_alike


def _deeds(text: str, tools: Toolset) -> Iterator[tuple[str, tuple[int, int]]]:
    """`I've booked the table` says that book_table was run."""
    for deed in matches(_DEED, text, _DEED_GATE):
        verb = _VERB[deed[1].lower()]
        rest = {word.lower() for word in _WORD.findall(deed[2])}
        for name in tools.by_verb(verb):
            objects = [word.lower() for word in name.split("_")[1:]]
            if not objects or not rest.isdisjoint(objects):
                yield name, deed.span(1)


def _phrases(text: str, claims: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The phrases that a contract says are claims."""
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
    """A text without case; a letter that would become two, such as ß, is left as it is, so that places stay right."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = "".join(other if len(other := c.casefold()) == 1 else c for c in text)
    return folded.replace("’", "'")
