"""Units: one line of a file enters, the unit it holds leaves: its id, its reply, its input, and what the line itself lacks.

A line is `{unit_id, input, raw_response}`, a provider's batch output or error line, a provider's response, or a record of an
earlier sift. Nothing is judged here, and no line raises: what is no unit leaves with a finding that says so.
"""

import json
import math
import re
from typing import Any, NamedTuple

import msgspec

from trueup.read.batch import is_line, salvage_key
from trueup.verdict.codec import decode, written
from trueup.verdict.facts import Finding, finding

Row = dict[str, Any]

SHOWN_LINE = 65_536  # bytes of a line that are kept where all of it cannot be
_IDS = ("unit_id", "custom_id", "id")
_KEYS = ("key", "recordId")  # of a line of Gemini's or Bedrock's
_OWN = frozenset({"unit_id", "input", "raw_response", "failure_stage", "errors", "fixes", "warnings", "data", "calls"})
# what failed for one of these has no reply of its own to judge again
_NEVER_UNITS = frozenset({"U001", "U002", "U003", "U004"})
_ID = re.compile(r'"unit_id"\s*:\s*"((?:[^"\\]|\\.){1,512})"')
_NAMES = (b'"unit_id"', b'"raw_response"', b'"custom_id"')  # a name given twice would hide one of its values


class Unit(NamedTuple):
    """One unit. `reply` is a text or a `Reply`; `claims` says whether its id is taken by it: a line without a reply takes none.

    `kept` are the other fields of its line; `before` is the record of an earlier sift, where the line is one.
    """

    id: str
    reply: Any
    raw: str
    input: Any = None
    kept: Row = {}
    findings: tuple[Finding, ...] = ()
    claims: bool = True
    before: Row | None = None


def read_unit(line: bytes, place: str) -> Unit:
    """The unit that a line holds; `place` names the line where it has no id.

    >>> read_unit(b'{"unit_id": "a", "input": {"n": 1}, "raw_response": "{}"}', "f@0")[:4]
    ('a', '{}', '{}', {'n': 1})
    >>> read_unit(b"[1]", "f@0").findings[0].code
    'U002'
    """
    try:
        row = read_row(line)
    except (ValueError, RecursionError) as error:
        return _unreadable(line, place, error)
    return unit_of(row, place, line)


def unit_of(row: Any, place: str, line: bytes = b"") -> Unit:
    """The unit of a line that was read already."""
    if type(row) is not dict:
        return _no_unit(row, place, f"The line holds {_kind(row)}, not an object", line)
    if any(line.count(name) > 1 for name in _NAMES) and (name := twice(line)):
        return _no_unit(row, place, f"The line gives {name!r} twice", line)
    if "raw_response" in row:
        return _recorded(row, place) if "failure_stage" in row or "data" in row else _plain(row, place)
    return _provided(row, place, line)


def _plain(row: Row, place: str) -> Unit:
    uid, remarks = _id_of(row, place)
    kept = {name: value for name, value in row.items() if name not in _OWN}
    if "input" in row:
        given = row["input"]
    else:
        given = {name: value for name, value in kept.items() if name not in _IDS and name != "retry_count"}
        kept = {name: value for name, value in kept.items() if name not in given}
    return _with_reply(uid, row["raw_response"], given, kept, remarks, None)


def _with_reply(uid: str, raw: Any, given: Any, kept: Row, remarks: tuple[Finding, ...], before: Row | None) -> Unit:
    if isinstance(raw, str):
        return Unit(uid, raw, raw, given, kept, remarks, before=before)
    text = written(raw).decode()
    if isinstance(raw, dict | list):
        from trueup.read.detect import family, is_error  # only where a reply is more than text
        from trueup.read.reader import read

        if isinstance(raw, dict) and family(raw) is None and not is_error(raw):
            return Unit(uid, text, text, given, kept, remarks, before=before)
        reading = read(raw)
        if not any(found.code == "R001" for found in reading.findings):
            kept = {**kept, "response": raw}
            claims = not reading.findings
            return Unit(uid, reading.reply, text, given, kept, (*remarks, *reading.findings), claims, before)
        return Unit(uid, text, text, given, kept, remarks, before=before)
    found = finding("R004", "$", f"There is no reply: raw_response is {_kind(raw)}", None, {}, "Ask again.")
    return Unit(uid, "", "" if raw is None else text, given, kept, (*remarks, found), claims=False, before=before)


def _recorded(row: Row, place: str) -> Unit:
    """A unit from the record of an earlier sift, valid or failed; what was no unit then is none now."""
    uid, remarks = _id_of(row, place)
    kept = {name: value for name, value in row.items() if name not in _OWN}
    told = row.get("errors")  # of anybody's making: a line of other people may have such a field too
    errors = [error for error in told if isinstance(error, dict)] if isinstance(told, list) else []
    if errors and all(str(error.get("code")) in _NEVER_UNITS for error in errors):
        same = tuple(_found_before(error) for error in errors)
        return Unit(uid, None, str(row["raw_response"]), row.get("input"), kept, same, claims=False, before=row)
    response = kept.pop("response", None)
    unit = _with_reply(uid, row["raw_response"], row.get("input"), kept, remarks, row)
    if not isinstance(response, dict | list):
        return unit
    if isinstance(response, dict) and is_line(response):
        again = _provided(response, place, b"")
    else:
        again = _with_reply(uid, response, None, {}, (), None)
    return unit._replace(reply=again.reply, kept={**kept, **again.kept}, findings=again.findings, claims=again.claims)


def _found_before(error: Row) -> Finding:
    return finding(error["code"], str(error.get("path", "$")), str(error.get("message", "")), None, {})


def _provided(row: Row, place: str, line: bytes) -> Unit:
    """A unit from a provider's batch line or response."""
    from trueup.read.detect import family  # a room of its own, not needed for plain units
    from trueup.read.reader import read

    if not is_line(row) and family(row) is None:
        names = ", ".join(str(name)[:40] for name in list(row)[:8])
        return _no_unit(row, place, f"The line holds no reply (keys: {names or 'none'})", line)
    reading = read(row)
    reply = reading.reply
    found = reading.findings
    uid = reading.key
    remarks: tuple[Finding, ...] = ()
    if not uid:
        uid, remarks = _id_of(row, place)
    plain = not found and reply.text and not reply.calls and not reply.refusal and reply.finish in {"stop", "unknown"}
    kept: Row = {} if plain else {"response": row}
    raw = reply.text or (line.decode("utf-8", "replace").strip() if line else written(row).decode())
    return Unit(uid, reply.text if plain else reply, raw, None, kept, (*remarks, *found), claims=not found)


def _id_of(row: Row, place: str) -> tuple[str, tuple[Finding, ...]]:
    """The id of a unit, and a remark where it had to be made."""
    for name in _IDS:
        uid = row.get(name)
        if isinstance(uid, str) and uid:
            return uid, ()
        if type(uid) is int:
            return str(uid), ()
    message = "The line gives no unit_id; its place stands in for it"
    return place, (finding("U005", "$", message, None, {"place": place}, "Give every line a unit_id."),)


def _unreadable(line: bytes, place: str, error: Exception) -> Unit:
    text = line.decode("utf-8", "replace").strip("\r\n")
    key = _ID.search(text, 0, 100_000)
    uid = (_unescaped(key[1]) if key else _unescaped(salvage_key(text))) or place
    why = "its bytes are not UTF-8" if isinstance(error, UnicodeDecodeError) else _said(error)
    found = finding("U001", "$", f"The line is not JSON: {why}", None, {}, "Write the line again.")
    return Unit(uid, None, text, None, {}, (found,), claims=False)


def too_long(head: bytes, size: int, limit: int, place: str) -> Unit:
    """The unit of a line that is too long to be read; its first part is kept."""
    text = head[:SHOWN_LINE].decode("utf-8", "replace")
    key = _ID.search(text) or None
    uid = _unescaped(key[1] if key else salvage_key(text)) or place
    data = {"size": size, "limit": limit, "kept": len(text)}
    message = f"The line has {size:,} bytes; the limit is {limit:,}"
    found = finding("U004", "$", message, None, data, "Raise --max-line, or give a shorter line.")
    return Unit(uid, None, text, None, {}, (found,), claims=False)


def _no_unit(row: Any, place: str, message: str, line: bytes) -> Unit:
    uid, remarks = _id_of(row, place) if type(row) is dict else (place, ())
    if remarks:  # a provider's line without a reply still says whose it is
        uid = next((row[name] for name in _KEYS if isinstance(row.get(name), str) and row[name]), place)
    text = line.decode("utf-8", "replace").strip("\r\n") if line else written(row).decode()
    hint = "Give {unit_id, input, raw_response}, or a line of a provider's batch."
    return Unit(uid, None, text, None, {}, (finding("U002", "$", message, None, {}, hint),), claims=False)


def read_row(line: bytes) -> Any:
    """The JSON of a line: exact integers; lone surrogates stay, numbers that cannot be held are refused."""
    try:
        return decode(line)
    except msgspec.DecodeError:
        text = line.decode("utf-8-sig")
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"the number {word[:40]} is too large to hold")
    return number


def twice(line: bytes) -> str:
    """The key that the object of a line gives twice, if it does."""
    pairs: list[tuple[str, Any]] = []

    def keep(members: list[tuple[str, Any]]) -> Row:
        pairs[:] = members  # the outermost object is closed last
        return dict(members)

    try:
        json.loads(line, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return ""
    names = [name for name, _ in pairs]
    return next((name for name in names if names.count(name) > 1), "") if len(set(names)) < len(names) <= 10_000 else ""


def _unescaped(key: str) -> str:
    try:
        return str(json.loads(f'"{key}"'))
    except ValueError:
        return key


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return str(error)[:200]


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "an array", str: "a string", bool: "a boolean", dict: "an object"}.get(type(value), "a number")
