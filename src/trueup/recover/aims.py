"""The aims of a reader: everything that it has to know about the schema."""

from collections.abc import Callable
from typing import NamedTuple

from trueup.verdict.paths import Parts


class Aims(NamedTuple):
    """The schema's keys, the root's keys and types, the depth limit, and the coercion profile.

    `item_keys` are the keys of the items if the root is an array. `wants` gives the types of a field by its key and
    `wants_at` the types at a path; an empty set allows any type.
    """

    known: frozenset[str]
    root_keys: frozenset[str]
    types: frozenset[str]
    max_depth: int
    eager: bool
    any_value: bool
    item_keys: frozenset[str] = frozenset()
    wants: Callable[[str], frozenset[str]] = lambda _: frozenset()
    wants_at: Callable[[Parts], frozenset[str]] = lambda _: frozenset()
    field: frozenset[str] = frozenset()  # the types of the only field, whose value may replace its object
    opens: bool = True  # whether to open envelopes: not in a text that came out of one
