"""Replaying: reads a reply as if it were still arriving, and returns what a program would know after a given number of
characters.

The characters so far are read in one piece. The partial value hardly depends on the chunks: near errors and escapes, a
stream in smaller chunks may be late by a few characters. Each request reads the characters so far once.
"""

from collections.abc import Iterator
from typing import Any

from trueup.contract.contract import Contract
from trueup.studio.judging.spelling import spell
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding
from trueup.verdict.paths import render

MOST_STEPS = 2_000
_MOST_SHOWN = 100_000  # characters of a value at one moment


def replay(contract: Contract[Any], reply: str, context: dict[str, Any], upto: int) -> dict[str, Any]:
    """The state of a reply after `upto` UTF-16 units: the partial value, its growing parts, and definite errors.

    It has `ended` once the value is complete, even if more text follows.

    >>> from trueup import Contract
    >>> seen = replay(Contract(True), '{"name": "Ada", "age": 36}', {}, 12)
    >>> seen["value"].split(), seen["open"], seen["ended"]
    (['{', '"name":', '"Ad"', '}'], ['$', '$.name'], False)
    """
    come = OffsetUnits(reply).points(upto)
    stream = contract.stream(context=context)
    stream.push(reply[:come])
    verdict = _verdict(stream) if come >= len(reply) else None
    data = stream.partial if verdict is None else verdict.data
    value = None if data is None else spell(data, _MOST_SHOWN)
    path = stream.open_path
    ended = come >= len(reply) or (path is None and data is not None)
    findings = stream.findings if verdict is None else verdict.findings
    return {
        "value": None if value is None else value.text,
        "value_cut": value is not None and value.cut,
        "open": [] if path is None or ended else [render(path[:size]) for size in range(len(path) + 1)],
        "ended": ended,
        "findings": [_found(found) for found in findings],
    }


def steps(contract: Contract[Any], reply: str, context: dict[str, Any]) -> list[int]:
    """The places where the partial value changes, in UTF-16 units; a long reply is sampled at intervals.

    >>> from trueup import Contract
    >>> steps(Contract(True), '{"a": 12}', {})
    [2, 9]
    """
    return list(_changes(contract, reply, context))


def _changes(contract: Contract[Any], reply: str, context: dict[str, Any]) -> Iterator[int]:
    size = max(1, -(-len(reply) // MOST_STEPS))
    units = OffsetUnits(reply)
    stream = contract.stream(context=context)
    for start in range(0, len(reply), size):
        stream.push(reply[start : start + size])
        if stream.has_more():
            yield units.of(min(start + size, len(reply)))


def _verdict(stream: Any) -> Any:
    """The verdict at the end; None if a check of the contract has a bug, which judging reports."""
    try:
        return stream.finish()
    except (Exception, SystemExit) as error:
        if bug_of(error) is None:
            raise
        return None


def _found(found: Finding) -> dict[str, Any]:
    return {
        "code": found.code, "name": found.name, "level": found.level, "path": found.path, "message": found.message, "hint": found.hint,
    }  # fmt: skip
