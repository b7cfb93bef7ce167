"""How the names of the offered tools are formed: their conventions, their verbs, and how similar other names are.

Takes the offered names once; then compares any other name with them. It does not look at the text around a name. The
verbs are data: the lists `mention.verbs`, `verbs_or_nouns`, `nouns_or_verbs` and `agents` of `recover/phrases`.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal

from trueup.recover.words import words
from trueup.verdict.likeness import name_words
from trueup.verdict.patterns import lazy_regex

Convention = Literal["snake", "camel", "pascal", "kebab", "dotted", "word"]
# How much a name looks like a tool's: not at all (0), it names a doer or an action (1), it has a verb (2), it has a
# verb of the offered names or almost equals one of them (3).
Likeness = Literal[0, 1, 2, 3]
DOER: Likeness = 1
VERB: Likeness = 2
SHARED: Likeness = 3

# Words for fields only. After a verb they make the name a field too: `create_date`, `ping_interval_sec`.
_MEASURES = frozenset(
    "id ids at by on count num number date dates time times rate rates size ms sec secs seconds timeout interval limit offset flag "
    "enabled required only max min total reason token threshold ts timestamp factor amount fee retries".split()
)
# Words for states only: `send_failed`.
_STATES = frozenset(
    "pending failed done needed error success completed complete expired denied missing invalid unknown".split()
)
# Words in the names of tools that work on code. Most other names that such an assistant mentions are names in that
# code.
_OF_CODE = frozenset("code tests repo grep symbol symbols git commit diff patch lint".split())
# Verbs that read or change such a field: `get_time`, `check_id`.
_ASKING = frozenset(
    "get set check fetch find verify validate calculate compute retrieve convert show estimate measure count list".split()
)
_ATTRIBUTES = _MEASURES | frozenset(
    "in type types key keys name names value values path paths url urls uri price prices term terms string strings access level mode "
    "index title version source case point free balancer runner engine parser builder loader manager handler helper worker button".split()
)
_DATA = _ATTRIBUTES | frozenset(
    "order code codes status state field fields column columns items item line lines page pages body file files dir log logs result "
    "results summary history text data list table entry entries response options settings config details".split()
)
# After a verb these make another word: `check_in`, `set-up`, `read-only`, `get_started`.
_PARTICLES = frozenset(
    "in out up down off over back to of as it this that there started together ended driven based protected ready bye top aside source".split()
)
# Compounds: two words that are usually written as one.
_COMPOUNDS = frozenset(
    "checklist checkbox checkpoint checkmark checksum playlist playground playback turnover turnout showroom watchdog watchlist copyright "
    "printout pushbutton pullover lookout runtime runbook buildup callback payload payroll bookmark startup stopwatch logbook getaway setpoint".split()
)
# Between the words of a phrase: `set-and-forget`.
_JOINING = frozenset("and or the of as you by a me".split())
# Before a verb these make a switch or a measure: `is_get`, `last_check_date`.
_ADVERBS = frozenset(
    "is has can should must on no not do to allow auto before after max min last first next pre post skip full "
    "type null default total num slow".split()
)
# Routine checks of programs: `unit_test`, `health_check`.
_ROUTINES = frozenset("unit load health smoke spell sanity".split())
_FILES = frozenset(
    "py js ts tsx jsx md txt json jsonl yaml yml csv doc docx pdf html htm css xml toml ini cfg conf log sh bat exe zip gz tar png jpg "
    "jpeg gif svg sql java go rs c h cpp rb php xls xlsx ppt pptx com org net io dev edu gov lock env ipynb parquet".split()
)
# First parts of dotted names in programs.
_MODULES = frozenset(
    "os sys np pd plt df json requests re math random time datetime console document window array object self this cls app router db "
    "session cursor logging logger torch tf nn std fs path http https axios promise response req res request pandas numpy subprocess "
    "shutil asyncio pytest string collections itertools functools client conn connection model objects spec metadata".split()
)
_FEW, _SEVERAL = 2, 3
_TESTS = frozenset({("first", "test")})  # the names of tests in code, unless an offered name begins like that
_HUMP = lazy_regex(r"[a-z0-9][A-Z]")
_NEAR = 70.0


def convention(name: str) -> Convention:
    """How a name joins its words.

    >>> [convention(name) for name in ("get_ip", "getIp", "GetIp", "get-ip", "net.get_ip", "ping")]
    ['snake', 'camel', 'pascal', 'kebab', 'dotted', 'word']
    """
    if "." in name:
        return "dotted"
    if "_" in name:
        return "snake"
    if "-" in name:
        return "kebab"
    if not _HUMP.search(name):
        return "word"
    return "pascal" if name[0].isupper() else "camel"


def is_file(name: str) -> bool:
    """Whether a dotted name is a file or a host."""
    return name.rpartition(".")[2].lower() in _FILES


def has_verb(name: str, likeness: Likeness) -> bool:
    """Whether a name has a verb or consists of one; the names of tests have one, too."""
    return likeness > 0 or bool(_verbs(name))


class Naming:
    """The patterns that the offered names share.

    >>> net = Naming(["check_adapter_status", "get_ip_config"])
    >>> [net.likeness(name) for name in ("get_route_table", "reset_router", "wifi_scan", "created_at")]
    [3, 2, 1, 0]
    >>> net.likeness("chek_adapter_status"), net.ends_alike("wifi_status")
    (3, True)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        kinds = [convention(name) for name in self._names]
        self.conventions: frozenset[Convention] = frozenset(kinds)
        self.mostly_words: bool = kinds.count("word") * 2 > len(kinds)
        self.words: frozenset[str] = frozenset(
            word for name, kind in zip(self._names, kinds, strict=True) if kind != "word" for word in name_words(name)
        )

    def likeness(self, name: str) -> Likeness:
        """How much a name looks like a tool's."""
        space = name.rpartition(".")[0]
        if space and space in self._spaces:
            return SHARED
        if space.partition(".")[0].lower() in _MODULES:
            return 0
        found = _verbs(name)
        if found & self._verbs or self._is_nearly_offered(name):
            return SHARED
        if found and not found <= _TESTS:
            return VERB
        return DOER if _is_a_doer(name) or (found and not self.is_about_code) else 0

    def is_usual(self, kind: Convention) -> bool:
        """Whether tools may be named like this: like the offered ones, or in a common form if those are one word."""
        return kind in self.conventions or (kind in ("snake", "camel") and self.conventions == {"word"})

    def ends_alike(self, name: str) -> bool:
        """Whether the first or last word of a name is the first or last word of an offered name."""
        return not self._ends.isdisjoint(_ends(name))

    @cached_property
    def is_about_code(self) -> bool:
        """Whether the offered tools work on code."""
        return any(not _OF_CODE.isdisjoint(name_words(name)) for name in self._names)

    @cached_property
    def _spaces(self) -> frozenset[str]:
        """The part of the offered names before the last dot."""
        return frozenset(name.rpartition(".")[0] for name in self._names if "." in name)

    @cached_property
    def _verbs(self) -> frozenset[tuple[str, str]]:
        """The verbs of the offered names, each with its position."""
        return frozenset(verb for name in self._names for verb in _verbs(name))

    @cached_property
    def _ends(self) -> frozenset[tuple[str, str]]:
        return frozenset(end for name in self._names for end in _ends(name))

    @cached_property
    def _all_but_one(self) -> dict[frozenset[str], list[str]]:
        """The words of each offered name without one word, with that word; and all its words, with nothing."""
        found: dict[frozenset[str], list[str]] = {}
        for name in self._names:
            for rest, word in _parted(name):
                found.setdefault(rest, []).append(word)
        return found

    def _is_nearly_offered(self, name: str) -> bool:
        """Whether a name is an offered one with its words in another order, or with one word misspelled."""
        for rest, word in _parted(name):
            for other in self._all_but_one.get(rest, ()):
                if word == other or (word and other and _misspelt(word, other)):
                    return True
        return False


def _parted(name: str) -> Iterator[tuple[frozenset[str], str]]:
    words_of = name_words(name)
    if not _FEW <= len(words_of) <= 8:
        return
    yield frozenset(words_of), ""
    for at, word in enumerate(words_of):
        yield frozenset((*words_of[:at], *words_of[at + 1 :])), word


def _misspelt(word: str, other: str) -> bool:
    from rapidfuzz import fuzz  # loaded only for a wrong name

    return min(len(word), len(other)) > _SEVERAL and fuzz.ratio(word, other) >= _NEAR


def _verbs(name: str) -> frozenset[tuple[str, str]]:
    """The verb of a name, and its position: `get_ip`, `user.create`, `order_cancel`, `github_create_issue`."""
    names = name_words(name.rpartition(".")[2])
    if not names or (len(names) == 1 and "." not in name):
        return frozenset()
    first, last = names[0], names[-1]
    sure = words("mention.verbs")
    if len(names) > 1 and (last in _STATES or (last in _MEASURES and first not in _ASKING)):
        return frozenset()
    if not _JOINING.isdisjoint(names) or (len(names) == _FEW and (last in _PARTICLES or first + last in _COMPOUNDS)):
        return frozenset()
    if _begins_with_a_verb(first, last):
        return frozenset({("first", first)})
    if len(names) >= _SEVERAL and names[1] in sure and first not in _ADVERBS:
        return frozenset({("second", names[1])})
    return frozenset({("last", last)}) if last in sure and first not in _ADVERBS else frozenset()


def _begins_with_a_verb(first: str, last: str) -> bool:
    """Whether the first word of a name is a verb, as far as the last word shows."""
    if first in words("mention.verbs"):
        return True
    noun = _ATTRIBUTES if first in words("mention.verbs_or_nouns") else _DATA
    return last not in noun and (first in words("mention.verbs_or_nouns") or first in words("mention.nouns_or_verbs"))


def _is_a_doer(name: str) -> bool:
    """Whether a name ends with a doer or an action: `unit_converter`, `wifi_scan`."""
    names = name_words(name)
    if len(names) < _FEW or names[0] in _ADVERBS or (names[0] in _ROUTINES and names[-1] in ("test", "check")):
        return False
    return names[-1] in words("mention.agents")


def _ends(name: str) -> list[tuple[str, str]]:
    names = name_words(name)
    return [("first", names[0]), ("last", names[-1])] if len(names) > 1 else []
