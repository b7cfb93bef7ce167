"""Lanes: everything that is the same for all requests with one route, upstream, path and model, computed once.

A lane has the policy of a request, the upstream as the loop sees it, and the beginning of its first call.
"""

from typing import Any

import msgspec

from trueup.ask.loop.loop import Traits
from trueup.ask.memory import Memory
from trueup.ask.policy import MODES, Policy
from trueup.ask.requests.first_call import Opening, opening_of
from trueup.ask.rungs import Rung
from trueup.contract.contract import Contract
from trueup.gateway.config import POLICY, Route
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.protocols.protocol import RequestParts
from trueup.gateway.replies.retrying import RetryBudget
from trueup.gateway.replies.translating import target_of

_MOST = 1000


class Lane(msgspec.Struct, frozen=True):
    """One way through the gateway."""

    route: Route | None
    contract: Contract
    policy: Policy
    rungs: tuple[Rung, ...]
    learned: frozenset[str]  # what the first model is known to reject
    opening: Opening | None  # how a request begins that is not streamed


class Lanes:
    """The lanes of one gateway, for the models requested last, and what is known about its upstreams."""

    def __init__(self, deadline: float, retry_budget: float = 0.2) -> None:
        self.memory = Memory()
        self.budget = RetryBudget(retry_budget)
        self._deadline = deadline
        self._lanes: dict[tuple[str, str, tuple[tuple[str, str], ...], str, str, bool], Lane] = {}

    def of(self, exchange: Exchange, asked: RequestParts) -> Lane:
        """The lane of a request."""
        route, contract = exchange.route, exchange.contract
        assert contract is not None
        name = "" if route is None else route.name
        protocol = exchange.protocol
        # Tenants may have other rungs on the same route.
        rungs = tuple([rung.place for rung in exchange.rungs])
        place = (name, contract.name, rungs, protocol.path, asked.model, asked.own_format)
        lane = self._lanes.get(place)
        if (
            lane is None
            or lane.contract is not contract
            or lane.route is not route
            or lane.learned != self._known(lane.rungs[0])
        ):
            policy = _fitted(POLICY if route is None else route.policy, asked, self._deadline)
            ladder = _rungs(exchange, asked)
            opening = opening_of(contract, ladder, policy, memory=self.memory)
            lane = Lane(route, contract, policy, ladder, self._known(ladder[0]), opening)
            if len(self._lanes) >= _MOST:
                self._lanes.clear()
            self._lanes[place] = lane
        return lane

    def opening(self, lane: Lane) -> Opening | None:
        """The beginning of a request; None while its first upstream fails, because it is not always the same then."""
        failing = self.memory.breakers and self.memory.breakers.failures(lane.rungs[0].client.place)
        return None if failing else lane.opening

    def is_open(self, upstream: str) -> bool:
        """Whether a circuit breaker of an upstream is open or half open."""
        return any(name == upstream for name, _ in self.memory.breakers.opened())

    def _known(self, rung: Rung) -> frozenset[str]:
        return self.memory.known(rung.client.key, rung.model)


def _rungs(exchange: Exchange, asked: RequestParts) -> tuple[Rung, ...]:
    """The rungs of a request as the loop sees them, in the same order."""
    found = []
    for rung in exchange.rungs:
        protocol = target_of(exchange.protocol, rung.upstream)
        modes = MODES if protocol.speaks == "openai" and not asked.own_format else ("text",)
        name = rung.upstream.name
        client = Traits(
            f"gateway:{name}:{protocol.path}:{asked.model}", modes, protocol.provider, finishes=True, place=rung.place
        )
        found.append(Rung(client, rung.model, None, rung.share))
    return tuple(found)


def _fitted(policy: Policy, asked: RequestParts, deadline: float) -> Policy:
    """The policy of one request: its deadline within the gateway's, its models as rungs, and no unlimited retries."""
    changes: dict[str, Any] = {"raw": 0} if policy.raw else {}  # events are sent to traces, without any text
    if policy.models:
        changes["models"] = ()
    if not policy.eager or policy.waits is None:
        changes |= {"eager": True, "waits": policy.retries if policy.waits is None else policy.waits}
    if policy.deadline is None or policy.deadline > deadline:
        changes["deadline"] = deadline
    if asked.own_format and policy.instruct == "auto":
        changes["instruct"] = "never"
    return msgspec.structs.replace(policy, **changes) if changes else policy
