"""Errors for clients: a status, a kind and a sentence, which each protocol writes in its own way."""

import math
from typing import Any

_YEAR = 365 * 86_400.0
NO_RETRY = {"x-should-retry": "false"}  # headers that the SDKs of OpenAI and Anthropic obey


class RefusedRequest(Exception):
    """A request that gets an error instead of a reply. `kind` is one of OpenAI's words; `more` is added to the error
    unchanged.
    """

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request_error",
        code: str = "",
        *,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = _plain(message)
        self.kind = kind
        self.code = _plain(code)
        self.headers = dict(headers or {})  # callers may add to them
        self.more = more or {}


def _plain(text: str) -> str:
    """A text without half surrogates, which an upstream's error may contain but JSON must not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def whole_seconds(wait: float) -> str:
    """A `retry-after` as a whole number of seconds, rounded up, and at most a year.

    >>> whole_seconds(1.2), whole_seconds(20.0), whole_seconds(1e300)
    ('2', '20', '31536000')
    """
    return str(math.ceil(min(wait, _YEAR)))


class Gone(Exception):
    """The client has closed its connection, so no answer is needed."""


def not_json(error: BaseException) -> RefusedRequest:
    """The refusal of a body that is not a JSON object, with the decoder's message."""
    return RefusedRequest(400, f"the request is not a JSON object: {str(error)[:200]}", code="invalid_json")
