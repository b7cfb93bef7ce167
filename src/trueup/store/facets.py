"""Count the verdicts that match some filters, in total and by model, contract, code and so on.

Each number is exact, or marked as a lower bound: counting stops at a cap, or when the caller's patience is over. A facet
ignores its own filter, so it shows what another value would give. If the time range has no more verdicts than the cap, all of
them are read together, and patience matters only for a text search.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from trueup.store.browsing import (
    Count,
    Filters,
    Patience,
    Search,
    by_ids,
    condition,
    groups,
    holders,
    indexed,
    label_terms,
)
from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS
from trueup.store.selecting import MOST, fact
from trueup.store.session import Row, Session

CAP = 10_000
_COLUMNS = ("model", "contract", "state", "tenant", "outcome", "ok", "codes")
FACETS = ("model", "contract", "state", "tenant", "outcome", "ok", "code", "rule", "label")
_SMALL = 2_000  # verdicts sampled to find frequent values
_MOST_VALUES = 100  # values per facet
_MOST_PROBES = 40  # values per facet
_MOST_STEPS = 2_000  # values searched for a prefix
_MOST_PROBED = 500  # verdicts of a rare value
_WORDS = {1: "helpful", 0: "not_helpful"}
_HOUR = 3600 * MICROS
_ONLY_TIME = frozenset({"since", "until"})


class Counts(NamedTuple):
    """How many verdicts match the filters."""

    total: Count
    facets: dict[str, dict[str, Count]]
    """The values of each facet, most frequent first."""
    is_hurried: bool
    """Whether the patience was over, so that more of it may give better numbers."""


class _Sample(NamedTuple):
    """The newest verdicts that match the filters, or all of them."""

    total: Count
    is_whole: bool
    values: dict[str, Counter[str]]


_Looked = tuple[_Sample, Callable[[str], _Sample]]
"""The matches of all filters, and for each facet the matches without its own filter."""


def counts(
    session: Session, filters: Filters, is_over: Patience | None = None, *, cap: int = CAP, is_shared: bool = True
) -> Counts:
    """The numbers under the filters. Set `is_shared` to False if values of other tenants must not be revealed."""
    patience = is_over or (lambda: False)
    look = _together if _size(session, filters, cap + 1) <= cap else _apart
    sample, known_of = look(session, filters, cap, patience, is_shared=is_shared)
    facets: dict[str, dict[str, Count]] = {facet: {} for facet in FACETS}
    is_whole = sample.is_whole
    for facet in sorted(FACETS, key=lambda each: (getattr(filters, each) is None, each != "ok")):  # visible first
        given = None if facet == "tenant" and not is_shared else getattr(filters, facet)
        known = sample if given is None else known_of(facet)
        is_whole = is_whole and known.is_whole
        found = {value: Count(n, known.is_whole) for value, n in known.values[facet].items()}
        if is_shared and not known.is_whole:
            _complete(session, _without(filters, facet), facet, found, cap, patience)
        if given is not None:  # chosen values are already counted, often more exactly than beside the others
            word = _word(given)
            found[word] = max(sample.total, found.get(word, sample.total), key=lambda count: (count.is_exact, count.n))
        often = known.values[facet]
        ordered = sorted(found.items(), key=lambda item: (-item[1].n, -often[item[0]], item[0]))
        facets[facet] = dict(ordered[:_MOST_VALUES])
    return Counts(sample.total, facets, not is_whole and patience())


def values(session: Session, facet: str, begins: str = "", most: int = 50) -> list[str]:
    """Values that a facet has anywhere in the store and that start with this prefix, in index order.

    If there are very many values, finds only those that start with the prefix as written, or with other usual capitals.
    """
    if facet == "ok":
        found = ["false", "true"]
    elif begins:
        starts = dict.fromkeys(("", begins, begins.lower(), begins.upper(), begins.capitalize()))
        found = [value for start in starts for value in _values(session, facet, start, most if start else _MOST_STEPS)]
    else:
        found = _values(session, facet, "", most)
    wanted = begins.casefold()
    return [value for value in dict.fromkeys(found) if value.casefold().startswith(wanted)][:most]


def _values(session: Session, facet: str, start: str, most: int) -> list[str]:
    """This many values of a facet, beginning at a start."""

    def steps(table: str, column: str, where: str, start: str = start) -> list[str]:
        cells = _steps(session, table, column, where, pack(start), most)
        is_cut = column.startswith("substr")  # the index has only the beginning of a long text
        return [unpack(cell) for cell in cells if len(cell) < MOST or not is_cut]

    if facet in ("code", "rule"):
        prefix = f"{facet}:"
        told = steps("facts", "fact", "fact <> ''", f"{prefix}{start}")
        return [said.removeprefix(prefix) for said in told if said.startswith(prefix)]
    if facet == "label":
        found = steps("feedback", "outcome", "outcome <> ''")
        found += steps("feedback", f"substr(label, 1, {MOST})", "label <> ''")
        return found + [word for said, word in _WORDS.items() if session.run(f"SELECT 1 FROM feedback WHERE helpful = {said} AND helpful IS NOT NULL LIMIT 1")]  # noqa: S608 # fmt: skip
    if facet in ("state", "tenant"):
        return steps("verdicts", f"substr({facet}, 1, {MOST})", f"{facet} <> ''")
    if facet == "outcome":
        return [*steps("verdicts", "outcome", "outcome <> 'accepted'"), "accepted"]
    return steps("verdicts", facet, f"{facet} <> ''")


def times(session: Session, filters: Filters) -> list[tuple[float, int, int]]:
    """Judged and refused replies by hour, as counted on arrival; only time, model, contract and `ok` matter."""
    terms, cells = ["hour >= ?"], [round((filters.since or 0.0) * MICROS) // _HOUR * _HOUR]
    more: list[Any] = []
    if filters.until is not None:
        terms.append("hour < ?")
        more.append(round(filters.until * MICROS))
    for name in ("model", "contract"):
        if (value := getattr(filters, name)) is not None:
            terms.append(f"{name} = ?")
            more.append(pack(value))
    where = " AND ".join(terms)
    rows = session.run(
        f"SELECT hour, what, sum(n) FROM tallies WHERE {where} AND what IN ('judged', 'refused') GROUP BY hour, what",  # noqa: S608
        [*cells, *more],
    )
    hours: dict[int, Counter[str]] = {}
    for hour, what, n in rows:
        hours.setdefault(hour, Counter())[what] = int(n)
    found = [(hour / MICROS, n["judged"], n["refused"]) for hour, n in sorted(hours.items())]
    if filters.ok is None:
        return found
    return [(at, judged - refused, 0) if filters.ok else (at, refused, refused) for at, judged, refused in found]


def _steps(session: Session, table: str, column: str, where: str, start: str, most: int) -> list[str]:
    """The distinct values of an indexed column, beginning at a start; skips the rows between them."""
    rows = session.run(
        f"WITH RECURSIVE steps (x, n) AS ("  # noqa: S608 - our own words
        f"SELECT (SELECT {column} FROM {table} WHERE {where} AND {column} >= ? ORDER BY {column} LIMIT 1), 1 UNION ALL "
        f"SELECT (SELECT {column} FROM {table} WHERE {where} AND {column} > steps.x ORDER BY {column} LIMIT 1), n + 1 "
        f"FROM steps WHERE x IS NOT NULL AND n < {int(most)}) SELECT x FROM steps WHERE x IS NOT NULL",
        (start,),
    )
    return [row[0] for row in rows]


def _size(session: Session, filters: Filters, most: int) -> int:
    """How many verdicts the time range of the filters has, up to `most`."""
    times, values = _times(filters, "v.at")
    sql = f"SELECT count(*) FROM (SELECT 1 FROM verdicts v WHERE {' AND '.join(times)} LIMIT {int(most)}) n"  # noqa: S608 - our own words
    return int(session.run(sql, values)[0][0])


def _together(session: Session, filters: Filters, cap: int, is_over: Patience, *, is_shared: bool) -> _Looked:  # noqa: ARG001
    """Samples of a time range with few verdicts: each is read once, for all facets."""
    apart = [facet for facet in FACETS if getattr(filters, facet) is not None and (is_shared or facet != "tenant")]
    base, cells = condition(replace(filters, **dict.fromkeys(apart)))
    times, moments = _times(filters, "v.at")
    said = [condition(Filters(**{facet: getattr(filters, facet)})) for facet in apart]
    missed = ", ".join(f"CASE WHEN {term} THEN 0 ELSE 1 END AS missed_{n}" for n, (term, _) in enumerate(said))
    columns = ", ".join(f"v.{name}" for name in ("id", *_COLUMNS))
    found = session.run(
        f"SELECT * FROM (SELECT {columns}{missed and ', '}{missed} FROM verdicts v WHERE {' AND '.join((base, *times))} ORDER BY v.at DESC) n "  # noqa: S608 - our own words
        f"WHERE {' + '.join(f'missed_{n}' for n in range(len(apart))) or '0'} <= 1",
        [cell for _, some in said for cell in some] + [*cells, *moments],
    )
    rows, is_whole = (found, True) if filters.text is None else _with_text(session, found, filters.text, is_over)
    width = 1 + len(_COLUMNS)
    values = _counted(session, [row for row in rows if not any(row[width:])], FACETS)
    others = {
        facet: _counted(session, [row for row in rows if row[width + n]], (facet,)) for n, facet in enumerate(apart)
    }
    total = Count(sum(not any(row[width:]) for row in rows), is_whole)
    sample = _Sample(total, is_whole, values)
    return sample, lambda facet: _Sample(total, is_whole, {facet: values[facet] + others[facet][facet]})


def _with_text(session: Session, found: Sequence[Row], text: str, is_over: Patience) -> tuple[list[Row], bool]:
    """The rows whose reply contains a text, and whether all were read."""
    rows: list[Row] = []
    for number, some in enumerate(groups(found)):
        if number and is_over():
            return rows, False
        holding = holders(session, [row[0] for row in some], text)
        rows += [row for row in some if row[0] in holding]
    return rows, True


def _apart(session: Session, filters: Filters, cap: int, is_over: Patience, *, is_shared: bool) -> _Looked:
    """Samples of the matches among many verdicts; for each facet, without its own filter."""

    def known_of(facet: str) -> _Sample:
        return _sampled(session, _without(filters, facet), (facet,), cap, is_over, is_shared=is_shared)

    return _sampled(session, filters, FACETS, cap, is_over, is_shared=is_shared), known_of


def _sampled(
    session: Session, filters: Filters, facets: Sequence[str], cap: int, is_over: Patience, *, is_shared: bool
) -> _Sample:
    """The newest verdicts that match the filters, up to the cap; only a few of them if indexes have the numbers."""
    is_told = is_shared and _is_only_time(filters)
    search = Search(session, filters, columns=_COLUMNS, is_over=is_over)
    rows = [row[1:] for row in search.rows(min(cap, _SMALL) if is_told else cap)]
    total = Count(cap, is_exact=False) if is_told else Count(len(rows), search.is_done)
    return _Sample(total, search.is_done, _counted(session, rows, facets))


def _is_only_time(filters: Filters) -> bool:
    return all(getattr(filters, name) is None for name in filters.__struct_fields__ if name not in _ONLY_TIME)


def _without(filters: Filters, facet: str) -> Filters:
    return replace(filters, **{facet: None})


def _counted(session: Session, rows: Sequence[Row], facets: Sequence[str]) -> dict[str, Counter[str]]:
    """How often each value of some facets occurs in rows of `(id, *columns)`."""
    found: dict[str, Counter[str]] = {facet: Counter() for facet in facets}
    alike = Counter(row[1 : 1 + len(_COLUMNS)] for row in rows)
    for (*cells, ok, codes), n in alike.items():
        for name, cell in zip(_COLUMNS, cells, strict=False):
            if name in found and cell:
                found[name][unpack(cell)] += n
        if "ok" in found:
            found["ok"]["true" if ok else "false"] += n
        if "code" in found:
            for code in codes.split():
                found["code"][code] += n
    if "rule" in found:
        found["rule"].update(_rules(session, [row[0] for row in rows if row[len(_COLUMNS)]]))
    if "label" in found:
        found["label"].update(_labels(session, [row[0] for row in rows]))
    return found


def _rules(session: Session, ids: Sequence[str]) -> Iterable[str]:
    told = {(row[0], row[1]) for row in by_ids(session, "SELECT verdict, fact FROM facts WHERE verdict IN ({})", ids)}
    return (unpack(cell).removeprefix("rule:") for _, cell in told if cell.startswith("rule:"))


def _labels(session: Session, ids: Sequence[str]) -> Iterable[str]:
    told: set[tuple[str, str]] = set()
    sql = "SELECT verdict, outcome, label, helpful FROM feedback WHERE verdict IN ({})"
    for about, outcome, label, helpful in by_ids(session, sql, ids):
        words = (outcome, label, "" if helpful is None else _WORDS[helpful])
        told.update((about, unpack(word)) for word in words if word)
    return (word for _, word in told)


def _complete(
    session: Session, filters: Filters, facet: str, found: dict[str, Count], cap: int, is_over: Patience
) -> None:
    """Add what a sample of the newest verdicts lacks: values that are not in it and, if only time matters, exact numbers."""
    is_only_time = _is_only_time(filters)
    known = values(session, facet, most=_MOST_PROBES + 1)
    if len(known) > _MOST_PROBES:  # to find a rare value, type its beginning
        known = [value for value, _ in sorted(found.items(), key=lambda item: -item[1].n)[:_MOST_VALUES]]
    for value in known:
        if is_over():
            found.setdefault(value, Count(0, is_exact=False))
        elif is_only_time:
            found[value] = _indexed(session, filters, facet, value, cap) or _probe(
                session, filters, facet, value, cap, is_over
            )
        elif value not in found:
            found[value] = _probe(session, filters, facet, value, _MOST_PROBED, is_over)
    for value in [value for value, count in found.items() if not count.n and count.is_exact]:
        del found[value]


def _probe(session: Session, filters: Filters, facet: str, value: str, most: int, is_over: Patience) -> Count:
    search = Search(session, replace(filters, **{facet: _value(facet, value)}), is_over=is_over)
    n = sum(1 for _ in search.rows(most))
    return Count(n, search.is_done)


def _indexed(session: Session, filters: Filters, facet: str, value: str, cap: int) -> Count | None:
    """How many verdicts of a time have a value, counted by its index; None if there is no index."""
    at, source = "v.at", "verdicts v"
    terms: tuple[str, ...] = ()
    cells: list[Any] = []
    if facet in ("code", "rule"):
        at, source, terms, cells = "f.at", "facts f", ("f.fact = ?",), [fact(f"{facet}:{value}")]
    elif facet == "label":
        return _said(session, filters, value, cap)
    elif facet == "ok":
        if value == "true":
            return None
        terms = ("v.ok = 0",)
    else:
        terms, cell = indexed(facet, value)
        if not terms:
            return None
        cells = [cell]
    times, values = _times(filters, at)
    where = " AND ".join((*terms, *times))
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {where} LIMIT {int(cap)}) n"  # noqa: S608 - our own words
    n = session.run(sql, [*cells, *values])[0][0]
    return Count(n, n < cap)


def _said(session: Session, filters: Filters, word: str, cap: int) -> Count:
    said, values = label_terms(word)
    times, moments = _times(filters, "v.at")
    joined, where = ("", said)
    if filters.since is not None or filters.until is not None:
        joined, where = "CROSS JOIN verdicts v", f"v.id = l.verdict AND ({said}) AND {' AND '.join(times)}"
        values = [*values, *moments]
    sql = f"SELECT count(*) FROM (SELECT DISTINCT l.verdict FROM feedback l {joined} WHERE {where} LIMIT {int(cap)}) n"  # noqa: S608
    n = session.run(sql, values)[0][0]
    return Count(n, n < cap)


def _times(filters: Filters, at: str) -> tuple[list[str], list[Any]]:
    terms, values = [f"{at} >= ?"], [round((filters.since or 0.0) * MICROS)]
    if filters.until is not None:
        terms.append(f"{at} < ?")
        values.append(round(filters.until * MICROS))
    return terms, values


def _value(facet: str, value: str) -> Any:
    return value == "true" if facet == "ok" else value


def _word(given: Any) -> str:
    return str(given).lower() if isinstance(given, bool) else str(given)
