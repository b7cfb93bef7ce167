"""Verdicts: the store as a table, one verdict in full, labels, and a queue of what to label.

`GET /verdicts` returns `rows`, newest first, a cursor `next` to continue from, and `searched`: whether the page is full
or nothing is left (`complete`), and how far back it has searched (`until`, seconds since 1970). A request takes a
fraction of a second for any number of verdicts, so a rare combination takes several. Counts are exact, or lower bounds
(`capped`).
"""

from typing import Any, Literal

import msgspec

from trueup.store.browsing import Count, count_after, page, seconds
from trueup.store.facets import counts, times, values
from trueup.studio.api.answers import Detail
from trueup.studio.endpoint import Endpoint
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key
from trueup.studio.studio import Studio
from trueup.studio.verdicts import labelling, queueing
from trueup.studio.verdicts.asking import Wanted, cursor_of, filters_of, place_of
from trueup.studio.verdicts.detail import again, detail
from trueup.studio.verdicts.rows import drawn_rows

_PATIENCE = 0.2  # seconds of one search
_COUNT_PATIENCE = 1.5  # seconds of a count that nobody waits for
_MOST_ROWS = 200
_MOST_NEWS = 1_000
_QUEUE_PATIENCE = 0.8

Facet = Literal["model", "contract", "state", "tenant", "outcome", "ok", "code", "rule", "label"]


class Rows(Wanted, frozen=True, kw_only=True):
    """A page of verdicts."""

    cursor: str = ""
    """The end of the previous page; empty: start at the newest verdict."""
    limit: int = 100


class CountQuery(Wanted, frozen=True, kw_only=True):
    """Verdicts to count."""

    patient: bool = False
    """Whether numbers may take a second or two; otherwise slow ones are lower bounds."""


class News(Wanted, frozen=True, kw_only=True):
    """Verdicts after a place."""

    after: str
    """The `place` of the newest row that is shown."""


class Values(msgspec.Struct, frozen=True):
    """Values of a facet."""

    facet: Facet
    begins: str = ""


class One(msgspec.Struct, frozen=True):
    """A verdict."""

    id: str


class Labels(msgspec.Struct, frozen=True):
    """Labels to store, all or none."""

    items: tuple[labelling.Item, ...]


class Undo(msgspec.Struct, frozen=True):
    """Labels to take back, as returned by `POST /labels`."""

    items: tuple[labelling.StoredLabel, ...]


class Queued(Wanted, frozen=True, kw_only=True):
    """The verdicts to choose a queue from."""

    limit: int = 30
    seed: int = 0
    """Another number draws another sample."""


def list_verdicts(studio: Studio, asked: Rows, who: Key) -> dict[str, Any]:
    """Stored verdicts, newest first."""
    filters, before = filters_of(asked, who), place_of(asked.cursor)
    if not 1 <= asked.limit <= _MOST_ROWS:
        raise RequestRefused(400, f"`limit` must be a number from 1 to {_MOST_ROWS}.")

    def look(session: Any) -> dict[str, Any]:
        found = page(session, filters, before, asked.limit, seconds(_PATIENCE))
        return {
            "rows": drawn_rows(session, found.rows, who.name),
            "next": cursor_of(found.next),
            "searched": {"complete": found.is_searched, "until": found.reached},
            "place": cursor_of((round(found.rows[0].at * 1_000_000), found.rows[0].id)) if found.rows else None,
        }

    return studio.store.read(look)


def count_verdicts(studio: Studio, asked: CountQuery, who: Key) -> dict[str, Any]:
    """The numbers of verdicts: in total, by model, contract, code etc.; `hurried` if `patient` may give better ones."""
    filters = filters_of(asked, who)
    patience = seconds(_COUNT_PATIENCE if asked.patient else _PATIENCE * 0.5)
    found = studio.store.read(lambda session: counts(session, filters, patience, is_shared=who.tenant is None))
    return {
        "hurried": found.is_hurried,
        "total": _counted(found.total),
        "facets": {
            facet: [{"value": value, **_counted(n)} for value, n in some.items()]
            for facet, some in found.facets.items()
        },
    }


def _counted(count: Count) -> dict[str, Any]:
    return {"count": count.n, "capped": not count.is_exact}


def count_news(studio: Studio, asked: News, who: Key) -> dict[str, Any]:
    """How many verdicts have arrived after a place."""
    filters, after = filters_of(asked, who), place_of(asked.after)
    if after is None:
        raise RequestRefused(400, "`after` must be the place of a row.")
    return _counted(
        studio.store.read(lambda session: count_after(session, filters, after, _MOST_NEWS, seconds(_PATIENCE)))
    )


def list_values(studio: Studio, asked: Values, who: Key) -> dict[str, Any]:
    """Values of a facet that begin with a text."""
    store = studio.store
    if who.tenant is None:
        return {"values": store.read(lambda session: values(session, asked.facet, asked.begins))}
    filters = filters_of(Wanted(), who)  # values of other tenants are not shown
    found = store.read(lambda session: counts(session, filters, seconds(_PATIENCE), is_shared=False))
    begins = asked.begins.casefold()
    return {"values": [value for value in found.facets[asked.facet] if value.casefold().startswith(begins)]}


def list_times(studio: Studio, asked: Wanted, who: Key) -> dict[str, Any]:
    """Hourly numbers of verdicts, as counted when they arrived: for all, a model or a contract."""
    filters = filters_of(asked, who)
    others = {"since", "until", "model", "contract", "ok"}
    if any(getattr(filters, name) is not None for name in filters.__struct_fields__ if name not in others):
        return {"hours": None}
    return {"hours": [list(row) for row in studio.store.read(lambda session: times(session, filters))]}


def show_verdict(studio: Studio, asked: One, who: Key) -> dict[str, Any]:
    """One verdict with its attempts, conversation, labels and contract."""
    return detail(studio, asked.id, who)


def judge_again(studio: Studio, asked: One, who: Key) -> dict[str, Any]:
    """A stored reply, judged by the current contract file of that name."""
    return again(studio, asked.id, who)


def add_labels(studio: Studio, asked: Labels, who: Key) -> dict[str, Any]:
    """Label verdicts or their findings as right or wrong."""
    return {"items": labelling.add(studio.store, asked.items, who)}


def undo_labels(studio: Studio, asked: Undo, who: Key) -> dict[str, Any]:
    """Take labels back."""
    return {"undone": labelling.undo(studio.store, asked.items, who)}


def show_queue(studio: Studio, asked: Queued, who: Key) -> dict[str, Any]:
    """The verdicts to label next: the least certain decisions, and a random sample of accepted replies."""
    filters = filters_of(asked, who)
    if not 1 <= asked.limit <= _MOST_ROWS:
        raise RequestRefused(400, f"`limit` must be a number from 1 to {_MOST_ROWS}.")
    return studio.store.read(
        lambda session: queueing.chosen(session, filters, who.name, asked.limit, asked.seed, seconds(_QUEUE_PATIENCE))
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/verdicts", "read", list_verdicts, Rows),
    Endpoint("GET", "/verdicts/counts", "read", count_verdicts, CountQuery),
    Endpoint("GET", "/verdicts/news", "read", count_news, News),
    Endpoint("GET", "/verdicts/values", "read", list_values, Values),
    Endpoint("GET", "/verdicts/times", "read", list_times, Wanted),
    Endpoint("GET", "/verdicts/{id:path}/again", "read", judge_again, One),  # an id from elsewhere may have a slash
    Endpoint("GET", "/verdicts/{id:path}", "read", show_verdict, One, gives=Detail),
    Endpoint("POST", "/labels", "label", add_labels, Labels, 4 * 1024 * 1024),
    Endpoint("POST", "/labels/undo", "label", undo_labels, Undo, 4 * 1024 * 1024),
    Endpoint("GET", "/queue", "read", show_queue, Queued),
)
