"""Ids that several lines have: the same lines are found with any number of buckets, at a bounded cost."""

import json
import sys
import tracemalloc
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.sifting import SCHEMA, run_files, unit, write
from tests.growth import lowest
from trueup.batch.input.units import read_row
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.records import line_of
from trueup.batch.judging.sieve import FAILED, ID_SIZE, SILENT, STRANGE
from trueup.batch.merging import duplicates, editing
from trueup.batch.merging.choosing import HOW, edits_of
from trueup.batch.merging.duplicates import groups_in
from trueup.batch.merging.stored_ranges import FileSpan
from trueup.batch.sift import SiftOptions, SiftProgress, sift

Named = tuple[int, int]  # an id, and the outcome of the line


def write_range(folder: Path, number: int, lines: list[Named]) -> tuple[int, FileSpan]:
    """The ids of a range, after some other section."""
    rows = [
        blake2b(b"%d" % name, digest_size=ID_SIZE).digest() + (at | flags).to_bytes(8, "big")
        for at, (name, flags) in enumerate(lines)
    ]
    path = folder / f"{number}.part"
    path.write_bytes(b"valid\n" + b"".join(sorted(rows)) + b"foot")
    return number, FileSpan(path, len(b"valid\n"), sum(map(len, rows)))


named = st.tuples(st.integers(0, 40), st.sampled_from([0, FAILED, FAILED | SILENT, FAILED | STRANGE]))


@pytest.mark.spec("B11")
@given(st.lists(st.lists(named, max_size=12), max_size=5), st.integers(1, 30))
def test_lines_with_the_same_id_are_grouped_in_order(parts: list[list[Named]], at_once: int) -> None:
    expected: dict[int, list[tuple[int, int, int]]] = {}
    for number, lines in enumerate(parts):
        for at, (name, flags) in enumerate(lines):
            if not flags & STRANGE:
                expected.setdefault(name, []).append((number, at, flags))
    told: list[tuple[int, int]] = []
    with TemporaryDirectory() as folder:
        ranges = [write_range(Path(folder), number, lines) for number, lines in enumerate(parts)]
        buckets = Path(folder, "buckets")
        found_groups = groups_in(lambda: ranges, buckets, lambda *report: told.append(report), at_once)
        groups = [list(group) for group in found_groups]
        assert not buckets.exists()
    found = [[(n, at, FAILED * failed | SILENT * silent) for n, at, failed, silent in group] for group in groups]
    assert sorted(found) == sorted(group for group in expected.values() if len(group) > 1)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    if told:
        assert told[-1] == (sum(map(len, parts)),) * 2, "every id is compared, and the last report says so"


def calls_of(act: Callable[[], object]) -> int:
    """How many functions are called, including the interpreter's own."""
    count = 0

    def note(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.spec("B11")
def test_twice_as_many_ids_in_twice_as_many_ranges_take_twice_as_many_steps(tmp_path: Path) -> None:
    ranges = [write_range(tmp_path, number, [(number * 6 + n, 0) for n in range(6)]) for number in range(400)]

    def steps(count: int) -> int:
        return calls_of(lambda: list(groups_in(lambda: ranges[:count], tmp_path / "buckets", at_once=20)))

    steps(10)  # loaded at the first use
    few, many = steps(200), steps(400)
    assert few > 200 * 6
    assert many < 2.5 * few, "every pass over all ranges would make it four times"


@pytest.mark.spec("B11")
def test_memory_does_not_grow_with_the_number_of_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_BUFFERED", 1 << 16)
    ranges = [write_range(tmp_path, number, [(number * 200 + n, 0) for n in range(200)]) for number in range(80)]

    def most(count: int) -> int:
        tracemalloc.start()
        assert not list(groups_in(lambda: iter(ranges[:count]), tmp_path / "buckets", at_once=500))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    most(20)  # loaded at the first use
    assert lowest(most, 80) < 1.5 * lowest(most, 20)


@pytest.mark.spec("B11")
@pytest.mark.parametrize("how", HOW)
def test_memory_does_not_grow_with_the_number_of_lines_that_share_one_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A column with the same value in every row, mistaken for the id."""
    monkeypatch.setattr(duplicates, "_BUFFERED", 1 << 16)
    monkeypatch.setattr(duplicates, "_CHUNK", 100)
    flags = (FAILED | SILENT, FAILED, 0, FAILED | STRANGE)
    ranges = [write_range(tmp_path, number, [(7, flags[n % 4]) for n in range(200)]) for number in range(80)]

    def most(count: int) -> int:
        tracemalloc.start()
        edits = groups = 0
        for group in groups_in(lambda: iter(ranges[:count]), tmp_path / "buckets", at_once=500):
            edits += sum(1 for _ in edits_of(group, how))
            groups += 1
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (groups, edits) == (1, count * (100 if how == "fail" else 150))
        return peak

    most(20)  # loaded at the first use
    assert lowest(most, 80) < 1.5 * lowest(most, 20)


@pytest.mark.spec("B11")
def test_buckets_that_are_too_large_are_split_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MOST_BUCKETS", 4)
    monkeypatch.setattr(duplicates, "_CHUNK", 7)
    lines = (
        [(n, 0) for n in range(500)] + [(n * 50, 0) for n in range(10)] + [(7, 0)] * 60
    )  # one id fills its bucket alone
    ranges = [write_range(tmp_path, number, lines[number * 30 : number * 30 + 30]) for number in range(19)]
    expected = [list(group) for group in groups_in(lambda: ranges, tmp_path / "buckets")]
    made: list[Path] = []
    monkeypatch.setattr(duplicates, "_Buckets", _noting(duplicates._Buckets, made))
    groups = [list(group) for group in groups_in(lambda: ranges, tmp_path / "buckets", at_once=20)]
    assert sorted(groups) == sorted(expected)
    assert len(groups) == 11
    assert {len(path.relative_to(tmp_path).parts) for path in made} >= {1, 2, 3}
    assert not (tmp_path / "buckets").exists()


def _noting(buckets: Any, made: list[Path]) -> Any:
    def make(folder: Path, *given: Any) -> Any:
        made.append(folder)
        return buckets(folder, *given)

    return make


@pytest.mark.spec("B11")
def test_records_of_twice_as_many_ids_are_found_in_twice_as_many_steps() -> None:
    """A batch in which most lines were asked about again."""

    def steps(count: int) -> int:
        ids = [f"é{n}" if n % 2 else f"\ud800{n}" for n in range(count)]
        raw = b"".join(line_of({"unit_id": uid, "input": None, "data": {}}) for uid in ids)
        spans = editing._by_id(raw, ids, all_of_them=False)
        assert [read_row(raw[start:end])["unit_id"] for ((start, end),) in spans.values()] == ids
        return calls_of(lambda: editing._by_id(raw, ids, all_of_them=False))

    steps(10)  # loaded at the first use
    few, many = steps(300), steps(600)
    assert many < 2.5 * few, "every id searched for in every record would make it four times"


class Steps:
    """How many lines of the input are read again, and how many records are read whole."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.lines = self.records = 0
        read, row = editing.InputLines.read, editing.read_row

        def read_line(*given: Any) -> bytes:
            self.lines += 1
            return read(*given)

        def read_record(raw: bytes) -> Any:
            self.records += 1
            return row(raw)

        patch.setattr(editing.InputLines, "read", read_line)
        patch.setattr(editing, "read_row", read_record)


@pytest.mark.spec("B11")
@pytest.mark.parametrize("how", ["fail", "valid"])
def test_duplicates_take_steps_in_proportion_to_their_number(tmp_path: Path, how: str) -> None:
    def steps(units: int, twice: int) -> Steps:
        lines = [unit(f"unit-{n:06d}") for n in range(units)] + [unit(f"unit-{n * 7:06d}") for n in range(twice)]
        file = write(tmp_path / "lines.jsonl", lines)
        with pytest.MonkeyPatch.context() as patch:
            counted = Steps(patch)
            ran = run_files(tmp_path, [str(file)], merge=how, fresh=True)
        assert len(ran.failed) + ran.summary["counts"]["merged"] == twice
        return counted

    few, more = steps(2000, 5), steps(8000, 5)
    assert (few.lines, few.records) == (more.lines, more.records), "the other lines cost nothing"
    many = steps(8000, 50)
    assert 0 < many.lines <= 10 * more.lines
    assert 0 < many.records <= 10 * more.records
    assert steps(500, 0).lines == 0


@pytest.mark.spec("B11", "B20")
def test_no_range_is_judged_again_and_the_progress_is_correct(tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    class Counting:
        def check(self, reply: Any, context: Any = None) -> Any:
            with calls.open("a") as opened:
                opened.write("x")
            return spec_of(options={"schema": SCHEMA}).open().check(reply, context)

    file = write(tmp_path / "lines.jsonl", [unit(f"u{n % 55}") for n in range(60)])
    reports: list[SiftProgress] = []
    sift([str(file)], spec_of(Counting()), tmp_path / "out", SiftOptions(workers=1, range_size=900), reports.append)
    assert calls.stat().st_size == 60
    steps = {
        step: [(one.done, one.total) for one in reports if one.step == step]
        for step in ("judging", "comparing", "merging")
    }
    ranges = json.loads((tmp_path / "out" / "summary.json").read_bytes())["timings"]["ranges"]
    for step, total in (("judging", file.stat().st_size), ("comparing", 60), ("merging", ranges)):
        assert steps[step] == sorted(steps[step])
        assert steps[step][-1] == (total, total), step
        assert {of for _, of in steps[step]} == {total}
    assert len(set(steps["comparing"])) > 3, "it moves"
    last = reports[-1].tally.counts
    assert (last["lines"], last["valid"], last["failed"]) == (60, 55, 5)
