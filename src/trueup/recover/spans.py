"""Where the parts of a chosen value stand in the text: from the tree of the text, or from the form that it was read from."""

from trueup.recover.aims import Aims
from trueup.recover.choose import Reading
from trueup.recover.json.frames import parts_of
from trueup.verdict.paths import Parts


class Spans:
    """Where parts of a chosen value stand in the text."""

    __slots__ = ("_base", "_candidate", "_tree")

    def __init__(self, text: str, reading: Reading, aims: Aims) -> None:
        from trueup.recover.json.tree import Tree  # with the parser, loaded when somebody asks where a part stands

        candidate = self._candidate = reading.candidate
        self._base = reading.base
        clean = not candidate.codes
        is_container = isinstance(candidate.value, dict | list)
        is_json = candidate.form == "json" and candidate.places is None and is_container
        start = candidate.spans[0][0]
        self._tree = Tree(text, start, candidate.end, aims.known, aims.max_depth, clean) if is_json else None

    def of(self, parts: Parts, code: str = "") -> tuple[int, int]:
        """The place of a part, or of what lies nearest around it."""
        candidate, where = self._candidate, (*self._base, *parts)
        found = self._tree.span(where, code) if self._tree is not None and where else None
        places = candidate.places if self._tree is None else None
        while places and found is None and where:
            found = places.get(where)
            where = where[:-1]
        return found or (candidate.spans[0][0], candidate.end)


def path_at(text: str, offset: int) -> Parts:
    """The path of what stands at an offset of a text that is JSON."""
    from trueup.recover.json.tree import nodes_at  # as above

    return parts_of(nodes_at(text, [(offset, False)])[0])
