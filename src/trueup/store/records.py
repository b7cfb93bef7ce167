"""A judged reply as rows: a verdict and what is known about the call enter, rows of the tables leave, and the way back.

Numbers are whole: microseconds, tokens, millionths of money. Secrets are taken out before anything is written.
"""

import itertools
import os
import secrets
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from trueup.store.cells import pack, to_bytes, to_text, unpack
from trueup.store.errors import MICROS, MOST
from trueup.store.redaction import Redaction
from trueup.store.session import Row, Session
from trueup.verdict.verdict import Verdict

HOUR = 3600 * MICROS
_AT_ONCE = 4_000_000  # bytes that are looked through together
_turn = itertools.count()
_chances: deque[str] = deque()
if hasattr(os, "register_at_fork"):  # where processes can be forked, each has chances of its own
    os.register_at_fork(after_in_child=_chances.clear)
_write = msgspec.json.Encoder().encode
COLUMNS = (
    "id", "at", "request", "attempt", "tenant", "person", "model", "contract", "state", "ok", "outcome", "reason",
    "codes", "attempts", "latency", "tokens_in", "tokens_out", "cost", "fingerprint",
)  # fmt: skip
_TEXTS = frozenset({"request", "tenant", "person", "model", "contract", "state", "outcome", "fingerprint"})


class GivenUp(msgspec.Struct, frozen=True):
    """A model that was asked for a request and given up for another one."""

    model: str
    attempts: int = 1
    reason: str = ""
    cost: int = 0


class Note(msgspec.Struct, frozen=True):
    """One verdict on its way to the store, with what the caller knows about the call."""

    id: str
    verdict: Verdict
    request: str = ""
    attempt: int = 1
    tenant: str = ""
    user: str = ""
    model: str = ""
    contract: str = ""
    state: str = ""
    outcome: str = ""
    attempts: int = 1
    latency: float = 0.0
    cost: int = 0
    final: bool = True
    fingerprint: str = ""
    given_up: tuple[GivenUp, ...] = ()  # before `model`, for the same request

    @property
    def own_attempts(self) -> int:
        """How many attempts `model` itself took."""
        return self.attempts - sum(each.attempts for each in self.given_up)


class Stored(msgspec.Struct, frozen=True):
    """One verdict as it was stored."""

    id: str
    """The id of the verdict; it sorts by time."""
    at: float
    """When it was stored, in seconds since 1970."""
    request: str
    """The id that all attempts of one request share."""
    attempt: int
    """The number of the attempt in its request."""
    tenant: str
    """Whose request it was; empty if not known."""
    user: str
    """The user; empty if not known."""
    model: str
    """The model that was asked."""
    contract: str
    """The name of the contract."""
    state: str
    """The state that the reply was judged in; empty if there is none."""
    ok: bool
    """Whether the reply passed."""
    outcome: str
    """What came of the request."""
    reason: str
    """The kind of failure; empty if there is none."""
    codes: tuple[str, ...]
    """The codes of its findings."""
    attempts: int
    """How many attempts the request took."""
    latency: float
    """How many seconds the reply took."""
    tokens_in: int
    """Input tokens."""
    tokens_out: int
    """Output tokens."""
    cost: int
    """what it cost, in millionths of your unit of money."""
    body: dict[str, Any] | None = None
    """The whole verdict, as in `Verdict.to_dict`; None if it was not kept."""
    fingerprint: str = ""
    """The fingerprint of the contract that judged; empty if not known."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict itself, with its reply; None if it was not kept."""
        return None if self.body is None else Verdict.from_dict(self.body)


def new_id() -> str:
    """An id that sorts by time, and cannot be guessed.

    >>> len(new_id()), new_id() < new_id()
    (32, True)
    """
    try:
        chance = _chances.pop()
    except IndexError:
        chance = _throw()
    return f"{time.time_ns() // 1_000_000:011x}{next(_turn) & 0xFFFFF:05x}{chance}"


def _throw() -> str:
    """Chances for some more ids: the system is asked once for many."""
    thrown = secrets.token_hex(8 * 256)
    _chances.extend(thrown[at : at + 16] for at in range(0, len(thrown), 16))
    return _chances.pop()


def insert(session: Session, notes: Sequence[Note], redaction: Redaction) -> None:
    """Write verdicts, their bodies and their tallies; one that is there already changes nothing."""
    now = session.now()
    fresh = _unknown(session, notes)
    session.insert("verdicts", [_row(note, now) for note in fresh])
    session.insert("replies", [(note.id, now, body) for note, body in _bodies(fresh, redaction)])
    tallies = _tallies(fresh, now - now % HOUR)
    session.many(
        "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (hour, model, contract, what) DO UPDATE SET n = tallies.n + excluded.n",
        [(*place, n) for place, n in sorted(tallies.items())],  # in one order, so that two writers never wait in a ring
    )


def _unknown(session: Session, notes: Sequence[Note]) -> list[Note]:
    """The notes that are not in the store yet: a group that is written again after a broken connection may be."""
    found = {note.id: note for note in notes}
    ids = list(found)
    for at in range(0, len(ids), 500):
        some = ids[at : at + 500]
        some += some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))  # few statements, each prepared once
        marks = ", ".join("?" * len(some))
        for row in session.run(f"SELECT id FROM verdicts WHERE id IN ({marks})", some):  # noqa: S608
            del found[row[0]]
    return list(found.values())


def read(row: Row) -> Stored:
    """A row of verdicts, with the body behind it or None."""
    values = dict(zip(COLUMNS, row, strict=False))
    for name in _TEXTS:
        values[name] = unpack(values[name])
    body = row[len(COLUMNS)] if len(row) > len(COLUMNS) else None
    return Stored(
        **{
            **{("user" if name == "person" else name): value for name, value in values.items()},
            "at": values["at"] / MICROS,
            "ok": bool(values["ok"]),
            "codes": tuple(values["codes"].split()),
            "latency": values["latency"] / MICROS,
            "body": None if body is None else decode(bytes(body)),
        }
    )


def encode(data: Any) -> bytes:
    """JSON-able data as bytes; half surrogates too, which JSON itself has no bytes for."""
    try:
        return orjson.dumps(data)
    except TypeError:  # a half surrogate, or an integer beyond 64 bits
        import json

        return to_bytes(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def decode(blob: bytes) -> Any:
    """The data of `encode`, integers of any size exact."""
    try:
        return msgspec.json.decode(blob)
    except (msgspec.DecodeError, UnicodeDecodeError):
        import json

        return json.loads(to_text(blob))


def reason_of(verdict: Verdict) -> str:
    """The code of the first error, which is the reason of a refusal; empty when there is none."""
    errors = verdict.findings.errors
    return errors[0].code if errors else ""


def _row(note: Note, now: int) -> tuple[Any, ...]:
    verdict = note.verdict
    usage = verdict.reply.usage
    found = verdict.findings
    codes = " ".join(dict.fromkeys(f.code for f in found)) if found else ""
    return (
        note.id, now, pack(note.request), note.attempt, pack(note.tenant), pack(note.user), pack(note.model),
        pack(note.contract), pack(note.state), int(verdict.ok), pack(note.outcome or _outcome(verdict)),
        reason_of(verdict) if found else "", codes, note.attempts, int(note.latency * MICROS),
        _tokens(usage, "input", "prompt_tokens", "input_tokens"),
        _tokens(usage, "output", "completion_tokens", "output_tokens"), min(note.cost, MOST), pack(note.fingerprint),
    )  # fmt: skip


def _tokens(usage: dict[str, int], *names: str) -> int:
    for name in names:
        count = usage.get(name)
        if isinstance(count, int):
            return min(count, MOST)
    return 0


def _outcome(verdict: Verdict) -> str:
    return "accepted" if verdict.ok else "failed"


def _bodies(notes: Sequence[Note], redaction: Redaction) -> list[tuple[Note, bytes]]:
    """The bodies that are kept, without what must not be; all of them are looked through at once."""
    kept = redaction.bodies
    if kept == "none":
        return []
    written = [(note, _body(note.verdict)) for note in notes if kept == "all" or not note.verdict.ok]
    whole = b"\n".join([body for _, body in written]) if sum(len(body) for _, body in written) <= _AT_ONCE else None
    if whole is not None and not redaction.suspects(whole):
        return written
    return [
        (note, encode(redaction.clean(note.verdict.to_dict())) if redaction.suspects(body) else body)
        for note, body in written
    ]


def _body(verdict: Verdict) -> bytes:
    try:
        return _quick(verdict)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return encode(verdict.to_dict())


def _quick(verdict: Verdict) -> bytes:
    """What `to_dict` says of a usual verdict, written without making it first."""
    reply = verdict.reply
    return _write(
        {
            "ok": verdict.ok, "reason": verdict.reason, "data": verdict.data,
            "findings": [f.to_dict() for f in verdict.findings], "fixes": [f.to_dict() for f in verdict.fixes],
            "calls": verdict.calls, "refused": [{"call": r.call, "findings": [f.to_dict() for f in r.findings]} for r in verdict.refused],
            "metrics": verdict.metrics, "certainty": verdict.certainty, "confidence": verdict.certainty, "hint": verdict.hint,
            "reply": reply if reply.raw is None else msgspec.structs.replace(reply, raw=None),
        }
    )  # fmt: skip


def _tallies(notes: Sequence[Note], hour: int) -> Counter[tuple[int, str, str, str]]:
    """How often what happened: judged replies and their codes, and of each final one how its request ended."""
    alike: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    tallies: Counter[tuple[int, str, str, str]] = Counter()
    for note in notes:
        alike[note.model, note.contract, _what(note)] += 1
        if note.final:
            model, contract = pack(note.model), pack(note.contract)
            tallies[hour, model, contract, "attempts"] += note.own_attempts
            cost = note.cost - sum(each.cost for each in note.given_up)
            tallies[hour, model, contract, "cost"] += min(max(0, cost), MOST)
            for each in note.given_up:
                place = (hour, pack(each.model), contract)
                tallies[*place, "attempts"] += each.attempts
                tallies[*place, "cost"] += min(each.cost, MOST)
                for word in ("asked", "retried", "outcome:failed", f"reason:{pack(each.reason)}"):
                    tallies[*place, word] += 1
    for (model, contract, what), n in alike.items():
        for word in what:
            tallies[hour, pack(model), pack(contract), word] += n
    return tallies


def _what(note: Note) -> tuple[str, ...]:
    """The words that a note counts under."""
    verdict = note.verdict
    what = ["judged"] if verdict.ok else ["judged", "refused"]
    if verdict.findings:
        what += [f"code:{code}" for code in dict.fromkeys(f.code for f in verdict.findings.errors)]
    if note.final:
        outcome = note.outcome or _outcome(verdict)
        what += ["asked", f"outcome:{pack(outcome)}"]
        if outcome == "failed" and not verdict.ok:
            what.append(f"reason:{reason_of(verdict)}")
        if note.own_attempts > 1:
            what.append("retried")
    return tuple(what)
