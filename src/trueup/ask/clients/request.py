"""One request to a model, whoever the provider is, and what may come back in place of a reply.

The loop makes a `Request`; a client turns it into a call and gives the provider's raw reply, or raises. What a client raises
is put into the plan's words by `failure_of`; an exception that is nobody's failure is the caller's own and is left alone.
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

UNSENDABLE = "message"  # the code of a failure: the provider cannot take the messages
_UNSENT = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError NewConnectionError NameResolutionError ConnectionRefusedError gaierror"
    " EndpointConnectionError ClientConnectorError UnsupportedProtocol InvalidURL PoolTimeout".split()
)


class Request(msgspec.Struct, frozen=True):
    """What to send: messages, the model, how it is held to the schema, tools, and numbers; `parameters` win over all.

    >>> Request([], model="small").replace(model="large").model
    'large'
    """

    messages: list[Any]
    """The messages, in the shape in which they were given."""
    model: str = ""
    """The model; empty for the client's own."""
    mode: Mode = "text"
    """How the provider is held to the schema."""
    schema: dict[str, Any] | None = None
    """The schema that it is held to; None if the mode needs none."""
    name: str = "reply"
    """What the schema is called, for providers that want a name."""
    tools: tuple[Tool, ...] = ()
    """The tools that are offered; empty: none."""
    must_call: bool = False
    """Whether one of the tools is to be called, whatever else is said."""
    answer_tool: str = ""
    """In the mode `tool`, the last of the tools, whose arguments are the reply; empty in other modes."""
    wrapped: bool = False
    """Whether the schema is that of `{"value": …}` around the contract's own."""
    call_tools: bool = True
    """Whether the tools may be called; if not, they are named for the sake of the history."""
    temperature: float | None = None
    """The temperature; None: the provider's default."""
    max_tokens: int | None = None
    """The limit of the reply; None: the provider's default."""
    timeout: float | None = None
    """The seconds for the call; None: no limit."""
    parameters: Mapping[str, Any] = {}
    """Further parameters, as the policy has them; empty: none."""
    without: frozenset[str] = frozenset()
    """Features that this address and model rejected before; a client leaves them out. Empty: none is known."""

    def replace(self, **changes: Any) -> "Request":
        """The same request with other values for the fields in `changes`."""
        return msgspec.structs.replace(self, **changes)

    @property
    def asked_model(self) -> str:
        """The model that is asked: the one among the parameters, if there is one; empty for the client's own."""
        return (self.parameters and self.parameters.get("model")) or self.model

    @property
    def forced_tool(self) -> str:
        """The tool that must be called: the one for the answer, if no other may be called in its place."""
        return "" if self.must_call else self.answer_tool


class CallFailure(msgspec.Struct, frozen=True):
    """Why there is no reply: what the provider or the line said, its status, and when to come again."""

    reason: str
    kind: FailureKind = "transient"
    status: int | None = None
    retry_after: float | None = None
    code: str = ""
    feature: str = ""  # of the kind `feature`: what was rejected, such as `temperature`
    unsent: bool = False  # no connection was made, so that the call cannot have cost anything


class TransportFailure(Exception):
    """Raised by a client of the house that got no reply; `page` is what the server sent in place of one."""

    def __init__(self, failure: CallFailure, page: str = "") -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.page = page


def failure_of(error: BaseException, mode: Mode = "text") -> CallFailure | None:
    """An exception as a failure, None where it is no failure of a call but a fault of the program.

    >>> failure_of(TimeoutError("late")).kind, failure_of(KeyError("x"))
    ('transient', None)
    """
    if isinstance(error, TransportFailure):
        return error.failure
    if bug_of(error) is not None:  # a check that cannot reach a service of its own
        return None
    from trueup.ask.retries.exceptions import failure_in_exception  # of use only where something went wrong
    from trueup.ask.shapes.parts import MessageError

    if isinstance(error, MessageError):  # another provider may take the messages
        return CallFailure(str(error), "fatal", code=UNSENDABLE, unsent=True)

    failure = failure_in_exception(error, mode)
    if failure is not None and failure.status is None and _never_connected(error):
        return msgspec.structs.replace(failure, unsent=True)
    return failure


def _never_connected(error: BaseException) -> bool:
    """Whether an exception, or what an SDK raised it from, says that no connection was made."""
    held: BaseException | None = error
    for _ in range(8):
        if held is None:
            return False
        if not _UNSENT.isdisjoint(kind.__name__ for kind in type(held).__mro__):
            return True
        held = held.__cause__ or held.__context__
    return False


def reply_in(error: BaseException) -> Any:
    """The reply that an exception of an SDK carries, in the provider's shape; None where there is none to judge."""
    from trueup.ask.retries.exceptions import carried_reply

    return None if isinstance(error, TransportFailure) else carried_reply(error)


def failure_in(found: Finding, mode: Mode = "text", after: float | None = None) -> CallFailure:
    """A finding R002, an error that came in place of a reply, as a failure; `after` is the wait that its headers ask for."""
    data = found.data
    status, code, said = data.get("status"), str(data.get("code") or ""), str(data.get("message") or "")
    kind, feature = kind_of(status, code, said, mode, retryable=bool(data.get("retryable")))
    wait = data.get("retry_after") if after is None else after
    return CallFailure(said or found.message, kind, status, wait, code, feature)
