"""The state of a run as text: complete in a pipe, cut to the width of a terminal."""

import re
import shutil
from pathlib import Path

from tests.cli.running import Run

WALK = Path(__file__).resolve().parents[3] / "examples" / "pipelines" / "random_walk"


def test_the_table_of_steps_is_cut_on_a_terminal_and_whole_in_a_pipe(
    run: Run, run_on_terminal: Run, tmp_path: Path
) -> None:
    config = Path(shutil.copytree(WALK, tmp_path / "walk")) / "config.yaml"
    name = "walk_" + "x" * 59
    config.write_text(config.read_text("utf-8").replace("name: walk\n", f"name: {name}\n"), "utf-8")
    assert run("run", "walk", "--run-dir", "runs/w", "--max-units", "2", "-q").code == 0
    assert name in run("status", "w").out
    shown = run_on_terminal("status", "w", width=60).out
    assert "walk_xx" in shown
    assert name not in shown
    assert max(map(len, re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines())) <= 60
