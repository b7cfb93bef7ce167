"""The quick lane for one or two common faults: let the fast parser find the fault, splice, and read again.

A broken text enters; a candidate leaves, or None when the faults are not of the plain kind: then the tolerant
reader takes over. What this lane takes it reads exactly as the reader would.
"""

import json
import re
from typing import Any

import msgspec

from trueup.recover import strings
from trueup.recover.candidate import Candidate
from trueup.recover.clean import decode, written
from trueup.recover.grammar import CONTROL, FOREIGN, KEY_AHEAD
from trueup.recover.locate import Places
from trueup.recover.reader import Record

_MAX_SPLICES = 6
_MAX_BARE_KEYS = 3
_WORD = re.compile(r"(?:True|False|None)(?![\w(])")
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$]*(?=[ \t\n\r]*:)")
_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*")
_SINGLE = re.compile("'[^']*'")
_FENCE_TAIL = re.compile(r"\s*```\s*\Z")
_ESCAPES = {chr(i): json.dumps(chr(i))[1:-1] for i in range(32)}
_TRAILING, _INVALID, _KEYS, _EXPECTED, _ESCAPE = "trailing comma", "invalid character", "object keys", "expected ", "invalid escape"

# a splice in the text as it now is: start, end, what stands there instead, code
Splice = tuple[int, int, str, str]


class _Mending:
    """A text under repair: its present form, and the splices so far in offsets of the original."""

    __slots__ = ("bare", "known", "records", "shift", "single", "text")

    def __init__(self, text: str, known: frozenset[str], single: bool) -> None:
        self.single = single
        self.text = text
        self.known = known
        self.records: list[tuple[str, int, int, str]] = []
        self.shift = 0
        self.bare = 0

    def apply(self, splice: Splice) -> bool:
        """Make a splice; False when it would reach back over an earlier one."""
        start, end, after, code = splice
        first = start - self.shift
        if self.records and first < self.records[-1][2]:
            return False
        self.text = self.text[:start] + after + self.text[end:]
        self.records.append((code, first, end - self.shift, after))
        self.shift += len(after) - (end - start)
        return True


def mend(text: str, start: int, stop: int, known: frozenset[str], max_depth: int) -> Candidate | None:
    """Read the container that fills `text[start:stop]`, its faults spliced away one by one."""
    region = text[start:stop]
    single = '"' not in region and "'" in region and "\\" not in region
    if '""' in region and '"""' in region:
        return None
    work = _Mending(region.replace("'", '"') if single else region, known, single)
    for _ in range(_MAX_SPLICES):
        try:
            value = decode(work.text)
            break
        except msgspec.DecodeError as error:
            splice = _splice(work, str(error))
            if splice is None or not work.apply(splice):
                return None
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return None
    else:
        return None
    again = written(value)
    if work.text.count('"') != again.count(b'"') or "\\u0022" in work.text:
        return None
    if again.count(b"{") + again.count(b"[") > max_depth:
        return None
    return _as_candidate(text, start, stop, work, value, single)


def _as_candidate(text: str, start: int, stop: int, work: _Mending, value: Any, single: bool) -> Candidate:
    codes = {record[0] for record in work.records}
    if single:
        codes.add("S008")

    def records() -> list[Record]:
        places = Places(text, start, stop, work.known)
        out: list[Record] = []
        for code, a, b, after in work.records:
            out.append((code, start + a, start + b, after, places.of(code, start + a)))
        if single:
            for quoted in _SINGLE.finditer(text, start, stop):
                out.append(("S008", *quoted.span(), f'"{quoted[0][1:-1]}"', places.of("S008", quoted.start())))
        return out

    return Candidate(value, [(start, stop)], records, codes=frozenset(codes))


def _splice(work: _Mending, message: str) -> Splice | None:
    """What to change so that the fault the parser names goes away; None when that is not plain."""
    if message == "Input data was truncated":
        return _close(work.text)
    at_byte = message.rfind("(byte ")
    if at_byte < 0:
        return None
    at = int(message[at_byte + 6 : -1])
    text = work.text
    if not text.isascii():
        at = len(text.encode()[:at].decode("utf-8", "ignore"))
    what = message[19:]
    if at >= len(text):
        return None
    if what.startswith(_TRAILING):
        comma = text.rfind(",", 0, at)
        return comma, comma + 1, "", "S001"
    if what.startswith(_EXPECTED):
        return _separator(work, at, what[len(_EXPECTED) :])
    if what.startswith(_INVALID):
        return _character(text, at)
    if what.startswith(_KEYS):
        return _key(work, at)
    if what.startswith(_ESCAPE):
        slash = text.rfind("\\", 0, at)
        return (slash, slash + 1, "", "S025") if slash >= 0 and text[slash + 1] in "_*'-[]()#.!~`$&%+> " else None
    return None


def _character(text: str, at: int) -> Splice | None:
    word = _WORD.match(text, at)
    if word:
        value = FOREIGN[word[0]]
        return at, word.end(), "null" if value is None else "true" if value else "false", "S018"
    if text[at] < " ":
        return _raw_control(text, at)
    return _comment(text, at)


def _raw_control(text: str, at: int) -> Splice | None:
    """A line break or tab inside a string: escape all of that string's."""
    start = _opening_quote(text, at)
    if start is None:
        return None
    read = strings.read_string(text, start, len(text), strings.MEMBER_VALUE, frozenset(), "")
    if read.codes != ("S016",) and read.codes != ("S016", "S012"):
        read = strings.read_string(text, start, len(text), strings.LIST_ITEM, frozenset(), "")
    if read.codes != ("S016",):
        return None
    body = CONTROL.sub(lambda m: _ESCAPES[m[0]], text[start : read.after])
    return start, read.after, body, "S016"


def _opening_quote(text: str, before: int) -> int | None:
    """The nearest quote before an offset that is not escaped."""
    while (before := text.rfind('"', 0, before)) >= 0:
        slashes = before - len(text[:before].rstrip("\\")) if text[before - 1 : before] == "\\" else 0
        if slashes % 2 == 0:
            return before
    return None


def _comment(text: str, at: int) -> Splice | None:
    found = _COMMENT.match(text, at) if text[at] in "/#" else None
    return (at, found.end(), "", "S017") if found else None


def _key(work: _Mending, at: int) -> Splice | None:
    text = work.text
    found = _BARE_KEY.match(text, at)
    if found and work.bare < _MAX_BARE_KEYS:
        work.bare += 1
        return at, found.end(), f'"{found[0]}"', "S014"
    return _comment(text, at)


def _separator(work: _Mending, at: int, expected: str) -> Splice | None:
    """Where a comma or a colon should be."""
    text = work.text
    if text[at] in "/#":
        return _comment(text, at)
    if expected.startswith("':'"):
        return None
    in_object = "}" in expected
    before = at - 1
    while text[before] in " \t\n\r":
        before -= 1
    sign = text[at]
    if sign == '"' and before < at - 1:
        if not in_object or KEY_AHEAD.match(text, at):
            return before + 1, before + 1, ",", "S002"
        return None
    if text[before] == '"' and sign not in "}]+:" and not work.single:
        return _inner_quotes(work, before, in_object)
    if not in_object and sign in "{[" and text[before] in "}]":
        return before + 1, before + 1, ",", "S002"
    return None


def _inner_quotes(work: _Mending, closing: int, in_object: bool) -> Splice | None:
    """A string that seemed to end before its end: escape the quotes inside."""
    text = work.text
    start = _opening_quote(text, closing)
    if start is None:
        return None
    place = strings.MEMBER_VALUE if in_object else strings.LIST_ITEM
    read = strings.read_string(text, start, len(text), place, work.known, "")
    if read.codes != ("S012",):
        return None
    return start, read.after, json.dumps(read.value, ensure_ascii=False), "S012"


def _close(text: str) -> Splice | None:
    """The text ended with brackets open: add them when there is one way to, and no string was cut."""
    braces = text.count("{") - text.count("}")
    brackets = text.count("[") - text.count("]")
    stripped = text.rstrip()
    end = len(stripped)
    if stripped[-1:] in (",", ":", "") or not 1 <= braces + brackets <= 2 or braces < 0 or brackets < 0:
        return None
    for closers in ("}", "]") if braces + brackets == 1 else ("]}", "}}", "}]", "]]"):
        if closers.count("}") == braces:
            try:
                decode(stripped + closers)
            except (msgspec.MsgspecError, RecursionError):
                continue
            return end, len(text), closers, "S005"
    return None


def region(text: str) -> tuple[int, int] | None:
    """The stretch from the first opener to the last closer, if the reply plainly holds one container."""
    brace, bracket = text.find("{"), text.find("[")
    start = brace if bracket < 0 or 0 <= brace < bracket else bracket
    if start < 0:
        return None
    if "<" in text[:start]:
        closed = text.rfind("</think>")
        if not (0 <= closed and text.lstrip().startswith("<think>")):
            return None
        brace, bracket = text.find("{", closed), text.find("[", closed)
        start = brace if bracket < 0 or 0 <= brace < bracket else bracket
        if start < 0:
            return None
    stop = text.rfind("}" if text[start] == "{" else "]") + 1
    rest = text[max(stop, start) :]
    if "{" in rest[1 if stop <= start else 0 :] or "[" in rest:
        return None
    return start, stop


def whole_rest(text: str, start: int) -> int:
    """Where the text from `start` ends, a closing fence left out."""
    tail = _FENCE_TAIL.search(text, max(start, len(text) - 40))
    return tail.start() if tail else len(text)
