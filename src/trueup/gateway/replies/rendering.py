"""Writes the client's reply in its own protocol, or the error that says why there is none.

Every reply is written from what was judged and from the fields that the list keeps. Invalid text is withheld: an error names
codes and places, and quotes nothing.
"""

from typing import Any

from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.errors import NO_RETRY, RefusedRequest, whole_seconds
from trueup.gateway.protocols.field_filter import is_name
from trueup.gateway.protocols.protocol import Body, OutgoingReply, encode
from trueup.gateway.replies.disclosure import sentence, told_finding, told_fix, told_path
from trueup.gateway.replies.judging import bug_refusal
from trueup.gateway.replies.shape import OWN, composed_calls, composed_text, is_ours, judged_fields, shape_of
from trueup.gateway.replies.translating import UNTRANSLATABLE
from trueup.verdict.facts import Finding

MOST_FINDINGS, MOST_WORDS = 10, 200
_PASSING = frozenset({429, 502, 503, 529})  # statuses that may have passed when a client tries again
_GIVEN = frozenset({"accepted", "repaired", "regenerated", "fallback", "degraded"})


def rendered(exchange: Exchange, answer: Answer, raw: Any, body: Body) -> bytes:
    """The body of a reply; `raw` is the upstream's last answer, `body` the client's request."""
    if answer.outcome == "accepted" and len(answer.attempts) == 1 and not exchange.include and isinstance(raw, dict):
        shape = shape_of(exchange, answer)
        if shape is OWN and exchange.protocol.says(raw, composed_text(exchange, answer, shape)):
            return encode(raw)
    dropped: set[str] = set()
    frame = exchange.protocol.frame(raw, body, dropped) if isinstance(raw, dict) else None
    return encode(reply_of(exchange, answer, frame, dropped))


def reply_of(exchange: Exchange, answer: Answer, frame: Body | None, dropped: set[str]) -> Body:
    """The reply as data: the judged parts, in the `frame` that was kept of the upstream's reply."""
    verdict = answer.verdict
    shape = shape_of(exchange, answer)
    own = bool(frame) and not is_ours(answer)
    model = answer.attempts[-1].model if answer.attempts else ""
    said = OutgoingReply(
        composed_text(exchange, answer, shape), composed_calls(exchange, answer, shape),
        verdict.reply.model if is_name(verdict.reply.model) else model or str(exchange.head.model or ""),
        answer.usage if not own or len(answer.attempts) > 1 else {}, finish="" if is_ours(answer) else verdict.reply.finish,
    )  # fmt: skip
    reply: Body = exchange.protocol.composed(said, frame if own else None)
    fields = judged_fields(exchange, shape.fields, dropped) if shape.fields else {}
    if dropped and own:
        exchange.dropped = tuple(sorted(dropped))
    if not fields and not exchange.include:
        return reply
    more = {"fields": fields} if fields else {}
    if exchange.include:
        more |= described(exchange, answer)
    return {**reply, "trueup": more}


def described(exchange: Exchange, answer: Answer) -> Body:
    """Findings, fixes and the outcome, for a client that asked for them."""
    verdict = answer.verdict
    return {
        "verdict": exchange.verdict_id, "outcome": answer.outcome, "attempts": len(answer.attempts),
        "reason": answer.reason, "ok": answer.ok, "findings": [told_finding(exchange.contract, found) for found in answer.findings],
        "fixes": [told_fix(exchange.contract, fix) for fix in verdict.fixes], "dropped": list(exchange.dropped),
        "certainty": verdict.certainty, "confidence": verdict.certainty,  # its name before 0.2
        **({"left_out": list(exchange.left_out)} if exchange.left_out else {}),
    }  # fmt: skip


def is_given(answer: Answer) -> bool:
    """Whether an answer is a reply for the client."""
    return answer.outcome in _GIVEN


def refusal_of(exchange: Exchange, answer: Answer) -> RefusedRequest:
    """Why there is no reply."""
    refused = _refusal_of(exchange, answer)
    if refused.status not in _PASSING:
        refused.headers.update(NO_RETRY)
    return refused


def _refusal_of(exchange: Exchange, answer: Answer) -> RefusedRequest:
    failures = [a.failure for a in answer.attempts if a.failure is not None]
    if failures and len(failures) == len(answer.attempts):
        told = [failure for failure in failures if failure.code != UNTRANSLATABLE] or failures
        return failed_refusal(told[-1], exchange, len(failures), answer.reason)
    more = {
        "findings": [told_finding(exchange.contract, found) for found in answer.findings.errors[:MOST_FINDINGS]],
        "trueup": _short(exchange, answer),
    }
    first = answer.verdict.errors[0] if answer.verdict.errors else None
    said = "" if first is None else f": {_said(exchange, first)}"
    if answer.reason == "bug" and first is not None:
        return bug_refusal(first, more)
    if answer.reason == "context":
        said = f"the upstream was not asked{said}"
        return RefusedRequest(400, said, "invalid_request_error", "unknown_state", more=more)
    message = f"no reply passed the contract in {len(answer.attempts)} attempts{said}"
    if answer.outcome == "failed" and answer.reason == "deadline":
        return RefusedRequest(504, message, "server_error", "deadline_exceeded", more=more)
    return RefusedRequest(422, message, "contract_violation", "contract_violation", more=more)


def failed_refusal(failure: CallFailure, exchange: Exchange, calls: int, reason: str = "") -> RefusedRequest:
    """The error for upstreams that gave no reply at all; a fault in the client's own request is reported as such.

    Clients are told not to try again if the gateway has already done so, or if its worker has no retries left.
    """
    refused = _failed(failure, exchange)
    if calls > 1 or refused.status not in _PASSING or (reason == "retries" and refused.status >= 500):
        refused.headers.update(NO_RETRY)
    return refused


def _failed(failure: CallFailure, exchange: Exchange) -> RefusedRequest:
    """The error by cause. An HTTP error about the request is quoted. An error inside a reply is not, and neither is a
    server's failure under a contract: some servers quote the model's text.
    """
    unsendable = 400 if failure.code == UNTRANSLATABLE else 502
    status = failure.status or (504 if failure.code == "timeout" else unsendable)
    message, own = _cut(failure.reason, 600), failure.code if is_name(failure.code) else ""
    if exchange.judged:
        message, own = f"upstream {exchange.upstream.name!r} ended the reply with an error", ""
    elif exchange.contract is not None and failure.status is not None and failure.status >= 500:
        message, own = f"the upstream failed with status {failure.status}", ""
    for secret in exchange.upstream.secrets:
        message = message.replace(secret, "[key]")
    after = {"retry-after": whole_seconds(failure.retry_after)} if failure.retry_after is not None else {}
    if status in (401, 403):
        said = f"upstream {exchange.upstream.name!r} rejected the gateway's key"
        return RefusedRequest(502, said, "server_error", "upstream_refused", headers=dict(NO_RETRY))
    if status in (400, 404, 409, 413, 422):
        return RefusedRequest(status, message, "invalid_request_error", own or "upstream_refused")
    if status == 429:
        return RefusedRequest(429, message, "rate_limit_error", own or "rate_limit_exceeded", headers=after)
    code = "upstream_timeout" if status == 504 else "upstream_failed"
    return RefusedRequest(status if status in (503, 504, 529) else 502, message, "server_error", code, headers=after)


def _short(exchange: Exchange, answer: Answer) -> Body:
    return {
        "verdict": exchange.verdict_id,
        "outcome": answer.outcome,
        "attempts": len(answer.attempts),
        "reason": answer.reason,
    }


def _said(exchange: Exchange, found: Finding) -> str:
    path = told_path(exchange.contract, found.path)
    return f"{found.code} {sentence(found)}" + ("" if path == "$" else f" ({path})")


def _cut(text: str, most: int = MOST_WORDS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
