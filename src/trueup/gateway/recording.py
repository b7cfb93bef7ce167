"""What became of a request, as verdicts in the store: one for each attempt that got a reply, the last one final.

Nobody waits for the disk here; a store whose queue is full says so in the log, and the gateway is no longer ready.
"""

import logging
from typing import Any

from trueup.ask.answer import Answer
from trueup.gateway.asking import Asking
from trueup.gateway.tab import MICRO
from trueup.store.errors import StoreError
from trueup.store.records import new_id
from trueup.store.store import Store

log = logging.getLogger("trueup.gateway")


def record(store: Store, asking: Asking, answer: Answer, user: str) -> None:
    """Store the verdicts of a request."""
    exchange = asking.exchange
    state = exchange.context.get("state")
    contract = "" if exchange.contract is None else exchange.contract.name
    known: dict[str, Any] = {"request": exchange.verdict_id, "tenant": exchange.tenant, "user": user, "contract": contract,
             "state": state if isinstance(state, str) else "", "wait": False, "patience": 0.0}  # fmt: skip
    judged = [
        attempt for attempt in answer.attempts if attempt.verdict is not None and attempt.verdict is not answer.verdict
    ]
    try:
        for attempt in judged:
            assert attempt.verdict is not None
            store.record_verdict(
                attempt.verdict, id=new_id(), attempt=attempt.number, model=attempt.model or asking.asked.model,
                outcome="refused", latency=attempt.seconds, cost=round((attempt.cost or 0) * MICRO), final=False, **known,
            )  # fmt: skip
        last = answer.attempts[-1] if answer.attempts else None
        store.record_verdict(
            answer.verdict, id=exchange.verdict_id, attempt=last.number if last else 0,
            attempts=max(1, len(answer.attempts)), model=(last.model if last else "") or asking.asked.model, outcome=answer.outcome, latency=answer.seconds,
            cost=round((answer.cost or 0) * MICRO), **known,
        )  # fmt: skip
    except StoreError as error:
        log.error("a verdict could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all
