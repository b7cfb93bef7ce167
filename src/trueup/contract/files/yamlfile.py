"""YAML 1.2 as plain data with positions: takes text, and returns a document or the one fault that prevents reading it.

Scalars follow the core schema: `no` and `1:30` stay text, and only true and false are booleans. Other kinds of objects
are refused, and so are tags, several documents, merge keys, and aliases that make the document too large. Nothing
recurses.
"""

from typing import Any, NamedTuple

from trueup.contract.files.faults import Fault, FilePlace, Marks, fault
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

MAX_DEPTH = 64
MAX_WEIGHT = 4_000_000  # characters and nodes; an alias counts each time it is used

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = lazy_regex(r"[-+]?[0-9]{1,400}\Z")
_OTHER_INTEGER = lazy_regex(r"0o[0-7]{1,100}\Z|0x[0-9a-fA-F]{1,100}\Z")
_FLOAT = lazy_regex(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_STRING_TAG = "tag:yaml.org,2002:str"
_POSITION = lazy_regex(r"position (\d+)")


class UnreadableYaml(Exception):
    """The document cannot be read further; contains the fault."""

    def __init__(self, found: Fault) -> None:
        super().__init__(str(found))
        self.fault = found


class _Frame:
    """A mapping or a list that is still open."""

    __slots__ = ("anchor", "key", "path", "seen", "value", "weight")

    def __init__(self, value: Any, path: Parts, anchor: str | None, weight: int) -> None:
        self.value = value
        self.path = path
        self.anchor = anchor
        self.weight = weight
        self.key: tuple[str, FilePlace] | None = None
        self.seen: set[str] = set()


class _Kept(NamedTuple):
    """The value that an anchor names."""

    value: Any
    weight: int


def read_yaml(text: str, marks: Marks, faults: list[Fault]) -> Any:
    """The data of a YAML document; positions are recorded in `marks`, duplicate keys in `faults`.

    >>> read_yaml("answer: no\\nat: 1:30\\nopen: true", Marks("x.yaml"), [])
    {'answer': 'no', 'at': '1:30', 'open': True}
    """
    from ruamel.yaml import YAML  # a big module, needed only for contract files
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    builder = _Builder(marks, faults)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = FilePlace(marks.file, mark.line + 1, mark.column + 1) if mark is not None else FilePlace(marks.file)
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise UnreadableYaml(fault("N002", place, (), f"this is not YAML: {said}", _advice(text, place))) from None
    except YAMLError as error:
        raise UnreadableYaml(
            fault("N002", _of_character(text, str(error), marks.file), (), _first_line(error))
        ) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableYaml(
            fault("N002", FilePlace(marks.file), (), f"this is not YAML: {_first_line(error)}")
        ) from None
    return builder.root


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _of_character(text: str, message: str, file: str) -> FilePlace:
    found = _POSITION.search(message)
    at = min(int(found[1]), len(text)) if found else 0
    return FilePlace(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _advice(text: str, place: FilePlace) -> str:
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent with spaces, not with tabs."
    if ": " in line:
        return "Look at the indentation of this line; text that contains ': ' or ' #', or starts with a special character, needs quotes."
    return ""


class _Builder:
    """Builds plain data from a parser's events."""

    def __init__(self, marks: Marks, faults: list[Fault]) -> None:
        self.root: Any = None
        self._marks = marks
        self._faults = faults
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Kept | None] = {}
        self._weight = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        """Process one event of the parser."""
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._scalar(event)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            self._open(event, {} if kind == "MappingStartEvent" else [])
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            frame = self._stack.pop()
            if frame.anchor:
                self._anchors[frame.anchor] = _Kept(frame.value, self._weight - frame.weight)
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise self._stop("N002", event, "a file has one document; '---' starts a second one")

    def _stop(self, code: str, event: Any, message: str, hint: str = "") -> UnreadableYaml:
        path = self._stack[-1].path if self._stack else ()
        return UnreadableYaml(fault(code, self._place(event), path, message, hint))

    def _place(self, event: Any, inner: int = 0) -> FilePlace:
        mark = event.start_mark
        return FilePlace(self._marks.file, mark.line + 1, mark.column + 1, inner)

    def _weigh(self, event: Any, more: int) -> None:
        self._weight += more
        if self._weight > MAX_WEIGHT:
            message = f"with its aliases expanded, the document is larger than {MAX_WEIGHT:,} characters"
            raise self._stop("N003", event, message, "Use fewer aliases, or smaller anchors.")

    def _open(self, event: Any, value: Any) -> None:
        self._refuse_tag(event)
        if len(self._stack) >= MAX_DEPTH:
            raise self._stop("N003", event, f"the document is nested deeper than {MAX_DEPTH} levels")
        before = self._weight
        self._weigh(event, 1)
        path = self._put(event, value, self._place(event))
        if event.anchor:
            self._anchors[event.anchor] = None  # still open, so it cannot be used yet
        self._stack.append(_Frame(value, path, event.anchor, before))

    def _scalar(self, event: Any) -> None:
        self._refuse_tag(event)
        text = self._whole(event)
        self._weigh(event, 1 + len(text))
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._key(event, frame, text)
            return
        plain = event.style in (None, "")
        value = _resolve(text) if plain and event.tag is None and event.implicit[0] else text
        one_line = event.start_mark.line == event.end_mark.line and event.style in (None, "", "'", '"')
        inner = event.start_mark.column + (1 if plain else 2) if one_line else 0
        self._put(event, value, self._place(event, inner))
        if event.anchor:
            self._anchors[event.anchor] = _Kept(value, 1 + len(text))

    def _whole(self, event: Any) -> str:
        """The text of a scalar, with surrogate pairs joined; half of a pair is refused."""
        text: str = event.value
        if text.isascii():
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._stop("N002", event, "the text contains half of a surrogate pair") from None

    def _key(self, event: Any, frame: _Frame, text: str) -> None:
        if text == "<<" and event.style in (None, ""):
            hint = "Use `extends: other.yaml` for a whole contract, or repeat the keys."
            raise self._stop("N002", event, "merge keys ('<<') are not part of YAML 1.2", hint)
        place = self._place(event)
        if text in frame.seen:
            first = self._marks.key((*frame.path, text))
            message = f"key {text!r} is given twice; the first is in line {first.line}"
            self._faults.append(fault("N004", place, (*frame.path, text), message, "Keep one of them."))
        frame.seen.add(text)
        frame.key = (text, place)

    def _alias(self, event: Any) -> None:
        kept = self._anchors.get(event.anchor)
        if kept is None:
            inside = event.anchor in self._anchors
            why = "is inside the value that it names" if inside else "has no anchor before it"
            raise self._stop("N002", event, f"alias '*{event.anchor}' {why}")
        self._weigh(event, kept.weight)
        self._put(event, kept.value, self._place(event))

    def _put(self, event: Any, value: Any, place: FilePlace) -> Parts:
        """Put a value in its container, and record its position."""
        path: Parts
        if not self._stack:
            self.root = value
            path = ()
            self._marks.put(path, place)
            return path
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            path = (*frame.path, len(frame.value))
            frame.value.append(value)
            self._marks.put(path, place)
            return path
        if frame.key is None:
            raise self._stop("N002", event, "a key must be text, not a list or a mapping")
        key, key_place = frame.key
        frame.key = None
        path = (*frame.path, key)
        frame.value[key] = value
        self._marks.put(path, place, key_place)
        return path

    def _refuse_tag(self, event: Any) -> None:
        tag = event.tag
        if tag is not None and str(tag) not in {_STRING_TAG, "!"}:
            raise self._stop("N002", event, f"tag {str(tag)!r} is not allowed: a contract is plain data", "Remove it.")


def _resolve(text: str) -> Any:
    """A plain scalar, read by the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.match(text):
        return int(text)
    if _OTHER_INTEGER.match(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.match(text) and any(mark in text for mark in ".eE"):
        number = float(text)
        return number if number - number == 0 else text
    return text
