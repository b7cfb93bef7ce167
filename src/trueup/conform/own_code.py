"""Finds the user's code in a pydantic type: what its validators see, and when.

Takes the core schema of a type; returns which code it has. Nothing is run.
"""

from typing import Any, NamedTuple

# Validators that see a value before its constraints do.
_FIRST = frozenset({"function-before", "function-wrap", "function-plain"})
_MOST = 100_000  # places; a schema with more of them counts as having all kinds of code


class OwnCode(NamedTuple):
    """The kinds of user code that a type has."""

    before_all: bool = False
    """It sees the whole value before the members are read, so a single member proves nothing."""
    before_some: bool = False
    """It sees some value before its constraints do, so a violated limit proves nothing."""
    around: bool = False
    """It may see other members than the one that it checks."""


def own_code(core: Any) -> OwnCode:
    """The user code in a pydantic core schema.

    >>> own_code({"type": "function-before", "function": {"type": "no-info"}, "schema": {"type": "str"}})
    OwnCode(before_all=True, before_some=True, around=False)
    """
    stack, seen = [core], 0
    some = around = False
    while stack:
        here = stack.pop()
        seen += 1
        if seen > _MOST:
            return OwnCode(before_all=True, before_some=True, around=True)
        if isinstance(here, dict):
            some = some or here.get("type") in _FIRST
            around = around or here.get("type") == "with-info"
            stack += here.values()
        elif isinstance(here, list | tuple):
            stack += here
    return OwnCode(_is_first(core), some, around)


def _is_first(core: Any) -> bool:
    """Whether such code runs around the members of the root."""
    known: dict[str, Any] = {}
    for _ in range(100):
        kind = core.get("type")
        if kind in _FIRST:
            return True
        known |= {each["ref"]: each for each in core.get("definitions", ()) if "ref" in each}
        inner = known.get(core.get("schema_ref")) if kind == "definition-ref" else core.get("schema")
        if not isinstance(inner, dict):
            return False
        core = inner
    return True
