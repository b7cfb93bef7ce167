"""The fields of a line in the two logs: of a finished request, or of a verdict.

The access log has no text of a request or a reply, and no key. The verdict log has the first 200 characters of a reply, redacted as in
the store.
"""

import time
from datetime import UTC, datetime
from functools import partial
from typing import Any

from trueup.ask.answer import Answer
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.door.visit import Visit
from trueup.gateway.watching.logs import Fields, LogWriter
from trueup.grounding.report import without_source
from trueup.store.redaction import Redaction
from trueup.verdict.events import checked, cut
from trueup.verdict.verdict import Verdict

_MOST_NAME = 200  # characters of what a client may choose
_MOST_FOUND = 20  # violations of one line
_MOST_TEXT = 100_000  # characters of a reply that are looked through for secrets


def log_access(lines: LogWriter, visit: Visit) -> None:
    """Write the line of a finished request."""
    lines.put(partial(access_fields, visit, time.time(), time.perf_counter() - visit.began))


def access_fields(visit: Visit, now: float, seconds: float) -> Fields:
    """The fields of a finished request."""
    scope = visit.scope
    client = scope.get("client")
    return {
        "at": stamp(now), "client": client[0] if client else "", "method": scope["method"], "path": scope["path"][:_MOST_NAME],
        "tenant": visit.tenant, "route": visit.route, "model": visit.model, "status": visit.status or visit.out.status,
        "outcome": visit.outcome, "attempts": visit.attempts, "ms": round(seconds * 1000, 3),
        "overhead_ms": round((seconds - visit.waited) * 1000, 3), "bytes": visit.out.size, "verdict": visit.verdict,
        "request": visit.request, "request_id": _header(scope, b"x-request-id"),
    }  # fmt: skip


def log_verdicts(
    lines: LogWriter, exchange: Exchange, model: str, state: str, answer: Answer, redaction: Redaction
) -> None:
    """Write a line for each judged reply of a request, the last one with the request's outcome."""
    began = time.time() - answer.seconds
    final = answer.verdict
    known: dict[str, Any] = {
        "contract": "" if exchange.contract is None else exchange.contract.name,
        "state": state, "tenant": exchange.tenant, "request": exchange.verdict_id,
    }  # fmt: skip
    attempts = answer.attempts
    for at, attempt in enumerate(attempts):
        if attempt.verdict is not None and attempt.verdict is not final:
            more = {**known, "model": attempt.model or model, "attempt": attempt.number}
            when = began + attempt.at + attempt.seconds
            lines.put(partial(verdict_fields, attempt.verdict, more, when, attempt.seconds, at, redaction))
    last = attempts[-1] if attempts else None
    more = {
        **known, "model": (last.model if last else "") or model, "attempt": last.number if last else 0,
        "outcome": answer.outcome, "verdict": exchange.verdict_id,
    }  # fmt: skip
    lines.put(partial(verdict_fields, final, more, time.time(), answer.seconds, max(0, len(attempts) - 1), redaction))


def verdict_fields(
    verdict: Verdict, known: dict[str, Any], at: float, seconds: float, regenerations: int, redaction: Redaction
) -> Fields:
    """The fields of one check: state, the start of the reply, the result, the violations, the time, the regenerations."""
    text = verdict.reply.text[:_MOST_TEXT] if redaction.bodies == "all" or not verdict.ok else ""
    found = [(one.code, one.path, one.message) for one in map(without_source, verdict.errors[:_MOST_FOUND])]
    if redaction.bodies == "none":
        text, found = "", [(code, path, "") for code, path, _ in found]
    clean = redaction.clean({"text": text, "said": [said for _, _, said in found], "data": verdict.data})
    event = checked(verdict)
    return {
        "at": stamp(at), "event": event.event, **known, "reply": cut(clean["text"]), "result": event.result,
        "violations": [
            {"code": code, "path": path, "message": cut(said)}
            for (code, path, _), said in zip(found, clean["said"], strict=True)
        ],
        "seconds": round(seconds, 6), "regenerations": regenerations,
    }  # fmt: skip


def stamp(at: float) -> str:
    """A time as logs write it, in UTC.

    >>> stamp(1763384400.0625)
    '2025-11-17T13:00:00.062Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _header(scope: Any, name: bytes) -> str:
    return next((value.decode("latin-1")[:_MOST_NAME] for key, value in scope["headers"] if key == name), "")
