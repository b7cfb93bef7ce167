"""`make demo` as a new user sees it: the result of each reply, and the result of `json.loads` next to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

ROOT = Path(__file__).resolve().parents[2]


def demo(**environment: str) -> str:
    hidden = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "COLORTERM"}
    env = {**{k: v for k, v in os.environ.items() if k not in hidden}, "PYTHONUTF8": "1", **environment}
    done = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_shows_the_result_of_a_try_block() -> None:
    out = demo()
    assert "trueup      2 unchanged, 9 repaired, 7 refused, with the reason\n" in out
    assert "json.loads  2 read, 3 read but wrong, 13 exceptions\n" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_screen(width: int) -> None:
    lines = [line for line in demo(COLUMNS=str(width)).splitlines() if not line.startswith("$ ")]
    assert max(map(cell_len, lines)) <= width


def test_a_reader_that_leaves_causes_no_error() -> None:
    line = f"'{sys.executable}' examples/demo.py | head -1"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("The replies in examples/replies\n", "")
