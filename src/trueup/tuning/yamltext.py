"""Edit the text of a YAML or JSON file. Only the affected lines change.

Takes a text and an edit and returns the new text. Comments, quotes and indentation stay unchanged. Raises `CannotEdit`
for places that a small edit cannot change: an anchor, the first key of a list's item, several items on one line.
"""

import json
from typing import Any, NamedTuple

from trueup.tuning.edits import Add, Append, Edit, Put
from trueup.verdict.paths import Parts, render
from trueup.verdict.patterns import lazy_regex

_PLAIN = lazy_regex(r"[^\W\d][\w./()+-]*(?: [\w./()+-]+)*\Z")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "none", "y", "n"})
_LONG = 100  # a shorter list or mapping goes on one line


class CannotEdit(ValueError):
    """A file cannot be changed in place, for the given reason."""


class TextEdit(NamedTuple):
    """Replace the text from `start` to `end` with `text`."""

    start: int
    end: int
    text: str


def edited(text: str, edit: Edit, kind: str) -> str:
    """The text of a file after one edit.

    >>> edited("a: 1  # one\\nb: [x]\\n", Put(("a",), 2), ".yaml")
    'a: 2  # one\\nb: [x]\\n'
    """
    tree = YamlTree(text, kind)
    if isinstance(edit, Put):
        cut = tree.put(edit.path, edit.value)
    elif isinstance(edit, Add):
        cut = tree.add(edit)
    elif isinstance(edit, Append):
        cut = tree.append(edit.path, edit.value)
    else:
        cut = tree.remove(edit.path)
    return text[: cut.start] + cut.text + text[cut.end :]


class YamlTree:
    """The nodes of a document, with their places in its text."""

    def __init__(self, text: str, kind: str = ".yaml") -> None:
        from ruamel.yaml import YAML  # a big module, needed only for files
        from ruamel.yaml.error import YAMLError

        self.text = text
        self.is_json = kind == ".json"
        self.starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
        try:
            self.root = YAML(typ="safe", pure=True).compose(text)
        except YAMLError as error:
            raise CannotEdit(f"the file cannot be edited in place: {str(error).splitlines()[0]}") from None

    # -- finding things ------------------------------------------------------------------------

    def node(self, path: Parts) -> Any:
        """The node at a path."""
        node = self.root
        for at, part in enumerate(path):
            node = self._child(node, part, path[: at + 1])
        return node

    def _child(self, node: Any, part: str | int, path: Parts) -> Any:
        if isinstance(node.value, list):
            if isinstance(part, int) and part < len(node.value) and not isinstance(node.value[part], tuple):
                return self._own(node, node.value[part], path)
            for key, value in (pair for pair in node.value if isinstance(pair, tuple)):
                if key.value == str(part):
                    return self._own(node, value, path)
        raise CannotEdit(f"there is no {render(path)} in this file")

    def _own(self, parent: Any, node: Any, path: Parts) -> Any:
        """A node that is used only in its own place: not an alias, and without an anchor that others use."""
        before = node.start_mark.index < parent.start_mark.index
        if before or self.text[node.start_mark.index : node.start_mark.index + 1] in ("&", "*", "!"):
            raise CannotEdit(f"{render(path)} is shared through an anchor; edit it by hand")
        return node

    def paths_at(self, line: int, column: int) -> list[Parts]:
        """The paths of the nodes that start at a place, counted from 1; the outermost first."""
        found: list[Parts] = []
        stack: list[tuple[Parts, Any]] = [((), self.root)]
        while stack:
            path, node = stack.pop()
            if (node.start_mark.line, node.start_mark.column) == (line - 1, column - 1):
                found.append(path)
            if isinstance(node.value, list):
                for at, held in enumerate(node.value):
                    stack.append(((*path, held[0].value), held[1]) if isinstance(held, tuple) else ((*path, at), held))
        return sorted(found, key=len)

    # -- the edits -----------------------------------------------------------------------------

    def put(self, path: Parts, value: Any) -> TextEdit:
        """Replace a value; text keeps its quotes."""
        node = self.node(path)
        if isinstance(node.value, list) and not node.flow_style:
            raise CannotEdit(f"{render(path)} is written over several lines; edit it by hand")
        if getattr(node, "style", None) in ("|", ">"):
            raise CannotEdit(f"{render(path)} is a text of several lines; edit it by hand")
        style = getattr(node, "style", None) or ""
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(value, str) and not style and not self.is_json and self._stays_plain(path, start, end, value):
            return TextEdit(start, end, value)
        return TextEdit(start, end, self.inline(value, style))

    def _stays_plain(self, path: Parts, start: int, end: int, value: str) -> bool:
        """Whether a text can be written without quotes in its place."""
        if not value.isprintable() or value != value.strip():
            return False
        try:
            node = YamlTree(self.text[:start] + value + self.text[end:]).node(path)
        except CannotEdit:
            return False
        return bool(node.value == value and str(node.tag).endswith(":str") and not node.style)

    def append(self, path: Parts, value: Any) -> TextEdit:
        """Add an item to a list."""
        node = self.node(path)
        if node.flow_style:
            return self._into_flow(node, self.inline(value))
        dash = " " * node.start_mark.column
        return self._after_line(self._last_line(node), self._item(value, dash))

    def add(self, edit: Add) -> TextEdit:
        """Add a key to a mapping."""
        node = self.node(edit.path)
        if node.flow_style:
            return self._into_flow(node, f"{self.inline(edit.key)}: {self.inline(edit.value)}")
        pad = " " * node.value[0][0].start_mark.column
        lines = self._block(edit.key, edit.value, pad)
        keys = [key.value for key, _ in node.value]
        if not edit.path:  # a separate part of the contract
            lines = ["", *lines]
        if edit.before in keys and keys.index(edit.before):
            return self._after_line(self._last_line(node.value[keys.index(edit.before) - 1][1]), lines)
        return self._after_line(self._last_line(node), lines)

    def remove(self, path: Parts) -> TextEdit:
        """Remove a key or an item."""
        parent = self.node(path[:-1])
        self.node(path)
        index, start, end = self._span(parent, path[-1])
        if parent.flow_style:
            return self._out_of_flow(parent, index, start, end)
        if len(parent.value) == 1:
            raise CannotEdit(f"{render(path)} is the only entry there; remove the whole block")
        first = self._line_of(start)
        node = parent.value[index]
        last = self._last_line(node[1] if isinstance(node, tuple) else node)
        before = self.text[self.starts[first] : start].strip(" ")
        if before != ("" if isinstance(node, tuple) else "-"):
            raise CannotEdit(f"{render(path)} shares its line with something else; edit it by hand")
        stop = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
        return TextEdit(self.starts[first], stop, "")

    # -- how it is done ------------------------------------------------------------------------

    def _span(self, parent: Any, part: str | int) -> tuple[int, int, int]:
        for index, held in enumerate(parent.value):
            if isinstance(held, tuple) and held[0].value == str(part):
                return index, held[0].start_mark.index, held[1].end_mark.index
            if not isinstance(held, tuple) and index == part:
                return index, held.start_mark.index, held.end_mark.index
        raise CannotEdit(f"there is no {part!r} here")

    def _out_of_flow(self, parent: Any, index: int, start: int, end: int) -> TextEdit:
        held = parent.value
        if index:
            before = held[index - 1]
            start = (before[1] if isinstance(before, tuple) else before).end_mark.index
        elif len(held) > 1:
            after = held[1]
            end = (after[0] if isinstance(after, tuple) else after).start_mark.index
        if "#" in self.text[start:end] and "\n" in self.text[start:end]:
            raise CannotEdit("there is a comment between the items; edit the list by hand")
        return TextEdit(start, end, "")

    def _into_flow(self, node: Any, text: str) -> TextEdit:
        if not node.value:
            return TextEdit(node.start_mark.index + 1, node.end_mark.index - 1, text)
        last = node.value[-1]
        begins = (last[0] if isinstance(last, tuple) else last).start_mark
        ends = (last[1] if isinstance(last, tuple) else last).end_mark.index
        line = self.starts[begins.line]
        pad = self.text[line : begins.index]
        gap = f"\n{pad}" if len(node.value) and not pad.strip() and begins.line != node.start_mark.line else " "
        return TextEdit(ends, ends, f",{gap}{text}")

    def _after_line(self, line: int, lines: list[str]) -> TextEdit:
        """Insert lines after a line."""
        at = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        opening = "" if at == 0 or self.text[at - 1] == "\n" else "\n"
        return TextEdit(at, at, opening + "".join(f"{text}\n" for text in lines))

    def _line_of(self, index: int) -> int:
        from bisect import bisect_right

        return bisect_right(self.starts, index) - 1

    def _last_line(self, node: Any) -> int:
        """The last line that belongs to a node, without the comments and blank lines after it."""
        while isinstance(node.value, list) and not node.flow_style and node.value:
            held = node.value[-1]
            node = held[1] if isinstance(held, tuple) else held
        start: int = node.start_mark.line
        if getattr(node, "style", None) in ("|", ">"):
            last = node.end_mark.line - (node.end_mark.column == 0)
            while last > start and not self._line(last).strip():
                last -= 1
            return int(last)
        end: int = node.end_mark.line
        return end

    def _line(self, number: int) -> str:
        stop = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : stop]

    # -- writing values ------------------------------------------------------------------------

    def inline(self, value: Any, style: str = "") -> str:
        """A value on one line."""
        if self.is_json:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.inline(key)}: {self.inline(part)}" for key, part in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.inline, value)) + "]"
        return scalar(value, style)

    def _block(self, key: str, value: Any, pad: str) -> list[str]:
        """The lines of a key and its value."""
        head = f"{pad}{self.inline(key)}:"
        short = self.inline(value)
        if (
            isinstance(value, dict)
            and value
            and (len(short) > _LONG or any(isinstance(v, dict) for v in value.values()))
        ):
            return [head, *(line for inner, part in value.items() for line in self._block(inner, part, pad + "  "))]
        if isinstance(value, dict) and value and not pad:
            return [head, *(line for inner, part in value.items() for line in self._block(inner, part, "  "))]
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            return [head, *(line for item in value for line in self._item(item, pad + "  "))]
        return [f"{head} {short}"]

    def _item(self, value: Any, pad: str) -> list[str]:
        """The lines of an item of a list."""
        if isinstance(value, dict) and len(self.inline(value)) + len(pad) > _LONG:
            lines = [line for key, part in value.items() for line in self._block(key, part, pad + "  ")]
            return [f"{pad}- {lines[0].lstrip(' ')}", *lines[1:]]
        return [f"{pad}- {self.inline(value)}"]


def scalar(value: Any, style: str = "") -> str:
    r"""A scalar as YAML, in single or double quotes if it had quotes or needs them.

    >>> scalar("low"), scalar("it's 5"), scalar("no"), scalar("a\nb"), scalar(2.5), scalar("x < 3", "'")
    ('low', "'it''s 5'", "'no'", '"a\\nb"', '2.5', "'x < 3'")
    """
    if not isinstance(value, str):
        return json.dumps(value)
    if style == '"' or not value.isprintable():
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if style == "'" or not _is_plain(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _is_plain(value: str) -> bool:
    return _PLAIN.match(value) is not None and value.lower() not in _WORDS
