"""A text under repair, and the repairs that change all of it at once.

Each sweep changes every place of one kind that is clearly outside the strings. If that is not clear, it declines
and the fault is repaired alone. The list of edits is computed only when it is needed.
"""

from collections.abc import Callable

from trueup.recover.json.lexer import json_word
from trueup.verdict.patterns import lazy_regex

_AFTER_WORD = frozenset(" ,}]\n\r\t")
BARE_KEY_AT_MEMBER = lazy_regex(r"([{,][ \n\t\r]*)([A-Za-z_$][\w$]*)(?=[ \t\n\r]*:)")
_COMMENT = lazy_regex(r"//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*")
_TRAILING_COMMA = lazy_regex(r",(?=[ \t\n\r]*[}\]])")
_WORDS = ("True", "False", "None")
_MEMBER_WORDS = tuple((word, f'": {word}', f'": {json_word(word)}') for word in _WORDS)
_MEMBER_WORD = lazy_regex(r'(?<=": )(?:True|False|None)')
_SINGLE = lazy_regex(r"'((?:[^'\\]|\\[\s\S])*)'")
_QUOTED = lazy_regex(r"""'([^'"\\]*)'|("[^"\\]*")""")

# an edit of a text: start, end, replacement, code
Edit = tuple[int, int, str, str]
# a text before a step, and the edits of that step
Step = tuple[str, list[Edit] | Callable[[str], list[Edit]]]


class Repair:
    """A text under repair: its current form, and every step that led to it."""

    __slots__ = ("codes", "known", "steps", "text")

    def __init__(self, text: str, known: frozenset[str]) -> None:
        self.text = text
        self.known = known
        self.steps: list[Step] = []
        self.codes: set[str] = set()

    def splice(self, start: int, end: int, after: str, code: str) -> bool:
        """Change one stretch."""
        text = self.text
        self.steps.append((text, [(start, end, after, code)]))
        self.text = text[:start] + after + text[end:]
        self.codes.add(code)
        return True

    def sweep(self, changed: str, edits: Callable[[str], list[Edit]], code: str) -> bool:
        """Change many stretches at once; `edits` computes the list of edits when it is needed."""
        if changed == self.text:
            return False
        self.steps.append((self.text, edits))
        self.text = changed
        self.codes.add(code)
        return True

    def edits(self) -> list[Edit]:
        """All edits, with offsets of the original text."""
        out: list[Edit] = []
        for text, step in reversed(self.steps):
            own = step(text) if callable(step) else step
            out = own + [(_back(a, own), _back(b, own), after, code) for a, b, after, code in out]
        return out


def _back(at: int, edits: list[Edit]) -> int:
    """The offset before some edits that corresponds to one after them."""
    shift = 0
    for start, end, after, _ in edits:
        if at < start + shift:
            break
        if at < start + shift + len(after):
            return start
        shift += len(after) - (end - start)
    return at - shift


def all_single_quoted(text: str) -> list[Edit]:
    return [(*found.span(), f'"{found[1]}"', "S008") for found in _SINGLE.finditer(text)]


def single_quoted(text: str) -> list[Edit]:
    return [(*found.span(), f'"{found[1]}"', "S008") for found in _QUOTED.finditer(text) if found[1] is not None]


def mixed_quotes(work: Repair) -> bool:
    """Repair a mix of strings in single and in double quotes, as Python writes them."""
    text = work.text
    if "\\" in text or "S008" in work.codes:
        return False
    pieces = _QUOTED.split(text)
    for at in range(1, len(pieces), 3):
        single = pieces[at]
        if single is not None:
            pieces[at] = f'"{single}"'
            pieces[at + 1] = ""
        else:
            pieces[at] = ""
    return work.sweep("".join(pieces), single_quoted, "S008")


def bare_keys(work: Repair) -> bool:
    """Quote all names in place of a key; also repair comments and Python's words, which usually occur together with them.

    A name inside a string breaks that string. The text can then not be decoded, and the reader takes over.
    """
    text = work.text
    if "//" in text or "/*" in text:
        comment(work, 0)
    pieces = BARE_KEY_AT_MEMBER.split(work.text)
    for at in range(2, len(pieces), 3):
        pieces[at] = f'"{pieces[at]}"'
    swept = work.sweep("".join(pieces), _bare_key_edits, "S014")
    text = work.text
    if swept and ("True" in text or "False" in text or "None" in text):
        words(work)
    return swept


def _bare_key_edits(text: str) -> list[Edit]:
    return [(*found.span(2), f'"{found[2]}"', "S014") for found in BARE_KEY_AT_MEMBER.finditer(text)]


def _outside(text: str, start: int, stop: int, *, slashes: bool) -> int:
    """The number of quotes in a stretch that open or close strings."""
    return text.count('"', start, stop) - (text.count('\\"', start, stop) if slashes else 0)


def trailing_commas(work: Repair) -> bool:
    """Remove all commas before closing brackets, if every one of them is outside the strings."""
    text = work.text
    slashes = "\\" in text
    if slashes and "\\\\" in text:
        return False
    pieces = _TRAILING_COMMA.split(text)
    for piece in pieces:
        if (piece.count('"') - (piece.count('\\"') if slashes else 0)) % 2:
            return False
    return work.sweep("".join(pieces), trailing_comma_edits, "S001")


def trailing_comma_edits(text: str) -> list[Edit]:
    return [(*found.span(), "", "S001") for found in _TRAILING_COMMA.finditer(text)]


def _member_words(work: Repair) -> bool:
    """Repair words after `": `, which are values of members if no quote is escaped; False unless all words are values."""
    changed = work.text
    for word, python, plain in _MEMBER_WORDS:
        changed = changed.replace(python, plain)
        if word in changed:
            return False
    return work.sweep(changed, _member_word_edits, "S018")


def _member_word_edits(text: str) -> list[Edit]:
    return [(*found.span(), json_word(found[0]), "S018") for found in _MEMBER_WORD.finditer(text)]


def words(work: Repair) -> bool:
    """Repair every True, False and None outside the strings."""
    text = work.text
    slashes = "\\" in text
    if "S018" in work.codes or (slashes and "\\\\" in text):
        return False
    if (not slashes or '\\"' not in text) and _member_words(work):
        return True
    found: list[tuple[int, str]] = []
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            found.append((at, word))
            at = text.find(word, at + 4)
    found.sort()
    edits: list[Edit] = []
    pieces: list[str] = []
    at = quotes = seen = 0
    for start, word in found:
        quotes += _outside(text, seen, start, slashes=slashes)
        seen = start
        end = start + len(word)
        if quotes % 2 == 0 and text[start - 1] in " :,[\n\t\r" and text[end : end + 1] in _AFTER_WORD:
            edits.append((start, end, json_word(word), "S018"))
            pieces += (text[at:start], edits[-1][2])
            at = end
    pieces.append(text[at:])
    return bool(edits) and work.sweep("".join(pieces), lambda _: edits, "S018")


def _comment_end(text: str, start: int) -> int:
    """Where the comment at an offset ends; 0 if there is none, -1 if it never ends."""
    if text[start] == "#" or text.startswith("//", start):
        end = text.find("\n", start)
        return end if end >= 0 else len(text)
    if text.startswith("/*", start):
        end = text.find("*/", start + 2)
        return end + 2 if end >= 0 else -1
    return 0


def _may_object(comments: str) -> bool:
    from trueup.recover.json.doubts import may_object  # loaded by the first reply with a comment

    return may_object(comments)


def comment(work: Repair, at: int) -> bool:
    """Remove all comments from an offset between two tokens on, if they are clearly outside the strings."""
    text = work.text
    sign = text[at]
    if sign not in "/#":
        if at or "/" not in text:
            return False
        sign = "/"
    slashes = "\\" in text
    if slashes and "\\\\" in text:
        first = _COMMENT.match(text, at)
        if first is None or _may_object(first[0]):
            return False  # the parser reads its words
        return work.splice(at, first.end(), " ", "S017")
    edits: list[Edit] = []
    pieces: list[str] = []
    last = quotes = 0
    seen = at
    start = text.find(sign, at)
    while start >= 0:
        quotes += _outside(text, seen, start, slashes=slashes)
        seen = start + 1
        end = _comment_end(text, start) if quotes % 2 == 0 else 0
        if end < 0:
            break
        if end:
            edits.append((start, end, " ", "S017"))
            pieces += (text[last:start], " ")
            last = seen = end
        start = text.find(sign, seen)
    if edits and _may_object("\n".join(text[start:end] for start, end, _, _ in edits)):
        return False  # the parser reads their words
    pieces.append(text[last:])
    return work.sweep("".join(pieces), lambda _: edits, "S017")
