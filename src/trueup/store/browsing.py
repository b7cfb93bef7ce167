"""Pages of verdicts for people: the newest ones that match some filters, before a given place.

Any combination of filters answers quickly: rows of the rarest filter are visited in pieces, newest first, until the page is
full or the caller's patience is over. A page then says how far back it has looked, and where to continue.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS
from trueup.store.records import RawRow
from trueup.store.selecting import COLUMNS, MOST, Place, contains, fact, text_of
from trueup.store.session import Row, Session

_FIRST, _LARGE_PIECE, _MOST_PIECE = 250, 1_000, 8_000  # rows of a filter per piece
_QUICK, _SLOW = 0.015, 0.03  # target seconds per piece; the next piece is made larger or smaller
_REACH = 2_000  # rows used to compare filters
_BODIES, _MOST_BYTES = 200, 2_000_000  # replies read together
_EXCERPT = 240  # characters
_BEFORE = 60  # characters of an excerpt before the match
_HELPFUL = {"helpful": 1, "not_helpful": 0}

Patience = Callable[[], bool]
"""Whether the time is up."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for verdicts; None means any value."""

    since: float | None = None
    until: float | None = None
    model: str | None = None
    contract: str | None = None
    fingerprint: str | None = None
    state: str | None = None
    tenant: str | None = None
    conversation: str | None = None
    code: str | None = None
    rule: str | None = None
    outcome: str | None = None
    ok: bool | None = None
    label: str | None = None
    labelled: bool | None = None
    """Whether the verdict has any feedback."""
    text: str | None = None
    """Text that the reply contains, ignoring case."""


class VerdictRow(msgspec.Struct, frozen=True):
    """One verdict of a page, without its body."""

    id: str
    at: float
    request: str
    attempt: int
    tenant: str
    user: str
    model: str
    contract: str
    state: str
    ok: bool
    outcome: str
    reason: str
    codes: tuple[str, ...]
    attempts: int
    latency: float
    tokens_in: int
    tokens_out: int
    cost: int
    fingerprint: str
    conversation: str
    excerpt: str | None
    """The beginning of the reply, or the part around the match; None if the reply is not stored."""
    found: tuple[int, int] | None = None
    """Where the match is in the excerpt."""


class VerdictPage(NamedTuple):
    """A page of verdicts, newest first."""

    rows: list[VerdictRow]
    next: Place | None
    """Where to continue; None if nothing is left."""
    is_searched: bool
    """True if the page is full or nothing is left; False if the patience was over."""
    reached: float
    """How far back it has looked, in seconds since 1970; 0 means to the beginning."""


class Count(NamedTuple):
    """A number of verdicts; if it is not exact, it is a lower bound."""

    n: int
    is_exact: bool


def seconds(some: float) -> Patience:
    """A patience of some seconds, starting now."""
    end = time.monotonic() + some
    return lambda: time.monotonic() > end


def page(
    session: Session, filters: Filters, before: Place | None = None, limit: int = 100, is_over: Patience | None = None
) -> VerdictPage:
    """The newest verdicts that match the filters, before a place."""
    search = Search(session, filters, before, is_over=is_over)
    places: list[Place] = [(row[0], row[1]) for row in search.rows(limit + 1)]
    is_full = len(places) > limit
    shown = places[:limit]
    following = shown[-1] if is_full else None if search.is_done else search.place
    reached = 0.0 if following is None else following[0] / MICROS
    return VerdictPage(seen(session, shown, filters.text or ""), following, is_full or search.is_done, reached)


def named(session: Session, where: str, values: Sequence[Any], limit: int, *, newest: bool = False) -> list[VerdictRow]:
    """Verdicts that match an internal condition, oldest first, such as those of one request; the first ones, or the newest."""
    order = "v.at DESC, v.id DESC" if newest else "v.at, v.id"
    found = session.run(f"SELECT v.at, v.id FROM verdicts v WHERE {where} ORDER BY {order} LIMIT {int(limit)}", values)  # noqa: S608 - our own words
    places = [(row[0], row[1]) for row in found]
    return seen(session, places[::-1] if newest else places)


def count_after(session: Session, filters: Filters, after: Place, most: int, is_over: Patience | None = None) -> Count:
    """How many verdicts that match the filters are newer than a place, up to `most`."""
    search = Search(session, filters, None, after=after, is_over=is_over)
    n = sum(1 for _ in search.rows(most))
    return Count(n, search.is_done and n < most)


class Search:
    """A search for verdicts, newest first. `place` is how far it has come, `is_done` whether nothing is left.

    Its rows are `(at, id, *columns)`.
    """

    def __init__(
        self, session: Session, filters: Filters, before: Place | None = None, *, after: Place | None = None,
        columns: Sequence[str] = (), is_over: Patience | None = None,
    ) -> None:  # fmt: skip
        self._session = session
        self._text = filters.text or ""
        self._is_over = is_over or (lambda: False)
        self._hit, self._values = condition(filters)
        self._columns = "".join(f", v.{name}" for name in columns)
        self._since = round((filters.since or 0.0) * MICROS)
        self._until = None if filters.until is None else round(filters.until * MICROS)
        self._after = after
        self.place = before
        self.is_done = False
        self.visited = 0
        """How many rows of the rarest filter were visited."""
        self._way = self._rarest(_ways(filters))

    def rows(self, most: int) -> Iterator[Row]:
        """Up to this many rows. Ends early when the patience is over, after at least one piece."""
        size, left = max(_FIRST, min(most, _LARGE_PIECE)), most
        while left and not self.is_done:
            began = time.monotonic()
            found, visited = self._piece(size, size if self._text else left)
            self.visited += visited
            for row in self._with_text(found) if self._text else found:
                self.place = (row[0], row[1])
                if row[2]:
                    yield (row[0], row[1], *row[3:])
                    left -= 1
                    if not left:
                        return
            if self._text and found and self.place != (found[-1][0], found[-1][1]):
                return  # the patience ended while reading replies
            self.is_done = visited < size
            if self._is_over():
                return
            took = time.monotonic() - began
            size = min(size * 2, _MOST_PIECE) if took < _QUICK else max(size // 2, _FIRST) if took > _SLOW else size

    def _piece(self, size: int, most: int) -> tuple[list[Row], int]:
        """The next rows of the rarest filter: those that match all filters, plus the last one, each with its place and
        whether it matches.

        Also returns how many rows were visited. The first `most` matches are enough.
        """
        way, terms, values = self._way, *self._range()
        sql = (
            f"WITH piece AS MATERIALIZED (SELECT {way.at} AS at, {way.id} AS id, CASE WHEN {self._hit} THEN 1 ELSE 0 END AS hit{self._columns} "  # noqa: S608 - our own words
            f"FROM {way.source} WHERE {' AND '.join((*way.where, *terms))} ORDER BY {way.at} DESC, {way.id} DESC LIMIT {int(size)}) "
            "SELECT p.*, (SELECT count(*) FROM piece) FROM piece p "
            "WHERE p.hit = 1 OR (p.at, p.id) = (SELECT at, id FROM piece ORDER BY at, id LIMIT 1) "
            f"ORDER BY p.at DESC, p.id DESC LIMIT {int(most) + 1}"
        )  # fmt: skip
        found = self._session.run(sql, (*self._values, *way.values, *values))
        return [row[:-1] for row in found], found[0][-1] if found else 0

    def _range(self, at: str = "", by: str = "") -> tuple[list[str], list[Any]]:
        """The conditions of time and place."""
        at, by = at or self._way.at, by or self._way.id
        terms = [f"{at} >= ?"]
        values: list[Any] = [self._since if self._after is None else max(self._since, self._after[0])]
        if self._until is not None:
            terms.append(f"{at} < ?")
            values.append(self._until)
        if self._after is not None:
            terms.append(f"({at}, {by}) > (?, ?)")
            values += self._after
        if self.place is not None:
            terms += [f"{at} <= ?", f"({at}, {by}) < (?, ?)"]
            values += [self.place[0], *self.place]
        return terms, values

    def _with_text(self, found: list[Row]) -> Iterator[Row]:
        """The same rows; only those whose reply contains the text match. Ends early when the patience is over, but not before
        some were read.
        """
        for some in groups(found):
            holding = holders(self._session, [row[1] for row in some if row[2]], self._text)
            for row in some:
                yield (*row[:2], row[1] in holding, *row[3:])
            if self._is_over():
                return

    def _rarest(self, ways: "list[_Way]") -> "_Way":
        """The index with the fewest rows to walk: the one that finishes first, else the one whose next rows reach back
        furthest.
        """
        if len(ways) == 1:
            return ways[0]
        reached = [self._reach(way) for way in ways]
        return ways[min(range(len(ways)), key=lambda each: reached[each])]

    def _reach(self, way: "_Way") -> tuple[int, int]:
        if way.counted:
            rows = self._session.run(f"SELECT count(*) FROM ({way.counted} LIMIT {_MOST_PIECE + 1}) n", way.values)  # noqa: S608 - our own words
            return (0, int(rows[0][0])) if rows[0][0] <= _MOST_PIECE else (2, 0)
        self._way = way
        terms, values = ([f"{way.at} >= ?"], [self._since])
        if self.place is not None:
            terms.append(f"{way.at} <= ?")
            values.append(self.place[0])
        elif self._until is not None:
            terms.append(f"{way.at} < ?")
            values.append(self._until)
        where = " AND ".join((*way.alone, *terms))
        rest = f"FROM {way.alike} WHERE {where} ORDER BY {way.at} DESC LIMIT"
        rows = self._session.run(f"SELECT {way.at} {rest} 1 OFFSET {_REACH}", (*way.values, *values))
        if rows:
            return 1, rows[0][0]
        rows = self._session.run(f"SELECT count(*) FROM (SELECT 1 {rest} {_REACH}) n", (*way.values, *values))  # noqa: S608
        return 0, rows[0][0]


class _Way(NamedTuple):
    """Rows to walk, newest first: those of one filter, by its index."""

    source: str
    where: tuple[str, ...]
    values: tuple[Any, ...]
    at: str = "v.at"
    id: str = "v.id"
    alike: str = "verdicts v"
    """Where to count without reading verdicts."""
    alone: tuple[str, ...] = ()
    """The conditions for that."""
    counted: str = ""
    """The column to count instead, if the rows are not ordered by time."""


def _ways(filters: Filters) -> list[_Way]:
    """Every index that could be used; the time index only if there is no other."""
    ways: list[_Way] = []
    for name in ("conversation", "fingerprint", "model", "contract", "state", "tenant", "outcome"):
        value = getattr(filters, name)
        if value:
            terms, cell = indexed(name, value)
            if terms:
                ways.append(_Way("verdicts v", terms, (cell,), alone=terms))
    if filters.ok is False:
        ways.append(_Way("verdicts v", ("v.ok = 0",), (), alone=("v.ok = 0",)))
    for kind in ("code", "rule"):
        value = getattr(filters, kind)
        if value is not None:
            cell = fact(f"{kind}:{value}")
            ways.append(
                _Way("facts f CROSS JOIN verdicts v", ("f.fact = ?", "v.id = f.verdict"), (cell,), "f.at", "f.verdict", "facts f", ("f.fact = ?",))
            )  # fmt: skip
    if not ways:
        ways.append(_Way("verdicts v", (), ()))
    if filters.label is not None or filters.labelled:
        said, values = ("1 = 1", []) if filters.label is None else label_terms(filters.label)
        inner = f"SELECT DISTINCT verdict FROM feedback l WHERE {said}"  # noqa: S608 - our own words
        ways.append(_Way(f"({inner}) w CROSS JOIN verdicts v", ("v.id = w.verdict",), tuple(values), counted=inner))
    return ways


def indexed(name: str, value: str) -> tuple[tuple[str, ...], str]:
    """The conditions of a column in the form of its index, with their value; none if it has no index."""
    cell = pack(value)
    if name in ("state", "tenant"):
        return (f"substr(v.{name}, 1, {MOST}) = ?", f"v.{name} <> ''"), cell[:MOST]
    if name == "outcome":
        return ((), cell) if value == "accepted" else (("v.outcome = ?", "v.outcome <> 'accepted'"), cell)
    return (f"v.{name} = ?", f"v.{name} <> ''"), cell


def condition(filters: Filters) -> tuple[str, tuple[Any, ...]]:
    """All filters except time and text, as one condition on a verdict."""
    terms, values = ["1 = 1"], []
    for name in ("model", "contract", "fingerprint", "state", "tenant", "conversation", "outcome"):
        value = getattr(filters, name)
        if value is not None:
            terms.append(f"v.{name} = ?")
            values.append(pack(value))
    if filters.ok is not None:
        terms.append(f"v.ok = {int(filters.ok)}")
    for kind in ("code", "rule"):
        value = getattr(filters, kind)
        if value is not None:
            terms.append("EXISTS (SELECT 1 FROM facts x WHERE x.fact = ? AND x.at = v.at AND x.verdict = v.id)")
            values.append(fact(f"{kind}:{value}"))
    if filters.label is not None:
        said, more = label_terms(filters.label)
        terms.append(f"EXISTS (SELECT 1 FROM feedback l WHERE l.verdict = v.id AND ({said}))")  # noqa: S608
        values += more
    if filters.labelled is not None:
        terms.append(f"{'' if filters.labelled else 'NOT '}EXISTS (SELECT 1 FROM feedback l WHERE l.verdict = v.id)")  # noqa: S608
    return " AND ".join(terms), tuple(values)


def label_terms(word: str) -> tuple[str, list[Any]]:
    """The condition that someone gave this feedback: as an outcome, as a label, or as a yes or no."""
    cell = pack(word)
    said = f"(l.outcome = ? AND l.outcome <> '') OR (substr(l.label, 1, {MOST}) = ? AND l.label <> '' AND l.label || '' = ?)"
    if word in _HELPFUL:
        said += f" OR (l.helpful = {_HELPFUL[word]} AND l.helpful IS NOT NULL)"
    return said, [cell, cell[:MOST], cell]


def groups(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Split rows into groups whose replies are read together."""
    return (rows[start : start + _BODIES] for start in range(0, len(rows), _BODIES))


def holders(session: Session, ids: Sequence[str], text: str) -> set[str]:
    """The verdicts whose reply contains a text; most others are ruled out without reading them."""
    plain = plain_needle(text)

    def holds(body: bytes) -> bool:
        if plain and body.isascii() and plain not in body.lower():
            return False
        return contains(body, text)

    return {name for name, body in bodies(session, ids) if holds(body)}


def bodies(session: Session, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The stored bodies of some verdicts, a few megabytes at a time."""
    group: list[str] = []
    size = 0
    for name, length in by_ids(session, "SELECT verdict, length(body) FROM replies WHERE verdict IN ({})", ids):
        if group and size + length > _MOST_BYTES:
            yield from by_ids(session, "SELECT verdict, body FROM replies WHERE verdict IN ({})", group)
            group, size = [], 0
        group.append(name)
        size += length
    yield from by_ids(session, "SELECT verdict, body FROM replies WHERE verdict IN ({})", group)


def plain_needle(text: str) -> bytes:
    """The lower-case ASCII that a body must contain if its reply contains the text; empty if that is unknown."""
    is_plain = text.isascii() and text.isprintable() and not set(text) & set('"\\\\')
    return text.lower().encode() if is_plain else b""


def by_ids(session: Session, sql: str, ids: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(ids), 500):
        some = list(ids[start : start + 500])
        # few distinct statements, each prepared once
        some += some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))
        yield from session.run(sql.format(", ".join("?" * len(some))), some)


_RAWS = 50


def raws(session: Session, ids: Sequence[str]) -> Iterator[RawRow]:
    """The rows of some verdicts with their bodies, in the same order, a few at a time."""
    sql = f"SELECT {_COLUMNS}, r.body, c.body FROM verdicts v LEFT JOIN replies r ON r.verdict = v.id "  # noqa: S608 - our own words
    sql += "LEFT JOIN contexts c ON c.verdict = v.id WHERE v.id IN ({})"
    for start in range(0, len(ids), _RAWS):
        some = ids[start : start + _RAWS]
        found = {row[0]: RawRow._make(row) for row in by_ids(session, sql, some)}
        yield from (found[name] for name in some if name in found)


_COLUMNS = ", ".join(f"v.{name}" for name in COLUMNS)


def seen(session: Session, places: Sequence[Place], text: str = "") -> list[VerdictRow]:
    """The verdicts at these places, in the same order."""
    ids = [name for _, name in places]
    rows = {row[0]: row for row in by_ids(session, f"SELECT {_COLUMNS} FROM verdicts v WHERE v.id IN ({{}})", ids)}  # noqa: S608
    texts = {name: text_of(bytes(body)) for name, body in bodies(session, ids)}
    return [_row(rows[name], texts.get(name), text) for name in ids if name in rows]


def _row(row: Row, reply: str | None, text: str) -> VerdictRow:
    values = dict(zip(COLUMNS, row, strict=True))
    excerpt, found = (None, None) if reply is None else excerpted(reply, text)
    return VerdictRow(
        values["id"], values["at"] / MICROS, unpack(values["request"]), values["attempt"], unpack(values["tenant"]), unpack(values["person"]),
        unpack(values["model"]), unpack(values["contract"]), unpack(values["state"]), bool(values["ok"]), unpack(values["outcome"]),
        values["reason"], tuple(values["codes"].split()), values["attempts"], values["latency"] / MICROS, values["tokens_in"],
        values["tokens_out"], values["cost"], unpack(values["fingerprint"]), unpack(values["conversation"]), excerpt, found,
    )  # fmt: skip


def excerpted(reply: str, text: str) -> tuple[str, tuple[int, int] | None]:
    """The beginning of a reply in one line, or the part around a text, and where that text is.

    >>> excerpted("One\\n  two", "TWO")
    ('One two', (4, 7))
    """
    words = text.split()
    # not with `lower()`, which can change the length of a text and so shift every later position
    wanted = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE) if words else None
    match = wanted.search(reply) if wanted else None
    start = max(0, match.start() - _BEFORE) if match and match.end() > _EXCERPT else 0
    piece = " ".join(reply[start : start + 2 * _EXCERPT].split())[:_EXCERPT]
    shown = f"…{piece}" if start else piece
    again = wanted.search(shown) if wanted else None
    return shown, again.span() if again else None
