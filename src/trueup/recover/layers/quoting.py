"""Removes quotation marks of lines: each line begins with a mark or number, as in Markdown, mail, diffs, listings or shells.

Takes a text; returns a view without those marks, or None if there are none.
"""

from trueup.recover.layers.view import LayerView, ViewPieces, without
from trueup.verdict.patterns import lazy_regex

_QUOTED_BRACKET = lazy_regex(r"(?m)^[ \t]{0,3}>[ \t]*[{}\[\]\"']")
_QUOTE_MARK = lazy_regex(r"(?m)^[ \t]{0,3}>[ ]?")
# A number or a mark at the start of a line, and of the line on which a bracket opens.
_LINE_MARK = r"[ \t]*(?:([0-9]{1,4})[ \t]?[:|.)]?|(//|>>>|\.\.\.|[+#*|]))(?:[ \t]|(?=[\r\n]|\Z))"
_PREFIX = lazy_regex(_LINE_MARK)
_LINED = lazy_regex(rf"(?m)^{_LINE_MARK}[ \t]*(?=[{{\[][ \t]*\r?$)")
_MARK_OF = {"//": "//", ">>>": ">", "...": ">", "+": "+", "#": "#", "*": "*", "|": "|"}
_LEAST_LINES = 3


def unquote(text: str) -> LayerView | None:
    """Remove the `>` marks of a Markdown quotation; None unless it has two marked lines and a bracket."""
    marks = list(_QUOTE_MARK.finditer(text)) if ">" in text else []
    if len(marks) < 2 or not _QUOTED_BRACKET.search(text):
        return None
    return without(_QUOTE_MARK, text, lambda _: "")


def unlined(text: str) -> LayerView | None:
    r"""Remove the numbers or marks from the lines of a value: `1: {`, `+ {`, `# {`, `>>> {`; None if there are none.

    >>> unlined('1: {\n2:   "a": 1\n3: }').text
    '{\n  "a": 1\n}'
    """
    first = _LINED.search(text)
    if first is None:
        return None
    kind, number = _MARK_OF[first[2]] if first[2] else "", int(first[1] or 0)
    pieces = ViewPieces()
    pieces.add(text[: first.start()], 0, 1)
    at, last = first.start(), ""
    count = 0
    while prefix := _PREFIX.match(text, at):
        mark = _MARK_OF.get(prefix[2] or "", "") if prefix[2] else ""
        if mark != kind or (prefix[1] and int(prefix[1]) != number + count):
            break
        stop = text.find("\n", prefix.end())
        stop = len(text) if stop < 0 else stop + 1
        pieces.add(text[prefix.end() : stop], prefix.end(), 1)
        last = text[prefix.end() : stop].strip()[:1]
        at = stop
        count += 1
    if count < _LEAST_LINES or last not in ("}", "]"):
        return None
    pieces.add(text[at:], at, 1)
    return pieces.whole()
