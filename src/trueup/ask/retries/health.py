"""The health of one ask's rungs: what each has rejected, and its circuit breaker. It connects the loop with the memory.

Takes the result of each call; returns the features to leave out, how long rungs rest, and changes of a breaker. A rejection is stored
only after a call without the rejected feature was answered, so that an error that only looked like a rejection is forgotten with the ask.
"""

from hashlib import blake2b
from typing import Any

from trueup.ask.clients.request import CallFailure
from trueup.ask.loop import plan
from trueup.ask.memory import Memory
from trueup.ask.policy import ALL_MODES, Mode, Policy
from trueup.ask.retries.breaker import Place, State
from trueup.verdict.codec import written

_DOWN = frozenset({401, 402, 403, 404})  # statuses of a rung that will not answer the next call either
_LOCKED = _DOWN - {404}  # statuses that apply to all models at its address
_SCOPED = frozenset({"json_schema", "strict", "tool"})  # the cause may be a schema, and not the feature itself


class LadderHealth:
    """The rungs of one ask, with what the memory knows about them."""

    def __init__(
        self, memory: Memory, policy: Policy, keys: tuple[str, ...], schema: Any, places: tuple[Place, ...] = ()
    ) -> None:
        self._memory = memory
        self._policy = policy
        self._keys = keys
        self._places = places  # the clients' places, if a breaker is for all models of an address
        self._schema = schema
        self._guards = False  # whether there is another rung, so that breakers are useful
        self._shares = 0.0  # of all rungs together
        self._pending: dict[int, set[str]] = {}

    def rung(self, client: int, model: str, modes: tuple[Mode, ...], share: float | None = None) -> plan.PlanRung:
        """A rung as the plan sees it, without the modes and features that its model is known to reject."""
        known = self._memory.known(self._keys[client], model)
        if not known:
            return plan.PlanRung(model, modes, client=client, share=share)
        if any(" " in item for item in known):
            own = f" {self._fingerprint()}"
            known = frozenset(item.removesuffix(own) for item in known if " " not in item or item.endswith(own))
        left = tuple(mode for mode in modes if mode not in known) or modes[-1:]
        return plan.PlanRung(model, left, known.difference(ALL_MODES), client, share)

    def guard(self, ladder: tuple[plan.PlanRung, ...]) -> None:
        """Use breakers if the ladder has several rungs."""
        self._guards = (len(ladder) > 1 or self._policy.eager) and self._policy.breaker > 0
        self._shares = sum(rung.share or 0.0 for rung in ladder)

    def resting(self, ladder: tuple[plan.PlanRung, ...], now: float) -> tuple[float, ...]:
        """For each rung, the seconds until its breaker allows a call; empty if no breaker is open."""
        breakers = self._memory.breakers
        if not self._guards or not breakers:
            return ()
        return tuple(breakers.rest(self._place(rung), now) for rung in ladder)

    def sending(self, rung: plan.PlanRung, now: float) -> State | None:
        """Note that a call to a rung is sent. This and the next two methods return the new state of its breaker if it changed."""
        return self._memory.breakers.begin(self._place(rung), now, self._policy.cooldown) if self._guards else None

    def answered(self, index: int, rung: plan.PlanRung) -> State | None:
        """Note that a call was answered with a reply: remember the features that it was sent without, and close the breaker."""
        pending = self._pending.pop(index, None)
        if pending:
            self._memory.reject(self._keys[rung.client], rung.model, pending)
        return self._memory.breakers.answered(self._place(rung)) if self._guards else None

    def failed(
        self, index: int, rung: plan.PlanRung, send: plan.Send, failure: CallFailure, now: float
    ) -> State | None:
        """Note that a call was not answered with a reply."""
        if failure.kind == "mode":
            self._reject(index, send.mode, whole=failure.feature != "schema")
        elif failure.kind == "feature" and failure.feature in send.without:  # the mode needs it, or it is not the cause
            self._acquit(index, failure.feature)
            if send.mode != "text":
                self._reject(index, send.mode, whole=failure.feature not in _SCOPED)
        elif failure.kind == "feature":
            self._reject(index, failure.feature, whole=failure.feature not in _SCOPED)
        if not self._guards:
            return None
        place, policy = self._place(rung), self._policy
        if self._is_down(failure, send, rung):
            after = failure.retry_after
            return self._memory.breakers.failed(place, now, limit=policy.breaker, cooldown=policy.cooldown, after=after)
        # It refused this request, so it is running.
        return self._memory.breakers.answered(place) if failure.status is not None else None

    def failures(self, rung: plan.PlanRung) -> int:
        """How many calls to a rung have failed in a row."""
        return self._memory.breakers.failures(self._place(rung))

    def _is_down(self, failure: CallFailure, send: plan.Send, rung: plan.PlanRung) -> bool:
        """Whether a failure shows that the next call would fail too; a call that the deadline cut short does not show this."""
        if failure.code in {"timeout", "abandoned"} and self._was_cut_short(send, rung):
            return False
        refused = failure.kind == "fatal" and failure.status in (_LOCKED if self._places else _DOWN)
        return refused or failure.kind in {"rate", "transient"}

    def _was_cut_short(self, send: plan.Send, rung: plan.PlanRung) -> bool:
        """Whether a call had less time than the policy's timeout, or less than half of its rung's share."""
        limit = self._policy.timeout
        if rung.share is not None and self._policy.deadline is not None:
            own = self._policy.deadline * rung.share / self._shares / 2
            limit = own if limit is None else min(limit, own)
        return send.timeout is not None and (limit is None or send.timeout < limit)

    def _reject(self, index: int, what: str, *, whole: bool) -> None:
        """Note a rejection: of the `whole` feature, or only of this schema."""
        self._pending.setdefault(index, set()).add(what if whole else f"{what} {self._fingerprint()}")

    def _acquit(self, index: int, what: str) -> None:
        """Take a rejection back, because the provider gives the same error for a request without the feature."""
        self._pending.get(index, set()).difference_update({what, f"{what} {self._fingerprint()}"})

    def _place(self, rung: plan.PlanRung) -> Place:
        return self._places[rung.client] if self._places else (self._keys[rung.client], rung.model)

    def _fingerprint(self) -> str:
        return blake2b(written(self._schema), digest_size=8).hexdigest()
