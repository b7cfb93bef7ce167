"""Batch output lines of OpenAI (and Azure, Groq, Together, vLLM, Mistral), Anthropic, Gemini, Vertex and Bedrock.

Returns a line's key, and either the body inside or the failure it reports. A body does not prove that a request
succeeded: its status is checked first. A line that is not JSON still gives its key.
"""

from typing import Any, NamedTuple

from trueup.read.events import value
from trueup.read.objects import Row, as_dict, record, word
from trueup.read.reading import ProviderFailure, failure_of
from trueup.verdict.patterns import lazy_regex

_KEYS = ("custom_id", "key", "recordId", "customId", "record_id")
_KEY = lazy_regex(r'"(?:custom_id|key|recordId)"\s*:\s*"((?:[^"\\]|\\.){1,512})"')


class BatchLine(NamedTuple):
    """One batch line: the body inside it, or why there is none."""

    key: str
    body: Any = None
    failure: ProviderFailure | None = None


def is_line(body: Row) -> bool:
    """Whether a dict is a batch line.

    >>> is_line({"custom_id": "r1", "result": {"type": "expired"}}), is_line({"key": "value"})
    (True, False)
    """
    if "custom_id" in body:
        return "response" in body or "error" in body or "result" in body
    if "recordId" in body:
        return "modelOutput" in body or "error" in body
    response = body.get("response")
    if "request" in body and "status" in body:
        return "response" in body
    if "key" in body and (response or body.get("error")):
        return as_dict(response or body["error"]) is not None
    if type(response) is not dict:
        return False
    return "status_code" in response or "candidates" in response or "promptFeedback" in response


def unwrap(line: Row) -> BatchLine:
    """Split a batch line into its parts.

    >>> unwrap({"custom_id": "r3", "response": None, "error": {"code": "batch_expired", "message": "Too late"}}).failure
    ProviderFailure(message='Too late', code='batch_expired', status=None, failed_generation='', retry_after=None)
    """
    key = next((word(line[name]) for name in _KEYS if line.get(name) is not None), "")
    key = key or word(record(line.get("metadata")).get("key"))
    if "result" in line:
        return _anthropic(key, record(line["result"]))
    response = record(line.get("response"))
    status = response.get("status_code")
    status = status if type(status) is int else None
    error = line.get("error") or line.get("status") or None
    if error:
        return BatchLine(key, None, failure_of(error, status if status and status >= 400 else None))
    if "modelOutput" in line:
        return BatchLine(key, line["modelOutput"])
    body = response.get("body") if "body" in response or status is not None else line.get("response")
    if status is not None and status >= 400:
        return BatchLine(key, None, failure_of(body or "", status))
    if body is None:
        return BatchLine(
            key, None, ProviderFailure("the line contains neither a response nor an error", "empty_line", status)
        )
    return BatchLine(key, value(body) if isinstance(body, str) else body)


def _anthropic(key: str, result: Row) -> BatchLine:
    kind = word(result.get("type"))
    if result.get("message") is not None and kind in {"", "succeeded"}:
        return BatchLine(key, result["message"])
    if result.get("error"):
        return BatchLine(key, None, failure_of(result["error"]))
    return BatchLine(key, None, ProviderFailure(f"the request is {kind or 'without a result'}", kind))


def salvage_key(line: str) -> str:
    """The key of a line that is not valid JSON, if it can be found.

    >>> salvage_key('{"custom_id": "r7", "response": {"body": {"choices": [')
    'r7'
    """
    found = _KEY.search(line, 0, 100_000)
    return found[1] if found else ""
