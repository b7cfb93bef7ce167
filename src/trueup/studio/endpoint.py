"""Endpoints: the single description of each path of the API. Its route, its checks and its OpenAPI page are made from
it.

A handler is a plain function that runs in a thread: it takes the studio, the decoded request and the caller's key, and
returns data for JSON, or a `JsonLines`. It raises a `RequestRefused` if it cannot serve the request.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from trueup.studio.settings import Key, Right

if TYPE_CHECKING:
    from trueup.studio.studio import Studio

SMALL = 64 * 1024  # bytes of a body with ids and options
TEXTS = 24 * 1024 * 1024  # bytes of a body with a reply and a contract


class Nothing(msgspec.Struct, frozen=True):
    """A request without parameters."""


class JsonLines(NamedTuple):
    """Many answers to one request: each becomes a line of JSON as soon as it is ready.

    The iterator is closed when the client leaves.
    """

    events: Iterator[Any]


Handle = Callable[["Studio", Any, Key], Any]


class Endpoint(NamedTuple):
    """One method of one path below `/api`."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    """Such as `/verdicts/{id}`; its parameters are fields of `takes`."""
    right: Right
    handle: Handle
    takes: type[msgspec.Struct] = Nothing
    """Decoded from the path and from the query (GET, DELETE) or the body (POST, PUT). Unknown names are refused."""
    most: int = SMALL
    """The most bytes of a body; a longer one is refused."""
    streams: bool = False
    slow: bool = False
    """Whether it may take seconds for any input: such requests have separate threads, so that others do not have to
    wait.
    """
    gives: type[msgspec.Struct] | None = None
    """The type of its answer, for OpenAPI; None: not described."""

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return self._told[0]

    @property
    def details(self) -> str:
        """The rest of that docstring."""
        return self._told[2].strip()

    @property
    def _told(self) -> tuple[str, str, str]:
        return inspect.cleandoc(self.handle.__doc__ or "").partition("\n")
