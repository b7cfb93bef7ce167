"""The quick lane for a few common faults: lets the fast decoder find the fault, splices the text, and decodes it again.

Takes a broken text; returns a candidate, or None if a fault is not a simple one, so that the tolerant reader
takes over. Whatever this lane accepts, it reads exactly as that reader would.
"""

import json
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from orjson import dumps

from trueup.recover.candidate import Candidate
from trueup.recover.json.clean import WRITABLE_DEPTH, looks_odd
from trueup.recover.json.frames import Record
from trueup.recover.json.lexer import CONTROL, KEY_AHEAD, json_word
from trueup.recover.json.sweeps import (
    Repair,
    all_single_quoted,
    bare_keys,
    comment,
    mixed_quotes,
    trailing_commas,
    words,
)
from trueup.verdict.codec import decode
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from types import ModuleType

_MAX_SPLICES = 10
_WORD = lazy_regex(r"(?:True|False|None)(?![\w(])")
_BARE_KEY = lazy_regex(r"[A-Za-z_$][\w$]*(?=[ \t\n\r]*:)")
_STRING_END = lazy_regex(r'[^"\\]*(?:\\[\s\S][^"\\]*)*"')
_AFTER_STRING = lazy_regex(r"[ \t\n\r]*(?:[}\]]|(,))")
_ESCAPES = {chr(i): json.dumps(chr(i))[1:-1] for i in range(32)}
_TRAILING, _INVALID, _KEYS, _EXPECTED, _ESCAPE = (
    "trailing comma", "invalid character", "object keys", "expected ", "invalid escape",
)  # fmt: skip

# repairs that add quotes: `_inner_quotes` must not mistake these for quotes of the model
_QUOTES_ADDED = frozenset(("S008", "S014"))
# repairs whose path can be found in the repaired text as well as in the original
_PLAIN_SPOTS = frozenset(("S001", "S002", "S005", "S008", "S012", "S014", "S016", "S017", "S018", "S025"))
CUT = "Input data was truncated"


def splice(
    text: str, start: int, stop: int, known: frozenset[str], max_depth: int, fault: str = ""
) -> Candidate | None:
    """Read the container that fills `text[start:stop]`, repairing its faults one by one.

    `fault` is the decoder's message about exactly this stretch, if it is already known.
    """
    region = text[start:stop]
    if "\\" in region and looks_odd(region):
        return None
    work = None
    value: Any = None
    for _ in range(_MAX_SPLICES):
        if fault:
            if work is None:
                if _has_drive(region):
                    return None  # a path, whose backslashes are text
                work = Repair(region, known)
                if "'" in region and '"' not in region and "\\'" not in region:
                    work.sweep(region.replace("'", '"'), all_single_quoted, "S008")
                    words(work)
                    fault = ""
            if fault and not _repair(work, fault):
                return None
            region = work.text
        try:
            value = decode(region)
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
    if max_depth < WRITABLE_DEPTH or region.count('"') != again.count(b'"'):
        return None
    if work is None:
        return Candidate(value, [(start, stop)], [])
    return Candidate(value, [(start, stop)], partial(_records, work, text, start, stop, max_depth), "json", work.codes)


def _has_drive(text: str) -> bool:
    """Whether a string starts like `C:\\dir` with a single backslash."""
    at = text.find("\\") if ":\\" in text else -1
    while at >= 0:
        if at > 2 and text[at - 1] == ":" and text[at - 3] in "\"'" and text[at + 1 : at + 2] != "\\":
            return True
        at = text.find("\\", at + 2)
    return False


def _records(work: Repair, text: str, start: int, stop: int, max_depth: int) -> list[Record]:
    tree_of = _tree()
    edits = work.edits()
    where = tree_of.repaired_offsets(edits) if work.codes <= _PLAIN_SPOTS else None
    if where is not None:
        spots = [(at, edit[3] in tree_of.OF_CONTAINER) for at, edit in zip(where, edits, strict=True)]
        nodes = tree_of.nodes_at(work.text, spots)
        return [
            (code, start + a, start + b, after, node) for (a, b, after, code), node in zip(edits, nodes, strict=True)
        ]
    tree = tree_of.ValueTree(text, start, stop, work.known, max_depth)
    return [(code, start + a, start + b, after, tree.node_at(code, start + a)) for a, b, after, code in edits]


@cache
def _tree() -> "ModuleType":
    from trueup.recover.json import tree  # loaded when fixes are first read

    return tree


def _repair(work: Repair, message: str) -> bool:
    """Change the text so that the fault in the decoder's message goes away; False if there is no simple repair."""
    if message == CUT:
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
        return trailing_commas(work) or work.splice(comma, comma + 1, "", "S001")
    if what.startswith(_EXPECTED):
        return _separator(work, at, what[len(_EXPECTED) :])
    if what.startswith(_INVALID):
        return _character(work, at)
    if what.startswith(_KEYS):
        return _key(work, at)
    if what.startswith(_ESCAPE):
        slash = text.rfind("\\", 0, at)
        return text[slash + 1] in "_'#!~`&%>" and work.splice(slash, slash + 1, "", "S025")
    return False


def _character(work: Repair, at: int) -> bool:
    text = work.text
    sign = text[at]
    if sign in "TFN" and (word := _WORD.match(text, at)):
        return words(work) or work.splice(at, word.end(), json_word(word[0]), "S018")
    if sign == "'":
        return mixed_quotes(work)
    return _raw_control(work, at) if sign < " " else comment(work, at)


def _raw_control(work: Repair, at: int) -> bool:
    """Escape all line breaks and tabs of the string that contains this one."""
    text = work.text
    start = _opening_quote(text, at)
    if start is None:
        return False
    after = _plain_end(text, start)
    if after < 0:
        from trueup.recover.json import strings  # loaded when a reply first needs it

        read = strings.read_string(text, start, len(text), strings.MEMBER_VALUE, work.known, "")
        if read.codes != ("S016",):
            read = strings.read_string(text, start, len(text), strings.LIST_ITEM, work.known, "")
        if read.codes != ("S016",):
            return False
        after = read.after
    if "\\" in text[start:after]:
        return False
    body = text[start:after].replace("\n", "\\n")
    if CONTROL.search(body):
        body = CONTROL.sub(lambda m: _ESCAPES[m[0]], body)
    return work.splice(start, after, body, "S016")


def _plain_end(text: str, start: int) -> int:
    """The end of a string whose next quote clearly closes it; -1 if that needs a closer look."""
    closed = _STRING_END.match(text, start + 1)
    behind = _AFTER_STRING.match(text, closed.end()) if closed else None
    if closed is None or behind is None or (behind[1] and not KEY_AHEAD.match(text, behind.end())):
        return -1
    return closed.end()


def _opening_quote(text: str, before: int) -> int | None:
    """The nearest unescaped quote before an offset."""
    while (before := text.rfind('"', 0, before)) >= 0:
        slash = before
        while slash > 0 and text[slash - 1] == "\\":
            slash -= 1
        if (before - slash) % 2 == 0:
            return before
    return None


def _key(work: Repair, at: int) -> bool:
    text = work.text
    if text[at] == "'":
        return mixed_quotes(work)
    if _BARE_KEY.match(text, at):
        return bare_keys(work)
    return comment(work, at)


def _separator(work: Repair, at: int, expected: str) -> bool:
    """Repair a place where a comma or a colon should be."""
    text = work.text
    sign = text[at]
    if sign in "/#":
        return comment(work, at)
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
        return _QUOTES_ADDED.isdisjoint(work.codes) and _inner_quotes(work, before, in_object=in_object)
    if not in_object and sign in "{[" and text[before] in "}]":
        return work.splice(before + 1, before + 1, ",", "S002")
    return False


def _inner_quotes(work: Repair, closing: int, *, in_object: bool) -> bool:
    """Escape the quotes inside a string that seemed to end too early."""
    text = work.text
    start = _opening_quote(text, closing)
    if start is None:
        return False
    from trueup.recover.json import strings  # as above

    place = strings.MEMBER_VALUE if in_object else strings.LIST_ITEM
    read = strings.read_string(text, start, len(text), place, work.known, "")
    if read.codes != ("S012",) or '""' in text[start : read.after]:
        return False
    return work.splice(start, read.after, json.dumps(read.value, ensure_ascii=False), "S012")


def _close(work: Repair) -> bool:
    """Close the brackets that are open at the end of the text, if there is only one way and no string was cut off."""
    if "S017" in work.codes:
        return False  # only the reader can decide where the comment and the text ended
    text = work.text
    braces = text.count("{") - text.count("}")
    brackets = text.count("[") - text.count("]")
    end = len(text.rstrip())
    line = text.rfind("\n", 0, end) + 1
    if line and text[line] in "}]":
        return False  # the last line closes the first: a bracket inside is missing, and the indentation may show which
    if (
        text[end - 1] in ",:[{"
        or (end == len(text) and text[end - 1].isalnum())
        or not 1 <= braces + brackets <= 2
        or braces < 0
        or brackets < 0
    ):
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
