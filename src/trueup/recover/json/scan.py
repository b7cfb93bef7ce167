"""Finds the values in a text: reads every stretch outside reasoning that opens like JSON.

Takes a text; returns candidates, in the order of the text. The work is bounded by a small multiple of the
text's length, for any number of openers.
"""

import re

from trueup.recover.candidate import Candidate
from trueup.recover.json.clean import WRITABLE_DEPTH, exact
from trueup.recover.json.doubts import takes_back
from trueup.recover.json.lexer import BLANK, EMOJI
from trueup.recover.json.parser import MOST_FAULTS, MOST_PLACES, Parser, ParseResult, Record, TooMany, under
from trueup.recover.json.repairs import goes_on
from trueup.verdict.catalogue import GRADE, PRICE
from trueup.verdict.patterns import lazy_regex

_OPENER = lazy_regex(r"[{\[｛［]")
_OBJECT_START = lazy_regex(
    rf"[{{｛][{BLANK}]*"
    r"""(?:["'“”„‟‘’‚«「＂`´}\\｝{\[,，]|//|/\*|\#|\.\.\.|[\w$@.\-]{1,60}["']?\s*(?::|：|=>?)"""
    r"""|[^\W\d][\w$.\-]*(?:[ ][\w$.\-]+){1,5}["']?[ ]?:|-?\d|:[^\W\d]\w*\s*=>|\Z|"""
    rf"""[{EMOJI}][\w{EMOJI}]{{0,40}}\s*[:：])"""
)
_LIST_START = lazy_regex(
    rf"[\[［][{BLANK}]*"
    r"""(?:["'“”„«「‘’`{\[\]\\(｛［］,]|-?[\d.]|[-*•–][ \t]+["'“{\[]|//|/\*|\.\.\.|(?:true|false|null|True|False|None|NaN)\b|[^\W\d]\w*\(|\Z)"""
)
_LIST_OF_WORDS = lazy_regex(r"\[\s*[^\W\d][^\[\]{}]{0,2000}\]\s*(?:\Z|```|\n|<)")
# A fence right inside brackets, before the value's own opener.
_BRACED_FENCE = lazy_regex(r"[{\[]\s*```[\w-]{0,12}\s*[{\[]")
# `[1]` after a word: the number of a source.
_CITATION = lazy_regex(r"\[\d{1,3}\]")
_WORDS_BEFORE = lazy_regex(r"""[\w.,;)"'”’%][ ]?\Z|\]\Z""")
# `- [ ] a`: a checkbox.
_BOX = lazy_regex(r"\[[ xX]?\][ \t]+[^\s,}\]]")
_BULLET_BEFORE = lazy_regex(r"(?:\A|\n)[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\Z")
_LINK = lazy_regex(r"\[[^\[\]\n]{0,300}\]\(")
# A key and its colon right before a value: the value is a member of an object whose brace is missing.
_AFTER_KEY = lazy_regex(r"""["'”]\s*:\s*\Z""")
_QUOTED_IN_PROSE = lazy_regex(r"""[^\W\d_][,.!?]?[ ]["'“][^"'“”\n]{1,80}["'”]\s*:\s*\Z""")
_BETWEEN_ITEMS = lazy_regex(r"\s*,\s*\Z")
_CLOSES_LIST = lazy_regex(r"\s*\]")
_BRACKETS = frozenset({"S005", "S006", "S007", "S032"})
_BRACKETS_OR_QUOTES = frozenset({"S005", "S006", "S007", "S012", "S013", "S040"})
_TEMPLATE = lazy_regex(r"\{\{[^{}\n\":]{1,60}\}\}")
# A bare key and a value, with only a space between them.
_BARE_START = lazy_regex(
    r"""\{\s*([^\W\d][\w$.-]{0,60})[ \t]+(?=["'“\[{]|-?[0-9]|(?:true|false|null|True|False|None)\b)"""
)
# The first key of an object, and the price from which an object may be an abandoned draft.
_FIRST_KEY = lazy_regex(r"""\{\s*["']?([^"'{}\[\]:,\s]{1,60})""")
_DEAR = 4
_FENCE_END = lazy_regex(r"\n[ \t]*(?:```|~~~)|(?<=[}\]])[ \t]*```")
_BLANK_LINE = lazy_regex(r"\n[ \t]*\n(?![ \t]*[\"'}\]])")
_TAG_END = lazy_regex(r"</[A-Za-z_][\w:.-]{0,60}>|<\|[^<>|\n]{1,60}\|>")
# Where a value that was never closed may end, each with marks that are quick to search for first.
_BOUNDARIES = ((_FENCE_END, ("```", "~~~")), (_TAG_END, ("</", "<|")), (_BLANK_LINE, ("\n",)))


class Scan:
    """One pass over one text."""

    __slots__ = ("budget", "doubtful", "faults", "known", "max_depth", "spare", "text", "words")

    def __init__(self, text: str, known: frozenset[str], max_depth: int, *, words: bool) -> None:
        self.text = text
        self.known = known
        self.max_depth = max_depth
        self.words = words
        self.budget = 6 * len(text) + 4096
        self.spare = 2 * len(text)  # characters that may be tried without success
        self.faults = 0
        # stretches of values that are cut off or broken: another value may start inside
        self.doubtful: list[tuple[int, int]] = []

    def candidates(self, stretches: list[tuple[int, int]]) -> list[Candidate]:
        """Every candidate within the given stretches of the text."""
        found: list[Candidate] = []
        for start, stop in stretches:
            self.stretch(start, stop, found)
        return self.rows(found)

    def rows(self, found: list[Candidate]) -> list[Candidate]:
        """The values, and those with only commas between them also as one list whose brackets are missing."""
        out: list[Candidate] = []
        run: list[Candidate] = []
        for candidate in [*found, None]:
            joined = run and candidate and _BETWEEN_ITEMS.match(self.text, run[-1].end, candidate.spans[0][0])
            if candidate is not None and (joined or not run):
                run.append(candidate)
                continue
            if len(run) > 1:
                out.append(self.row(run))
            out += run
            run = [candidate] if candidate is not None else []
        return out

    def row(self, run: list[Candidate]) -> Candidate:
        records: list[Record] = []
        form = "mark" if all(candidate.form == "mark" for candidate in run) else "json"
        for index, candidate in enumerate(run):
            candidate.form = "part" if form == "json" else form
            records += [(c, a, b, after, under(node, index)) for c, a, b, after, node in candidate.records]
        start, stop = run[0].spans[0][0], run[-1].end
        closing = _CLOSES_LIST.match(self.text, stop)
        stop = closing.end() if closing else stop
        records.append(("S005", start, start, "[" if closing else "[…]", None))
        return Candidate([candidate.value for candidate in run], [(start, stop)], records, form)

    def stretch(self, start: int, stop: int, found: list[Candidate]) -> None:
        at = start
        while self.budget > 0 and (opener := _OPENER.search(self.text, at, stop)):
            begin = opener.start()
            if not self.plausible(begin, stop):
                at = begin + 1
                continue
            # the fast decoder has already failed on the first value
            outcome = (self.taken_whole(begin, stop) if found else None) or self.read(begin, stop)
            if outcome is None:
                at = begin + 1
                continue
            if (again := self.restart(begin, outcome)) > 0:
                outcome = self.attempt(begin, again)
            at = max(outcome.end, begin + 1)
            if _is_member(self.text, max(start, begin - 100), begin):
                self.doubtful.append((begin, at))
                continue
            form = "mark" if is_mark(self.text, start, begin, at) else "json"
            if len(found) == MOST_PLACES:
                raise TooMany("values", MOST_PLACES)
            found.append(Candidate(outcome.value, [(begin, outcome.end)], outcome.records, form))
            if outcome.cut or any(r[0] == "S031" for r in outcome.records):
                self.doubtful.append((begin + 1, at))

    def inner(self) -> list[Candidate]:
        """Candidates inside the doubtful ones."""
        where, self.doubtful = self.doubtful, []
        found = self.candidates(where)
        for candidate in found:
            candidate.form = "inner"
            candidate.records.append(("W015", *candidate.spans[0], "", None))
        return found

    def plausible(self, at: int, stop: int) -> bool:
        """Whether an opener looks like the start of a value rather than a sign in prose."""
        if _BRACED_FENCE.match(self.text, at, stop) and self.text.find("```", at + 4, stop) > 0:
            return False
        if starts_value(self.text, at, stop) or self.opens_bare(at, stop):
            return True
        return self.words and self.text[at] == "[" and _LIST_OF_WORDS.match(self.text, at, stop) is not None

    def opens_bare(self, at: int, stop: int) -> bool:
        """Whether a brace is followed by a bare key without a colon: a key of the schema, or in a text that is one object."""
        word = _BARE_START.match(self.text, at, stop)
        if word is None:
            return False
        alone = not self.known and not self.text[:at].strip() and self.text.rstrip().endswith("}")
        return word[1] in self.known or alone

    def taken_whole(self, begin: int, stop: int) -> ParseResult | None:
        """The value at an opener, read by the fast decoder; None if it has a fault."""
        if self.spare <= 0 or self.max_depth < WRITABLE_DEPTH:
            return None
        plain, value, end = exact(self.text, begin, stop)
        if not plain or (self.text[begin] == "{" and goes_on(self.text, end, stop)):
            self.spare -= end - begin
            return None
        self.budget -= end - begin + 32
        return ParseResult(value, end, [], cut=False)

    def read(self, begin: int, stop: int) -> ParseResult | None:
        """Read from an opener; if the text ended first, try whether the value ends better at a fence or a blank line."""
        best = self.attempt(begin, stop)
        if not _BRACKETS.isdisjoint(record[0] for record in best.records):
            from trueup.recover.json.indents import rebracketed  # loaded by the first faulty bracket

            by_lines = rebracketed(self.text, begin, stop, self.known, self.max_depth)
            self.budget -= stop - begin
            if by_lines is not None:
                _heed(self.text, by_lines)
            if by_lines is not None and (
                _price(by_lines) <= _price(best) or (by_lines.value != best.value and not _is_lossy(by_lines))
            ):
                return by_lines
        if best.cut or _price(best) >= 20:
            for boundary, marks in _BOUNDARIES:
                likely = any(self.text.find(mark, begin, best.end) >= 0 for mark in marks)
                edge = boundary.search(self.text, begin, best.end) if likely else None
                if edge and edge.start() > begin and self.budget > 0:
                    other = self.attempt(begin, edge.start())
                    if _price(other) < _price(best):
                        best = other
        return best if best.end > begin else None

    def restart(self, begin: int, outcome: ParseResult) -> int:
        """Where the model started the object again, on a separate line and complete this time; 0 if it did not.

        The first key occurs again, and the text before it does not need a value. The broken object is then ignored.
        """
        first = _FIRST_KEY.match(self.text, begin, outcome.end) if outcome.records else None
        if first is None or self.text.find("\n", begin, outcome.end) < 0 or _price(outcome) < _DEAR:
            return 0
        again = re.compile(rf"""\n([^\n{{}}\[\]"']{{0,40}}:)?[ \t]*(\{{)\s*["']?{re.escape(first[1])}["']?\s*:""")
        for found in again.finditer(self.text, begin + 1, outcome.end):
            before = self.text[begin : found.start()].rstrip()
            if before[-1] in ",:[({" or self.budget <= 0:
                continue
            whole, _, end = exact(self.text, found.start(2), len(self.text))
            self.budget -= end - found.start(2) + 32
            if whole:
                return found.start()
        return 0

    def attempt(self, begin: int, stop: int) -> ParseResult:
        outcome = Parser(self.text, begin, stop, self.known, self.max_depth).read()
        _doubt(outcome)
        _heed(self.text, outcome)
        self.budget -= outcome.end - begin + 32
        self.faults += len(outcome.records)
        if self.faults > MOST_FAULTS:
            raise TooMany("faults", MOST_FAULTS)
        return outcome


def is_mark(text: str, start: int, at: int, stop: int) -> bool:
    """Whether brackets contain only a number and follow a word, like the number of a source."""
    if _CITATION.match(text, at, stop) is None:
        return False
    return _WORDS_BEFORE.search(text, max(start, at - 2), at) is not None


def starts_value(text: str, at: int, stop: int) -> bool:
    """Whether a bracket opens something that looks like an object or a list of values.

    >>> starts_value('{"a": 1}', 0, 8), starts_value("{name}", 0, 6), starts_value("[y/n]", 0, 5)
    (True, False, False)
    """
    if text[at] in "{｛":
        return _TEMPLATE.match(text, at, stop) is None and _OBJECT_START.match(text, at, stop) is not None
    if _LIST_START.match(text, at, stop) is None or _LINK.match(text, at, stop) is not None:
        return False
    return _BOX.match(text, at, stop) is None or _BULLET_BEFORE.search(text, max(0, at - 24), at) is None


def _is_member(text: str, start: int, at: int) -> bool:
    """Whether a quoted key and its colon are right before an offset, and are not a word quoted in a sentence."""
    return _AFTER_KEY.search(text, start, at) is not None and _QUOTED_IN_PROSE.search(text, start, at) is None


def _doubt(outcome: ParseResult) -> None:
    """Mark a reading with a repeated key and repaired brackets or quotes: one of the repairs was probably wrong."""
    repeated = [record for record in outcome.records if record[0] == "S032"]
    if repeated and any(record[0] in _BRACKETS_OR_QUOTES for record in outcome.records):
        outcome.records.extend(("S042", start, stop, "", node) for _, start, stop, _, node in repeated[:20])


def _heed(text: str, outcome: ParseResult) -> None:
    """Mark a reading in which a comment says that the value before it should be different."""
    against = [record for record in outcome.records if record[0] == "S017" and takes_back(text, record[1], record[2])]
    outcome.records.extend(("W018", start, stop, "", node) for _, start, stop, _, node in against[:20])


def _is_lossy(outcome: ParseResult) -> bool:
    return any(GRADE[record[0]] == "lossy" for record in outcome.records)


def _price(outcome: ParseResult) -> int:
    dropped = sum(r[2] - r[1] for r in outcome.records if r[0] in ("S031", "S028", "S029"))
    lossy = sum(20 for r in outcome.records if GRADE[r[0]] == "lossy")
    return sum(PRICE[r[0]] for r in outcome.records) + lossy + dropped


def stretches_outside(length: int, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of a text outside some spans.

    >>> stretches_outside(10, [(2, 4)])
    [(0, 2), (4, 10)]
    """
    out = []
    at = 0
    for start, stop in spans:
        if start > at:
            out.append((at, start))
        at = max(at, stop)
    if at < length:
        out.append((at, length))
    return out
