"""Refusal: the reason why a request is not served, as a message for the page and a status for the client."""

from collections.abc import Mapping


class RequestRefused(Exception):
    """A request that is not served. `code` is for programs, `hint` says what to do."""

    def __init__(
        self, status: int, message: str, *, code: str = "bad_request", hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.hint = hint
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, object]:
        """The body of the response."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}
