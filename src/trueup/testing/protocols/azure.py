"""Azure OpenAI's chat completions of a deployment: OpenAI's format with results of content filters and Azure's
errors.
"""

from typing import Any

from trueup.testing.protocols.chat import Chat
from trueup.testing.protocols.shapes import event, failure_headers, json_body
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

_CODES = {401: "401", 404: "DeploymentNotFound", 429: "429", 500: "InternalServerError", 503: "ServiceUnavailable"}
_FILTERED = {"violence": {"filtered": False, "severity": "safe"}}


class Azure(Chat):
    """Azure's variant of chat completions."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A chat completion, or its chunks; the first chunk contains no choices."""
        response = super().reply(say, request, number)
        if not request.streams:
            return response
        filters = {"id": "", "object": "", "created": 0, "model": "", "choices": []}
        first = event({**filters, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": _FILTERED}]})
        return Response(response.status, response.headers, (first, *response.pieces), response.framing)

    def failure(self, fail: Fail, number: int) -> Response:
        """Azure's error object."""
        headers = {"apim-request-id": f"req-{number:04}", **failure_headers(fail)}
        return json_body(_error(fail), fail.status, headers)

    def error_event(self, fail: Fail) -> bytes:
        """An error instead of a chunk."""
        return event(_error(fail))


def _error(fail: Fail) -> dict[str, Any]:
    error: dict[str, Any] = {"code": fail.code or _CODES.get(fail.status, str(fail.status)), "message": fail.message}
    if fail.param:
        error["param"] = fail.param
    if fail.code == "content_filter":
        filtered = {"violence": {"filtered": True, "severity": "high"}}
        error |= {
            "status": fail.status,
            "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": filtered},
        }
    return {"error": error}
