r"""Phrases of natural languages: what models say around values and calls, in one TOML file per language.

The name of a list, such as `retraction.sorry`, enters; a pattern for its phrases in all languages leaves. Nothing is read
before the first pattern is asked for. No other module of the reader holds words of a natural language.

A phrase is written in small letters as people write it, and matches anywhere unless its list says where it stands:

    plain words     match themselves; a blank is any short run of blanks
    (a|b)           one of them; (a|b)? one of them or nothing; a group may hold groups
    entschuldig*    any ending of a word; a * of its own is any one word
    das … falsch    a short gap inside the sentence
    that's          ' also stands for ’

Everything else stands for itself. A phrase that begins or ends with a letter does so at the edge of a word, except in
scripts that write no blanks between words. Patterns are compiled for small letters: search in `text.lower()`.
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
# Scripts without blanks between words: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = lazy_regex("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_NAME = lazy_regex(r"<([a-z]+\.[a-z_]+)>")
_LONGEST_OPENING = 4
_LEAST_TELL = 2
_SHORT = 4
_KEY = 3


class Group(NamedTuple):
    """Alternatives inside a phrase."""

    options: tuple["Phrase", ...]
    optional: bool


Phrase = tuple["str | Group", ...]
_Trie = dict[str, "_Trie"]


# -- what other modules ask for ------------------------------------------------------------------


@cache
def pattern(frame: str, flags: int = 0) -> re.Pattern[str]:
    r"""A frame compiled, with every `<list>` in it replaced by the phrases of that list.

    >>> pattern(r"(?:<value.example>):\Z").search("zum beispiel:") is not None
    True
    """
    return re.compile(_NAME.sub(lambda name: source(name[1]), frame), flags)


@cache
def source(name: str) -> str:
    """The source of a pattern that matches any phrase of a list."""
    inside: _Trie = {}  # begins with a letter of an alphabet
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
    """The phrases of a list whose phrases are plain words.

    >>> "ja" in words("scalar.yes"), "nein" in words("scalar.yes")
    (True, False)
    """
    return frozenset(text for table in tables().values() for text in table[name])


def small(text: str) -> str:
    """The text in small letters, every one at its place: a letter that would become two stays as it is.

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
    """For each language the phrases by the name of their list."""
    import tomllib  # with what reads the files, loaded when a reply first needs a phrase
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


class Opening(NamedTuple):
    """Texts with which phrases begin; and texts that say too little, each with what must be in the phrase behind it."""

    certain: tuple[str, ...]
    vague: tuple[tuple[str, tuple[str, ...]], ...]


def openings(names: tuple[str, ...], behind: str) -> dict[str, Opening]:
    """How the phrases of some lists begin, by their first three letters, or by the first where words are not parted.

    A short word has one of the characters `behind` with it.
    """
    certain: set[str] = set()
    vague: dict[str, set[str]] = {}
    for phrase in (phrase for name in names for phrase in phrases(name)):
        for text, ended in _written(phrase):
            if not ended:
                vague.setdefault(text, set()).update(_tell(phrase))
            elif len(text) < _SHORT and _is_letter(text[-1:]):
                certain.update(text + sign for sign in behind)
            else:
                certain.add(text)
    found: dict[str, Opening] = {}
    for text in sorted(certain):
        if not any(text[:stop] in certain for stop in range(1, len(text))):
            known = found.get(_first(text), Opening((), ()))
            found[_first(text)] = known._replace(certain=(*known.certain, text))
    for text, told in sorted(vague.items()):
        known = found.get(_first(text), Opening((), ()))
        least = tuple(sorted(word for word in told if not any(other in word for other in told if other != word)))
        found[_first(text)] = known._replace(vague=(*known.vague, (text, least)))
    return found


def _first(text: str) -> str:
    if _is_letter(text[:1]) and len(text) < _KEY:
        raise ValueError(f"a phrase begins with too little: {text!r}")
    return text[: _KEY if _is_letter(text[:1]) else 1]


# -- the notation --------------------------------------------------------------------------------


@cache
def parse(text: str) -> Phrase:
    """A phrase as a sequence of characters and groups.

    >>> parse("(a|b)? c")
    (Group(options=(('a', ' '), ('b', ' ')), optional=True), 'c')
    """
    options, stop = _parsed(text, 0, True)
    if stop < len(text) or len(options) > 1 or not options[0]:
        raise ValueError(f"not a phrase: {text!r}")
    return options[0]


def _parsed(text: str, at: int, parted: bool) -> tuple[list[Phrase], int]:
    """Alternatives up to the end of the text or of the group, and where that is; `parted`: a blank stands before them."""
    options: list[list[str | Group]] = [[]]
    while at < len(text) and text[at] != ")":
        here = options[-1]
        if text[at] == "|":
            options.append([])
        elif text[at] == "(":
            inner, at = _parsed(text, at + 1, here[-1] == _BLANK if here else parted)
            if at == len(text):
                raise ValueError(f"a group is not closed: {text!r}")
            optional = text.startswith("?", at + 1)
            here.append(Group(tuple(inner), optional))
            at += optional
        elif text[at] == _ENDING:
            if text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] == "(":
                raise ValueError(f"a word goes on behind its ending: {text!r}")
            here.append(_WORD if not here or here[-1] == _BLANK else _ENDING)
        else:
            here.append(text[at])
        at += 1
    return [_spaced(option, parted) for option in options], at


def _spaced(option: list[str | Group], parted: bool) -> Phrase:
    """A sequence in which an optional group owns a blank beside it, and a gap the blanks on both sides.

    `parted`: the beginning, a blank or a gap stands before the next node.
    """
    out: list[str | Group] = []
    for at, node in enumerate(option):
        behind = option[at + 1] if at + 1 < len(option) else ""
        if node == _BLANK and ((parted and out) or behind == _GAP):
            continue
        if isinstance(node, Group) and node.optional and parted:
            if behind == _BLANK and not all(_may_be_left_out(other) for other in option[at:]):
                node = Group(tuple((*inner, _BLANK) for inner in node.options), True)
            else:
                parted = False
                if out and out[-1] == _BLANK and not _is_letter(behind):  # else it is the first part of a word
                    out.pop()
                    node = Group(tuple((_BLANK, *inner) for inner in node.options), True)
        else:
            parted = node in (_BLANK, _GAP)
        out.append(node)
    return tuple(out)


def _may_be_left_out(node: "str | Group") -> bool:
    return node == _BLANK or (isinstance(node, Group) and node.optional)


def _strands(phrase: Phrase) -> list[Phrase]:
    """A phrase as phrases that begin with a character each: a group at its beginning is parted by first characters."""
    first, rest = phrase[0], phrase[1:]
    if isinstance(first, str):
        return [phrase]
    by_first: dict[str, list[Phrase]] = {}
    for option in first.options:
        for strand in _strands(option):
            by_first.setdefault(str(strand[0]), []).append(strand[1:])
    found = [
        (sign, *(behind[0] if len(behind) == 1 else (Group(tuple(behind), False),)), *rest)
        for sign, behind in by_first.items()
    ]
    return found + (_strands(rest) if first.optional else [])


def _units(phrase: Phrase) -> list[str]:
    """The sources of a phrase's characters, groups and inner edges, one by one."""
    out: list[str] = []
    for at, node in enumerate(phrase):
        if isinstance(node, Group):
            out.append(_group(node))
        elif node == _GAP:
            before, behind = phrase[:at], phrase[at + 1 :]
            out += (_edge(_lasts(before), "(?<!\\w)"), _SOURCES[node], _edge(_firsts(behind), "(?!\\w)"))
        else:
            out.append(_SOURCES.get(node) or re.escape(node))
    return [unit for unit in out if unit]


@cache
def _group(group: Group) -> str:
    options = sorted(("".join(_units(option)) for option in group.options), key=len, reverse=True)
    return f"(?:{'|'.join(options)}){'?' * group.optional}"


def _rendered(trie: _Trie) -> str:
    options = [unit + _rendered(rest) for unit, rest in trie.items() if unit]
    options += [""] if "" in trie else []
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _edge(kinds: set[bool], unless: str) -> str:
    """The edge of a word beside a letter of an alphabet; where the letter may also be another sign, that is allowed for."""
    return "" if True not in kinds else r"\b" if False not in kinds else rf"(?:\b|{unless})"


def _is_letter(sign: "str | Group") -> bool:
    return isinstance(sign, str) and (sign in (_ENDING, _WORD) or (sign.isalnum() and not _UNSPACED.match(sign)))


def _firsts(phrase: Phrase) -> set[bool]:
    """Whether what a phrase begins with are letters of an alphabet."""
    return _kinds(phrase, _firsts)


def _lasts(phrase: Phrase) -> set[bool]:
    """The same for what it ends with."""
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


# -- what is certain of a phrase -----------------------------------------------------------------


def _written(phrase: Phrase) -> Iterator[tuple[str, bool]]:
    """The texts that a phrase may begin with, up to a length; whether the phrase ends there."""
    stack: list[tuple[str, Phrase]] = [("", phrase)]
    while stack:
        text, rest = stack.pop()
        while rest and isinstance(first := rest[0], str) and len(text) < _LONGEST_OPENING:
            if first not in (_BLANK, _APOSTROPHE) and first in _VARIABLE:
                break
            text, rest = text + first, rest[1:]
        if rest and isinstance(group := rest[0], Group) and len(text) < _LONGEST_OPENING:
            stack += [(text, option + rest[1:]) for option in group.options]
            stack += [(text, rest[1:])] if group.optional else []
        else:
            yield text, not rest


def _tell(phrase: Phrase) -> set[str]:
    """Texts one of which is in whatever the phrase matches, the shortest of them as long as can be."""
    found: list[set[str]] = [set(_runs(phrase))]
    found[0] = {max(found[0], key=len)} if found[0] else set()
    for node in phrase:
        if isinstance(node, Group) and not node.optional:
            inner = [_tell(option) for option in node.options]
            if all(inner):
                found.append(set().union(*inner))
    return max(found, key=lambda texts: min(map(len, texts), default=0))


def _runs(phrase: Phrase) -> Iterator[str]:
    """The stretches of certain characters in a phrase, without blanks at their ends."""
    run = ""
    for node in (*phrase, _GAP):
        if isinstance(node, str) and (node == _BLANK or node not in _VARIABLE):
            run += node
            continue
        if len(run.strip()) >= _LEAST_TELL:
            yield run.strip()
        run = ""
