"""What the screens can do to a run, without the screens."""

import re
import sys
import threading
from pathlib import Path

import pytest

from trueup.tui import commands


def test_a_run_that_goes_on_by_itself_is_heard_of_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_CALL", (sys.executable, "-c", "import time; time.sleep(3)"))
    done = commands.resume(tmp_path)
    assert done.code == 0
    found = re.fullmatch(rf"{tmp_path.name} goes on as process (\d+)", done.said)
    assert found
    (waiting,) = [thread for thread in threading.enumerate() if thread.name == f"run-{found[1]}"]
    waiting.join(30)
    assert not waiting.is_alive()
