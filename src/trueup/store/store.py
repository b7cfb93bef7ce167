"""Verdicts, replies, feedback, quota and rates in one database; `open_store` opens it.

Writing goes through one thread and is acknowledged after the commit. Reading never waits for it. Threads may share a store;
each process opens its own. If a database cannot do something, a StoreError says why.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from trueup.store import records
from trueup.store.alarm import Alarm
from trueup.store.cells import pack, to_text, unpack
from trueup.store.contexts import bytes_kept, copied, names_of, word_in
from trueup.store.errors import MICROS, StoreBusy, StoreClosed, StoreError, StoreUnavailable, UnknownVerdict
from trueup.store.labels import Imported, Said, feedback_rows, insert_all, label_rows, retract, said_in_groups
from trueup.store.labels import insert as insert_said
from trueup.store.lease import take_lease
from trueup.store.quota import Quota
from trueup.store.readers import Readers
from trueup.store.records import Note, RawRow, Stored, new_id
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention, prune
from trueup.store.schema import migrate
from trueup.store.selecting import COLUMNS, Place, SelectedVerdicts, choose, contains
from trueup.store.session import Backend, Row, Session
from trueup.store.texts import StoredTexts
from trueup.store.writer import Writer
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.store.changes import RulesVersion
    from trueup.store.erasure import Erased
    from trueup.store.stats import ModelRates

T = TypeVar("T")
_TIMES = frozenset({"since", "until", "after", "upto"})
_ROWS = "SELECT " + ", ".join(f"v.{name}" for name in COLUMNS)
_ROWS += ", r.body, c.body FROM verdicts v {} LEFT JOIN replies r ON r.verdict = v.id LEFT JOIN contexts c ON c.verdict = v.id {}"
_MOST_WAITING = 1000  # verdicts in the queue up to which contexts are still kept
_NOBODY = "\x00"  # whose lock is held by nobody's work


class Store:
    """An open store. It is a context manager: at the end of the `with` block, it writes what is queued and closes.

    Created by `open_store`: `backend` is the database, and the other options mean the same as in `open_store`. `quota`
    is its ledger, `retention` and `alarm` are the rules in force.
    """

    def __init__(
        self, backend: Backend, redaction: Redaction | None = None, retention: Retention | None = None,
        capacity: int = 10_000, alarm: Alarm | None = None, *, keep_context: bool | int = False,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._keep = bytes_kept(keep_context)
        self._redaction = redaction or Redaction()
        self.retention = retention or Retention()
        self.alarm = alarm or Alarm()
        self._closed = False
        self._readers = Readers(backend)
        try:
            session = backend.connect(writing=True)
            try:
                migrate(backend, session)
            finally:
                session.close()
            self._texts = StoredTexts()
            self._writer = Writer(backend, self._insert, self._written, capacity)
        except Exception as error:  # noqa: BLE001 - every driver has its own
            raise self._told(error) from None
        self.quota = Quota(self._writer, self.read, self._redaction, self.retention)

    @property
    def backend(self) -> Backend:
        """The database itself, for callers that need their own session."""
        return self._backend

    @property
    def where(self) -> str:
        """The path or address of the database, without a password."""
        return self._backend.where

    @property
    def trouble(self) -> StoreError | None:
        """Why verdicts are waiting to be written, or None if all is well."""
        return self._writer.trouble

    async def areach(self, seconds: float = 5.0) -> StoreError | None:
        """Why the database cannot be written to within this many `seconds`; None if it answers, or if only its disk is full."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wrap_future(self._writer.submit(lambda _: None, _NOBODY, patience=0))
        except (StoreUnavailable, StoreClosed) as gone:
            return gone
        except TimeoutError:
            return StoreBusy(f"{self.where}: nothing could be written for {seconds:g} s")
        except StoreError:
            pass  # `trouble` reports what is waiting to be written
        return None

    @property
    def queued(self) -> int:
        """How many writes are waiting."""
        return self._writer.queued

    @property
    def crowded(self) -> bool:
        """Whether the queue is nearly full; callers that can wait should not start anything new."""
        return self._writer.crowded

    def record_verdict(
        self, verdict: Verdict, *, request: str = "", attempt: int = 1, tenant: str = "", user: str = "",
        model: str = "", contract: Any = "", state: str = "", outcome: str = "", attempts: int = 1,
        latency: float = 0.0, cost: int = 0, final: bool = True, id: str = "", wait: bool = True,  # noqa: A002
        patience: float = 5.0, fingerprint: str = "", context: Mapping[str, Any] | None = None, conversation: str = "",
    ) -> str:  # fmt: skip
        """Store a `verdict` with its reply, and return its id once it is on disk.

        - `request`: an id that all attempts of one request share; empty: each is its own request.
        - `attempt`: the number of the attempt in its request.
        - `tenant`, `user`: whose request it is; empty: unknown.
        - `model`: the model that was asked; empty: the one that the reply names.
        - `contract`: the contract that judged, or only its name; for a contract, its fingerprint and text are stored as well.
          Empty: unknown.
        - `state`: the state that the reply was judged in; empty: that of the `context`, if there is one.
        - `outcome`: the outcome of the request; empty: `accepted` or `failed`, according to the verdict.
        - `attempts`: how many attempts the request took.
        - `latency`: how many seconds the reply took.
        - `cost`: its cost, in millionths of your unit of money.
        - `final`: whether the request ended with this verdict; earlier attempts are stored with False.
        - `id`: an id from elsewhere; empty: a new one.
        - `wait`: whether to wait for the disk; otherwise the id is returned immediately.
        - `patience`: how many seconds to wait for room in a full queue, before StoreBusy or StoreFull is raised.
        - `fingerprint`: the fingerprint of the contract; empty: that of `contract`, if it is one.
        - `context`: the context that the reply was judged with. Its names are stored; its values only with `keep_context`.
          None: unknown.
        - `conversation`: an id that all replies of one conversation share; empty: that of the `context`, if there is one.
        """
        rules = None if isinstance(contract, str) else contract
        if not isinstance(contract, str):
            if not hasattr(contract, "fingerprint"):
                raise TypeError(f"contract must be a Contract or its name; got {type(contract).__name__}")
            contract, fingerprint = contract.name, fingerprint or contract.fingerprint
        judged_with: dict[str, Any] | str | None = None
        if context is not None:
            state, conversation = state or word_in(context, "state"), conversation or word_in(context, "conversation")
            judged_with = copied(context) if self._keep else names_of(context)
        note = Note(
            id or new_id(), verdict, request, attempt, tenant, user, model or verdict.reply.model, contract, state,
            outcome, attempts, latency, cost, final, fingerprint, (), judged_with, conversation, rules,
        )  # fmt: skip
        done = self._writer.record(note, patience, wait=wait)
        if done is not None:
            done.result()
        return note.id

    def note(self, note: Note) -> None:
        """Queue the `note` of a verdict without waiting; a full queue raises StoreBusy or StoreFull."""
        self._writer.record(note, wait=False, patience=0.0)

    async def arecord_verdict(self, verdict: Verdict, **known: Any) -> str:
        """The same for asyncio; waits for room in the queue, and for the disk only with `wait=True`.

        `verdict` and the `known` facts about it mean the same as in `record_verdict`.
        """
        wait = known.pop("wait", False)
        if wait or not self._writer.has_room():
            return await asyncio.to_thread(lambda: self.record_verdict(verdict, wait=wait, **known))
        return self.record_verdict(verdict, wait=False, **known)

    def keepable(self, context: Mapping[str, Any] | None) -> dict[str, Any] | str | None:
        """The part of a `context` that a `Note` keeps: all of it if contexts are kept, otherwise only its names.

        While many writes are waiting, only the names are kept: contexts are large, and must not pile up in the queue.
        """
        if self._keep and context is not None and self._writer.trouble is None and self._writer.queued < _MOST_WAITING:
            return copied(context)
        return None if context is None else names_of(context)

    def record_feedback(
        self, verdict: str, helpful: bool | None = None, *, label: str = "", note: str = "", user: str = "",  # noqa: FBT001 - public
        subject: str = "", outcome: str = "", drawn: str = "",
    ) -> None:  # fmt: skip
        """Store what a person, or a downstream system, says about a verdict or about one of its findings.

        - `verdict`: its id.
        - `helpful`: whether the reply was; None: not stated.
        - `label`, `note`: your own word and text; empty: none.
        - `user`: the author; empty: unknown.
        - `subject`: what it is about: `code:V005` or `rule:NAME` for findings, empty for the verdict as a whole.
        - `outcome`: `right` or `wrong`, whether the verdict or the finding is correct; or a word for the consequence, such as
          `refunded`; empty: not stated.
        - `drawn`: how the reply was chosen: `random` from a random sample, `uncertain` from a queue; empty: otherwise.

        One author's `right` and `wrong` about one subject replace each other; other outcomes add up. Feedback without an
        outcome replaces the same author's earlier feedback without one.
        """
        self.record_all([Said(verdict, helpful, label, note, user, subject, outcome, drawn)])

    def record_all(self, said: Sequence[Said], *, tenant: str | None = None) -> None:
        """Store several pieces of feedback, all or none. Raises UnknownVerdict if a verdict does not exist.

        With a `tenant`, another tenant's verdict does not exist either.
        """
        for each in said:
            each.refuse_odd()
        rows = [each.plain() for each in said]
        self.flush()  # a verdict may have been made a moment ago
        self._writer.submit(lambda session: insert_all(session, rows, self._redaction, tenant)).result()

    def retract(self, said: Sequence[Said], *, tenant: str | None = None) -> int:
        """Delete feedback, each piece named by its verdict, subject, author and outcome; return how many there were.

        Raises UnknownVerdict if a verdict does not exist. With a `tenant`, another tenant's verdict does not exist either.
        """
        rows = [each.plain() for each in said]
        return self._writer.submit(lambda session: retract(session, rows, tenant)).result() if rows else 0

    def import_labels(self, labels: Iterable[Any]) -> Imported:
        """Store `labels` as `Store.labels` or an export of feedback returns them. Returns how many were stored, and how many
        were skipped: those about unknown verdicts, and those about another decision than that of their verdict.

        Importing the same labels again changes nothing. A label older than the stored one is ignored.
        """
        self.flush()
        done = Imported(0, 0)
        for some in said_in_groups(labels):
            more = self._writer.submit(partial(insert_said, said=some, redaction=self._redaction)).result()
            done = Imported(*(one + other for one, other in zip(done, more, strict=True)))
        return done

    def flush(self) -> None:
        """Wait until everything that was queued before is on disk."""
        self._writer.flush()

    def get(self, id: str) -> Stored:  # noqa: A002 - what it is called everywhere
        """The stored verdict with this `id`."""
        rows = self.read(lambda session: session.run(_ROWS.format("", "WHERE v.id = ?"), (pack(id),)))
        if not rows:
            raise UnknownVerdict(f"there is no verdict {id!r}")
        return records.read(rows[0])

    def verdicts(self, *, since: float = 0.0, until: float | None = None, **filters: Any) -> Iterator[Stored]:
        """Stored verdicts in order of arrival, from `since` until `until`, in seconds since 1970; None: until now.

        The `filters` are values that they must have, such as `model="m", ok=False`, or:

        - `code`, `rule`: the code of a finding, or the name of the rule that it broke.
        - `label`: feedback on it, such as `wrong`.
        - `text`: what the reply contains, ignoring case.
        - `limit`: how many at most.
        """
        chosen = choose(since=since, until=until, **filters)
        for row in self._chosen(chosen, "v.at, v.request, v.attempt, v.id"):
            yield records.read(row)

    def rows(self, **filters: Any) -> Iterator[RawRow]:
        """The raw rows of verdicts, by time and id: for callers that read very many, and decode them elsewhere.

        The `filters` are the same as for `verdicts`, plus `after` and `upto`: the rows after one place, up to and
        including another. `ranges` returns places.
        """
        chosen = choose(**filters)
        return map(RawRow._make, self._chosen(chosen, chosen.in_order))

    def ranges(self, size: int, **filters: Any) -> "list[tuple[Place | None, Place]]":
        """Ranges of about `size` verdicts each, as `after` and `upto` of `rows`; together they contain each verdict once.

        The `filters` are the same as for `verdicts`, without `text` and `limit`.
        """
        if all(value is None or name in _TIMES for name, value in filters.items()):
            return self._ranges_in_time(size, filters)
        chosen = choose(**filters)
        sql = f"SELECT v.at, v.id FROM verdicts v {chosen.joins} {chosen.tail(chosen.in_order)}"  # noqa: S608 - our own words, as below
        found: list[tuple[Place | None, Place]] = []
        begin: Place | None = filters.get("after")
        last: Place | None = None
        with self._reading() as session:
            for number, row in enumerate(session.stream(sql, chosen.values, 5000), 1):
                last = (row[0], row[1])
                if number % size == 0:
                    found.append((begin, last))
                    begin, last = last, None
        return found if last is None else [*found, (begin, last)]

    def _ranges_in_time(self, size: int, filters: dict[str, Any]) -> "list[tuple[Place | None, Place]]":
        """The same if only time matters: the index has that order, so the database skips everything between two ends."""
        found: list[tuple[Place | None, Place]] = []
        begin: Place | None = filters.get("after")
        with self._reading() as session:
            for ending in (
                f"v.at, v.id LIMIT 1 OFFSET {int(size) - 1}",
                "v.at DESC, v.id DESC LIMIT 1",
            ):  # whole ranges, then the rest
                while rows := self._places(session, {**filters, "after": begin}, ending):
                    found.append((begin, rows[0]))
                    begin = rows[0]
        return found

    @staticmethod
    def _places(session: "Session", filters: dict[str, Any], ending: str) -> "list[Place]":
        chosen = choose(**filters)
        sql = f"SELECT v.at, v.id FROM verdicts v {chosen.where} ORDER BY {ending}"  # noqa: S608 - our own words
        return [(row[0], row[1]) for row in session.run(sql, chosen.values)]

    def count(self, **filters: Any) -> int:
        """How many verdicts there are; the `filters` are the same as for `verdicts` and `rows`."""
        chosen = choose(**filters)
        if chosen.text:
            return sum(1 for _ in self._chosen(chosen, chosen.in_order))
        inner = f"SELECT 1 FROM verdicts v {chosen.joins} {chosen.where}"  # noqa: S608
        inner += "" if chosen.limit is None else f" LIMIT {chosen.limit}"
        return int(self.read(lambda session: session.run(f"SELECT count(*) FROM ({inner}) n", chosen.values))[0][0])  # noqa: S608

    def _chosen(self, chosen: SelectedVerdicts, order: str) -> "Iterator[Row]":
        left = chosen.limit
        with self._reading() as session:
            rows = session.stream(_ROWS.format(chosen.joins, chosen.tail(order)), chosen.values)
            if not chosen.text:
                yield from rows
                return
            for row in rows:
                if left == 0:
                    return
                if contains(row[-2], chosen.text):
                    left = None if left is None else left - 1
                    yield row

    def contract_text(self, fingerprint: str) -> str | None:
        """The definition of the contract with this `fingerprint`, as JSON; None if it is unknown.

        `trueup.contract.text.rebuilt` builds the contract from it.
        """
        rows = self.read(
            lambda session: session.run("SELECT text FROM contracts WHERE fingerprint = ?", (pack(fingerprint),))
        )
        return to_text(rows[0][0]) if rows else None

    def contracts(self) -> list[dict[str, Any]]:
        """Every contract whose text is stored, oldest first: `fingerprint`, `name`, `at` (seconds since 1970) and `text`."""
        rows = self.read(
            lambda session: session.run("SELECT fingerprint, name, at, text FROM contracts ORDER BY at, fingerprint")
        )
        return [
            {"fingerprint": unpack(mark), "name": unpack(name), "at": at / MICROS, "text": to_text(text)}
            for mark, name, at, text in rows
        ]

    def feedback(self, verdict: str = "") -> list[dict[str, Any]]:
        """Feedback on the `verdict` with this id; empty: on all."""
        return self.read(lambda session: list(feedback_rows(session, verdict)))

    def labels(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Feedback of people and systems, each piece as a label: `verdict`, `outcome`, `author`, `at`, `subject`, `note`,
        `drawn`, and `decided`, which is `accepted` or `refused`.

        The `filters` are `verdicts` (their ids), `outcome`, `author`, `subject`, `drawn`, `since` and `until`. Feedback that
        only says whether a reply was helpful has the outcome `helpful` or `not_helpful`; a mere note has `comment`.
        """
        with self._reading() as session:
            yield from label_rows(session, **filters)

    def stats(self, **options: Any) -> "list[ModelRates]":
        """Rates of each model, oldest first.

        The `options` are `by` (`hour`, `day` or `all`), `since` and `until` (seconds since 1970), `model` and `contract`.
        """
        from trueup.store.stats import rates

        return self.read(lambda session: rates(session, **options))

    def rules(self, *, contract: str | None = None, since: float = 0.0) -> "list[RulesVersion]":
        """Each version of a contract's rules that has verdicts, oldest first, with how many of them refused.

        `contract` is the name of one; None: all. `since` is in seconds since 1970.
        """
        from trueup.store.changes import changes

        return self.read(lambda session: changes(session, contract, since))

    def export(self, path: str | Path, what: str = "verdicts", **options: Any) -> int:
        """Write `what`, `verdicts`, `feedback` or `labels`, to the .jsonl, .csv or .parquet file at `path`, and return the
        number of rows.

        The `options` are the same as for `verdicts` or `labels`, plus `bodies`: whether replies and contexts are
        written too.
        """
        from trueup.store.export import export

        return export(self, Path(path), what, **options)

    def prune(self, retention: Retention | None = None, *, rest: float = 0.0) -> dict[str, int]:
        """Delete what is older than `retention` allows, and return how many rows of each kind; None: the store's own
        retention.

        Deletes a few rows at a time, and then waits `rest` times as long: with 3, other writers have three quarters of the
        time.
        """
        try:
            return prune(self._writer, retention or self.retention, rest)
        finally:
            self._texts.forget()

    def erase(self, tenant: str, user: str | None = None, *, sums: bool = False, dry: bool = False) -> "Erased":
        """Delete everything the store has about a `tenant`, or about one `user` of it, and return how many rows of each kind.

        Usage stays in the sums of the tenant and its models; `sums` deletes these too, and the tenant's limits. With `dry`,
        nothing is deleted. Requests in progress are left alone.
        """
        from trueup.store.erasure import Eraser, Whose, preview, shred_log

        whose = Whose(pack(tenant), None if user is None else pack(user))
        self.flush()
        if dry:
            return self.read(lambda session: preview(session, whose, sums=sums))
        erased = Eraser(self._writer, self._reading, self.quota, whose, sums=sums).run()
        shred_log(self._backend)
        return erased

    def lease(self, name: str, seconds: float) -> bool:
        """Whether this process may now do the work called `name`; no other process, on any machine, may for `seconds`."""
        return take_lease(self._writer, name, seconds)

    def follow(self, redaction: Redaction, retention: Retention, *, keep_context: bool | int = False) -> None:
        """Use another `redaction`, `retention` and `keep_context` from the next verdict on."""
        self._redaction, self.retention, self._keep = redaction, retention, bytes_kept(keep_context)

    def read(self, work: Callable[[Session], T]) -> T:
        """Call `work` with a read-only session that sees the store at one instant."""
        with self._reading() as session:
            return work(session)

    def close(self) -> None:
        """Write what is queued, then close; raises StoreFull for what could not be written."""
        self._closed = True
        self._readers.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _reading(self) -> AbstractContextManager[Session]:
        if self._closed:
            raise StoreClosed(f"{self.where}: the store is closed; open it again")
        return self._readers.session()

    def _insert(self, session: Session, notes: Sequence[Note]) -> None:
        records.insert(session, notes, self._redaction, self._keep)
        self._texts.insert(session, notes, self._redaction)

    def _written(self, notes: Sequence[Note]) -> None:
        self._texts.written(notes)
        self.alarm.note(notes)

    def _told(self, error: Exception) -> Exception:
        return error if isinstance(error, StoreError) else self._backend.explain(error) or error
