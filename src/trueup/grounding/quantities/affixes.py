"""The text around a number: sign and currency before it; power of ten, ordinal ending, half and unit after it.

Takes a text and the place of a number; returns the extent of the mention, and the parts that it adds. Only a few
characters on each side are read, so the cost does not depend on the length of the text.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from trueup.grounding.quantities.notation import shifted
from trueup.grounding.quantities.units import names
from trueup.grounding.quantities.vocabulary import connectors_of, halves, ordinal_signs, scales, table
from trueup.verdict.patterns import lazy_regex

MINUS = frozenset("-−–﹣－")
SPACES = frozenset(" \u00a0\u202f\u2009")
_FIRST_OF_CHARACTERS = "\u3000"
_AFTER = lazy_regex(
    r"[ \u00a0\u202f\u2009-]?+(?:([^\W\d_]{1,24}+(?:[²³]|[23](?!\w))?(?:/[a-z]{1,4}(?!\w))?)|(\.?[ºª°](?: ?[CF](?!\w))?)|([^\w\s]))"
)

# A plain end of a number: punctuation, or a space and a word that does not belong to it.
STOP = r"([\n;:!?)]|\.(?![\dºª°])|,(?![\d–—-])|\Z)"
WORD = r"([A-Za-zÀ-ÖØ-öø-ɏ]++)(?![\w²³/'’])"
_QUIET = lazy_regex(f"{STOP}| {WORD}")
_NO_UNIT = frozenset(["", *"\n),;:"])


class Prefix(NamedTuple):
    start: int
    negative: bool
    unit: str
    bullet: bool  # the minus may be a list marker


class Behind(NamedTuple):
    end: int
    powers: tuple[int, ...]  # of ten, most likely first
    unit: str
    half: bool
    plain: bool = False  # the number without the power is also likely


class _Word(NamedTuple):
    powers: tuple[int, ...]
    unit: str
    plain: bool


def before(text: str, start: int) -> Prefix:
    """The sign and the currency right before a number."""
    last = text[start - 1 : start]
    if last not in noisy() or (last == " " and text[start - 2 : start - 1] not in last_of_prefixes()):
        return Prefix(start, negative=False, unit="", bullet=False)
    at, negative, unit = start, False, ""
    if at and text[at - 1] in MINUS and _is_sign(text, at - 1):
        at, negative = at - 1, True
    elif at and text[at - 1] in "+±":
        at -= 1
    signed = at
    place = at - 1
    if place > 0 and text[place] in SPACES:
        place -= 1
    if place >= 0 and text[place] in last_of_prefixes():
        for size in range(min(4, place + 1), 0, -1):
            sign = text[place + 1 - size : place + 1]
            if (found := names().before.get(sign)) and not (
                place >= size and sign[0].isalpha() and text[place - size].isalnum()
            ):
                unit, at = found, place + 1 - size
                break
    if unit and not negative and at and text[at - 1] in MINUS and _is_sign(text, at - 1):
        at, negative = at - 1, True
    bullet = negative and signed == at and at > 0 and text[at - 1] == "\n"
    return Prefix(at, negative, unit, bullet)


def _is_sign(text: str, at: int) -> bool:
    """Whether a dash is a minus: only a space, a bracket or a currency may come before it."""
    return at == 0 or text[at - 1] in " \t\n\u00a0\u202f([{:=,;|\"'~≈<>$€£¥" or text[at - 1] > _FIRST_OF_CHARACTERS


@cache
def last_of_prefixes() -> frozenset[str]:
    return frozenset(sign[-1] for sign in names().before)


@cache
def noisy() -> frozenset[str]:
    """The characters right before a number that may belong to it."""
    return MINUS | SPACES | last_of_prefixes() | frozenset("+±.")


def nothing_behind(text: str, end: int) -> bool:
    """Whether a number plainly ends here: at punctuation, or before a word that does not belong to it."""
    match = _QUIET.match(text, end)
    return match is not None and (match.lastindex == 1 or match[2].lower() not in meaningful())


@cache
def meaningful() -> frozenset[str]:
    """The words after a number that may belong to it."""
    return _known() | {phrase.split()[0] for phrase in (*halves(), *connectors_of())} | {"x", "d"}


def behind(text: str, end: int, *, money: bool, words: bool = False) -> Behind:
    """The power of ten, the half and the unit right after a number. `money`: it has a currency before it."""
    if text[end : end + 1] in _NO_UNIT:
        return Behind(end, (), "", half=False)
    return _with_half(text, _direct(text, end, money=money, words=words))


def _direct(text: str, end: int, *, money: bool, words: bool = False) -> Behind:
    """The power of ten and the unit."""
    found = _one(text, end, money=money, words=words)
    if found is None and words:
        link = _link(text, end)
        found = _one(text, end + link, money=money, words=words) if link else None
    if found is None:
        return Behind(end, (), "", half=False)
    end, word = found
    powers, unit, plain = word
    if powers and not unit:
        # 2 mil millones, 3 Mrd. €, 5 million dollars
        more = _one(text, end, money=money)
        while more and more[1].powers and powers[0] < 40:
            powers, end = (powers[0] + more[1].powers[0],), more[0]
            more = _one(text, end, money=money)
        more = more or _one(text, end + _link(text, end), money=money)
        if more and more[1].unit and not more[1].powers:
            end, unit = more[0], more[1].unit
    return Behind(end, powers, unit, half=False, plain=plain and not money)


def _link(text: str, end: int) -> int:
    """The length of a word such as " of" before the unit, without the space after it."""
    if text[end : end + 2].lower() not in _heads(connectors_of()):
        return 0
    ahead = text[end : end + 8].lower()
    return next((len(link.rstrip()) for link in connectors_of() if ahead.startswith(link)), 0)


@cache
def _heads(phrases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(phrase[:2] for phrase in phrases)


def _with_half(text: str, found: Behind) -> Behind:
    """The half after a number or its unit: two and a half, dos horas y media."""
    if text[found.end : found.end + 2].lower() not in _heads(halves()):
        return found
    ahead = text[found.end : found.end + 24].lower()
    after = found.end + next((len(half) for half in halves() if ahead.startswith(half)), 0)
    if after == found.end or text[after : after + 1].isalpha():
        return found
    if found.unit or found.powers:
        return found._replace(end=after, half=True)
    return _direct(text, after, money=False)._replace(half=True)


def _one(text: str, end: int, *, money: bool, words: bool = False) -> tuple[int, _Word] | None:
    """The word or sign at a place, if it is a power of ten, a unit or an ordinal ending."""
    glyph = text[end : end + 1]
    if not glyph or glyph in "\n),;:":
        return None
    if glyph > _FIRST_OF_CHARACTERS or (glyph in SPACES and text[end + 1 : end + 2] > _FIRST_OF_CHARACTERS):
        return _characters(text, end + (glyph in SPACES))
    match = _AFTER.match(text, end)
    if match is None:
        return None
    if match.lastindex == 1:
        word = match[1]
        small = word.lower()
        if (small not in _known() and "/" not in small) or (words and len(small) == 1):
            return None
        return _spelled(text, match.start(1), word, small, end, money=money)
    sign = match[match.lastindex or 0].lstrip(".")
    start = match.end() - len(sign)
    for size in (3, 2, 1):
        name = text[start : start + size]
        unit = names().exact.get(name) if len(name) == size else None
        if unit and not (size > 1 and text[start + size : start + size + 1].isalpha()):
            return start + size, _Word((), unit, plain=False)
    return (match.end(), _Word((), "", plain=False)) if sign in ordinal_signs() else None


@cache
def _known() -> frozenset[str]:
    """Every word in lower case that may have a meaning after a number."""
    data, known = table("units.toml"), names()
    words = {
        *known.loose,
        *known.longer,
        *scales(),
        *ordinal_signs(),
        *data["money_letters"],
        *map(str.lower, known.exact),
    }
    return frozenset({*words, *map(str.lower, data["letters"])})


def _spelled(text: str, start: int, word: str, small: str, end: int, *, money: bool) -> tuple[int, _Word] | None:
    """A word of letters."""
    after = start + len(word)
    if longer := _longer(small):
        ahead = text[start : start + len(longer[0])].lower()
        for phrase in longer:
            if ahead.startswith(phrase) and not text[start + len(phrase) : start + len(phrase) + 1].isalpha():
                powers = scales().get(phrase, ())
                return start + len(phrase), _Word(powers, "" if powers else names().loose[phrase], plain=False)
    known = _word(word, small, money=money, glued=start == end)
    if known is None and len(word) > 1 and not word[-1].isalpha():  # m² is known, kg² is not
        return None
    if known is None and "/" in word:
        head = word.partition("/")[0]
        known, after = _word(head, head.lower(), money=money, glued=start == end), start + len(head)
    if known is None or text[after : after + 1] in {"'", "’"}:
        return None
    if text[after : after + 1] == "." and known.powers and text[after + 1 : after + 3] != " \n":
        after += 1 if _abbreviated(small) else 0
    elif known.unit in names().money and text[after : after + 1] == "$":
        after += 1
    return after, known


def _abbreviated(word: str) -> bool:
    return len(word) <= 4


@cache
def _longer(word: str) -> tuple[str, ...]:
    phrases = {*names().longer.get(word, ()), *(s for s in scales() if s.startswith(f"{word} "))}
    return tuple(sorted(phrases, key=len, reverse=True))


@lru_cache(maxsize=4096)
def _word(word: str, small: str, *, money: bool, glued: bool) -> _Word | None:
    """A power of ten, a unit, or the ending of an ordinal."""
    data = table("units.toml")
    if money and (power := data["money_letters"].get(small)):
        return _Word((power,), "", plain=False)
    if glued and (power := data["letters"].get(word)):
        return _Word((power,), "", plain=word not in "kK")
    if word == "m" and glued:
        return _Word((), "m", plain=False)
    unit = names().exact.get(word)
    if unit is None and (len(word) > 1 or small in {"h", "l", "g"}):
        unit = names().loose.get(small)
    powers = scales().get(small, ())
    if powers and (unit is None or small not in names().loose or small == "mil"):
        return _Word(powers, "", plain=False)
    if unit is not None:
        return _Word((), unit, plain=False)
    if powers:
        return _Word(powers, "", plain=False)
    return _Word((), "", plain=False) if glued and small in ordinal_signs() else None


def _characters(text: str, start: int) -> tuple[int, _Word] | None:
    """A unit in a script without spaces: the longest name that the text continues with."""
    known = names()
    if text[start : start + 1] not in _first_characters():
        return None
    for size in range(known.longest, 0, -1):
        name = text[start : start + size]
        if unit := known.glued.get(name):
            return start + len(name), _Word((), unit, plain=False)
    unit = known.exact.get(text[start : start + 1])
    return (start + 1, _Word((), unit, plain=False)) if unit else None


@cache
def _first_characters() -> frozenset[str]:
    """The first character of every unit in scripts without spaces, and the units of one character."""
    known = names()
    return frozenset({name[0] for name in known.glued} | {name for name in known.exact if len(name) == 1})


def scaled(values: tuple[str, ...], powers: tuple[int, ...], *, plain: bool = False) -> tuple[str, ...]:
    """Each value times each power of ten, most likely first. A decimal comma is likelier than a thousands separator."""
    if not powers:
        return values
    made = [shifted(value, power) for power in powers for value in reversed(values)]
    return tuple(dict.fromkeys([*made, *(values if plain else ())]))
