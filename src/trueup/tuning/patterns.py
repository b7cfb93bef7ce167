"""The single terms and patterns that a state forbids, with their places in the contract and whether they fire in a
reply.

Takes the data of a contract and a unit. The rule's exceptions apply to each pattern as to the whole rule.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.checks.conversation import spoken_texts
from trueup.checks.dialogue import Content, DialogueRule, SoughtPhrase
from trueup.checks.folding import Folded
from trueup.checks.machines import collected
from trueup.checks.state import States, compile_states
from trueup.checks.violations import Lookout
from trueup.contract.meaning.meaning import prose
from trueup.tuning.evidence import JudgedCase, JudgedCases, finding_vote
from trueup.tuning.units import RefusingUnit, unit_of
from trueup.verdict.paths import Parts, value_at


class RulePattern(NamedTuple):
    """One term or pattern of a rule."""

    kind: str
    text: str
    at: Parts
    lookout: Lookout

    def fires(self, one: JudgedCase) -> bool:
        """Whether it fires in a reply."""
        if one.verdict is None:
            return False
        data = collected(one.case.context or {}, None)
        reply = prose(one.verdict, keep_places=True)
        return any(any(self.lookout.hits(Folded(text), data)) for text, _ in spoken_texts(reply))


class Tried(NamedTuple):
    """A term or pattern with its labels."""

    pattern: RulePattern
    fired: int
    wrong: list[int]
    """The numbers of labelled replies in which only this one fires, and wrongly."""
    right: list[int]


def tried_patterns(data: dict[str, Any], evidence: JudgedCases) -> dict[str, list[Tried]]:
    """For each forbidden item that fired and has several terms or patterns, the labels of each of them.

    A label counts for a pattern if no other pattern of the same rule fires in the reply.
    """
    if not isinstance(data.get("states"), dict):
        return {}
    states = compile_states({key: part for key, part in data["states"].items() if key != "machine"}, lenient=True)
    found: dict[str, list[Tried]] = {}
    for unit in evidence.units.values():
        fired = [one for one in evidence.seen if unit.key in one.units] if unit.kind == "forbid" and unit.at else []
        listed = patterns_of(data, unit, states) if fired else []
        if len(listed) < 2:
            continue
        found[unit.key] = [Tried(pattern, 0, [], []) for pattern in listed]
        for one in fired:
            hits = [at for at, pattern in enumerate(listed) if pattern.fires(one)]
            for at in hits:
                found[unit.key][at] = found[unit.key][at]._replace(fired=found[unit.key][at].fired + 1)
            vote = _vote(one, unit, evidence)
            if len(hits) == 1 and vote is not None:
                (found[unit.key][hits[0]].right if vote else found[unit.key][hits[0]].wrong).append(one.number)
    return found


def _vote(one: JudgedCase, unit: RefusingUnit, evidence: JudgedCases) -> bool | None:
    return next(
        (finding_vote(one, each) for each in one.findings if unit_of(each, evidence.units).key == unit.key), None
    )


def patterns_of(data: dict[str, Any], unit: RefusingUnit, states: States) -> list[RulePattern]:
    """The terms and patterns of a forbidden item, in the contract's order."""
    rule = next((rule for rule in _rules(states, unit) if rule.name == unit.name), None)
    if rule is None:
        return []
    held = value_at(data, unit.at)
    fields = {"group": held} if isinstance(held, str) else held
    owners = [("states", "groups", name) for key in ("group", "groups") for name in _texts(fields.get(key))]
    found: list[RulePattern] = []
    for part, owner in zip(rule.parts, [*owners, unit.at], strict=False):
        places = list(_places(data, owner))
        sources = [("term", text, True) for text in part.content.terms] + [
            ("pattern", text, False) for text in part.content.patterns
        ]
        if len(places) != len(sources) or part.content.timed:
            continue
        for (kind, source, is_term), (at, text) in zip(sources, places, strict=True):
            content = Content(terms=(source,)) if is_term else Content(patterns=(source,))
            single = rule._replace(parts=(SoughtPhrase(content, part.excuses),), unless=())
            found.append(RulePattern(kind, text, at, _lookout(states, single, unit)))
    return found


def _rules(states: States, unit: RefusingUnit) -> tuple[DialogueRule, ...]:
    return states.states[unit.state].rules if unit.state else states.dialogue.always.rules


def _lookout(states: States, rule: DialogueRule, unit: RefusingUnit) -> Lookout:
    from trueup.checks.sentences import Addressed, Form

    words = states.dialogue.words
    forms = {kind: Addressed(said) if kind == "addressed" else Form(kind, said) for kind, said in words.items()}
    allow = states.dialogue.always.allow
    if unit.state:
        allow = states.states[unit.state].allow + allow
    return Lookout((rule,), allow, forms, states.dialogue.names)


def _places(data: dict[str, Any], owner: Parts) -> Iterator[tuple[Parts, str]]:
    """The terms and patterns at a place, terms first, in the order in which they are compiled."""
    held = value_at(data, owner)
    if isinstance(held, list):
        yield from (((*owner, index), text) for index, text in enumerate(held))
        return
    if not isinstance(held, dict):
        return
    for key in ("term", "terms", "pattern", "patterns"):
        texts = held.get(key)
        if isinstance(texts, str):
            yield (*owner, key), texts
        for index, text in enumerate(texts if isinstance(texts, list) else ()):
            yield (*owner, key, index), text


def _texts(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())
