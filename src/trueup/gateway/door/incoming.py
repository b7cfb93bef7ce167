"""A contract for requests: judges what a client sends before a model is asked.

It judges the text of every message of the user: a client sends the whole conversation each time, so a text that were judged
only once could be moved to an earlier message. Text is judged and never changed. Images, audio and files are not judged, and
neither is the application's own text (system messages, earlier replies, tool outputs).
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from trueup.contract.contract import Contract
from trueup.gateway.door.exchange import Exchange, conversation_of
from trueup.gateway.door.visit import Visit
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.gateway.protocols.protocol import Body, encode
from trueup.gateway.replies.judging import bug_found, bug_refusal, in_thread
from trueup.gateway.watching.logged import verdict_fields
from trueup.gateway.watching.metrics import Metrics
from trueup.store.errors import StoreError
from trueup.store.records import Note
from trueup.store.store import Store
from trueup.verdict.verdict import Verdict

log = logging.getLogger("trueup.gateway")

OUTCOME = "request_refused"
_NOTHING: frozenset[str] = frozenset()
_AT_ONCE = 50  # messages to judge before other requests get a turn
_OTHERS = frozenset({"assistant", "system", "developer", "tool", "function", "model"})
# Parts without text of the user: some parts of Anthropic's messages, and items of OpenAI's responses without a role.
# Elsewhere, such a type means nothing to an upstream.
_SILENT: dict[str, frozenset[str]] = {"/v1/messages": frozenset({"tool_result", "base64"})}
_ITEMS = frozenset({"reasoning", "function_call_output", "custom_tool_call_output", "computer_call_output"})
_RESPONSES = "/v1/responses"
_WORDS = frozenset({"text", "content", "title", "context", "transcript", "source", "data"})
_READ = _WORDS | {"messages", "input", "prompt", "variables", "role", "type"}


async def admit(visit: Visit, exchange: Exchange, contract: Contract, store: Store | None, metrics: Metrics) -> None:
    """Let a request continue if the user's texts keep the `contract`; the judged body is the one that is sent."""
    body = exchange.body()
    path = exchange.protocol.path
    messages = _messages(body, path)
    context = _context(exchange, contract, messages)
    for judged, (at, text) in enumerate(_texts(messages, body, path)):
        if judged % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)  # a request may have many small messages; let other requests run in between
        verdict = await _verdict(contract, text, context)
        if not verdict.ok:
            for code in {found.code for found in verdict.errors}:
                metrics.count("trueup_findings_total", contract=contract.name, model=_model(exchange), code=code)
            _log(visit, exchange, contract, verdict)
            if store is not None:
                visit.verdict = exchange.verdict_id
                _record(store, exchange, contract, verdict, context)
            raise _refusal(exchange, verdict, at, stored=store is not None)
    if not exchange.extended:
        exchange.raw = encode(body)  # a duplicate key is sent once, with the judged value


def _messages(body: Body, path: str) -> list[Any]:
    """The messages of a request to this path."""
    name = "input" if path == _RESPONSES else "messages"
    given = body.get(name, [])
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise RefusedRequest(400, f"'{name}' must be a list of messages", code="invalid_value")
    return given


def _texts(messages: list[Any], body: Body, path: str) -> Iterator[tuple[int, str]]:
    """The user's texts, each with the place of its message; values for a stored prompt come last."""
    silent = _SILENT.get(path, _NOTHING)
    _refuse_odd_keys(body)
    for at, message in enumerate(messages):
        if isinstance(message, dict):
            _refuse_odd_keys(message)
            if _is_of_others(message, path):
                continue
            parts = [text for name in message if name in _WORDS for text in _words(message[name], silent)]
            if parts or not _is_silent(message, silent):
                yield at, "\n\n".join(parts)
        elif isinstance(message, str):
            yield at, message
    prompt = body.get("prompt")
    if isinstance(prompt, dict):
        _refuse_odd_keys(prompt)
        values = prompt.get("variables")
        for value in values.values() if isinstance(values, dict) else ():
            yield from ((len(messages), text) for text in _words(value, silent))


def _is_of_others(message: dict[str, Any], path: str) -> bool:
    """Whether a message says that someone other than the user wrote it."""
    if "role" not in message:
        has_words = "content" in message or "text" in message
        return not has_words or (path == _RESPONSES and _is_one_of(message, _ITEMS))
    role = message["role"]
    return isinstance(role, str) and role.lower() in _OTHERS


def _is_one_of(part: Any, kinds: frozenset[str]) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in kinds


def _words(content: Any, silent: frozenset[str]) -> Iterator[str]:
    """Every text in the content of a message, in order; tool outputs are not the user's."""
    left = [content]
    while left:
        part = left.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            left.extend(reversed(part))
        elif isinstance(part, dict):
            _refuse_odd_keys(part)
            if not _is_one_of(part, silent):
                left.extend(part[name] for name in reversed(part) if name in _WORDS)


def _is_silent(message: dict[str, Any], silent: frozenset[str]) -> bool:
    """Whether a message carries something other than the user's words, such as a tool's output."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    return any(_is_one_of(part, silent) for part in parts)


def _refuse_odd_keys(part: dict[str, Any]) -> None:
    """Refuse a key that an upstream which ignores case would read as another key, whose value was judged instead."""
    for key in part:
        if key not in _READ and key.casefold() in _READ:
            said = f"the key {key[:100]!r} must be spelled {key.casefold()!r}"
            raise RefusedRequest(400, said, code="invalid_value", headers=NO_RETRY)


def _context(exchange: Exchange, contract: Contract, messages: list[Any]) -> dict[str, Any]:
    """The context of each message, without a history: walking it for each message would take quadratic time."""
    context = {**exchange.context, "history": []}
    given = context.get("input")
    context["input"] = {**(given if isinstance(given, dict) else {}), "messages": messages}
    if "state" in context and contract.unplaced({"state": context["state"]}):
        del context["state"]  # of the contract for replies; this one is judged in its start state
    return context


async def _verdict(contract: Contract, text: str, context: dict[str, Any]) -> Verdict:
    try:
        if contract.awaits:
            return await in_thread(contract.check, text, context)
        return contract.check(text, context)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what is not a bug in the contract is raised again
        raise bug_refusal(bug_found(error)) from None


def _log(visit: Visit, exchange: Exchange, contract: Contract, verdict: Verdict) -> None:
    lines = visit.runtime.logs.verdicts
    if lines is not None:
        known = {
            "contract": contract.name, "state": _state(exchange), "tenant": exchange.tenant, "request": exchange.verdict_id,
            "model": _model(exchange), "attempt": 0, "outcome": OUTCOME, "verdict": exchange.verdict_id,
        }  # fmt: skip
        seconds = time.perf_counter() - exchange.began
        lines.put(partial(verdict_fields, verdict, known, time.time(), seconds, 0, visit.runtime.redaction))


def _record(store: Store, exchange: Exchange, contract: Contract, verdict: Verdict, context: dict[str, Any]) -> None:
    note = Note(
        exchange.verdict_id, verdict, exchange.verdict_id, 0, exchange.tenant, exchange.user, _model(exchange), contract.name,
        _state(exchange), OUTCOME, 0, time.perf_counter() - exchange.began, fingerprint=contract.fingerprint,
        context=store.keepable(context), conversation=conversation_of(exchange), rules=contract,
    )  # fmt: skip
    try:
        store.note(note)
    except StoreError as error:
        log.error("a verdict could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all


def _refusal(exchange: Exchange, verdict: Verdict, at: int, *, stored: bool) -> RefusedRequest:
    """The error for the client; it may quote the text, which is the client's own."""
    errors = [found for found in verdict.findings if found.level == "error"]
    said = f"the request was refused: {errors[0].code} {errors[0].message}" if errors else "the request was refused"
    headers = {**NO_RETRY, "x-trueup-outcome": OUTCOME}
    if stored:
        headers["x-trueup-verdict"] = exchange.verdict_id
    more = {"message_index": at, "findings": [found.to_dict() for found in errors]}
    return RefusedRequest(400, said, code=OUTCOME, headers=headers, more=more)


def _model(exchange: Exchange) -> str:
    return exchange.head.model if isinstance(exchange.head.model, str) else ""


def _state(exchange: Exchange) -> str:
    state = exchange.context.get("state")
    return state if isinstance(state, str) else ""
