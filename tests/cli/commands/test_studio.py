"""`trueup studio`: its messages when it starts, what it refuses, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup.cli.options.serving import host_name


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere"], "nowhere: there is no such folder"),
        (["file.txt"], "file.txt: this is a file; give the folder that contains it"),
        (["--store", "none.db"], "none.db: there is no such store"),
        (["--store", "file.txt"], "file.txt: the file is not a store"),
        (["--listen", "here"], "--listen 'here': give an address and a port"),
        (["--listen", "127.0.0.1:0", "--port", "0"], "give --port or --listen, not both"),
        (["--demo", "."], "--demo has its own folder and store"),
        (["--demo", "--store", "x.db"], "--demo has its own folder and store"),
    ],
)
def test_options_that_cannot_work_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.txt").write_text("no store", "utf-8")
    result = run("studio", "--no-browser", *given)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_port_in_use_is_reported_before_anything_is_made(run: Run, taken: int) -> None:
    for given, option in ((["--port", str(taken)], "--port"), (["--listen", f"127.0.0.1:{taken}"], "--listen")):
        for demo in ([], ["--demo"]):
            result = run("studio", "--no-browser", *given, *demo)
            assert (result.code, result.out) == (2, "")
            told = f"cannot listen on 127.0.0.1:{taken}: Address already in use; give another with {option}; port 0 is any free one"
            assert result.err == f"trueup: {told}\n"


def test_it_says_what_it_shows_and_ends_quietly(tmp_path: Path) -> None:
    """The lines fit a terminal of 80 columns. The studio runs from a folder that it cannot write to."""
    (tmp_path / "runs").mkdir()
    tmp_path.chmod(0o555)
    command = [
        sys.executable,
        "-m",
        "trueup",
        "studio",
        "--no-browser",
        "--read-only",
        "--listen",
        "0.0.0.0:0",
        ".",
        "runs",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines: list[str] = []
    while "Ctrl-C" not in "".join(lines):
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    process.send_signal(signal.SIGINT)
    assert (process.wait(60), process.stderr.read()) == (0, "")
    process.stderr.close()
    tmp_path.chmod(0o755)
    assert all(len(line) <= 80 for line in lines), lines
    assert lines[0].startswith("studio: http://127.0.0.1:")
    assert lines[1:4] == [
        "  folders: ., runs\n",
        "  store: none (give one with --store)\n",
        "  read-only: nothing can be changed\n",
    ]
    assert "Anyone who can read the traffic can open the studio." in lines[5]
    assert lines[6].startswith("  key: ")


@pytest.mark.parametrize("host", ["http://studio.example.com", "box:8765", "", "a b", "*", "box/", "[::1]:80"])
def test_a_host_that_browsers_cannot_send_is_refused(run: Run, host: str) -> None:
    """Otherwise the name would be added silently, and the studio would still refuse it."""
    done = run("studio", "--no-browser", "--host", host)
    assert done.code == 2
    assert f"--host {host!r}: give a name without a scheme and a port, such as studio.example.com" in done.err


def test_a_host_is_known_as_browsers_send_it() -> None:
    given = ["Studio.Example.com", "my_box", "2001:DB8:0:0::1", "[::1]", "10.0.0.1"]
    assert [host_name(each) for each in given] == ["studio.example.com", "my_box", "[2001:db8::1]", "[::1]", "10.0.0.1"]
