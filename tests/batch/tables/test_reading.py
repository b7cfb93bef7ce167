"""Reading tables: every kind of file gives the records that the same rows give as JSON lines, and no row is lost."""

import gzip
import json
import os
import random
import re
import signal
import struct
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.batch.sifting import SCHEMA, Ran, bytes_of, run_files, unit, write
from tests.batch.tables.tables import KINDS, REPLIES, file_of, lines_of_rows, rows_of, save
from tests.effort import SOAK
from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import InputForm, InputSource, UnreadableSource, open_sources
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import SiftOptions, SiftRefused, sift
from trueup.batch.tables.reading import lines_of_table
from trueup.batch.tables.rows import UnitColumns
from trueup.verdict.extras import install

GOOD = REPLIES[0]
KILLS = 50 if SOAK else 2
NAMED = InputForm(UnitColumns("key", "answer"))


def sift_table(folder: Path, columns: dict[str, Any] | pa.Table, kind: str = "parquet", **options: Any) -> Ran:
    return run_files(folder, [file_of(folder, columns, kind)], **options)


def rows_in(file: str) -> list[dict[str, Any]]:
    """The lines that a table is read as."""
    (source,) = open_sources([file], Path(file).parent)
    lines = [line for _, line in source.rows(BytesIO(), Range(0, 0, 0, source.extent), 1 << 20)]
    return [json.loads(line) for line in lines if isinstance(line, bytes)]


def without_places(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in record.items() if name != "place"} for record in records]


# -- the same records ----------------------------------------------------------------------------


@pytest.mark.spec("B11")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_records_as_json_lines(tmp_path: Path, kind: str) -> None:
    columns = rows_of(300, ids=290)
    lines = run_files(tmp_path, [lines_of_rows(tmp_path, columns)], out="lines", range_size=4000)
    table = run_files(tmp_path, [file_of(tmp_path, columns, kind)], out="table", range_size=4000, workers=2)
    assert table.valid == lines.valid
    assert without_places(table.failed) == without_places(lines.failed)
    assert table.summary["timings"]["ranges"] > 3
    assert [codes for codes in table.codes.values() if "U003" in codes]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_the_position_of_a_row_is_its_number(tmp_path: Path, kind: str) -> None:
    ran = run_files(tmp_path, [file_of(tmp_path, rows_of(300), kind)], range_size=4000)
    numbers = [int(record["place"].rpartition("@")[2]) for record in ran.failed]
    assert numbers == [number for number in range(300) if number % 4 > 1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_does_not_depend_on_workers_or_engine(tmp_path: Path, kind: str) -> None:
    file = file_of(tmp_path, rows_of(200, ids=190), kind)
    for workers in (1, 3):
        run_files(tmp_path, [file], out=f"by{workers}", range_size=3000, workers=workers)
    assert bytes_of(tmp_path / "by1") == bytes_of(tmp_path / "by3")


@pytest.mark.parametrize("kind", ["parquet", "stream"])
def test_a_large_group_is_cut_into_ranges(tmp_path: Path, kind: str) -> None:
    """One row group or batch for all rows: still many ranges, with each row in one of them, in any order."""
    file = file_of(tmp_path, rows_of(5000), kind, group=10_000)
    (source,) = open_sources([file], tmp_path)
    pieces = [Range(n, 0, at, min(at + 4000, source.extent)) for n, at in enumerate(range(0, source.extent, 4000))]
    assert len(pieces) > 100
    order = list(range(len(pieces)))
    random.Random(7).shuffle(order)
    found: dict[int, bytes] = {}
    for number in order[:40] + sorted(order[40:]):
        for place, line in source.rows(BytesIO(), pieces[number], 1 << 20):
            assert isinstance(line, bytes)
            found[source.row(place)] = line
    assert sorted(found) == list(range(5000))
    assert json.loads(found[4321])["unit_id"] == "u4321"


@pytest.mark.spec("B22")
@pytest.mark.filterwarnings("ignore")
def test_ray_reads_tables_like_the_local_engine(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    files = [file_of(tmp_path, rows_of(100, ids=90), kind) for kind in KINDS]
    run_files(tmp_path, files, out="local", range_size=8000)
    run_files(tmp_path, files, out="ray", range_size=8000, engine="ray", workers=2)
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")


@pytest.mark.spec("B18")
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_and_resumed_sift_writes_the_same_bytes(tmp_path: Path, kind: str) -> None:
    file = file_of(tmp_path, rows_of(120, ids=110), kind)
    spec = spec_of(options={"schema": SCHEMA})
    options = SiftOptions(workers=1, range_size=3000, format="parquet")
    sift([file], spec, tmp_path / "whole", options)
    said = []
    sift([file], spec, tmp_path / "counted", options, said.append)
    for at in random.Random(kind).sample(range(len(said)), min(KILLS, len(said))):
        out = tmp_path / f"killed{at}"
        assert _killed(lambda hear, out=out: sift([file], spec, out, options, hear), at)
        sift([file], spec, out, options)
        assert bytes_of(out) == bytes_of(tmp_path / "whole")
        for name in ("validated.parquet", "failures.parquet"):
            assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _killed(act: Callable[[Any], object], after: int) -> bool:
    """Run an action in a separate process that is killed after some number of messages. Returns whether it was killed."""
    pid = os.fork()
    if pid == 0:
        heard = iter(range(after))

        def hear(_: object) -> None:
            if next(heard, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            act(hear)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_columns_with_other_names_can_be_chosen(tmp_path: Path, kind: str) -> None:
    columns = {"key": ["a", "b"], "city": ["Oslo", "Rome"], "answer": [GOOD, GOOD]}
    ran = sift_table(tmp_path, columns, kind, form=NAMED)
    assert [(row["unit_id"], row["input"]) for row in ran.valid] == [("a", {"city": "Oslo"}), ("b", {"city": "Rome"})]


def test_fields_of_json_lines_can_be_chosen_in_the_same_way(tmp_path: Path) -> None:
    lines = [
        json.dumps({"key": "a", "city": "Oslo", "answer": GOOD}), json.dumps({"city": "Rome", "answer": GOOD}),
        json.dumps({"key": "c"}), json.dumps({"key": "d", "answer": GOOD, "raw_response": "{}"}), "torn",
        f'{{"key": "f", "answer": "no", "answer": {json.dumps(GOOD)}}}',
    ]  # fmt: skip
    file = str(write(tmp_path / "lines.jsonl", lines))
    ran = run_files(tmp_path, [file], form=NAMED)
    assert [(row["unit_id"], row["input"]) for row in ran.valid] == [
        ("a", {"city": "Oslo"}),
        ("lines.jsonl@75", {"city": "Rome"}),
    ]
    assert list(ran.codes.values()) == [["U002"], ["U001"], ["U001"], ["U001"]]
    with pytest.raises(SiftRefused, match="different options"):
        run_files(tmp_path, [file])


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_a_reply_is_refused_with_its_columns(tmp_path: Path, kind: str) -> None:
    with pytest.raises(
        UnreadableSource, match=r"no column has a reply; its columns: key, text\. Name one of them raw_response, or"
    ):
        sift_table(tmp_path, {"key": ["a"], "text": [GOOD]}, kind)
    with pytest.raises(UnreadableSource, match=r"there is no column 'answer'; its columns: key, text"):
        sift_table(tmp_path, {"key": ["a"], "text": [GOOD]}, kind, form=NAMED, out="named")
    two = {"text": ["a"], "raw_response": [GOOD]}
    with pytest.raises(UnreadableSource, match=r"there are both 'text' and 'raw_response'"):
        sift_table(tmp_path, two, kind, form=InputForm(UnitColumns("", "text")), out="both")


@pytest.mark.parametrize("kind", KINDS)
def test_two_columns_with_the_same_name_are_refused(tmp_path: Path, kind: str) -> None:
    table = pa.table([["a"], [GOOD], ["x"], ["y"]], names=["unit_id", "raw_response", "n", "n"])
    if kind == "csv":
        file = write(tmp_path / "two.csv", ["unit_id,raw_response,n,n", "a,{},x,y"])
    else:
        file = Path(file_of(tmp_path, table, kind))
    with pytest.raises(UnreadableSource, match="two columns have the name 'n'"):
        run_files(tmp_path, [str(file)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_rows_has_no_units(tmp_path: Path, kind: str) -> None:
    ran = sift_table(tmp_path, {"unit_id": pa.array([], pa.string()), "raw_response": pa.array([], pa.string())}, kind)
    assert (ran.valid, ran.failed, ran.summary["counts"]["units"]) == ([], [], 0)


def test_a_table_without_columns_is_refused_unless_it_is_empty(tmp_path: Path) -> None:
    assert sift_table(tmp_path, pa.table({})).summary["counts"]["units"] == 0
    bare = pa.table({"a": [1, 2]}).select([])
    with pytest.raises(UnreadableSource, match="no column has a reply; its columns: none"):
        sift_table(tmp_path, bare, "arrow", out="bare")


def test_other_line_formats_are_read_from_tables_too(tmp_path: Path) -> None:
    messages = [[{"role": "user", "content": "Who?"}, {"role": "assistant", "content": GOOD}]]
    ran = sift_table(tmp_path, {"id": ["a"], "messages": messages})
    assert [row["unit_id"] for row in ran.valid] == ["a"]
    choice = {"message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}
    response = [{"status_code": 200, "body": {"choices": [choice]}}]
    ran = sift_table(tmp_path, {"custom_id": ["b"], "response": response, "error": [None]}, out="provider")
    assert [row["unit_id"] for row in ran.valid] == ["b"]


# -- values --------------------------------------------------------------------------------------

VALUES: list[tuple[str, Any, pa.DataType, Any]] = [
    ("struct", {"a": [1, None], "b": {"c": "x"}}, pa.struct([("a", pa.list_(pa.int8())), ("b", pa.struct([("c", pa.string())]))]), None),
    ("map", [("k", date(2024, 5, 1))], pa.map_(pa.string(), pa.date32()), {"k": "2024-05-01"}),
    ("map of numbers", [(1, 2.5)], pa.map_(pa.int8(), pa.float64()), [[1, 2.5]]),
    ("date", date(2024, 5, 1), pa.date64(), "2024-05-01"),
    ("moment", 1714557600123456789, pa.timestamp("ns"), "2024-05-01T10:00:00.123456789"),
    ("zoned", 1714557600, pa.timestamp("s", tz="Europe/Berlin"), "2024-05-01T10:00:00Z"),
    ("nested moment", [{"at": datetime.fromisoformat("2024-05-01T10:00")}], pa.list_(pa.struct([("at", pa.timestamp("us"))])), [{"at": "2024-05-01T10:00:00"}]),
    ("time", time(1, 2, 3, 500_000), pa.time64("us"), "01:02:03.5"),
    ("duration", timedelta(seconds=90), pa.duration("ms"), 90),
    ("decimal", Decimal("12.50"), pa.decimal128(6, 2), 12.5),
    ("whole decimal", Decimal(2) ** 80, pa.decimal256(60, 2), 2**80),
    ("long decimal", Decimal("0.12345678901234567890"), pa.decimal128(30, 20), "0.12345678901234567890"),
    ("binary", b"\xff\x00", pa.binary(), "/wA="),
    ("nested binary", [b"hi"], pa.large_list(pa.large_binary()), ["aGk="]),
    ("uuid", UUID(int=5).bytes, pa.uuid(), str(UUID(int=5))),
    ("dictionary", "red", pa.dictionary(pa.int8(), pa.string()), "red"),
    ("nothing", None, pa.null(), None),
    ("nan", float("nan"), pa.float64(), None),
    ("infinity", float("-inf"), pa.float32(), "-Infinity"),
    ("nested nan", [float("nan"), 1.5], pa.list_(pa.float64(), 2), [None, 1.5]),
    ("large integer", 2**63 - 1, pa.int64(), 2**63 - 1),
    ("larger integer", 2**64 - 1, pa.uint64(), 2**64 - 1),
    ("large text", "é" * 5, pa.large_string(), "é" * 5),
    ("view", "seen", pa.string_view(), "seen"),
    ("view of moments", [datetime.fromisoformat("2024-05-01T10:00")], pa.list_view(pa.timestamp("us")), ["2024-05-01T10:00:00"]),
    ("large view of dates", [date(2024, 5, 1)], pa.large_list_view(pa.date32()), ["2024-05-01"]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "expected"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_values_of_every_type_become_json(tmp_path: Path, value: Any, kind: pa.DataType, expected: Any) -> None:
    table = pa.table({
        "unit_id": ["a", "b"], "value": pa.array([value, None], kind), "raw_response": [GOOD, GOOD],
    })  # fmt: skip
    first, second = (row["input"]["value"] for row in rows_in(file_of(tmp_path, table, "arrow")))
    assert (first, second) == (value if expected is None and kind != pa.float64() else expected, None)


TEXTS = [
    pa.array([GOOD, None], pa.string()).cast(kind)
    for kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary(), pa.string_view(), pa.binary_view())
]


@pytest.mark.parametrize(
    "replies",
    [
        *TEXTS,
        *(texts.dictionary_encode() for texts in TEXTS[:4]),
        pa.array([GOOD.encode(), None], pa.binary(len(GOOD))),
        pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([GOOD.encode(), None])),
    ],
    ids=lambda array: str(array.type),
)
def test_a_reply_is_text_in_a_column_of_any_text_type(tmp_path: Path, replies: pa.Array) -> None:
    ran = sift_table(tmp_path, pa.table({"unit_id": ["a", "b"], "raw_response": replies}), "stream")
    assert [row["raw_response"] for row in ran.valid] == [GOOD]
    assert ran.codes == {"b": ["R004"]}


def test_a_reply_that_is_already_parsed_is_judged_as_a_value(tmp_path: Path) -> None:
    ran = sift_table(
        tmp_path, {"unit_id": ["a", "b"], "raw_response": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": -1}]}
    )
    assert [row["data"] for row in ran.valid] == [{"name": "Ada", "age": 36}]
    assert ran.codes == {"b": ["V004"]}
    number = sift_table(tmp_path, {"unit_id": ["a"], "raw_response": [5]}, contract=_Integer(), out="number")
    assert number.valid[0]["data"] == 5


class _Integer:
    """A contract of one number."""

    def __new__(cls) -> Any:
        from trueup import Contract

        return Contract({"type": "integer"})


@pytest.mark.parametrize(
    ("ids", "found"), [([1, 2], ["1", "2"]), ([1.0, None], ["1", None]), ([b"x", b"y"], ["x", "y"])]
)
def test_ids_may_have_other_types(tmp_path: Path, ids: list[Any], found: list[str]) -> None:
    assert [
        row["unit_id"] for row in rows_in(file_of(tmp_path, {"unit_id": ids, "raw_response": [GOOD] * 2}, "parquet"))
    ] == found


@pytest.mark.parametrize("kind", [pa.date32(), pa.list_(pa.date32()), pa.timestamp("s"), pa.timestamp("ms", "UTC")])
def test_a_time_out_of_range_fails_its_row(tmp_path: Path, kind: pa.DataType) -> None:
    leaf = kind.value_type if pa.types.is_list(kind) else kind
    far = pa.array([1 << 30], pa.int32()).cast(leaf) if leaf == pa.date32() else pa.array([1 << 60]).cast(leaf)
    far = pa.ListArray.from_arrays([0, 1], far) if pa.types.is_list(kind) else far
    values = pa.concat_arrays([far, pa.nulls(1, kind)])
    ran = sift_table(tmp_path, pa.table({"unit_id": ["a", "b"], "raw_response": [GOOD, GOOD], "at": values}), "arrow")
    assert [row["unit_id"] for row in ran.valid] == ["b"]
    (failed,) = ran.failed
    assert (failed["unit_id"], failed["errors"][0]["message"]) == (
        "a",
        "The row cannot be read: one of its points in time is out of range",
    )


# -- damage --------------------------------------------------------------------------------------


@pytest.mark.spec("B11")
def test_a_cell_that_is_not_utf8_fails_only_its_row(tmp_path: Path) -> None:
    city = pa.array([b"Oslo", b"\xff", b"Rome"], pa.binary()).view(pa.string())
    table = pa.table({"unit_id": ["a", "b", "c"], "city": city, "raw_response": [GOOD] * 3})
    ran = sift_table(tmp_path, table)
    assert [row["unit_id"] for row in ran.valid] == ["a", "c"]
    assert ran.failed[0]["errors"][0]["message"] == "The row cannot be read: its text is not UTF-8"
    assert ran.failed[0]["unit_id"] == "b"


@pytest.mark.spec("B11")
def test_a_damaged_row_group_fails_its_rows_and_no_others(tmp_path: Path) -> None:
    columns = {
        "unit_id": [f"u{n}" for n in range(150)],
        "raw_response": [f'{{"name": "n{n}", "age": {n}}}' for n in range(150)],
    }
    file = save(tmp_path / "a.parquet", columns, "parquet")
    about = pq.ParquetFile(file).metadata.row_group(1).column(1)
    start = about.dictionary_page_offset or about.data_page_offset
    raw = bytearray(file.read_bytes())
    raw[start + 30 : start + about.total_compressed_size] = b"\xff" * (about.total_compressed_size - 30)
    file.write_bytes(raw)
    ran = run_files(tmp_path, [str(file)], range_size=4000)
    assert [row["unit_id"] for row in ran.valid] == [f"u{n}" for n in (*range(50), *range(100, 150))]
    assert [row["unit_id"] for row in ran.failed] == [f"a.parquet@{n}" for n in range(50, 100)]
    assert ran.failed[0]["errors"][0]["message"].startswith("The row cannot be read: its group is damaged (")


def _cut(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


@pytest.mark.parametrize(
    ("kind", "spoil", "why"),
    [
        ("parquet", _cut, "not a readable Parquet file"),
        ("parquet", lambda _: b"", "not a readable Parquet file"),
        ("arrow", _cut, "not a readable Arrow file: its end is missing"),
        ("arrow", lambda _: b"", "not a readable Arrow file: it has no schema"),
        ("arrow", lambda raw: b"FEA1" + raw[4:-4] + b"FEA1", "Feather version 1 is not supported"),
        ("stream", _cut, "the file ends early"),
        ("stream", lambda raw: raw[:8] + b"\xee" * 400, "not a readable Arrow file"),
    ],
)
def test_an_incomplete_file_is_refused(tmp_path: Path, kind: str, spoil: Any, why: str) -> None:
    file = Path(file_of(tmp_path, rows_of(200), kind))
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(UnreadableSource, match=f"^{file.name}: {why}"):
        run_files(tmp_path, [str(file)])


def test_a_damaged_batch_fails_its_rows(tmp_path: Path) -> None:
    file = Path(file_of(tmp_path, {"unit_id": [f"u{n}" for n in range(100)], "raw_response": [GOOD] * 100}, "arrow"))
    raw = bytearray(file.read_bytes())
    offsets = struct.pack("<3i", 0, len(GOOD), 2 * len(GOOD))
    at = raw.index(offsets, raw.index(offsets) + 1)  # of the second batch
    raw[at : at + 12] = struct.pack("<3i", 0, 1 << 30, -5)
    file.write_bytes(raw)
    ran = run_files(tmp_path, [str(file)])
    assert ([row["unit_id"] for row in ran.valid], len(ran.failed)) == ([f"u{n}" for n in range(50)], 50)


@pytest.mark.spec("B11")
def test_a_row_that_is_too_long_fails_alone(tmp_path: Path) -> None:
    replies = [GOOD, json.dumps({"name": "x" * 5000, "age": 1}), GOOD]
    for kind in KINDS:
        ran = sift_table(tmp_path, {"unit_id": ["a", "b", "c"], "raw_response": replies}, kind, out=kind, max_line=2000)
        assert [row["unit_id"] for row in ran.valid] == ["a", "c"], kind
        assert list(ran.codes.values()) == [["U004"]], kind


# -- where tables are ----------------------------------------------------------------------------


def test_tables_are_recognized_by_their_first_bytes_and_decompressed(tmp_path: Path) -> None:
    columns = rows_of(8)
    for kind in ("parquet", "arrow", "stream"):
        bare = save(tmp_path / kind, columns, kind)
        packed = tmp_path / f"{kind}.gz"
        packed.write_bytes(gzip.compress(bare.read_bytes()))
        with bare.open("rb") as piped:
            files = [str(bare), str(packed), "-"]
            ran = run_files(tmp_path, files, out=f"out-{kind}", stdin=piped, merge="first")
        assert ran.summary["counts"]["lines"] == 24
    text = save(tmp_path / "a.csv", columns, "csv")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.read_bytes()))
    assert run_files(tmp_path, [str(tmp_path / "b.csv.gz")], out="text").summary["counts"]["units"] == 8


def test_tables_may_be_at_a_remote_address(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    columns = rows_of(100)
    for kind in KINDS:
        file = file_of(tmp_path, columns, kind)
        address = f"memory://tables/{Path(file).name}"
        memory.pipe(address, Path(file).read_bytes())
        (source,), (local,) = open_sources([address], tmp_path), open_sources([file], tmp_path)
        whole = Range(0, 0, 0, source.extent)
        assert list(source.rows(BytesIO(), whole, 1 << 20)) == list(local.rows(BytesIO(), whole, 1 << 20))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [OSError("the connection was reset"), OSError(5, "reset"), ConnectionError("reset")])
@pytest.mark.parametrize("reads", [0, 1, 3])
def test_a_failing_file_system_stops_the_sift_and_fails_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, error: OSError, reads: int
) -> None:
    """At an address a read may fail and work a minute later; a row that failed because of it would stay failed."""
    fsspec = pytest.importorskip("fsspec")
    file = file_of(tmp_path, rows_of(3000), kind)
    address = f"memory://failing/{Path(file).name}"
    fsspec.filesystem("memory").pipe(address, Path(file).read_bytes())
    (source,) = open_sources([address], tmp_path)
    given = type(fsspec.filesystem("memory").open(address)).read
    left = iter([True] * reads)

    def failing(opened: Any, size: int = -1) -> bytes:
        if next(left, None):
            return bytes(given(opened, min(size, 4096)))
        raise error

    def read_all() -> None:
        with source.open() as opened:
            for _, line in source.rows(opened, Range(0, 0, 0, source.extent), 1 << 20):
                assert isinstance(line, bytes)

    monkeypatch.setattr(type(fsspec.filesystem("memory").open(address)), "read", failing)
    with pytest.raises(OSError, match="reset"):
        read_all()
    with pytest.raises(UnreadableSource, match="reset"):
        open_sources([address], tmp_path)


def most_held(source: InputSource) -> int:
    """The most bytes that Arrow and Python use while all rows of a table are read."""
    pool = pa.default_memory_pool()
    held = before = pool.bytes_allocated()
    tracemalloc.start()
    for _, line in source.rows(BytesIO(), Range(0, 0, 0, source.extent), 1 << 20):
        assert isinstance(line, bytes)
        held = max(held, pool.bytes_allocated())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held - before + peak


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow_with_the_table(tmp_path: Path, kind: str) -> None:
    """Compared with a table of twice the rows."""

    def most(count: int) -> int:
        columns = {"unit_id": [f"u{n}" for n in range(count)], "raw_response": [GOOD + " " * 500] * count}
        (source,) = open_sources([file_of(tmp_path, columns, kind, group=1000)], tmp_path)
        return most_held(source)

    small, large = most(10_000), most(20_000)
    assert large <= small * 1.2 + (1 << 20)  # the larger one has 6 MB more


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_a_range_of_rows_that_share_a_value_is_no_larger_than_others(tmp_path: Path, kind: str) -> None:
    """A prompt that all rows share is stored once, but each line, and each record of a row that fails, has it."""
    prompts = pa.array(["Answer. " * 2000] * 2000)
    columns = {"unit_id": [f"u{n}" for n in range(2000)], "raw_response": ["Sorry."] * 2000}
    shared = prompts if kind == "parquet" else prompts.dictionary_encode()
    (source,) = open_sources([file_of(tmp_path, pa.table({**columns, "prompt": shared}), kind, group=1000)], tmp_path)
    assert source.size < 2_000_000
    step = 200_000
    pieces = [Range(n, 0, at, min(at + step, source.extent)) for n, at in enumerate(range(0, source.extent, step))]
    lines = [[line for _, line in source.rows(BytesIO(), piece, 1 << 20)] for piece in pieces]
    assert sum(map(len, lines)) == 2000
    assert max(sum(len(line) for line in some if isinstance(line, bytes)) for some in lines) < 2 * step


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_rows_that_share_a_large_value_are_read_a_few_at_a_time(tmp_path: Path, kind: str) -> None:
    prompts = pa.array(["x" * 100_000] * 2000).dictionary_encode()
    table = pa.table({"unit_id": [f"u{n}" for n in range(2000)], "raw_response": [GOOD] * 2000, "prompt": prompts})
    (source,) = open_sources([file_of(tmp_path, table, kind, group=2000)], tmp_path)
    assert most_held(source) < 60_000_000  # all rows would take 200 MB


def test_a_stream_that_replaces_its_dictionaries_has_a_constant_cost_per_batch(tmp_path: Path) -> None:
    """Measured in bytes read. A batch needs the latest values of its dictionaries, and those that were added to them."""
    schema = pa.schema([("tag", pa.dictionary(pa.int32(), pa.string())), ("raw_response", pa.string())])

    def read(count: int, *, adding: bool) -> int:
        path = tmp_path / f"{count}.arrow"
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=adding)
        tags = [f"tag {number}" for number in range(count)]
        with pa.ipc.new_stream(path, schema, options=options) as opened:
            for number in range(count):
                values = tags[: number + 1] if adding else [tags[number]] * 2
                tag = pa.DictionaryArray.from_arrays(pa.array([len(values) - 1], pa.int32()), pa.array(values))
                opened.write_batch(pa.record_batch([tag, pa.array([GOOD])], schema=schema))
        (source,) = open_sources([str(path)], tmp_path)
        counted = _Counted(source)
        whole = Range(0, 0, 0, source.extent)
        lines = [line for _, line in lines_of_table(source.table, "", counted.open, whole, 1 << 20, UnitColumns())]
        assert [json.loads(line)["tag"] for line in lines if isinstance(line, bytes)] == tags
        return counted.size

    read(6, adding=True)
    assert read(400, adding=False) < 2.2 * read(200, adding=False)


class _Counted:
    """Opens a file, and counts the bytes that are read from it."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.size = 0

    def open(self) -> Any:
        outer = self

        class File(BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                found = super().read(size)
                outer.size += len(found)
                return found

        with self._source.open() as opened:
            return File(opened.read())


def test_a_missing_package_gives_one_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of(tmp_path, rows_of(2), "parquet")
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnreadableSource, match=re.escape(f"Parquet and Arrow need a package: {install('tables')}")):
        open_sources([file], tmp_path)


def test_lines_and_tables_can_be_read_together(tmp_path: Path) -> None:
    lines = str(write(tmp_path / "lines.jsonl", [unit("x"), unit("u1")]))
    ran = run_files(tmp_path, [lines, file_of(tmp_path, rows_of(4), "parquet")])
    assert [row["unit_id"] for row in ran.valid] == ["x", "u1", "u0"]
    assert ran.failed[0]["errors"][0]["code"] == "U003"
