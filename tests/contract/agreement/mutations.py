"""Clean replies near a valid one: each place replaced by other JSON values, left out, wrapped or doubled."""

from collections.abc import Iterator
from typing import Any

_OTHERS: tuple[Any, ...] = (None, True, 0, -1, 5.5, "", "5", "yes", "1_000", [], {})


def mutations(value: Any) -> Iterator[Any]:
    yield from _OTHERS
    yield [value]
    if isinstance(value, dict):
        yield {**value, "unasked": 1}
        for key, member in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in mutations(member))
    if isinstance(value, list):
        yield value + value
        for index, item in enumerate(value):
            yield value[:index] + value[index + 1 :]
            yield from ([*value[:index], other, *value[index + 1 :]] for other in mutations(item))
