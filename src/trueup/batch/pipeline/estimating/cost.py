"""Computes the cost of calls. Each is counted once, when its reply is recorded; an unknown price is reported as unknown.

Prices come from the configuration (`api.prices`, per million tokens) or from the list prices in the package; none of them is
guessed. The recorded and the local provider cost nothing unless a price is given.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.ask.policy import Policy, Price
from trueup.batch.pipeline.rundir.state import Money
from trueup.batch.pipeline.running.stop import Stop

FREE = frozenset({"replay", "local"})


class Prices:
    """The prices of a run."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._policy = Policy(prices={str(model): _price(model, price) for model, price in given.items()})

    def known(self, provider: str, model: str) -> bool:
        return provider in FREE or self._policy.price(model) is not None

    def _is_free(self, provider: str, model: str) -> bool:
        given = self._policy.prices
        return provider in FREE and model not in given and "*" not in given

    def cost(self, provider: str, model: str, usage: Mapping[str, int], *, batch: bool = False) -> float | None:
        """The cost of a reply, or None if it is not known; batches cost half."""
        if self._is_free(provider, model):
            return 0.0
        cost = self._policy.cost(model, usage)
        return cost if cost is None or not batch else cost / 2

    def estimate(self, provider: str, model: str, taken: int, given: int) -> float | None:
        """The cost of a reply with these numbers of tokens."""
        return self.cost(provider, model, {"input_tokens": taken, "output_tokens": given})


def prices_of(section: Mapping[str, Any], wanted: str = "") -> Prices:
    """The prices of a run: the configuration's, overridden by the command line's, which has the form IN/OUT.

    >>> prices_of({}, "0.15/0.60").cost("openai", "any", {"input_tokens": 1_000_000, "output_tokens": 0})
    0.15
    """
    if not wanted:
        return Prices(section)
    taken, _, given = wanted.partition("/")
    try:
        return Prices({"*": {"input": float(taken), "output": float(given)}})
    except ValueError:
        raise ValueError(
            f"a price must be IN/OUT, in dollars per million tokens, such as 0.15/0.60; got {wanted!r}"
        ) from None


def _price(model: Any, given: Any) -> Price:
    try:
        if isinstance(given, Mapping):
            Price(**given)  # refuses unknown names
        return msgspec.convert(given, Price)
    except (TypeError, ValueError) as error:
        usual = f"api.prices: the price of {model!r} must be {{input: …, output: …}} per million tokens"
        raise ValueError(f"{usual}; {error}") from None


def money_of(usage: Mapping[str, int], cost: float | None) -> Money:
    """The cost of one reply."""
    return Money(1, usage.get("input_tokens", 0), usage.get("output_tokens", 0), cost or 0.0, 1 if cost is None else 0)


def shown(money: Money) -> str:
    """An amount as text.

    >>> shown(Money(usd=0.0123)), shown(Money(calls=3, unpriced=3)), shown(Money(calls=2, usd=1.5, unpriced=1))
    ('$0.0123', 'unknown', '$1.5000 + unknown for 1 call')
    """
    if not money.unpriced:
        return f"${money.usd:.4f}"
    if money.unpriced == money.calls:
        return "unknown"
    return f"${money.usd:.4f} + unknown for {money.unpriced} call{'s' * (money.unpriced != 1)}"


class CapReached(RuntimeError):
    """The next call might cost more than the rest of the cap."""


class Purse:
    """Keeps a run below its cap. It counts the money spent, and the possible cost of calls that are not finished. A batch is one
    call.

    The cost of an unfinished call is taken to be the estimate, or the cost of the most expensive call so far if that is higher.
    """

    def __init__(self, cap: float | None, spent: float) -> None:
        self.cap = cap
        self.spent = spent
        self._held = 0.0
        self.calls = 0  # not finished
        self._dearest = 0.0
        self._over = asyncio.Event()

    def hold(self, estimate: float | None, *, sent: bool = False) -> float:
        """Reserve money for a call, and return the amount. Refuses if the cap would be exceeded, unless the call was `sent` already."""
        if self.cap is None:
            return 0.0
        amount = max(estimate or 0.0, self._dearest)
        under_way = max(self._held, self.calls * self._dearest)
        if not sent and self.spent + under_way + amount > self.cap:
            said = f"${self.spent:.4f} spent, {self.calls} calls under way, the next may cost ${amount:.4f}"
            raise CapReached(f"the cost cap of ${self.cap:g} is reached: {said}")
        self._held += amount
        self.calls += 1
        return amount

    async def afford(self, estimate: float | None, stop: Stop) -> float | None:
        """Reserve money for a call, or ask for a stop. Before that, wait for the unfinished calls: only then their cost is known."""
        while not stop:
            try:
                return self.hold(estimate)
            except CapReached as reached:
                if not self.calls:
                    stop.ask("cost", str(reached))
                else:
                    self._over.clear()
                    await self._over.wait()
        return None

    def pay(self, held: float, cost: float | None) -> None:
        """The call is finished: release its reservation, and count its cost."""
        if self.cap is not None:
            self._held = max(0.0, self._held - held)
            self.calls = max(0, self.calls - 1)
            self._over.set()
        self.spend(cost)

    def spend(self, cost: float | None) -> None:
        """Count the cost of a reply. Replies of a batch come before the batch is finished."""
        if cost:
            self.spent += cost
            self._dearest = max(self._dearest, cost)
