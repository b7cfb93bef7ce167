"""Whether the output of a tool call says that the call failed or was not made.

Takes the output of one call in any provider's shape. A field for errors decides if the shape has one. If it has none, as in
OpenAI's, the content decides: `{"error": …}`, the name of an exception, or the words of our own results.
"""

from typing import Any

import msgspec

from trueup.read.objects import Row, record, word
from trueup.verdict.patterns import lazy_regex

_FLAGS = ("is_error", "isError")
_FAILED = frozenset(("error", "failed", "failure", "denied"))
# not "completed": an item of the Responses API always is, whatever its output says
_WORKED = frozenset(("success", "ok"))
_VERCEL = frozenset(("text", "json", "content"))  # the kinds of an `output` that is not an error
_CONTENT = ("content", "output", "result", "response")
# How a failed call is answered: in our own words (`read/answers.py`, `ask/words/*.yaml`), and as most programs write an
# exception. Only a number after the name is a measurement: `MeanSquaredError: 0.12`, `error: 3 %`.
_MARK = lazy_regex(
    r"\s*(?:The call (?:of ['\"].{1,200}?['\"] )?was not made\b"
    r"|The tool ['\"].{1,200}?['\"] failed\b"
    r"|La llamada no se ha hecho\b"
    r"|Error\s*:"
    r"|(?:(?:\w{1,80}\.)*\w{0,80}(?:Error|Exception)\s*[:(]|(?:ERROR|error)\s*:)"
    r"(?!\s*[-+±]?\d+(?:\.\d+\s*%?|\s*%)\s*(?:[\n,;]|$))"
    r"|Traceback \(most recent call last\))"
)
_decode = msgspec.json.Decoder().decode


def is_failure(output: Row) -> bool:
    """Whether the output of a call is an error.

    >>> is_failure({"type": "tool_result", "content": "no", "is_error": True}), is_failure({"content": "4 ms"})
    (True, False)
    >>> is_failure({"role": "tool", "content": "The call of 'pay' was not made. …"})
    True
    """
    for flag in _FLAGS:
        if isinstance(output.get(flag), bool):
            return bool(output[flag])
    status = word(output.get("status")).lower()
    if status in _FAILED or status in _WORKED:
        return status in _FAILED
    return says_failure(next((output[name] for name in _CONTENT if output.get(name) is not None), None))


def says_failure(content: Any) -> bool:
    """Whether the content of an output, of whatever kind, is an error.

    >>> (
    ...     says_failure('{"error": "no such city"}'),
    ...     says_failure("ValueError: no such city"),
    ...     says_failure("Error rates fell."),
    ... )
    (True, True, False)
    """
    if isinstance(content, str):
        return _text_fails(content)
    if isinstance(content, list | tuple):
        first = next((item for item in content if item), None)
        return says_failure(first if isinstance(first, str) else _held(record(first)))
    return _object_fails(record(content))


def _held(block: Row) -> Any:
    """The content of a block: text, or data in the form of Bedrock and Cohere."""
    if "text" in block:
        return block["text"]
    return block["json"] if "json" in block else record(block.get("document")).get("data")


def _text_fails(text: str) -> bool:
    if text.lstrip()[:1] != "{":
        return _MARK.match(text) is not None
    if "rror" not in text:
        return False
    try:
        return _object_fails(record(_decode(text)))
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return False


def _object_fails(body: Row) -> bool:
    if isinstance(body.get("isError"), bool):  # the result of an MCP server
        return bool(body["isError"])
    kind = word(body.get("type"))
    if kind.startswith("error-") or kind == "execution-denied":  # Vercel's `output`
        return True
    if kind in _VERCEL and "value" in body:
        return kind == "text" and says_failure(body["value"])
    if body.get("ok") is True or body.get("success") is True:  # it worked; `error` is about something else
        return False
    error = body.get("error")  # a number may be a measurement
    return error is True or (isinstance(error, str | dict | list) and bool(error))
