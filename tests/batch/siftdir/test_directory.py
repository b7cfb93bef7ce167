"""The folder of a sift, read while the sift runs: every unit is counted once, even if files move."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import SCHEMA, unit, write
from trueup.batch.compare import compare
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import read_part
from trueup.batch.merging import merge
from trueup.batch.reporting.report import collect
from trueup.batch.sift import OutOfTime, SiftOptions, SiftProgress, sift
from trueup.batch.siftdir import directory
from trueup.batch.siftdir.directory import Moved, NotASift, settled
from trueup.batch.siftdir.manifest import Manifest

SPEC = spec_of(options={"schema": SCHEMA})
NUMBER = 400


def partly(file: Path, out: Path, step: str, done: int = 0, **options: Any) -> None:
    """Sift until a step has come so far; a sift that ends before is finished."""

    def stop(report: SiftProgress) -> None:
        if report.step == step and report.done >= done:
            raise OutOfTime("enough")

    try:
        sift([str(file)], SPEC, out, SiftOptions(workers=1, range_size=4000, **options), stop)
    except OutOfTime:
        pass


def lines(number: int = NUMBER) -> list[str]:
    return [unit(f"u{n}", '{"name": "Ada", "age": 36}' if n % 2 else "no") for n in range(number)]


def counted(out: Path) -> tuple[int, int]:
    counts = collect(out)["summary"]["counts"]
    return counts["units"], counts["valid"] + counts["failed"]


@pytest.mark.parametrize("end", [("merging", 3), ("merging", 7), ("never", 0)])
@pytest.mark.parametrize("read", [counted, lambda out: (compare(out, out).sides[0]["counts"]["units"],) * 2])
def test_parts_merged_by_a_running_sift_in_the_meantime_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: tuple[str, int], read: Callable[[Path], tuple[int, int]]
) -> None:
    monkeypatch.setattr(merge, "_SECONDS", 0.0)  # every range is a commit
    file, out = write(tmp_path / "lines.jsonl", lines()), tmp_path / "out"
    partly(file, out, "comparing")
    assert read(out) == (NUMBER, NUMBER)
    calls = []

    def while_it_merges(path: Path) -> Any:
        calls.append(path)
        if len(calls) == 2:
            partly(file, out, *end)
        return read_part(path)

    monkeypatch.setattr(directory, "read_part", while_it_merges)
    assert read(out) == (NUMBER, NUMBER)
    assert len(calls) > 2


@pytest.mark.parametrize("step", ["judging", "comparing", "merging"])
def test_ranges_replaced_because_the_file_grew_are_not_counted(tmp_path: Path, step: str) -> None:
    whole = "\n".join(lines()).encode() + b"\n"
    file, out = write(tmp_path / "lines.jsonl", whole[: len(whole) // 2]), tmp_path / "out"
    partly(file, out, "comparing")
    file.write_bytes(whole)
    partly(file, out, step, len(whole) if step == "judging" else 0, grow=True)
    assert counted(out) == (NUMBER, NUMBER)


def test_a_sift_that_has_just_started_is_not_reported_as_damaged(tmp_path: Path) -> None:
    work = tmp_path / "out" / ".sift"
    work.mkdir(parents=True)
    (work / "manifest.db").touch()
    with pytest.raises(NotASift, match="there are no results yet"):
        collect(tmp_path / "out")
    manifest = Manifest(work)
    try:
        with pytest.raises(NotASift, match="there are no results yet"):
            compare(tmp_path / "out", tmp_path / "out")
        manifest.own()
        manifest.commit({"key": "k", "format": 0})
        with pytest.raises(NotASift, match="written by another version of trueup"):
            collect(tmp_path / "out")
    finally:
        manifest.close()


def test_files_that_never_stop_changing_are_an_error() -> None:
    tries = []

    def read() -> None:
        tries.append(1)
        raise Moved(Path("out"))

    with pytest.raises(NotASift, match="out: its files changed while they were read; run the command again"):
        settled(read)
    assert 1 < len(tries) < 100
