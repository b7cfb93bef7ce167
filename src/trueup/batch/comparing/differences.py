"""Finds the paths at which two JSON values differ, with the value of each side.

Numbers are equal if their values are (`1` and `1.0`); `true` is not a number. Elements of arrays are compared by position.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.verdict.paths import Parts

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "absent"})()


class Difference(NamedTuple):
    """A path at which two values differ; a side without a value there has `ABSENT`."""

    path: Parts
    before: Any
    now: Any

    @property
    def kind(self) -> str:
        """`added`, `removed` or `changed`."""
        if self.before is ABSENT:
            return "added"
        return "removed" if self.now is ABSENT else "changed"


def differences(before: Any, now: Any) -> Iterator[Difference]:
    """The paths at which two values differ, each as deep as possible.

    >>> [(found.path, found.kind) for found in differences({"a": [1, 2], "b": 1}, {"a": [1, 3], "c": True})]
    [(('c',), 'added'), (('b',), 'removed'), (('a', 1), 'changed')]
    """
    stack: list[Difference] = [Difference((), before, now)]
    while stack:
        pair = stack.pop()
        path, left, right = pair
        if isinstance(left, dict) and isinstance(right, dict):
            names = [*left, *(name for name in right if name not in left)]
            stack += (Difference((*path, name), left.get(name, ABSENT), right.get(name, ABSENT)) for name in names)
        elif isinstance(left, list) and isinstance(right, list):
            both = range(max(len(left), len(right)))
            stack += (Difference((*path, at), _at(left, at), _at(right, at)) for at in both)
        elif not _is_same(left, right):
            yield pair


def _at(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else ABSENT


def _is_same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
