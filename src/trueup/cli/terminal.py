"""The way to the terminal: what a command shows enters, text that can only be read leaves, coloured where that is wanted."""

import os
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

Color = Literal["auto", "always", "never"]


def open_console(color: Color = "auto", width: int | None = None) -> "Console":
    """A console on standard output: markup, emoji codes and highlighting off, colour as asked.

    `auto` colours a terminal only, and none where NO_COLOR is set; `always` wins over both.
    """
    from rich.console import Console

    class Pipe(Console):
        """A console that lets a reader's going away be known, instead of ending the program by itself."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    settings: dict[str, object] = {"markup": False, "emoji": False, "highlight": False, "width": width}
    if color == "always":
        return Pipe(force_terminal=True, color_system=_palette(), no_color=False, **settings)  # type: ignore[arg-type]
    if color == "never" or os.environ.get("NO_COLOR"):
        return Pipe(color_system=None, **settings)  # type: ignore[arg-type]
    return Pipe(**settings)  # type: ignore[arg-type]


def _palette() -> Literal["standard", "256", "truecolor"]:
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "truecolor"
    return "256" if "256" in os.environ.get("TERM", "") else "standard"


def forgive_encoding() -> None:
    """Let standard output and error show what their encoding lacks as an escape, never as a crash."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Write to standard output in pieces: unbuffered, one huge write may end early and not say so."""
    for at in range(0, len(text), 65536):
        sys.stdout.write(text[at : at + 65536])


def is_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty()
