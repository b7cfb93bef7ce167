"""Store: verdicts, replies, feedback, quota and rates in one database; `open_store` makes one.

Writing goes through one thread and is acknowledged after the commit. Reading never waits for it. Threads may share
a store; each process opens its own. A database that cannot do something raises a StoreError that says why.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from trueup.store import records
from trueup.store.alarm import Alarm
from trueup.store.cells import pack, to_bytes
from trueup.store.errors import MICROS, StoreBusy, StoreClosed, StoreError, StoreUnavailable, UnknownVerdict
from trueup.store.lease import take_lease
from trueup.store.quota import Quota
from trueup.store.readers import Readers
from trueup.store.records import COLUMNS, Note, Stored, new_id
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention, prune
from trueup.store.schema import migrate
from trueup.store.session import Backend, Session
from trueup.store.writer import Writer
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.store.changes import Change
    from trueup.store.erasure import Erased
    from trueup.store.stats import Rate

T = TypeVar("T")
_ROWS = "SELECT " + ", ".join(f"v.{name}" for name in COLUMNS)
_ROWS += ", r.body FROM verdicts v LEFT JOIN replies r ON r.verdict = v.id"
_NOBODY = "\x00"  # whose lock is held by nobody's work


class Store:
    """An open store. It is a context manager; leaving it writes what is queued and closes it.

    Made by `open_store`: `backend` is the database, and the other options are those of `open_store`. `quota` is its ledger, `retention`
    and `alarm` are those in force.
    """

    def __init__(
        self, backend: Backend, redaction: Redaction | None = None, retention: Retention | None = None,
        capacity: int = 10_000, alarm: Alarm | None = None,
    ) -> None:  # fmt: skip
        self._backend = backend
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
            self._writer = Writer(backend, self._insert, lambda notes: self.alarm.note(notes), capacity)
        except Exception as error:  # noqa: BLE001 - every driver has its own
            raise self._told(error) from None
        self.quota = Quota(self._writer, self.read, self._redaction, self.retention)

    @property
    def backend(self) -> Backend:
        """The database behind it, for whoever needs a session of their own."""
        return self._backend

    @property
    def where(self) -> str:
        """The path or address of the database, without a password."""
        return self._backend.where

    @property
    def trouble(self) -> StoreError | None:
        """Why verdicts wait to be written, or None when all is well."""
        return self._writer.trouble

    async def areach(self, seconds: float = 5.0) -> StoreError | None:
        """Why the database cannot be written to within some `seconds`; None if it answers, or if only its disk is full."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wrap_future(self._writer.submit(lambda _: None, _NOBODY, patience=0))
        except (StoreUnavailable, StoreClosed) as gone:
            return gone
        except TimeoutError:
            return StoreBusy(f"{self.where}: nothing could be written for {seconds:g} s")
        except StoreError:
            pass  # `trouble` tells of what waits to be written
        return None

    @property
    def queued(self) -> int:
        """How many writes are waiting."""
        return self._writer.queued

    @property
    def crowded(self) -> bool:
        """Whether the queue is nearly full; who can wait should not begin anything new."""
        return self._writer.crowded

    def record_verdict(
        self, verdict: Verdict, *, request: str = "", attempt: int = 1, tenant: str = "", user: str = "",
        model: str = "", contract: Any = "", state: str = "", outcome: str = "", attempts: int = 1,
        latency: float = 0.0, cost: int = 0, final: bool = True, id: str = "", wait: bool = True,  # noqa: A002
        patience: float = 5.0, fingerprint: str = "",
    ) -> str:  # fmt: skip
        """Store a `verdict` with its reply, and return its id once it is on disk.

        - `request`: an id that all attempts of one request share; empty: each stands alone.
        - `attempt`: the number of the attempt in its request.
        - `tenant`, `user`: whose request it is; empty: not known.
        - `model`: the model that was asked; empty: as the reply names it.
        - `contract`: the contract that judged, or only its name; of a contract, the fingerprint is stored as well. Empty: not known.
        - `state`: the state that the reply was judged in; empty: none.
        - `outcome`: what came of the request; empty: `accepted` or `failed`, as the verdict says.
        - `attempts`: how many attempts the request took.
        - `latency`: how many seconds the reply took.
        - `cost`: what it cost, in millionths of your unit of money.
        - `final`: whether the request ended with this verdict; earlier attempts are stored with False.
        - `id`: an id from elsewhere; empty: a new one.
        - `wait`: whether to wait for the disk; otherwise the id comes immediately.
        - `patience`: how many seconds to wait for room in a full queue, before StoreBusy or StoreFull is raised.
        - `fingerprint`: the fingerprint of the contract; empty: that of `contract`, if it is one.
        """
        if not isinstance(contract, str):
            if not hasattr(contract, "fingerprint"):
                raise TypeError(f"contract must be a Contract or its name; got {type(contract).__name__}")
            contract, fingerprint = contract.name, fingerprint or contract.fingerprint
        note = Note(
            id or new_id(), verdict, request, attempt, tenant, user, model or verdict.reply.model, contract, state,
            outcome, attempts, latency, cost, final, fingerprint,
        )  # fmt: skip
        done = self._writer.record(note, wait, patience)
        if done is not None:
            done.result()
        return note.id

    def note(self, note: Note) -> None:
        """Queue the `note` of a verdict, and wait for nothing; a full queue is StoreBusy, or StoreFull."""
        self._writer.record(note, wait=False, patience=0.0)

    async def arecord_verdict(self, verdict: Verdict, **known: Any) -> str:
        """The same for asyncio; waits for room in the queue, and for the disk only with `wait=True`.

        `verdict` and what is `known` beside it are those of `record_verdict`.
        """
        wait = known.pop("wait", False)
        if wait or not self._writer.has_room():
            return await asyncio.to_thread(lambda: self.record_verdict(verdict, wait=wait, **known))
        return self.record_verdict(verdict, wait=False, **known)

    def record_feedback(
        self, verdict: str, helpful: bool | None = None, *, label: str = "", note: str = "", user: str = ""
    ) -> None:
        """Store what a person thinks of a verdict; a later word of the same person replaces the earlier one.

        `verdict` is its id. `helpful` says whether the reply was; None: not said. `label` is a word of your own, `note` a text and `user`
        the person; empty: not said.
        """

        def work(session: Session) -> None:
            if not session.run("SELECT 1 FROM verdicts WHERE id = ?", (verdict,)):
                raise UnknownVerdict(f"there is no verdict {verdict!r}; ids come from record_verdict")
            session.run(
                "INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (verdict, person) DO UPDATE SET "
                "at = excluded.at, helpful = excluded.helpful, label = excluded.label, note = excluded.note",
                (verdict, pack(user), session.now(), None if helpful is None else int(helpful), pack(label),
                 to_bytes(str(self._redaction.clean(note)))),
            )  # fmt: skip

        self.flush()
        self._writer.submit(work).result()

    def flush(self) -> None:
        """Wait until everything that was queued before is on disk."""
        self._writer.flush()

    def get(self, id: str) -> Stored:  # noqa: A002 - what it is called everywhere
        """The stored verdict with this `id`."""
        rows = self.read(lambda session: session.run(f"{_ROWS} WHERE v.id = ?", (pack(id),)))
        if not rows:
            raise UnknownVerdict(f"there is no verdict {id!r}")
        return records.read(rows[0])

    def verdicts(self, *, since: float = 0.0, until: float | None = None, **equal: Any) -> Iterator[Stored]:
        """Stored verdicts in the order they came, from `since` until `until`, in seconds since 1970; None: until now.

        `equal` are values that they must have, such as `model="m", ok=False`.
        """
        terms: list[str] = ["v.at >= ?"]
        values: list[str | int] = [int(since * MICROS)]
        if until is not None:
            terms.append("v.at < ?")
            values.append(int(until * MICROS))
        for name, value in equal.items():
            column = {"user": "person"}.get(name, name)
            if column not in COLUMNS:
                raise ValueError(f"verdicts have no {name!r}; they have {', '.join(COLUMNS)}")
            terms.append(f"v.{column} = ?")
            values.append(pack(value) if isinstance(value, str) else int(value))
        sql = f"{_ROWS} WHERE {' AND '.join(terms)} ORDER BY v.at, v.request, v.attempt, v.id"
        with self._reading() as session:
            yield from map(records.read, session.stream(sql, values))

    def feedback(self, verdict: str = "") -> list[dict[str, Any]]:
        """What people said about the `verdict` with this id; empty: about all."""
        from trueup.store.export import feedback_rows

        return list(self.read(lambda session: list(feedback_rows(session, verdict))))

    def stats(self, **options: Any) -> "list[Rate]":
        """Rates of each model, oldest first.

        The `options` are `by` (`hour`, `day` or `all`), `since` and `until` (seconds since 1970), `model` and `contract`.
        """
        from trueup.store.stats import rates

        return self.read(lambda session: rates(session, **options))

    def rules(self, *, contract: str | None = None, since: float = 0.0) -> "list[Change]":
        """Each set of rules that verdicts were made under, oldest first, with how many of them refused.

        `contract` is the name of one; None: all. `since` is in seconds since 1970.
        """
        from trueup.store.changes import changes

        return self.read(lambda session: changes(session, contract, since))

    def export(self, path: str | Path, what: str = "verdicts", **options: Any) -> int:
        """Write `what`, `verdicts` or `feedback`, into the .jsonl, .csv or .parquet file at `path`, and return how many rows.

        The `options` are those of `verdicts`, and `bodies`: whether replies are written too.
        """
        from trueup.store.export import export

        return export(self, Path(path), what, **options)

    def prune(self, retention: Retention | None = None, *, rest: float = 0.0) -> dict[str, int]:
        """Delete what is older than `retention` says, and return how many rows of what; None: the store's own retention.

        It deletes a few rows at a time, and then waits `rest` times as long: with 3, other writers have three quarters of the time.
        """
        return prune(self._writer, retention or self.retention, rest)

    def erase(self, tenant: str, user: str | None = None, *, sums: bool = False, dry: bool = False) -> "Erased":
        """Delete what the store knows about a `tenant`, or about one `user` of it, and return how many rows of what.

        What was used stays in the sums of the tenant and its models; with `sums` these go too, and the tenant's limits. With `dry` nothing
        is deleted. Requests under way are left.
        """
        from trueup.store.erasure import Eraser, Whose, preview, shred_log

        whose = Whose(pack(tenant), None if user is None else pack(user))
        self.flush()
        if dry:
            return self.read(lambda session: preview(session, whose, sums))
        erased = Eraser(self._writer, self._reading, self.quota, whose, sums).run()
        shred_log(self._backend)
        return erased

    def lease(self, name: str, seconds: float) -> bool:
        """Whether this process may do the work called `name`; no other one, on any machine, may for some `seconds` then."""
        return take_lease(self._writer, name, seconds)

    def follow(self, redaction: Redaction, retention: Retention) -> None:
        """Use another `redaction` and `retention` from the next verdict on."""
        self._redaction, self.retention = redaction, retention

    def read(self, work: Callable[[Session], T]) -> T:
        """Call `work` with a session that sees the store as of one instant, and writes nothing."""
        with self._reading() as session:
            return work(session)

    def close(self) -> None:
        """Write what is queued, then close; what could not be written raises StoreFull."""
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
        records.insert(session, notes, self._redaction)

    def _told(self, error: Exception) -> Exception:
        return error if isinstance(error, StoreError) else self._backend.explain(error) or error
