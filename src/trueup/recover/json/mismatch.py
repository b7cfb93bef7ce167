"""What a closing bracket of the wrong kind means: another bracket was missing, this one is wrong, or it is extra.

The brackets that are open and the text after the sign enter; one of three readings leaves.
"""

import enum
import re

from trueup.recover.json.lexer import KEY_AHEAD

_NEXT = re.compile(r"\s*([,}\])]?)")
_RUN = re.compile(r"[\s}\])]{0,200}")


class Mismatch(enum.Enum):
    """The three readings."""

    MISSING = "missing"  # the innermost container was never closed
    WRONG = "wrong"  # this sign stands for the innermost container's closer
    EXTRA = "extra"  # this sign closes nothing


def settle(text: str, at: int, end: int, closers: list[str], sign: str) -> Mismatch:
    """Choose the reading after which the text goes on best."""
    try:
        depth = len(closers) - 1 - closers[::-1].index(sign)
    except ValueError:
        depth = -1
    parent = closers[-2] if len(closers) > 1 else ""
    if depth < 0:
        return Mismatch.WRONG if _fits(text, at + 1, end, parent) else Mismatch.EXTRA
    beyond = closers[depth - 1] if depth > 0 else ""
    if _fits(text, at + 1, end, parent) and not _fits(text, at + 1, end, beyond):
        return Mismatch.WRONG
    run = "".join(_RUN.match(text, at, end)[0].split())  # type: ignore[index]
    expected = "".join(closers[::-1][: len(run)])
    if len(run) > 1 and run != expected and sorted(run) == sorted(expected):
        return Mismatch.WRONG
    if len(run) == len(closers) and run[1:] == "".join(reversed(closers[:-1])):
        return Mismatch.WRONG
    return Mismatch.MISSING


def _fits(text: str, at: int, end: int, closer: str) -> bool:
    """Whether the text from here on can stand inside a container with this closer (none: after the root)."""
    found = _NEXT.match(text, at, end)
    sign = found[1] if found else ""
    if not closer:
        return sign == ""
    if sign == ",":
        is_member = KEY_AHEAD.match(text, found.end(), end) is not None  # type: ignore[union-attr]
        return is_member == (closer == "}")
    return sign == closer
