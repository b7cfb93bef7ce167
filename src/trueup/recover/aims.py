"""What a reader looks for in a text: all that it has to know of the schema."""

from collections.abc import Callable
from typing import NamedTuple

from trueup.verdict.paths import Parts


class Aims(NamedTuple):
    """What is looked for: the schema's keys, the root's keys and types, the depth limit, the coercion profile.

    `item_keys` are those of the items when the root is an array, `wants` the types of a field by its key and
    `wants_at` those at a path (none: any).
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
    field: frozenset[str] = frozenset()  # the types of the one field that a value may be instead of its object
    opens: bool = True  # whether envelopes are opened: not in a text that stood in one
