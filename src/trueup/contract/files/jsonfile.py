"""JSON files as plain data with marks: text enters, a document leaves, or the one fault that stops its reading.

A strict parser gives the data; a walk over its tokens, without recursion, finds where each key and value stands.
"""

import json
from typing import Any

from trueup.contract.files.faults import Fault, Marks, Place, fault
from trueup.contract.files.yamlfile import MAX_DEPTH, Stopped
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_TOKEN = lazy_regex(r'[ \t\r\n]*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')


def read_json(text: str, marks: Marks, faults: list[Fault]) -> Any:
    """The data of a JSON document; where things stand goes to `marks`, duplicate keys go to `faults`.

    >>> marks = Marks("x.json")
    >>> read_json('{"a":\\n [1, 2]}', marks, []), str(marks.value(("a", 1)))
    ({'a': [1, 2]}, 'x.json:2:6')
    """
    walk = _Walk(text, marks, faults)
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = Place(marks.file, error.lineno, error.colno)
        raise Stopped(fault("N002", place, (), f"this is not JSON: {error.msg}")) from None
    except UnicodeEncodeError:
        raise Stopped(fault("N002", Place(marks.file), (), "a text holds half of a surrogate pair")) from None
    except ValueError as error:
        raise Stopped(fault("N002", Place(marks.file), (), f"this is not JSON: {error}")) from None
    except RecursionError:
        raise Stopped(fault("N003", Place(marks.file), (), "the document is nested too deep")) from None
    deep = _too_deep(text)  # of text that is known to be JSON: its tokens are found in one pass
    if deep >= 0:
        raise Stopped(fault("N003", walk.place(deep), (), f"the document is nested deeper than {MAX_DEPTH} levels"))
    walk.run()
    return data


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _too_deep(text: str) -> int:
    """Where the document is nested too deep, or -1."""
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
    """Goes over the tokens of valid JSON and says where its keys and values stand."""

    def __init__(self, text: str, marks: Marks, faults: list[Fault]) -> None:
        self._text = text
        self._marks = marks
        self._faults = faults
        self._line, self._line_start, self._counted = 1, 0, 0

    def place(self, at: int, inner: bool = False) -> Place:
        """The place of a character; asked for in rising order, so that lines are counted once."""
        self._line += self._text.count("\n", self._counted, at)
        self._line_start = max(self._line_start, self._text.rfind("\n", self._counted, at) + 1)
        self._counted = at
        column = at - self._line_start + 1
        return Place(self._marks.file, self._line, column, column + 1 if inner else 0)

    def run(self) -> None:
        stack: list[tuple[Parts, set[str] | None]] = []  # path, and the keys so far of an object
        counts: list[int] = []
        key: tuple[str, Place] | None = None
        for token in _TOKEN.finditer(self._text):
            sign, at = token[1], token.start(1)
            if sign in ",:":
                continue
            if sign in "}]":
                stack.pop()
                counts.pop()
                continue
            place = self.place(at, sign[0] == '"')
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

    def _seen_twice(self, path: Parts, key: tuple[str, Place], seen: set[str]) -> None:
        name, place = key
        if name in seen:
            first = self._marks.key((*path, name))
            message = f"key {name!r} stands twice here, first in line {first.line}"
            self._faults.append(fault("N004", place, (*path, name), message, "Keep one of them."))
        seen.add(name)
