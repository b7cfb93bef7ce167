"""Convert a judged reply, with what is known about its call, into rows of the tables, and back.

Numbers are whole: microseconds, tokens, millionths of money. Secrets are removed before anything is written.
"""

import functools
import itertools
import os
import secrets
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple
from warnings import warn

import msgspec
import orjson

from trueup import __version__
from trueup.store import contexts
from trueup.store.cells import pack, to_bytes, to_text, unpack
from trueup.store.errors import MICROS, MOST
from trueup.store.redaction import MARK, Redaction
from trueup.store.selecting import COLUMNS
from trueup.store.selecting import fact as fact_of
from trueup.store.session import Row, Session
from trueup.verdict.verdict import Verdict

HOUR = 3600 * MICROS
_AT_ONCE = 4_000_000  # bytes searched together
_turn = itertools.count()
_chances: deque[str] = deque()
if hasattr(os, "register_at_fork"):  # after a fork, each process draws its own random numbers
    os.register_at_fork(after_in_child=_chances.clear)
_write = msgspec.json.Encoder().encode
_TEXTS = frozenset(
    {"request", "tenant", "person", "model", "contract", "state", "outcome", "fingerprint", "conversation"}
)
WHOLE, REDACTED, NONE = "whole", "redacted", "none"  # what is left of a reply's text
_WITH_CONTEXT = " context"  # appended to that word if the context was kept
_SOURCES = frozenset({"source", "input", "history", "question"})  # the parts of a context that evidence may quote
_MOST_CONVERSATION = 256
_VERDICTS = f"verdicts ({', '.join(COLUMNS)})"  # by name: a newer trueup may add columns while this process runs


class GivenUp(msgspec.Struct, frozen=True):
    """A model that was asked for a request and then given up for another one."""

    model: str
    attempts: int = 1
    reason: str = ""
    cost: int = 0


class Note(msgspec.Struct, frozen=True):
    """A verdict to be stored, with what the caller knows about the call."""

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
    context: dict[str, Any] | str | None = None  # what the reply was judged with, or only its names: `Store.keepable`
    conversation: str = ""
    rules: Any = None  # the contract itself, whose text is stored once

    @property
    def own_attempts(self) -> int:
        """How many attempts `model` itself took."""
        return self.attempts - sum(each.attempts for each in self.given_up)


class Stored(msgspec.Struct, frozen=True):
    """A stored verdict."""

    id: str
    """The id of the verdict; ids sort by time."""
    at: float
    """When it was stored, in seconds since 1970."""
    request: str
    """The id that all attempts of one request share."""
    attempt: int
    """The number of the attempt in its request."""
    tenant: str
    """The tenant of the request; empty if unknown."""
    user: str
    """The user; empty if unknown."""
    model: str
    """The model that was asked."""
    contract: str
    """The name of the contract."""
    state: str
    """The state that the reply was judged in; empty if there is none."""
    ok: bool
    """Whether the reply passed."""
    outcome: str
    """The outcome of the request."""
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
    """The cost, in millionths of your unit of money."""
    body: dict[str, Any] | None = None
    """The whole verdict, as in `Verdict.to_dict`; None if it was not kept."""
    fingerprint: str = ""
    """The fingerprint of the contract that judged; empty if unknown."""
    engine: str = ""
    """The version of trueup that judged; empty if unknown."""
    conversation: str = ""
    """The conversation that the reply is part of; empty if unknown."""
    context: dict[str, Any] | None = None
    """The stored part of the context that the reply was judged with; None if nothing is known about it."""
    missing: dict[str, str] = {}
    """What is missing of that context: each name with `not_kept`, `too_large`, `redacted` or `expired`; empty if nothing is
    missing. A redacted part is in `context` too, as far as it could be kept. The name `?` means that the store does not know
    the context.
    """
    kept: str = ""
    """The state of the stored text: `whole`, `redacted`, `none` if it was not kept, or `expired`."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict itself, with its reply; None if it was not kept. Its evidence has the texts of the sources if their
        context was kept.
        """
        if self.body is None:
            return None
        verdict = Verdict.from_dict(self.body)
        if verdict.evidence and self.context and not self.missing.keys() & _SOURCES:
            from trueup.grounding.stored import with_texts  # only grounded contracts use it

            verdict.evidence = with_texts(verdict.evidence, self.context)
        return verdict

    @property
    def unjudgeable(self) -> str:
        """Why the reply cannot be judged again: `reply_expired`, `reply_not_kept` or `reply_redacted`; empty if it can."""
        return {"expired": "reply_expired", NONE: "reply_not_kept", REDACTED: "reply_redacted"}.get(self.kept, "")


class RawRow(NamedTuple):
    """One raw row of a store: cheap to read and to send to another process, which decodes it with `stored`.

    Times and money are whole: microseconds since 1970, millionths. Texts are packed (`cells.unpack`), and `codes` are
    separated by spaces.
    """

    id: str
    at: int
    request: str
    attempt: int
    tenant: str
    person: str
    model: str
    contract: str
    state: str
    ok: int
    outcome: str
    reason: str
    codes: str
    attempts: int
    latency: int
    tokens_in: int
    tokens_out: int
    cost: int
    fingerprint: str
    engine: str
    context: str
    """The names of the context, separated by spaces; `?` if unknown."""
    conversation: str
    kept: str
    """`whole`, `redacted` or `none`, followed by `context` if the context was kept; empty for older verdicts."""
    body: bytes | None
    """The verdict as JSON, as in `Verdict.to_dict`; None if it is not stored."""
    values: bytes | None
    """The row of the context; None if there is none."""

    @property
    def place(self) -> "tuple[int, str]":
        """The row's place; `Store.rows` takes it as `after` and `upto`."""
        return self.at, self.id

    def stored(self) -> Stored:
        """The row as `Store.get` returns it."""
        return read(self)


def new_id() -> str:
    """An id that sorts by time and cannot be guessed.

    >>> len(new_id()), new_id() < new_id()
    (32, True)
    """
    try:
        chance = _chances.pop()
    except IndexError:
        chance = _throw()
    return f"{time.time_ns() // 1_000_000:011x}{next(_turn) & 0xFFFFF:05x}{chance}"


def _throw() -> str:
    """Random numbers for some more ids: one system call for many."""
    thrown = secrets.token_hex(8 * 256)
    _chances.extend(thrown[at : at + 16] for at in range(0, len(thrown), 16))
    return _chances.pop()


def insert(session: Session, notes: Sequence[Note], redaction: Redaction, keep: int = 0) -> None:
    """Write verdicts with their bodies, facts and tallies; a verdict that already exists changes nothing.

    `keep` is how many bytes of a context are kept.
    """
    now = session.now()
    fresh = _unknown(session, notes)
    bodies = _bodies(fresh, redaction, keep)
    rows = [_row(note, now, kept[0], redaction) for note, kept in zip(fresh, bodies, strict=True)]
    session.insert(_VERDICTS, rows)
    written = [(note.id, now, kept[1]) for note, kept in zip(fresh, bodies, strict=True) if kept[1] is not None]
    session.insert("replies", written)
    if keep:
        contexts = [(note.id, now, kept[2]) for note, kept in zip(fresh, bodies, strict=True) if kept[2] is not None]
        session.insert("contexts", contexts)
    facts = [
        (fact, now, note.id)
        for note in fresh
        if note.verdict.findings
        for fact in _facts(note.verdict, redaction.words)
    ]
    if facts:
        session.insert("facts", facts)
    tallies = _tallies(fresh, now - now % HOUR)
    session.many(
        "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (hour, model, contract, what) DO UPDATE SET n = tallies.n + excluded.n",
        [(*place, n) for place, n in sorted(tallies.items())],  # in a fixed order, so that writers cannot deadlock
    )


def _facts(verdict: Verdict, words: tuple[str, ...]) -> dict[str, None]:
    """The codes and the rules of the findings, each once."""
    found: dict[str, None] = {}
    for finding in verdict.findings:
        found[fact_of(f"code:{finding.code}")] = None
        rule = finding.data.get("rule")
        if isinstance(rule, str) and rule:
            found[_rule_fact(rule, words)] = None
    return found


@functools.lru_cache(maxsize=1024)
def _rule_fact(rule: str, words: tuple[str, ...]) -> str:
    """A rule may be named by its expression, and an expression may contain a key; it is redacted as in the text of its
    contract.
    """
    return fact_of(f"rule:{Redaction(words=words).clean(rule)}")


def _unknown(session: Session, notes: Sequence[Note]) -> list[Note]:
    """The notes that are not in the store yet: a group that is retried after a broken connection may be."""
    found = {note.id: note for note in notes}
    ids = list(found)
    for at in range(0, len(ids), 500):
        some = ids[at : at + 500]
        # few distinct statements, each prepared once
        some += some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))
        marks = ", ".join("?" * len(some))
        for row in session.run(f"SELECT id FROM verdicts WHERE id IN ({marks})", some):  # noqa: S608
            del found[row[0]]
    return list(found.values())


def read(row: Row) -> Stored:
    """A row of verdicts, followed by the body and the row of the context."""
    values = dict(zip(COLUMNS, row, strict=False))
    for name in _TEXTS:
        values[name] = unpack(values[name])
    body, known = row[len(COLUMNS) :]
    word, _, with_context = values["kept"].partition(" ")
    context, missing = contexts.read(
        values["context"], values["state"], values["conversation"], known, was_kept=bool(with_context)
    )
    if body is None:
        word = NONE if word == NONE else "expired"
    elif not word:  # from before the word was stored
        word = REDACTED if MARK.encode() in bytes(body) else WHOLE
    return Stored(
        **{
            **{("user" if name == "person" else name): value for name, value in values.items()},
            "at": values["at"] / MICROS,
            "ok": bool(values["ok"]),
            "codes": tuple(values["codes"].split()),
            "latency": values["latency"] / MICROS,
            "body": None if body is None else decode(bytes(body)),
            "context": context,
            "missing": missing,
            "kept": word,
        }
    )


def encode(data: Any) -> bytes:
    """JSON-able data as bytes, including half surrogates, which UTF-8 cannot encode."""
    try:
        return orjson.dumps(data)
    except TypeError:  # a half surrogate, or an integer beyond 64 bits
        import json

        return to_bytes(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def decode(blob: bytes) -> Any:
    """The data that `encode` wrote, with exact integers of any size."""
    try:
        return msgspec.json.decode(blob)
    except (msgspec.DecodeError, UnicodeDecodeError):
        import json

        return json.loads(to_text(blob))


def reason_of(verdict: Verdict) -> str:
    """The code of the first error, which is the reason of a refusal; empty if there is none."""
    errors = verdict.findings.errors
    return errors[0].code if errors else ""


def _row(note: Note, now: int, kept: str, redaction: Redaction) -> tuple[Any, ...]:
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
        __version__, _names(contexts.names_of(note.context), redaction), pack(note.conversation[:_MOST_CONVERSATION]), kept,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _names(names: str, redaction: Redaction) -> str:
    """The names of a context, without those that must not be kept."""
    return contexts.clean_names(names, redaction.clean)


def _tokens(usage: dict[str, int], *names: str) -> int:
    for name in names:
        count = usage.get(name)
        if isinstance(count, int):
            return min(count, MOST)
    return 0


def _outcome(verdict: Verdict) -> str:
    return "accepted" if verdict.ok else "failed"


Kept = tuple[str, bytes | None, bytes | None]  # the word about it, the body, and the row of the context


def _bodies(notes: Sequence[Note], redaction: Redaction, keep: int) -> list[Kept]:
    """The kept part of each note, redacted; all bodies are searched together."""
    kept = redaction.bodies
    if kept == "none":
        return [(NONE, None, None)] * len(notes)
    notes = [_unquoted(note) for note in notes]
    written = [_body(note.verdict) if kept == "all" or not note.verdict.ok else None for note in notes]
    some = [body for body in written if body is not None]
    whole = b"\n".join(some) if sum(map(len, some)) <= _AT_ONCE else None
    is_clean = whole is not None and not redaction.suspects(whole)
    if is_clean and not keep:
        return [(NONE if body is None else WHOLE, body, None) for body in written]
    return [
        (NONE, None, None) if body is None else _kept(note, body, redaction, keep, is_clean=is_clean)
        for note, body in zip(notes, written, strict=True)
    ]


def _unquoted(note: Note) -> Note:
    """A note whose verdict does not quote its sources: they belong to the context, which may not be kept, or not as long."""
    verdict = note.verdict
    if not verdict.evidence and all(found.code[0] != "E" for found in verdict.findings):
        return note
    from trueup.grounding.stored import without_texts  # only grounded contracts use it

    return msgspec.structs.replace(note, verdict=without_texts(verdict))


def _kept(note: Note, body: bytes, redaction: Redaction, keep: int, *, is_clean: bool) -> Kept:
    """The kept part of one note. Values of redacted fields are removed from both the context and the reply, whichever has
    them.
    """
    values = _values(note) if keep else None
    rows = None if values is None else contexts.written(values, None, keep)
    suspect = not is_clean and redaction.suspects(body)
    if values is not None and rows is not None and (suspect or redaction.suspects(rows)):
        plain = note.verdict.to_dict()
        shown, known = redaction.clean(
            [plain, [{name: value} for name, value in values.items()]]
        )  # two names must not become one
        rows = contexts.written(values, [next(iter(each.items())) for each in known], keep)
        suspect = encode(shown) != encode(plain)
        body = encode(shown) if suspect else body
    elif suspect:
        plain = note.verdict.to_dict()
        shown = encode(redaction.clean(plain))
        suspect = shown != encode(plain)
        body = shown if suspect else body
    word = REDACTED if suspect else WHOLE
    return (word if rows is None else word + _WITH_CONTEXT), body, rows


def _values(note: Note) -> dict[str, Any] | None:
    """The context to keep; None if there is none, or if columns already have all of it."""
    if not isinstance(note.context, dict):
        return None
    return contexts.values_of(note.context, note.state, note.conversation) or None


def _body(verdict: Verdict) -> bytes:
    try:
        return _quick(verdict)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return encode(verdict.to_dict())


def _quick(verdict: Verdict) -> bytes:
    """The same as `to_dict` for a common verdict, written without building it first."""
    reply = verdict.reply
    return _write(
        {
            "ok": verdict.ok, "reason": verdict.reason, "data": verdict.data,
            "findings": [f.to_dict() for f in verdict.findings], "fixes": [f.to_dict() for f in verdict.fixes],
            "calls": verdict.calls, "refused": [{"call": r.call, "findings": [f.to_dict() for f in r.findings]} for r in verdict.refused],
            "metrics": verdict.metrics, "certainty": verdict.certainty, "confidence": verdict.certainty, "hint": verdict.hint,
            "reply": reply if reply.raw is None else msgspec.structs.replace(reply, raw=None),
            **({"evidence": {path: one.to_dict() for path, one in verdict.evidence.items()}} if verdict.evidence else {}),
        }
    )  # fmt: skip


def _tallies(notes: Sequence[Note], hour: int) -> Counter[tuple[int, str, str, str]]:
    """Count what happened: judged replies and their codes, and for each final one how its request ended."""
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


def __getattr__(name: str) -> Any:
    if name == "Raw":
        warn("trueup.store.records.Raw is deprecated since 0.2; use RawRow", DeprecationWarning, stacklevel=2)
        return RawRow
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
