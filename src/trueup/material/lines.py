"""Makes the case of a line of a file or of a record of a sift; no line raises, and no line is dropped.

`batch.input.units` reads the lines, so every line that can be sifted is a case. A line without a reply is a case that says why.
"""

from typing import Any, NamedTuple

from trueup.batch.input.ranges import LongLine, UnreadableRow
from trueup.batch.input.units import Row, Unit, is_stored, read_row, spoiled, too_long, unit_of, unreadable
from trueup.batch.judging.records import unit_fields
from trueup.material.case import Case, Label, Reason, Recorded
from trueup.material.labels import label_of, latest
from trueup.read.reading import Reading
from trueup.store.redaction import MARK
from trueup.verdict.reply import Reply

_LOST = frozenset({"U001", "U004"})
_NO_UNIT = frozenset({"U002", "U003"})
_NOT_JUDGED = frozenset(
    "UX"
)  # families of codes about units that could not be judged: a timeout, a crash, a bug in a check
WHY: dict[str, Reason] = {
    "not_kept": "context_not_kept", "expired": "context_not_kept", "too_large": "context_too_large", "redacted": "context_redacted",
}  # fmt: skip
"""A store's word for missing context, as a reason."""
_GONE: dict[str, Reason] = {"expired": "reply_expired"}


class FileFacts(NamedTuple):
    """Facts about all lines of a file: the contract that judged them, its fingerprint, and the version of trueup."""

    contract: str = ""
    fingerprint: str = ""
    engine: str = ""


UNKNOWN = FileFacts()


def case_of_line(
    line: bytes | LongLine | UnreadableRow, place: str, limit: int, origin: FileFacts = UNKNOWN
) -> Case | None:
    """The case of a line; None if it is blank.

    >>> case_of_line(b'{"unit_id": "a", "raw_response": "{}"}', "f@0", 100).context
    {'input': {'unit_id': 'a'}}
    >>> case_of_line(b"[1]", "f@0", 100).unjudgeable
    'not_a_unit'
    """
    if isinstance(line, LongLine):
        return _case(too_long(line.head, line.size, limit, place), {}, place, origin)
    if isinstance(line, UnreadableRow):
        return _case(spoiled(line, place), {}, place, origin)
    if not line.strip():
        return None
    try:
        row = read_row(line)
        unit = unit_of(row, place, line)
    except (ValueError, RecursionError) as error:
        return _case(unreadable(line, place, error), {}, place, origin)
    return _case(unit, row if type(row) is dict else {}, place, origin)


def _case(unit: Unit, row: Row, place: str, origin: FileFacts) -> Case:
    stored = bool(row) and is_stored(row)
    reason = _reason(unit, row, stored=stored)
    context, missing, why = _context(unit, row, stored=stored)
    known: dict[str, Any] = _known(row) if stored else {"contract": origin.contract}
    labels = row.get("labels")
    if isinstance(labels, list):
        known["labels"] = _labels(labels, unit.id)
    return Case(
        unit.id,
        None if reason is not None else unit.reply,
        context,
        reason,
        missing,
        _recorded(unit, row, origin, stored=stored),
        place=place,
        missing_why=why,
        **known,
    )


def _context(unit: Unit, row: Row, *, stored: bool) -> tuple[Row, tuple[str, ...], tuple[Reason, ...]]:
    """The context of a unit, the names of missing context, and why it is missing; an exported verdict has its own."""
    if not stored:
        return {**unit.context, "input": unit_fields(unit.id, unit.input)}, (), ()
    told = row.get("missing")
    missing = told if isinstance(told, dict) else {} if isinstance(row.get("context"), dict) else {"?": "not_kept"}
    context = row["context"] if isinstance(row.get("context"), dict) else dict(unit.context)
    return context, tuple(missing), tuple(WHY.get(str(why), "context_not_kept") for why in missing.values())


def _reason(unit: Unit, row: Row, *, stored: bool) -> Reason | None:
    """Why the reply of a line cannot be judged; None if it can."""
    for found in unit.findings:
        if found.level != "error":
            continue
        if found.code in _LOST:
            return "unreadable"
        if found.code in _NO_UNIT:
            return (
                _GONE.get(str(row.get("kept")), "reply_not_kept")
                if stored and row.get("body") is None
                else "not_a_unit"
            )
        return "no_reply"
    if not stored:
        return None
    if row.get("kept") == "redacted" or (row.get("kept") != "whole" and is_redacted(unit.reply)):
        return "reply_redacted"
    return of_no_model(row.get("outcome"), row.get("attempt"), getattr(unit.reply, "finish", None))


def of_no_model(outcome: Any, attempt: Any, finish: Any) -> Reason | None:
    """Why the stored text of an attempt is not a model's whole reply; None if it is.

    >>> of_no_model("fallback", 2, "stop"), of_no_model("degraded", 1, "stop"), of_no_model("refused", 1, "error")
    ('no_model', None, 'cut_off')
    """
    if outcome == "fallback" or (outcome == "degraded" and attempt == 0):
        return "no_model"
    return "cut_off" if finish == "error" else None


def is_redacted(reply: Any) -> bool:
    """Whether a store has removed something from a reply.

    >>> is_redacted("my key is [redacted]"), is_redacted("none")
    (True, False)
    """
    if isinstance(reply, str):
        return MARK in reply
    whole = reply.reply if isinstance(reply, Reading) else reply
    if not isinstance(whole, Reply):
        return False
    return MARK in whole.text or any(MARK in str(call.args) for call in whole.calls)


def _recorded(unit: Unit, row: Row, origin: FileFacts, *, stored: bool) -> Recorded | None:
    """The outcome of a record or an exported verdict; None if the line has none."""
    if stored:
        body = row.get("body") or {}
        findings = body.get("findings") if isinstance(body, dict) else None
        return Recorded(
            bool(row["ok"]),
            tuple(str(code) for code in row["codes"]),
            _rows(findings),
            body.get("data") if isinstance(body, dict) else None,
            str(row.get("fingerprint") or ""),
            str(row.get("engine") or ""),
            _rows(body.get("fixes")) if isinstance(body, dict) else (),
            _table(body.get("metrics")) if isinstance(body, dict) else {},
            _rows(body.get("calls")) if body else None,
        )
    before = unit.before
    if before is None:
        return None
    findings = (*_rows(before.get("errors")), *_rows(before.get("warnings")))
    codes = tuple(dict.fromkeys(str(found.get("code")) for found in findings))
    ok = "failure_stage" not in before
    if not ok and codes and all(code[:1] in _NOT_JUDGED for code in codes):
        return None
    return Recorded(
        ok,
        codes,
        findings,
        before.get("data"),
        origin.fingerprint,
        origin.engine,
        _rows(row.get("fixes")),
        calls=_rows(before.get("calls") or []),
    )


def _rows(found: Any) -> tuple[Row, ...]:
    return tuple(row for row in found if isinstance(row, dict)) if isinstance(found, list) else ()


def _table(found: Any) -> Row:
    return found if isinstance(found, dict) else {}


def _known(row: Row) -> dict[str, Any]:
    """The facts that an exported verdict has about its call."""
    words = {name: str(row.get(name) or "") for name in ("model", "state", "tenant", "user", "contract", "outcome")}
    numbers = {name: _whole(row.get(name)) for name in ("attempt", "attempts", "tokens_in", "tokens_out", "cost")}
    conversation = str(row.get("conversation") or row.get("request") or "")
    latency, numbers["cost"] = of_one_attempt(seconds(row.get("latency")), numbers["cost"], numbers["attempts"])
    return {
        **words,
        **numbers,
        "conversation": conversation,
        "at": seconds(row.get("at")),
        "latency": latency,
    }


def of_one_attempt(latency: float, cost: int, attempts: int) -> tuple[float, int]:
    """The time and cost of one attempt. A stored verdict that ends a request with several attempts has the sums of all.

    >>> of_one_attempt(3.0, 90, 3)
    (1.0, 30)
    """
    return (latency / attempts, cost // attempts) if attempts > 1 else (latency, cost)


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def seconds(value: Any) -> float:
    """A number of seconds; 0 if it is not a number. Exports may write moments as text."""
    if isinstance(value, str):
        from datetime import UTC, datetime

        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0.0
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _labels(rows: list[Any], verdict: str) -> tuple[Label, ...]:
    found = (label_of({**row, "verdict": verdict}, verdict) for row in rows if isinstance(row, dict))
    return latest(label for label in found if label is not None)
