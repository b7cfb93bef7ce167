"""`terms`: words that must not occur in a reply, and words that must. A reply enters; forbidden terms with their places and missing terms leave.

Terms are matched as whole words without regard to case, accents and look-alike letters, as the terms of states are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.checks.folding import Folded
from trueup.checks.matching import Matcher
from trueup.checks.patterns import BadPattern, term_source
from trueup.shelf.options import Options
from trueup.shelf.subject import Look, Seen, Told


class Terms:
    """A compiled list of terms."""

    __slots__ = ("forbidden", "matcher", "required")

    def __init__(self, forbidden: tuple[str, ...], required: tuple[str, ...]) -> None:
        self.forbidden = forbidden
        self.required = required
        self.matcher = Matcher([term_source(term) for term in (*forbidden, *required)])

    def look(self, seen: Seen) -> Iterator[Told]:
        """What a reply holds or lacks."""
        folded = Folded(seen.text)
        present = set(self.matcher.which(folded.data))
        for index in sorted(present):
            if index < len(self.forbidden):
                term = self.forbidden[index]
                for place in self.matcher.places(index, folded.data):
                    if place is not None:
                        yield Told(
                            f"The reply says {term!r}", f"Do not write {term!r}.", folded.span(*place), {"term": term}
                        )
        for index, term in enumerate(self.required, len(self.forbidden)):
            if index not in present:
                yield Told(f"The reply does not say {term!r}", f"Write {term!r}.", None, {"term": term}, "H010")


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `forbid` and `require` list terms, and a `file` holds them as data.

    >>> look = compile_check({"forbid": ["guarantee"], "require": ["terms apply"]})
    >>> [told.message for told in look(Seen("We GUARANTEE it."))]
    ["The reply says 'guarantee'", "The reply does not say 'terms apply'"]
    """
    options = Options("terms", given, ("forbid", "require", "file"))
    if given.get("file") is not None:
        raise options.bad("file", "a file is read where the contract is made; give the terms here")
    forbid, require = options.texts("forbid"), options.texts("require")
    if not forbid and not require:
        raise options.bad("forbid", "lists no terms; give forbid, require or file")
    for key, listed in (("forbid", forbid), ("require", require)):
        for term in listed:
            try:
                term_source(term)
            except BadPattern as error:
                raise options.bad(key, f"{term!r:.60} cannot be used: {error}") from None
    return Terms(tuple(dict.fromkeys(forbid)), tuple(dict.fromkeys(require))).look


def read_terms(data: Any) -> dict[str, list[str]]:
    """The terms that a file holds: lines of a text, a list, or a mapping with `forbid` and `require`.

    >>> read_terms("# rivals\\nAcme\\n\\nGlobex\\n")
    {'forbid': ['Acme', 'Globex']}
    """
    if isinstance(data, str):
        lines = (line.strip() for line in data.lstrip("\ufeff").splitlines())
        data = [line for line in lines if line and not line.startswith("#")]
    if isinstance(data, list):
        data = {"forbid": data}
    if not isinstance(data, Mapping) or set(data) - {"forbid", "require"}:
        raise ValueError("a file of terms holds a list, or a mapping with forbid and require")
    for listed in data.values():
        if not isinstance(listed, list) or not all(isinstance(term, str) and term.strip() for term in listed):
            raise ValueError("a file of terms lists texts")
    return {key: list(listed) for key, listed in data.items()}
