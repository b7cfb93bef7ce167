"""Files that grew are sifted further: only new lines are judged, and the result equals a sift of everything."""

import gzip
import io
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.batch.by_line import expected, found
from tests.batch.merging.test_merge import CONTRACT, HOW, some_lines
from tests.batch.sifting import SCHEMA, bytes_of, run_files, unit, write
from tests.effort import SOAK
from trueup.batch.input.sources import UnreadableSource
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import OutOfTime, SiftOptions, SiftProgress, SiftRefused, sift
from trueup.batch.siftdir import manifest as manifest_room


@pytest.mark.spec("B11")
@pytest.mark.parametrize("how", HOW)
def test_a_file_grown_in_any_steps_gives_the_same_output_as_one_sift(tmp_path: Path, how: str) -> None:
    for seed in range(150 if SOAK else 3):
        dice = random.Random(f"{how} {seed}")
        whole = [
            b"\n".join(some_lines(dice, dice.randrange(5, 70), dice.choice((3, 12, 40)))) + b"\n" for _ in range(3)
        ]
        folder = tmp_path / str(seed)
        folder.mkdir()
        cuts = [sorted(dice.randrange(len(one)) for _ in range(2)) for one in whole]
        size = dice.choice((150, 900, 4000, 1 << 20))
        for step in range(3):
            # each file exists from some step on, cut anywhere, even inside a line
            files = []
            for number, one in enumerate(whole[: step + 1]):
                text = one if step == 2 else one[: cuts[number][step]]
                files.append(write(folder / f"{number}.jsonl", text))
            run_files(folder, [str(file) for file in files], CONTRACT, out="out", merge=how, grow=True, range_size=size)
            assert found(folder / "out") == expected(files, CONTRACT, how), (seed, step)
        run_files(folder, [str(file) for file in files], CONTRACT, out="whole", merge=how)
        assert bytes_of(folder / "out") == bytes_of(folder / "whole")


@pytest.mark.spec("B11")
def test_only_new_lines_are_judged(tmp_path: Path) -> None:
    class Counting:
        def check(self, reply: Any, context: Any = None) -> Any:
            with (tmp_path / "calls").open("a") as opened:
                opened.write("x")
            return CONTRACT.check(reply, context)

    def calls() -> int:
        size = (tmp_path / "calls").stat().st_size
        (tmp_path / "calls").unlink()
        return size

    lines = [unit(f"u{n % 95}") for n in range(100)]
    file = write(tmp_path / "lines.jsonl", lines)
    sieving = {"contract": Counting(), "range_size": 2000, "out": "out"}
    run_files(tmp_path, [str(file)], **sieving)
    assert calls() == 100
    write(file, [*lines, unit("u3"), unit("new")])
    ran = run_files(tmp_path, [str(file)], **sieving, grow=True)
    assert calls() == 2, "duplicates of old lines are not judged again either"
    assert [row["unit_id"] for row in ran.valid][-1] == "new"
    assert ran.codes["u3"] == ["U003"]
    write(tmp_path / "more.jsonl", [unit("other")])
    ran = run_files(tmp_path, [str(file), str(tmp_path / "more.jsonl")], **sieving, grow=True)
    assert calls() == 1
    assert len(ran.valid) == 97
    again = run_files(tmp_path, [str(file), str(tmp_path / "more.jsonl")], **sieving, grow=True)
    assert again.valid == ran.valid
    assert not (tmp_path / "calls").exists()


def test_a_line_cut_in_the_middle_is_judged_when_it_is_complete(tmp_path: Path) -> None:
    text = "\n".join([unit("a"), unit("b"), unit("c")]).encode()
    file = write(tmp_path / "lines.jsonl", text[:-10])
    assert run_files(tmp_path, [str(file)]).codes == {"c": ["U001"]}
    write(file, text)
    ran = run_files(tmp_path, [str(file)], grow=True)
    assert ([row["unit_id"] for row in ran.valid], ran.failed) == (["a", "b", "c"], [])


@pytest.mark.parametrize("range_size", [300, 1 << 20])
def test_a_change_of_judged_lines_is_refused(tmp_path: Path, range_size: int) -> None:
    text = "\n".join(unit(f"u{n}", input={"pad": "x" * 200}) for n in range(1000)).encode() + b"\n"
    file = write(tmp_path / "lines.jsonl", text)
    run_files(tmp_path, [str(file)], range_size=range_size)
    before = bytes_of(tmp_path / "out")
    middle = len(text) // 2
    for changed, says in (
        (text[:middle] + b"y" + text[middle + 1 :] + text[:100], "lines.jsonl changed between byte"),
        (text[:-100], "lines.jsonl is shorter than it was"),
    ):
        write(file, changed)
        with pytest.raises(SiftRefused, match=says):
            run_files(tmp_path, [str(file)], range_size=range_size, grow=True)
    write(file, text)
    other = write(tmp_path / "other.jsonl", [unit("z")])
    with pytest.raises(SiftRefused, match=r"earlier files must come first, with the same names: lines\.jsonl"):
        run_files(tmp_path, [str(other), str(file)], grow=True)
    with pytest.raises(SiftRefused, match="a different contract"):
        run_files(tmp_path, [str(file)], CONTRACT, grow=True)
    with pytest.raises(SiftRefused, match="different options"):
        run_files(tmp_path, [str(file)], merge="last", grow=True)
    write(file, text + unit("new").encode())
    with pytest.raises(SiftRefused, match="if lines were only added, use --grow"):
        run_files(tmp_path, [str(file)])
    assert bytes_of(tmp_path / "out") == before


def test_results_that_were_edited_are_not_extended(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit("a"), unit("b", "no")])
    run_files(tmp_path, [str(file)])
    write(file, [unit("a"), unit("b", "no"), unit("c")])
    with (tmp_path / "out" / "validated.jsonl").open("ab") as opened:
        opened.write(b"mine\n")
    with pytest.raises(SiftRefused, match=r"validated\.jsonl has changed since it was sifted; use --fresh"):
        run_files(tmp_path, [str(file)], grow=True)


def test_compressed_and_piped_input_can_grow_too(tmp_path: Path) -> None:
    lines = [unit(f"u{n}", "no" if n % 3 else '{"name": "x", "age": 3}') for n in range(40)]
    half, whole = ("\n".join(some).encode() + b"\n" for some in (lines[:25], lines))
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress(half))
    run_files(tmp_path, [str(packed)], out="gz", range_size=900)
    packed.write_bytes(gzip.compress(whole))
    run_files(tmp_path, [str(packed)], out="gz", range_size=900, grow=True)
    run_files(tmp_path, [str(packed)], out="gz-whole")
    assert bytes_of(tmp_path / "gz") == bytes_of(tmp_path / "gz-whole")
    run_files(tmp_path, ["-"], out="pipe", stdin=io.BytesIO(half))
    run_files(tmp_path, ["-"], out="pipe", stdin=io.BytesIO(whole), grow=True)
    run_files(tmp_path, ["-"], out="pipe-whole", stdin=io.BytesIO(whole))
    assert bytes_of(tmp_path / "pipe") == bytes_of(tmp_path / "pipe-whole")
    assert not (tmp_path / "pipe" / ".sift" / "spool").exists()


@pytest.mark.spec("B11")
@pytest.mark.parametrize("state", ["judging", "merging", "publishing", "done"])
def test_compressed_input_can_grow_wherever_the_run_was_killed(
    tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    lines = [unit(f"u{n % 30}", "no" if n % 3 else '{"name": "x", "age": 3}') for n in range(40)]
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(lines[:25]).encode()))
    real = manifest_room.Manifest.commit

    def commit(self: Any, facts: dict[str, Any], *changes: Any) -> None:
        real(self, facts, *changes)
        if facts.get("state") == state:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(manifest_room.Manifest, "commit", commit)
        with pytest.raises(Killed):
            run_files(tmp_path, [str(packed)], range_size=900)
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    run_files(tmp_path, [str(packed)], range_size=900, grow=True)
    run_files(tmp_path, [str(packed)], out="whole")
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")
    assert not (tmp_path / "out" / ".sift" / "spool").exists()


def test_a_stream_can_grow_during_its_run(tmp_path: Path) -> None:
    lines = [unit(f"u{n}") for n in range(40)]
    half, whole = ("\n".join(some).encode() + b"\n" for some in (lines[:25], lines))

    def piped(text: bytes, **options: Any) -> Any:
        return run_files(tmp_path, ["-"], range_size=200, stdin=io.BytesIO(text), **options)

    with pytest.raises(OutOfTime):
        piped(half, time_limit=1e-9)
    with pytest.raises(
        UnreadableSource, match="stdin has more lines than when this run started; use --grow to sift those too"
    ):
        piped(whole)
    for other in (half[:-9], b"x" + whole[1:]):
        for grow in (False, True):
            with pytest.raises(
                UnreadableSource, match="stdin differs from the input that this run started with; choose another --out"
            ):
                piped(other, grow=grow)
    with pytest.raises(OutOfTime):
        piped(b"", grow=True, time_limit=1e-9)  # nothing at all: unchanged
    assert [row["unit_id"] for row in piped(whole, grow=True).valid] == [f"u{n}" for n in range(40)]


@pytest.mark.parametrize("range_size", [300, 1 << 20])
def test_a_file_may_grow_while_it_is_read_if_growing_is_allowed(tmp_path: Path, range_size: int) -> None:
    """A log that is written to all the time: the lines at the start are sifted, the rest is left for the next time."""
    file = write(tmp_path / "lines.jsonl", [unit(f"u{n}") for n in range(20)])
    spec = spec_of(options={"schema": SCHEMA})
    options = SiftOptions(workers=1, range_size=range_size, grow=True)
    new = iter(range(20, 10_000))

    def growing(_: Any) -> None:
        with file.open("ab") as opened:
            opened.write(unit(f"u{next(new)}").encode() + b"\n")

    before = 0
    for _ in range(3):
        lines = file.read_bytes().count(b"\n")
        summary = sift([str(file)], spec, tmp_path / "out", options, growing).summary
        assert before < summary["counts"]["valid"] == lines
        before = lines
    run_files(tmp_path, [str(file)], range_size=range_size, grow=True)
    run_files(tmp_path, [str(file)], out="whole")
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("change", ["rewritten", "cut", "gone"])
def test_a_file_that_changes_in_another_way_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    text = "\n".join(unit(f"u{n}") for n in range(40)).encode() + b"\n"
    file = write(tmp_path / "lines.jsonl", text)

    def meddle(progress: SiftProgress) -> None:
        if progress.step == "comparing":
            if change == "gone":
                file.unlink(missing_ok=True)
            else:
                write(file, text[:-5] if change == "cut" else text.replace(b"u7", b"v7") + b"more\n")

    with pytest.raises(SiftRefused, match=r"lines\.jsonl:? (the file )?changed .*; use --fresh to start over"):
        sift(
            [str(file)],
            spec_of(options={"schema": SCHEMA}),
            tmp_path / "out",
            SiftOptions(workers=1, grow=True),
            meddle,
        )
    assert not (tmp_path / "out" / "validated.jsonl").exists()


def test_a_file_with_only_a_new_modification_time_is_not_judged_again(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit("a")])
    ran = run_files(tmp_path, [str(file)])
    os.utime(file, ns=(1, 1))
    with pytest.raises(SiftRefused, match="the files have changed since"):
        run_files(tmp_path, [str(file)])
    assert run_files(tmp_path, [str(file)], grow=True).summary == ran.summary
    assert run_files(tmp_path, [str(file)]).summary == ran.summary


def test_the_folder_keeps_only_the_latest_index(tmp_path: Path) -> None:
    lines = [unit(f"u{n}") for n in range(200)]
    file = write(tmp_path / "lines.jsonl", lines)
    run_files(tmp_path, [str(file)], range_size=1000)
    for step in range(3):
        write(file, [*lines, *(unit(f"more{n}") for n in range(step + 1))])
        run_files(tmp_path, [str(file)], range_size=1000, grow=True)
    kept = {path.name for path in (tmp_path / "out" / ".sift").iterdir()}
    assert kept == {"index.4", "manifest.db", "orchestrator.pid", "run.lock"}
