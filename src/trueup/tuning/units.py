"""Units: the parts of a contract that can refuse a reply, each with a key, a name for people and a place in the
document.

Turns a finding into the key of its unit, and the data of a contract into its units. Units of codes and fields are known
only from findings, so they are made when findings arrive.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, folded

_RULES = frozenset({"B005", "B006", "B007"})
_STATES = frozenset({"D001", "D003", "D005"})
STRUCTURAL = "BQD"  # families of findings that are checked after the structure


class RefusingUnit(NamedTuple):
    """A part of a contract that can refuse a reply."""

    key: str
    kind: str
    """`rule`, `reply`, `forbid` or `field`."""
    name: str
    at: Parts = ()
    """Its place in the contract's data; empty if unknown."""
    state: str = ""
    """The state that it applies to; empty for every state."""


def unit_of(found: Finding, listed: "Mapping[str, RefusingUnit]" = MappingProxyType({})) -> RefusingUnit:
    """The unit that a finding belongs to: a unit that the contract lists, if possible.

    >>> unit_of(Finding("V005", "$.lines[3].kind", "")).key
    'V005 $.lines[].kind'
    """
    rule = found.data.get("rule")
    if found.code in _RULES and rule:
        return RefusingUnit(f"rule:{rule}", "rule", str(rule))
    if found.code[0] == "Q" and rule:
        return RefusingUnit(f"reply:{rule}", "reply", str(rule))
    if found.code in _STATES and rule:
        state = str(found.data.get("state") or "")
        everywhere = listed.get(f"forbid::{rule}")
        if everywhere is not None and f"forbid:{state}:{rule}" not in listed:
            return everywhere
        return RefusingUnit(f"forbid:{state}:{rule}", "forbid", str(rule), (), state)
    name = f"{found.code} {folded(found.path)}"
    return RefusingUnit(name, "field", name)


def names_of(found: Finding) -> tuple[str, ...]:
    """The subjects that a label of a finding may have."""
    rule = found.data.get("rule")
    code = f"code:{found.code}"
    return (f"rule:{rule}", code) if isinstance(rule, str) and rule else (code,)


def rules_in(data: dict[str, Any]) -> Iterator[RefusingUnit]:
    """The rules in a contract: business rules, its own reply rules, and forbidden content of states."""
    yield from _business(data.get("rules"))
    reply = data.get("reply")
    if isinstance(reply, dict):
        for index, rule in enumerate(reply.get("rules") or ()):
            if rule.get("on", True):
                yield RefusingUnit(f"reply:{rule['name']}", "reply", rule["name"], ("reply", "rules", index))
    if isinstance(data.get("states"), dict):
        yield from _forbidden(data["states"])


def rule_list(data: dict[str, Any]) -> tuple[Parts, list[Any]]:
    """The list of business rules and its path."""
    rules = data.get("rules")
    if isinstance(rules, dict):
        return ("rules", "rules"), rules.get("rules") or []
    return ("rules",), rules or []


def _business(rules: Any) -> Iterator[RefusingUnit]:
    path, listed = rule_list({"rules": rules})
    for index, rule in enumerate(listed):
        name = rule if isinstance(rule, str) else rule.get("name", rule.get("expr"))
        yield RefusingUnit(f"rule:{name}", "rule", str(name), (*path, index))


def _forbidden(states: dict[str, Any]) -> Iterator[RefusingUnit]:
    from trueup.checks.dialogue import SETTINGS, SHARED, read_dialogue

    dialogue = read_dialogue({key: part for key, part in states.items() if key != "machine"})
    for rule in dialogue.always.rules:
        yield RefusingUnit(f"forbid::{rule.name}", "forbid", rule.name, _placed(states, rule.path))
    for name, state in dialogue.states.items():
        if name not in SHARED and name not in SETTINGS:
            for rule in state.rules:
                path = _placed(states, rule.path)
                yield RefusingUnit(f"forbid:{name}:{rule.name}", "forbid", rule.name, path, name)


def _placed(states: dict[str, Any], path: Parts) -> Parts:
    """The path of a forbidden item. An item outside a list is at `forbid` itself."""
    held: Any = states
    for part in path[1:-1]:
        held = held[part]
    return path if isinstance(held, list) else path[:-1]
