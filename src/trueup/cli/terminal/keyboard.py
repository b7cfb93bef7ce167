"""Read keys: from a terminal as they are pressed, from a pipe as one letter per line.

Until it is closed, the terminal returns each key immediately and does not show it. A line of text is shown while it is
typed. Keys typed ahead are kept. Ctrl-C interrupts as usual; the end of the input is `EOFError`.
"""

import codecs
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Protocol

import click

_SEQUENCE = re.compile(r"\x1b(?:[\[O][0-9;?]*[ -/]*[@-~]?)?")  # the codes that an arrow or a function key sends
_END, _ERASE, _ERASE_ALL = "\x04", ("\x7f", "\x08"), "\x15"


class Keyboard(Protocol):
    """A source of keys."""

    is_terminal: bool

    def key(self) -> str:
        """The next key."""

    def line(self, prompt: str) -> str:
        """A line of text."""


class PipedKeys:
    """Keys from a pipe: the first letter of each line. The rest of the line is the text of a note or a label."""

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
        """The text after the letter, or otherwise the next line."""
        text, self._rest = self._rest, ""
        return text or sys.stdin.readline().strip()


class Terminal:
    """Keys of a terminal as they are pressed."""

    is_terminal = True

    def __init__(self) -> None:
        self._ahead = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def key(self) -> str:
        """The next key; an empty string for arrows and function keys."""
        while not self._ahead:
            given = os.read(sys.stdin.fileno(), 1024)
            if not given:
                raise EOFError
            self._ahead = self._decoder.decode(given)
        sequence = _SEQUENCE.match(self._ahead)
        key = self._ahead[: sequence.end() if sequence else 1]
        self._ahead = self._ahead[len(key) :]
        if key == _END:
            raise EOFError
        return "" if sequence else key

    def line(self, prompt: str) -> str:
        """A line of text, shown while it is typed; Escape leaves it empty."""
        text = ""
        while True:
            room = shutil.get_terminal_size().columns - len(prompt) - 1
            click.echo(f"\r\x1b[K{prompt}{text[-max(room // 2, room - 2 * _wide(text)) :]}", nl=False)
            try:
                key = self.key()
            except EOFError:
                key = "\n"
            if key in ("\n", "\r", ""):
                click.echo()
                return text if key else ""
            if key in _ERASE:
                text = text[:-1]
            elif key == _ERASE_ALL:
                text = ""
            elif key.isprintable():
                text += key


def _wide(text: str) -> int:
    """The number of characters that take two cells."""
    return sum(not letter.isascii() for letter in text)


@contextlib.contextmanager
def _keys_at_once() -> Iterator[None]:
    """Make the terminal return each key immediately without showing it, and restore the terminal at the end."""
    import termios

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    at_once = termios.tcgetattr(fd)
    at_once[3] &= ~(termios.ICANON | termios.ECHO)
    at_once[6][termios.VMIN], at_once[6][termios.VTIME] = 1, 0
    # TCSADRAIN keeps keys that were typed ahead.
    termios.tcsetattr(fd, termios.TCSADRAIN, at_once)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextlib.contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """The keyboard of this process. The terminal is restored at the end."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.name == "nt":
        yield PipedKeys()
        return
    with _keys_at_once():
        yield Terminal()
