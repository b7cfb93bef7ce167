"""Misfires: rules and checks that are wrong in most of the labelled replies.

A unit with enough labels is tested against a precision of one half. If it is significantly lower, the unit becomes a
warning. It is removed if it is already a warning or cannot be one. If a rule has several patterns, each is tested
separately.
"""

from collections.abc import Iterator
from typing import Any

from trueup.tuning.edits import Add, Edit, Put
from trueup.tuning.evidence import finding_vote
from trueup.tuning.measures import share_of
from trueup.tuning.proposals import NEEDED, Proposal, Workshop, of
from trueup.tuning.schemas import schema_place
from trueup.tuning.silent import called, level_of, removal
from trueup.tuning.units import RefusingUnit, unit_of
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse, value_at

_KEYWORDS = {"V006": ("pattern",), "V009": ("uniqueItems",), "V010": ("format",)}
_SECTIONS = {"B001": "required", "B002": "types", "B003": "ranges", "B004": "enums"}


def misfires(shop: Workshop) -> Iterator[Proposal]:
    """A proposal for each unit with enough labels that could be made milder."""
    votes: dict[str, tuple[list[int], list[int]]] = {}
    shown: dict[str, Finding] = {}
    for one in shop.evidence.seen:
        if not one.case.labels:
            continue
        for found in one.findings:
            vote = finding_vote(one, found)
            key = unit_of(found, shop.evidence.units).key
            if vote is not None:
                shown.setdefault(key, found)
                votes.setdefault(key, ([], []))[vote].append(one.number)
    yield from _of_patterns(shop)
    for key, (wrong, right) in votes.items():
        unit = shop.evidence.units[key]
        if shop.votes(wrong, right).total >= NEEDED:
            remedy = _remedy(shop.data, unit, shown[key])
            if remedy is not None:
                at, said, edits = remedy
                wrong, right = _decided(shop, unit, edits, wrong, right)
                if shop.votes(wrong, right).total >= NEEDED:
                    yield _proposal(shop, unit, at, said, edits, (wrong, right))


def _decided(
    shop: Workshop, unit: RefusingUnit, edits: list[Edit], wrong: list[int], right: list[int]
) -> tuple[list[int], list[int]]:
    """The votes on replies that only this unit refuses, because a schema error hides the results of rules."""
    trial = shop.try_out(edits, lambda one: unit.key in one.units)
    flipped = frozenset(() if trial is None else trial.flipped)
    seen = shop.evidence.seen

    def counts(number: int) -> bool:
        return number in flipped or seen[number].ok or bool(seen[number].said.subjects)

    return [number for number in wrong if counts(number)], [number for number in right if counts(number)]


def _proposal(
    shop: Workshop, unit: RefusingUnit, at: Parts, said: str, edits: list[Edit], labels: tuple[list[int], list[int]]
) -> Proposal:
    wrong, right = labels
    n = len(wrong) + len(right)
    interval = share_of(right, wrong, shop.evidence)
    counted = shop.votes(wrong, right)
    why = (
        f"{of(len(wrong), 'label')} of {n} say that it is wrong: precision {len(right) / n:.0%} [{interval.low:.0%}, {interval.high:.0%}]."
        f"{counted.source}"
    )
    seen = shop.evidence.seen
    better, worse = (tuple(number for number in numbers if seen[number].said.should is not None) for numbers in labels)
    title = f"{called(unit)} mostly misfires: {said}"
    facts = {"precision": len(right) / n, "interval": [interval.low, interval.high]}
    return Proposal("misfire", at, title, why, counted.p, tuple(edits), n, better, worse, "", unit.key, facts)


def _remedy(data: dict[str, Any], unit: RefusingUnit, found: Finding) -> tuple[Parts, str, list[Edit]] | None:
    """The place of a unit, the proposed change in words, and its edits; None if no milder form exists."""
    if unit.kind in ("rule", "forbid"):
        return _milder_rule(data, unit)
    if unit.kind == "reply":
        return _milder_reply(data, unit)
    if found.code in _SECTIONS:
        return _section(data, found)
    return _milder_schema(data, found)


def _milder_rule(data: dict[str, Any], unit: RefusingUnit) -> tuple[Parts, str, list[Edit]] | None:
    if not unit.at:
        return None
    held = value_at(data, unit.at)
    if level_of(data, unit) == "warning":
        return unit.at, "remove the warning", removal(data, unit.at)
    said = "make it a warning"
    if isinstance(held, str):
        whole = {"expr": held} if unit.kind == "rule" else {"group": held}
        return unit.at, said, [Put(unit.at, {**whole, "level": "warning"})]
    if not isinstance(held, dict):
        return None
    if "level" in held:
        return unit.at, said, [Put((*unit.at, "level"), "warning")]
    return unit.at, said, [Add(unit.at, "level", "warning")]


def _milder_reply(data: dict[str, Any], unit: RefusingUnit) -> tuple[Parts, str, list[Edit]] | None:
    if unit.at:
        held = value_at(data, unit.at)
        edit: Edit = Put((*unit.at, "on"), value=False) if "on" in held else Add(unit.at, "on", value=False)
        return unit.at, "switch it off", [edit]
    reply = data.get("reply")
    if not isinstance(reply, dict):
        return ("reply",), "switch it off", [Put(("reply",), {unit.name: False})]
    at: Parts = ("reply", unit.name)
    if unit.name in reply:
        return at, "switch it off", [Put(at, value=False)]
    return at, "switch it off", [Add(("reply",), unit.name, value=False)]


def _section(data: dict[str, Any], found: Finding) -> tuple[Parts, str, list[Edit]] | None:
    section, field = _SECTIONS[found.code], found.data.get("field")
    held = value_at(data, ("rules", section))
    if isinstance(held, list) and field in held:
        at: Parts = ("rules", section, held.index(field))
    elif isinstance(held, dict) and field in held:
        at = ("rules", section, str(field))
    else:
        return None
    return at, "remove it", removal(data, at)


def _milder_schema(data: dict[str, Any], found: Finding) -> tuple[Parts, str, list[Edit]] | None:
    path = parse(found.path)
    if found.code == "V002":
        return _not_required(data, path)
    place = schema_place(data.get("schema"), path)
    if place is None:
        return None
    if found.code == "V003":
        return None  # the proposals for spellings cover key names
    words = _KEYWORDS.get(found.code) or ((str(found.data.get("rule")),) if found.code in ("V004", "V007") else ())
    held = value_at(data["schema"], place)
    for word in words:
        if word in held:
            at: Parts = ("schema", *place, word)
            return at, f"remove {word}", removal(data, at)
    return None


def _not_required(data: dict[str, Any], path: Parts) -> tuple[Parts, str, list[Edit]] | None:
    place = schema_place(data.get("schema"), path[:-1])
    if place is None:
        return None
    required = value_at(data["schema"], (*place, "required"))
    if not isinstance(required, list) or path[-1] not in required:
        return None
    at: Parts = ("schema", *place, "required", required.index(path[-1]))
    return at, f"do not require {path[-1]!r}", removal(data, at)


def _of_patterns(shop: Workshop) -> Iterator[Proposal]:
    """A proposal for each term and pattern of a rule that has several."""
    for key, listed in shop.patterns.items():
        unit = shop.evidence.units[key]
        for each in listed:
            if shop.votes(each.wrong, each.right).total >= NEEDED:
                pattern = each.pattern
                shown = RefusingUnit(key, "field", f"{pattern.kind.capitalize()} {pattern.text!r} of {unit.name!r}")
                edits = removal(shop.data, pattern.at)
                yield _proposal(shop, shown, pattern.at, "remove it", edits, (each.wrong, each.right))
