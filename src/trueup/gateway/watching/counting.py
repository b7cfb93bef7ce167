"""Counts the calls of one request, each for the model that it asked, whatever the request's outcome.

Counts calls, calls without a valid reply by reason, and requests for which a model had to be asked again or was given up for
another one. The rates by model follow from these.
"""

from trueup.ask.answer import Answer, Attempt
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.replies.tab import MICRO
from trueup.gateway.watching.metrics import ASKED, ATTEMPTS, FAILURES, RETRIED, Metrics
from trueup.store.alarm import Alarm
from trueup.store.records import GivenUp, reason_of


def count_attempts(metrics: Metrics, exchange: Exchange, model: str, answer: Answer, alarm: Alarm | None) -> None:
    """Count the calls of a request; `model` is the requested one, for calls that do not name another.

    `alarm` warns about models that are asked again too often; None: another part does.
    """
    attempts = answer.attempts
    contract = "" if exchange.contract is None else exchange.contract.name
    if len(attempts) == 1 and attempts[0].verdict is answer.verdict and not answer.verdict.findings:  # as nearly always
        asked = (attempts[0].model or model,)
        metrics.tick(ATTEMPTS, asked)
        metrics.tick(ASKED, asked)
        if alarm is not None:
            alarm.count(asked[0], retried=False)
    else:
        _count_each(metrics, contract, model, attempts, alarm)
    if answer.verdict.fixes:
        metrics.count("trueup_fixes_total", contract=contract)


def _count_each(
    metrics: Metrics, contract: str, model: str, attempts: tuple[Attempt, ...], alarm: Alarm | None
) -> None:
    seen: set[str] = set()
    for attempt in attempts:
        asked = attempt.model or model
        metrics.tick(ATTEMPTS, (asked,))
        reason = failed_for(attempt)
        if reason:
            metrics.tick(FAILURES, (asked, reason))
        if asked not in seen:
            seen.add(asked)
            metrics.tick(ASKED, (asked,))
            if attempt is not attempts[-1]:
                metrics.tick(RETRIED, (asked,))
            if alarm is not None:
                alarm.count(asked, retried=attempt is not attempts[-1])
        if attempt.verdict is not None and attempt.verdict.findings:
            for code in {finding.code for finding in attempt.verdict.errors}:
                metrics.count("trueup_findings_total", contract=contract, model=asked, code=code)


def count_passed(metrics: Metrics, exchange: Exchange, model: str, reason: str) -> None:
    """Count the calls of a request that was passed through; `reason` says why the only call failed, empty if it did not."""
    calls = exchange.tried or ((model, reason),)
    seen: set[str] = set()
    for at, (asked, failed) in enumerate(calls):
        metrics.tick(ATTEMPTS, (asked,))
        if failed:
            metrics.tick(FAILURES, (asked, failed))
        if asked not in seen:
            seen.add(asked)
            metrics.tick(ASKED, (asked,))
            if at < len(calls) - 1:
                metrics.tick(RETRIED, (asked,))


def given_up(model: str, attempts: tuple[Attempt, ...]) -> tuple[GivenUp, ...]:
    """The models that were given up for the one that was asked last, each with its calls and the reason for the last of them."""
    last = attempts[-1].model or model if attempts else model
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.model or model, []).append(attempt)
    found.pop(last, None)
    return tuple(
        GivenUp(name, len(calls), failed_for(calls[-1]), round(sum(call.cost or 0 for call in calls) * MICRO))
        for name, calls in found.items()
    )


def failed_for(attempt: Attempt) -> str:
    """Why a call gave no valid reply: the code of the first finding, a status, or a connection fault; empty if it gave one."""
    failure, verdict = attempt.failure, attempt.verdict
    if failure is not None:
        return str(failure.status or failure.code or failure.kind)
    return "" if verdict is None or verdict.ok else reason_of(verdict) or "refused"
