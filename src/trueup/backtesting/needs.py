"""The needs of a contract: takes a contract and returns the names of context that its verdict can depend on.

A stored reply without its context can be judged again only by a contract that does not use the context. `ANYTHING`
stands for the user's own code, which may use any context.
"""

from typing import Any

from trueup.contract.contract import Contract
from trueup.contract.judging.fast_path import sees_fields
from trueup.contract.meaning.meaning import Meaning
from trueup.expressions.language import compile_expression

ANYTHING = "anything"
# The sources of names in the expression of a reply rule.
_LOOKS_AT = {
    "first": {"first", "history"}, "question": {"question", "history"}, "state": {"state"}, "data": {"data"},
}  # fmt: skip
_SURE = frozenset(
    {ANYTHING, "input"}
)  # for verdicts without a record of their context, these names may have been present


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
            found |= {"state", "data", "history", "input"}  # a unit may have the state in its own fields
        for score in meaning.scores.values():
            found |= score.looks_at
        if meaning.grounding is not None:
            found |= meaning.grounding.looks_at
    if contract.schema is not None and contract.schema.own_code.around:
        found.add(ANYTHING)  # a type's validator that takes `info` sees the context
    if contract.tools:
        found |= {"history", "expected_sequence"}
    elif contract.schema is None:
        found.add("offered")
    return frozenset(found)


def _of_checks(meaning: Meaning) -> set[str]:
    """The context that checks and custom rules of a reply may use: functions use anything, expressions use the names in
    them.
    """
    if meaning.checks:
        return {ANYTHING}
    if meaning.reply is None or not meaning.reply.asks:
        return set()
    settings = getattr(meaning.reply, "settings", None)
    rules = () if settings is None else settings.custom
    if not rules or not all(isinstance(rule.source, str) for rule in rules):  # environment variables may switch some on
        return {ANYTHING}
    return set().union(*(_LOOKS_AT.get(name, ()) for rule in rules for name in compile_expression(rule.source).names))


def lost(wanted: frozenset[str], missing: tuple[str, ...]) -> int | None:
    """The first missing name that the contract needs; None if it needs none of them. `?` means that the context is
    unknown.

    >>> lost(frozenset({"history"}), ("state", "history")), lost(frozenset({"history"}), ("?",))
    (1, None)
    """
    for place, name in enumerate(missing):
        if (name == "?" and not wanted.isdisjoint(_SURE)) or (name != "?" and (name in wanted or ANYTHING in wanted)):
            return place
    return None


def runs_own_code(contract: Any) -> bool:
    """Whether judging runs the user's own code, which may hang or end its process.

    >>> runs_own_code(Contract({"type": "object"})), runs_own_code(Contract(True, checks=[lambda verdict: None]))
    (False, True)
    """
    if type(contract) is not Contract:
        return True
    meaning = contract.meaning
    return (meaning is not None and ANYTHING in _of_checks(meaning)) or (
        contract.schema is not None and contract.schema.is_type
    )
