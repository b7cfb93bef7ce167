"""Silent rules: rules that never fire, and rules that fire only together with another rule.

Neither needs labels. Both need enough replies that the rule was evaluated on; each conversation counts once. A rule is
silent if "it fires in 1 % of them or more" can be ruled out. Two rules are the same if "they differ in a fifth of them
or more" can be ruled out. A silent rule is not necessarily useless: it may guard against something rare.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from trueup.statistics.proportions import upper_limit
from trueup.tuning.edits import Edit, Remove
from trueup.tuning.evidence import JudgedCase, JudgedCases
from trueup.tuning.proposals import Proposal, Workshop, of
from trueup.tuning.units import RefusingUnit
from trueup.verdict.paths import Parts, value_at

RARE = 0.01  # a rule that fires less often than this counts as silent
SAME = 0.8
FEWEST_TOGETHER = 10
_RULES = ("rule", "reply", "forbid")


def silent(shop: Workshop) -> Iterator[Proposal]:
    """Proposals to remove rules that never fire or only repeat others."""
    fired: dict[str, set[int]] = {}
    for number, one in enumerate(shop.evidence.seen):
        for key in one.units:
            fired.setdefault(key, set()).add(number)
    rules = [unit for unit in shop.evidence.units.values() if unit.kind in _RULES and unit.at]
    for unit in rules:
        if unit.key not in fired:
            yield _dead(shop, unit, _asked(shop.evidence, unit))
    yield from _together(shop, [unit for unit in rules if len(fired.get(unit.key, ())) >= FEWEST_TOGETHER], fired)


class _Asked(NamedTuple):
    """The number of replies that a rule was evaluated on, their conversations, and the replies for which its `when` was
    true.
    """

    replies: int
    conversations: int
    held: int


def _asked(evidence: JudgedCases, unit: RefusingUnit) -> _Asked:
    """The replies that a rule was evaluated on: with a valid structure, with text, or in the rule's state."""

    def looked(one: JudgedCase) -> bool:
        if unit.kind == "rule":
            return one.structured
        if unit.kind == "reply":
            return not any(found.code in _EARLIER for found in one.findings)
        return one.is_spoken and unit.state in ("", one.state)

    asked = [one for one in evidence.seen if looked(one)]
    held = sum(unit.name not in one.unasked for one in asked) if unit.kind == "rule" else len(asked)
    return _Asked(len(asked), len({one.cluster for one in asked}), held)


_EARLIER = frozenset({"Q001", "Q002", "Q003", "Q004", "Q005", "Q006"})


def _dead(shop: Workshop, unit: RefusingUnit, asked: _Asked) -> Proposal:
    bound = upper_limit(0, asked.conversations) if asked.conversations else 1.0
    many = "" if asked.conversations == asked.replies else f" of {of(asked.conversations, 'conversation')}"
    why = (
        f"It checked {of(asked.replies, 'reply')}{many} and never fired: at most {bound:.2%} of "
        f"{'them' if not many else 'conversations'} break it (95 %).{_condition(asked)}"
    )
    note = "This is not an error: keep it if it guards against something rare. Only you can know whether it is still needed."
    facts = {"asked": asked.replies, "conversations": asked.conversations, "held": asked.held, "bound": bound}
    edits = tuple(removal(shop.data, unit.at))
    title = (
        f"{called(unit)} {'has not fired' if asked.held else 'did not apply'}: remove it if nothing rare depends on it"
    )
    p = (1 - RARE) ** asked.conversations
    return Proposal("dead", unit.at, title, why, p, edits, note=note, unit=unit.key, facts=facts)


def _condition(asked: _Asked) -> str:
    """A sentence about how often the rule's `when` was true; empty if it has no `when`, or it was always true."""
    if asked.held == asked.replies:
        return ""
    often = (
        f"in {asked.held:,} of them" if asked.held else ("in none of them, so the rule may be meant for other traffic")
    )
    return f" Its `when` was true {often}."


def _together(shop: Workshop, rules: list[RefusingUnit], fired: dict[str, set[int]]) -> Iterator[Proposal]:
    for first, second in combinations(rules, 2):
        if (first.kind, first.state) != (second.kind, second.state) or first.kind == "reply":
            continue
        if fired[first.key] != fired[second.key]:
            continue
        if level_of(shop.data, first) == "warning" != level_of(shop.data, second):
            first, second = second, first
        numbers = fired[first.key]
        times = len({shop.cluster(number) for number in numbers})
        if times < FEWEST_TOGETHER:
            continue
        many = "" if times == len(numbers) else f" of {of(times, 'conversation')}"
        why = f"Both fired in the same {of(len(numbers), 'reply')}{many}, and neither in any other."
        title = f"{called(second)} only fires together with {first.name!r}: remove one of them"
        edits = tuple(removal(shop.data, second.at))
        facts = {"times": len(numbers), "other": first.key}
        yield Proposal("together", second.at, title, why, SAME**times, edits, unit=second.key, facts=facts)


def called(unit: RefusingUnit) -> str:
    """The name of a unit at the start of a sentence.

    >>> called(RefusingUnit("rule:x", "rule", "x")), called(RefusingUnit("V005 $.a", "field", "V005 $.a"))
    ("Rule 'x'", 'V005 $.a')
    """
    if unit.kind == "field":
        return unit.name
    words = {"rule": "Rule", "reply": "Reply rule", "forbid": "Forbidden content"}
    return f"{words[unit.kind]} {unit.name!r}{f' in {unit.state}' if unit.state else ''}"


def level_of(data: dict[str, Any], unit: RefusingUnit) -> str:
    """`error` or `warning`."""
    held = value_at(data, unit.at)
    return str(held.get("level", "error")) if isinstance(held, dict) else "error"


def removal(data: dict[str, Any], path: Parts) -> list[Edit]:
    """The edits that remove a part, and also its list or mapping if that would become empty."""
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return [Remove(path)]
