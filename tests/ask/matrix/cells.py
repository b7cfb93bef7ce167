"""The cells of the matrix: misbehaviour × client × whole or stream × duration; all of them, or an even sample."""

from typing import Literal, NamedTuple

from tests.ask.clients.kinds import KINDS
from tests.ask.matrix.expected import EXPECTED
from trueup.testing.misbehaviours import MISBEHAVIOURS

Play = Literal["once", "always", "cancel"]
SPREAD = 200


class Cell(NamedTuple):
    """One combination; `-k` selects it by its name."""

    misbehaviour: str
    kind: str
    streams: bool
    play: Play

    @property
    def name(self) -> str:
        return f"{self.misbehaviour}-{self.play}-{self.kind}-{'stream' if self.streams else 'whole'}"


def _plays(name: str) -> tuple[Play, ...]:
    return ("once", "always", "cancel") if EXPECTED[name].slow else ("once", "always")


def _forms(name: str) -> tuple[bool, ...]:
    return {"stream": (True,), "whole": (False,)}.get(MISBEHAVIOURS[name].only, (False, True))


def of(name: str) -> list[Cell]:
    """All cells of one misbehaviour, ordered so that neighbours differ in client, form and play."""
    return [
        Cell(name, kind, streams, play)
        for play in _plays(name)
        for streams in _forms(name)
        for kind in KINDS
    ]  # fmt: skip


def every() -> list[Cell]:
    """All cells."""
    return [cell for name in MISBEHAVIOURS for cell in of(name)]


def spread(most: int = SPREAD) -> list[Cell]:
    """About `most` cells: each misbehaviour in each of its plays, alternately whole and as a stream; repeated until there are enough.

    Each cell goes to the client with the fewest cells so far, so each client meets many misbehaviours. The result is the same on every machine.
    """
    chosen: list[Cell] = []
    for turn in range(2):
        for number, name in enumerate(MISBEHAVIOURS):
            for at, play in enumerate(_plays(name)):
                if turn and len(chosen) >= most:
                    return chosen
                form = _forms(name)[(number + at + turn) % len(_forms(name))]
                fitting = [cell for cell in of(name) if (cell.streams, cell.play) == (form, play)]
                chosen.append(min(fitting, key=lambda cell: _turns(cell, chosen)))
    return chosen


def _turns(cell: Cell, chosen: list[Cell]) -> tuple[int, int, int]:
    """How many cells the client of a cell already has: with this misbehaviour, in this form, and in total."""
    own = [other for other in chosen if other.kind == cell.kind]
    same = sum(other.misbehaviour == cell.misbehaviour for other in own)
    return same, sum(other.streams == cell.streams for other in own), len(own)
