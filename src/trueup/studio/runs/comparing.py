"""Comparing two runs or sifts: takes two places and returns events: the elapsed time, and at the end the differences.

A separate process does the work, as for a backtest. Values are returned as text, folders as names.
"""

import tempfile
import time
from collections.abc import Iterator
from typing import Any

from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.guarding import bounded, cut
from trueup.studio.runs.pictures import about_code
from trueup.studio.studio import Studio
from trueup.studio.working.folders import told_of
from trueup.studio.working.work import LongJob
from trueup.verdict.codec import spelled

Row = dict[str, Any]
_EXAMPLES = 50
_VALUE = 4000


def compared(studio: Studio, a: RunPlace, b: RunPlace) -> "Comparing":
    """Compare two places; ends with a `result`."""
    room = tempfile.TemporaryDirectory(prefix="trueup-compare-")
    spec = {**told_of(studio.settings), "a": str(a.path), "b": str(b.path), "room": room.name, "examples": _EXAMPLES}
    try:
        return Comparing(studio.works.start("compare", spec), room, a, b)
    except BaseException:
        room.cleanup()
        raise


class Comparing(Iterator[Row]):
    """A running comparison; closing ends it, and removes its temporary files."""

    def __init__(self, work: LongJob, room: "tempfile.TemporaryDirectory[str]", a: RunPlace, b: RunPlace) -> None:
        self._work, self._room = work, room
        self._places = (a, b)
        self._began = time.monotonic()

    def __next__(self) -> Row:
        event = next(self._work)
        seconds = round(time.monotonic() - self._began, 2)
        if "result" in event:
            return {"result": _shown(event["result"], *self._places), "seconds": seconds}
        return {"progress": {"seconds": seconds}}

    def close(self) -> None:
        """End it."""
        self._work.close()
        self._room.cleanup()


def _shown(found: Row, a: RunPlace, b: RunPlace) -> Row:
    flips = {
        kind: {"units": row["units"], "examples": [_flip(flip) for flip in row["examples"]]}
        for kind, row in found["flips"].items()
    }
    return {
        "differs": found["differs"],
        "a": _side(found["a"], a),
        "b": _side(found["b"], b),
        "same": found["same"],
        "flips": flips,
        **{name: bounded(found[name]) for name in ("other_errors", "only_in_a", "only_in_b")},
        "values": [{"path": path, **bounded(row)} for path, row in list(found["values"].items())[:200]],
        "findings": {
            name: [
                {**bounded(row), **(about_code(row["key"]) if name in {"codes", "fixes"} else {})} for row in rows[:200]
            ]
            for name, rows in found["findings"].items()
        },
    }


def _side(row: Row, place: RunPlace) -> Row:
    money = row.pop("money", None)
    cost = None if money is None or not money["calls"] else round(money["usd"] * 1e6)
    row["path"] = place.name
    told: Row = bounded(row)
    return {**told, "run": place.name, "cost": cost, "unpriced": money["unpriced"] if money else 0}


def _flip(flip: Row) -> Row:
    values: Row = {}
    for name in ("data_before", "data_now"):
        if name in flip:
            values[name] = cut(spelled(flip.pop(name)).decode(), _VALUE)
    return {**bounded(flip), **values}
