"""Matches names regardless of case, spacing, accents and punctuation, and by alias.

Takes the existing names once; for a spelling, returns the one name that it means, or None if two fit.
Signs with a meaning (`+ < > = # %`, a point or a dash between digits) are never dropped.
"""

from collections.abc import Iterable, Mapping, Sequence

from trueup.verdict.patterns import lazy_regex

Aliases = Mapping[str, Sequence[str]]

MAX_NAME = 256

_QUOTES = "\"'`“”‘’«»„"
# A leading point or dash may belong to a number; a trailing one never does.
_BEFORE = _QUOTES + "*_()[]{}:;,!?¿¡ \t\r\n\xa0"
_AFTER = _BEFORE + ".-"
_BULLET = lazy_regex(r"[-–—•]\s+")
# A separator next to a letter has no meaning; between two digits it has one (`1-5`, `1.5`).
_SEPARATOR = lazy_regex(r"(?<=[^\W\d_])[\s_.‐-–-]+|[\s_.‐-–-]+(?=[^\W\d_])")
_CHUNK = lazy_regex(r"[^\s()\[\]{}:;,\"“”«»*`|=/\\!?]+")
_JOINT = lazy_regex(r"(?<=[^\W\d_])[_-]+|[_-]+(?=[^\W\d_])")


def fold(text: str) -> str:
    """The loosest form of a name, without case, accents, separators and anything around it.

    >>> fold(" First-Name: "), fold("firstName"), fold("**Número.**")
    ('firstname', 'firstname', 'numero')
    >>> fold("<5"), fold("1.5"), fold("-1")
    ('<5', '1.5', '-1')
    """
    return _SEPARATOR.sub("", _BULLET.sub("", plain(text).lstrip(_BEFORE).rstrip(_AFTER), count=1))


def words(text: str) -> list[str]:
    """The words of a sentence, folded; signs with a meaning are kept.

    >>> words("**In-progress** (isn't it?)"), words(">5 of C++")
    (['in', 'progress', "isn't", 'it'], ['>5', 'of', 'c++'])
    """
    found: list[str] = []
    for chunk in _CHUNK.findall(plain(text)):
        found.extend(part for part in _JOINT.split(chunk.lstrip(_BEFORE).rstrip(_AFTER)) if part)
    return found


def plain(text: str) -> str:
    """A text without case and without accents."""
    if text.isascii():
        return text.lower()
    import unicodedata  # loaded by the first text with letters beyond ASCII

    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


class SimilarNames:
    """A set of names that can be found by similar spellings."""

    __slots__ = ("_aliases", "_by_case", "_by_fold", "_exact")

    def __init__(self, names: Iterable[str], aliases: Aliases) -> None:
        self._by_case: dict[str, str | None] = {}
        self._by_fold: dict[str, str | None] = {}
        self._exact: set[str] = set()
        self._aliases: set[str] = set()
        for name in names:
            self._exact.add(name)
            for spelling in (name, *aliases.get(name, ())):
                _enter(self._by_case, spelling.strip().casefold(), name)
                _enter(self._by_fold, fold(spelling), name)
            self._aliases.update(map(fold, aliases.get(name, ())))

    def is_alias(self, spelling: str) -> bool:
        """Whether a spelling is a configured alias, not only a similar spelling."""
        return bool(self._aliases) and spelling not in self._exact and fold(spelling) in self._aliases

    def match(self, spelling: str) -> str | None:
        """The one name that a spelling means: first exactly, then apart from case, then by its loosest form."""
        if len(spelling) > MAX_NAME:
            return None
        bare = spelling.lstrip(_BEFORE).rstrip(_AFTER)
        if bare in self._exact:
            return bare
        by_case = self._by_case.get(spelling.strip().casefold())
        return by_case if by_case is not None else self._by_fold.get(fold(spelling))


def _enter(table: dict[str, str | None], spelling: str, name: str) -> None:
    if spelling:
        table[spelling] = name if table.get(spelling, name) == name else None
