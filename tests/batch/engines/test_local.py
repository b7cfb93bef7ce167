"""The pool: one unit that kills its worker fails alone, a killed worker loses nothing, and nothing hangs."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import bytes_of, run, run_files, unit
from trueup import Contract, Verdict
from trueup.batch.judging.work import EngineFailed


class Poison:
    """A contract whose check does what the reply says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inner = Contract(schema=True)
        # loads the modules for judging; a worker that loads them at its first line would seem slow
        self._inner.check("[1]")

    def check(self, reply: Any, context: Any = None) -> Verdict:
        if "once" in reply and not (self._folder / "died").exists():
            (self._folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "fatal" in reply:
            os.kill(os.getpid(), signal.SIGKILL)
        if "slow" in reply:
            time.sleep(600)
        if "big" in reply:
            bytearray(3 << 30)
        if "raise" in reply:
            raise RuntimeError("sk-canary-of-the-check")
        return self._inner.check(reply, context)


@pytest.mark.spec("B11", "B19")
def test_units_that_crash_or_hang_fail_alone(tmp_path: Path) -> None:
    told = ["fine", "fatal", "fine", "slow", "big", "raise", "once", "fine"]
    ran = run(tmp_path, [unit(f"{n}", f'["{word}"]') for n, word in enumerate(told)], Poison(tmp_path), seconds=2)
    assert [row["unit_id"] for row in ran.valid] == ["0", "2", "6", "7"]
    assert ran.codes == {"1": ["U008"], "3": ["U006"], "4": ["U007"], "5": ["U009"]}
    assert {row["failure_stage"] for row in ran.failed} == {"pipeline_internal"}
    assert all(row["raw_response"].startswith("[") for row in ran.failed)
    assert b"canary" not in b"".join(bytes_of(ran.out).values())


def test_duplicates_and_crashes_in_one_range_are_both_reported(tmp_path: Path) -> None:
    lines = [unit("a", "[1]"), unit("b", '["fatal"]'), unit("a", "[2]"), unit("b", "[3]")]
    ran = run(tmp_path, lines, Poison(tmp_path))
    assert [row["data"] for row in ran.valid] == [[1]]
    assert [(row["unit_id"], row["errors"][0]["code"]) for row in ran.failed] == [
        ("b", "U008"),
        ("a", "U003"),
        ("b", "U003"),
    ]


def test_a_contract_that_cannot_be_built_in_a_worker_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trueup.batch.engines import local

    monkeypatch.setattr(local, "_limit_memory", lambda _: os._exit(9))
    monkeypatch.setattr("threading.active_count", lambda: 1)  # a forked worker has the line above too
    with pytest.raises(EngineFailed, match="keep dying"):
        run(tmp_path, [unit("a")])


@pytest.mark.spec("B19")
def test_a_line_of_a_hundred_megabytes_is_not_kept_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "big.jsonl"
    with file.open("wb") as opened:
        opened.write(unit("a").encode() + b'\n{"unit_id": "huge", "raw_response": "')
        for _ in range(100):
            opened.write(b"x" * 1_000_000)
        opened.write(b'"}\n' + unit("z").encode() + b"\n")
    ran = run_files(tmp_path, [str(file)], workers=1, megabytes=200)
    assert [row["unit_id"] for row in ran.valid] == ["a", "z"]
    assert ran.codes == {"huge": ["U004"]}
    assert ran.failed[0]["errors"][0]["message"].startswith("The line has 100,000,0")
    assert (ran.out / "failures.jsonl").stat().st_size < 100_000
