"""Reads Arrow files and streams (also Feather): finds the record batches, and reads the rows of one.

Both formats are sequences of messages. Finding the batches only needs the heads of the messages; a worker reads its batch, with
the schema and the dictionaries before it. A local file is mapped, so an uncompressed batch takes no memory.
"""

import io
import os
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple

from trueup.batch.tables.kinds import ARROW, STREAM
from trueup.batch.tables.table import ROWS_AT_ONCE, BadTable, RowGroup, SourceTable, indexed, is_damage

_DICTIONARY, _ROWS = 2, 3
_FEATHER = b"FEA1"
_MOST_HEAD = 64 << 20  # bytes of the head of a message: enough for a schema with very many columns

Open = Callable[[], BinaryIO]


class Dictionary(NamedTuple):
    """The place and size of the values of a dictionary, and whether they extend the earlier ones instead of replacing them."""

    at: int
    size: int
    adds: bool


class ArrowLayout(NamedTuple):
    """The start of the messages of a file, its schema, and its dictionaries by number, in the order of the file."""

    start: int
    schema: bytes
    dictionaries: dict[int, list[Dictionary]] = {}

    def needed(self, place: int) -> list[Dictionary]:
        """The dictionaries of the batch at a place. A stream may replace one later; a file may have it anywhere."""
        if self.start:
            return sorted(chain.from_iterable(self.dictionaries.values()))
        found = []
        for given in self.dictionaries.values():
            at = bisect_left(given, place, key=attrgetter("at"))
            while at:
                at -= 1
                found.append(given[at])
                if not given[at].adds:
                    break
        return sorted(found)


class _Message(NamedTuple):
    kind: int
    at: int
    size: int
    rows: int
    number: int = 0  # of a dictionary
    adds: bool = False


def index(opened: BinaryIO) -> SourceTable:
    """The record batches of a file or stream."""
    try:
        messages = list(_messages(opened))
    except (struct.error, IndexError):
        raise BadTable("not a readable Arrow file: a message has a damaged head") from None
    if not messages:
        raise BadTable("not a readable Arrow file: it has no schema")
    first, *rest = messages
    if first.kind != 1:
        raise BadTable("not a readable Arrow file: it does not begin with a schema")
    dictionaries: dict[int, list[Dictionary]] = {}
    for message in rest:
        if message.kind == _DICTIONARY:
            given = dictionaries.setdefault(message.number, [])
            given.append(Dictionary(message.at, message.size, message.adds))
    found = [(m.rows, m.size, m.at, m.size) for m in rest if m.kind == _ROWS]
    table = indexed("arrow", found, ArrowLayout(first.at, _read(opened, first.at, first.size), dictionaries))
    _compare(opened, table, len(found))
    return table


def _compare(opened: BinaryIO, table: SourceTable, count: int) -> None:
    """Make sure that pyarrow reads the schema, and finds the same number of batches."""
    import pyarrow as pa  # type: ignore[import-untyped]

    seen = count
    try:
        schema(table)
        if table.about.start:
            opened.seek(0)
            seen = pa.ipc.open_file(opened).num_record_batches
    except Exception as error:
        if not is_damage(error):
            raise
        raise BadTable(f"not a readable Arrow file: {str(error)[:200]}") from None
    if seen != count:
        raise BadTable(f"not a readable Arrow file: it lists {seen} record batches but has {count}")


def _messages(opened: BinaryIO) -> Iterator[_Message]:
    size = opened.seek(0, os.SEEK_END)
    opened.seek(0)
    at, end = 0, size
    head = opened.read(len(ARROW))
    if head.startswith(_FEATHER):
        raise BadTable("Feather version 1 is not supported; write the file again as version 2")
    if head == ARROW:
        at = 8
        opened.seek(max(0, size - 10))
        tail = opened.read(10)
        if not tail.endswith(ARROW):
            raise BadTable("not a readable Arrow file: its end is missing")
        end = size - 10 - int.from_bytes(tail[:4], "little")
    while at < end:
        message = _message(opened, at, end)
        if message is None:
            return
        yield message
        at += message.size


def _message(opened: BinaryIO, at: int, end: int) -> _Message | None:
    """The message that begins here; None for the end of a stream."""
    opened.seek(at)
    head = opened.read(8)
    length = int.from_bytes(head[:4], "little")
    prefix = 4  # before 0.15 a message began with its length
    if head[:4] == STREAM:
        prefix, length = 8, int.from_bytes(head[4:8], "little")
    if not length:
        return None
    if length > min(_MOST_HEAD, end - at - prefix):
        raise BadTable(f"the file ends early, or is damaged at byte {at:,}")
    opened.seek(at + prefix)
    meta = opened.read(length)
    kind, body, content = _head(meta)
    size = prefix + length + body
    if size > end - at:
        raise BadTable(f"the file ends early: {at + size - end:,} bytes of the message at byte {at:,} are missing")
    first = _field(meta, content, 0, "<q") if content else 0
    if kind == _DICTIONARY:
        return _Message(kind, at, size, 0, first, bool(content and _field(meta, content, 2, "<B")))
    if kind == _ROWS and first < 0:
        raise struct.error
    return _Message(kind, at, size, first if kind == _ROWS else 0)


def _head(meta: bytes) -> tuple[int, int, int]:
    """The head of a message: its kind, the size of its body, and the place of the table with its content; 0 if there is none."""
    message = struct.unpack_from("<I", meta)[0]
    kind = _field(meta, message, 1, "<B")
    body = _field(meta, message, 3, "<q")
    place = _place(meta, message, 2)
    if body < 0:
        raise struct.error
    return kind, body, place + struct.unpack_from("<I", meta, place)[0] if place else 0


def _place(meta: bytes, table: int, number: int) -> int:
    """The place of a field in a flatbuffer table; 0 if it is missing."""
    fields = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", meta, fields)[0]:
        return 0
    offset = struct.unpack_from("<H", meta, fields + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _field(meta: bytes, table: int, number: int, form: str) -> int:
    place = _place(meta, table, number)
    return int(struct.unpack_from(form, meta, place)[0]) if place else 0


def schema(table: SourceTable) -> Any:
    """The columns of a file."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(table.about.schema))


def _read(opened: BinaryIO, at: int, size: int) -> bytes:
    opened.seek(at)
    return opened.read(size)


_last: dict[tuple[str, int], Any] = {}  # the last batch, which the next range may share


def batches(key: str, open_file: Open, table: SourceTable, group: RowGroup, low: int, high: int) -> Iterator[Any]:
    """The rows of a batch from one number to another. `key` identifies the file; with "", nothing is kept for the next range."""
    batch = _last.get((key, group.at))
    if batch is None:
        _last.clear()
        batch = _batch(open_file, table, group)
        if key:
            _last[key, group.at] = batch
    for at in range(low, high, ROWS_AT_ONCE):
        yield batch.slice(at, min(ROWS_AT_ONCE, high - at))


def _batch(open_file: Open, table: SourceTable, group: RowGroup) -> Any:
    import pyarrow as pa

    about: ArrowLayout = table.about
    with open_file() as opened:
        if about.dictionaries:
            places = [(one.at, one.size) for one in about.needed(group.at)]
            whole = about.schema + b"".join(_read(opened, *place) for place in (*places, (group.at, group.size)))
            batch = pa.ipc.open_stream(pa.py_buffer(whole)).read_next_batch()
        else:
            batch = pa.ipc.read_record_batch(_mapped(opened, group.at, group.size), schema(table))
    batch.validate(full=True)  # wrong lengths would crash the process
    return batch


def _mapped(opened: BinaryIO, at: int, size: int) -> Any:
    """A part of a file: mapped if the file is local, else read."""
    import pyarrow as pa

    raw = getattr(opened, "raw", None)
    if isinstance(raw, io.FileIO):  # a file at an address has a name too, which a local file may share
        with pa.memory_map(str(raw.name)) as mapped:
            mapped.seek(at)
            return mapped.read_buffer(size)
    return pa.py_buffer(_read(opened, at, size))
