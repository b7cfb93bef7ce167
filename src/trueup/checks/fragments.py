r"""Groups inside patterns: `{days}` in a pattern matches any term or pattern of the group `days`.

Takes the groups of a contract and a pattern; returns the pattern with each reference written out. Terms match as whole
words. It refuses a reference to an unknown group or to the group itself, and a pattern that grows too long. `\{` is a
plain brace.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.checks.patterns import BadPattern
from trueup.checks.problems import closest
from trueup.verdict.patterns import lazy_regex

_REFERENCE = lazy_regex(r"\\[pPx]\{[^{}]*\}|\\.|\{([^\W\d]\w*)\}", re.DOTALL)  # \p{L} is a class, not a group
_LONGEST = 50_000  # characters of a pattern after everything is written out
_KEYS = (("term", True), ("terms", True), ("pattern", False), ("patterns", False))


class Fragments:
    r"""The groups of one contract, for use inside patterns.

    >>> Fragments({"day": ["lunes", "martes"]}).written_out(r"el {day} a las \d{1,2}")
    'el (?:\\blunes\\b|\\bmartes\\b) a las \\d{1,2}'
    """

    def __init__(self, groups: Mapping[str, Any]) -> None:
        self._groups = groups

    def written_out(self, pattern: str, inside: tuple[str, ...] = ()) -> str:
        """The pattern with each reference replaced; `inside` has the names of the groups that are being written out."""

        def replaced(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return found[0]
            if name not in self._groups:
                near = closest(name, self._groups).rstrip("?")
                raise BadPattern(rf"there is no group {name!r}{near}; for plain braces write \{{{name}\}}")
            if name in inside:
                raise BadPattern(f"the group {name!r} refers to itself")
            return f"(?:{'|'.join(self._alternatives(name, (*inside, name)))})"

        text = _REFERENCE.sub(replaced, pattern)
        if len(text) > _LONGEST:
            raise BadPattern(f"with its groups written out it has more than {_LONGEST} characters")
        return text

    def _alternatives(self, name: str, inside: tuple[str, ...]) -> Iterator[str]:
        body = self._groups[name]
        fields = body if isinstance(body, Mapping) else {"terms": body}
        for key, is_term in _KEYS:
            value = fields.get(key)
            for text in [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
                yield _whole_word(str(text)) if is_term else self.written_out(str(text), inside)


def _whole_word(term: str) -> str:
    text = term.strip()
    escaped = re.sub(r"([^\w\s])", r"\\\1", text)
    return (r"\b" if text[:1].isalnum() else "") + escaped + (r"\b" if text[-1:].isalnum() else "")
