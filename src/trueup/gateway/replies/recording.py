"""Stores the outcome of a request as verdicts: one for each attempt that got a reply, the last one final.

Nothing waits for the disk here; a store whose queue is full is logged, and the gateway is no longer ready.
"""

import logging

from trueup.ask.answer import Answer, Attempt
from trueup.gateway.door.exchange import Exchange, conversation_of
from trueup.gateway.replies.asking import Asking
from trueup.gateway.replies.tab import MICRO
from trueup.gateway.watching.counting import given_up
from trueup.store.errors import StoreError
from trueup.store.records import Note, new_id
from trueup.store.store import Store
from trueup.verdict.verdict import Verdict

log = logging.getLogger("trueup.gateway")


def record(store: Store, asking: Asking, answer: Answer, user: str) -> None:
    """Store the verdicts of a request."""
    attempts = answer.attempts
    last = attempts[-1] if attempts else None
    try:
        if len(attempts) > 1 or (last is not None and last.verdict is not answer.verdict):
            for attempt in attempts:
                if attempt.verdict is not None and attempt.verdict is not answer.verdict:
                    store.note(_earlier(store, asking, attempt, attempt.verdict, user))
        store.note(_final(store, asking, answer, last, user))
    except StoreError as error:
        log.error("a verdict could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all


def _earlier(store: Store, asking: Asking, attempt: Attempt, verdict: Verdict, user: str) -> Note:
    exchange = asking.exchange
    return Note(
        new_id(), verdict, exchange.verdict_id, attempt.number, exchange.tenant, user, attempt.model or asking.asked.model,
        _contract(exchange), state_of(exchange), "refused", 1, attempt.seconds, round((attempt.cost or 0) * MICRO), final=False,
        fingerprint=_fingerprint(exchange), context=store.keepable(exchange.context),
        conversation=conversation_of(exchange), rules=exchange.contract,
    )  # fmt: skip


def _final(store: Store, asking: Asking, answer: Answer, last: Attempt | None, user: str) -> Note:
    exchange = asking.exchange
    return Note(
        exchange.verdict_id, answer.verdict, exchange.verdict_id, _number(answer, last), exchange.tenant, user,
        (last.model if last else "") or asking.asked.model, _contract(exchange), state_of(exchange), answer.outcome,
        max(1, len(answer.attempts)), answer.seconds, round((answer.cost or 0) * MICRO), fingerprint=_fingerprint(exchange),
        given_up=given_up(asking.asked.model, answer.attempts) if len(answer.attempts) > 1 else (),
        context=store.keepable(exchange.context), conversation=conversation_of(exchange), rules=exchange.contract,
    )  # fmt: skip


def _number(answer: Answer, last: Attempt | None) -> int:
    """The number of the last attempt; 0 for text that no model wrote: a fallback, or a part of a refused reply."""
    is_said = any(attempt.verdict is answer.verdict for attempt in answer.attempts)
    return last.number if last is not None and (is_said or answer.outcome not in ("fallback", "degraded")) else 0


def _contract(exchange: Exchange) -> str:
    return "" if exchange.contract is None else exchange.contract.name


def _fingerprint(exchange: Exchange) -> str:
    return "" if exchange.contract is None else exchange.contract.fingerprint


def state_of(exchange: Exchange) -> str:
    """The state that the reply was judged in, which may be the contract's start; if it is unknown, the state that the client
    named.
    """
    meaning = None if exchange.contract is None else exchange.contract.meaning
    known = "" if meaning is None or meaning.states is None else meaning.states.standing(exchange.context).state
    state = known or exchange.context.get("state")
    return state if isinstance(state, str) else ""
