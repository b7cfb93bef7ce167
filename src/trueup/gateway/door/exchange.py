"""One request: who sends it, which contract applies, which upstream to ask, and the conversation's context.

Builds an Exchange from headers and body, or refuses the request. If a route binds a contract, no header can undo that.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from trueup.contract.contract import Contract
from trueup.gateway.config import Caller, Config, Route, Upstream
from trueup.gateway.door.binding import refuse_two_models, refuse_unbound
from trueup.gateway.door.visit import Visit
from trueup.gateway.errors import NO_RETRY, RefusedRequest, not_json
from trueup.gateway.keys import Keyring, permit
from trueup.gateway.protocols.protocol import MOST_NAME, Body, Speaking, a_name, encode
from trueup.gateway.replies.progress import RequestProgress
from trueup.gateway.replies.rungs import UpstreamRung, rungs_of
from trueup.store.records import new_id

T = TypeVar("T")
_OWN = frozenset({"contract", "user", "tenant", "include", "progress", "history"})  # for the gateway, not for checks
_KINDS: tuple[tuple[str, type, str], ...] = (
    ("state", str, "a text"), ("data", dict, "an object"), ("question", str, "a text"), ("input", dict, "an object"),
    ("first", bool, "true or false"), ("history", list, "a list of messages"),
    ("expected_sequence", list, "a list of names of tools"), ("offered", list, "a list of names of tools"),
)  # fmt: skip
_NAMES = ("expected_sequence", "offered")


class Head(msgspec.Struct):
    """The few parts of a body that decide where it goes; everything else is skipped, but must be JSON."""

    model: Any = None
    stream: Any = None
    trueup: Any = None


class _People(msgspec.Struct):
    """Where a body names its user: OpenAI's field and Anthropic's."""

    user: Any = None
    metadata: Any = None


_head = msgspec.json.Decoder(Head)
_people = msgspec.json.Decoder(_People)
_whole = msgspec.json.Decoder(dict[str, Any])
_MOST_WAYS = 1000


class Exchange(msgspec.Struct):
    """Everything known about one request."""

    protocol: Any
    headers: dict[str, str]
    raw: bytes
    head: Head
    route: Route | None
    contract: Contract | None
    upstream: Upstream
    tenant: str
    user: str
    key: str
    include: bool
    context: dict[str, Any]
    began: float
    verdict_id: str = ""
    rungs: tuple[UpstreamRung, ...] = ()  # the upstreams to try, in order; `upstream` is the current one
    left_out: tuple[str, ...] = ()  # parts of the request that the current upstream's protocol lacks
    waited: float = 0.0  # seconds spent waiting for the upstream
    span: Any = None  # an OpenTelemetry span, if spans are wanted
    parsed: dict[str, Any] | None = None  # the body, if it was read whole
    native: bool = False  # the client offers functions, so it gets calls as native calls
    progress: RequestProgress | None = None  # if the client asked for it
    tried: tuple[
        tuple[str, str], ...
    ] = ()  # the model of each call that was passed through, and why it failed, if it did
    judged: bool = False  # the upstream's last answer was read as a reply
    dropped: tuple[str, ...] = ()  # places that were not sent on, because nothing had judged them

    @property
    def extended(self) -> bool:
        """Whether the body contains our own extension, which no upstream may see."""
        return self.head.trueup is not None

    def named(self) -> tuple[str, str]:
        """The model and the user of a request that nothing else reads; the header's user wins over the body's."""
        model = self.head.model if isinstance(self.head.model, str) else ""
        if self.user:
            return model, self.user
        said = _decoded(_people, self.raw)
        meta = said.metadata
        for user in (said.user, meta.get("user_id") if isinstance(meta, dict) else None):
            if isinstance(user, str) and user:
                return model, a_name(user, "user")
        return model, ""

    def identity(self) -> list[bytes | str]:
        """Everything that identifies this request: a retry has the same."""
        own = sorted(f"{name}: {value}" for name, value in self.headers.items() if name.startswith("x-trueup-"))
        return [self.protocol.path, "" if self.route is None else self.route.name, *own, self.raw]

    def body(self) -> Body:
        """The body without our extension."""
        body = _decoded(_whole, self.raw) if self.parsed is None else dict(self.parsed)
        body.pop("trueup", None)
        return body


class Door:
    """Admits requests: knows the callers, routes and contracts of a configuration."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.keyring = Keyring(config.clients)
        self._judges = bool(config.contracts) or config.binds
        self._one_model = config.binds or any(caller.models for caller in config.clients)
        self._tenants = any(upstream.tenant not in ("", "*") for upstream in config.upstreams.values())
        self._ways: dict[tuple[str, str, str], tuple[Route | None, tuple[UpstreamRung, ...]]] = {}

    def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller; if callers are configured, nobody else is admitted."""
        return self.keyring.admit(headers)

    def follow(self, before: "Door") -> None:
        """Continue the counts of an earlier configuration: the requests of each client in the last minute."""
        self.keyring.follow(before.keyring)

    def open(
        self, protocol: Speaking, name: str, headers: dict[str, str], raw: bytes, caller: Caller | None, visit: Visit
    ) -> Exchange:
        """The exchange of a request, or a refusal."""
        head, parsed = _read(raw, whole=self._judges or self._one_model)
        if self._one_model and parsed is not None:
            refuse_two_models(raw, parsed)
        visit.model = model = a_name(head.model, "model") if isinstance(head.model, str) else ""
        given = head.trueup if isinstance(head.trueup, dict) else {}
        if head.trueup is not None:
            refuse_odd_context(head.trueup, "trueup", self._config.limits.context)
        route, rungs = self._ways.get((name, model, protocol.speaks)) or self._way(name, model, protocol.speaks, caller)
        visit.route = "" if route is None else route.name
        permit(caller, route, model)
        tenant, user = who(caller, headers, given)
        if self._tenants:
            rungs = tuple(rung for rung in rungs if rung.upstream.takes_from(tenant))
            if not rungs:
                raise other_tenant()
        contract = self._contract(route, headers, given)
        judges = contract is not None or (route is not None and route.request is not None)
        return Exchange(
            protocol, headers, raw, head, route, contract, rungs[0].upstream, tenant, user,
            a_name(headers.get("idempotency-key"), "idempotency-key"), _yes(headers.get("x-trueup-include", given.get("include"))),
            _context(headers, given, route, self._config.limits.context) if judges else {}, visit.began, new_id(), rungs, parsed=parsed,
            progress=self._progress(headers, given),
        )  # fmt: skip

    def _progress(self, headers: Mapping[str, str], given: Mapping[str, Any]) -> RequestProgress | None:
        wanted = _yes(headers.get("x-trueup-progress", given.get("progress", self._config.progress)))
        return RequestProgress() if wanted else None

    def _way(
        self, name: str, model: str, speaks: str, caller: Caller | None
    ) -> tuple[Route | None, tuple[UpstreamRung, ...]]:
        """The route and the upstream of a request; cached for the next request like it."""
        config = self._config
        route = config.route(name) if name else config.route_for(model)
        if name and route is None:
            raise RefusedRequest(404, f"there is no route {name!r}", code="not_found")
        permit(caller, route, model)  # a key that is not for the route learns nothing about contracts
        refuse_unbound(config, route, model)
        rungs = rungs_of(config, route, model, speaks)  # type: ignore[arg-type]
        if not rungs:
            raise RefusedRequest(404, f"no upstream of this gateway uses the protocol {speaks!r}", code="not_found")
        if len(self._ways) >= _MOST_WAYS:
            self._ways.clear()
        self._ways[name, model, speaks] = (route, rungs)
        return route, rungs

    def _contract(self, route: Route | None, headers: Mapping[str, str], given: Mapping[str, Any]) -> Contract | None:
        if route is not None and route.contract is not None:
            return route.contract
        wanted = headers.get("x-trueup-contract") or given.get("contract")
        if not wanted or not self._config.choose:
            return None
        contract = self._config.contracts.get(wanted) if isinstance(wanted, str) else None
        if contract is None:
            raise RefusedRequest(400, f"this gateway has no contract {str(wanted)[:100]!r}", code="unknown_contract")
        return contract


def _read(raw: bytes, *, whole: bool) -> tuple[Head, dict[str, Any] | None]:
    """The head of a body, and all of it where a contract may need it."""
    if not whole:
        return _decoded(_head, raw), None
    body = _decoded(_whole, raw)
    get = body.get
    return Head(get("model"), get("stream"), get("trueup")), body


def _decoded(decoder: "msgspec.json.Decoder[T]", raw: bytes) -> T:
    """The content of a body; one that is not JSON, or not UTF-8, is refused."""
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise not_json(error) from None


def refuse_odd_context(given: Any, place: str, most: int) -> None:
    """Refuse a context that is not an object or is too large; a history has the limits of a request."""
    if not isinstance(given, dict):
        raise RefusedRequest(400, f"'{place}' must be an object", code="invalid_value")
    _refuse_large(len(encode({name: value for name, value in given.items() if name != "history"})), place, most)


def _refuse_large(size: int, place: str, most: int) -> None:
    if size > most:
        said = f"'{place}' has more than {most:,} bytes; send less, or raise `limits.context` in the gateway's file"
        raise RefusedRequest(400, said, code="context_too_large")


def refuse_bad_source(contract: Contract, context: Mapping[str, Any]) -> None:
    """Refuse a context whose sources a grounded contract cannot use."""
    grounding = None if contract.meaning is None else contract.meaning.grounding
    if grounding is not None:
        try:
            grounding.refuse_bad(context)
        except TypeError as error:
            raise RefusedRequest(400, f"the context cannot be used: {error}", code="invalid_value") from None


def other_tenant() -> RefusedRequest:
    """The refusal for a tenant that may not use an upstream."""
    said = "the upstream for this request belongs to another tenant"
    return RefusedRequest(403, said, "permission_error", "tenant_not_allowed", headers=NO_RETRY)


def who(caller: Caller | None, headers: Mapping[str, str], given: Mapping[str, Any]) -> tuple[str, str]:
    """Tenant and user; the caller's key wins over a header, and a header, even an empty one, over the body."""
    user = a_name(headers.get("x-trueup-user", given.get("user")), "user")
    if caller is not None:
        return caller.tenant, caller.user or user
    return a_name(headers.get("x-trueup-tenant", given.get("tenant")), "tenant"), user


def _context(headers: Mapping[str, str], given: Mapping[str, Any], route: Route | None, most: int) -> dict[str, Any]:
    """The conversation's context: the body's extension, the header `x-trueup-context`, and the state's own header."""
    context = _of_checks(given)
    said = headers.get("x-trueup-context")
    if said:
        _refuse_large(len(said), "x-trueup-context", most)
        context.update(_said_context(said))
    conversation = headers.get("x-trueup-conversation")
    if conversation:
        context["conversation"] = conversation
    state = headers.get("x-trueup-state") or context.get("state") or (route.state if route is not None else "")
    if state:
        context["state"] = state
    return _right(context)


def _right(context: dict[str, Any]) -> dict[str, Any]:
    """The context, or a refusal that names the part of the wrong kind."""
    a_name(context.get("state"), "state")
    a_name(context.get("conversation"), "conversation")
    for name, kind, what in _KINDS:
        if name in context and not isinstance(context[name], kind):
            raise RefusedRequest(400, f"'{name}' of the context must be {what}", code="invalid_value")
    for listed in _NAMES:
        if not all(isinstance(name, str) for name in context.get(listed, ())):
            raise RefusedRequest(
                400, f"'{listed}' of the context must be a list of names of tools", code="invalid_value"
            )
    return context


def checked_context(
    headers: Mapping[str, str], given: Mapping[str, Any], route: Route | None, most: int
) -> dict[str, Any]:
    """The same for a reply that is only checked: its context may have any key, for the user's own checks."""
    return _right({**given, **_context(headers, given, route, most)})


def conversation_of(exchange: Exchange) -> str:
    """The conversation that a request is part of, from its context or the `metadata` of the request; empty if neither has it."""
    said = exchange.context.get("conversation")
    if not said and exchange.parsed is not None:
        metadata = exchange.parsed.get("metadata")
        said = metadata.get("conversation") or metadata.get("conversation_id") if isinstance(metadata, dict) else None
    return said if isinstance(said, str) and len(said) <= MOST_NAME else ""


def _said_context(said: str) -> dict[str, Any]:
    try:
        found = _whole.decode(said.encode("latin-1"))
    except (ValueError, RecursionError) as error:
        message = f"the header x-trueup-context is not a JSON object: {str(error)[:100]}"
        raise RefusedRequest(400, message, code="invalid_value") from None
    return _of_checks(found)


def _of_checks(given: Mapping[str, Any]) -> dict[str, Any]:
    """The part meant for the checks, including a misspelled `state`, which they report."""
    return {name: value for name, value in given.items() if name not in _OWN}


def _yes(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.lower() in ("1", "true", "yes"))
