"""`terms`: words that must not occur in a reply, and words that must. Takes a reply; returns forbidden terms with their
positions, and missing terms.

Terms are matched as whole words, ignoring case, accents and look-alike letters, in the same way as the terms of states.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.checks.folding import Folded
from trueup.checks.matching import Matcher
from trueup.checks.patterns import BadPattern, term_source
from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding


class TermList:
    """A compiled list of terms."""

    __slots__ = ("forbidden", "matcher", "required")

    def __init__(self, forbidden: tuple[str, ...], required: tuple[str, ...]) -> None:
        self.forbidden = forbidden
        self.required = required
        self.matcher = Matcher([term_source(term) for term in (*forbidden, *required)])

    def look(self, seen: CheckedText) -> Iterator[ReadyFinding]:
        """The forbidden terms in a reply, and the required terms that it lacks."""
        folded = Folded(seen.text)
        present = set(self.matcher.which(folded.data))
        for index in sorted(present):
            if index < len(self.forbidden):
                term = self.forbidden[index]
                for place in self.matcher.places(index, folded.data):
                    if place is not None:
                        yield ReadyFinding(
                            f"The reply contains {term!r}",
                            f"Do not write {term!r}.",
                            folded.span(*place),
                            {"term": term},
                        )
        for index, term in enumerate(self.required, len(self.forbidden)):
            if index not in present:
                yield ReadyFinding(f"The reply lacks {term!r}", f"Write {term!r}.", None, {"term": term}, "H010")


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `forbid` and `require` list terms, and a `file` has them as data.

    >>> look = compile_check({"forbid": ["guarantee"], "require": ["terms apply"]})
    >>> [told.message for told in look(CheckedText("We GUARANTEE it."))]
    ["The reply contains 'guarantee'", "The reply lacks 'terms apply'"]
    """
    options = OptionReader("terms", given, ("forbid", "require", "file"))
    if given.get("file") is not None:
        raise options.bad("file", "a file is read when the contract is created; give the terms here")
    forbid, require = options.texts("forbid"), options.texts("require")
    if not forbid and not require:
        raise options.bad("forbid", "lists no terms; give forbid, require or file")
    for key, listed in (("forbid", forbid), ("require", require)):
        for term in listed:
            try:
                term_source(term)
            except BadPattern as error:
                raise options.bad(key, f"{term!r:.60} cannot be used: {error}") from None
    return TermList(tuple(dict.fromkeys(forbid)), tuple(dict.fromkeys(require))).look


def read_terms(data: Any) -> dict[str, list[str]]:
    """The terms in a file: lines of text, a list, or a mapping with `forbid` and `require`.

    >>> read_terms("# rivals\\nAcme\\n\\nGlobex\\n")
    {'forbid': ['Acme', 'Globex']}
    """
    if isinstance(data, str):
        lines = (line.strip() for line in data.lstrip("\ufeff").splitlines())
        data = [line for line in lines if line and not line.startswith("#")]
    if isinstance(data, list):
        data = {"forbid": data}
    if not isinstance(data, Mapping) or set(data) - {"forbid", "require"}:
        raise ValueError("a file of terms has a list, or a mapping with forbid and require")
    for listed in data.values():
        if not isinstance(listed, list) or not all(isinstance(term, str) and term.strip() for term in listed):
            raise ValueError("the terms in a file must be texts")
    return {key: list(listed) for key, listed in data.items()}
