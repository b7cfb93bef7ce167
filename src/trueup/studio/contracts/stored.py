"""Contracts in the store: their names with the number of verdicts of each, and the versions of one with their refusals.

An answer takes only a moment for any number of verdicts: numbers are counted up to a limit, and shares come from the
newest verdicts if there are many. Each number says so. A key of one tenant gets numbers of that tenant.
"""

from typing import Any

import msgspec

from trueup.store.browsing import Filters, Patience, Search, indexed, seconds
from trueup.store.cells import pack, to_text, unpack
from trueup.store.errors import MICROS
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.studio.contracts.versions import diff_between, written

MOST_COUNTED = 100_000
_SAMPLE = 2_000  # the newest verdicts, whose share of refusals is used for all
_MOST_NAMES = 500
MOST_VERSIONS = 100
_PATIENCE = 0.4  # seconds for one answer
_LABELLED = (
    "SELECT v.contract, count(*) FROM (SELECT DISTINCT l.verdict FROM feedback l LIMIT 50000) l "
    "JOIN verdicts v ON v.id = l.verdict GROUP BY v.contract"
)
_TENANTS = 5_000  # verdicts of a tenant that are read


class BoundedCount(msgspec.Struct):
    """A number of verdicts, as far as was counted."""

    verdicts: int = 0
    capped: bool = False
    """Whether there are more."""
    refused: int = 0
    estimated: bool = False
    """Whether `refused` is estimated from the share among the newest verdicts."""
    first: float | None = None
    last: float | None = None


class StoredContract(BoundedCount):
    """A contract in the store."""

    name: str = ""
    versions: int = 0
    labelled: int | None = None
    """Verdicts with a label; None if they were not counted."""


def known_contracts(store: Store, tenant: str | None = None) -> list[StoredContract]:
    """All contracts that have verdicts in the store, by name."""
    is_over = seconds(_PATIENCE)
    if tenant is not None:
        return store.read(lambda session: _of_tenant(session, tenant, is_over))
    return store.read(lambda session: _all(session, is_over))


def has_judged(store: Store, name: str) -> bool:
    """Whether the store has a verdict of a contract with this name."""
    terms, cell = indexed("contract", name)
    sql = f"SELECT 1 FROM verdicts v WHERE {' AND '.join(terms)} LIMIT 1"  # noqa: S608 - our own words
    return bool(store.read(lambda session: session.run(sql, (cell,))))


def _all(session: Session, is_over: Patience) -> list[StoredContract]:
    versions = {unpack(name): int(n) for name, n in session.run("SELECT name, count(*) FROM contracts GROUP BY name")}
    labelled = {unpack(name): int(n) for name, n in session.run(_LABELLED)}
    found: list[StoredContract] = []
    cell = ""
    while len(found) < _MOST_NAMES:  # jump from one name to the next, past all its verdicts
        rows = session.run(
            "SELECT v.contract FROM verdicts v WHERE v.contract > ? AND v.contract <> '' ORDER BY v.contract LIMIT 1",
            (cell,),
        )
        if not rows:
            break
        cell = rows[0][0]
        name = unpack(cell)
        counted = BoundedCount() if is_over() else _counted(session, *indexed("contract", name))
        found.append(
            StoredContract(
                **msgspec.structs.asdict(counted),
                name=name,
                versions=versions.get(name, 0),
                labelled=labelled.get(name, 0),
            )
        )
    return found


def _of_tenant(session: Session, tenant: str, is_over: Patience) -> list[StoredContract]:
    search = Search(session, Filters(tenant=tenant), columns=("contract", "ok", "fingerprint"), is_over=is_over)
    known: dict[str, StoredContract] = {}
    marks: dict[str, set[str]] = {}
    for at, _, contract, ok, mark in search.rows(_TENANTS):
        name = unpack(contract)
        if name:
            _add(known.setdefault(name, StoredContract(name=name)), at, ok)
            marks.setdefault(name, set()).add(mark)
    for name, each in known.items():
        each.versions, each.capped = len(marks[name] - {""}), not search.is_done
    return sorted(known.values(), key=lambda each: each.name)


def _add(counted: BoundedCount, at: int, ok: int) -> None:
    when = at / MICROS
    counted.verdicts += 1
    counted.refused += not ok
    counted.first = when if counted.first is None else min(counted.first, when)
    counted.last = when if counted.last is None else max(counted.last, when)


def _counted(session: Session, terms: tuple[str, ...], *cells: str) -> BoundedCount:
    """Counts along one index."""
    where = f"FROM verdicts v WHERE {' AND '.join(terms)}"
    n = int(session.run(f"SELECT count(*) FROM (SELECT 1 {where} LIMIT {MOST_COUNTED + 1}) n", cells)[0][0])  # noqa: S608 - our own words, as below
    if not n:
        return BoundedCount()
    newest = f"SELECT v.ok AS ok {where} ORDER BY v.at DESC LIMIT {_SAMPLE}"
    looked, passed = session.run(f"SELECT count(*), sum(ok) FROM ({newest}) n", cells)[0]  # noqa: S608
    ends = [session.run(f"SELECT v.at {where} ORDER BY v.at {way} LIMIT 1", cells)[0][0] for way in ("ASC", "DESC")]
    counted = min(n, MOST_COUNTED)
    estimated = counted > int(looked)
    refused = round((1 - int(passed) / int(looked)) * counted) if estimated else int(looked) - int(passed)
    return BoundedCount(counted, n > MOST_COUNTED, refused, estimated, ends[0] / MICROS, ends[1] / MICROS)


# -- versions ----------------------------------------------------------------------------------


def history(store: Store, name: str, tenant: str | None = None) -> dict[str, Any]:
    """The versions of a contract, oldest first, each with its text and its difference to the previous one."""
    is_over = seconds(_PATIENCE)
    rows = store.read(lambda session: _versions(session, name, tenant, is_over))
    rows.sort(key=lambda row: (row["first"], row["fingerprint"]))
    shown = rows[-MOST_VERSIONS:]
    before: str | None = None
    for row in shown:
        row["text"], row["lost"] = written(row.pop("stored"))
        row["diff"] = None if before is None else diff_between(before, row["text"])
        before = row["text"] or before
    return {"versions": shown, "omitted": len(rows) - len(shown), "complete": not is_over()}


def _versions(session: Session, name: str, tenant: str | None, is_over: Patience) -> list[dict[str, Any]]:
    texts = {
        unpack(mark): (at / MICROS, to_text(text))
        for mark, at, text in session.run("SELECT fingerprint, at, text FROM contracts WHERE name = ?", (pack(name),))
    }
    found: list[dict[str, Any]] = []
    for mark, names in {**{mark: {name} for mark in texts}, **_marks(session, name, is_over)}.items():
        at, text = texts.get(mark) or _text(session, mark)
        counted = _of_version(session, name, mark, tenant, is_over, alone=names == {name})
        if counted.first is None and (tenant is not None or mark not in texts):
            continue  # of another contract, or of another tenant
        row = {**msgspec.structs.asdict(counted), "fingerprint": mark, "name": name, "stored": text}
        found.append({**row, "first": row["first"] or at, "last": row["last"] or at})
    return found


def _marks(session: Session, name: str, is_over: Patience) -> dict[str, set[str]]:
    """The fingerprints among the verdicts of a contract, each with its contract names.

    A name is not part of a fingerprint.
    """
    found: dict[str, set[str]] = {}
    cell = ""
    while not is_over():
        rows = session.run(
            "SELECT v.fingerprint FROM verdicts v WHERE v.fingerprint > ? AND v.fingerprint <> '' ORDER BY v.fingerprint LIMIT 1", (cell,)
        )  # fmt: skip
        if not rows:
            break
        cell = rows[0][0]
        newest = "SELECT v.contract AS name FROM verdicts v WHERE v.fingerprint = ? AND v.fingerprint <> '' ORDER BY v.at DESC LIMIT 500"
        names = {unpack(row[0]) for row in session.run(f"SELECT DISTINCT name FROM ({newest}) n", (cell,))}  # noqa: S608 - our own words
        if name in names:
            found[unpack(cell)] = names
    return found


def _text(session: Session, mark: str) -> tuple[float, str | None]:
    rows = session.run("SELECT at, text FROM contracts WHERE fingerprint = ?", (pack(mark),))
    return (rows[0][0] / MICROS, to_text(rows[0][1])) if rows else (0.0, None)


def _of_version(
    session: Session, name: str, mark: str, tenant: str | None, is_over: Patience, *, alone: bool
) -> BoundedCount:  # fmt: skip
    if tenant is None:
        terms, cell = indexed("fingerprint", mark)
        if alone:
            return _counted(session, terms, cell)
        return _counted(session, (*terms, "v.contract = ?"), cell, pack(name))
    counted = BoundedCount()
    search = Search(
        session, Filters(contract=name, fingerprint=mark, tenant=tenant), columns=("ok",), is_over=is_over
    )  # fmt: skip
    for at, _, ok in search.rows(_TENANTS):
        _add(counted, at, ok)
    counted.capped = not search.is_done
    return counted
