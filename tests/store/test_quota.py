"""The ledger, on each database: reserve → capture | release exactly once, limits that hold, expiry by the store's clock."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.store.conftest import Hand
from trueup.store.errors import KeyReused, NotHeld, QuotaError, QuotaExceeded
from trueup.store.open import open_store
from trueup.store.store import Store


def used(store: Store, tenant: str = "acme", scope: str = "tenant", unit: str = "replies") -> tuple[int, int]:
    rows = [s for s in store.quota.standings(tenant) if s.scope == scope and s.unit == unit and s.period == "total"]
    return (rows[0].used, rows[0].held) if rows else (0, 0)


@pytest.mark.spec("Q13")
def test_a_valid_reply_is_charged_and_an_invalid_one_is_not(opened: Store) -> None:
    quota = opened.quota
    good, bad = quota.reserve("acme", "one"), quota.reserve("acme", "two")
    assert used(opened) == (0, 2)
    assert quota.capture(good).state == "captured"
    assert quota.release(bad).state == "released"
    assert used(opened) == (1, 0)
    assert quota.audit() == []


@pytest.mark.spec("Q13", "X39")
def test_settling_again_changes_nothing_and_settling_differently_is_refused(opened: Store) -> None:
    quota = opened.quota
    one, two = quota.reserve("acme", "one"), quota.reserve("acme", "two")
    for _ in range(3):
        assert quota.capture(one).state == "captured"
        assert quota.release(two).state == "released"
    with pytest.raises(NotHeld, match="captured"):
        quota.release(one)
    with pytest.raises(NotHeld, match="released"):
        quota.capture(two)
    assert used(opened) == (1, 0)
    assert quota.audit() == []


@pytest.mark.spec("Q13", "X38")
def test_a_key_belongs_to_its_tenant(opened: Store) -> None:
    quota = opened.quota
    mine, again, other = quota.reserve("acme", "k"), quota.reserve("acme", "k"), quota.reserve("umbrella", "k")
    assert (mine.fresh, again.fresh, other.fresh) == (True, False, True)
    assert again.token == mine.token != other.token
    assert used(opened) == (0, 1)
    quota.capture(mine)
    assert quota.reserve("acme", "k").state == "captured"
    assert quota.reserve("umbrella", "k").state == "held"
    with pytest.raises(NotHeld, match="taken over"):
        quota.capture(other._replace(tenant="acme"))
    with pytest.raises(KeyReused, match="needs a new key"):
        quota.reserve("acme", "k", user="somebody else")


def test_a_released_key_can_be_used_again_and_its_old_holder_cannot_settle_it(opened: Store) -> None:
    quota = opened.quota
    first = quota.reserve("acme", "k")
    quota.release(first)
    second = quota.reserve("acme", "k")
    assert second.fresh
    assert second.state == "held"
    with pytest.raises(NotHeld, match="taken over"):
        quota.capture(first)
    quota.capture(second)
    assert used(opened) == (1, 0)
    assert quota.audit() == []


def test_the_same_reservation_sent_twice_is_one_and_keeps_its_owner(opened: Store) -> None:
    # A writer does this if its connection broke and it cannot know whether the commit succeeded.
    first = opened.quota.reserve("acme", "k", token="t")
    assert opened.quota.reserve("acme", "k", token="t") == first
    assert used(opened) == (0, 1)


@pytest.mark.spec("Q13", "X42")
def test_a_forgotten_reservation_expires_after_five_minutes_by_the_stores_clock(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("acme", 1)
    held = quota.reserve("acme", "one")
    clock.go(299)
    with pytest.raises(QuotaExceeded):
        quota.reserve("acme", "two")
    clock.go(1)
    assert quota.reserve("acme", "two").fresh
    with pytest.raises(NotHeld, match="expired"):
        quota.capture(held)
    assert quota.release(held).state == "expired"
    clock.go(300)
    assert quota.expire() == 1
    assert used(opened) == (0, 0)
    assert quota.audit() == []


@pytest.mark.spec("Q13")
def test_limits_apply_per_tenant_user_and_model(opened: Store) -> None:
    quota = opened.quota
    quota.set_limit("acme", 3)
    quota.set_limit("acme", 2, scope="user", name="*")
    quota.set_limit("acme", 1, scope="model", name="large")
    quota.set_limit("acme", -1, scope="user", name="root")
    quota.reserve("acme", user="ada", model="large")
    with pytest.raises(QuotaExceeded, match="model 'large'"):
        quota.reserve("acme", user="bob", model="large")
    quota.reserve("acme", user="ada", model="small")
    with pytest.raises(QuotaExceeded, match="user 'ada'"):
        quota.reserve("acme", user="ada", model="small")
    quota.reserve("acme", user="root", model="small")
    with pytest.raises(QuotaExceeded, match="the tenant is used up: 0 of 3 replies per month, 3 on hold") as caught:
        quota.reserve("acme", user="root", model="small")
    assert caught.value.resets is not None
    assert quota.reserve("umbrella", user="ada", model="large").fresh
    assert quota.audit() == []


def test_a_limit_starts_again_with_each_period(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("*", 1, period="day")
    quota.capture(quota.reserve("acme", "one"))
    with pytest.raises(QuotaExceeded):
        quota.reserve("acme", "two")
    clock.go(86_400)
    quota.capture(quota.reserve("acme", "two"))
    quota.set_limit("*", None, period="day")
    quota.capture(quota.reserve("acme", "three"))
    assert used(opened) == (3, 0)
    assert quota.audit() == []


def test_a_hold_is_counted_in_the_period_of_its_start(opened: Store, clock: Hand) -> None:
    opened.quota.set_limit("acme", 1, period="hour")
    clock.go(3600 - clock.micros / 1_000_000 % 3600 - 1)
    held = opened.quota.reserve("acme", "one")
    clock.go(2)
    opened.quota.reserve("acme", "two")
    opened.quota.capture(held)
    hours = [s for s in opened.quota.standings("acme") if s.period == "hour"]
    assert [(s.used, s.held) for s in hours] == [(0, 1)]
    assert opened.quota.audit() == []


@pytest.mark.spec("X41")
def test_every_attempt_costs_whether_or_not_its_reply_is_valid(opened: Store) -> None:
    quota = opened.quota
    quota.set_limit("acme", 100, unit="cost")
    held = quota.reserve("acme", "one", estimate=40)
    assert not quota.spend(held, 1, 30)
    assert not quota.spend(held, 1, 30)  # the same attempt, told twice
    assert not quota.spend(held, 2, 30)
    quota.release(held)
    assert used(opened) == (0, 0)
    assert used(opened, unit="cost") == (60, 0)
    again = quota.reserve("acme", "two", estimate=40)
    with pytest.raises(QuotaExceeded, match="cost"):
        quota.reserve("acme", "three", estimate=1)
    assert quota.spend(again, 1, 45)  # it came out dearer than thought: the budget is used up now
    quota.release(again)
    with pytest.raises(QuotaExceeded, match="105 of 100 cost"):
        quota.reserve("acme", "four")
    assert quota.audit() == []


@pytest.mark.spec("X40")
def test_part_of_a_hold_can_be_captured_once(opened: Store) -> None:
    quota = opened.quota
    held = quota.reserve("acme", "stream", amount=100)
    assert quota.capture(held, 37).captured == 37
    assert quota.capture(held, 100).captured == 37
    with pytest.raises(ValueError, match="1 to 100"):
        quota.capture(held, 101)
    assert used(opened) == (37, 0)


@pytest.mark.spec("X42")
def test_concurrent_reservations_never_exceed_a_limit(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as one, open_store(url) as two:
        one.quota.set_limit("acme", 25)
        got: list[bool] = []

        def ask(store: Store, who: int) -> None:
            for n in range(10):
                try:
                    store.quota.capture(store.quota.reserve("acme", f"{who}-{n}"))
                    got.append(True)
                except QuotaExceeded:
                    got.append(False)

        threads = [threading.Thread(target=ask, args=(store, who)) for who, store in enumerate((one, two) * 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sum(got), len(got)) == (25, 60)
        assert used(one) == (25, 0)
        assert one.quota.audit() == []


def test_the_asynchronous_calls_give_the_same_answers(opened: Store) -> None:
    async def run() -> None:
        opened.quota.set_limit("acme", 20)
        held = await asyncio.gather(*(opened.quota.areserve("acme", f"{n}") for n in range(20)))
        with pytest.raises(QuotaExceeded):
            await opened.quota.areserve("acme", "more")
        await asyncio.gather(*(opened.quota.aspend(one, 1, 5) for one in held))
        await asyncio.gather(*(opened.quota.acapture(one) for one in held[:15]))
        await asyncio.gather(*(opened.quota.arelease(one) for one in held[15:]))

    asyncio.run(run())
    assert used(opened) == (15, 0)
    assert used(opened, unit="cost") == (100, 0)
    assert opened.quota.audit() == []


def test_names_of_any_kind_are_kept_apart(opened: Store) -> None:
    odd = ["", "a\x00", "a\\u0000", "a\ud83d", "a\\", "'; DROP TABLE ledger; --", "ä", "a\u0308"]
    for tenant in odd:
        for key in odd[1:]:
            held = opened.quota.reserve(tenant, key, user=key)
            assert (held.tenant, held.key, held.user, held.fresh) == (tenant, key, key, True)
            opened.quota.capture(held)
    for tenant in odd:
        assert used(opened, tenant) == (7, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scope": "team"}, "scope must be one of tenant, user, model"),
        ({"unit": "words"}, "unit must be one of replies, cost"),
        ({"period": "week"}, "period must be one of hour, day, month, total"),
        ({"amount": -2}, "whole number from 0"),
        ({"scope": "user"}, "needs its name"),
        ({"name": "ada"}, "one of a tenant has none"),
    ],
)
def test_an_invalid_limit_is_reported(tmp_path: object, wrong: dict[str, object], message: str) -> None:
    with open_store(f"{tmp_path}/q.db") as store, pytest.raises((ValueError, QuotaError), match=message):
        store.quota.set_limit("acme", **{"amount": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.spec("Q13")
@pytest.mark.parametrize("odd", [1.5, float("nan"), True, "1", -2, 10**30])
def test_only_whole_amounts_are_counted_on_every_database(opened: Store, odd: Any) -> None:
    """One database would round them, another keep them, and used would not be what was captured."""
    quota = opened.quota
    held = quota.reserve("acme", "k", amount=10)
    for wrong in (
        lambda: quota.set_limit("acme", odd),
        lambda: quota.reserve("acme", "other", amount=odd),
        lambda: quota.reserve("acme", "other", estimate=odd),
        lambda: quota.spend(held, odd, 1),
        lambda: quota.capture(held, odd),
    ):
        with pytest.raises(ValueError, match=r"whole number|can be captured"):
            wrong()
    if odd != 10**30:  # a cost that a provider claims counts as the most there is
        with pytest.raises(ValueError, match="cost must be a whole number, 0 or more"):
            quota.spend(held, 1, odd)
    with pytest.raises(TypeError, match="names, ids and keys must be strings"):
        quota.reserve(5, "k")  # type: ignore[arg-type]
    quota.capture(held)
    assert (used(opened), quota.limits(), quota.audit()) == ((10, 0), [], [])
