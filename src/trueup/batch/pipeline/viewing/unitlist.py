"""Lists the units of a step in a run directory page by page, for a query.

Memory does not grow with the run: a page is found by the row before or after it, in one pass over the files. Only facts in the
journal are shown: a unit counts as failed or valid once its chunk has finished the step, and as asked while a call is not
answered.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged, decode
from trueup.batch.pipeline.rundir.replies import is_reply, read_calls, rows_in
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.running.metadata import notes_of

PAGE = 200
_BETWEEN = 1000  # units between two checks whether the result is still wanted
State = Literal["failed", "replied", "asked", "waiting", "valid"]
STATES: tuple[State, ...] = ("failed", "replied", "asked", "waiting", "valid")
OPEN = frozenset({"replied", "asked", "waiting"})
KINDS = ("", "failed", "open", "valid")


class UnitRow(NamedTuple):
    """One unit in a list: its id, its state, and codes: of its errors, or of its warnings and fixes if it passed."""

    id: str
    chunk: str
    state: State
    codes: tuple[str, ...] = ()
    place: int = 0

    @property
    def ok(self) -> bool:
        return self.state == "valid"


class Query(NamedTuple):
    """Which units to list, and in which order; `kind` is failed, open, valid or empty for all."""

    step: str
    kind: str = ""
    code: str = ""
    text: str = ""
    order: str = ""
    down: bool = False


class UnitPage(NamedTuple):
    """A page of units, and whether there are more on either side; `fault` says which part could not be read."""

    rows: tuple[UnitRow, ...] = ()
    before: bool = False
    after: bool = False
    fault: str = ""


Key = tuple[Any, ...]
_KEYS: dict[str, Callable[[UnitRow], Key]] = {
    "": lambda row: (row.place,),
    "unit": lambda row: (row.id, row.place),
    "state": lambda row: (STATES.index(row.state), row.place),
    "codes": lambda row: (not row.codes, row.codes, row.place),
    "chunk": lambda row: (row.chunk, row.place),
}


def page_at(
    path: Path,
    query: Query,
    start: UnitRow | None = None,
    *,
    back: bool = False,
    size: int = PAGE,
    left: Callable[[], bool] = lambda: False,
) -> UnitPage:
    """The units after `start`, or before it with `back`; without it, the first ones. Reading ends early if `left` returns true."""
    faults: list[str] = []
    try:
        page = _page(unit_rows(RunDir.look(path), query, left, faults), query, start, size, back=back)
    except (OSError, ValueError, KeyError, TypeError, IndexError, msgspec.MsgspecError) as error:
        return UnitPage(fault=str(error))
    if not faults:
        return page
    more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
    return page._replace(fault=f"{faults[0]}{more}; try `trueup repair {path}`")


def _page(rows: Iterator[UnitRow], query: Query, start: UnitRow | None, size: int, *, back: bool) -> UnitPage:
    key = _KEYS[query.order]
    if start is None:
        found = list(_first(rows, key, query, size + 1))
        return UnitPage(tuple(found[:size]), after=len(found) > size)
    edge = key(start)
    onward = query.down == back  # whether the wanted units have greater keys than `start`
    wanted = (row for row in rows if (key(row) > edge if onward else key(row) < edge))
    if not back:
        found = list(_first(wanted, key, query, size + 1))
        return UnitPage(tuple(found[:size]), before=True, after=len(found) > size)
    last = _last(wanted, key, query, size + 1)
    return UnitPage(tuple(last[-size:]), before=len(last) > size, after=True)


def _first(rows: Iterable[UnitRow], key: Callable[[UnitRow], Key], query: Query, number: int) -> Iterable[UnitRow]:
    if not query.order:
        return islice(rows, number)
    return (heapq.nlargest if query.down else heapq.nsmallest)(number, rows, key=key)


def _last(rows: Iterable[UnitRow], key: Callable[[UnitRow], Key], query: Query, number: int) -> list[UnitRow]:
    if not query.order:
        return list(deque(rows, maxlen=number))
    return (heapq.nsmallest if query.down else heapq.nlargest)(number, rows, key=key)[::-1]


def row_now(path: Path, step: str, row: UnitRow) -> UnitRow:
    """The current row of a unit, on any page; the given row if its chunk no longer has the unit."""
    try:
        run = RunDir.look(path)
        chunks = [run.state.chunks[row.chunk]]
        found = [each for each in _rows(run, Query(step), chunks, []) if each.id == row.id]
    except (OSError, ValueError, KeyError, TypeError, IndexError, msgspec.MsgspecError):
        return row
    return found[0] if found else row


def unit_rows(
    run: RunDir, query: Query, left: Callable[[], bool] = lambda: False, faults: list[str] | None = None
) -> Iterator[UnitRow]:
    """Every unit to list: those that failed, those in the middle of the step, and those that passed.

    Files with fewer units than the journal says are added to `faults`.
    """
    if query.step not in run.state.steps:
        return
    text = query.text.lower()
    for place, row in enumerate(_rows(run, query, list(run.state.ordered()), [] if faults is None else faults)):
        if place % _BETWEEN == 0 and left():
            return
        if (query.code and query.code not in row.codes) or (text and text not in row.id.lower()):
            continue
        yield row._replace(place=place)


def _rows(run: RunDir, query: Query, chunks: Sequence[Chunk], faults: list[str]) -> Iterator[UnitRow]:
    index = run.state.steps.index(query.step)
    through = [chunk for chunk in chunks if query.step in chunk.done]
    if query.kind in {"", "failed"}:
        for chunk in through:
            yield from _judged(run, chunk, query.step, "failed", faults) if chunk.done[query.step].failures else ()
    if query.kind in {"", "open"}:
        for chunk in chunks:
            if run.state.is_open(chunk) and chunk.at == index:
                yield from _open(run, chunk, query.step, faults)
    if query.kind in {"", "valid"}:
        for chunk in through:
            yield from _judged(run, chunk, query.step, "valid", faults)


class _Coded(msgspec.Struct):
    code: str = ""


class _Record(msgspec.Struct):
    """The fields of a record that a list shows."""

    unit_id: str
    errors: list[_Coded] = []
    metadata: dict[str, Any] = msgspec.field(name="_metadata", default_factory=dict)


class _Quick(_Record):
    metadata: dict[str, msgspec.Raw] = msgspec.field(name="_metadata", default_factory=dict)


_quick = msgspec.json.Decoder(_Quick).decode


def _record(raw: bytes) -> _Record:
    """A line as a record. Raises ValueError if it is not one."""
    try:
        return _quick(raw)
    except msgspec.DecodeError:  # a lone surrogate, which this decoder refuses; or not a record
        return msgspec.convert(decode(raw), _Record)


def _judged(
    run: RunDir, chunk: Chunk, step: str, state: Literal["failed", "valid"], faults: list[str]
) -> Iterator[UnitRow]:
    """The units of a chunk that failed a step or passed it. A line that is not a record gives none, and is missing in the count."""
    file = run.file(chunk.name, step, "failures" if state == "failed" else "validated")
    done = chunk.done[step]
    missing = done.failures if state == "failed" else done.valid
    for raw in _raw_lines(file):
        try:
            record = _record(raw)
            facts = _noted(record, step) if state == "valid" else [error.code for error in record.errors]
        except (ValueError, RecursionError):
            continue
        missing -= 1
        yield UnitRow(record.unit_id, chunk.name, state, tuple(dict.fromkeys(facts)))
    if missing > 0:
        units = f"{missing:,} unit{'s' * (missing != 1)}"
        faults.append(f"{file.relative_to(run.path)}: {units} cannot be read")


def _raw_lines(file: Path) -> Iterator[bytes]:
    with suppress(FileNotFoundError), file.open("rb") as opened:
        yield from opened


def _noted(record: _Record, step: str) -> list[str]:
    about = record.metadata.get(step)
    if about is None:
        return []
    told = msgspec.json.decode(about) if isinstance(about, msgspec.Raw) else about
    fixes, warnings = notes_of({"_metadata": {step: told}}, step)
    return [str(fact.get("code", "")) for fact in (*warnings, *fixes) if isinstance(fact, dict)]


def _open(run: RunDir, chunk: Chunk, step: str, faults: list[str]) -> Iterator[UnitRow]:
    """The units of a chunk in the middle of a step: a call that was sent is not a reply yet."""
    try:
        calls = read_calls(rows_in(run.file(chunk.name, step, "results")))
        replied = {unit_id for unit_id, rows in calls.recorded.items() if any(map(is_reply, rows))}
        batched = any(batch.id and not batch.collected for batch in chunk.batches)
        for unit in run.units(chunk, chunk.at):
            uid = unit["unit_id"]
            asked = uid in calls.unanswered or (batched and uid not in calls.recorded)
            yield UnitRow(uid, chunk.name, "replied" if uid in replied else "asked" if asked else "waiting")
    except Damaged as error:
        faults.append(str(error).partition("; try")[0])  # the other chunks are shown
