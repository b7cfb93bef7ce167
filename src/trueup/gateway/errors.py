"""What a client is told when there is no reply for it: a status, a kind, a sentence; each protocol writes it its own way."""

import math
from typing import Any

_YEAR = 365 * 86_400.0
NO_RETRY = {"x-should-retry": "false"}  # what the SDKs of OpenAI and Anthropic heed


class Refused(Exception):
    """A request that gets an error and no reply. `kind` is a word of OpenAI's; `more` goes into the error as it is."""

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
        self.headers = dict(headers or {})  # more may be added to them
        self.more = more or {}


def _plain(text: str) -> str:
    """A text without halves of surrogate pairs, which an upstream's error may hold and no JSON may."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def whole_seconds(wait: float) -> str:
    """A `retry-after` as a whole number of seconds, rounded up, and at most a year.

    >>> whole_seconds(1.2), whole_seconds(20.0), whole_seconds(1e300)
    ('2', '20', '31536000')
    """
    return str(math.ceil(min(wait, _YEAR)))


class Gone(Exception):
    """The client has closed its connection; nobody is left to be told anything."""


def not_json(error: BaseException) -> Refused:
    """The refusal of a body that is not a JSON object, with what its decoder says."""
    return Refused(400, f"the request is not a JSON object: {str(error)[:200]}", code="invalid_json")
