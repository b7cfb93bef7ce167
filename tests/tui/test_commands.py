"""The commands of the screens, without the screens."""

import re
import sys
import threading
from pathlib import Path

import pytest

from trueup.tui import commands


def test_a_resumed_run_is_waited_for_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run continues until the file `hold` is removed."""
    (tmp_path / "hold").touch()
    work = "import pathlib, sys, time\nwhile (pathlib.Path(sys.argv[2]) / 'hold').exists(): time.sleep(0.01)"
    monkeypatch.setattr(commands, "_CALL", (sys.executable, "-c", work))
    done = commands.resume(tmp_path)
    assert done.code == 0
    found = re.fullmatch(rf"{tmp_path.name} runs as process (\d+)", done.said)
    assert found
    (waiting,) = [thread for thread in threading.enumerate() if thread.name == f"run-{found[1]}"]
    assert waiting.is_alive()
    (tmp_path / "hold").unlink()
    waiting.join(60)
    assert not waiting.is_alive()
