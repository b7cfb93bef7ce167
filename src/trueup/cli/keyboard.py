"""Keys as they are pressed, on a terminal; from a pipe, one letter per line.

The terminal gives each key at once and shows none of them, until it is closed; a line of text is asked for in the usual way. Keys that
were typed ahead are kept. Ctrl-C interrupts as always; the end of the input is `EOFError`.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, Protocol

import click

_ESCAPE = "\x1b"


class Keyboard(Protocol):
    """Where keys come from."""

    is_terminal: bool

    def key(self) -> str:
        """The next key."""

    def line(self, prompt: str) -> str:
        """A line of text."""


class Lines:
    """Keys from a pipe: the first letter of each line; what follows it is the text of a note or a label."""

    is_terminal = False

    def __init__(self) -> None:
        self._rest = ""

    def key(self) -> str:
        """The first letter of the next line that is not empty."""
        while True:
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            if line.strip():
                letter, self._rest = line.strip()[0], line.strip()[1:].strip()
                return letter

    def line(self, prompt: str) -> str:  # noqa: ARG002 - nobody would see it
        """What stood behind the letter, or else the next line."""
        text, self._rest = self._rest, ""
        return text or sys.stdin.readline().strip()


class Terminal:
    """Keys of a terminal."""

    is_terminal = True

    def __init__(self, mode: "_Mode") -> None:
        self._mode = mode
        self._ahead = ""

    def key(self) -> str:
        """The next key; arrows and function keys are an empty one."""
        while not self._ahead:
            given = os.read(sys.stdin.fileno(), 1024)
            if not given or given == b"\x04":
                raise EOFError
            self._ahead = given.decode("utf-8", "replace")
        if self._ahead[0] == _ESCAPE:  # a key of several bytes comes as one piece
            self._ahead = ""
            return ""
        key, self._ahead = self._ahead[0], self._ahead[1:]
        if key == "\x04":
            raise EOFError
        return key

    def line(self, prompt: str) -> str:
        """A line of text, shown as it is typed; what was typed ahead is its beginning."""
        typed, newline, rest = self._ahead.replace("\r", "\n").partition("\n")
        self._ahead = rest
        with self._mode.usual():
            click.echo(prompt + typed, nl=False)
            if newline:
                click.echo()
                return typed
            return typed + sys.stdin.readline().rstrip("\n")


class _Mode:
    """How the terminal gives keys: each at once, or a line at a time."""

    def __init__(self) -> None:
        import termios

        self._termios: Any = termios
        self._fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._fd)
        at_once = termios.tcgetattr(self._fd)
        at_once[3] &= ~(termios.ICANON | termios.ECHO)
        at_once[6][termios.VMIN], at_once[6][termios.VTIME] = 1, 0
        self._at_once = at_once

    def enter(self) -> None:
        self._termios.tcsetattr(self._fd, self._termios.TCSADRAIN, self._at_once)

    def leave(self) -> None:
        self._termios.tcsetattr(self._fd, self._termios.TCSADRAIN, self._before)

    @contextlib.contextmanager
    def usual(self) -> Iterator[None]:
        self.leave()
        try:
            yield
        finally:
            self.enter()


@contextlib.contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """The keyboard of this process; at the end the terminal is as it was."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Lines()
        return
    try:
        mode = _Mode()
    except ImportError:  # Windows
        yield Lines()
        return
    mode.enter()
    try:
        yield Terminal(mode)
    finally:
        mode.leave()
