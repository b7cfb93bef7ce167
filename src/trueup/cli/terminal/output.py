"""Write to the terminal: plain text without harmful characters, coloured on request."""

import codecs
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Literal

from trueup.verdict.display import safe_json

if TYPE_CHECKING:
    from rich.console import Console

Color = Literal["auto", "always", "never"]

_FOREIGN = re.compile(r"[^\x00-\x7f]")


def open_console(color: Color = "auto", width: int | None = None) -> "Console":
    """A console on standard output: markup, emoji codes and highlighting off, colour as asked.

    `auto` colours only a terminal, and only if NO_COLOR is not set; `always` overrides both.
    """
    from rich.console import Console

    class Pipe(Console):
        """A console that raises an error if the reader has gone, instead of ending the program itself."""

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


def open_streams() -> None:
    """Replace closed standard streams, so that their use is an error with a message, not a crash.

    Reading from or writing to a replacement fails. Only messages to stderr are discarded silently.
    """
    for number, name, flags in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))


# Replacements for the symbols of our own output, if the encoding lacks them.
_PLAIN = {
    "✓": "+", "✗": "x", "·": "-", "…": "...", "×": "x", "→": "->", "←": "<-", "—": "-", "–": "-", "−": "-", "≥": ">=", "≤": "<=",
    "‘": "'", "’": "'", "“": '"', "”": '"', "━": "=", "─": "-", "│": "|", "█": "#", "°": " deg", "µ": "u", "€": "EUR",
}  # fmt: skip


def forgive_encoding() -> None:
    """Make stdout and stderr show unsupported characters as plain symbols or escapes, without crashing."""
    codecs.register_error("trueup.plain", _in_plain_signs)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="trueup.plain")


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    sign = error.object[error.start]
    plain = _PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode()
    return plain, error.start + 1


def plain_json(text: str) -> str:
    r"""JSON text that stdout can encode and a terminal can show: other characters are `\u` escapes, so it stays
    JSON.
    """
    text = safe_json(text)
    if text.isascii() or (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf"):
        return text
    return _FOREIGN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def write(text: str) -> None:
    """Write to standard output in pieces, because one huge unbuffered write may silently end early."""
    for at in range(0, len(text), 65536):
        sys.stdout.write(text[at : at + 65536])


def is_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty()
