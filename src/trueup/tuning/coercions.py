"""Coercions that are often refused: values that a more permissive profile would read, and fixes that `accept` forbids.

The next profile and the next grade are tried on the labelled replies. Replies that an alias explains do not count,
because an alias is a narrower change.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trueup.tuning.edits import Edit, Put, with_path
from trueup.tuning.evidence import JudgedCase, judged
from trueup.tuning.proposals import NEEDED, Proposal, Workshop, of
from trueup.tuning.schemas import schema_place
from trueup.verdict.catalogue import FIXES, GRADES
from trueup.verdict.paths import Parts, folded, parse

_NEXT = {"off": "standard", "standard": "eager"}
_GRADES = tuple(GRADES)


def coercions(shop: Workshop) -> Iterator[Proposal]:
    """A proposal to coerce more, if enough labelled replies would then pass."""
    profile = shop.file.contract().options.profile
    if profile in _NEXT and isinstance(shop.data.get("schema"), dict):
        yield from _profile(shop, _NEXT[profile])
    accept = shop.data.get("accept", "guess")
    if accept in _GRADES[:-1]:
        yield from _accept(shop, _GRADES[_GRADES.index(accept) + 1])


def _profile(shop: Workshop, profile: str) -> Iterator[Proposal]:
    edits = with_profile(shop.data, profile)
    trial = shop.try_out(edits, _has_wrong_type)
    counted = None if trial is None else shop.votes(trial.better, trial.worse)
    if trial is None or counted is None or counted.total < NEEDED:
        return
    contract = shop.file.contract(edits)
    places: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    for number in trial.better:
        one = shop.evidence.seen[number]
        places.update({folded(found.path) for found in one.errors if found.code == "V001"})
        verdict = judged(contract, one.case)
        before = {fix.code for fix in one.verdict.fixes} if one.verdict else set()
        ways.update({fix.code for fix in verdict.fixes if fix.code[0] in "CF"} - before if verdict else ())
    if not places:
        return
    path = places.most_common(1)[0][0]
    sample = next(
        found.path
        for number in trial.better
        for found in shop.evidence.seen[number].errors
        if folded(found.path) == path
    )
    place = schema_place(shop.data["schema"], parse(sample))
    at: Parts = ("coerce",) if place is None else ("schema", *place)
    said = ", ".join(FIXES[code].name for code, _ in ways.most_common(3) if code in FIXES)
    where = ", ".join(name[2:] or "the value" for name, _ in places.most_common(3))
    title = f"Refused values of {where} could be read with coerce: {profile}"
    n = len(trial.flipped)
    why = f"{len(trial.better)} of {of(n, 'label')} say that the refusal is wrong ({said}).{counted.source}"
    facts = {"places": dict(places), "fixes": dict(ways)}
    note = "`eager` applies to every field of the contract, not only these." if profile == "eager" else ""
    yield Proposal(
        "coercion", at, title, why, counted.p, tuple(edits), n, trial.better, trial.worse, note, "coerce", facts,
        lambda data: with_profile(data, profile),
    )  # fmt: skip


def with_profile(data: dict[str, Any], profile: str) -> list[Edit]:
    """The edits that set the coercion profile.

    >>> with_profile({"coerce": {"aliases": {}}}, "eager")
    [Add(path=('coerce',), key='profile', value='eager', before='')]
    """
    path = ("coerce", "profile") if isinstance(data.get("coerce"), dict) else ("coerce",)
    return with_path(data, path, profile, before="examples")


def _has_wrong_type(one: JudgedCase) -> bool:
    """Whether the finding is about a type. Aliases handle enum values."""
    return one.ok or any(found.code == "V001" for found in one.errors)


def _accept(shop: Workshop, grade: str) -> Iterator[Proposal]:
    def about(one: JudgedCase) -> bool:
        return any(found.code == "G001" for found in one.errors)

    edits: list[Edit] = (
        [Put(("accept",), grade)]
        if "accept" in shop.data
        else with_path(shop.data, ("accept",), grade, before="examples")
    )
    trial = shop.try_out(edits, about)
    counted = None if trial is None else shop.votes(trial.better, trial.worse)
    if trial is None or counted is None or counted.total < NEEDED:
        return
    n = len(trial.flipped)
    why = f"{len(trial.better)} of {of(n, 'label')} say that the refusal is wrong.{counted.source}"
    facts: dict[str, Any] = {"grade": grade}
    title = f"People accept fixes that the contract refuses: set accept: {grade}"
    yield Proposal(
        "accept", ("accept",), title, why, counted.p, tuple(edits), n, trial.better, trial.worse, "", "G001", facts
    )
