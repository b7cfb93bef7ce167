"""What a client gets: an answer enters, the reply in the client's own protocol leaves, or the error that says why there is none.

A reply that nothing was done to leaves as the very bytes that came. Invalid text is withheld: an error names codes and places,
and quotes little.
"""

from typing import Any

from trueup.ask.answer import Answer
from trueup.ask.clients.request import Failure
from trueup.contract.holder import leaks, spoken
from trueup.gateway.errors import Refused
from trueup.gateway.exchange import Exchange
from trueup.gateway.protocols.protocol import Body, Said, encode
from trueup.verdict.facts import Finding

MOST_FINDINGS, MOST_WORDS = 10, 200
_GIVEN = frozenset({"accepted", "repaired", "regenerated", "fallback", "degraded"})


def rendered(exchange: Exchange, answer: Answer, raw: Any, body: bytes) -> bytes:
    """The body of a reply; `raw` is the upstream's last answer, `body` its bytes."""
    verdict = answer.verdict
    if (
        answer.outcome == "accepted"
        and len(answer.attempts) == 1
        and not verdict.fixes
        and not exchange.include
        and body
    ):
        return body
    return encode(reply_of(exchange, answer, raw))


def reply_of(exchange: Exchange, answer: Answer, raw: Any) -> Body:
    """The reply as data."""
    protocol, verdict = exchange.protocol, answer.verdict
    data = exchange.contract is not None and exchange.contract.schema is not None
    usage = answer.usage if len(answer.attempts) > 1 else {}
    if answer.outcome == "fallback" or not isinstance(raw, dict):
        text = verdict.reply.text
        if data and verdict.fixes and verdict.data is not None:
            text = encode(verdict.data).decode()
        elif not data and answer.outcome != "fallback":
            text = "" if leaks(verdict) else spoken(text)
        model = answer.attempts[-1].model if answer.attempts else ""
        calls = () if answer.outcome == "fallback" else verdict.calls or verdict.reply.calls
        said = Said(text, calls, verdict.reply.model or model or str(exchange.head.model or ""), answer.usage)
        reply: Body = protocol.composed(said)
    else:
        reply = protocol.mended(raw, verdict, data)
        reply = protocol.with_usage(reply, usage)
    if exchange.include:
        reply = {**reply, "trueup": described(exchange, answer)}
    return reply


def described(exchange: Exchange, answer: Answer) -> Body:
    """What was found and what was done, for who asked to know."""
    import msgspec

    verdict = answer.verdict
    return {
        "verdict": exchange.verdict_id, "outcome": answer.outcome, "attempts": len(answer.attempts),
        "reason": answer.reason, "ok": answer.ok, "findings": [msgspec.to_builtins(f) for f in answer.findings],
        "fixes": [msgspec.to_builtins(f) for f in verdict.fixes], "confidence": verdict.confidence,
    }  # fmt: skip


def is_given(answer: Answer) -> bool:
    """Whether an answer is a reply for the client."""
    return answer.outcome in _GIVEN


def refusal_of(exchange: Exchange, answer: Answer) -> Refused:
    """Why there is no reply."""
    last = answer.attempts[-1] if answer.attempts else None
    if last is not None and last.failure is not None and not any(a.verdict for a in answer.attempts):
        return _failed(last.failure, exchange)
    more = {
        "findings": [_said(found) for found in answer.findings.errors[:MOST_FINDINGS]],
        "trueup": _short(exchange, answer),
    }
    first = answer.verdict.errors[0] if answer.verdict.errors else None
    said = f": {first.code} {_cut(first.message)}" if first is not None else ""
    message = f"no reply of the model kept the contract in {len(answer.attempts)} attempts{said}"
    if answer.outcome == "failed" and answer.reason == "deadline":
        return Refused(504, message, "server_error", "deadline_exceeded", more=more)
    return Refused(422, message, "contract_violation", "contract_violation", more=more)


def _failed(failure: Failure, exchange: Exchange) -> Refused:
    """An upstream that gave no reply at all; a fault in the client's own request is told as such."""
    status = failure.status or (504 if failure.code == "timeout" else 502)
    message = _cut(failure.reason, 600)
    for secret in exchange.upstream.secrets:
        message = message.replace(secret, "[key]")
    if status in (401, 403):
        return Refused(502, f"upstream {exchange.upstream.name!r} refuses our key", "server_error", "upstream_refused")
    if status in (400, 404, 409, 413, 422):
        return Refused(status, message, "invalid_request_error", failure.code or "upstream_refused")
    if status == 429:
        after = {"retry-after": f"{failure.retry_after:g}"} if failure.retry_after is not None else {}
        return Refused(429, message, "rate_limit_error", failure.code or "rate_limit_exceeded", headers=after)
    code = "upstream_timeout" if status == 504 else "upstream_failed"
    return Refused(status if status in (503, 504, 529) else 502, message, "server_error", code)


def _short(exchange: Exchange, answer: Answer) -> Body:
    return {
        "verdict": exchange.verdict_id,
        "outcome": answer.outcome,
        "attempts": len(answer.attempts),
        "reason": answer.reason,
    }


def _said(found: Finding) -> Body:
    return {"code": found.code, "name": found.name, "path": found.path, "message": _cut(found.message)}


def _cut(text: str, most: int = MOST_WORDS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
