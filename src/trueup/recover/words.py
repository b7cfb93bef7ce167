r"""Phrases of natural languages that models write around values and calls, in one TOML file per language.

Takes the name of a list, such as `retraction.sorry`; returns a pattern for its phrases in all languages. The files are
read when the first pattern is needed. No other module of the reader contains words of a natural language.

A phrase is written in lower case, as people write it, and matches anywhere unless its list says where:

    plain words     match themselves; a space matches any short run of spaces
    (a|b)           one of them; (a|b)? one of them or nothing; groups may be nested
    entschuldig*    any ending of a word; a separate * is any one word
    das … falsch    a short gap inside the sentence
    that's          ' also matches ’

Everything else matches itself. A phrase that begins or ends with a letter begins or ends at the edge of a word, except in
scripts without spaces between words. Patterns are compiled for lower case: search in `text.lower()`.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from trueup.verdict.patterns import lazy_regex

_BLANK, _ENDING, _WORD, _GAP, _APOSTROPHE = " ", "*", "\x00", "…", "'"
_SOURCES = {
    _BLANK: r"\s{1,8}",
    _ENDING: r"\w{0,16}+",
    _WORD: r"\w{1,24}+",
    _GAP: r"[^.!?。！？\n]{0,40}?",
    _APOSTROPHE: "['’]",
}
_VARIABLE = frozenset(_SOURCES)
# Scripts without spaces between words: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = lazy_regex("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_NAME = lazy_regex(r"<([a-z]+\.[a-z_]+)>")
_LONGEST_OPENING = 4
_LEAST_TELL = 2
_SHORT = 4
_KEY = 3


class PhraseGroup(NamedTuple):
    """Alternatives inside a phrase."""

    options: tuple["Phrase", ...]
    optional: bool


Phrase = tuple["str | PhraseGroup", ...]
_Trie = dict[str, "_Trie"]


# -- used by other modules -----------------------------------------------------------------------


@cache
def pattern(frame: str, flags: int = 0) -> re.Pattern[str]:
    r"""The compiled frame, with every `<list>` in it replaced by the phrases of that list.

    >>> pattern(r"(?:<value.example>):\Z").search("zum beispiel:") is not None
    True
    """
    return re.compile(_NAME.sub(lambda name: source(name[1]), frame), flags)


@cache
def source(name: str) -> str:
    """The source of a pattern for any phrase of a list."""
    inside: _Trie = {}  # phrases that begin with a letter of an alphabet
    other: _Trie = {}
    for phrase in phrases(name):
        for strand in _strands(phrase):
            at = inside if _is_letter(strand[0]) else other
            for unit in filter(None, (*_units(strand), _edge(_lasts(strand), "(?<!\\w)"))):
                at = at.setdefault(unit, {})
            at[""] = {}
    branches = ([rf"\b{_rendered(inside)}"] if inside else []) + ([_rendered(other)] if other else [])
    return f"(?:{'|'.join(branches)})"


@cache
def words(name: str) -> frozenset[str]:
    """The phrases of a list that has only plain words.

    >>> "ja" in words("scalar.yes"), "nein" in words("scalar.yes")
    (True, False)
    """
    return frozenset(text for table in tables().values() for text in table[name])


def small(text: str) -> str:
    """The text in lower case with the same offsets: a letter that would become two stays unchanged.

    >>> small("Ja, İZMİR")
    'ja, İzmİr'
    """
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@cache
def phrases(name: str) -> tuple[Phrase, ...]:
    """The phrases of a list in all languages, parsed."""
    return tuple(parse(text) for text in dict.fromkeys(text for table in tables().values() for text in table[name]))


@cache
def tables() -> dict[str, dict[str, list[str]]]:
    """For each language, the phrases by the name of their list."""
    import tomllib  # loaded when a reply first needs a phrase
    from importlib import resources

    files = {file.name: file for file in (resources.files("trueup.recover") / "phrases").iterdir()}
    return {
        name.removesuffix(".toml"): {
            f"{section}.{key}": texts
            for section, lists in tomllib.loads(files[name].read_text("utf-8")).items()
            for key, texts in lists.items()
        }
        for name in sorted(files)
        if name.endswith(".toml")
    }


class PhraseOpening(NamedTuple):
    """Texts that phrases begin with, and vague ones, each with the texts of which one must occur later in the phrase."""

    certain: tuple[str, ...]
    vague: tuple[tuple[str, tuple[str, ...]], ...]


def openings(names: tuple[str, ...], after: str) -> dict[str, PhraseOpening]:
    """The beginnings of the phrases of some lists, by their first three letters, or one in scripts without spaces.

    A short word includes one of the characters `after`.
    """
    certain: set[str] = set()
    vague: dict[str, set[str]] = {}
    for phrase in (phrase for name in names for phrase in phrases(name)):
        for text, ended in _written(phrase):
            if not ended:
                vague.setdefault(text, set()).update(_tell(phrase))
            elif len(text) < _SHORT and _is_letter(text[-1:]):
                certain.update(text + sign for sign in after)
            else:
                certain.add(text)
    found: dict[str, PhraseOpening] = {}
    for text in sorted(certain):
        if not any(text[:stop] in certain for stop in range(1, len(text))):
            known = found.get(_first(text), PhraseOpening((), ()))
            found[_first(text)] = known._replace(certain=(*known.certain, text))
    for text, required in sorted(vague.items()):
        known = found.get(_first(text), PhraseOpening((), ()))
        least = tuple(
            sorted(word for word in required if not any(other in word for other in required if other != word))
        )
        found[_first(text)] = known._replace(vague=(*known.vague, (text, least)))
    return found


def _first(text: str) -> str:
    if _is_letter(text[:1]) and len(text) < _KEY:
        raise ValueError(f"the beginning of a phrase is too short: {text!r}")
    return text[: _KEY if _is_letter(text[:1]) else 1]


# -- the notation --------------------------------------------------------------------------------


@cache
def parse(text: str) -> Phrase:
    """A phrase as a sequence of characters and groups.

    >>> parse("(a|b)? c")
    (PhraseGroup(options=(('a', ' '), ('b', ' ')), optional=True), 'c')
    """
    options, stop = _parsed(text, 0, after_gap=True)
    if stop < len(text) or len(options) > 1 or not options[0]:
        raise ValueError(f"not a phrase: {text!r}")
    return options[0]


def _parsed(text: str, at: int, *, after_gap: bool) -> tuple[list[Phrase], int]:
    """Alternatives up to the end of the text or the group, and that end; `after_gap`: a space precedes them."""
    options: list[list[str | PhraseGroup]] = [[]]
    while at < len(text) and text[at] != ")":
        here = options[-1]
        if text[at] == "|":
            options.append([])
        elif text[at] == "(":
            inner, at = _parsed(text, at + 1, after_gap=here[-1] == _BLANK if here else after_gap)
            if at == len(text):
                raise ValueError(f"a group is not closed: {text!r}")
            optional = text.startswith("?", at + 1)
            here.append(PhraseGroup(tuple(inner), optional))
            at += optional
        elif text[at] == _ENDING:
            if text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] == "(":
                raise ValueError(f"a word continues after its ending: {text!r}")
            here.append(_WORD if not here or here[-1] == _BLANK else _ENDING)
        else:
            here.append(text[at])
        at += 1
    return [_spaced(option, after_gap=after_gap) for option in options], at


def _spaced(option: list[str | PhraseGroup], *, after_gap: bool) -> Phrase:
    """A sequence in which an optional group includes a space next to it, and a gap the spaces on both sides.

    `after_gap`: the beginning, a space or a gap precedes the next node.
    """
    out: list[str | PhraseGroup] = []
    for at, node in enumerate(option):
        following = option[at + 1] if at + 1 < len(option) else ""
        if node == _BLANK and ((after_gap and out) or following == _GAP):
            continue
        if isinstance(node, PhraseGroup) and node.optional and after_gap:
            if following == _BLANK and not all(_may_be_left_out(other) for other in option[at:]):
                node = PhraseGroup(tuple((*inner, _BLANK) for inner in node.options), optional=True)
            else:
                after_gap = False
                if out and out[-1] == _BLANK and not _is_letter(following):  # otherwise it is the first part of a word
                    out.pop()
                    node = PhraseGroup(tuple((_BLANK, *inner) for inner in node.options), optional=True)
        else:
            after_gap = node in (_BLANK, _GAP)
        out.append(node)
    return tuple(out)


def _may_be_left_out(node: "str | PhraseGroup") -> bool:
    return node == _BLANK or (isinstance(node, PhraseGroup) and node.optional)


def _strands(phrase: Phrase) -> list[Phrase]:
    """A phrase as phrases that each begin with a character: a group at its beginning is divided by first characters."""
    first, rest = phrase[0], phrase[1:]
    if isinstance(first, str):
        return [phrase]
    by_first: dict[str, list[Phrase]] = {}
    for option in first.options:
        for strand in _strands(option):
            by_first.setdefault(str(strand[0]), []).append(strand[1:])
    strands = [
        (sign, *(rests[0] if len(rests) == 1 else (PhraseGroup(tuple(rests), optional=False),)), *rest)
        for sign, rests in by_first.items()
    ]
    return strands + (_strands(rest) if first.optional else [])


def _units(phrase: Phrase) -> list[str]:
    """The sources of a phrase's characters, groups and inner edges, one by one."""
    out: list[str] = []
    for at, node in enumerate(phrase):
        if isinstance(node, PhraseGroup):
            out.append(_group(node))
        elif node == _GAP:
            before, after = phrase[:at], phrase[at + 1 :]
            out += (_edge(_lasts(before), "(?<!\\w)"), _SOURCES[node], _edge(_firsts(after), "(?!\\w)"))
        else:
            out.append(_SOURCES.get(node) or re.escape(node))
    return [unit for unit in out if unit]


@cache
def _group(group: PhraseGroup) -> str:
    options = sorted(("".join(_units(option)) for option in group.options), key=len, reverse=True)
    return f"(?:{'|'.join(options)}){'?' * group.optional}"


def _rendered(trie: _Trie) -> str:
    options = [unit + _rendered(rest) for unit, rest in trie.items() if unit]
    options += [""] if "" in trie else []
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _edge(kinds: set[bool], unless: str) -> str:
    """The edge of a word next to a letter of an alphabet; if the letter may also be another sign, the edge is conditional."""
    return "" if True not in kinds else r"\b" if False not in kinds else rf"(?:\b|{unless})"


def _is_letter(sign: "str | PhraseGroup") -> bool:
    return isinstance(sign, str) and (sign in (_ENDING, _WORD) or (sign.isalnum() and not _UNSPACED.match(sign)))


def _firsts(phrase: Phrase) -> set[bool]:
    """Whether the possible first characters of a phrase are letters of an alphabet."""
    return _kinds(phrase, _firsts)


def _lasts(phrase: Phrase) -> set[bool]:
    """The same for the last characters."""
    return _kinds(phrase[::-1], _lasts)


def _kinds(nodes: Phrase, inner: Callable[[Phrase], set[bool]]) -> set[bool]:
    kinds: set[bool] = set()
    for at, node in enumerate(nodes):
        if isinstance(node, str):
            unspaced = node == _ENDING and not all(_is_letter(other) for other in nodes[at + 1 : at + 2])
            return kinds | {_is_letter(node) and not unspaced}
        for option in node.options:
            kinds |= inner(option)
        if not node.optional and all(node.options):
            return kinds
    return kinds


# -- the certain parts of a phrase ---------------------------------------------------------------


def _written(phrase: Phrase) -> Iterator[tuple[str, bool]]:
    """The texts that a phrase may begin with, up to a length, and whether the phrase ends there."""
    stack: list[tuple[str, Phrase]] = [("", phrase)]
    while stack:
        text, rest = stack.pop()
        while rest and isinstance(first := rest[0], str) and len(text) < _LONGEST_OPENING:
            if first not in (_BLANK, _APOSTROPHE) and first in _VARIABLE:
                break
            text, rest = text + first, rest[1:]
        if rest and isinstance(group := rest[0], PhraseGroup) and len(text) < _LONGEST_OPENING:
            stack += [(text, option + rest[1:]) for option in group.options]
            stack += [(text, rest[1:])] if group.optional else []
        else:
            yield text, not rest


def _tell(phrase: Phrase) -> set[str]:
    """Texts of which every match contains at least one, with the shortest text as long as possible."""
    choices: list[set[str]] = [set(_runs(phrase))]
    choices[0] = {max(choices[0], key=len)} if choices[0] else set()
    for node in phrase:
        if isinstance(node, PhraseGroup) and not node.optional:
            inner = [_tell(option) for option in node.options]
            if all(inner):
                choices.append(set().union(*inner))
    return max(choices, key=lambda texts: min(map(len, texts), default=0))


def _runs(phrase: Phrase) -> Iterator[str]:
    """The runs of certain characters in a phrase, without spaces at their ends."""
    run = ""
    for node in (*phrase, _GAP):
        if isinstance(node, str) and (node == _BLANK or node not in _VARIABLE):
            run += node
            continue
        if len(run.strip()) >= _LEAST_TELL:
            yield run.strip()
        run = ""
