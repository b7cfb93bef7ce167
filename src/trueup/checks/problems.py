"""Mistakes in the rules of a contract, each with its place, so that a lint can point at the line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.verdict.likeness import nearest

Where = tuple[str | int, ...]


def closest(word: Any, known: Iterable[Any]) -> str:
    """A question that names the nearest of the known words, if one is near.

    >>> closest("min_texts", ["no_empty", "min_text"])
    "; did you mean 'min_text'?"
    """
    near = nearest(str(word), (other for other in known if isinstance(other, str)))
    return f"; did you mean {near!r}?" if near else ""


def takes(table: Any, known: Iterable[str]) -> str:
    """The options of a table, and the name that its first unknown key likely means.

    >>> takes({"requird": True}, ["required", "types"])
    "it takes required, types; did you mean 'required'?"
    """
    names = [*known]
    near = (closest(key, names) for key in (table if isinstance(table, Mapping) else ()) if key not in names)
    return f"it takes {', '.join(names)}{next(near, '')}"


class Problem(NamedTuple):
    """One mistake: its place in the section, a message, the column inside an expression, and what was likely meant."""

    where: Where
    message: str
    column: int = 0
    suggestion: str = ""

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.where).lstrip(".")
        column = f" (column {self.column})" if self.column else ""
        meant = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"{place}: {self.message}{column}{meant}" if place else f"{self.message}{meant}"


class BadRules(ValueError):
    """Rules that cannot be compiled; `problems` has all mistakes."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems[:5])) + (" …" if len(problems) > 5 else ""))
        self.problems = tuple(problems)
