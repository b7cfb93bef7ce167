"""The interface of every protocol, and what they share. A protocol knows shapes; it decides and sends nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from trueup.ask.clients.request import Request
from trueup.gateway.errors import RefusedRequest
from trueup.verdict.reply import ToolCall

encode = msgspec.json.Encoder().encode
Body = dict[str, Any]
MOST_NAME = 256  # characters of a model, user, tenant, state or key; the longest that a provider allows
_FUNCTIONS = (None, "function", "custom")


class RequestParts(NamedTuple):
    """The parts of a request that matter here."""

    model: str
    messages: list[Any]
    stream: bool
    own_format: bool  # the client demands its own format
    user: str = ""
    native: bool = False  # the client offers functions and sets no format, so it gets calls as native calls


class OutgoingReply(NamedTuple):
    """A reply to be written in a protocol: its text and calls, how it ended, and its usage."""

    text: str
    calls: Sequence[ToolCall] = ()
    model: str = ""
    usage: Mapping[str, int] = {}
    id: str = ""
    created: int = 0
    finish: str = ""  # as in `Reply.finish`; empty: it is complete


class Speaking(Protocol):
    """One protocol."""

    path: str
    provider: str
    speaks: str
    holds: bool  # its streams can be held back piece by piece

    def read(self, body: Body) -> RequestParts: ...

    def request(self, body: Body, request: Request, asked: RequestParts) -> Body: ...

    def frame(self, raw: Body, body: Body, dropped: set[str]) -> Body:
        """The parts of an upstream's reply that may be kept besides its text and calls; places of dropped parts are added to
        `dropped`.
        """
        ...

    def says(self, raw: Body, text: str) -> bool:
        """Whether a reply has only a judged text and kept fields, so that it may be sent unchanged."""
        ...

    def composed(self, said: OutgoingReply, frame: Body | None = None) -> Body:
        """A reply that contains only `said`, in the `frame` of an upstream's reply if there is one."""
        ...

    def with_usage(self, raw: Body, usage: Mapping[str, int]) -> Body: ...

    def without_text(self, raw: Body) -> Body: ...

    def error(self, refused: RefusedRequest) -> Body: ...

    def events(self, reply: Body, body: Body, *, started: bool = False, in_text: bool = False) -> list[bytes]: ...

    def error_event(self, refused: RefusedRequest) -> bytes: ...


def arguments(call: ToolCall) -> str:
    """The arguments of a call as JSON text."""
    from trueup.verdict.codec import written

    return call.raw_args if call.args is None else written(call.args).decode()


def kept_tools(tools: Any, request: Request, name_of: Any) -> Any:
    """The client's own tools that a request may offer."""
    if not isinstance(tools, list) or not request.tools:
        return tools
    names = {tool.name for tool in request.tools}
    return [tool for tool in tools if name_of(tool) in names] or tools


def offers_functions(body: Body) -> bool:
    """Whether a client offers its own functions, and so can take calls; tools that the provider runs do not count.

    >>> offers_functions({"tools": [{"type": "web_search"}]}), offers_functions({"tools": [{"name": "ping"}]})
    (False, True)
    """
    tools = body.get("tools")
    return isinstance(tools, list) and any(isinstance(t, dict) and t.get("type") in _FUNCTIONS for t in tools)


def offered_names(body: Body) -> list[str]:
    """The names of the functions that a client offers.

    >>> offered_names(
    ...     {"tools": [{"function": {"name": "ping"}}, {"type": "web_search"}], "functions": [{"name": "old"}]}
    ... )
    ['ping', 'old']
    """
    names: list[str] = []
    for key in ("tools", "functions"):
        listed = body.get(key)
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, dict):
                inner = tool.get("function") or tool.get("custom")
                name = inner.get("name") if isinstance(inner, dict) else tool.get("name")
                names += [name] if isinstance(name, str) else []
    return names


def is_leaked(calls: Sequence[ToolCall]) -> bool:
    """Whether calls were not made as native calls."""
    return any(call.origin != "native" for call in calls)


def messages_in(body: Body, name: str = "messages") -> list[Any]:
    """The messages of a request: a non-empty list of objects, each with a role and content that a model could read."""
    value = body.get(name)
    if not isinstance(value, list) or not value:
        raise RefusedRequest(400, f"'{name}' must be a list with at least one item", code="invalid_value")
    for at, message in enumerate(value):
        if type(message) is not dict:
            raise RefusedRequest(400, f"'{name}[{at}]' must be an object", code="invalid_value")
        if type(message.get("role", "")) is not str or type(message.get("type", "")) is not str:
            raise RefusedRequest(400, f"'{name}[{at}]': role and type must be strings", code="invalid_value")
        content = message.get("content")
        if content is not None and type(content) is not str:
            refuse_odd_blocks(content, f"{name}[{at}].content")
    return value


def refuse_odd_blocks(content: Any, place: str) -> None:
    """Refuse content that is neither a string nor a list of objects, each with a type that is a string."""
    if type(content) is not list or not all(type(b) is dict and type(b.get("type")) is str for b in content):
        raise RefusedRequest(
            400, f"'{place}' must be a string or a list of objects that have a type", code="invalid_value"
        )


def a_name(value: Any, what: str) -> str:
    """A name that something is counted under, empty if there is none; shortening could make two names equal, so long ones are
    refused.
    """
    if value is None:
        return ""
    if type(value) is not str or len(value) > MOST_NAME:
        raise RefusedRequest(400, f"'{what}' must be a string of at most {MOST_NAME} characters", code="invalid_value")
    return value


def model_of(body: Body) -> str:
    """The model that a request must name."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise no_model()
    return a_name(model, "model")


def no_model() -> RefusedRequest:
    """The refusal for a request that names no model."""
    return RefusedRequest(400, "'model' must be the name of a model", code="missing_required_parameter")


def is_on(body: Body, name: str) -> bool:
    """Whether a request turns something on. Upstreams read `1` or `"true"` in different ways, so these are refused."""
    value = body.get(name)
    if value is None or value is True or value is False:
        return value is True
    raise RefusedRequest(400, f"'{name}' must be true or false", code="invalid_value")
