"""Applies the edits of a judged range to its records, and returns the changes with the tally.

Only the lines that share an id with others are read again, and only the records near theirs. A line is never judged a second
time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from hashlib import blake2b
from heapq import merge
from typing import Any, BinaryIO, NamedTuple

import msgspec

from trueup.batch.counting.groups import EXAMPLES, REST, shown_id
from trueup.batch.counting.tally import UnitTally
from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import InputSource
from trueup.batch.input.units import Row, Unit, read_row, read_unit
from trueup.batch.judging.records import line_of
from trueup.batch.judging.sieve import FAILED as FAILED_ROW
from trueup.batch.judging.sieve import ID_ROW, ID_SIZE, MARK, STRANGE, Sieve, flip_of
from trueup.batch.merging.duplicates import HeldIds
from trueup.batch.merging.stored_ranges import FAILED, FLIPS, VALID, BrokenRange, Shelf, SpotTable, StoredRange
from trueup.batch.siftdir.manifest import Edit

# columns of a row: its examples, and the number of units that they are examples of
_FOUND = ((2, 3), (6, 4))
_EXAMPLES = {"codes": _FOUND, "paths": _FOUND, "rules": _FOUND, "fixes": ((2, 0),)}
_Slot = tuple[str, str, int, int]  # a table, a key in it, and these two
_CLEAN = b',"fixes":[]}\n'  # the end of a record that counts nowhere except among the valid ones
_HELD = 16  # ranges whose spots are held in memory
_SOUGHT = 8  # up to this many ids are searched for in the text of records; for more, the id of every record is read


class _Named(msgspec.Struct, gc=False):
    """A record of which only the id is read."""

    unit_id: str


_named = msgspec.json.Decoder(_Named).decode


class EditedRange(NamedTuple):
    """The cuts of each section of records, in order, and the tally of the records after them."""

    cuts: list[list["SectionCut"]]
    tally: UnitTally


class SectionCut(NamedTuple):
    """Bytes of a section that others replace: of a line that begins at an offset."""

    start: int
    offset: int
    end: int
    by: bytes = b""


class InputLines:
    """Reads single lines of the input by their offset."""

    def __init__(self, sources: Iterable[InputSource], max_line: int) -> None:
        self._sources = list(sources)
        self._max_line = max_line
        self._stack = ExitStack()
        self._opened: dict[int, BinaryIO] = {}

    def source(self, source: int) -> InputSource:
        return self._sources[source]

    def place(self, source: int, offset: int) -> str:
        """The name of a line in messages."""
        return f"{self._sources[source].name}@{self._sources[source].row(offset)}"

    def read(self, source: int, offset: int) -> bytes:
        """The line that begins at an offset of a source."""
        about = self._sources[source]
        opened = self._opened.get(source)
        if opened is None:
            opened = self._opened[source] = self._stack.enter_context(about.open())
        piece = Range(0, source, offset, offset + 1)
        line = next((line for _, line in about.rows(opened, piece, self._max_line)), None)
        if not isinstance(line, bytes):
            raise BrokenRange(f"{about.name}: the file changed while it was read; use --fresh to start over")
        return line if offset else line.removeprefix(MARK)

    def unit(self, source: int, offset: int) -> Unit:
        """The unit in that line."""
        return read_unit(self.read(source, offset), self.place(source, offset))

    def close(self) -> None:
        self._stack.close()


class Editor:
    """Applies the edits of ranges."""

    def __init__(self, shelf: Shelf, lines: InputLines, contract: Any, max_line: int, *, flips: bool) -> None:
        self._lines = lines
        self._contract = contract
        self._max_line = max_line
        self._flips = flips
        self._failed_of = lru_cache(_HELD)(lambda number: _held(shelf.number(number)))

    def apply(self, stored: StoredRange, edits: list[Edit]) -> EditedRange:
        """The records of a range after its edits."""
        return _Range(self, stored, edits).edited()

    def refused(self, source: int, offset: int) -> Sieve:
        """A sieve with the failure record of a line whose id is taken."""
        about = self._lines.source(source)
        sieve = Sieve(self._contract, about.name, row=about.row, max_line=self._max_line, flips=self._flips)
        sieve.condemn(self._lines.read(source, offset), offset, "U003")
        sieve.counted()
        return sieve

    def forget(self) -> None:
        """Look up the places of ranges again."""
        self._failed_of.cache_clear()

    def unit(self, source: int, offset: int) -> Unit:
        return self._lines.unit(source, offset)

    def flip(self, source: int, offset: int, record: Row) -> str:
        """The kind of flip that a line was counted under; empty for a line that is not an earlier record."""
        before = self._lines.unit(source, offset).before if self._flips else None
        if before is None:
            return ""
        return flip_of(before, "failed" if "failure_stage" in record else "valid", record.get("data"))[1]

    def with_merged(self, record: bytes, edit: Edit) -> bytes:
        """The record of a chosen line, with the replies that it replaces."""
        row = read_row(record) if b'"merged' in record else {}
        replies, missing = _merged_before(row)
        missing += edit.stands_for - len(edit.others)
        room = self._max_line - len(record)  # a record is a line that can be sifted again
        for number, offset, failed in edit.others:
            others, more = self._other(number, offset, failed=failed)
            missing += more
            for reply in others:
                room -= len(line_of(reply))
                if room < 0:
                    missing += 1
                else:
                    replies.append(reply)
        added: Row = {"merged": replies, "merged_more": missing} if missing else {"merged": replies}
        if row.keys() & added.keys():
            return line_of({**row, **added})
        return record.rstrip()[:-1] + b"," + line_of(added)[1:]

    def _other(self, number: int, offset: int, *, failed: bool) -> tuple[list[Row], int]:
        """The reply of a line after the replies that it replaced itself, and how many more there were."""
        source, spots = self._failed_of(number)
        place = self._lines.place(source, offset)
        if not failed:
            unit = self._lines.unit(source, offset)
            replies, more = _merged_before(unit.kept)
            return [*replies, {"place": place, "raw_response": unit.raw, "errors": []}], more
        record = spots.exactly(offset)
        if record is None:
            raise _broken(place)
        row = read_row(spots.section.cut(*record).read())
        replies, more = _merged_before(row)
        return [*replies, {"place": place, "raw_response": row["raw_response"], "errors": row["errors"]}], more


def _merged_before(row: Row) -> tuple[list[Row], int]:
    """The replies that a record of an earlier sift replaced, and how many more there were."""
    replies, more = row.get("merged"), row.get("merged_more")
    return (list(replies), more if type(more) is int else 0) if isinstance(replies, list) else ([], 0)


def _held(stored: StoredRange) -> tuple[int, SpotTable]:
    return stored.part.piece.source, stored.spots_of(FAILED)


class _Range:
    """One range while its edits are applied."""

    def __init__(self, editor: Editor, stored: StoredRange, edits: list[Edit]) -> None:
        self._editor, self._stored, self._edits = editor, stored, edits
        self._source = stored.part.piece.source
        self._spots = [stored.spots_of(section) for section in (VALID, FAILED, FLIPS)]
        self._cuts: list[list[SectionCut]] = [[], [], []]
        self._tally = UnitTally.of(stored.part.tally)
        self._added: list[tuple[int, Row]] = []  # new failure records, by offset
        self._stale: set[_Slot] = set()  # examples of the tally to look up

    def edited(self) -> EditedRange:
        places = self._valid_spans([edit for edit in self._edits if self._spots[FAILED].exactly(edit.offset) is None])
        for edit in self._edits:
            if edit.act != "keep":
                section, span = places.get(edit.offset) or (FAILED, self._failed_span(edit.offset))
                self._apply(edit, section, span)
        if self._stale:
            _Examples(self._stored, self._tally, self._stale, self._gone(), self._added).fill()
        return EditedRange([sorted(cuts) for cuts in self._cuts], self._tally)

    def _apply(self, edit: Edit, section: int, span: tuple[int, int]) -> None:
        start, end = span
        record = self._stored.records[section].cut(start, end).read()
        if edit.act == "choose":
            record = self._editor.with_merged(record, edit)
            self._cuts[section].append(SectionCut(start, edit.offset, end, record))
            self._note_merged("units", 1)
            return
        self._cuts[section].append(SectionCut(start, edit.offset, end))
        self._take(edit, record)
        if edit.act == "refuse":
            self._refuse(edit.offset)
            return
        chosen_failed = edit.others[0][2]
        was, now = ("failed" if failed else "valid" for failed in (section == FAILED, chosen_failed))
        self._note_merged(f"{was}_to_{now}", 1)
        self._tally.counts["lines"] += 1
        self._tally.counts["merged"] += 1

    def _note_merged(self, kind: str, number: int) -> None:
        self._tally.merged[kind] = self._tally.merged.get(kind, 0) + number

    def _take(self, edit: Edit, record: bytes) -> None:
        """Subtract a record from the tally."""
        row = read_row(record)
        counted = _counted(row)
        kind = self._editor.flip(self._source, edit.offset, row)
        if kind:
            counted.flips[kind] = 1
            flip = self._spots[FLIPS].exactly(edit.offset)
            if flip is not None:
                self._cuts[FLIPS].append(SectionCut(flip[0], edit.offset, flip[1]))
        uid = shown_id(str(row["unit_id"]))
        self._stale |= {slot for slot in _slots(counted) if uid in _ids(self._tally, slot)}
        self._tally.take(counted)

    def _refuse(self, offset: int) -> None:
        """Put a failure record at the place of its line."""
        sieve = self._editor.refused(self._source, offset)
        start = self._spots[FAILED].start(offset)
        self._cuts[FAILED].append(SectionCut(start, offset, start, sieve.failed[0]))
        if sieve.flips:
            start = self._spots[FLIPS].start(offset)
            self._cuts[FLIPS].append(SectionCut(start, offset, start, sieve.flips[0]))
        self._added.append((offset, read_row(sieve.failed[0])))
        self._stale |= _slots(sieve.tally)
        for name in ("provided", "strange"):
            sieve.tally.counts[name] = 0
        self._tally.add(sieve.tally.to_dict())

    def _gone(self) -> "_Gone":
        offsets = {edit.offset for edit in self._edits if edit.act in {"drop", "refuse"}}
        return _Gone(offsets, {cut.start for cut in self._cuts[VALID] if not cut.by})

    # -- where records are -----------------------------------------------------------------------

    def _failed_span(self, offset: int) -> tuple[int, int]:
        span = self._spots[FAILED].exactly(offset)
        if span is None:
            raise self._broken()
        return span

    def _valid_spans(self, edits: list[Edit]) -> dict[int, tuple[int, tuple[int, int]]]:
        """The places of the valid records of lines, found by id among the records near them."""
        around: dict[tuple[int, int], list[Edit]] = {}
        for edit in edits:
            around.setdefault(self._spots[VALID].around(edit.offset), []).append(edit)
        return {
            offset: (VALID, span)
            for batch, some in around.items()
            if any(edit.act != "keep" for edit in some)
            for offset, span in self._in_batch(batch, [edit.offset for edit in some])
        }

    def _in_batch(self, batch: tuple[int, int], offsets: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """The records of some lines in a batch. Lines of the same id are in the same order as their records."""
        wanted: dict[str, list[int]] = {}
        for offset in offsets:
            wanted.setdefault(self._editor.unit(self._source, offset).id, []).append(offset)
        raw = self._stored.records[VALID].cut(*batch).read()
        spans = _by_id(raw, wanted, all_of_them=False)
        if any(len(spans[uid]) != len(lines) for uid, lines in wanted.items()):
            spans = _by_id(raw, wanted, all_of_them=True)
        for uid, lines in wanted.items():
            if len(spans[uid]) != len(lines):
                raise self._broken()
            for offset, (start, end) in zip(lines, spans[uid], strict=True):
                yield offset, (batch[0] + start, batch[0] + end)

    def _broken(self) -> BrokenRange:
        return _broken(f"range {self._stored.part.piece.number}")


def _by_id(raw: bytes, wanted: Iterable[str], *, all_of_them: bool) -> dict[str, list[tuple[int, int]]]:
    """The places of records with these ids. For a few ids, only records that contain one of them literally are read first."""
    places: dict[str, list[tuple[int, int]]] = {uid: [] for uid in wanted}
    all_of_them = all_of_them or len(places) > _SOUGHT
    needles = [] if all_of_them else [uid.encode("utf-8", "surrogatepass") for uid in places]
    for start, line in _records(raw):
        if all_of_them or any(needle in line for needle in needles):
            uid = _id_of(line)
            if uid in places:
                places[uid].append((start, start + len(line)))
    return places


def _id_of(record: bytes) -> str:
    try:
        return _named(record).unit_id
    except (msgspec.DecodeError, UnicodeDecodeError):  # a lone surrogate
        return str(read_row(record)["unit_id"])


def _counted(row: Row) -> UnitTally:
    """The findings, fixes and evidence that the record of one unit was counted with."""
    tally = UnitTally()
    tally.note_record(row)
    failed = "failure_stage" in row
    tally.counts["failed" if failed else "valid"] = 1
    tally.counts["lines"] = tally.counts["units"] = 1
    if failed:
        tally.stages[row["failure_stage"]] = 1
    elif row.get("warnings"):
        tally.counts["warned"] = 1
    return tally


def _slots(tally: UnitTally) -> set[_Slot]:
    """The places of examples in a tally."""
    return {
        (name, key, ids, units)
        for name, places in _EXAMPLES.items()
        for key, row in getattr(tally, name).items()
        for ids, units in places
        if row[ids]
    }


def _ids(tally: UnitTally, slot: _Slot) -> list[str]:
    row = getattr(tally, slot[0]).get(slot[1])
    return [] if row is None else list(row[slot[2]])


class _Gone(NamedTuple):
    """Lines that no longer have the record they were judged to have: their offsets, and the places of the valid records."""

    offsets: set[int]
    valid: set[int]


class _Examples:
    """Looks up the examples of some rows of a tally: the first units of the range that are counted there."""

    def __init__(
        self, stored: StoredRange, tally: UnitTally, stale: set[_Slot], gone: _Gone, added: list[tuple[int, Row]]
    ) -> None:
        self._stored, self._tally, self._gone, self._added = stored, tally, gone, added
        self._open: dict[_Slot, tuple[list[str], int]] = {}  # the examples so far, and the number to reach
        for slot in stale:
            name, key, ids, units = slot
            row = getattr(tally, name).get(key)
            if row is not None and key != REST:
                row[ids] = []
                if row[units]:
                    self._open[slot] = row[ids], min(EXAMPLES, row[units])

    def fill(self) -> None:
        """Read records in the order of their lines until no examples are missing."""
        rows = merge(self._failed(), self._valid(), sorted(self._added, key=_offset), key=_offset)
        for _, row in rows if self._open else ():
            self._note(row)
            if not self._open:
                return

    def _note(self, row: Row) -> None:
        for slot in _slots(_counted(row)) & self._open.keys():
            examples, most = self._open[slot]
            examples.append(shown_id(str(row["unit_id"])))
            if len(examples) == most:
                del self._open[slot]

    def _failed(self) -> Iterator[tuple[int, Row]]:
        spots = self._stored.spots_of(FAILED)
        for offset in spots.offsets:
            if offset not in self._gone.offsets:
                yield offset, read_row(spots.section.cut(*spots.around(offset)).read())

    def _valid(self) -> Iterator[tuple[int, Row]]:
        """The valid records with fixes or warnings. The line of each is found by the ids of the range."""
        counts = self._tally.counts
        if not counts["fixed"] and not counts["warned"]:
            return
        ids = self._stored.ids.read()
        spots = self._stored.spots_of(VALID)
        for offset, batch in zip(spots.offsets, spots.starts, strict=True):
            for start, line in _records(spots.section.cut(*spots.around(offset)).read()):
                if not line.endswith(_CLEAN) and batch + start not in self._gone.valid:
                    row = read_row(line)
                    yield self._offset_of(ids, row["unit_id"]), row

    def _offset_of(self, ids: bytes, uid: str) -> int:
        """The offset of the line that a valid record comes from: only one of the valid lines with an id keeps its record."""
        key = blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=ID_SIZE).digest()
        table = HeldIds(ids)
        row = bisect_left(table, key)
        while True:
            value = int.from_bytes(ids[row * ID_ROW + ID_SIZE : (row + 1) * ID_ROW], "big")
            if not value & FAILED_ROW and value & (STRANGE - 1) not in self._gone.offsets:
                return value & (STRANGE - 1)
            row += 1


def _records(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Some records, each with its position among them."""
    start = 0
    for line in raw.split(b"\n")[:-1]:
        yield start, line + b"\n"
        start += len(line) + 1


def _offset(found: tuple[int, Row]) -> int:
    return found[0]


def _broken(what: str) -> BrokenRange:
    return BrokenRange(f"{what}: the records do not match their ids; use --fresh to start over")
