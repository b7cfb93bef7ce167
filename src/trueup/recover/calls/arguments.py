"""Reads the arguments of a call in Python's notation, `f(a=1, b="x")`: by name or by position, with or without quotes.

Takes the offset after the opening parenthesis; returns the arguments and the offset after the closing one. Nothing is
evaluated. Words without quotes run to the next `, name=` or to the closing parenthesis, and only there does a quote close.
If a string could end in more than one place, the arguments are refused and `fault` says why.
"""

import re
from collections.abc import Callable
from typing import Any

from trueup.recover.calls.dialects import NAME
from trueup.recover.calls.source import NOT_JSON, json_value, past
from trueup.recover.json.escapes import unescape
from trueup.recover.json.parser import Node, Parser, Record, TooDeep, parts_of
from trueup.recover.json.tokens import read_token
from trueup.verdict.patterns import lazy_regex

_STRING = (
    r"[rbufRBUF]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_ONE_STRING = lazy_regex(_STRING, re.DOTALL)
_STRINGS = lazy_regex(rf"{_STRING}(?:\s*[\n+]\s*{_STRING})*", re.DOTALL)
_SAME_LINE = lazy_regex(rf"{_STRING}(?:[ \t]+{_STRING})+", re.DOTALL)
_OPENING = lazy_regex(r"([rbufRBUF]?)('''|\"\"\"|'|\")")
_QUOTES = {quote: lazy_regex(rf"\\.|{quote}", re.DOTALL) for quote in "'\""}
# A quote inside a word is an apostrophe, and one after a number means inches.
_PART_OF_WORD = {"'": lazy_regex(r"(?<=\w)'(?=\w)"), '"': lazy_regex(r"(?<=\d)\"(?=[ ,.])")}
_OTHER_QUOTES = {"“": "”", "‘": "’", "«": "»", "„": "“", "`": "`"}
_KEYWORD = lazy_regex(r"(?:(\*\*)(?=\{)|([\"']?)([^\W\d][\w-]*)\2\s*(=(?!=)|:(?!//))\s*)?")
_BLANK = lazy_regex(r"\s*")
# Allowed after the closing parenthesis of a call; anything else may belong to a string that seemed to end.
_TAIL = rf"\)(?=\s*(?:\Z|[\])}},;<|\n#`*]|[.!?]\s*(?:\Z|\n)|{NAME}\(%s))"
_AHEAD = {"=": "=(?!=)", ":": ":(?!//)", "": "[=:]"}
_KEY_AHEAD = {
    sign: lazy_regex(rf",\s*(?:\*\*|[\"']?[^\W\d][\w-]*[\"']?\s*{ahead}|\))") for sign, ahead in _AHEAD.items()
}
_END = {False: lazy_regex(_TAIL % ""), True: lazy_regex(_TAIL % r"|['\"]{1,3}\s*(?:[,;\])}\n]|\Z)")}
# In a string with quotes inside: the end of one call and the start of the next.
_NEXT_CALL = lazy_regex(r"['\"]\s*\)[\s\S]*?[\w.]\(\s*\w+\s*[=:]\s*['\"]")
_CLOSED = lazy_regex(r"\)[\s\])}'\"`;.]*\Z")
_PIECE = lazy_regex(rf"(?P<string>(?<!\w){_STRING})|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<comma>,)", re.DOTALL)
_NESTED = lazy_regex(rf"({NAME})\s?\(")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_LOST = frozenset({"S019", "S027", "S033", "S034"})
_PYTHON = frozenset({"S008", "S016", "S018", "S023", "S025"})  # not faults in Python
_HEX = lazy_regex(r"(?<!\\)((?:\\\\)*)\\x([0-9a-fA-F]{2})")  # a Python escape that JSON does not have
_NO_END = "the quotes of {} do not show where it ends"
_NEAR_END = 24


class _Refusal(Exception):
    """An argument cannot be determined, and why; without a reason, the text ends inside it."""


class Arguments:
    """The arguments after an opening parenthesis: by name, by position, and the offset after the closing one.

    They end at the latest at the offset that `stop_after` returns; only a well-formed string may continue, up to `reach`.
    `quoted` says that the call itself is in quotes. `bare` has the text of values without quotes, by name or by position,
    and `nested` the offsets of those that are calls. `cut` means that the text ends first. `fault` is the reason for a refusal.

    >>> given = Arguments("f(1, b=None, c=San José, MX)", 2, 9)
    >>> given.named, given.by_place, given.stop
    ({'b': None, 'c': 'San José, MX'}, [1], 28)
    >>> Arguments("f(a='b' c')", 2, 9).fault
    "the quotes of argument 'a' do not show where it ends"
    """

    __slots__ = (
        "_at", "_key", "_limit", "_max_depth", "_quoted", "_reach", "_sign", "_stop_after", "_text", "bare", "by_place",
        "cut", "fault", "named", "nested", "records", "stop",
    )  # fmt: skip

    def __init__(
        self, text: str, at: int, max_depth: int, *, quoted: bool = False,
        stop_after: Callable[[int], int] | None = None, reach: int | None = None,
    ) -> None:  # fmt: skip
        self._text = text
        self._at = at
        self._max_depth = max_depth
        self._quoted = quoted
        self._stop_after = stop_after or (lambda _: len(text))
        self._reach = len(text) if reach is None else reach
        self._limit = self._stop_after(at)
        self._sign = ""  # the sign between a name and its value: the first one decides for all
        self._key: str | int = 0
        self.named: dict[str, Any] = {}
        self.by_place: list[Any] = []
        self.records: list[Record] = []
        self.bare: dict[str | int, str] = {}
        self.nested: dict[str | int, int] = {}
        self.cut, self.fault = False, ""
        try:
            self.stop = self._read()
        except _Refusal as refusal:
            self.fault = str(refusal)
            self.cut = not self.fault
            line = text.find("\n", self._at, self._limit) if self.fault else -1
            self.stop = line if line >= 0 else self._limit

    def _read(self) -> int:
        """Read all arguments; returns the offset after the closing parenthesis."""
        text = self._text
        while True:
            self._at = past(_BLANK, text, self._at)
            if self._at >= self._limit:
                raise _Refusal
            if text[self._at] == ")":
                return self._at + 1
            head = _KEYWORD.match(text, self._at, self._limit)
            assert head is not None  # it may match nothing
            self._key = head[3] or len(self.by_place)
            self._sign = self._sign or head[4] or ""
            self._at = head.end()
            self._store(self._value(), unpacked=bool(head[1]))
            self._at = past(_BLANK, text, self._at)
            if text[self._at : self._at + 1] == "," and self._at < self._limit:
                self._at += 1

    def _store(self, value: Any, *, unpacked: bool) -> None:
        if unpacked and isinstance(value, dict):
            self.named.update(value)
        elif isinstance(self._key, int):
            self.by_place.append(value)
        else:
            if self._key in self.named:
                raise self._refuse("{} is given twice")
            self.named[self._key] = value

    def _note(self, code: str, start: int, stop: int, after: str = "", inner: Node = None) -> None:
        node: Node = None if isinstance(self._key, int) else (None, self._key)
        for part in parts_of(inner):
            node = (node, part)
        self.records.append((code, start, stop, after, node))

    def _refuse(self, fault: str) -> _Refusal:
        label = f"argument {self._key + 1}" if isinstance(self._key, int) else f"argument {self._key!r}"
        return _Refusal(fault.format(label))

    def _ends(self, at: int) -> str:
        """The sign that ends an argument at an offset: the comma before the next one, the parenthesis, or nothing."""
        at = past(_BLANK, self._text, at)
        if self._text.startswith(",", at):
            following = isinstance(self._key, int) or _KEY_AHEAD[self._sign].match(self._text, at, self._limit)
            return "," if following else ""
        return ")" if _END[self._quoted].match(self._text, at, self._limit) else ""

    def _value(self) -> Any:
        """The value that starts here; `_at` moves past it."""
        if self._at >= self._limit:
            raise _Refusal
        opening = _OPENING.match(self._text, self._at, self._limit)
        if opening:
            return self._string(opening)
        if self._text[self._at] in _OTHER_QUOTES and (end := self._other_quote()) > 0:
            start, self._at = self._at, end + 1
            self._note("S010" if self._text[start] == "`" else "S009", start, end + 1)
            return self._text[start + 1 : end]
        if self._text[self._at] in "[{(":
            return self._container()
        return self._words()

    # -- strings -----------------------------------------------------------------------------------

    def _string(self, opening: re.Match[str]) -> Any:
        start, prefix, quote = self._at, opening[1], opening[2]
        strict = _STRINGS.match(self._text, start, self._reach)
        if strict and strict.end() > self._limit:
            self._limit = self._stop_after(strict.end())
        if strict and past(_BLANK, self._text, strict.end()) >= self._limit:
            raise _Refusal
        if strict and self._ends(strict.end()):
            self._at = strict.end()
            pieces = [_meant(literal) for literal in _ONE_STRING.findall(strict[0])]
        else:
            side_by_side = _SAME_LINE.match(self._text, start, self._limit)
            if side_by_side and self._ends(
                side_by_side.end()
            ):  # strings joined as in Python, or one string with quotes in it
                raise self._refuse(_NO_END)
            if strict and self._text.startswith(")", past(_BLANK, self._text, strict.end())):
                end = strict.end() - len(quote) if self._is_apart(strict.end()) else -1
            else:
                end = self._closing_quote(opening.end(), quote) if len(quote) == 1 else -1
            if end < 0:
                self._unclosed(closed_once=strict is not None)
            self._at = end + len(quote)
            body = self._text[opening.end() : end]
            if (isinstance(self._key, int) and "," in body) or _NEXT_CALL.search(body):
                raise self._refuse(_NO_END)
            pieces = [_meant(f"{prefix}'{body}'"), ("", ("S012",) if quote in body else ())]
        value = "".join(piece for piece, _ in pieces)
        if prefix in ("f", "F") and "{" in value:
            raise self._refuse("{} is a template that would have to be filled in")
        for code in sorted({code for _, codes in pieces for code in codes} - _PYTHON):
            self._note(code, start, self._at)
        return value

    def _closing_quote(self, start: int, quote: str) -> int:
        """Where a string with quotes inside ends: at the first quote that ends the argument, if the others form pairs."""
        inner = 0
        for found in _QUOTES[quote].finditer(self._text, start, self._limit):
            if found[0] != quote:
                continue
            end = self._ends(found.end())
            if end and inner % 2 == 0:
                return found.start()
            if end == ",":
                break
            inner += _PART_OF_WORD[quote].match(self._text, found.start()) is None
        return -1

    def _other_quote(self) -> int:
        """Where a string in typographic quotes or backticks ends; -1 if the argument does not end there."""
        end = self._text.find(_OTHER_QUOTES[self._text[self._at]], self._at + 1, self._limit)
        return end if end > 0 and self._ends(end + 1) else -1

    def _is_apart(self, at: int) -> bool:
        """Whether the words after a string and its parenthesis do not belong to the call, because none of its brackets close there."""
        line = self._text.find("\n", at, self._limit)
        rest = self._text[at : line if line >= 0 else self._limit]
        return rest.count(")") <= rest.count("(") + 1

    def _unclosed(self, *, closed_once: bool) -> None:
        """Raise the reason why a string has no end: the text was cut off, or its quotes can be read in several ways."""
        tail = self._text[max(self._at, self._limit - _NEAR_END) : self._limit]
        if self._limit >= len(self._text) and not (closed_once and _CLOSED.search(tail)):
            raise _Refusal
        raise self._refuse(_NO_END)

    # -- containers and words ----------------------------------------------------------------------

    def _container(self) -> Any:
        start, text = self._at, self._text
        end = self._balanced(start)
        whole = end > 0 and self._ends(end)
        if end > 0 and not whole:  # an expression: `(a + b) * 2`
            return self._words()
        value = json_value(text[start:end]) if whole else NOT_JSON
        if value is NOT_JSON:
            try:
                outcome = Parser(text, start, end if whole else self._limit, frozenset(), self._max_depth).read()
            except TooDeep:
                raise self._refuse("{} is nested too deep") from None
            if not whole and (outcome.cut or outcome.end >= self._limit):
                raise _Refusal
            if not whole and not self._ends(outcome.end):
                raise self._refuse("the brackets of {} do not match")
            end = end if whole else outcome.end
            value = outcome.value
            for code, begin, stop, after, node in outcome.records:
                if code not in _PYTHON:
                    self._note(code, begin, stop, after, node)
        self._at = end
        return value

    def _balanced(self, at: int) -> int:
        """The offset after the bracket that closes the one here; -1 if the brackets do not match."""
        stack: list[str] = []
        for piece in _PIECE.finditer(self._text, at, self._limit):
            if piece.lastgroup == "open":
                stack.append(piece[0])
            elif piece.lastgroup == "close":
                if stack.pop() != _PAIRS[piece[0]]:
                    return -1
                if not stack:
                    return piece.end()
        return -1

    def _words(self) -> Any:
        """Words without quotes, up to the end of the argument."""
        start, text = self._at, self._text
        depth, first, end = 0, -1, -1
        for piece in _PIECE.finditer(text, start, self._limit):
            if piece.lastgroup == "open":
                depth += 1
            elif piece.lastgroup == "close" and depth:
                depth -= 1
                first = piece.end() if not depth and first < 0 else first
            elif piece.lastgroup == "close" or (piece.lastgroup == "comma" and not depth and self._ends(piece.start())):
                end = piece.start()
                break
        if end < 0:
            raise _Refusal
        if text[end] in "]}":
            raise self._refuse("a bracket of {} is closed that was not opened")
        raw = text[start:end].strip()
        self._at = end
        nested = _NESTED.match(raw) if first == start + len(raw) else None
        if nested:
            self.nested[self._key] = start
        elif "\n" in raw:
            raise self._refuse("{} runs over several lines without quotes")
        elif raw[0:1] == "<" and raw[-1] == ">":
            raise self._refuse("{} is a placeholder")
        elif any(_lone(raw, quote) for quote in _QUOTES if quote in raw):
            raise self._refuse(_NO_END)
        return self._word(raw, start, end)

    def _word(self, raw: str, start: int, end: int) -> Any:
        """The value of words without quotes: a number, a literal, or text."""
        if not raw:
            self._note("S036", start, end, "null")
            return None
        value = json_value(raw)
        if value is not NOT_JSON:
            self.bare[self._key] = raw
            return value
        value, code = read_token(raw)
        if code == "S021":  # `10/11` may be a date or a score
            value, code = raw, "S015"
        if code == "S015" or code in _LOST:
            self._note(code, start, end, "null" if code in _LOST else "")
        else:
            self.bare[self._key] = raw
        return value


def string_at(text: str, at: int) -> tuple[str, int] | None:
    """The well-formed string that starts here, and the offset after it.

    >>> string_at("'a\\\\'b' c", 0)
    ("a'b", 6)
    """
    found = _ONE_STRING.match(text, at)
    return (_meant(found[0])[0], found.end()) if found else None


def _lone(raw: str, quote: str) -> bool:
    """Whether bare words contain an unpaired quote."""
    return (raw.count(quote) - len(_PART_OF_WORD[quote].findall(raw))) % 2 == 1


def _meant(literal: str) -> tuple[str, tuple[str, ...]]:
    """The value of a Python string literal, and the codes of the fixes that it took."""
    prefix = literal[0] if literal[0] not in "'\"" else ""
    body = literal[len(prefix) :]
    width = 3 if body[:3] in ("'''", '"""') and len(body) >= 6 else 1
    inner = body[width:-width]
    if prefix in ("r", "R") or "\\" not in inner:
        return inner, ()
    return unescape(_HEX.sub(r"\1\\u00\2", inner) if "\\x" in inner else inner)
