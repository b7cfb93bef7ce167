"""Makes cases of the verdicts in a range of a store's rows, with their labels.

Bodies are decoded here, in the worker that judges them. A verdict whose reply was deleted, never kept, partly redacted, or never
given by the provider is a case that says so.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from trueup.contract.judging.incoming import STREAM_STARTS, is_stream
from trueup.material.case import Case, Label, Reason, Recorded
from trueup.material.lines import WHY, of_no_model, of_one_attempt
from trueup.material.selection import Selection
from trueup.store import contexts
from trueup.store.cells import unpack
from trueup.store.errors import MICROS
from trueup.store.records import NONE, REDACTED, RawRow, Stored
from trueup.store.redaction import MARK
from trueup.store.selecting import Place
from trueup.store.store import Store
from trueup.verdict.reply import Reply

_SLICE = 400  # verdicts in a range: few enough for a quick first estimate, even with a slow contract
_TOGETHER = 500  # cases whose labels are looked up together
_SHAPE = frozenset({"R001", "R002", "R003", "R004"})  # problems with how a reply arrived
_FILTERS = (
    "since",
    "until",
    "model",
    "contract",
    "fingerprint",
    "state",
    "tenant",
    "code",
    "rule",
    "outcome",
    "ok",
    "label",
)


class _Body(msgspec.Struct):
    """The fields of a stored verdict that are needed."""

    reply: Reply
    data: Any = None
    findings: tuple[dict[str, Any], ...] = ()
    fixes: tuple[dict[str, Any], ...] = ()
    calls: tuple[dict[str, Any], ...] = ()
    metrics: dict[str, Any] = {}


_read = msgspec.json.Decoder(_Body).decode


def filters_of(selection: Selection) -> dict[str, Any]:
    """The filters that a store can apply in SQL."""
    return {name: value for name in _FILTERS if (value := getattr(selection, name)) is not None}


def ranges_of(store: Store, selection: Selection) -> list[tuple[Place | None, Place]]:
    """Ranges of rows that together contain every selected verdict once."""
    return store.ranges(_SLICE, **filters_of(selection))


def has_labels(store: Store) -> bool:
    """Whether the store has any label."""
    return bool(store.read(lambda session: session.run("SELECT 1 FROM feedback LIMIT 1")))


def cases_between(
    store: Store, after: Place | None, upto: Place, selection: Selection, *, labelled: bool
) -> Iterator[Case]:  # fmt: skip
    """The cases of a range of rows, with labels if the store has any."""
    rows = store.rows(after=after, upto=upto, **filters_of(selection))
    if not labelled:
        yield from (case_of_row(row) for row in rows)
        return
    while some := list(islice(rows, _TOGETHER)):
        said: dict[str, list[Label]] = {}
        for row in store.labels(verdicts=[row.id for row in some]):
            said.setdefault(row["verdict"], []).append(Label(**row))
        for each in some:
            yield case_of_row(each, tuple(said.get(each.id, ())))


def case_of_row(row: RawRow, labels: tuple[Label, ...] = ()) -> Case:
    """The case of a row of a store."""
    body = row.body
    if body is None:
        return case_of_stored(row.stored(), labels)
    word, _, with_context = row.kept.partition(" ")
    blob = bytes(body)
    try:
        read = _read(blob)
    # a lone surrogate, or an integer with many digits
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return case_of_stored(row.stored(), labels)
    codes = tuple(row.codes.split())
    if not word and MARK.encode() in blob:
        word = REDACTED
    if word in (REDACTED, NONE) or not _SHAPE.isdisjoint(codes):
        return case_of_stored(row.stored(), labels)
    state, conversation, request = unpack(row.state), unpack(row.conversation), unpack(row.request)
    fingerprint = row.fingerprint
    recorded = Recorded(
        bool(row.ok), codes, read.findings, read.data, fingerprint, row.engine, read.fixes, read.metrics, read.calls
    )
    context, missing, why = _context(row.context, state, conversation, row.values, with_context=bool(with_context))
    outcome = unpack(row.outcome)
    reason = of_no_model(outcome, row.attempt, read.reply.finish)
    latency, cost = of_one_attempt(row.latency / MICROS, row.cost, row.attempts)
    return Case(
        row.id, None if reason else _judged(read.reply), context, reason, missing, recorded, unpack(row.model), state,
        unpack(row.tenant), unpack(row.person), unpack(row.contract), conversation or request, row.at / MICROS, outcome, row.attempt,
        row.attempts, latency, row.tokens_in, row.tokens_out, cost, labels, "", why,
    )  # fmt: skip


def _context(
    names: str, state: str, conversation: str, values: bytes | None, *, with_context: bool
) -> tuple[dict[str, Any], tuple[str, ...], tuple[Reason, ...]]:
    """The stored context, the names of missing context, and why it is missing."""
    if not names:
        return {}, (), ()
    context, missing = contexts.read(names, state, conversation, values, was_kept=with_context)
    return context or {}, tuple(missing), tuple(WHY[why] for why in missing.values())


def _judged(reply: Reply) -> Any:
    """The reply to judge: its text alone if nothing else matters, which is judged fastest."""
    plain = (
        reply.turns is None
        and not reply.calls
        and not reply.refusal
        and not reply.reasoning
        and reply.finish in {"stop", "unknown"}
    )
    text = reply.text
    if plain and not (text[:1] in STREAM_STARTS and is_stream(text)):
        return text
    return reply


def case_of_stored(stored: Stored, labels: tuple[Label, ...] = ()) -> Case:
    """The case of one stored verdict."""
    from trueup.batch.input.units import unit_of

    context = {} if stored.context is None else stored.context
    missing, why = tuple(stored.missing), tuple(WHY[each] for each in stored.missing.values())
    known: dict[str, Any] = {
        name: getattr(stored, name)
        for name in (
            "model", "state", "tenant", "user", "contract", "at", "outcome", "attempt", "attempts", "tokens_in", "tokens_out",
        )
    }  # fmt: skip
    known["latency"], known["cost"] = of_one_attempt(stored.latency, stored.cost, stored.attempts)
    known |= {"conversation": stored.conversation or stored.request, "labels": labels, "missing_why": why}
    recorded = Recorded(stored.ok, stored.codes, fingerprint=stored.fingerprint, engine=stored.engine)
    body = stored.body
    if body is None:
        reason: Reason | None = "reply_expired" if stored.unjudgeable == "reply_expired" else "reply_not_kept"
        return Case(stored.id, None, context, reason, missing, recorded, **known)
    recorded = Recorded(
        stored.ok, stored.codes, tuple(body["findings"]), body.get("data"), stored.fingerprint, stored.engine,
        tuple(body.get("fixes") or ()), body.get("metrics") or {}, tuple(body.get("calls") or ()),
    )  # fmt: skip
    unit = unit_of({"id": stored.id, "ok": stored.ok, "codes": [], "attempts": 1, "body": body}, stored.id)
    reason = "reply_redacted" if stored.unjudgeable == "reply_redacted" else None
    if reason is None and any(found.level == "error" for found in unit.findings):
        reason = "no_reply"
    reason = reason or of_no_model(stored.outcome, stored.attempt, getattr(unit.reply, "finish", None))
    return Case(stored.id, None if reason else unit.reply, context, reason, missing, recorded, **known)
