"""Numbers in words, in languages with spaces between words.

Takes a text in lower case; returns spans with their readings. Each language reads the text separately, and the longest
reading wins. This module does not decide whether a word such as "one" is meant as a number.
"""

from functools import cache
from typing import NamedTuple

from trueup.grounding.languages import SPACED
from trueup.grounding.quantities.notation import joined, negated
from trueup.grounding.quantities.vocabulary import (
    Language,
    NumberToken,
    WordKind,
    compound_heads,
    compounding,
    language,
    number_words,
)
from trueup.verdict.patterns import lazy_regex

_WORDS = lazy_regex(r"[^\W\d_]{2,}+")
_WORD = lazy_regex(r"[^\W\d_]+")
_NEXT = lazy_regex(r",?[ \u00a0\u202f\t\n]{1,2}|[-‐‑]")
_FOLLOWING = lazy_regex(r"(?:,?[ \u00a0\u202f\t\n]{1,2}|[-‐‑])([^\W\d_]+)")
_MOST = 10**30  # larger numbers are not built from words
_FEW = 16  # up to this many different words are searched for one by one
_LONGEST = 120  # the most letters of a one-word number


class Spoken(NamedTuple):
    start: int
    end: int
    values: tuple[str, ...]
    language: str
    run: bool = False  # several numbers in a row
    last_scale: int = 0


class _Sum:
    """A cardinal while its words are read: the completed part, the block below it, and the last power of a thousand."""

    __slots__ = ("block", "last", "ordinal", "pending", "spoken", "started", "total")

    def __init__(self, spoken: Language) -> None:
        self.spoken = spoken
        self.total = self.block = self.last = 0
        self.pending = self.started = self.ordinal = False

    def take(self, token: NumberToken) -> bool:
        """Take a word that continues the number. False, without any change, if it does not."""
        kind, value = token
        if self.ordinal and kind != WordKind.ORDINAL:
            return False
        if kind == WordKind.JOIN:
            fits = self.started and not self.pending and (self._may_join())
            self.pending = self.pending or fits
            return fits
        fits = self._add(value) if kind in {WordKind.ADD, WordKind.ORDINAL} else self._multiply(value, kind)
        if fits:
            self.started, self.pending, self.ordinal = True, False, kind == WordKind.ORDINAL
        return fits

    def _may_join(self) -> bool:
        """Whether "and" may follow: after hundreds in English, after tens in Spanish, after units in German."""
        return (self.block or self.total) >= self.spoken.join_after

    def _add(self, value: int) -> bool:
        rest = self.block % 100
        if value == 0 or value >= 100:
            fits = self.block == 0 if value else not self.started
        elif rest == 0:
            fits = True
        elif value >= 20:
            if self.spoken.twenties and value == 20 and rest == 4 and not self.pending:
                value = 76
                fits = True
            else:
                fits = self.spoken.backwards and self.pending and rest < 10
        elif value >= 10:
            fits = self.spoken.twenties and rest in {60, 80}
        else:
            fits = (rest >= 20 and rest % 10 == 0) or (self.spoken.twenties and rest in {10, 70, 90} and value >= 7)
        if fits:
            self.block += value
        return fits

    def _multiply(self, value: int, kind: WordKind) -> bool:
        if kind == WordKind.GROUP or value == 100:
            if self.block >= 100 or self.pending or (self.block == 0 and self.total and kind == WordKind.GROUP):
                return False
            self.block = max(self.block, 1) * value
            return True
        if value == self.last or self.total > _MOST or (self.pending and not self.block):
            return False
        if not self.last or value < self.last:
            if self.last and not self.block:
                return False
            self.total += max(self.block, 1) * value
        else:
            self.total = (self.total + self.block) * value
        self.block, self.last = 0, value
        return True


def spoken_numbers(small: str) -> list[Spoken]:
    """The numbers in words of a text in lower case, in order. A run of several numbers is also returned as one.

    >>> [(number.start, number.values) for number in spoken_numbers("two hundred and five, vierunddreißig")]
    [(0, ('205',)), (22, ('34',))]
    """
    found: list[Spoken] = []
    run: list[Spoken] = []
    allowed = _Allowed(small)
    end = 0
    for start, word in _candidates(small, allowed):
        if start < end:
            continue
        number = _read(small, start, word, allowed)
        if number is None:
            continue
        if found and number.start < end:  # "un" was read as a number, but is the article of this one
            found.pop()
            run = run[:-1]
        if run and not (number.start == end + 1 and small[end] in " -\u00a0" and _short(number)):
            found += _joined(run)
            run = []
        if _short(number) and (run or number.start >= end):
            run.append(number)
        found.append(number)
        end = number.end
    found += _joined(run)
    return sorted(found)


def _short(number: Spoken) -> bool:
    return len(number.values[0]) <= 2


def _joined(run: list[Spoken]) -> list[Spoken]:
    """Figures read one by one, or a year in two halves, as one number."""
    if len(run) < 2:
        return []
    return [
        Spoken(
            run[0].start,
            run[-1].end,
            (joined("".join([number.values[0] for number in run])),),
            run[0].language,
            run=True,
        )
    ]


class _Allowed:
    """The languages of a text, as far as doubtful words need them."""

    def __init__(self, small: str) -> None:
        self.words = set(_WORDS.findall(small))
        self._languages: set[str] | None = None

    def __call__(self, name: str, word: str) -> bool:
        return word not in language(name).doubtful or name in self.languages()

    def languages(self) -> set[str]:
        if self._languages is None:
            counts = {name: len(language(name).common & self.words) for name in SPACED}
            most = max(counts.values())
            self._languages = {name for name, count in counts.items() if 2 * count >= most}
        return self._languages


def _candidates(small: str, allowed: _Allowed) -> list[tuple[int, str]]:
    """The places of words that may start a number."""
    known, heads = number_words(), compound_heads()
    words = [word for word in allowed.words if word in known]
    words += [w for w in allowed.words if w not in known and w[:3] in heads and len(w) <= _LONGEST and _compound(w)]
    if len(words) > _FEW:
        wanted = set(words)
        return [(match.start(), match[0]) for match in _WORDS.finditer(small) if match[0] in wanted]
    found: list[tuple[int, str]] = []
    for word in words:
        at, size = small.find(word), len(word)
        while at >= 0:
            if not (at and small[at - 1].isalpha()) and not small[at + size : at + size + 1].isalpha():
                found.append((at, word))
            at = small.find(word, at + size)
    found.sort()
    return found


def _compound(word: str) -> bool:
    return any(_split(name, word) is not None for name in compounding())


def _split(name: str, word: str) -> list[NumberToken] | None:
    """The tokens of a word in a language, also of a compound; None if it is not a number."""
    spoken = language(name)
    if token := spoken.words.get(word):
        return [token]
    if spoken.compound is None or len(word) > _LONGEST or not (match := spoken.compound.fullmatch(word)):
        return None
    assert spoken.pieces is not None
    tokens = [spoken.words[piece] for piece in spoken.pieces.findall(match[1])]
    if match[2] and tokens[-1].kind == WordKind.JOIN:
        return None
    return tokens


def _read(small: str, start: int, word: str, allowed: _Allowed) -> Spoken | None:
    """The longest number that starts with a word, in any language; several readings if languages disagree."""
    after = _FOLLOWING.match(small, start + len(word))
    if (after is None or not _may_continue(after[1])) and (single := _alone(word)) is not None:
        values = tuple(dict.fromkeys(value for name, value in single if allowed(name, word)))
        return Spoken(start, start + len(word), values, single[0][0]) if values else None
    best: list[Spoken] = []
    for name in number_words().get(word, compounding()):
        number = _read_in(language(name), small, start, word)
        if number is not None and number.end - start <= len(word) and not allowed(name, word):
            continue  # a doubtful word counts in any text if more words of the number follow
        if number is not None and (not best or number.end >= best[0].end):
            best = [number] if not best or number.end > best[0].end else [*best, number]
    if not best:
        return None
    values = tuple(dict.fromkeys(value for number in best for value in number.values))
    return best[0]._replace(values=values)


@cache
def _continuing() -> frozenset[str]:
    """Every word that may continue a number."""
    spoken = [language(name) for name in SPACED]
    phrases = {word for own in spoken for phrase in own.alone for word in phrase.replace("-", " ").split()}
    return frozenset({word for own in spoken for word in [*own.words, *own.point]} | phrases)


def _may_continue(word: str) -> bool:
    return word in _continuing() or (word[:3] in compound_heads() and _compound(word))


@cache
def _alone(word: str) -> tuple[tuple[str, str], ...] | None:
    """The values of a single word that any text may contain, by language; None if they depend on other words."""
    found = [_read_in(language(name), word, 0, word) for name in number_words().get(word, ())]
    simple = len(word) < 30 and found and all(number is not None and _short(number) for number in found)
    return tuple((number.language, number.values[0]) for number in found if number) if simple else None


def _read_in(spoken: Language, small: str, start: int, word: str) -> Spoken | None:
    """The number that starts at a place, in one language."""
    if word in spoken.minus:
        return _negative(spoken, small, start, word)
    for phrase in spoken.starts.get(word, ()):
        if small.startswith(phrase, start) and not small[start + len(phrase) : start + len(phrase) + 1].isalpha():
            return Spoken(_article(spoken, small, start), start + len(phrase), (spoken.alone[phrase],), spoken.name)
    amount, end, at = _Sum(spoken), start, start
    while match := _WORD.match(small, at):
        tokens = _split(spoken.name, match[0])
        if tokens is None or not _take(amount, tokens):
            break
        if tokens[-1].kind != WordKind.JOIN:
            end = match.end()
        gap = _NEXT.match(small, match.end())
        if gap is None or (gap[0][0] == "," and tokens[-1].kind != WordKind.MULTIPLY):
            break
        at = gap.end()
    if not amount.started or end == start:
        return None
    value = str(amount.total + amount.block)
    first = _article(spoken, small, start) if amount.total + amount.block >= 12 else start
    end, value = _decimals(spoken, small, end, value)
    return Spoken(first, end, (value,), spoken.name, last_scale=amount.last if not amount.block else 0)


def _take(amount: _Sum, tokens: list[NumberToken]) -> bool:
    """Take all of the tokens, or none of them."""
    if len(tokens) == 1:
        return amount.take(tokens[0])
    kept = (amount.total, amount.block, amount.last, amount.pending, amount.started)
    if all(amount.take(token) for token in tokens):
        return True
    amount.total, amount.block, amount.last, amount.pending, amount.started = kept
    return False


def _article(spoken: Language, small: str, start: int) -> int:
    """The start of "a hundred", with its article."""
    for article in spoken.articles:
        at = start - len(article) - 1
        if (
            at >= 0
            and small.startswith(article, at)
            and small[start - 1] in " \u00a0"
            and not small[max(at - 1, 0) : at].isalpha()
        ):
            return at
    return start


def _decimals(spoken: Language, small: str, end: int, value: str) -> tuple[int, str]:
    """The decimals after "point": three point one four."""
    digits: list[str] = []
    gap = _NEXT.match(small, end)
    match = _WORD.match(small, gap.end()) if gap else None
    if match is None or match[0] not in spoken.point:
        return end, value
    while (gap := _NEXT.match(small, match.end())) and (match := _WORD.match(small, gap.end())):
        token = spoken.words.get(match[0])
        if (
            token is None
            or token.kind != WordKind.ADD
            or token.value > 99
            or (token.value > 9 and digits)
            or len(digits) > 20
        ):
            break
        digits.append(str(token.value))
        end = match.end()
    return end, joined(value, "".join(digits))


def _negative(spoken: Language, small: str, start: int, word: str) -> Spoken | None:
    gap = _NEXT.match(small, start + len(word))
    match = _WORD.match(small, gap.end()) if gap else None
    if gap is None or match is None or match[0] in spoken.minus or match[0] not in spoken.words:
        return None
    number = _read_in(spoken, small, gap.end(), match[0])
    return number and number._replace(start=start, values=tuple(negated(value) for value in number.values))
