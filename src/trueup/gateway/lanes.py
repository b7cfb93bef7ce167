"""Lanes: what is the same for every request under one route, upstream, path and model, worked out once.

A request enters; the policy it is asked under, the upstream as the loop sees it, and how its first call begins leave.
"""

from typing import Any

import msgspec

from trueup.ask.loop import Traits
from trueup.ask.memory import MODES as LEARNED
from trueup.ask.opening import Opening, opening_of
from trueup.ask.policy import MODES, Policy
from trueup.contract.contract import Contract
from trueup.gateway.config import POLICY, Route
from trueup.gateway.exchange import Exchange
from trueup.gateway.protocols.protocol import Asked

_MOST = 1000


class Lane(msgspec.Struct, frozen=True):
    """One way through the gateway."""

    route: Route | None
    contract: Contract
    policy: Policy
    client: Traits
    learned: frozenset[str]  # what the model is known to reject
    opening: Opening | None  # how a request begins that is not streamed


class Lanes:
    """The lanes of one gateway; those of the last models that were asked for."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._lanes: dict[tuple[str, str, str, str, str, bool], Lane] = {}

    def of(self, exchange: Exchange, asked: Asked) -> Lane:
        """The lane of a request."""
        route, contract = exchange.route, exchange.contract
        assert contract is not None
        name = "" if route is None else route.name
        protocol = exchange.protocol
        place = (name, contract.name, exchange.upstream.name, protocol.path, asked.model, asked.own_format)
        lane = self._lanes.get(place)
        if (
            lane is None
            or lane.contract is not contract
            or lane.route is not route
            or lane.learned != LEARNED.known(lane.client.key, "")
        ):
            policy = _fitted(POLICY if route is None else route.policy, asked, self._deadline)
            modes = MODES if protocol.speaks == "openai" and not asked.own_format else ("text",)
            key = f"gateway:{exchange.upstream.name}:{protocol.path}:{asked.model}"
            client = Traits(key, modes, protocol.provider, finishes=True)
            opening = opening_of(contract, client, policy)  # type: ignore[arg-type]  # frozen
            lane = Lane(route, contract, policy, client, LEARNED.known(key, ""), opening)
            if len(self._lanes) >= _MOST:
                self._lanes.clear()
            self._lanes[place] = lane
        return lane


def _fitted(policy: Policy, asked: Asked, deadline: float) -> Policy:
    """The policy of one request: its models after the client's own, its deadline within the gateway's."""
    changes: dict[str, Any] = {"raw": 0} if policy.raw else {}  # events leave for traces, and no text with them
    if policy.models:
        changes["models"] = (asked.model, *(model for model in policy.models if model != asked.model))
    if policy.deadline is None or policy.deadline > deadline:
        changes["deadline"] = deadline
    if asked.own_format and policy.instruct == "auto":
        changes["instruct"] = "never"
    return msgspec.structs.replace(policy, **changes) if changes else policy
