"""Series: names, then their values in the same order: "Ana and Luis, aged 40 and 30". Returns each value's owner."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from trueup.grounding.stretches import Field, Mention


def series(mentions: Sequence[Mention], sentence: Callable[[int], int], name: Field) -> dict[int, int]:
    """The record of each value of a series, by the value's start. `sentence` numbers the sentence at a position."""
    owners: dict[int, int] = {}
    for _, group in groupby(mentions, key=lambda one: sentence(one.span[0])):
        names: list[int] = []
        for field, run in _runs(list(group)):
            records = [next(iter(one.claims)) for one in run]
            if field == name:
                names = records if len(set(records)) == len(records) > 1 else []
            elif len(run) == len(names) and {record for one in run for record in one.claims} <= set(names):
                owners.update((one.span[0], record) for one, record in zip(run, names, strict=True))
    return owners


def _runs(mentions: Sequence[Mention]) -> Iterator[tuple[Field, list[Mention]]]:
    """Runs of mentions of the same field."""
    for fields, run in groupby(mentions, key=lambda one: frozenset(one.claims.values())):
        if len(fields) == 1:
            yield next(iter(fields)), list(run)
