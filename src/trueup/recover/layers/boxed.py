r"""Opens LaTeX boxes, `\boxed{42}`, in which models that calculate mark their answer.

Takes a text; returns a view of the content of its last box without LaTeX's signs, or None if no box is closed. Plain JSON
in a box stays unchanged.
"""

from trueup.recover.candidate import Candidate
from trueup.recover.layers.view import LayerView, ViewPieces, refold
from trueup.verdict.patterns import lazy_regex

_SIGN = lazy_regex(r"\\(?:boxed|fbox|framebox)\s{0,4}\{|\\[\s\S]|[{}]")
_RAW = lazy_regex(r"\s*(?:\{\s*[\"'}\w]|\[|```)")
_COMMAND = lazy_regex(
    r"\\(?:text|textbf|textit|texttt|textrm|textsf|mathrm|mathbf|mathit|mathsf|mathtt|mbox|operatorname|boxed|fbox)\s{0,4}\{"
    r"|\\[dt]?frac\s{0,4}(?:\{([^{}\\]{1,40})\}\s{0,4}\{([^{}\\]{1,40})\}|([0-9])([0-9]))"
    r"|\\(?:left|right|displaystyle|big|Big)(?![a-zA-Z])|\\(?:quad|qquad)(?![a-zA-Z])|\\[,;:! ]|\{,\}|\\([{}_%$#&])|([{}])"
)
# The formula around a box.
_BEFORE = lazy_regex(r"(?:\\[\[(]|\$\$?)[^\[\]{}$]{0,200}\Z")
_AFTER = lazy_regex(r"[^\[\]{}$]{0,200}?(?:\\[\])]|\$\$?)")


class Box:
    """The content of a box, its place, whether the text has nothing else, and whether another box has different content."""

    __slots__ = ("alone", "rivals", "span", "view")

    def __init__(self, view: LayerView, span: tuple[int, int], *, alone: bool, rivals: bool) -> None:
        self.view = view
        self.span = span
        self.alone = alone
        self.rivals = rivals

    def candidate(self, inner: Candidate) -> Candidate:
        """A candidate in the box's content, as a candidate of the whole text."""
        out = refold(inner, self.view, "W004")
        out.spans = [self.span]
        out.records[-1] = ("W004", *self.span, "", None)
        if self.rivals:
            out.records.append(("W010", *self.span, "", None))
        return out


def unboxed(text: str) -> Box | None:
    r"""The last box of a text.

    >>> unboxed(r"So it is $\boxed{\{\text{n}: \frac{1}{2}\}}$.").view.text
    '{n: 1/2}'
    """
    if "box" not in text:
        return None
    boxes = _boxes(text)
    if not boxes:
        return None
    start, inside, end = boxes[-1]
    answer = text[inside : end - 1].strip()
    outer = ((other, stop) for begin, other, stop in boxes if begin < start or stop > end)
    rivals = any(text[other : stop - 1].strip() != answer for other, stop in outer)
    before, after = _BEFORE.search(text, max(0, start - 204), start), _AFTER.match(text, end)
    span = (before.start(), after.end()) if before and after else (start, end)
    alone = not text[: span[0]].strip() and not text[span[1] :].strip(" \t\r\n.。")
    return Box(_plain(text, inside, end - 1), span, alone=alone, rivals=rivals)


def _boxes(text: str) -> list[tuple[int, int, int]]:
    """The closed boxes: the start of each, the start of its content, and its end; inner boxes first."""
    boxes: list[tuple[int, int, int]] = []
    opened: list[tuple[int, int] | None] = []
    for sign in _SIGN.finditer(text):
        word = sign[0]
        if word == "}":
            box = opened.pop() if opened else None
            if box is not None:
                boxes.append((*box, sign.end()))
        elif word == "{" or len(word) > 2:
            opened.append(sign.span() if word != "{" else None)
    return boxes


def _plain(text: str, start: int, stop: int) -> LayerView:
    """A view of a stretch of LaTeX as plain text."""
    pieces = ViewPieces()
    at = start
    if _RAW.match(text, start, stop):
        pieces.add(text[start:stop], start, 1)
        return pieces.whole()
    opened: list[bool] = []  # for each open brace, whether it belongs to a command
    for command in _COMMAND.finditer(text, start, stop):
        over, under, one, two, escaped, brace = command.groups()
        word = command[0]
        plain = f"{over or one}/{under or two}" if over or one else escaped or ""
        if brace == "}":
            plain = "" if opened and opened.pop() else brace
        elif word[-1] == "{" and not escaped:
            opened.append(brace is None)
            plain = brace or ""
        elif word in ("{,}", "\\quad", "\\qquad") or word[1:] in (",", ";", ":", " "):
            plain = "," if word == "{,}" else " "
        pieces.add(text[at : command.start()], at, 1)
        pieces.add(plain, command.start(), 0)
        at = command.end()
    pieces.add(text[at:stop], at, 1)
    return pieces.whole()
