"""Names of tools in prose that the contract does not offer.

Takes a text, the offered tools and the contract's settings; yields a finding for each such name. A name that is formed
like the offered ones (`naming`) counts unless its surroundings say otherwise (`name_context`); any other name counts if its
surroundings say that it is a tool, or if it is in a list of tools (`name_lists`). Arguments and enum values of the offered
tools never count.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from trueup.checks.name_context import NameInContext
from trueup.checks.name_lists import Lists
from trueup.checks.naming import SHARED, Convention, Likeness, Naming, convention, has_verb, is_file
from trueup.checks.stretches import matches
from trueup.checks.toolset import Toolset
from trueup.recover.words import pattern, small
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex

_LOW, _ANY = "a-zß-öø-ÿ", "A-Za-zÀ-ÖØ-öø-ÿ0-9_"
_SNAKE = rf"[{_LOW}][{_LOW}0-9]{{0,40}}+(?:_[{_LOW}0-9]{{1,40}}+){{1,8}}"
_CAMEL = rf"[{_LOW}][{_LOW}0-9]{{1,40}}+(?:[A-Z]{{1,4}}[{_LOW}0-9]{{1,40}}+){{1,8}}"
_PASCAL = rf"(?:[A-Z][{_LOW}0-9]{{1,40}}+){{2,8}}"
_KEBAB = rf"[{_LOW}][{_LOW}0-9]{{0,40}}+(?:-[{_LOW}0-9]{{1,40}}+){{1,6}}"
_DOTTED = rf"[{_LOW}][{_ANY}]{{1,40}}+(?:\.[{_LOW}][{_ANY}]{{1,40}}+){{1,4}}"
_TOKEN = rf"[{_LOW}][{_ANY}]{{1,60}}+(?:[.-][{_ANY}]{{1,60}}+){{0,6}}"
_START = rf"(?<![{_ANY}.\-/\\@#$<])(?<!<\|)"  # `<use_mcp_tool>` and `<|tool_call|>` are marks
_END = rf"(?![{_ANY}.\-/\\]{{0,80}}[{_ANY}/\\])"  # `test_all.py` and `src/my_file` are files
_NAME_GATE = r"[^ ][_.-][^ ]|[a-z0-9][A-Z]"
_HUMP = lazy_regex(r"[a-z][A-Z]")
# One word next to the word "tool": in backticks, or before it if it is hardly an adjective. If most tools have names of
# one word, backticks are enough.
_NOUN = r"(?<![\w-])(?!<mention.vague>)([a-z]{3,40}+)(?<!ic)(?<!al)(?<!ive)(?<!ble)(?<!ful)(?<!ous)(?<!ary)(?<!ing)(?<!ed)(?<!ent)"
_WORDS_OF_TOOLS = rf"{_NOUN} {{1,2}}(?=<mention.tool>)|`([a-z]{{3,40}})`(?= {{0,2}}<mention.tool>)|<mention.tool> {{0,2}}`([a-z]{{3,40}})`"
_WORDS = rf"{_NOUN} {{1,2}}(?=<mention.tool>)|`([a-z]{{3,40}})`"
_BRANDS = frozenset(
    "PayPal OpenAI OpenStreetMap OpenVPN OpenSSL OpenShift SharePoint SendGrid PlayStation TestFlight CheckPoint GetResponse FindBugs AddThis "
    "ReadTheDocs RunPod PrintNightmare CallKit DropBox".split()
)
_MAX = 10
_MOST_LOOKED = 2_000  # names whose surroundings are read


class Mentions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How prose is searched for names of tools that are not offered.

    - `prefixes`: a name that begins with one of them is reported wherever it is; empty: none.
    - `suffixes`: a name that ends with one of them is reported, too; empty: none.
    - `patterns`: a name that matches one of these patterns as a whole is reported, too; empty: none.
    - `level`: the level of the finding.
    - `ignore`: names that are never reported; `*` stands for any characters. Empty: none.
    """

    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    level: Level = "warning"
    ignore: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        """Whether `name` is reported wherever it is."""
        if (self.prefixes and name.startswith(self.prefixes)) or (self.suffixes and name.endswith(self.suffixes)):
            return True
        return any(_compiled(source).fullmatch(name) for source in self.patterns)

    def ignores(self, name: str) -> bool:
        """Whether `name` is never reported."""
        return any(fnmatchcase(name, one) for one in self.ignore)


USUAL = Mentions()


def unknown_names(
    text: str, tools: Toolset, asked: Mentions = USUAL, defined: AbstractSet[str] = frozenset()
) -> Iterator[Finding]:
    """A finding for each name that a text uses like a tool's and that is not offered; ten at most.

    `defined` are the names that code in the same reply defines; they are not reported.
    """
    for name, span in islice(_spoken_of(text, tools, asked, defined), _MAX):
        yield undefined(name, span, tools, asked.level)


def undefined(name: str, span: tuple[int, int], tools: Toolset, level: Level = "warning") -> Finding:
    """The finding that a text mentions a tool that is not offered."""
    closest = tools.closest(name)
    near = f"; the closest is {closest!r}" if closest else ""
    message = f"The text mentions a tool {name!r} that is not defined{near}"
    hint = f"Mention only offered tools{f', such as {closest!r}' if closest else ''}."
    said = finding("T011", "$", message, span, {"name": name, "closest": closest}, hint)
    return said if said.level == level else msgspec.structs.replace(said, level=level)


def _spoken_of(
    text: str, tools: Toolset, asked: Mentions, defined: AbstractSet[str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names that a text uses like those of tools, each with its first position."""
    done: dict[str, bool] = {}  # names that are not checked, or no longer
    lists = Lists(text, tools.tools.__contains__)
    looked = 0
    for name, start in _candidates(text, tools, asked):
        if name not in done:
            done[name] = (
                bool(tools.by_convention(name)) or name in tools.words or name in defined or asked.ignores(name)
            )
        if done[name]:
            continue
        looked += 1
        if looked > _MOST_LOOKED:
            break
        if asked.wants(name) or _is_spoken_of(text, start, name, tools, lists):
            done[name] = True
            yield name, (start, start + len(name))


def _is_spoken_of(text: str, start: int, name: str, tools: Toolset, lists: Lists) -> bool:
    """Whether a text uses a name as a tool's: by how it is formed, and by the words around it."""
    naming, kind = tools.naming, convention(name)
    likeness = naming.likeness(name)
    if not _may_be_a_tool(name, kind, likeness, naming):
        return False
    place = NameInContext(text, start, start + len(name))
    if place.is_no_tool():
        return False
    if kind == "word":
        return place.is_a_tool_of_the_speaker()
    usual = naming.is_usual(kind)
    bare = usual and (likeness == SHARED or not naming.is_about_code)
    if kind == "kebab" and likeness != SHARED:  # "open-ended"; a sentence begins with a capital, or with a name
        bare = bare and place.begins_a_sentence()
    if place.speaks_of_a_tool(likeness, usual=bare):
        return True
    if naming.ends_alike(name) and (place.stands_alone() or place.gives_results()):
        return True
    if usual and has_verb(name, likeness) and lists.hold(start, start + len(name)):
        return True
    return tools.is_made_alike(name)


def _may_be_a_tool(name: str, kind: Convention, likeness: Likeness, naming: Naming) -> bool:
    """Whether a name may belong to a tool at all, in any surroundings."""
    if kind == "snake":
        return _has_two_words(name)
    if kind == "dotted":
        return kind in naming.conventions and not is_file(name)
    if kind == "kebab":  # words are joined like that in any prose
        return kind in naming.conventions and (likeness > 0 or naming.ends_alike(name))
    return kind != "pascal" or (likeness > 0 and name not in _BRANDS)


def _has_two_words(name: str) -> bool:
    """Whether a name has two words: `utf_8`, `a_1` and `get_x` are not the names of tools."""
    return sum(len(part) > 1 and part[0].isalpha() for part in name.split("_")) > 1


def _candidates(text: str, tools: Toolset, asked: Mentions) -> Iterator[tuple[str, int]]:
    """Everything in the text that looks like a name, with its position."""
    naming = tools.naming
    kinds = naming.conventions
    every = bool(asked.prefixes or asked.suffixes or asked.patterns)
    if every or "_" in text or _HUMP.search(text) or not kinds.isdisjoint(("kebab", "dotted")):
        names = _names(kinds, every=every)
        for found in matches(names, text, "" if every else _NAME_GATE):
            if convention(found[0]) != "word" or asked.wants(found[0]):
                yield found[0], found.start()
    if naming.mostly_words or "tool" in text or "`" in text:
        for found in pattern(_WORDS if naming.mostly_words else _WORDS_OF_TOOLS).finditer(small(text)):
            group = found.lastindex or 1
            if found[group] not in naming.words:  # "the ping tool" is `ping_gateway`
                yield found[group], found.start(group)


@lru_cache
def _names(kinds: frozenset[Convention], *, every: bool) -> re.Pattern[str]:
    if every:
        return re.compile(f"{_START}{_TOKEN}{_END}")
    rare: dict[Convention, str] = {"dotted": _DOTTED, "kebab": _KEBAB, "pascal": _PASCAL}
    sources = [*(source for kind, source in rare.items() if kind in kinds), _SNAKE, _CAMEL]
    return re.compile(f"{_START}(?:{'|'.join(source + _END for source in sources)})")


def pattern_fault(source: str) -> str:
    """Why a pattern cannot be used; empty if it can.

    >>> pattern_fault(r"net_\\w+"), pattern_fault("(?=a)")
    ('', 'invalid perl operator: (?=')
    """
    import re2

    try:
        _compiled(source)
    except re2.error as error:
        said = error.args[0] if error.args else error
        return said.decode() if isinstance(said, bytes) else str(said)
    return ""


@lru_cache(maxsize=256)
def _compiled(source: str) -> Any:
    import re2  # loaded only if a contract has its own patterns

    options = re2.Options()
    options.log_errors = False
    return re2.compile(source, options)
