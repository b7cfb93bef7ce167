"""A full disk: every command that writes ends with code 3 and one message about what failed and how to resume."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batch.pipeline.making import asking, reply, write_pipeline
from tests.cli.running import COMMAND, Ran, clean_environment
from tests.small_disk import enlarge, fill, small_disk
from trueup.batch.compare import compare
from trueup.batch.disk.full_disk import DiskFull

SCHEMA = json.dumps({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]})
UNITS = [{"unit_id": f"u{n}", "raw_response": json.dumps({"answer": "x" * 2000})} for n in range(600)]
REPORTS = {"status": "is a run", "report": "report.html"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", "3m") as place:
        yield place


def trueup(folder: Path, *args: str, stdin: bytes = b"", to: str = "", most: int | None = None) -> Ran:
    """Run a command in a separate process. `to` redirects its output; no file may grow over `most` bytes."""
    limit = f"ulimit -f {most // 512}; " if most is not None else ""
    done = subprocess.run(
        ["sh", "-c", f'{limit}exec "$@" {to}', "sh", *COMMAND, *args],
        cwd=folder, env=clean_environment(), capture_output=True, input=stdin, timeout=300, check=False,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_full(ran: Ran, *words: str) -> None:
    told = ran.out + ran.err
    assert ran.code == 3, ran
    assert told.count("the disk is full: ") == 1, ran
    assert "could not be written" in told
    assert "ree some space" in told
    assert "Traceback" not in told
    for word in words:
        assert word in told, ran


def assert_limited(ran: Ran, *words: str) -> None:
    """The same without the right to mount a disk: the size of files is limited."""
    told = ran.out + ran.err
    assert ran.code == 3, ran
    assert told.count("could not be written: it would exceed the file size limit") == 1, ran
    assert "ree some space" in told
    assert "Traceback" not in told
    for word in words:
        assert word in told, ran


def units_file(folder: Path) -> Path:
    file = folder / "units.jsonl"
    file.write_text("".join(json.dumps(unit) + "\n" for unit in UNITS))
    return file


@pytest.mark.spec("B21", "X46")
def test_a_sift_and_its_revalidation_resume_after_a_full_disk(tmp_path: Path, disk: Path) -> None:
    file = units_file(tmp_path)
    sift = ("sift", str(file), "--schema", SCHEMA, "--out", str(disk / "out"), "--progress", "none")
    assert_full(trueup(tmp_path, *sift), "same command resumes")
    enlarge(disk, "30m")
    assert trueup(tmp_path, *sift).code == 0
    assert len((disk / "out" / "validated.jsonl").read_text().splitlines()) == 600
    fill(disk)
    again = ("revalidate", str(disk / "out"), "--schema", SCHEMA, "--progress", "none")
    assert_full(trueup(tmp_path, *again))
    enlarge(disk, "90m")
    assert trueup(tmp_path, *again).code == 0


@pytest.mark.spec("B21")
@pytest.mark.parametrize("spooled", ["-", "units.jsonl.gz"])
def test_a_spool_on_a_full_disk_is_not_an_unreadable_input(tmp_path: Path, disk: Path, spooled: str) -> None:
    file = units_file(tmp_path)
    subprocess.run(["gzip", "-k", str(file)], check=True)
    fill(disk, 200_000)
    args = ("sift", spooled, "--schema", SCHEMA, "--out", str(disk / "out"), "--progress", "none")
    assert_full(trueup(tmp_path, *args, stdin=file.read_bytes()))


@pytest.mark.spec("B21")
@pytest.mark.parametrize("room", [0, 16_384, 65_536, 200_000])
def test_a_full_disk_at_the_start_of_a_sift_gives_the_same_message(tmp_path: Path, disk: Path, room: int) -> None:
    file = units_file(tmp_path)
    fill(disk, room)
    args = ("sift", str(file), "--schema", SCHEMA, "--out", str(disk / "out"), "--progress", "none")
    assert_full(trueup(tmp_path, *args))


@pytest.mark.spec("B21")
def test_a_page_and_a_table_that_do_not_fit(tmp_path: Path, disk: Path) -> None:
    file = units_file(tmp_path)
    assert trueup(tmp_path, "sift", str(file), "--schema", SCHEMA, "-o", "out", "--progress", "none").code == 0
    shutil.copy(tmp_path / "out" / "summary.json", disk)
    for name in ("validated.jsonl", "failures.jsonl"):
        (disk / name).symlink_to(tmp_path / "out" / name)
    fill(disk)
    assert_full(trueup(tmp_path, "report", str(disk)), "report.html")
    assert not (disk / "report.html").exists()
    table = ("sift", str(file), "--schema", SCHEMA, "-o", "out", "--progress", "none", "--table", str(disk / "t.csv"))
    assert_full(trueup(tmp_path, *table), "t.csv")


@pytest.mark.spec("B21")
def test_a_comparison_and_an_export_that_do_not_fit(tmp_path: Path, disk: Path) -> None:
    units = [{**unit, "input": "Say it."} for unit in UNITS]
    file = tmp_path / "units.jsonl"
    file.write_text("".join(json.dumps(unit) + "\n" for unit in units))
    assert trueup(tmp_path, "sift", str(file), "--schema", SCHEMA, "-o", "out", "--progress", "none").code == 0
    names = {name: disk / name for name in ("compare.html", "train.jsonl", "held.jsonl")}
    for path in names.values():
        path.write_text("before")
    fill(disk)
    assert_full(trueup(tmp_path, "compare", "out", "out", "--html", str(names["compare.html"])), "compare.html")
    export = ("export", "out", "-o", str(names["train.jsonl"]))
    assert_full(trueup(tmp_path, *export), "train.jsonl")
    assert_full(trueup(tmp_path, *export, "--held-out", str(tmp_path / "held.jsonl")), "train.jsonl")
    elsewhere = ("export", "out", "-o", str(tmp_path / "t.jsonl"), "--held-out", str(names["held.jsonl"]))
    assert_full(trueup(tmp_path, *elsewhere), "held.jsonl")
    assert not (tmp_path / "held.jsonl").exists()
    assert not (tmp_path / "t.jsonl").exists()
    assert [path.read_text() for path in names.values()] == ["before"] * 3
    assert len(list(disk.iterdir())) == 4  # with the ballast


@pytest.mark.spec("B21")
def test_a_comparison_without_room_for_temporary_files(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the only disk is full, tempfile only says that it has no folder."""
    file = units_file(tmp_path)
    assert trueup(tmp_path, "sift", str(file), "--schema", SCHEMA, "-o", "out", "--progress", "none").code == 0
    fill(disk)
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(disk)])
    with pytest.raises(DiskFull):
        compare(tmp_path / "out", tmp_path / "out")


@pytest.mark.spec("B21")
@pytest.mark.parametrize("command", [["schema", SCHEMA], ["rules", "rules.yaml"]])
def test_a_filter_whose_output_or_log_does_not_fit(tmp_path: Path, disk: Path, command: list[str]) -> None:
    (tmp_path / "rules.yaml").write_text(
        "rules: [{name: long, expr: 'len(answer) > 5000', error: short, level: warning}]\n"
    )
    rows = [{"unit_id": unit["unit_id"], "answer": "x" * 2000, "n": "1"} for unit in UNITS]
    stdin = "".join(json.dumps(row) + "\n" for row in rows).encode()
    fill(disk)
    assert_full(trueup(tmp_path, *command, stdin=stdin, to=f">{disk / 'out'}"), "standard output")
    strict = SCHEMA.replace('"string"', '"array"')
    logged = ["schema", strict] if command[0] == "schema" else command
    assert_full(trueup(tmp_path, *logged, "--log", str(disk / "log"), stdin=stdin, to=">/dev/null"), "log")


def made(folder: Path) -> Path:
    """A pipeline whose run fails some units."""
    items = [{"id": str(n)} for n in range(40)]
    good, bad = json.dumps({"answer": "x" * 20_000}), "no idea " * 2000
    rows = [row for n in range(40) for row in reply("ask", str(n), good if n % 2 else bad)]
    return write_pipeline(folder / "pipeline", [asking("ask")], items, rows, chunk_size=10)


def stricter(folder: Path) -> Path:
    """The same pipeline, but every reply fails."""
    made(folder)
    schema = folder / "pipeline" / "schemas" / "ask.json"
    schema.write_text(schema.read_text().replace('"string"', '"array", "maxItems": 0'))
    return folder / "pipeline"


@pytest.mark.spec("B21", "X46")
def test_every_command_over_a_run_on_a_full_disk(tmp_path: Path, disk: Path) -> None:
    pipeline = str(made(tmp_path))
    ballast = fill(disk)
    assert_full(trueup(tmp_path, "init", pipeline, "--run-dir", str(disk / "run")))
    assert_full(trueup(tmp_path, "run", pipeline, "--run-dir", str(disk / "run")))
    assert not (disk / "run").exists()
    ballast.unlink()
    run = str(disk / "run")
    assert trueup(tmp_path, "init", pipeline, "--run-dir", run).code == 0
    fill(disk, 1_300_000)
    assert_full(trueup(tmp_path, "run", run), "`trueup run")
    fill(disk)
    assert_full(trueup(tmp_path, "run", run), "`trueup run")
    enlarge(disk, "30m")
    assert trueup(tmp_path, "run", run).code == 1
    assert trueup(tmp_path, "verify", run).code == 0
    before = {path: path.read_bytes() for path in Path(run).rglob("*") if path.is_file() and "LOG" not in path.name}
    fill(disk)
    assert_full(trueup(tmp_path, "retry", run, "--attempts", "9"))
    assert_full(trueup(tmp_path, "report", run), "report.html")
    assert_full(trueup(tmp_path, "revalidate", run, "--pipeline", pipeline, "--apply"))
    enlarge(disk, "60m")
    assert trueup(tmp_path, "verify", run).code == 0
    for path, raw in before.items():
        if path.name in {"validated.jsonl", "failures.jsonl"} or "chunks" in path.parts:
            assert path.read_bytes() == raw, path
    assert trueup(tmp_path, "retry", run, "--attempts", "9").code == 0


@pytest.mark.spec("B21", "X46")
def test_every_command_over_a_run_with_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    pipeline, run = str(made(tmp_path)), str(tmp_path / "run")
    assert_limited(trueup(tmp_path, "init", pipeline, "--run-dir", run, most=512), "run")
    assert trueup(tmp_path, "init", pipeline, "--run-dir", run).code == 0
    assert_limited(trueup(tmp_path, "run", run, most=102_400), "`trueup run")
    assert trueup(tmp_path, "run", run).code == 1
    assert trueup(tmp_path, "verify", run).code == 0
    before = {path: path.read_bytes() for path in Path(run).rglob("*.jsonl") if path.name != "journal.jsonl"}
    assert_limited(trueup(tmp_path, "retry", run, "--attempts", "9", most=51_200))
    assert_limited(trueup(tmp_path, "report", run, most=4_096), "report.html")
    assert_limited(trueup(tmp_path, "export", run, "-o", str(tmp_path / "pairs.jsonl"), most=51_200), "pairs.jsonl")
    assert_limited(trueup(tmp_path, "revalidate", run, "--pipeline", str(stricter(tmp_path)), "--apply", most=51_200))
    assert trueup(tmp_path, "verify", run).code == 0
    assert {path: path.read_bytes() for path in before} == before
    assert trueup(tmp_path, "revalidate", run, "--pipeline", str(stricter(tmp_path)), "--apply").code == 1
    assert trueup(tmp_path, "verify", run).code == 0
    assert (Path(run) / "validated.jsonl").read_bytes() == b""


@pytest.mark.spec("B21", "X46")
def test_a_sift_and_a_filter_with_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    file = units_file(tmp_path)
    sift = ("sift", str(file), "--schema", SCHEMA, "--out", str(tmp_path / "out"), "--progress", "none")
    assert_limited(trueup(tmp_path, *sift, most=512_000), "same command resumes")
    assert trueup(tmp_path, *sift).code == 0
    assert len((tmp_path / "out" / "validated.jsonl").read_text().splitlines()) == 600
    assert_limited(trueup(tmp_path, *sift, "--table", str(tmp_path / "t.csv"), most=102_400), "t.csv")
    rows = "".join(json.dumps({"unit_id": unit["unit_id"], "answer": "x" * 2000}) + "\n" for unit in UNITS)
    ran = trueup(tmp_path, "schema", SCHEMA, stdin=rows.encode(), to=f">{tmp_path / 'passed'}", most=102_400)
    assert_limited(ran, "standard output")
