"""Every misbehaviour of a server against every client: each ask ends in time, within its budgets, with the right outcome.

A normal run plays an even sample of about 200 cells; a soak plays all of them.
"""

from collections import Counter

import pytest

from tests.ask.clients.kinds import KINDS
from tests.ask.matrix.cells import SPREAD, Cell, every, spread
from tests.ask.matrix.expected import EXPECTED, Ending, expected_of
from tests.ask.matrix.playing import MONEY, TOKENS, VALUE, Played, play, reading_threads
from tests.effort import SOAK
from tests.waiting import wait_for
from trueup.testing.misbehaviours import KEY, MISBEHAVIOURS
from trueup.verdict.verdict import Verdict

pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore:Pydantic serializer warnings"
    ),  # LangChain, about arguments that are not an object
    pytest.mark.filterwarnings(
        "ignore:This model does not support OpenAI's structured output:UserWarning"
    ),  # LangChain's
    pytest.mark.timeout(120),  # this test looks for asks that do not end
]
CELLS = every() if SOAK else spread()


@pytest.mark.spec("A7", "A8", "A11", "A13")
@pytest.mark.parametrize("cell", CELLS, ids=[cell.name for cell in CELLS])
def test_an_ask_ends_well(cell: Cell) -> None:
    played = play(cell)
    assert played.seen_to_end, f"connections left open: {played.exchanges}"
    assert played.closed, "a connection outlived its client"
    if cell.play == "cancel":
        _is_cancelled(played)
    else:
        expected = expected_of(cell.misbehaviour, cell.kind, streams=cell.streams)
        _is_right(cell, played, expected.once if cell.play == "once" else expected.always)
    wait_for(lambda: not reading_threads(), "a thread still waits for a connection")


def _is_cancelled(played: Played) -> None:
    if played.answer is not None:  # a cancelled task has no answer
        assert (played.answer.outcome, played.answer.reason) == ("failed", "cancelled")
    assert len(played.exchanges) == 1
    assert played.exchanges[0].ended == "client left"


def _is_right(cell: Cell, played: Played, ending: Ending) -> None:
    answer = played.answer
    assert answer is not None
    got = f"{answer!r}, {len(played.exchanges)} calls, {[attempt.failure for attempt in answer.attempts]}"
    assert answer.outcome in ending.outcomes, got
    assert answer.reason in ending.reasons or answer.ok, got
    assert ending.least <= len(played.exchanges) <= ending.most, got
    if EXPECTED[cell.misbehaviour].slow:
        slow = played.exchanges[: 1 if cell.play == "once" else None]
        assert all(exchange.ended == "client left" for exchange in slow), "the connection of a slow call is closed"
    if answer.ok:
        _is_the_value(cell, answer.verdict)
    _is_within_budget(cell, played)
    told = f"{answer.to_dict()} {answer.findings} {[event.to_dict() for event in played.events.events]}"
    assert KEY not in told, "a key is never repeated"
    assert played.events.names[-1] == "finished"


def _is_the_value(cell: Cell, verdict: Verdict) -> None:
    data = dict(verdict.calls[0].args or {}) if EXPECTED[cell.misbehaviour].tools else verdict.data
    if cell.misbehaviour == "not-utf8":  # only the character is lost
        data = {**data, "name": VALUE["name"]}
    assert data == VALUE


def _is_within_budget(cell: Cell, played: Played) -> None:
    answer = played.answer
    assert answer is not None
    usage = answer.usage
    assert all(count >= 0 for count in usage.values()), usage
    if cell.misbehaviour != "absurd-usage":
        assert usage.get("total_tokens", 0) <= TOKENS
        assert (answer.cost or 0.0) <= MONEY
    else:
        assert len(played.exchanges) == 1, "nothing fits into the budget after that"
    if answer.ok and cell.misbehaviour not in ("no-usage", "zero-usage", "negative-usage"):
        assert usage.get("total_tokens", 0) > 0, "the tokens of the reply are counted"


def test_the_table_is_whole() -> None:
    assert list(MISBEHAVIOURS) == list(EXPECTED)
    assert len(MISBEHAVIOURS) >= 60


def test_the_spread_is_even() -> None:
    cells = spread()
    assert SPREAD * 0.9 <= len(cells) <= SPREAD * 1.25
    assert len(set(cells)) == len(cells)
    for name in MISBEHAVIOURS:
        kinds = {cell.kind for cell in cells if cell.misbehaviour == name}
        assert len(kinds) >= 2, name
        assert {cell.play for cell in cells if cell.misbehaviour == name} >= {"once", "always"}, name
    counts = Counter(cell.kind for cell in cells)
    fair = len(cells) / len(KINDS)
    assert all(fair / 2 <= counts[kind] <= fair * 2 for kind in KINDS), counts
    for kind in KINDS:
        own = [cell for cell in cells if cell.kind == kind]
        assert {cell.streams for cell in own} == {False, True}, kind
        assert len({cell.misbehaviour for cell in own}) >= min(6, len(own)), kind
