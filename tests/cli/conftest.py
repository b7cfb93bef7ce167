"""What the tests of the command line share: ways to run it for real, in a pipe and on a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Ran, Run, clean_environment, read_all


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `trueup` as a process of its own in an empty folder, its output in a pipe."""

    def call(*args: str, stdin: bytes | str = b"", **environment: str) -> Ran:
        done = subprocess.run(
            [*COMMAND, *args],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env=clean_environment(**environment),
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())

    return call


@pytest.fixture
def run_on_terminal(tmp_path: Path) -> Run:
    """Run `trueup` in an empty folder on a terminal of a width; what the terminal got is the output."""

    def call(*args: str, width: int = 80, **environment: str) -> Ran:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        env = clean_environment(**environment)
        with subprocess.Popen(
            [*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env
        ) as child:
            os.close(theirs)
            out = read_all(ours)
            code = child.wait(60)
        os.close(ours)
        return Ran(code, out.decode().replace("\r\n", "\n"))

    return call
