"""Labelled replies in a store: takes filters and returns the labelled verdicts, as cases with their labels."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from trueup.material.case import Case, Label
from trueup.material.stored import case_of_row
from trueup.store.browsing import Filters, Patience, Search, by_ids
from trueup.store.cells import unpack
from trueup.store.records import RawRow
from trueup.store.selecting import COLUMNS
from trueup.store.store import Store

_TOGETHER = 500
_ROWS = (
    f"SELECT {', '.join(f'v.{name}' for name in COLUMNS)}, r.body, c.body FROM verdicts v "  # noqa: S608 - our own words
    "LEFT JOIN replies r ON r.verdict = v.id LEFT JOIN contexts c ON c.verdict = v.id WHERE v.id IN ({})"
)


def labelled_ids(store: Store, filters: Filters, most: int, is_over: Patience | None = None) -> list[str]:
    """The row ids of verdicts with labels, newest first."""
    wanted = replace(filters, labelled=True)
    return store.read(lambda session: [row[1] for row in Search(session, wanted, is_over=is_over).rows(most)])


def cases_of(store: Store, ids: Sequence[str], is_over: Patience | None = None) -> Iterator[Case]:
    """The cases of verdicts by their row ids, with their labels; only some of them if time runs out."""
    for start in range(0, len(ids), _TOGETHER):
        if is_over is not None and start and is_over():
            return
        some = ids[start : start + _TOGETHER]
        said: dict[str, list[Label]] = {}
        for row in store.labels(verdicts=[unpack(each) for each in some]):
            said.setdefault(row["verdict"], []).append(Label(**row))
        for each in map(RawRow._make, store.read(lambda session: list(by_ids(session, _ROWS, some)))):  # noqa: B023 - called at once
            yield case_of_row(each, tuple(said.get(unpack(each.id), ())))
