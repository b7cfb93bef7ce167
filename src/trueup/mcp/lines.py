"""Lines of standard input: takes the messages that the SDK reads, and answers the lines that it cannot read.

The SDK drops such a line, so its client would wait until it gives up. Some of these lines are valid: a reply that was cut
inside an emoji contains half a surrogate pair, which Python's JSON reader accepts and the SDK's does not.
"""

import contextlib
import contextvars
import json
from types import TracebackType
from typing import Any, Protocol, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

_REFUSED = "This line is not a JSON-RPC message, or it is nested too deeply."


class MessageSource(Protocol):
    """Where messages come from."""

    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class MessageTarget(Protocol):
    """Where messages go to."""

    async def send(self, item: SessionMessage, /) -> None: ...


class AnsweredLines:
    """The messages of a client. A line that cannot be read is answered with an error."""

    def __init__(self, reading: MessageSource, writing: MessageTarget) -> None:
        self._reading = reading
        self._writing = writing

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context in which the latest message was read."""
        return getattr(self._reading, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        while True:
            item = await self._reading.receive()
            if not isinstance(item, Exception):
                return item
            line = _line_of(item)
            data = _data_of(line)
            with contextlib.suppress(ValidationError):
                return SessionMessage(jsonrpc_message_adapter.validate_python(data, by_name=False))
            if line.strip():
                await self._refuse(data)

    async def _refuse(self, data: Any) -> None:
        given = data.get("id") if isinstance(data, dict) else None
        known = given if isinstance(given, str | int) and not isinstance(given, bool) else None
        refusal = JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=PARSE_ERROR, message=_REFUSED))
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client has left
            await self._writing.send(SessionMessage(refusal))

    async def aclose(self) -> None:
        """Close the source of the messages."""
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


def _line_of(error: Exception) -> str:
    """The line that an error of the SDK is about; empty if it is about something else."""
    given = error.errors(include_url=False)[0]["input"] if isinstance(error, ValidationError) else ""
    return given if isinstance(given, str) else json.dumps(given)


def _data_of(line: str) -> Any:
    """The data of a line; None if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
