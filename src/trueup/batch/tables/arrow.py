"""Arrow files and streams (Feather too): the record batches of one, and the rows of a batch.

Both formats are a row of messages. Their heads alone are read to find the batches; a worker reads the batch it needs, with the
schema and the dictionaries before it. A local file is mapped, so a batch that is not compressed takes no memory.
"""

import io
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from trueup.batch.tables.kinds import ARROW, STREAM
from trueup.batch.tables.table import BadTable, Group, Table, indexed, is_damage

_DICTIONARY, _ROWS = 2, 3
_MOST_ROWS = 2_048
_MOST_HEAD = 64 << 20  # bytes of the head of a message: a schema with very many columns

Open = Callable[[], BinaryIO]


class About(NamedTuple):
    """Where the messages of a file begin, its schema, and its dictionaries: pairs of where one is and how long."""

    start: int
    schema: bytes
    dictionaries: tuple[tuple[int, int], ...] = ()


class _Message(NamedTuple):
    kind: int
    at: int
    size: int
    rows: int


def index(opened: BinaryIO) -> Table:
    """The record batches of a file or stream."""
    try:
        messages = list(_messages(opened))
    except (struct.error, IndexError):
        raise BadTable("not an Arrow file that can be read: a message has a damaged head") from None
    if not messages:
        raise BadTable("not an Arrow file that can be read: it has no schema")
    first, *rest = messages
    if first.kind != 1:
        raise BadTable("not an Arrow file that can be read: it does not begin with a schema")
    dictionaries = tuple((message.at, message.size) for message in rest if message.kind == _DICTIONARY)
    found = [(m.rows, m.size, m.at, m.size) for m in rest if m.kind == _ROWS]
    table = indexed("arrow", found, About(first.at, _read(opened, first.at, first.size), dictionaries))
    _compare(opened, table, len(found))
    return table


def _compare(opened: BinaryIO, table: Table, count: int) -> None:
    """Make sure that pyarrow reads the schema, and sees as many batches as were found."""
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
        raise BadTable(f"not an Arrow file that can be read: {str(error)[:200]}") from None
    if seen != count:
        raise BadTable(f"not an Arrow file that can be read: it names {seen} record batches and has {count}")


def _messages(opened: BinaryIO) -> Iterator[_Message]:
    size = opened.seek(0, os.SEEK_END)
    opened.seek(0)
    at, end = 0, size
    if opened.read(len(ARROW)) == ARROW:
        at = 8
        opened.seek(max(0, size - 10))
        tail = opened.read(10)
        if not tail.endswith(ARROW):
            raise BadTable("not an Arrow file that can be read: its end is missing")
        end = size - 10 - int.from_bytes(tail[:4], "little")
    while at < end:
        message = _message(opened, at, end)
        if message is None:
            return
        yield message
        at += message.size


def _message(opened: BinaryIO, at: int, end: int) -> _Message | None:
    """The message that begins here; None: the end of a stream."""
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
    kind, body, rows = _head(meta)
    size = prefix + length + body
    if size > end - at:
        raise BadTable(f"the file ends early: {at + size - end:,} bytes of the message at byte {at:,} are missing")
    return _Message(kind, at, size, rows)


def _head(meta: bytes) -> tuple[int, int, int]:
    """Of the head of a message: its kind, the length of its body, and the number of its rows."""
    message = struct.unpack_from("<I", meta)[0]
    kind = _field(meta, message, 1, "<B")
    body = _field(meta, message, 3, "<q")
    rows = 0
    if kind == _ROWS and (place := _place(meta, message, 2)):
        rows = _field(meta, place + struct.unpack_from("<I", meta, place)[0], 0, "<q")
    if body < 0 or rows < 0:
        raise struct.error
    return kind, body, rows


def _place(meta: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table is; 0: it is not there."""
    fields = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", meta, fields)[0]:
        return 0
    offset = struct.unpack_from("<H", meta, fields + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _field(meta: bytes, table: int, number: int, form: str) -> int:
    place = _place(meta, table, number)
    return int(struct.unpack_from(form, meta, place)[0]) if place else 0


def schema(table: Table) -> Any:
    """The columns of a file."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(table.about.schema))


def _read(opened: BinaryIO, at: int, size: int) -> bytes:
    opened.seek(at)
    return opened.read(size)


_last: dict[tuple[str, int], Any] = {}  # the batch that was read last, which the next range may share


def batches(key: str, open_file: Open, table: Table, group: Group, low: int, high: int) -> Iterator[Any]:
    """The rows of a batch from one number to another; `key` tells the file from any other, "" keeps nothing for the next range."""
    batch = _last.get((key, group.at))
    if batch is None:
        _last.clear()
        batch = _batch(open_file, table, group)
        if key:
            _last[key, group.at] = batch
    for at in range(low, high, _MOST_ROWS):
        yield batch.slice(at, min(_MOST_ROWS, high - at))


def _batch(open_file: Open, table: Table, group: Group) -> Any:
    import pyarrow as pa

    about: About = table.about
    with open_file() as opened:
        if about.dictionaries:
            # a stream may replace a dictionary later on; a file may have it anywhere
            before = [place for place in about.dictionaries if about.start or place[0] < group.at]
            whole = about.schema + b"".join(_read(opened, *place) for place in (*before, (group.at, group.size)))
            batch = pa.ipc.open_stream(pa.py_buffer(whole)).read_next_batch()
        else:
            batch = pa.ipc.read_record_batch(_mapped(opened, group.at, group.size), schema(table))
    batch.validate(full=True)  # lengths that do not hold would end the process
    return batch


def _mapped(opened: BinaryIO, at: int, size: int) -> Any:
    """A part of a file: mapped where the file is local, read elsewhere."""
    import pyarrow as pa

    raw = getattr(opened, "raw", None)
    if isinstance(raw, io.FileIO):  # a file at an address has a name too, which may be that of another one here
        with pa.memory_map(str(raw.name)) as mapped:
            mapped.seek(at)
            return mapped.read_buffer(size)
    return pa.py_buffer(_read(opened, at, size))
