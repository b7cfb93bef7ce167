"""Toolset: the tools of a contract, looked up by name, by convention and by similarity.

It is made once per contract; a lookup takes the same time for three tools and for ten thousand. Only a name that means
none of them is compared with all of them.
"""

import unicodedata
from collections.abc import Iterable, Iterator

from trueup.checks.naming import Naming
from trueup.verdict.likeness import KnownNames
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.tool import Tool

_PREFIXES = ("functions.", "function.", "tools.", "tool.", "proxy_", "default_api.", "default_api_", "mcp__")
_SPLITS = ("__", ".", "/", ":")
_PLAIN = lazy_regex(r"[A-Za-z0-9_./:\-]+\Z")
# Quotes and brackets around a name, and the tokens that gpt-oss leaves after it.
_AROUND = lazy_regex(r"\A[\"'`]+|(?:<\|[^\n]{0,80})?(?:\(\))?[\"'`]*\Z")
_LONG = 200
_COUNTED = lazy_regex(r"(.+):\d+\Z")
_LOOK_ALIKE = str.maketrans(
    "аВЕеКМНОоРрСсТуХхіІѕЅԁӏԛԝһјЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχıɡɩʟɑօՏսհոցɪⅼⅰⅽⅾⅿ‐‑‒–—−﹘＿﹍﹎",
    "aBEeKMHOoPpCcTyXxiIsSdlqwhjJABEZHIKMNOPTYXaeiknoptuxigilaoSuhngilicdm-------___",
)


def fold(name: str) -> str:
    """A name without case and separators.

    >>> fold("SearchTool") == fold("search_tool") == fold("search-tool")
    True
    """
    return "".join(c for c in name.casefold() if c.isalnum())


def skeleton(name: str) -> str:
    """A name as people see it: compatibility forms, look-alike letters and invisible characters made plain."""
    plain = unicodedata.normalize("NFKC", name.translate(_LOOK_ALIKE)).translate(_LOOK_ALIKE)
    kept = (c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    return "".join(c for c in kept if unicodedata.category(c) not in ("Cf", "Cc", "Zs", "Co", "Cn", "Mn"))


class Toolset:
    """The offered tools."""

    __slots__ = ("_folded", "_known", "_looks", "_naming", "_phrases", "_verbs", "_words", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self.tools:
                raise ValueError(f"two tools are named {tool.name!r}; names must differ")
            self.tools[tool.name] = tool
        self._folded: dict[str, list[str]] | None = None
        self._known: KnownNames | None = None
        self._looks: dict[str, str] | None = None
        self._naming: Naming | None = None
        self._phrases: frozenset[tuple[str, ...]] | None = None
        self._verbs: dict[str, list[str]] | None = None
        self._words: frozenset[str] | None = None

    def by_convention(self, name: str) -> list[str]:
        """The tools that a name means by convention: with a prefix, a namespace, or another way to join words."""
        if not _PLAIN.match(name):  # other letters may only look alike: the rest must be the exact name
            return next(([form] for form in _forms(name) if form in self.tools), [])
        table = self._by_fold()
        for form in _forms(name):
            if form in self.tools:
                return [form]
            found = table.get(fold(form))
            if found:
                return found
        return []

    def _by_fold(self) -> dict[str, list[str]]:
        if self._folded is None:
            table: dict[str, list[str]] = {}
            for name in self.tools:
                for form in dict.fromkeys((fold(name), *(fold(last) for last in _without_namespace(name)))):
                    if form:
                        table.setdefault(form, []).append(name)
            self._folded = table
        return self._folded

    def offers(self, name: str) -> bool:
        """Whether a name, as written or by convention, means exactly one offered tool."""
        return name in self.tools or len(self.by_convention(name)) == 1

    def meant(self, name: str) -> str:
        """The offered name that a name means, or the name itself."""
        if name in self.tools:
            return name
        found = self.by_convention(name)
        return found[0] if len(found) == 1 else name

    def looks_like(self, name: str) -> str | None:
        """The offered tool that a name with foreign or invisible characters looks like."""
        if self._looks is None:
            self._looks = {skeleton(tool): tool for tool in self.tools}
        if name.isascii() and name.isprintable() and " " not in name:
            return None
        return self._looks.get(skeleton(name))

    def closest(self, name: str) -> str | None:
        """The offered name that was likely meant, if one is similar; used only as a suggestion.

        >>> Toolset([Tool("check_adapter_status")]).closest("check_adaptor_status")
        'check_adapter_status'
        """
        forms = _forms(name[:_LONG]) if _PLAIN.match(name) else [name[:_LONG]]
        return next((near for form in forms if (near := self._known_names().nearest(form))), None)

    def misspelt(self, name: str, least: float) -> str | None:
        """The offered name that differs from this one by a few letters at most: `least` percent must be the same."""
        forms = _forms(name[:_LONG]) if _PLAIN.match(name) else [name[:_LONG]]
        return next((near for form in forms if (near := self._known_names().misspelt(form, least))), None)

    def _known_names(self) -> KnownNames:
        if self._known is None:
            self._known = KnownNames(self.tools)
        return self._known

    @property
    def naming(self) -> Naming:
        """The naming of the offered tools."""
        if self._naming is None:
            self._naming = Naming(self.tools)
        return self._naming

    @property
    def phrases(self) -> frozenset[tuple[str, ...]]:
        """How the offered names begin and end: their first two words, their last two, and the first with the last."""
        if self._phrases is None:
            found: set[tuple[str, ...]] = set()
            for name in self.tools:
                words = name.split("_")
                if len(words) > 2:
                    found |= {("start", *words[:2]), ("end", *words[-2:]), ("both", words[0], words[-1])}
            self._phrases = frozenset(found)
        return self._phrases

    def is_made_alike(self, name: str) -> bool:
        """Whether a name begins and ends as an offered name does: three words, two of them in the same places."""
        words = name.split("_")
        return len(words) > 2 and not self.phrases.isdisjoint(
            {("start", *words[:2]), ("end", *words[-2:]), ("both", words[0], words[-1])}
        )

    def by_verb(self, verb: str) -> list[str]:
        """The offered names whose first word is a verb."""
        if self._verbs is None:
            self._verbs = {}
            for name in self.tools:
                self._verbs.setdefault(name.split("_", 1)[0].lower(), []).append(name)
        return self._verbs.get(verb, [])

    @property
    def words(self) -> frozenset[str]:
        """The words of the tools themselves: names of arguments and values of enums, which are not names of tools."""
        if self._words is None:
            self._words = frozenset(word for tool in self.tools.values() for word in _words_of(tool.parameters, 0))
        return self._words


def _forms(name: str) -> Iterator[str]:
    """A name, then the rest of it without prefix, counter and namespace."""
    yield name
    core = name if _PLAIN.match(name) or len(name) > _LONG else _AROUND.sub("", name)
    for prefix in _PREFIXES:
        core = core.removeprefix(prefix)
    counted = _COUNTED.match(core)
    if counted:
        core = counted[1]
    if core != name and core:
        yield core
    yield from _without_namespace(core)


def _without_namespace(name: str) -> Iterator[str]:
    for split in _SPLITS:
        last = name.rpartition(split)[2]
        if last and last != name:
            yield last


def _words_of(schema: object, depth: int) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            if isinstance(item, str):
                yield item
            elif depth < 8:
                yield from _words_of(item, depth + 1)
    elif isinstance(schema, dict) and depth < 8:
        yield from (key for key in schema if isinstance(key, str))
        for value in schema.values():
            yield from _words_of(value, depth + 1)
