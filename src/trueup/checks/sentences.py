"""Sentences: the stretch of text around a place, and whether it questions, denies or supposes something.

Takes folded text and a place; returns bounds and answers. Only a bounded stretch on both sides is read. The words for
denial and supposition are data: a contract may give its own, in its own language.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from trueup.checks.folding import fold
from trueup.checks.patterns import term_source
from trueup.recover.sentences import sentence_end
from trueup.verdict.patterns import lazy_regex

_REACH = 600
_ASKED = lazy_regex(r"\?[?!]*\Z")
_CLAUSE = lazy_regex(r"[,;()]|:(?!\d)|\s-+\s|\b(?:but|pero|aunque|sino|however|although|mas)\b")
_ENDED = lazy_regex(r"[.!?]['\")\]*]{0,8}(?=\s)|\n")
_BUT = lazy_regex(r"\b(?:but|however|pero|sin embargo|no obstante|ahora bien)\b")
_ASKING = lazy_regex(
    r"\W*(?:(?:and|so|then|or|y|o|entonces)\W+)?(?:would|do|does|did|shall|should|can|could|will|may|is|are|was|has|have|had|what|when|which"
    r"|who|whose|where|why|how|want|que|cual|cuando|donde|quien|como|quieres|quiere|deseas|puedes|puedo|te gustaria|le gustaria)\b",
    re.ASCII,
)

# Words of denial that deny nothing, and words of condition that suppose nothing.
_IDIOMS = lazy_regex(
    r"\b(?:no doubt|without (?:a |any )?doubt|not only|not just|no problem|no (?:hay|cabe) (?:ninguna )?duda"
    r"|sin (?:ninguna |lugar a )?dudas?(?: alguna)?|sin problemas?|sin falta|no solo|no solamente|antes de (?:nada|todo)|despues de todo|before anything(?: else)?|after all)\b"
)
NEGATED = ("no", "not", "never", "cannot", "without", "nor", "neither", "nunca", "jamás", "tampoco", "ni", "sin", "n't", "nothing", "none", "nobody", "nada", "nadie", "ningún", "ninguna", "ninguno", "almost", "nearly", "casi")  # fmt: skip
# Words that make a condition if they come before the claim; "your visit after lunch is booked" has no condition.
CONDITIONAL = (  # prose: allow so-as-to (the phrases to look for)
    "if", "once", "when", "whenever", "after", "before", "until", "till", "unless", "as soon as", "in order to", "ready to",
    "going to", "need to", "try to", "to get", "get", "gets",
    "si", "cuando", "una vez", "en cuanto", "antes de", "después de", "hasta que", "para que",
)  # fmt: skip
# Words before a name that show that the person is addressed: "hello Ana", "muy bien, Ana".
ADDRESSED = (
    "hello", "hi", "hey", "dear", "good morning", "good afternoon", "good evening", "welcome", "welcome back", "thanks",
    "thank you", "great", "perfect", "sure", "of course", "ok", "okay", "all right", "alright", "sorry", "nice to meet you",
    "got it", "no problem", "yes", "no", "well",
    "hola", "buenas", "buenos días", "buenas tardes", "buenas noches", "bienvenida", "bienvenido", "de nuevo", "otra vez",
    "gracias", "muchas gracias", "encantada", "encantado", "de conocerte", "un placer", "qué tal", "me alegro", "me alegra", "qué alegría", "qué bien", "un gusto", "perfecto", "genial",
    "estupendo", "fenomenal", "claro", "claro que sí", "por supuesto", "vale", "de acuerdo", "muy bien", "bien", "bueno",
    "entendido", "ok", "okey", "sí", "no", "perdona", "perdón", "disculpa", "lo siento", "oye", "mira", "querida", "querido",
    "estimada", "estimado", "ay", "ya veo", "tranquila", "tranquilo", "no te preocupes", "sin problema", "te entiendo", "a ti", "a ver",
)  # fmt: skip
_MODAL = (
    "to be", "will be", "would be", "can be", "could be", "may be", "might be", "should be",
    "será", "sería", "quedará", "estará", "puede ser", "podría ser",
)  # fmt: skip
_ONCE = r"(?<!las\s)once(?!\s(?:y|menos|en|de)\b)"  # Spanish "once" means eleven: "te espero a las once"
# A condition after the claim, in the same clause: "is confirmed once you pay", but not "is confirmed after lunch".
_BEHIND = lazy_regex(
    r"\s+(?:(?:only|solo)\s+)?(?:when|after (?:you|we|i|they|he|she|your|the payment)|cuando|despues de que)\b"
    rf"|(?:\s+[^\s,;:.!?]+){{0,5}}?\s+(?:{_ONCE}|as soon as|if|unless|provided|una vez|en cuanto|si|siempre que)\b",
    re.ASCII,
)
_NEAR = {"negated": 4, "conditional": 6}  # words
_NEXT_TO = 12  # characters before a place that an auxiliary verb may take: "will be | confirmed"


class Around(NamedTuple):
    """The sentence and the clause around a place of a folded text, and the place inside the sentence."""

    sentence: str
    start: int
    end: int

    @property
    def remark(self) -> str:
        """The part of the sentence around the place, up to a word such as "but", which begins another remark."""
        begun = max((found.end() for found in _BUT.finditer(self.sentence, 0, self.start)), default=0)
        stop = _BUT.search(self.sentence, self.end)
        return self.sentence[begun : stop.start() if stop else None]

    @property
    def clause(self) -> tuple[str, int]:
        """The clause that the place ends in, up to the end of the place, and where the place begins in it."""
        marks = _CLAUSE.finditer(self.sentence, 0, max(self.start, self.end - 1))
        begun = max((found.end() for found in marks), default=0)
        return self.sentence[begun : self.end], max(0, self.start - begun)


def around(text: str, start: int, end: int) -> Around:
    """The sentence around a place.

    >>> around("all fine. it is booked now! bye", 16, 22).sentence
    ' it is booked now!'
    """
    left = max(0, start - _REACH)
    begun = max((found.end() for found in sentence_end().finditer(text, left, start)), default=left)
    stop = sentence_end().search(text, max(start, end - 1), min(len(text), end + _REACH))
    closed = stop.end() if stop else min(len(text), end + _REACH)
    return Around(text[begun : max(closed, end)], start - begun, end - begun)


def last_sentences(text: str) -> str:
    """The end of a text that is judged piece by piece: some hundred characters, from the beginning of a sentence.

    >>> last_sentences("Hi. " * 500)[:8], last_sentences("Hi. You.")
    (' Hi. Hi.', 'Hi. You.')
    """
    if len(text) <= _REACH:
        return text
    begun = sentence_end().search(text, len(text) - _REACH)
    return text[begun.end() :] if begun else ""


def asks(place: Around) -> bool:
    """Whether the place is part of a question; a remark before the question's own clause is not.

    >>> said = "your visit is booked, anything else?"
    >>> asks(around(said, 14, 20)), asks(around("is it booked, or not?", 6, 12))
    (False, True)
    """
    sentence = place.sentence.rstrip(" \"')]*")
    if not _ASKED.search(sentence):
        return sentence.startswith("\x0e") and sentence[-1:] not in ".!"  # a question without its closing mark
    if sentence.startswith("\x0e") or _ASKING.match(sentence):
        return True
    return not _CLAUSE.search(sentence, place.end)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a place of a folded text is part of a quotation: two or more words between quotation marks.

    A quotation ends with its sentence, so that a text that is judged sentence by sentence gives the same answer.

    >>> said = 'you wrote "is it booked?", and it is "booked"'
    >>> is_quoted(said, 17, 23), is_quoted(said, 38, 44)
    (True, False)
    """
    before = _ENDED.split(text[max(0, start - _REACH) : start])[-1]
    behind = _ENDED.split(text[end : end + _REACH], maxsplit=1)[0]
    if before.count('"') % 2 == 0 or '"' not in behind:
        return False
    quotation = before.rpartition('"')[2] + text[start:end] + behind.partition('"')[0]
    return len(quotation.split()) > 1


_NAMED_LAST = lazy_regex(r",\s*\Z")
_NAME_ENDS = lazy_regex(r"\s*(?:[,.!?:;)\x01]|\Z)")


class Addressed:
    """Whether the person with this name is addressed: after a greeting, or at the end of a question.

    >>> spoken_to = Addressed(["hello", "very well"])
    >>> [
    ...     spoken_to.holds(around(text, text.index("ana"), text.index("ana") + 3))
    ...     for text in ("hello ana!", "hello, ana can")
    ... ]
    [True, False]
    """

    __slots__ = ("_only",)

    def __init__(self, terms: Sequence[str]) -> None:
        word = rf"(?:{_any_of(sorted(terms, key=len, reverse=True)).pattern})"
        self._only = re.compile(rf"\W*{word}(?:\W+{word}){{0,3}}(?:(?:\s+\w+){{1,4}},)?\W*\Z", re.ASCII)

    def holds(self, place: Around) -> bool:
        behind = place.sentence[place.end :]
        if not _NAME_ENDS.match(behind):
            return False
        before = place.sentence[: place.start]
        if self._only.match(before):
            return True
        return _NAMED_LAST.search(before) is not None and behind.strip().startswith("?")


class Form:
    """Words that turn the text near them into something that is not claimed."""

    __slots__ = ("_anywhere", "_denies", "_near", "_words")

    def __init__(self, kind: str, terms: Sequence[str]) -> None:
        self._words = _any_of(terms)
        # a denial may be inside the place; of the conditions, only auxiliary verbs may be
        self._anywhere = self._words if kind == "negated" else _any_of(_MODAL)
        self._near = _NEAR[kind]
        self._denies = kind == "negated"

    def holds(self, place: Around) -> bool:
        """Whether one of the words is in the place's clause: a few words before it, or in it."""
        clause, start = place.clause
        clause = _IDIOMS.sub(lambda said: re.sub(r"\w", "x", said[0]), clause)
        before = (found.end() for found in self._words.finditer(clause, 0, start))
        near = any(len(clause[end:start].split()) <= self._near for end in before)
        near = near or (not self._denies and _BEHIND.match(place.sentence, place.end) is not None)
        return near or self._anywhere.search(clause, max(0, start - _NEXT_TO)) is not None


def _any_of(terms: Sequence[str]) -> re.Pattern[str]:
    own = {"n't": r"n't\b", "once": rf"\b{_ONCE}\b"}
    return re.compile("|".join(own.get(term) or term_source(term) for term in terms), re.ASCII)


def names_in(values: Sequence[object]) -> frozenset[str]:
    """Names in folded form: each full name, and each of its words.

    >>> sorted(names_in(["María José"]))
    ['jose', 'maria', 'maria jose']
    """
    found: set[str] = set()
    for value in values:
        if isinstance(value, str) and len(value) <= 200:
            whole = fold(value).strip()
            found |= {whole, *whole.split()}
    return frozenset(found)
