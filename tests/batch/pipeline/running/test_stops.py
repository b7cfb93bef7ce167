"""Stops from outside and inside: signals in the middle of a script, a disk that keeps nothing, a broken screen."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import GOOD, Counting, asking, assert_whole, go, lines, reply, start, write_pipeline
from tests.waiting import wait_for
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Appender, Disk
from trueup.batch.pipeline.running.run import PipelineOptions

SLOW = (
    "import os, pathlib, sys, time\n"
    "here = pathlib.Path(sys.argv[1]) / 'here'\n"
    "here.with_name('beside').write_text(str(os.getpid()))\n"
    "here.with_name('beside').replace(here)\n"
    "time.sleep(600)\n"
)


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["step", "post"])
def test_a_signal_ends_a_script_and_the_run_resumes_later(tmp_path: Path, where: str, how: signal.Signals) -> None:
    steps: list[dict[str, Any]] = [{"name": "one", "scope": "expression", "expressions": {"x": "1"}}]
    post = [{"name": "slow", "script": "slow.py"}, {"name": "next", "script": "next.py", "output": "next.txt"}]
    if where == "step":
        steps.append({"name": "slow", "scope": "run", "script": "slow.py"})
        post = post[1:]
    pipeline = write_pipeline(tmp_path / "p", steps, post_process=post)
    (pipeline / "slow.py").write_text(SLOW, "utf-8")
    (pipeline / "next.py").write_text("print('done')", "utf-8")
    path = start(pipeline, tmp_path / "run")
    with subprocess.Popen([sys.executable, "-m", "trueup", "run", str(path), "--quiet"], stdout=subprocess.PIPE) as run:
        wait_for(lambda: (path / "here").exists() or run.poll() is not None, "the script never starts")
        run.send_signal(how)
        assert run.wait(60) == 130
    assert has_ended(int((path / "here").read_text("utf-8")))
    state = RunDir.look(path).state
    assert (state.status, state.reason) == ("paused", "interrupted; run it again to resume")
    assert not (path / "next.txt").exists()
    (path / "config" / "slow.py").write_text("pass", "utf-8")
    ran = go(path)
    assert (ran.result.status, ran.result.code) == ("done", 0)
    assert len(ran.valid) == 3
    assert (path / "next.txt").read_text("utf-8") == "done\n"


def test_a_file_may_be_closed_while_it_is_synced(tmp_path: Path) -> None:
    """Replies are synced once a second, from a thread; their chunk may be finished by then."""
    begun, go_on = threading.Event(), threading.Event()

    class Held(Disk):
        def sync(self, handle: int) -> None:
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                assert go_on.wait(60)
            super().sync(handle)

    file = Appender(tmp_path / "a.jsonl", Held())
    file.append(b"1\n")
    faults: list[BaseException] = []

    def sync() -> None:
        try:
            file.sync()
        except OSError as error:
            faults.append(error)

    syncing = threading.Thread(target=sync)
    syncing.start()
    assert begun.wait(60)
    closing = threading.Thread(target=file.close)
    closing.start()
    go_on.set()
    syncing.join(60)
    closing.join(60)
    file.sync()
    assert faults == []


class Forgetful(Disk):
    """Cannot sync the recorded replies."""

    def sync(self, handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").readlink().name.endswith("_results.jsonl"):
            raise OSError(errno.EIO, "Input/output error")
        super().sync(handle)


def slow_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Counting]:
    monkeypatch.setattr("trueup.batch.pipeline.running.realtime._TICK", 0.01)
    rows = reply("ask", "*", GOOD)
    items = [{"id": str(n)} for n in range(100)]
    pipeline = write_pipeline(tmp_path / "p", [asking("ask")], items, rows, chunk_size=100)
    return start(pipeline, tmp_path / "run"), Counting(rows, delay=0.02)


def test_replies_that_cannot_be_written_to_disk_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, provider = slow_run(tmp_path, monkeypatch)
    ran = go(path, PipelineOptions(workers=2), disk=Forgetful(), provider=provider)
    assert (ran.result.status, ran.result.code) == ("paused", 3)
    assert "cannot be synced: Input/output error" in ran.result.reason
    assert len(provider.asked) < 100
    ran = go(path, provider=provider)
    assert len(ran.valid) == 100
    assert len(provider.asked) == 100
    assert_whole(path)


def test_an_error_in_the_display_stops_the_run_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, provider = slow_run(tmp_path, monkeypatch)
    shown: list[Any] = []

    def show(live: Any) -> None:
        shown.append(live)
        if len(shown) > 1:
            raise RuntimeError("no terminal")

    ran = go(path, PipelineOptions(workers=2), on_live=show, provider=provider)
    assert (ran.result.status, ran.result.code) == ("paused", 3)
    assert "RuntimeError: no terminal" in ran.result.reason
    assert len(go(path, provider=provider).valid) == 100


def test_a_file_that_cannot_be_compressed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    steps = [{"name": "one", "scope": "expression", "expressions": {"x": "1"}}]
    ran = go(start(write_pipeline(tmp_path / "p", steps, post_process=[{"type": "gzip"}]), tmp_path / "run"))
    assert (ran.result.status, ran.result.code) == ("paused", 3)
    assert "the disk is full: " in ran.result.reason
    assert "validated.jsonl.gz could not be written" in ran.result.reason
    assert [name for name in os.listdir(ran.path) if "gz" in name] == []  # noqa: PTH208 - hidden ones too
    assert len(lines(ran.path / "validated.jsonl")) == 3
