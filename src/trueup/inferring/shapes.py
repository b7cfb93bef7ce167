"""Values of a different shape, such as an error object among answers: takes values; returns yes or no.

The first clean values show what nearly all have in common: their type and keys. A value has a different shape only if
it has a different type, or none of those keys. Lacking one key is not enough.
"""

from collections import Counter
from typing import Any

from trueup.inferring.evidence import kind_of

FIRST = 200  # the clean values that show the shape
FEW = 0.03  # the largest share of exceptions; a more frequent shape is regular
_LEAST = 20  # with fewer values, nothing is decided
_NEARLY_ALL = 0.9
_KEYS = 2  # with fewer common keys, lacking them proves nothing


class ValueShape:
    """The features that nearly all values have in common.

    >>> shape = ValueShape([{"city": "Oslo", "n": n} for n in range(30)])
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
        """Whether a value has a different type from nearly all others, or none of their common keys."""
        if self._kind not in ("object", "array"):
            return False
        if kind_of(value) != self._kind:
            return True
        return bool(self._keys) and not any(_folded(key) in self._keys for key in value)


def _folded(key: Any) -> str:
    return "".join(char for char in str(key).casefold() if char.isalnum()) or str(key)
