"""`POST /v1/check`: takes a reply or messages and returns a verdict. No upstream is asked, and no quota is charged.

For applications in any language that ask a model themselves and want its replies judged. A refused reply is a verdict like
any other, with status 200; only a request that cannot be judged gets an error, which says what to send instead.
"""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from trueup.contract.contract import Contract
from trueup.contract.judging.conversation import completed
from trueup.gateway.config import Caller, Config, Route
from trueup.gateway.door.exchange import checked_context, refuse_bad_source, refuse_odd_context, who
from trueup.gateway.door.visit import Visit
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.keys import permit
from trueup.gateway.pages.bodies import object_in
from trueup.gateway.protocols.protocol import a_name
from trueup.gateway.replies.judging import bug_found, bug_refusal, in_thread
from trueup.gateway.replies.tab import unavailable
from trueup.gateway.serving.wire import JSON, Out
from trueup.gateway.watching.logged import verdict_fields
from trueup.gateway.watching.metrics import Metrics
from trueup.store.contexts import word_in
from trueup.store.errors import StoreError
from trueup.store.records import Note, new_id
from trueup.store.store import Store
from trueup.verdict.codec import written
from trueup.verdict.verdict import Verdict

log = logging.getLogger("trueup.gateway")

PATH = "/v1/check"
KEYS = ("contract", "reply", "messages", "context", "model", "user", "tenant", "record")
_SHOWN = (
    "ok",
    "reason",
    "data",
    "findings",
    "fixes",
    "calls",
    "refused",
    "metrics",
    "certainty",
    "confidence",
    "hint",
    "evidence",
)

Work = Callable[[Out], Awaitable[None]]


class _Asked(NamedTuple):
    """A request that can be judged."""

    contract: Contract
    source: Any
    context: dict[str, Any]
    note: Note  # what is stored of it, still without a verdict
    store: Store | None
    visit: Visit


class CheckPage:
    """This path of one gateway; `store` returns the open store, or None."""

    def __init__(self, config: Config, metrics: Metrics, store: Callable[[], Store | None]) -> None:
        self._config = config
        self._metrics = metrics
        self._store = store
        bound = [(route, route.contract) for route in config.routes if route.contract is not None]
        self._contracts: dict[str, Contract] = {
            **{route.name: contract for route, contract in bound},
            **{contract.name: contract for _, contract in bound if contract.name},
            **config.contracts,
        }

    def open(
        self, route_name: str, visit: Visit, headers: dict[str, str], raw: bytes, caller: Caller | None
    ) -> Work:  # fmt: skip
        """The work that a request asks for; a request that cannot be judged raises `RefusedRequest`."""
        body = object_in(raw, KEYS)
        route = self._config.route(route_name) if route_name else None
        if route_name and route is None:
            raise RefusedRequest(404, f"there is no route {route_name!r}", code="not_found")
        visit.route, visit.model = route_name, _text(body, "model")
        permit(caller, route, None)
        contract = self._contract(route, body.get("contract"), headers.get("x-trueup-contract"))
        source, said = _source(body)
        given, most = {} if body.get("context") is None else body["context"], self._config.limits.context
        refuse_odd_context(given, "context", most)
        context = checked_context(headers, {**said, **given}, route, most)
        refuse_bad_source(contract, context)
        note = Note(
            new_id(), Verdict(""), model=visit.model, contract=contract.name, state=str(context.get("state", "")),
            tenant=(whose := who(caller, headers, body))[0], user=whose[1],
        )  # fmt: skip
        if body.get("record", True) is not True and body["record"] is not False:
            raise RefusedRequest(400, "'record' must be true or false", code="invalid_value")
        store = self._store() if body.get("record", True) else None
        if store is not None and store.crowded:
            raise unavailable()
        visit.tenant = note.tenant
        return partial(self._answer, _Asked(contract, source, context, note, store, visit))

    async def _answer(self, asked: _Asked, out: Out) -> None:
        """Judge a reply, store the verdict, and send it."""
        contract, source, context, note, store, visit = asked
        start = time.perf_counter()
        try:
            if contract.awaits:  # in this loop, so that many can wait at the same time
                verdict = await contract.acheck(source, context)
            else:
                verdict = await in_thread(contract.check, source, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what is not a bug in the contract is raised again
            found = bug_found(error)
            self._metrics.count("trueup_findings_total", contract=note.contract, model=note.model, code=found.code)
            raise bug_refusal(found, {"findings": [found.to_dict()]}) from None
        seconds = time.perf_counter() - start
        lines = visit.runtime.logs.verdicts
        if lines is not None:
            said = {"contract": note.contract, "state": note.state, "tenant": note.tenant, "model": note.model}
            lines.put(partial(
                verdict_fields, verdict, {**said, "verdict": note.id}, time.time(), seconds, 0, visit.runtime.redaction
            ))  # fmt: skip
        fingerprint = contract.fingerprint
        if store is not None:
            model = note.model or verdict.reply.model
            judged = completed(source, context) if isinstance(source, list) else context
            known = msgspec.structs.replace(
                note, verdict=verdict, request=note.id, model=model, latency=seconds, fingerprint=fingerprint,
                context=store.keepable(judged), conversation=word_in(context, "conversation"), rules=contract,
            )  # fmt: skip
            try:
                store.note(known)
            except StoreError as error:
                log.error("a verdict could not be stored: %s", error)  # noqa: TRY400 - the sentence says it all
                store = None
        body = _written(verdict, note, fingerprint, stored=store is not None)
        headers = [JSON, (b"x-trueup-verdict", note.id.encode())] if store is not None else [JSON]
        self._count(verdict, note, visit)
        await out.whole(200, body, headers)

    def _count(self, verdict: Verdict, note: Note, visit: Visit) -> None:
        metrics = self._metrics
        visit.outcome = "valid" if verdict.ok else "invalid"
        for code in {found.code for found in verdict.errors}:
            metrics.count("trueup_findings_total", contract=note.contract, model=note.model, code=code)

    def _contract(self, route: Route | None, named: Any, header: str | None) -> Contract:
        """The contract that the route binds, that the body or the header names, or the only one."""
        bound = None if route is None else route.contract
        if bound is not None and not named:
            return bound
        wanted = named or header
        names = sorted(filter(None, self._contracts))
        found = self._contracts.get(wanted) if isinstance(wanted, str) else None
        if wanted and found is None:
            known = f"known: {', '.join(names)}" if names else "it has none at all"
            message = f"this gateway has no contract {str(wanted)[:100]!r}; {known}"
            raise RefusedRequest(400, message, code="unknown_contract")
        if route is not None and bound is not None and found is not bound:
            message = f"the route {route.name!r} has a contract other than {wanted!r}; send the request to {PATH}"
            raise RefusedRequest(400, message, code="bound_contract")
        if found is not None:
            return found
        only = {id(contract): contract for contract in self._contracts.values()}
        if len(only) == 1:
            return next(iter(only.values()))
        if not only:
            raise RefusedRequest(
                400, "this gateway has no contract; add one to `contracts` in its file", code="unknown_contract"
            )
        raise RefusedRequest(
            400,
            f'this gateway has several contracts; set "contract" to one of {", ".join(names)}',
            code="missing_contract",
        )


def route_of(path: str, end: str = PATH) -> str | None:
    """The name of the route in a path with this `end`, empty if it has none; None for any other path.

    >>> route_of("/v1/check"), route_of("/chat/v1/check"), route_of("/v1/models")
    ('', 'chat', None)
    """
    name = path.removesuffix(end)
    if name == path or name.count("/") > 1:
        return None
    return name[1:] if name else ""


def _source(body: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The reply to judge, and the messages before it; without a `reply`, the end of the messages is judged."""
    messages = body.get("messages")
    if messages is not None:
        listed = isinstance(messages, list) and messages and all(isinstance(each, dict) for each in messages)
        if not listed:
            raise RefusedRequest(
                400, "'messages' must be a list of messages, such as [{\"role\": …}]", code="invalid_value"
            )
    if "reply" not in body:
        if messages is None:
            said = "there is nothing to judge; send 'reply' (a string or a provider's response) or 'messages'"
            raise RefusedRequest(400, said, code="missing_reply")
        return messages, {}
    reply = body["reply"]
    if not isinstance(reply, str | dict | list):
        raise RefusedRequest(
            400, "'reply' must be a string, a provider's response or a list of messages", code="invalid_value"
        )
    return reply, {} if messages is None else {"history": messages}


def _text(body: Mapping[str, Any], name: str) -> str:
    return a_name(body.get(name), name)


def _written(verdict: Verdict, note: Note, fingerprint: str, *, stored: bool) -> bytes:
    said = verdict.to_dict()
    about = {"id": note.id if stored else None, "contract": note.contract, "fingerprint": fingerprint}
    shown = {**{name: said[name] for name in _SHOWN if name in said}, **about}
    try:
        return written(shown)
    except UnicodeEncodeError:  # half a surrogate pair, which only JSON escapes can represent
        return json.dumps(shown, separators=(",", ":")).encode()
