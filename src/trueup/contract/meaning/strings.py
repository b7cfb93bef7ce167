"""The strings of a value as one text: takes a value and returns its strings, numbers and names, each with its path.

Ready checks search this text once, no matter how many strings there are; a position in it leads back to the path.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from trueup.verdict.paths import Parts

_BETWEEN = "\n\x00\n"  # before each string: no check matches across it, and each can see where a string starts


class ScalarText(NamedTuple):
    """A string, a number or a name in a value, as text, and its path."""

    path: Parts
    text: str


def leaves_of(value: Any, before: Parts = (), *, names: bool = True) -> list[ScalarText]:
    """Everything in a value that can be read, in order; a member's name has the member's path, and is left out without
    `names`.

    >>> leaves_of({"card": 4111, "to": ["ada"]})[1:]
    [ScalarText(path=('card',), text='4111'), ScalarText(path=('to',), text='to'), ScalarText(path=('to', 0), text='ada')]
    """
    found: list[ScalarText] = []
    todo: list[tuple[Parts, Any]] = [(before, value)]
    while todo:
        path, part = todo.pop()
        if isinstance(part, str):
            found.append(ScalarText(path, part))
        elif isinstance(part, Mapping):
            for key, member in reversed(list(part.items())):
                todo.append(((*path, str(key)), member))
                if names:
                    todo.append(((*path, str(key)), str(key)))
        elif isinstance(part, list | tuple):
            todo += [((*path, index), part[index]) for index in range(len(part) - 1, -1, -1)]
        elif isinstance(part, int | float) and not isinstance(part, bool):
            found.append(ScalarText(path, _number(part)))
    return found


def _number(number: int | float) -> str:
    """A number in digits; a very long one is already in the reply's text."""
    if isinstance(number, float) and number.is_integer() and abs(number) < 1e22:
        number = int(number)
    return "" if isinstance(number, int) and number.bit_length() > 4_000 else str(number)


class Strings:
    """Leaves of a value as one text."""

    __slots__ = ("_leaves", "_starts", "text")

    def __init__(self, leaves: Iterable[ScalarText], wanted: Callable[[Parts], bool] | None = None) -> None:
        self._leaves = [leaf for leaf in leaves if wanted is None or wanted(leaf.path)]
        self._starts: list[int] = []
        at = 0
        for leaf in self._leaves:
            self._starts.append(at)
            at += len(_BETWEEN) + len(leaf.text)
        self.text = "".join(_BETWEEN + leaf.text for leaf in self._leaves)

    def path(self, place: int) -> Parts:
        """The path of the string at a position of the text."""
        return self._leaves[max(0, bisect_right(self._starts, place) - 1)].path
