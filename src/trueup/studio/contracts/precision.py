"""Precision: takes the labels of a contract's verdicts, and returns for each code and rule how many of its refusals
people find right.

The share has a Wilson interval, since labels are few. Codes and rules that refuse but have no label yet are listed too,
so that somebody can label some.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from trueup.labelling.subjects import subjects
from trueup.labelling.summary import NEEDED, Subject, summarise
from trueup.store.browsing import Filters, Patience, Search, seconds
from trueup.store.cells import pack
from trueup.store.selecting import fact
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.studio.contracts.labelled import cases_of, labelled_ids
from trueup.verdict.catalogue import FINDINGS, OWN

_READING, _COUNTING = 0.4, 0.3  # seconds for each part of one answer
_MOST_LABELLED = 5_000
_MOST_REFUSED = 500  # the newest verdicts, for codes without labels
_MOST_FIRED = 10_000


def precision(store: Store, name: str, tenant: str | None = None) -> dict[str, Any]:
    """The precision of a contract's refusals, by code and by rule."""
    is_over = seconds(_READING)
    filters = Filters(contract=name, tenant=tenant)
    labelled = labelled_ids(store, filters, _MOST_LABELLED, is_over)
    said = summarise(cases_of(store, labelled, is_over))
    known: dict[str, Subject | None] = {each.name: each for each in said.subjects}
    recent = store.read(lambda session: _refused(session, filters, is_over))
    for case in cases_of(store, sorted(set(recent) - set(labelled))):
        for subject in subjects(case, errors=True):
            known.setdefault(subject, None)
    complete = not is_over()
    is_late = seconds(_COUNTING)
    fired = store.read(lambda session: _fired(session, filters, known, is_late))
    rows = [_row(name, each, fired.get(name)) for name, each in known.items() if fired.get(name) != 0]
    rows.sort(key=lambda row: (-int(row["labelled"]), -(row["fired"] or 0), row["code"], row["rule"]))
    return {
        "rows": rows, "labelled": said.labelled, "agreement": said.agreement._asdict(),
        "random_sample": {**said.sample._asdict(), "missed": said.sample.missed}, "complete": complete,
    }  # fmt: skip


def _row(name: str, said: Subject | None, fired: int | None) -> dict[str, Any]:
    kind, _, named = name.partition(":")
    right, wrong = (0, 0) if said is None else (said.right, said.wrong)
    interval = None if said is None else said.precision
    return {
        "code": named if kind == "code" else "", "rule": named if kind == "rule" else "", "title": _title(named) if kind == "code" else "",
        "fired": fired, "capped": fired == _MOST_FIRED, "labelled": right + wrong, "right": right, "wrong": wrong,
        "precision": right / (right + wrong) if interval else None, "low": interval.low if interval else None,
        "high": interval.high if interval else None, "needed": NEEDED,
    }  # fmt: skip


def _refused(session: Session, filters: Filters, is_over: Patience) -> list[str]:
    """The newest refusals."""
    search = Search(session, replace(filters, ok=False), is_over=is_over)
    return [row[1] for row in search.rows(_MOST_REFUSED)]


def _fired(session: Session, filters: Filters, names: Iterable[str], is_over: Patience) -> dict[str, int]:
    """How many verdicts have each code or rule, up to a limit; without those that there was no time for."""
    terms, values = ["f.fact = ?", "v.id = f.verdict"], []
    for column, value in (("contract", filters.contract), ("tenant", filters.tenant)):
        if value is not None:
            terms.append(f"v.{column} = ?")
            values.append(pack(value))
    sql = f"SELECT count(*) FROM (SELECT 1 FROM facts f CROSS JOIN verdicts v WHERE {' AND '.join(terms)} LIMIT {_MOST_FIRED}) n"  # noqa: S608
    return {name: int(session.run(sql, (fact(name), *values))[0][0]) for name in names if not is_over()}


def _title(code: str) -> str:
    kind = FINDINGS.get(code) or OWN.get(code)
    return kind.title if kind else ""
