"""The quick lane for one or two common faults: let the fast parser find the fault, splice, and read again.

A broken text enters; a candidate leaves, or None when the faults are not of the plain kind: then the tolerant
reader takes over. What this lane takes it reads exactly as the reader would.
"""

import json
import re
from collections.abc import Callable
from functools import partial

import msgspec
from orjson import dumps

from trueup.recover import strings
from trueup.recover.candidate import Candidate
from trueup.recover.clean import WRITABLE_DEPTH, decode, keeps_all_keys
from trueup.recover.grammar import CONTROL, KEY_AHEAD, json_word
from trueup.recover.locate import Places
from trueup.recover.reader import Record
from trueup.recover.wrappers import is_debris

_MAX_SPLICES = 10
_WORD = re.compile(r"(?:True|False|None)(?![\w(])")
_AFTER_WORD = frozenset(" ,}]\n\r\t")
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$]*(?=[ \t\n\r]*:)")
_BARE_KEY_AT_MEMBER = re.compile(r"([{,][ \n\t\r]*)([A-Za-z_$][\w$]*)(?=[ \t\n\r]*:)")
_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*")
_QUOTED = re.compile(r"""'([^'"\\]*)'|("[^"\\]*")""")
_FENCE_TAIL = re.compile(r"\s*```\s*\Z")
_ESCAPES = {chr(i): json.dumps(chr(i))[1:-1] for i in range(32)}
_TRAILING, _INVALID, _KEYS, _EXPECTED, _ESCAPE = (
    "trailing comma", "invalid character", "object keys", "expected ", "invalid escape",
)  # fmt: skip

_QUOTE_SIGNS = ('"', "'", "”")

# an edit of a text: start, end, what stands there instead, code
Edit = tuple[int, int, str, str]
# a text before a step, and the edits of that step
Step = tuple[str, list[Edit] | Callable[[str], list[Edit]]]


class _Mending:
    """A text under repair: its present form, and every step that led to it."""

    __slots__ = ("codes", "known", "steps", "text")

    def __init__(self, text: str, known: frozenset[str]) -> None:
        self.text = text
        self.known = known
        self.steps: list[Step] = []
        self.codes: set[str] = set()

    def splice(self, start: int, end: int, after: str, code: str) -> bool:
        """Change one stretch."""
        text = self.text
        self.steps.append((text, [(start, end, after, code)]))
        self.text = text[:start] + after + text[end:]
        self.codes.add(code)
        return True

    def sweep(self, changed: str, edits: Callable[[str], list[Edit]], code: str) -> bool:
        """Change many stretches at once; what they were is worked out when somebody asks. Once per code."""
        if code in self.codes or changed == self.text:
            return False
        self.steps.append((self.text, edits))
        self.text = changed
        self.codes.add(code)
        return True

    def edits(self) -> list[Edit]:
        """All edits, in offsets of the first text."""
        out: list[Edit] = []
        for text, step in reversed(self.steps):
            own = step(text) if callable(step) else step
            out = own + [(_back(a, own), _back(b, own), after, code) for a, b, after, code in out]
        return out


def _back(at: int, edits: list[Edit]) -> int:
    """An offset after some edits as an offset before them."""
    shift = 0
    for start, end, after, _ in edits:
        if at < start + shift:
            break
        if at < start + shift + len(after):
            return start
        shift += len(after) - (end - start)
    return at - shift


def mend(text: str, start: int, stop: int, known: frozenset[str], max_depth: int, fault: str = "") -> Candidate | None:
    """Read the container that fills `text[start:stop]`, its faults spliced away one by one.

    `fault` is what the parser said of just this stretch, where that is known already.
    """
    region = text[start:stop]
    work = _Mending(region, known)
    if "'" in region and '"' not in region and "\\" not in region:
        work.sweep(region.replace("'", '"'), _single_quoted, "S008")
        fault = ""
    for _ in range(_MAX_SPLICES):
        try:
            if fault:
                if not _mended(work, fault):
                    return None
                fault = ""
            value = decode(work.text)
            break
        except msgspec.DecodeError as error:
            fault = str(error)
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return None
    else:
        return None
    try:
        again = dumps(value)
    except TypeError:
        return None
    if not keeps_all_keys(work.text, again) or max_depth < WRITABLE_DEPTH:
        return None

    return Candidate(value, [(start, stop)], partial(_records, work, text, start, stop, max_depth), "json", work.codes)


def _records(work: _Mending, text: str, start: int, stop: int, max_depth: int) -> list[Record]:
    places = Places(text, start, stop, work.known, max_depth)
    return [(code, start + a, start + b, after, places.of(code, start + a)) for a, b, after, code in work.edits()]


def _single_quoted(text: str) -> list[Edit]:
    return [(*found.span(), f'"{found[1]}"', "S008") for found in _QUOTED.finditer(text) if found[1] is not None]


def _mixed_quotes(work: _Mending) -> bool:
    """Strings in single and in double quotes side by side, as Python writes them."""
    text = work.text
    if "\\" in text or "S008" in work.codes:
        return False
    pieces = _QUOTED.split(text)
    for at in range(1, len(pieces), 3):
        single = pieces[at]
        if single is not None:
            pieces[at] = f'"{single}"'
            pieces[at + 1] = ""
        else:
            pieces[at] = ""
    return work.sweep("".join(pieces), _single_quoted, "S008")


def _bare_key_edits(text: str) -> list[Edit]:
    return [(*found.span(2), f'"{found[2]}"', "S014") for found in _BARE_KEY_AT_MEMBER.finditer(text)]


def _words(work: _Mending) -> bool:
    """True, False and None, all that stand outside the strings at once."""
    text = work.text
    slashes = "\\" in text
    if "S018" in work.codes or (slashes and "\\\\" in text):
        return False
    found: list[tuple[int, str]] = []
    for word in ("True", "False", "None"):
        at = text.find(word)
        while at >= 0:
            found.append((at, word))
            at = text.find(word, at + 4)
    found.sort()
    edits: list[Edit] = []
    pieces: list[str] = []
    at = quotes = seen = 0
    for start, word in found:
        quotes += text.count('"', seen, start) - (text.count('\\"', seen, start) if slashes else 0)
        seen = start
        end = start + len(word)
        if quotes % 2 == 0 and text[start - 1] in " :,[\n\t\r" and text[end : end + 1] in _AFTER_WORD:
            edits.append((start, end, json_word(word), "S018"))
            pieces += (text[at:start], edits[-1][2])
            at = end
    pieces.append(text[at:])
    return bool(edits) and work.sweep("".join(pieces), lambda _: edits, "S018")


def _mended(work: _Mending, message: str) -> bool:
    """Change the text so that the fault the parser names goes away; False when that is not plain."""
    if message == "Input data was truncated":
        return _close(work)
    at_byte = message.rfind("(byte ")
    text = work.text
    at = int(message[at_byte + 6 : -1]) if at_byte > 0 else len(text)
    if not text.isascii():
        at = len(text.encode()[:at].decode("utf-8", "ignore"))
    if at >= len(text):
        return False
    what = message[19:]
    if what.startswith(_TRAILING):
        comma = text.rfind(",", 0, at)
        return work.splice(comma, comma + 1, "", "S001")
    if what.startswith(_EXPECTED):
        return _separator(work, at, what[len(_EXPECTED) :])
    if what.startswith(_INVALID):
        return _character(work, at)
    if what.startswith(_KEYS):
        return _key(work, at)
    if what.startswith(_ESCAPE):
        slash = text.rfind("\\", 0, at)
        return text[slash + 1] in "_*'-[]()#.!~`$&%+> " and work.splice(slash, slash + 1, "", "S025")
    return False


def _character(work: _Mending, at: int) -> bool:
    text = work.text
    sign = text[at]
    if sign in "TFN" and (word := _WORD.match(text, at)):
        return _words(work) or work.splice(at, word.end(), json_word(word[0]), "S018")
    if sign == "'":
        return _mixed_quotes(work)
    return _raw_control(work, at) if sign < " " else _comment(work, at)


def _raw_control(work: _Mending, at: int) -> bool:
    """A line break or tab inside a string: escape all of that string's."""
    text = work.text
    start = _opening_quote(text, at)
    if start is None:
        return False
    read = strings.read_string(text, start, len(text), strings.MEMBER_VALUE, work.known, "")
    if read.codes != ("S016",):
        read = strings.read_string(text, start, len(text), strings.LIST_ITEM, work.known, "")
    if read.codes != ("S016",):
        return False
    body = text[start : read.after].replace("\n", "\\n")
    if CONTROL.search(body):
        body = CONTROL.sub(lambda m: _ESCAPES[m[0]], body)
    return work.splice(start, read.after, body, "S016")


def _opening_quote(text: str, before: int) -> int | None:
    """The nearest quote before an offset that is not escaped."""
    while (before := text.rfind('"', 0, before)) >= 0:
        slash = before
        while slash > 0 and text[slash - 1] == "\\":
            slash -= 1
        if (before - slash) % 2 == 0:
            return before
    return None


def _comment(work: _Mending, at: int) -> bool:
    found = _COMMENT.match(work.text, at) if work.text[at] in "/#" else None
    return found is not None and work.splice(at, found.end(), " ", "S017")


def _key(work: _Mending, at: int) -> bool:
    text = work.text
    if text[at] == "'":
        return _mixed_quotes(work)
    if _BARE_KEY.match(text, at):
        pieces = _BARE_KEY_AT_MEMBER.split(text)
        for key in range(2, len(pieces), 3):
            pieces[key] = f'"{pieces[key]}"'
        return work.sweep("".join(pieces), _bare_key_edits, "S014")
    return _comment(work, at)


def _separator(work: _Mending, at: int, expected: str) -> bool:
    """Where a comma or a colon should be."""
    text = work.text
    sign = text[at]
    if sign in "/#":
        return _comment(work, at)
    if expected[1] == ":":
        return False
    in_object = "}" in expected
    before = at - 1
    while text[before] in " \t\n\r":
        before -= 1
    if sign == '"' and before < at - 1:
        follows = KEY_AHEAD.match(text, at) is not None if in_object else not text[before - 1].isspace()
        return follows and work.splice(before + 1, before + 1, ",", "S002")
    if text[before] == '"' and sign not in "}]+:":
        return "S008" not in work.codes and _inner_quotes(work, before, in_object)
    if not in_object and sign in "{[" and text[before] in "}]":
        return work.splice(before + 1, before + 1, ",", "S002")
    return False


def _inner_quotes(work: _Mending, closing: int, in_object: bool) -> bool:
    """A string that seemed to end before its end: escape the quotes inside."""
    text = work.text
    start = _opening_quote(text, closing)
    if start is None:
        return False
    place = strings.MEMBER_VALUE if in_object else strings.LIST_ITEM
    read = strings.read_string(text, start, len(text), place, work.known, "")
    if read.codes != ("S012",) or '""' in text[start : read.after]:
        return False
    return work.splice(start, read.after, json.dumps(read.value, ensure_ascii=False), "S012")


def _close(work: _Mending) -> bool:
    """The text ended with brackets open: add them when there is one way to, and no string was cut."""
    text = work.text
    braces = text.count("{") - text.count("}")
    brackets = text.count("[") - text.count("]")
    end = len(text.rstrip())
    if text[end - 1] in ",:[{" or not 1 <= braces + brackets <= 2 or braces < 0 or brackets < 0:
        return False
    if braces + brackets == 1:
        return work.splice(end, len(text), "}" if braces else "]", "S005")
    for closers in ("]}", "}}", "}]", "]]"):
        if closers.count("}") == braces:
            try:
                decode(text[:end] + closers)
            except (msgspec.MsgspecError, RecursionError):
                continue
            return work.splice(end, len(text), closers, "S005")
    return False


def region(text: str) -> tuple[int, int] | None:
    """The stretch from the first opener to the last closer; the closer is left open (-1) when more follows it."""
    brace, bracket = text.find("{"), text.find("[")
    start = brace if bracket < 0 or 0 <= brace < bracket else bracket
    if start < 0:
        return None
    if start and text[:start].strip() in _QUOTE_SIGNS:
        return None
    if start and text[:start].rstrip()[-1:] == ":" and text[:start].rstrip(" \t\r\n:")[-1:] in _QUOTE_SIGNS:
        return None
    if start and "<" in text[:start]:
        closed = text.rfind("</think>")
        if not (closed >= 0 and text.lstrip().startswith("<think>")):
            return None
        brace, bracket = text.find("{", closed), text.find("[", closed)
        start = brace if bracket < 0 or 0 <= brace < bracket else bracket
        if start < 0:
            return None
    stop = text.rfind("}" if text[start] == "{" else "]") + 1
    if stop <= start or text.find("{", stop) >= 0 or text.find("[", stop) >= 0:
        return start, -1
    if stop < len(text) and (text.find("<", stop) >= 0 or is_debris(text, stop, len(text))):
        return None
    if not text.isascii() and ("｛" in text or "［" in text):
        return None
    return start, stop


def whole_rest(text: str, start: int) -> int:
    """Where the text from `start` ends, a closing fence left out."""
    tail = _FENCE_TAIL.search(text, max(start, len(text) - 40))
    return tail.start() if tail else len(text)
