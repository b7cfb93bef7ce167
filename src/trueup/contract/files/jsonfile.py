"""JSON files as plain data with positions: takes text, and returns a document or the one fault that prevents reading
it.

A strict parser reads the data; a pass over its tokens, without recursion, finds the position of each key and value.
"""

import json
from typing import Any

from trueup.contract.files.faults import Fault, FilePlace, Marks, fault
from trueup.contract.files.yamlfile import MAX_DEPTH, UnreadableYaml
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_TOKEN = lazy_regex(r'[ \t\r\n]*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')


def read_json(text: str, marks: Marks, faults: list[Fault]) -> Any:
    """The data of a JSON document; positions are recorded in `marks`, duplicate keys in `faults`.

    >>> marks = Marks("x.json")
    >>> read_json('{"a":\\n [1, 2]}', marks, []), str(marks.value(("a", 1)))
    ({'a': [1, 2]}, 'x.json:2:6')
    """
    walk = _Walk(text, marks, faults)
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = FilePlace(marks.file, error.lineno, error.colno)
        raise UnreadableYaml(fault("N002", place, (), f"this is not JSON: {error.msg}")) from None
    except UnicodeEncodeError:
        raise UnreadableYaml(
            fault("N002", FilePlace(marks.file), (), "a text contains half of a surrogate pair")
        ) from None
    except ValueError as error:
        raise UnreadableYaml(fault("N002", FilePlace(marks.file), (), f"this is not JSON: {error}")) from None
    except RecursionError:
        raise UnreadableYaml(fault("N003", FilePlace(marks.file), (), "the document is nested too deeply")) from None
    deep = _too_deep(text)  # for text that is known to be JSON: one pass finds its tokens
    if deep >= 0:
        raise UnreadableYaml(
            fault("N003", walk.place(deep), (), f"the document is nested deeper than {MAX_DEPTH} levels")
        )
    walk.run()
    return data


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _too_deep(text: str) -> int:
    """The offset at which the document is nested too deeply, or -1."""
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[1]
        if sign in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return token.start(1)
        elif sign in "}]":
            depth -= 1
    return -1


class _Walk:
    """Goes through the tokens of valid JSON and records the positions of its keys and values."""

    def __init__(self, text: str, marks: Marks, faults: list[Fault]) -> None:
        self._text = text
        self._marks = marks
        self._faults = faults
        self._line, self._line_start, self._counted = 1, 0, 0

    def place(self, at: int, *, inner: bool = False) -> FilePlace:
        """The position of a character; offsets must be asked for in rising order, so that lines are counted once."""
        self._line += self._text.count("\n", self._counted, at)
        self._line_start = max(self._line_start, self._text.rfind("\n", self._counted, at) + 1)
        self._counted = at
        column = at - self._line_start + 1
        return FilePlace(self._marks.file, self._line, column, column + 1 if inner else 0)

    def run(self) -> None:
        stack: list[tuple[Parts, set[str] | None]] = []  # the path, and an object's keys so far
        counts: list[int] = []
        key: tuple[str, FilePlace] | None = None
        for token in _TOKEN.finditer(self._text):
            sign, at = token[1], token.start(1)
            if sign in ",:":
                continue
            if sign in "}]":
                stack.pop()
                counts.pop()
                continue
            place = self.place(at, inner=sign[0] == '"')
            seen = stack[-1][1] if stack else None
            if seen is not None and key is None:
                key = (json.loads(sign), place)
                self._seen_twice(stack[-1][0], key, seen)
                continue
            path: Parts = ()
            if stack:
                path = (*stack[-1][0], counts[-1] if key is None else key[0])
                counts[-1] += 1
            self._marks.put(path, place, key[1] if key else None)
            key = None
            if sign in "{[":
                stack.append((path, set() if sign == "{" else None))
                counts.append(0)

    def _seen_twice(self, path: Parts, key: tuple[str, FilePlace], seen: set[str]) -> None:
        name, place = key
        if name in seen:
            first = self._marks.key((*path, name))
            message = f"key {name!r} is given twice; the first is in line {first.line}"
            self._faults.append(fault("N004", place, (*path, name), message, "Keep one of them."))
        seen.add(name)
