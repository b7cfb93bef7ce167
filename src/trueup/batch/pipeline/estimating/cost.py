"""What calls cost: counted once, where the reply is recorded; a price that is not known is said to be unknown.

Prices come from the configuration (`api.prices`, per million tokens), or are the list prices that ship with the package; none is
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
        """What a reply cost, or None where that is not known; a batch costs half."""
        if self._is_free(provider, model):
            return 0.0
        cost = self._policy.cost(model, usage)
        return cost if cost is None or not batch else cost / 2

    def estimate(self, provider: str, model: str, taken: int, given: int) -> float | None:
        """What a reply would cost with so many tokens."""
        return self.cost(provider, model, {"input_tokens": taken, "output_tokens": given})


def prices_of(section: Mapping[str, Any], wanted: str = "") -> Prices:
    """The prices of a run: those of the configuration, and over them the one of the command line, written IN/OUT.

    >>> prices_of({}, "0.15/0.60").cost("openai", "any", {"input_tokens": 1_000_000, "output_tokens": 0})
    0.15
    """
    if not wanted:
        return Prices(section)
    taken, _, given = wanted.partition("/")
    try:
        return Prices({"*": {"input": float(taken), "output": float(given)}})
    except ValueError:
        raise ValueError(f"a price is IN/OUT, dollars per million tokens, as 0.15/0.60; got {wanted!r}") from None


def _price(model: Any, given: Any) -> Price:
    try:
        if isinstance(given, Mapping):
            Price(**given)  # refuses names that are not those of a price
        return msgspec.convert(given, Price)
    except (TypeError, ValueError) as error:
        usual = f"api.prices: the price of {model!r} is {{input: …, output: …}} per million tokens"
        raise ValueError(f"{usual}; {error}") from None


def money_of(usage: Mapping[str, int], cost: float | None) -> Money:
    """One reply as money."""
    return Money(1, usage.get("input_tokens", 0), usage.get("output_tokens", 0), cost or 0.0, 1 if cost is None else 0)


def shown(money: Money) -> str:
    """An amount for people.

    >>> shown(Money(usd=0.0123)), shown(Money(calls=3, unpriced=3)), shown(Money(calls=2, usd=1.5, unpriced=1))
    ('$0.0123', 'unknown', '$1.5000 + unknown for 1 call')
    """
    if not money.unpriced:
        return f"${money.usd:.4f}"
    if money.unpriced == money.calls:
        return "unknown"
    return f"${money.usd:.4f} + unknown for {money.unpriced} call{'s' * (money.unpriced != 1)}"


class CapReached(RuntimeError):
    """The next call might cost more than what is left of the cap."""


class Purse:
    """Keeps a run below its cap: what is spent, and what the calls under way may cost; a batch is one call.

    A call is taken to cost what was guessed, or as much as the dearest one so far; so are those that are under way.
    """

    def __init__(self, cap: float | None, spent: float) -> None:
        self.cap = cap
        self.spent = spent
        self._held = 0.0
        self.calls = 0  # under way
        self._dearest = 0.0
        self._over = asyncio.Event()

    def hold(self, estimate: float | None, *, sent: bool = False) -> float:
        """Set money aside for a call, or refuse it unless it is `sent` already; gives what was set aside."""
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
        """Set money aside for a call, or ask for a stop. Calls under way come in first: only then it is known what they cost."""
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
        """The call is over: what was set aside is free, what it cost is spent."""
        if self.cap is not None:
            self._held = max(0.0, self._held - held)
            self.calls = max(0, self.calls - 1)
            self._over.set()
        self.spend(cost)

    def spend(self, cost: float | None) -> None:
        """Count what a reply cost; one of a batch comes before the batch is over."""
        if cost:
            self.spent += cost
            self._dearest = max(self._dearest, cost)
