"""Which values are of another shape than the rest, such as an error object among answers: values enter, a yes or no leaves.

The first clean values show what nearly all have: the type of the whole, and the keys. A value is of another shape only if it has another
type, or none of those keys at all; a value that merely lacks one is not.
"""

from collections import Counter
from typing import Any

from trueup.inferring.evidence import kind_of

FIRST = 200  # clean values that show the shape
FEW = 0.03  # the share of replies that may be of another shape: more of them are part of what the replies are
_LEAST = 20  # values, below which nothing is said
_NEARLY_ALL = 0.9
_KEYS = 2  # keys that nearly all have, below which lacking them says nothing


class Shape:
    """What nearly all values have.

    >>> shape = Shape([{"city": "Oslo", "n": n} for n in range(30)])
    >>> shape.is_other({"error": "overloaded"}), shape.is_other({"City": "Rome"}), shape.is_other([1])
    (True, False, True)
    """

    def __init__(self, values: list[Any]) -> None:
        total = len(values)
        kinds = Counter(map(kind_of, values))
        self._kind = next((kind for kind, seen in kinds.items() if total >= _LEAST and seen >= _NEARLY_ALL * total), "")
        keys = Counter(_folded(key) for value in values if isinstance(value, dict) for key in value)
        common = frozenset(key for key, seen in keys.items() if seen >= _NEARLY_ALL * total)
        self._keys = common if self._kind == "object" and len(common) >= _KEYS else frozenset()

    def is_other(self, value: Any) -> bool:
        """Whether a value has another type than nearly all, or none of the keys that nearly all have."""
        if self._kind not in ("object", "array"):
            return False
        if kind_of(value) != self._kind:
            return True
        return bool(self._keys) and not any(_folded(key) in self._keys for key in value)


def _folded(key: Any) -> str:
    return "".join(char for char in str(key).casefold() if char.isalnum()) or str(key)
