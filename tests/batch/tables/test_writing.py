"""Writing tables: read by other programs and by a sift, and left whole by a crash."""

import csv
import json
import os
import re
import signal
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.batch.sifting import SCHEMA, bytes_of, run, run_files, unit, write
from tests.batch.tables.tables import REPLIES, rows_of
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import SiftOptions, SiftRefused, sift
from trueup.batch.tables import writing
from trueup.batch.tables.records import value_columns
from trueup.batch.tables.writing import FORMATS, NAMES, Unwritable, require_writer, target_of, write_tables
from trueup.verdict.extras import install

TABLES = FORMATS[1:]
ODD = ["=1+1", "half \ud83d of a pair", "tab\tand\nbreak", "é"]


@pytest.fixture
def lines() -> list[str]:
    found = [unit(f"u{n}", reply) for n, reply in enumerate(REPLIES * 3)]
    found += [unit(name, REPLIES[0], note="kept") for name in ODD]
    return [*found, unit("big", json.dumps({"name": "=HYPERLINK()", "age": 2**70})), "torn"]


def read_back(out: Path, name: str, form: str) -> list[dict[str, Any]]:
    """The rows of a table, read by the program that people use for it."""
    target = target_of(out, name, form)
    if form == "csv":
        with target.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if form == "datasets":
        import datasets

        return list(datasets.load_from_disk(str(target)))
    if form == "arrow":
        import polars as pl

        return pl.read_ipc(target).to_dicts()
    rows: list[dict[str, Any]] = pq.read_table(target).to_pylist()
    return rows


@pytest.mark.parametrize("form", TABLES)
def test_the_records_are_written_in_every_format_next_to_the_json_lines(
    tmp_path: Path, lines: list[str], form: str
) -> None:
    ran = run(tmp_path, lines, format=form)
    valid, failed = (read_back(ran.out, name, form) for name in NAMES)
    spelt = [row["unit_id"].encode("utf-8", "backslashreplace").decode() for row in ran.valid]
    guarded = [f"'{name}" if form == "csv" and name.startswith("=") else name for name in spelt]
    assert [row["unit_id"] for row in valid] == guarded
    assert [json.loads(row["data"]) for row in valid] == [row["data"] for row in ran.valid]
    assert [json.loads(row["input"]) for row in valid] == [row["input"] for row in ran.valid]
    assert [json.loads(row["errors"]) for row in failed] == [row["errors"] for row in ran.failed]
    assert [row["failure_stage"] for row in failed] == [row["failure_stage"] for row in ran.failed]
    last = valid[-1]
    assert last["data_name"] == ("'=HYPERLINK()" if form == "csv" else "=HYPERLINK()")
    assert not last["data_age"]  # 64 bits cannot represent it; `data` has it
    assert [str(row["data_age"]) for row in valid[:2]] == ["36", "7"]
    exact = [{"note": "kept"} | ({"unit_id": name} if "half" in name else {}) for name in ODD]
    assert [json.loads(row["more"]) for row in valid if row["more"]] == exact


def test_pandas_and_polars_see_typed_columns(tmp_path: Path, lines: list[str]) -> None:
    import pandas as pd
    import polars as pl

    ran = run(tmp_path, lines, format="parquet")
    frame = pd.read_parquet(ran.out / "validated.parquet")
    assert frame["data_age"].dropna().astype(int).tolist() == [row["data"]["age"] for row in ran.valid[:-1]]
    failures = pl.read_parquet(ran.out / "failures.parquet")
    assert failures["codes"].to_list() == list(ran.codes.values())
    assert failures.schema["retry_count"] == pl.Int64


@pytest.mark.parametrize("form", ["parquet", "arrow", "datasets"])
def test_a_sift_reads_back_what_it_wrote(tmp_path: Path, lines: list[str], form: str) -> None:
    """The records of a table equal the JSON lines, byte for byte, even if a column cannot represent a value."""
    lines += [unit("counted", "no", retry_count=2**70), unit("named", more={"more": 1}, codes=None, data_name=1)]
    ran = run(tmp_path, lines, format=form)
    tables = [str(target_of(ran.out, name, form)) for name in NAMES]
    again = [run_files(tmp_path, files, out=out) for out, files in
             (("tables", tables), ("lines", [str(ran.out / f"{name}.jsonl") for name in NAMES]))]  # fmt: skip
    assert [(one.valid, one.failed) for one in again[:1]] == [(one.valid, one.failed) for one in again[1:]]


def test_the_schema_of_a_table_does_not_depend_on_its_content(tmp_path: Path) -> None:
    full, bare = (run(tmp_path, lines, format="parquet", out=out).out for out, lines in
                  (("full", [unit("a"), unit("b", "no")]), ("bare", [])))  # fmt: skip
    for name in NAMES:
        assert pq.read_schema(full / f"{name}.parquet").equals(
            pq.read_schema(bare / f"{name}.parquet"), check_metadata=True
        )


@pytest.mark.parametrize(
    ("schema", "columns"),
    [
        ({"properties": {"a": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}}, [("data_a", "boolean")]),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"type": "number"}}}, [("data_b", "number")]),
        ({"properties": {"a": {"type": "object"}, "b": {"type": ["string", "integer"]}, "c": True}}, []),
        ({"properties": {"a": {"type": "array", "items": {"type": "array"}}}}, []),
        ({"type": "array"}, []), (True, []), (None, []), ({"$ref": "#/$defs/none"}, []), ({"$ref": "#"}, []),
    ],
)  # fmt: skip
def test_the_schema_decides_which_fields_have_a_column(schema: Any, columns: list[tuple[str, str]]) -> None:
    assert [column[:2] for column in value_columns(schema)] == columns


def test_row_groups_are_limited_and_memory_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_ROWS", 500)
    record = {"input": None, "raw_response": "x" * 1000, "data": {"name": "n", "age": 1}, "fixes": []}

    def most(count: int) -> int:
        out = tmp_path / str(count)
        (out / "work").mkdir(parents=True)
        write(out / "validated.jsonl", [json.dumps({"unit_id": f"u{n}", **record}) for n in range(count)])
        write(out / "failures.jsonl", b"")
        pool = pa.default_memory_pool()
        before = pool.bytes_allocated()
        tracemalloc.start()
        write_tables(out, out / "work", "parquet", SCHEMA)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        about = pq.ParquetFile(out / "validated.parquet").metadata
        assert [about.row_group(n).num_rows for n in range(about.num_row_groups)] == [500] * (count // 500)
        return peak + pool.bytes_allocated() - before

    small, large = most(3000), most(6000)
    assert large <= small * 1.2 + (1 << 20)  # the larger one has 3 MB more


# -- crashes, growth, other formats --------------------------------------------------------------


@pytest.mark.spec("B18")
@pytest.mark.parametrize("form", TABLES)
def test_tables_interrupted_by_a_kill_are_written_by_the_same_command(
    tmp_path: Path, lines: list[str], form: str
) -> None:
    file = str(write(tmp_path / "lines.jsonl", [line.encode() for line in lines]))
    spec = spec_of(options={"schema": SCHEMA})
    options = SiftOptions(workers=1, format=form)
    sift([file], spec, tmp_path / "whole", options)
    for step in (0, 1, 3):  # renames of tables: before any, between the two, and after a folder was put in place
        out = tmp_path / f"killed{step}"
        pid = os.fork()
        if pid == 0:
            writing._replace = _replace_and_die(step)
            try:
                sift([file], spec, out, options)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        again = sift([file], spec, out, options)
        assert again.already
        assert bytes_of(out) == bytes_of(tmp_path / "whole")
        assert _bytes(out, form) == _bytes(tmp_path / "whole", form)
        assert not [path for path in (out / ".sift").iterdir() if path.name.endswith((".new", ".old"))]


def _replace_and_die(after: int) -> Any:
    """A function that puts tables in place, and ends its process after some number of them."""
    done = iter(range(after))
    real = writing._replace

    def put(*given: Any) -> None:
        if next(done, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given)

    return put


def _bytes(out: Path, form: str) -> list[bytes]:
    found = [target_of(out, name, form) for name in NAMES]
    return [
        path.read_bytes() for target in found for path in ([target] if target.is_file() else sorted(target.iterdir()))
    ]


def test_another_format_can_be_requested_later_and_a_missing_table_is_written_again(tmp_path: Path) -> None:
    files = [str(write(tmp_path / "lines.jsonl", [unit("a"), unit("b", "no")]))]
    ran = run_files(tmp_path, files)
    for form in ("parquet", "csv", "datasets", "datasets"):
        run_files(tmp_path, files, format=form)
        assert all(target_of(ran.out, name, form).exists() for name in NAMES)
        assert (ran.out / "validated.jsonl").exists()
    before = (ran.out / "validated.parquet").stat()
    run_files(tmp_path, files, format="parquet")
    assert (ran.out / "validated.parquet").stat().st_mtime_ns == before.st_mtime_ns
    (ran.out / "failures.parquet").unlink()
    run_files(tmp_path, files, format="parquet")
    assert pq.read_table(ran.out / "failures.parquet")["unit_id"].to_pylist() == ["b"]


def test_tables_of_an_earlier_state_are_removed(tmp_path: Path) -> None:
    """A table only exists beside the lines that it was made from."""
    ran = run(tmp_path, [unit("a")], format="parquet")
    run(tmp_path, [unit("a"), unit("b")], grow=True)
    assert not (ran.out / "validated.parquet").exists()
    run(tmp_path, [unit("a"), unit("b"), unit("c")], grow=True, format="parquet")
    assert pq.read_table(ran.out / "validated.parquet")["unit_id"].to_pylist() == ["a", "b", "c"]
    run(tmp_path, [unit("z")], fresh=True)
    assert not (ran.out / "validated.parquet").exists()


def test_a_foreign_table_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out" / "validated.csv", b"mine")
    with pytest.raises(SiftRefused, match=r"this sift did not write the validated\.csv"):
        run(tmp_path, [unit("a")], format="csv")


def test_a_missing_package_is_reported_before_anything_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    require_writer("csv")
    with pytest.raises(Unwritable, match=re.escape(f"--format parquet needs a package: {install('tables')}")):
        require_writer("parquet")


def test_the_command_offers_every_format() -> None:
    from trueup.cli.commands.sift import sift as command

    (option,) = [one for one in command.params if one.name == "format_"]
    assert tuple(option.type.choices) == FORMATS  # type: ignore[attr-defined]


def test_the_command_line_reads_and_writes_tables(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from trueup.cli.main import main

    pq.write_table(pa.table(rows_of(8)).rename_columns(["key", "city", "text"]), tmp_path / "a.parquet")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    given = [
        "sift",
        str(tmp_path / "a.parquet"),
        "--schema",
        str(tmp_path / "schema.json"),
        "-o",
        str(tmp_path / "out"),
    ]
    more = ["--id-column", "key", "--reply-column", "text", "--format", "arrow", "--progress", "none"]
    done = CliRunner().invoke(main, [*given, *more])
    assert done.exit_code == 1, done.output
    with pa.ipc.open_file(tmp_path / "out" / "validated.arrow") as opened:
        assert opened.read_all()["unit_id"].to_pylist() == ["u0", "u1", "u4", "u5"]
    assert "--reply-column" in CliRunner().invoke(main, given).output
    for name in ("klingon", "base64", "rot13"):  # the last two are not encodings of text
        refused = CliRunner().invoke(main, [*given, "--encoding", name])
        assert (refused.exit_code, refused.output) == (2, f"trueup: --encoding {name}: unknown encoding\n")
