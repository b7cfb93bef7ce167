"""What a contract must know beside a reply: a contract enters, the names of the context that its verdict can depend on leave.

A stored reply whose context is gone can be judged again by a contract that does not look at it, and by no other. `ANYTHING` stands for
code of the user's own, which may look at whatever it is given.
"""

from typing import Any

from trueup.contract.contract import Contract
from trueup.contract.judging.fast_path import sees_fields
from trueup.contract.meaning.meaning import Meaning
from trueup.expressions.language import compile_expression

ANYTHING = "anything"
# What names in the expression of a reply rule are taken from.
_LOOKS_AT = {
    "first": {"first", "history"}, "question": {"question", "history"}, "state": {"state"}, "data": {"data"},
}  # fmt: skip
_SURE = frozenset(
    {ANYTHING, "input"}
)  # of verdicts that do not say what they were made with, these cannot be taken for absent


def needs(contract: Any) -> frozenset[str]:
    """The names of context that a verdict of this contract can depend on.

    >>> sorted(needs(Contract({"required": ["n"]}, rules=["n < limit"], input=["limit"])))
    ['input']
    >>> needs(Contract({"type": "object"}))
    frozenset()
    """
    if type(contract) is not Contract:
        return frozenset({ANYTHING})
    found: set[str] = set()
    meaning = contract.meaning
    if meaning is not None:
        found |= _of_checks(meaning)
        if sees_fields(contract.schema, meaning):
            found.add("input")
        if meaning.states is not None:
            found |= {"state", "data", "history", "input"}  # a unit may have the state among its own fields
        for score in meaning.scores.values():
            found |= score.looks_at
        if meaning.grounding is not None:
            found |= meaning.grounding.looks_at
    if contract.schema is not None and contract.schema.own_code.around:
        found.add(ANYTHING)  # a validator of a type that takes `info` sees the context
    if contract.tools:
        found |= {"history", "expected_sequence"}
    elif contract.schema is None:
        found.add("offered")
    return frozenset(found)


def _of_checks(meaning: Meaning) -> set[str]:
    """What the checks and the custom rules of a reply may look at: functions at anything, expressions at the names in them."""
    if meaning.checks:
        return {ANYTHING}
    if meaning.reply is None or not meaning.reply.asks:
        return set()
    settings = getattr(meaning.reply, "settings", None)
    rules = () if settings is None else settings.custom
    if not rules or not all(isinstance(rule.source, str) for rule in rules):  # the environment may switch some on
        return {ANYTHING}
    return set().union(*(_LOOKS_AT.get(name, ()) for rule in rules for name in compile_expression(rule.source).names))


def lost(wanted: frozenset[str], missing: tuple[str, ...]) -> int | None:
    """Which of the missing names stands in the way, by its place; None if none does. `?` says that nobody knows what there was.

    >>> lost(frozenset({"history"}), ("state", "history")), lost(frozenset({"history"}), ("?",))
    (1, None)
    """
    for place, name in enumerate(missing):
        if (name == "?" and not wanted.isdisjoint(_SURE)) or (name != "?" and (name in wanted or ANYTHING in wanted)):
            return place
    return None


def runs_own_code(contract: Any) -> bool:
    """Whether judging runs code of the user's own, which may hang or end its process.

    >>> runs_own_code(Contract({"type": "object"})), runs_own_code(Contract(True, checks=[lambda verdict: None]))
    (False, True)
    """
    if type(contract) is not Contract:
        return True
    meaning = contract.meaning
    return (meaning is not None and ANYTHING in _of_checks(meaning)) or (
        contract.schema is not None and contract.schema.is_type
    )
