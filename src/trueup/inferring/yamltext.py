r"""A draft as YAML: takes plain data and notes; returns text, each note as a comment next to its line, 80 columns wide.

Keys and values come from replies and may contain anything. Everything except plain words is quoted, and every invisible
character is written as an escape.
"""

from collections.abc import Mapping
from typing import Any

from trueup.inferring.words import lines_of
from trueup.verdict.display import safe_line
from trueup.verdict.patterns import lazy_regex

WIDTH = 80
MAX_WORD = 200
Path = tuple[str | int, ...]
_PLAIN = lazy_regex(r"[A-Za-z_$](?:[A-Za-z0-9_./$-]| (?=[A-Za-z0-9_]))*\Z")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_writable(text: str) -> bool:
    r"""Whether a text may be in a file: not a lone surrogate, and not too long for a name or a choice.

    >>> is_writable("name"), is_writable("\ud800")
    (True, False)
    """
    if len(text) > MAX_WORD:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def scalar(value: Any) -> str:
    r"""One value in YAML that versions 1.2 and 1.1 read alike.

    >>> scalar("in progress"), scalar("yes"), scalar("a: b"), scalar("\u202e"), scalar(None), scalar(1.5)
    ('in progress', '"yes"', '"a: b"', '"\\u202E"', 'null', '1.5')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_ESCAPES.get(char) or (char if _is_plain(char) else _escape(char)) for char in text) + '"'


def _is_plain(char: str) -> bool:
    return char.isprintable() and safe_line(char) == char


def visible(text: str) -> str:
    r"""Any text as part of a comment: on one line, with every character visible.

    >>> visible("a\x1b\ufffe\n")
    'a\\x1b\\uFFFE\\n'
    """
    return "".join(char if char.isprintable() else _escape(char) for char in safe_line(text))


def _escape(char: str) -> str:
    at = ord(char)
    return f"\\x{at:02X}" if at < 0x100 else f"\\u{at:04X}" if at < 0x10000 else f"\\U{at:08X}"


def document(data: Mapping[str, Any], notes: Mapping[Path, str], head: list[str]) -> str:
    """A whole file: the head as comments, then each part of the data, with blank lines between them.

    >>> print(
    ...     document({"name": "x", "schema": {"type": "string"}}, {("schema", "type"): "in 2 of 2"}, ["A draft."]),
    ...     end="",
    ... )
    # A draft.
    name: x
    <BLANKLINE>
    schema: {type: string}  # in 2 of 2
    """
    out = [line for part in head for line in _comment(part, 0)]
    writer = _Writer(notes)
    previous: Any = None
    for index, (key, value) in enumerate(data.items()):
        if index and (isinstance(value, dict | list) or isinstance(previous, dict | list)):
            out.append("")
        previous = value
        out += writer.entry(key, value, (key,), 0)
    return "\n".join(out) + "\n"


def _comment(text: str, indent: int) -> list[str]:
    width = max(30, WIDTH - indent - 2)
    return [f"{' ' * indent}# {line}" for line in lines_of(visible(text), width) or [""]]


class _Writer:
    """Writes entries, each with its notes. Drafts have at most some 100 levels."""

    def __init__(self, notes: Mapping[Path, str]) -> None:
        self._notes = notes
        below: dict[Path, list[str]] = {}
        for path, note in notes.items():
            for depth in range(1, len(path) + 1):
                below.setdefault(path[:depth], []).append(note)
        self._below = below

    def entry(self, key: str, value: Any, path: Path, indent: int) -> list[str]:
        return self._put(f"{scalar(key)}:", value, path, indent)

    def _put(self, head: str, value: Any, path: Path, indent: int) -> list[str]:
        """A value after its key or its dash."""
        pad = " " * indent
        flow = _flow(value)
        if flow is not None:
            own = self._notes.get(path, "")
            notes = [note for note in dict.fromkeys([own, *self._below.get(path, ())]) if note]
            line = f"{pad}{head} {flow}"
            said = visible("; ".join(notes))
            if len(line) + (len(said) + 4 if said else 0) <= WIDTH:
                return [f"{line}  # {said}" if said else line]
            if len(line) <= WIDTH and (len(notes) < 2 or not isinstance(value, dict)):
                return [*_comment("; ".join(notes), indent), line]
            if not isinstance(value, dict | list):
                return [*(_comment("; ".join(notes), indent) if said else ()), line]
        return [*self._opening(f"{pad}{head}", path, indent), *self._block(value, path, indent + 2)]

    def _opening(self, line: str, path: Path, indent: int) -> list[str]:
        note = visible(self._notes.get(path, ""))
        if not note:
            return [line]
        if len(line) + len(note) + 4 <= WIDTH:
            return [f"{line}  # {note}"]
        return [*_comment(note, indent), line]

    def _block(self, value: Any, path: Path, indent: int) -> list[str]:
        out: list[str] = []
        if isinstance(value, dict):
            for key, inner in value.items():
                out += self.entry(key, inner, (*path, key), indent)
            return out
        for index, inner in enumerate(value):
            out += self._item(inner, (*path, index), indent)
        return out

    def _item(self, value: Any, path: Path, indent: int) -> list[str]:
        if not isinstance(value, dict) or not value or _flow(value) is not None:
            return self._put("-", value, path, indent)
        note = self._notes.get(path, "")
        inner = self._block(value, path, indent + 2)
        first = next(index for index, line in enumerate(inner) if not line.lstrip().startswith("#"))
        comments, rest = inner[:first], inner[first:]
        rest[0] = " " * indent + "- " + rest[0].lstrip()
        return [*(_comment(note, indent) if note else ()), *(line[2:] for line in comments), *rest]


def _flow(value: Any) -> str | None:
    """A value on one line; None if it has nested objects or does not fit."""
    if isinstance(value, dict):
        if any(isinstance(inner, dict) for inner in value.values()) and len(value) > 0:
            return None
        parts = []
        for key, inner in value.items():
            text = _flow(inner)
            if text is None:
                return None
            parts.append(f"{scalar(key)}: {text}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        if any(isinstance(inner, dict | list) for inner in value):
            inner_parts = [_flow(inner) for inner in value]
            if any(part is None for part in inner_parts) or sum(len(part or "") for part in inner_parts) > WIDTH // 2:
                return None
            return "[" + ", ".join(part or "" for part in inner_parts) + "]"
        line = "[" + ", ".join(map(scalar, value)) + "]"
        return line if len(line) <= WIDTH else None
    return scalar(value)
