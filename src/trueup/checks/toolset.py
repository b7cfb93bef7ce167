"""Toolset: the tools a contract offers, looked up by name, by convention and by likeness.

Made once per contract; a look-up costs the same for three tools and for ten thousand.
"""

import unicodedata
from collections.abc import Iterable

from rapidfuzz import fuzz, process

from trueup.verdict.tool import Tool

_PREFIXES = ("functions.", "function.", "tools.", "tool.", "proxy_", "default_api.", "default_api_", "mcp__")
_SPLITS = ("__", ".", "/", ":", "::")
_CLOSE = 75
_LOOK_ALIKE = str.maketrans("аеорсухіѕԁӏԛԝһјΑΒΕΖΗΙΚΜΝΟΡΤΥΧοⅼ０１", "aeopcyxisdlqwhjABEZHIKMNOPTYXol01")


def fold(name: str) -> str:
    """A name without case and separators.

    >>> fold("SearchTool") == fold("search_tool") == fold("search-tool")
    True
    """
    return "".join(c for c in name.casefold() if c.isalnum())


def skeleton(name: str) -> str:
    """A name as it looks: compatibility forms, look-alike letters and invisible characters made plain."""
    plain = unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKE)
    kept = (c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    return "".join(c for c in kept if unicodedata.category(c) not in ("Cf", "Cc", "Zs"))


class Toolset:
    """The offered tools."""

    __slots__ = ("_folded", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self.tools:
                raise ValueError(f"two tools are named {tool.name!r}; names must differ")
            self.tools[tool.name] = tool
        self._folded: dict[str, list[str]] | None = None

    def by_convention(self, name: str) -> list[str]:
        """The tools that a name means by convention: a prefix, a namespace, another way of writing words."""
        if not name.isascii():
            return []
        table = self._by_fold()
        for form in self._forms(name):
            if form in self.tools:
                return [form]
            found = table.get(fold(form))
            if found:
                return found
        return []

    def _forms(self, name: str) -> Iterable[str]:
        """A name, then what is left of it without prefix, counter and namespace."""
        yield name
        core = name
        for prefix in _PREFIXES:
            core = core.removeprefix(prefix)
        head, _, count = core.rpartition(":")
        if head and count.isdigit():
            core = head
        if core != name:
            yield core
        for split in _SPLITS:
            last = core.rpartition(split)[2]
            if last and last != core:
                yield last

    def _by_fold(self) -> dict[str, list[str]]:
        if self._folded is None:
            table: dict[str, list[str]] = {}
            for name in self.tools:
                table.setdefault(fold(name), []).append(name)
                for split in ("__", "."):
                    last = name.rpartition(split)[2]
                    if last and last != name:
                        table.setdefault(fold(last), []).append(name)
            self._folded = table
        return self._folded

    def offers(self, name: str) -> bool:
        """Whether a name, as written or by convention, means exactly one offered tool."""
        return name in self.tools or len(self.by_convention(name)) == 1

    def looks_like(self, name: str) -> str | None:
        """The offered tool that a name with foreign or invisible characters only looks like."""
        plain = skeleton(name)
        return plain if plain != name and plain in self.tools else None

    def closest(self, name: str) -> str | None:
        """The offered name nearest to this one, if one is near.

        >>> Toolset([Tool("check_adapter_status")]).closest("check_adaptor_status")
        'check_adapter_status'
        """
        found = process.extractOne(name, self.tools.keys(), scorer=fuzz.ratio, score_cutoff=_CLOSE)
        return found[0] if found else None
