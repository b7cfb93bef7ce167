"""Reads the unit in one line of a file: its id, reply and input, and findings about the line itself.

A line is `{unit_id, input, raw_response}`, `{unit_id, messages}`, a provider's batch output or error line, a provider's response,
a line of a store's export, or a record of an earlier sift. This module judges nothing and never raises: a line that is not a unit
gets a finding that says so.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trueup.batch.counting.grounding_rates import is_evidence
from trueup.batch.input.ranges import UnreadableRow
from trueup.read.batch import is_line, salvage_key
from trueup.read.reading import Reading
from trueup.recover.json.clean import keeps_all_keys, repeats_a_key
from trueup.verdict.codec import decode, spelled, written
from trueup.verdict.facts import Finding, finding, promoted
from trueup.verdict.verdict import Verdict

Row = dict[str, Any]

SHOWN_LINE = 65_536  # bytes kept of a line that cannot be kept whole
_IDS = ("unit_id", "custom_id", "id")
_KEYS = ("key", "recordId")  # on a line of Gemini's or Bedrock's
_OWN = frozenset({"unit_id", "input", "raw_response", "failure_stage", "errors", "fixes", "warnings", "data", "calls"})
_STORED = frozenset({"id", "body", "ok", "codes", "reason", "outcome"})  # fields of a store's line that are not kept
_SHAPE = frozenset({"R001", "R002", "R003", "R004"})  # problems with how a reply arrived
# a unit that failed for one of these has no reply to judge again
NEVER_UNITS = frozenset({"U001", "U002", "U003", "U004"})
_LOST = "\ufffd"  # replaces bytes that are not UTF-8
_ID = re.compile(r'"unit_id"\s*:\s*"((?:[^"\\]|\\.){1,512})"')


class Unit(NamedTuple):
    """One unit. `reply` is a text, a `Reply`, the messages of a conversation, or the `Reading` of a stream that broke off.

    `kept` are the other fields of its line. `before` is the record if the line is from an earlier sift or a store. `context` is
    the context of the conversation that the line gives. `claims` says whether the unit claims its id; a line without a reply does
    not. `provided` is True for a line of a provider's batch output or error file.
    """

    id: str
    reply: Any
    raw: str
    input: Any = None
    kept: Row = {}
    findings: tuple[Finding, ...] = ()
    claims: bool = True
    before: Row | None = None
    context: Row = {}
    provided: bool = False


def read_unit(line: bytes, place: str) -> Unit:
    """The unit in a line; `place` names the line if it has no id.

    >>> read_unit(b'{"unit_id": "a", "input": {"n": 1}, "raw_response": "{}"}', "f@0")[:4]
    ('a', '{}', '{}', {'n': 1})
    >>> read_unit(b"[1]", "f@0").findings[0].code
    'U002'
    """
    try:
        row = read_row(line)
    except (ValueError, RecursionError) as error:
        return unreadable(line, place, error)
    try:
        return unit_of(row, place, line)
    except RecursionError as error:  # the line could just be read, but its record cannot be written
        return unreadable(line, place, error)


def unit_of(row: Any, place: str, line: bytes = b"") -> Unit:
    """The unit in a line that was parsed already."""
    if type(row) is not dict:
        return _no_unit(row, place, f"The line is {_kind(row)}, not an object", line)
    if line and (lost := given_twice(row, line)):
        return _no_unit(row, place, lost, line)
    if "raw_response" in row:
        return _plain(row, place) if is_plain(row) else _recorded(row, place)
    if is_stored(row):
        return _stored(row, place, line)
    messages = row.get("messages")
    if isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages):
        return _conversed(row, place, line)
    return _provided(row, place, line)


def is_stored(row: Row) -> bool:
    """Whether a line comes from a store's export.

    >>> is_stored({"id": "1", "ok": True, "codes": [], "attempts": 1, "body": None})
    True
    """
    return isinstance(row.get("codes"), list) and "ok" in row and "attempts" in row and _is_body(row.get("body"))


def _is_body(body: Any) -> bool:
    return body is None or (isinstance(body, dict) and isinstance(body.get("reply"), dict) and "findings" in body)


def _stored(row: Row, place: str, line: bytes) -> Unit:
    """A unit from a stored verdict. Its reply is judged again, and a provider's failure stays a failure."""
    uid, remarks = id_of(row, place)
    body = row.get("body")
    if body is None:
        message = "The line has no reply: it was exported without bodies, or the body was deleted"
        return _no_unit(row, place, message, line)
    try:
        verdict = Verdict.from_dict(body)
    except (ValueError, TypeError, KeyError) as error:
        return _no_unit(row, place, f"The line is not a verdict of a store: {str(error)[:200]}", line)
    reply = verdict.reply
    judged, failed = _judged(
        Reading(reply, tuple(promoted(found) for found in verdict.findings if found.code in _SHAPE))
    )
    context = {"state": row["state"]} if row.get("state") else {}
    whole = reply.turns is None and not reply.calls and not reply.refusal and reply.finish in {"stop", "unknown"}
    plain = whole and judged is reply and not context and not failed  # its text has everything
    kept = {name: value for name, value in row.items() if name not in _STORED}
    before: Row = {"data": verdict.data} if verdict.ok else {"failure_stage": "stored", "errors": body["findings"]}
    return Unit(
        uid, reply.text if plain else judged, reply.text, None, kept if plain else {**kept, "response": row},
        (*remarks, *failed), claims=not failed, before=before, context=context,
    )  # fmt: skip


def _conversed(row: Row, place: str, line: bytes) -> Unit:
    """A unit from a conversation. The reply is everything that the model said since the last message of the user."""
    from trueup.read.messages import role_of  # a separate room, not needed for plain units

    if not any(map(role_of, row["messages"])):
        return _no_unit(row, place, "No message of the line has a known role", line)
    uid, remarks = id_of(row, place)
    given, kept, lost = _input_of(row, "messages")
    return _with_reply(uid, row["messages"], given, kept, (*remarks, *lost), None)


def _plain(row: Row, place: str) -> Unit:
    uid, remarks = id_of(row, place)
    given, kept, lost = _input_of(row, "raw_response")
    return _with_reply(uid, row["raw_response"], given, kept, (*remarks, *lost), None)


def is_plain(row: Row) -> bool:
    """Whether a line has a reply in `raw_response`, and is not a record of an earlier sift."""
    return "raw_response" in row and not is_record(row)


def is_record(row: Row) -> bool:
    """Whether a line is a record of an earlier sift or filter: those have a stage, or data and fixes.

    >>> is_record({"raw_response": "{}", "data": {}, "fixes": []}), is_record({"raw_response": "{}", "data": {}})
    (True, False)
    """
    return isinstance(row.get("failure_stage"), str) or ("data" in row and isinstance(row.get("fixes"), list))


def beside_reply(row: Row) -> tuple[Any, Row]:
    """The input of a plain unit, and the fields that are kept with it.

    >>> beside_reply({"unit_id": "a", "city": "Oslo", "raw_response": "{}", "retry_count": 1})
    ({'city': 'Oslo'}, {'retry_count': 1})
    """
    return _input_of(row, "raw_response")[:2]


def _input_of(row: Row, reply: str) -> tuple[Any, Row, tuple[Finding, ...]]:
    """The input of a unit, the fields that are kept with it, and a finding if the record replaces some; `reply` names the field
    of the reply.

    If there is no `input`, the other fields are the input.
    """
    if "input" in row:
        kept = {name: value for name, value in row.items() if name not in _OWN and name != reply}
        return row["input"], kept, replaced(_not_kept(row))
    kept = {name: row[name] for name in (*_IDS, "retry_count") if name in row and name not in _OWN}
    return {name: value for name, value in row.items() if name not in kept and name not in {"unit_id", reply}}, kept, ()


def _not_kept(row: Row) -> list[str]:
    return [name for name in row if name in _OWN and name not in ("unit_id", "input", "raw_response")]


def replaced(names: Iterable[str]) -> tuple[Finding, ...]:
    """A finding about fields of a line that have the same names as fields of the record."""
    lost = sorted(names)
    if not lost:
        return ()
    several = len(lost) > 1
    said = f"The record already has {'fields' if several else 'a field'} {' and '.join(lost)}; the line's {'are' if several else 'is'} not kept"
    return (finding("U010", "$", said, None, {"fields": lost}, "Rename the field, or move it into the input."),)


def _with_reply(uid: str, raw: Any, given: Any, kept: Row, remarks: tuple[Finding, ...], before: Row | None) -> Unit:
    if isinstance(raw, str):
        return Unit(uid, raw, raw, given, kept, remarks, before=before)
    text = spelled(raw).decode()
    if isinstance(raw, dict | list):
        from trueup.read.detect import family, is_error  # only if a reply is more than text
        from trueup.read.messages import before_reply
        from trueup.read.reader import read

        if isinstance(raw, dict) and family(raw) is None and not is_error(raw):
            return Unit(uid, text, text, given, kept, remarks, before=before)
        reading = read(raw)
        if not any(found.code == "R001" for found in reading.findings):
            remarks = (*remarks, *replaced(name for name in kept if name == "response"))
            kept = {**kept, "response": raw}
            judged, failed = _judged(reading)
            claims = not reading.findings
            if isinstance(raw, list) and before_reply(raw).messages:  # the messages before the reply count too
                judged, text = raw, reading.reply.text or text
            return Unit(uid, judged, text, given, kept, (*remarks, *failed), claims, before)
        return Unit(uid, text, text, given, kept, remarks, before=before)
    found = finding("R004", "$", f"There is no reply: raw_response is {_kind(raw)}", None, {}, "Ask again.")
    return Unit(uid, "", "" if raw is None else text, given, kept, (*remarks, found), claims=False, before=before)


def _recorded(row: Row, place: str) -> Unit:
    """A unit from the record of an earlier sift, valid or failed. A line that was not a unit then is not one now."""
    uid, remarks = id_of(row, place)
    kept = {name: value for name, value in row.items() if name not in _OWN}
    if is_evidence(kept.get("evidence")):
        del kept["evidence"]  # the new verdict has its own
    told = row.get("errors")  # may be anything: a user's line may have a field with this name
    errors = [error for error in told if isinstance(error, dict)] if isinstance(told, list) else []
    if errors and all(str(error.get("code")) in NEVER_UNITS for error in errors):
        same = tuple(_found_before(error) for error in errors)
        return Unit(uid, None, str(row["raw_response"]), row.get("input"), kept, same, claims=False, before=row)
    unit = _with_reply(uid, row["raw_response"], row.get("input"), kept, remarks, row)
    again = _answered(row.get("response"), uid, place)
    if again is None or not _says_the_same(again, unit.raw):
        return unit  # the line had a field with that name
    del kept["response"]
    return unit._replace(
        reply=again.reply,
        kept={**kept, **again.kept},
        findings=(*remarks, *again.findings),
        claims=again.claims,
        context=again.context,
    )


def _answered(response: Any, uid: str, place: str) -> Unit | None:
    """The unit of the reply that a record has under `response`; None if neither a provider nor a store gave it."""
    if isinstance(response, dict) and is_stored(response):
        return _stored(response, place, b"")
    if isinstance(response, dict) and is_line(response):
        return _provided(response, place, b"")
    if not isinstance(response, dict | list):
        return None
    unit = _with_reply(uid, response, None, {}, (), None)
    return unit if "response" in unit.kept else None


def _says_the_same(unit: Unit, raw: str) -> bool:
    """Whether the reply in a provider's format has the text of the record. A reply without text cannot be compared."""
    reply = unit.reply.reply if isinstance(unit.reply, Reading) else unit.reply
    text = unit.raw if isinstance(reply, list) else getattr(reply, "text", reply)
    return not text or raw in (text, unit.raw)


def _judged(reading: Reading) -> tuple[Any, tuple[Finding, ...]]:
    """The reply to judge, and findings that fail the unit immediately. A contract decides about a stream that broke off."""
    found = reading.findings
    if found and all(each.code == "R003" or (each.code == "R002" and reading.reply.text) for each in found):
        return reading, ()
    return reading.reply, found


def _found_before(error: Row) -> Finding:
    return finding(error["code"], str(error.get("path", "$")), str(error.get("message", "")), None, {})


def _provided(row: Row, place: str, line: bytes) -> Unit:
    """A unit from a provider's batch line or response."""
    from trueup.read.detect import family  # a separate room, not needed for plain units
    from trueup.read.reader import read

    if not is_line(row) and family(row) is None:
        names = ", ".join(str(name)[:40] for name in list(row)[:8])
        return _no_unit(row, place, f"The line has no reply (keys: {names or 'none'})", line)
    reading = read(row)
    reply = reading.reply
    judged, found = _judged(reading)
    uid, remarks = id_of(row, place)
    if reading.key and row.get("unit_id") in (None, ""):
        uid, remarks = reading.key, ()
    plain = (
        not reading.findings
        and reply.text
        and not reply.calls
        and not reply.refusal
        and reply.finish in {"stop", "unknown"}
    )
    # a user's own line, with a unit_id, may have more than the provider's fields: it is kept whole
    kept: Row = {} if plain and "unit_id" not in row else {"response": row}
    raw = reply.text or (line.decode("utf-8", "replace").strip() if line else spelled(row).decode())
    claims = not reading.findings
    provided = bool(reading.key) and "unit_id" not in row
    return Unit(
        uid, reply.text if plain else judged, raw, None, kept, (*remarks, *found), claims, provided=provided
    )  # fmt: skip


def id_of(row: Row, place: str) -> tuple[str, tuple[Finding, ...]]:
    """The id of a unit, and a finding if the line gives none.

    >>> id_of({"unit_id": 7}, "f@0"), id_of({"unit_id": 7.5}, "f@0")[1][0].message
    (('7', ()), 'unit_id is 7.5, neither text nor a whole number; the place of the line is used instead')
    """
    unfit = ""
    for name in _IDS:
        uid = row.get(name)
        if (isinstance(uid, str) and uid) or type(uid) is int:
            return str(uid), _unnamed(unfit, name, place) if unfit else ()
        if uid is not None and uid != "" and not unfit:
            shown = _kind(uid) if isinstance(uid, dict | list) else json.dumps(uid)
            unfit = f"{name} is {shown}, neither text nor a whole number"
    return place, _unnamed(unfit or "The line has no unit_id", "the place of the line", place)


def _unnamed(why: str, other: str, place: str) -> tuple[Finding, ...]:
    said = f"{why}; {other} is used instead"
    return (finding("U005", "$", said, None, {"place": place}, "Give every line a unit_id."),)


def unreadable(line: bytes, place: str, error: Exception) -> Unit:
    """The unit of a line that cannot be read. Its text is kept."""
    text = line.decode("utf-8", "replace").strip("\r\n")
    uid = _salvaged(text, place)
    why = "its bytes are not UTF-8" if isinstance(error, UnicodeDecodeError) else _said(error)
    found = finding("U001", "$", f"The line is not JSON: {why}", None, {}, "Write the line again.")
    return Unit(uid, None, text, None, {}, (found,), claims=False)


def spoiled(row: UnreadableRow, place: str) -> Unit:
    """The unit of a row of a table that cannot be read. Its text is kept, if it has one."""
    text = row.text[:SHOWN_LINE].decode("utf-8", "replace")
    found = finding("U001", "$", row.why, None, {}, "Write the row again.")
    return Unit(row.id or place, None, text, None, {}, (found,), claims=False)


def too_long(head: bytes, size: int, limit: int, place: str) -> Unit:
    """The unit of a line that is too long to read. Its start is kept."""
    text = head[:SHOWN_LINE].decode("utf-8", "replace")
    uid = _salvaged(text, place)
    data = {"size": size, "limit": limit, "kept": len(text)}
    message = f"The line has {size:,} bytes; the limit is {limit:,}"
    found = finding("U004", "$", message, None, data, "Raise --max-line, or shorten the line.")
    return Unit(uid, None, text, None, {}, (found,), claims=False)


def _no_unit(row: Any, place: str, message: str, line: bytes) -> Unit:
    uid, remarks = id_of(row, place) if type(row) is dict else (place, ())
    if remarks:  # a provider's line without a reply still has an id
        uid = next((row[name] for name in _KEYS if isinstance(row.get(name), str) and row[name]), place)
    text = line.decode("utf-8", "replace").strip("\r\n") if line else spelled(row).decode()
    hint = (
        "Use {unit_id, input, raw_response}, {unit_id, messages}, or a line of a provider's batch."
        " If the reply is in another field, name it with --reply-column."
    )
    return Unit(uid, None, text, None, {}, (finding("U002", "$", message, None, {}, hint),), claims=False)


def read_row(line: bytes) -> Any:
    """Parse the JSON of a line. Integers are exact and lone surrogates stay; numbers that are too large are refused."""
    try:
        return decode(line)
    except msgspec.DecodeError:
        text = line.decode("utf-8-sig")
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"the number {word[:40]} is too large")
    return number


def given_twice(row: Row, line: bytes) -> str:
    """The message about a line that repeats a key, and so loses one of the values; "" if no key is repeated.

    >>> given_twice({"a": 2}, b'{"a": 1, "a": 2}'), given_twice({"a": 1}, b'{"a": 1}')
    ("The line has the key 'a' twice", '')
    """
    text = line.decode("utf-8", "replace")
    try:
        if keeps_all_keys(text, written(row)):
            return ""
    except (UnicodeEncodeError, RecursionError):
        pass  # a lone surrogate, or nesting as deep as the stack
    if not repeats_a_key(text.lstrip("\ufeff")):
        return ""
    name = twice(line)
    return f"The line has the key {name!r} twice" if name else "An object in the line has a key twice"


def twice(line: bytes) -> str:
    """The key that the object of a line has twice, if there is one."""
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


def _salvaged(text: str, place: str) -> str:
    """The id in the text of a line that cannot be read. If bytes of the id are lost, it could be any id, so the place is used."""
    key = _ID.search(text, 0, 100_000)
    uid = _unescaped(key[1] if key else salvage_key(text))
    return place if not uid or _LOST in uid else uid


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
