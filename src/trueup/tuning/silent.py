"""Rules that say nothing: those that never fire, and those that only ever fire together with another.

Neither needs a label; both need enough replies. A rule counts as dead if "it fires in 1 % of replies or more" can be ruled out; two
rules are one if "they differ in a fifth of the replies or more" can be ruled out.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from trueup.statistics.proportions import upper_limit
from trueup.tuning.edits import Edit, Remove
from trueup.tuning.evidence import Evidence
from trueup.tuning.proposals import Proposal, Workshop, of
from trueup.tuning.units import Unit
from trueup.verdict.paths import Parts, value_at

RARE = 0.01  # a rule that may fire less often than this may be called dead
SAME = 0.8
FEWEST_TOGETHER = 10
_RULES = ("rule", "reply", "forbid")


def silent(shop: Workshop) -> Iterator[Proposal]:
    """Proposals to take rules away that never fire, or that only repeat others."""
    fired: dict[str, set[int]] = {}
    for number, one in enumerate(shop.evidence.seen):
        for key in one.units:
            fired.setdefault(key, set()).add(number)
    rules = [unit for unit in shop.evidence.units.values() if unit.kind in _RULES and unit.at]
    chances = _Chances(shop.evidence)
    for unit in rules:
        if unit.key not in fired:
            yield _dead(shop, unit, chances.of(unit))
    yield from _together(shop, [unit for unit in rules if len(fired.get(unit.key, ())) >= FEWEST_TOGETHER], fired)


class _Chances:
    """How many replies each rule was asked about."""

    def __init__(self, evidence: Evidence) -> None:
        seen = evidence.seen
        self._all = len(seen)
        self._structured = sum(one.structured for one in seen)
        self._said = sum(not any(found.code in _EARLIER for found in one.findings) for one in seen)
        self._states = Counter(one.state for one in seen)

    def of(self, unit: Unit) -> int:
        if unit.kind == "rule":
            return self._structured
        if unit.kind == "reply":
            return self._said
        return self._states[unit.state] if unit.state else self._all


_EARLIER = frozenset({"Q001", "Q002", "Q003", "Q004", "Q005", "Q006"})


def _dead(shop: Workshop, unit: Unit, asked: int) -> Proposal:
    bound = upper_limit(0, asked) if asked else 1.0
    why = f"It was asked about {of(asked, 'reply')} and fired in none: it fires in at most {bound:.2%} of them (95 %)."
    note = "Keep it if it guards against something rare."
    facts = {"asked": asked, "bound": bound}
    edits = tuple(removal(shop.data, unit.at))
    title = f"{called(unit)} never fires: remove it"
    return Proposal("dead", unit.at, title, why, (1 - RARE) ** asked, edits, note=note, unit=unit.key, facts=facts)


def _together(shop: Workshop, rules: list[Unit], fired: dict[str, set[int]]) -> Iterator[Proposal]:
    for first, second in combinations(rules, 2):
        if (first.kind, first.state) != (second.kind, second.state) or first.kind == "reply":
            continue
        if fired[first.key] != fired[second.key]:
            continue
        if level_of(shop.data, first) == "warning" != level_of(shop.data, second):
            first, second = second, first
        times = len(fired[first.key])
        why = f"Both fired in the same {of(times, 'reply')}, and neither in any other."
        title = f"{called(second)} only fires together with {first.name!r}: remove one of them"
        edits = tuple(removal(shop.data, second.at))
        facts = {"times": times, "other": first.key}
        yield Proposal("together", second.at, title, why, SAME**times, edits, unit=second.key, facts=facts)


def called(unit: Unit) -> str:
    """A unit at the start of a sentence.

    >>> called(Unit("rule:x", "rule", "x")), called(Unit("V005 $.a", "field", "V005 $.a"))
    ("Rule 'x'", 'V005 $.a')
    """
    if unit.kind == "field":
        return unit.name
    words = {"rule": "Rule", "reply": "Reply rule", "forbid": "Forbidden content"}
    return f"{words[unit.kind]} {unit.name!r}{f' in {unit.state}' if unit.state else ''}"


def level_of(data: dict[str, Any], unit: Unit) -> str:
    """`error` or `warning`."""
    held = value_at(data, unit.at)
    return str(held.get("level", "error")) if isinstance(held, dict) else "error"


def removal(data: dict[str, Any], path: Parts) -> list[Edit]:
    """The edits that take something away, together with a list or a mapping that would be empty afterwards."""
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return [Remove(path)]
