"""Reads a reply that is a list of plain values: bullets, words in brackets, between commas or one per line.

Takes the lines of a document; returns candidates. The list may have an introduction and a remark around it, unless one of
them refuses an answer. Words without any mark are items unless they look like a sentence or a program.
"""

from itertools import takewhile

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import BlockReader, NotFields, Span, listing
from trueup.recover.forms.outline import FENCE, RULE, TEXT, KeyFinder, OutlineLine
from trueup.recover.forms.values import bare, common_end, inline
from trueup.recover.json.parser import Parser
from trueup.recover.sentences import bounds
from trueup.recover.words import pattern, small
from trueup.verdict.catalogue import GRADE
from trueup.verdict.patterns import lazy_regex

_IN_BRACKETS = lazy_regex(r"\[\s*[^\W\d][^\[\]{}]{0,2000}\]")
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+'"
_ITEM = {
    sign: lazy_regex(rf"\s*((?:{_QUOTED})(?=\s*(?:[{sign}]|\Z))|[^{sign}]*)") for sign in (",、，", ";；", " ", "\n")
}
_STRING = lazy_regex(_QUOTED)
_SIGN = lazy_regex("[,、，;；]")
_COLONS = (":", "：")
_ENDS_SENTENCE = lazy_regex(r"[.!?:;。！？：]\Z")
_NO_WORD = lazy_regex(r"[{}\[\]<>=|\\]|\.\.\.|…|//|\(\)")
_THOUSANDS = lazy_regex(r"-?\d{1,3}(?:,\d{3})+(?!\d)")
_NUMBER = lazy_regex(r"\d+")
_NUMBERS = lazy_regex(r"(?![0-9]{1,3}(?: [0-9]{3})+\Z)[-+]?[0-9][0-9.]*(?: +[-+]?[0-9][0-9.]*)+")
_MAX_ITEM, _MAX_WORDS, _FEW_WORDS, _LONGEST_LEAD = 80, 6, 2, 3


def candidates(text: str, lines: list[OutlineLine], max_depth: int, *, words: bool) -> list[Candidate]:
    """The list in a document, in the first shape that matches; `words` allows words without any mark."""
    own = [line for line in lines if line.kind not in (FENCE, RULE)]
    if not own or _refuses(text, own[0]) or _refuses(text, own[-1]):
        return []
    return (
        bullets(text, lines, max_depth) or _in_brackets(text, own, max_depth) or _without_marks(text, own, words=words)
    )


def _refuses(text: str, line: OutlineLine) -> bool:
    """Whether a line other than an item says that there is no answer."""
    return not line.bullet and pattern("<scalar.refuses>").search(small(text[line.start : line.end])) is not None


def bullets(text: str, lines: list[OutlineLine], max_depth: int) -> list[Candidate]:
    """A list with a bullet or a number before each item; numbers count up."""
    lead = list(takewhile(lambda line: not line.bullet or line.kind != TEXT or line.opaque, lines))
    block = BlockReader(text, lines, KeyFinder(()), frozenset(), max_depth, free=False)
    block.at = first = len(lead)
    if first == len(lines) or not _leads_in(text, lead):
        return []
    try:
        items = block.sequence(lines[first].indent, None, 1)
    except NotFields:
        return []
    marks = [line.bullet for line in lines[first : block.at] if line.indent == lines[first].indent]
    counted = [int(found[0]) for mark in marks if (found := _NUMBER.match(mark))]
    if len(items) < 2 or not _follows(lines[block.at :]) or None in items:
        return []
    if counted and counted != list(range(counted[0], counted[0] + len(items))):
        return []
    span = (lines[first].start, lines[block.at - 1].end)
    block.records.insert(0, ("F010", *span, "", None))
    return [block.candidate(items, [span])]


def _in_brackets(text: str, lines: list[OutlineLine], max_depth: int) -> list[Candidate]:
    """Words in square brackets, over several lines or with a remark after them; the only list of this kind."""
    start, stop = lines[0].start, lines[-1].end
    found = list(_IN_BRACKETS.finditer(text, start, stop))
    if len(found) != 1 or text[start : found[0].start()].strip()[-1:] not in ("", "`", "=", *_COLONS):
        return []
    span = found[0].span()
    after = text[span[1] : span[1] + 3]
    if after[:1] == "(" or after.lstrip(" \t")[:1].isalnum():
        return []  # a link, or a source in a sentence
    outcome = Parser(text, *span, frozenset(), max_depth).read()
    lossy = any(GRADE[record[0]] == "lossy" for record in outcome.records)
    items = outcome.value if isinstance(outcome.value, list) and outcome.end == span[1] and not lossy else []
    if len(items) < 2 or not all(_is_item(str(item)) for item in items):
        return []
    return [Candidate(items, [span], outcome.records, "lines")]


def _without_marks(text: str, lines: list[OutlineLine], *, words: bool) -> list[Candidate]:
    """Strings, words or numbers between commas, or one per line: the first paragraph after an introduction."""
    first = 1 if len(lines) > 1 and text[lines[0].start : lines[0].end].rstrip("*_").endswith(_COLONS) else 0
    strings = all(text.startswith(('"', "'"), line.body_at) for line in lines)
    stop = next((at for at in range(first + 1, len(lines)) if lines[at].gap and not strings), len(lines))
    spans = _items(text, lines[first:stop]) if sum(line.gap > 0 for line in lines[stop:]) <= 1 else []
    raw = [text[a:b] for a, b in spans]
    items = [inline(item) for item in raw]
    quoted = all(bare(item)[1] for item in raw)
    if len(items) < 2 or not (words or quoted or not any(isinstance(item, str) for item in items)):
        return []
    if not quoted and (not all(map(_is_item, raw)) or _is_phrase(raw, one_line=stop - first == 1)):
        return []
    return [listing("F010", (spans[0][0], spans[-1][1]), items, spans, "lines")]


def _items(text: str, lines: list[OutlineLine]) -> list[Span]:
    """The spans of the items: one on each line, or several on one line and on the lines that continue it after a comma."""
    start = lines[0].value_at if len(lines) == 1 and lines[0].generic and not lines[0].quoted else lines[0].body_at
    stop = lines[-1].end
    if len(lines) == 1:  # a remark may follow on the same line
        stop = start + next(bounds(text[start:stop]), (0, stop - start))[1]
    raw = text[start:stop].rstrip().rstrip(".。,")
    if any(line.bullet or line.heading or line.kind != TEXT for line in lines) or _THOUSANDS.search(raw):
        return []  # a comma may separate thousands inside a number
    sign = ";；" if ";" in raw or "；" in raw else ",、，"
    if len(lines) == 1 and _NUMBERS.fullmatch(raw):
        sign = " "
    per_line = len(lines) > 1 and not common_end(lines, text)
    if per_line and (any(line.sep in (*_COLONS, "=") for line in lines) or _SIGN.search(_STRING.sub("", raw))):
        return []  # fields, or several items on some of the lines
    found = [match.span(1) for match in _ITEM["\n" if per_line else sign].finditer(raw) if match.end() > match.start()]
    spans = [(start + a, start + a + len(raw[a:b].rstrip(", \t\r\n"))) for a, b in found]
    return spans if per_line or len(spans) < 2 else [*spans[:-1], *_split_last(text, *spans[-1])]


def _split_last(text: str, start: int, stop: int) -> list[Span]:
    """The last item without an "and" before it, or the two items around such a word."""
    join = pattern(r"(?:\A|\s+)<scalar.and>\s+").search(small(text[start:stop]))
    if join is None:
        return [(start, stop)]
    before = [(start, start + join.start())] if join.start() else []
    return [*before, (start + join.end(), stop)]


def _is_item(words: str) -> bool:
    """Whether words may be one item of a list: only a few, not a sentence, not code."""
    if not 0 < len(words) <= _MAX_ITEM or len(words.split()) > _MAX_WORDS:
        return False
    return words[0] not in "\"'" and not _NO_WORD.search(words) and not _ENDS_SENTENCE.search(words)


def _is_phrase(items: list[str], *, one_line: bool) -> bool:
    """Whether the items together are a phrase: `Well, it depends`, `Paris, France`, `yes, sure`."""
    continues = items[0][:1].isupper() and any(item[:1].islower() for item in items[1:])
    if continues and (len(items) == 2 or any(len(item.split()) > _FEW_WORDS for item in items)):
        return True
    if not one_line or all(item[-1:].isdigit() for item in items):
        return False
    # two words with a comma between them are a phrase as often as a list
    pair = len(items) == 2 and not all(item.isupper() or item.islower() for item in items)
    return (
        pair
        or pattern("<scalar.yes>|<scalar.no>|<call.sure>|<retraction.sorry>").fullmatch(small(items[0])) is not None
    )


def _leads_in(text: str, lines: list[OutlineLine]) -> bool:
    """Whether lines only introduce a list: one line, or a few lines that end with a colon."""
    lead = [text[line.start : line.end].rstrip("*_") for line in lines if line.kind not in (FENCE, RULE)]
    return len(lead) <= 1 or (len(lead) <= _LONGEST_LEAD and lead[-1].endswith(_COLONS))


def _follows(lines: list[OutlineLine]) -> bool:
    """Whether lines are only a remark after a list: one line, or one separate paragraph."""
    remark = [line for line in lines if line.kind not in (FENCE, RULE)]
    return len(remark) <= 1 or (remark[0].gap > 0 and not any(line.gap or line.bullet for line in remark[1:]))
