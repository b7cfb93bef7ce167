"""Reading CSV and TSV: quotes, line breaks, encodings, delimiters; a bad row fails alone and no row is lost."""

import csv
import io
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import run_files, write
from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import InputForm, UnreadableSource, open_sources
from trueup.batch.tables import delimited
from trueup.batch.tables.rows import UnitColumns

GOOD = '{"name": "Ada", "age": 36}'
CELL = '"{""name"": ""Ada"", ""age"": 36}"'


def test_quotes_and_line_breaks_belong_to_their_cell(tmp_path: Path) -> None:
    note = 'two\nlines, "quoted"\r\nand a comma'
    text = io.StringIO()
    csv.writer(text).writerows([["unit_id", "note", "raw_response"], ["a", note, GOOD], ["b", "", GOOD]])
    ran = run_files(tmp_path, [str(write(tmp_path / "a.csv", text.getvalue().encode()))])
    assert [(row["unit_id"], row["input"]) for row in ran.valid] == [("a", {"note": note}), ("b", {"note": ""})]


@pytest.mark.parametrize(
    ("header", "row", "given"),
    [
        (",unit_id,raw_response", f"0,u,{CELL}", {"": "0"}),  # how pandas writes an index
        ("unit_id,raw_response,", f"u,{CELL},", {"": ""}),
        ('unit_id,"a;b;c;d",raw_response', f"u,x,{CELL}", {"a;b;c;d": "x"}),
    ],
)
def test_columns_may_have_no_name_or_a_delimiter_in_their_name(
    tmp_path: Path, header: str, row: str, given: dict[str, str]
) -> None:
    rows = [header.encode(), row.encode()]
    ran = run_files(tmp_path, [str(write(tmp_path / "a.csv", rows))])
    assert [(row["unit_id"], row["input"]) for row in ran.valid] == [("u", given)]


@pytest.mark.spec("B11")
def test_a_bad_row_fails_alone(tmp_path: Path) -> None:
    rows = [
        b"unit_id,raw_response", b"a," + CELL.encode(), b"short", b"c,{},extra", b"", b"d," + CELL.encode(),
        b'e,"{\\"name\\": 1}"', b"f,\xff", b"g," + CELL.encode(), b'h,"never closed', b"i," + CELL.encode(),
    ]  # fmt: skip
    ran = run_files(tmp_path, [str(write(tmp_path / "a.csv", rows))])
    assert [row["unit_id"] for row in ran.valid] == ["a", "d", "g", "i"]
    said = {row["raw_response"]: row["errors"][0]["message"] for row in ran.failed}
    assert said == {
        "short": "The row has 1 cell, but the header has 2",
        "c,{},extra": "The row has 3 cells, but the header has 2",
        'e,"{\\"name\\": 1}"': "The row cannot be read: ',' expected after '\"'",
        "f,\ufffd": "The row is not UTF-8",
        'h,"never closed': "The row cannot be read: ',' expected after '\"'",
    }
    assert [row["unit_id"] for row in ran.failed][:2] == ["short", "c"]
    assert {code for codes in ran.codes.values() for code in codes} == {"U001"}
    assert ran.summary["counts"] | {"blank": 1, "units": 9} == ran.summary["counts"]


def test_an_unclosed_quote_fails_only_one_line(tmp_path: Path) -> None:
    rows = ["unit_id,raw_response", 'a,"open', *(f"b{n},plain" for n in range(500))]
    ran = run_files(tmp_path, [str(write(tmp_path / "a.csv", rows))], max_line=2000)
    assert ran.summary["counts"]["units"] == 501
    assert ran.failed[0]["errors"][0]["message"] == "The row opens a quote that is not closed"


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (f"unit_id,city,raw_response\r\na,Ål,{CELL}\r\n".encode("utf-8-sig"), InputForm()),
        (f"unit_id,city,raw_response\na,Ål,{CELL}\n".encode("utf-16"), InputForm()),
        (f"unit_id,city,raw_response\na,Ål,{CELL}\n".encode("cp1252"), InputForm(encoding="cp1252")),
        (f"unit_id;city;raw_response\na;Ål;{CELL}".encode(), InputForm()),
        (f"unit_id\tcity\traw_response\na\tÅl\t{CELL}".encode(), InputForm()),
    ],
    ids=["bom and CRLF", "utf-16", "cp1252", "semicolons", "tabs"],
)
def test_encodings_and_delimiters_are_detected(tmp_path: Path, raw: bytes, form: InputForm) -> None:
    ran = run_files(tmp_path, [str(write(tmp_path / "a.csv", raw))], form=form)
    assert [(row["unit_id"], row["input"], row["data"]["age"]) for row in ran.valid] == [("a", {"city": "Ål"}, 36)]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (f"a,{CELL}\nb,{CELL}\n".encode(), "no column has a reply; its columns: a, "),
        (b"\nunit_id,raw_response\n", "its first line is empty; it has no header"),
        (b"unit_id,raw_response\ra,{}\r", "its lines end with CR only"),
        (b'unit_id,"raw_response\n', "its header cannot be read"),
        ("unit_id,raw_response\na,é\n".encode(), "not in ascii"),
    ],
)
def test_a_file_without_a_readable_header_is_refused(tmp_path: Path, raw: bytes, why: str) -> None:
    form = InputForm(encoding="ascii") if "ascii" in why else InputForm()
    with pytest.raises(UnreadableSource, match=f"^a.csv: {why}"):
        run_files(tmp_path, [str(write(tmp_path / "a.csv", raw))], form=form)


def test_records_are_the_same_for_any_division_into_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of any size, and any distance between the known starts of records, give the same as one reader."""
    chance = random.Random(3)
    alphabet = 'ab",\n\r'
    rows: list[list[str]] = [["unit_id", "raw_response"]]
    rows += [[f"u{n}", "".join(chance.choices(alphabet, k=chance.randrange(12)))] for n in range(200)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    lines = text.getvalue().encode().splitlines(keepends=True)
    lines[50:50] = [b'torn,"\n', b"\xff,x\n", b"one\n", b"\n"]
    file = str(write(tmp_path / "a.csv", b"".join(lines)))

    def read(step: int, stride: int) -> list[Any]:
        monkeypatch.setattr(delimited, "_STRIDE", stride)
        (source,) = open_sources([file], tmp_path, form=InputForm(UnitColumns(), max_line=300))
        pieces = [Range(n, 0, at, min(at + step, source.extent)) for n, at in enumerate(range(0, source.extent, step))]
        return [row for piece in pieces for row in source.rows(BytesIO(), piece, 300)]

    whole = read(1 << 20, 1 << 20)
    assert len(whole) > 190
    for step, stride in ((7, 50), (100, 7), (333, 333), (64, 1000)):
        assert read(step, stride) == whole
