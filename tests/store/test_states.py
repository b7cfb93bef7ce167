"""The ledger against a model of it, in any order of moves, on each database.

Hypothesis plays callers that reserve, spend, capture, release, forget, repeat themselves and let time pass; a plain
dictionary has the expected results.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.effort import SOAK
from tests.store.conftest import Hand
from trueup.store.errors import NotHeld, QuotaExceeded
from trueup.store.open import open_store
from trueup.store.quota import Reservation
from trueup.store.store import Store

KEYS = st.sampled_from(["k1", "k2", "k3", "k4"])
TENANTS = st.sampled_from(["acme", "umbrella"])
USERS = {"k1": "ada", "k2": "bob", "k3": "ada", "k4": ""}
LIMIT, USER_LIMIT, BUDGET = 4, 2, 50


class Ledger(RuleBasedStateMachine):
    """The actions of callers, and the conditions that must be true after each step."""

    store: Store
    clock: Hand
    turn = 0

    def __init__(self) -> None:
        super().__init__()
        Ledger.turn += 1
        self.prefix = f"{Ledger.turn}-"  # separate tenants for each game, in one database
        self.held: dict[tuple[str, str], dict[str, Any]] = {}
        self.spent: dict[str, int] = {}
        self.stale: list[Reservation] = []
        for tenant in ("acme", "umbrella"):
            quota = self.store.quota
            quota.set_limit(self.prefix + tenant, LIMIT, period="total")
            quota.set_limit(self.prefix + tenant, USER_LIMIT, scope="user", name="*", period="total")
            quota.set_limit(self.prefix + tenant, BUDGET, unit="cost", period="total")

    def _sum(self, tenant: str, state: str, user: str | None = None) -> int:
        own = [e for (t, _), e in self.held.items() if t == tenant and (user is None or e["user"] == user)]
        return sum(e["captured"] if state == "captured" else e["amount"] for e in own if e["state"] == state)

    def _expire(self) -> None:
        for entry in self.held.values():
            if entry["state"] == "held" and entry["expires"] <= self.clock.micros:
                entry.update(state="expired", cost_held=0)

    def _fits(self, tenant: str, user: str, amount: int, estimate: int) -> bool:
        taken = self._sum(tenant, "captured") + self._sum(tenant, "held")
        own = self._sum(tenant, "captured", user) + self._sum(tenant, "held", user) if user else 0
        cost = self.spent.get(tenant, 0) + sum(e["cost_held"] for (t, _), e in self.held.items() if t == tenant)
        return taken + amount <= LIMIT and own + amount <= USER_LIMIT and cost + max(estimate, 1) <= BUDGET

    @rule(tenant=TENANTS, key=KEYS, estimate=st.integers(0, 20))
    def reserve(self, tenant: str, key: str, estimate: int) -> None:
        self._expire()
        tenant, user, amount = self.prefix + tenant, USERS[key], 2 if key == "k4" else 1
        entry = self.held.get((tenant, key))
        taken = entry is not None and entry["state"] in ("held", "captured")
        try:
            got = self.store.quota.reserve(tenant, key, user=user, amount=amount, estimate=estimate)
        except QuotaExceeded:
            assert not taken
            assert not self._fits(tenant, user, amount, estimate)
            return
        if taken:
            assert entry is not None
            assert (got.fresh, got.state, got.token) == (False, entry["state"], entry["res"].token)
            return
        assert self._fits(tenant, user, amount, estimate)
        assert (got.fresh, got.state) == (True, "held")
        if entry is not None:
            self.stale.append(entry["res"])
        self.held[tenant, key] = {
            "res": got, "state": "held", "amount": amount, "captured": 0, "user": user, "cost_held": estimate,
            "expires": self.clock.micros + 300_000_000, "attempts": set(),
        }  # fmt: skip

    def _settle(
        self, tenant: str, key: str, wanted: str, move: Callable[[Reservation], Reservation], give: int
    ) -> None:
        self._expire()
        entry = self.held[self.prefix + tenant, key]
        before = entry["state"]
        if before == "held":
            assert move(entry["res"]).state == wanted
            entry.update(state=wanted, captured=give, cost_held=0)
        elif before == wanted or (wanted == "released" and before == "expired"):
            assert move(entry["res"]).state == before
        else:
            with pytest.raises(NotHeld) as caught:
                move(entry["res"])
            assert caught.value.state == before

    @precondition(lambda self: self.held)
    @rule(tenant=TENANTS, key=KEYS, half=st.booleans())
    def capture(self, tenant: str, key: str, *, half: bool) -> None:
        if (self.prefix + tenant, key) in self.held:
            amount = self.held[self.prefix + tenant, key]["amount"]
            give = max(1, amount // 2) if half else amount
            self._settle(tenant, key, "captured", lambda r: self.store.quota.capture(r, give), give)

    @precondition(lambda self: self.held)
    @rule(tenant=TENANTS, key=KEYS)
    def release(self, tenant: str, key: str) -> None:
        if (self.prefix + tenant, key) in self.held:
            self._settle(tenant, key, "released", self.store.quota.release, 0)

    @precondition(lambda self: self.held)
    @rule(tenant=TENANTS, key=KEYS, attempt=st.integers(1, 3), cost=st.integers(0, 30))
    def spend(self, tenant: str, key: str, attempt: int, cost: int) -> None:
        tenant = self.prefix + tenant
        entry = self.held.get((tenant, key))
        if entry is None:
            return
        over = self.store.quota.spend(entry["res"], attempt, cost)
        if attempt not in entry["attempts"]:
            entry["attempts"].add(attempt)
            self.spent[tenant] = self.spent.get(tenant, 0) + cost
            if entry["state"] == "held":
                entry["cost_held"] -= min(entry["cost_held"], cost)
        assert over == (self.spent[tenant] >= BUDGET)

    @precondition(lambda self: self.stale)
    @rule(data=st.data())
    def settle_as_the_former_holder(self, data: st.DataObject) -> None:
        stale = data.draw(st.sampled_from(self.stale))
        with pytest.raises(NotHeld, match="taken over"):
            self.store.quota.capture(stale)

    @rule(seconds=st.sampled_from([1, 100, 200, 301]))
    def wait(self, seconds: int) -> None:
        self.clock.go(seconds)

    @rule()
    def sweep(self) -> None:
        self.store.quota.expire()
        self._expire()

    @invariant()
    def used_is_captured_and_held_is_held(self) -> None:
        for name in ("acme", "umbrella"):
            tenant = self.prefix + name
            rows = {(s.unit, s.scope, s.name): s for s in self.store.quota.standings(tenant)}
            whole = rows.get(("replies", "tenant", ""))
            assert (whole.used if whole else 0) == self._sum(tenant, "captured")
            # Nobody has looked at what expired since: the store may still show it on hold.
            late = [e for (t, _), e in self.held.items() if t == tenant and e["expires"] <= self.clock.micros]
            if not late:
                assert (whole.held if whole else 0) == self._sum(tenant, "held")
            cost = rows.get(("cost", "tenant", ""))
            assert (cost.used if cost else 0) == self.spent.get(tenant, 0)

    def teardown(self) -> None:
        assert self.store.quota.audit() == []


@pytest.mark.spec("Q13", "X39", "X41", "X42")
def test_the_ledger_behaves_like_its_model(database: Callable[[], str]) -> None:
    clock = Hand()
    with open_store(database(), clock=clock) as store:
        store._writer._linger = 0
        game = type("Game", (Ledger,), {"store": store, "clock": clock})
        run_state_machine_as_test(
            game, settings=settings(max_examples=500 if SOAK else 20, stateful_step_count=60 if SOAK else 25)
        )
