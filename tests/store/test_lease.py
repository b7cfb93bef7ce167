"""A lease on each database: one process at a time, by the clock of the store."""

from collections.abc import Callable

from tests.store.conftest import Hand
from trueup.store.open import open_store


def test_a_lease_belongs_to_one_process_until_it_expires(database: Callable[[], str], clock: Hand) -> None:
    url = database()
    with open_store(url, clock=clock) as one, open_store(url, clock=clock) as other:
        assert one.lease("prune", 60)
        assert not other.lease("prune", 60)
        assert not one.lease("prune", 60)
        assert other.lease("other work", 60)
        clock.go(61)
        assert other.lease("prune", 60)
        assert not one.lease("prune", 60)
