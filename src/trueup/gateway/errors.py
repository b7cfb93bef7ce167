"""What a client is told when there is no reply for it: a status, a kind, a sentence; each protocol writes it its own way."""

from typing import Any

NO_RETRY = {"x-should-retry": "false"}  # what OpenAI's clients heed


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
        self.message = message
        self.kind = kind
        self.code = code
        self.headers = headers or {}
        self.more = more or {}


class Gone(Exception):
    """The client has closed its connection; nobody is left to be told anything."""
