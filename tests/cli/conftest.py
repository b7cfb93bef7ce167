"""Fixtures for the tests of the command line: run it for real, in a pipe and on a terminal."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.running import Ran, Run, clean_environment, read_all, run_in_full
from tests.cli.starter import Starter, is_forkable


@pytest.fixture(scope="session")
def starter(root: Path) -> Iterator[Starter]:
    """The process that starts `trueup` for all tests of one worker."""
    starter = Starter(root)
    yield starter
    starter.close()


@pytest.fixture
def run(tmp_path: Path, starter: Starter) -> Run:
    """Run `trueup` as a separate process in an empty folder, with its output in a pipe."""

    def call(*args: str, stdin: bytes | str = b"", **extra: str) -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        environment = clean_environment(**extra)
        if not is_forkable(extra):
            return run_in_full(args, given, tmp_path, environment)
        (their_in, our_in), (our_out, their_out), (our_err, their_err) = os.pipe(), os.pipe(), os.pipe()
        with ThreadPoolExecutor(3) as pool:
            fed = pool.submit(_feed, our_in, given)
            out, err = pool.submit(_drain, our_out), pool.submit(_drain, our_err)
            try:
                code = starter.run(args, tmp_path, environment, (their_in, their_out, their_err))
            finally:
                for end in (their_in, their_out, their_err):
                    os.close(end)
            fed.result()
        return Ran(code, out.result().decode(errors="replace"), err.result().decode())

    return call


@pytest.fixture
def run_on_terminal(tmp_path: Path, starter: Starter) -> Run:
    """Run `trueup` in an empty folder on a terminal with a width, and return the terminal's output."""

    def call(*args: str, width: int = 80, **extra: str) -> Ran:
        assert is_forkable(extra)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        with ThreadPoolExecutor(1) as pool:
            out = pool.submit(read_all, ours)
            try:
                code = starter.run(args, tmp_path, clean_environment(**extra), (theirs, theirs, theirs))
            finally:
                os.close(theirs)
        os.close(ours)
        return Ran(code, out.result().decode().replace("\r\n", "\n"))

    return call


def _feed(pipe: int, given: bytes) -> None:
    with suppress(BrokenPipeError), open(pipe, "wb") as stream:
        stream.write(given)


def _drain(pipe: int) -> bytes:
    with open(pipe, "rb") as stream:
        return stream.read()
