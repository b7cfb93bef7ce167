"""A request to a model, the same for every provider, and the failure that may come back instead of a reply.

The loop makes a `Request`; a client turns it into a call and returns the provider's raw reply, or raises. `failure_of` turns a client's
exception into a failure for the plan. Other exceptions are the caller's own, and are not handled.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.ask.loop.plan import FailureKind
from trueup.ask.policy import Mode
from trueup.ask.retries.rejections import kind_of
from trueup.ask.retries.waits import retry_after as retry_after
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding
from trueup.verdict.tool import Tool

UNSENDABLE = "message"  # the code of the failure that the provider cannot take the messages
_UNSENT = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError NewConnectionError NameResolutionError ConnectionRefusedError gaierror"
    " EndpointConnectionError ClientConnectorError UnsupportedProtocol InvalidURL PoolTimeout".split()
)


class Request(msgspec.Struct, frozen=True):
    """A request: messages, the model, how it is held to the schema, tools, and numbers. `parameters` override the other fields.

    >>> Request([], model="small").replace(model="large").model
    'large'
    """

    messages: list[Any]
    """The messages, in the caller's shape."""
    model: str = ""
    """The model; empty for the client's own."""
    mode: Mode = "text"
    """How the provider is held to the schema."""
    schema: dict[str, Any] | None = None
    """The schema that the provider is held to; None if the mode does not need one."""
    name: str = "reply"
    """The name of the schema, for providers that require one."""
    tools: tuple[Tool, ...] = ()
    """The tools that are offered; empty: none."""
    must_call: bool = False
    """Whether one of the tools must be called."""
    answer_tool: str = ""
    """In the mode `tool`, the last of the tools, whose arguments are the reply; empty in other modes."""
    wrapped: bool = False
    """Whether the schema is `{"value": …}` around the contract's own schema."""
    call_tools: bool = True
    """Whether the tools may be called; if not, they are sent only because the history contains calls."""
    temperature: float | None = None
    """The temperature; None: the provider's default."""
    max_tokens: int | None = None
    """The limit of the reply; None: the provider's default."""
    timeout: float | None = None
    """The seconds that the call may take; None: no limit."""
    parameters: Mapping[str, Any] = {}
    """Further parameters, from the policy; empty: none."""
    without: frozenset[str] = frozenset()
    """Features that this address and model rejected before, which the client leaves out. Empty: nothing was rejected."""

    def replace(self, **changes: Any) -> "Request":
        """The same request with other values for the fields in `changes`."""
        return msgspec.structs.replace(self, **changes)

    @property
    def asked_model(self) -> str:
        """The model that is asked: the one in `parameters` if there is one, otherwise `model`; empty for the client's own."""
        return (self.parameters and self.parameters.get("model")) or self.model

    @property
    def forced_tool(self) -> str:
        """The tool that must be called: the answer tool, if no other tool may be called instead."""
        return "" if self.must_call else self.answer_tool


class CallFailure(msgspec.Struct, frozen=True):
    """Why there is no reply: the error of the provider or the connection, its status, and when to try again."""

    reason: str
    kind: FailureKind = "transient"
    status: int | None = None
    retry_after: float | None = None
    code: str = ""
    feature: str = ""  # for the kind `feature`: the rejected feature, such as `temperature`
    unsent: bool = False  # whether no connection was made, so that the call cost nothing


class TransportFailure(Exception):
    """Raised by one of trueup's own clients if there is no reply; `page` is the text that the server sent instead."""

    def __init__(self, failure: CallFailure, page: str = "") -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.page = page


def failure_of(error: BaseException, mode: Mode = "text") -> CallFailure | None:
    """An exception as a failure; None if it is a bug in the program, and not the failure of a call.

    >>> failure_of(TimeoutError("late")).kind, failure_of(KeyError("x"))
    ('transient', None)
    """
    if isinstance(error, TransportFailure):
        return error.failure
    if bug_of(error) is not None:  # a custom check that cannot reach its own service
        return None
    from trueup.ask.retries.exceptions import failure_in_exception  # needed only after an error
    from trueup.ask.shapes.parts import MessageError

    if isinstance(error, MessageError):  # another provider may take the messages
        return CallFailure(str(error), "fatal", code=UNSENDABLE, unsent=True)

    failure = failure_in_exception(error, mode)
    if failure is not None and failure.status is None and _never_connected(error):
        return msgspec.structs.replace(failure, unsent=True)
    return failure


def _never_connected(error: BaseException) -> bool:
    """Whether an exception, or its cause, shows that no connection was made."""
    held: BaseException | None = error
    for _ in range(8):
        if held is None:
            return False
        if not _UNSENT.isdisjoint(kind.__name__ for kind in type(held).__mro__):
            return True
        held = held.__cause__ or held.__context__
    return False


def reply_in(error: BaseException) -> Any:
    """The reply that an SDK's exception contains, in the provider's shape; None if there is no reply to judge."""
    from trueup.ask.retries.exceptions import carried_reply

    return None if isinstance(error, TransportFailure) else carried_reply(error)


def failure_in(found: Finding, mode: Mode = "text", after: float | None = None) -> CallFailure:
    """The failure for a finding R002, an error instead of a reply; `after` is the wait that its headers ask for."""
    data = found.data
    status, code, said = data.get("status"), str(data.get("code") or ""), str(data.get("message") or "")
    kind, feature = kind_of(status, code, said, mode, retryable=bool(data.get("retryable")))
    wait = data.get("retry_after") if after is None else after
    return CallFailure(said or found.message, kind, status, wait, code, feature)
