"""Writes tool results in each provider's shape, for calls that were run and for calls that were refused.

Takes results (call, text, whether it is an error) and returns the messages that a provider accepts. Calls that already have
an answer get no second one. If a shape has no field for errors, the text says that it is one.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trueup.read.outcomes import says_failure
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Refusal


class CallResult(NamedTuple):
    """The result of one call: the text for the model, and whether it is an error."""

    call: ToolCall
    text: str
    is_error: bool


Messages = list[dict[str, Any]]


def _each(make: Callable[[CallResult], dict[str, Any]]) -> Callable[[Sequence[CallResult]], Messages]:
    return lambda results: [make(result) for result in results]


def _text(r: CallResult) -> str:
    """The text of a result in a shape without a field for errors: a reader of the history must recognize an error by its
    words.
    """
    return f"Error: {r.text}" if r.is_error and not says_failure(r.text) else r.text


def _openai(r: CallResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": r.call.id, "content": _text(r)}


def _responses(r: CallResult) -> dict[str, Any]:
    kind = "custom_tool_call_output" if r.call.kind == "custom" else "function_call_output"
    return {"type": kind, "call_id": r.call.id, "output": _text(r)}


def _anthropic(results: Sequence[CallResult]) -> Messages:
    blocks: Messages = []
    for r in results:
        block = {"type": "tool_result", "tool_use_id": r.call.id, "content": r.text}
        blocks.append({**block, "is_error": True} if r.is_error else block)
    return [{"role": "user", "content": blocks}] if blocks else []


def _gemini(results: Sequence[CallResult]) -> Messages:
    parts: Messages = []
    for r in results:
        response = {"error": r.text or "The call failed."} if r.is_error else {"output": r.text}
        answer: dict[str, Any] = {"name": r.call.name, "response": response}
        parts.append({"functionResponse": {**({"id": r.call.id} if r.call.id else {}), **answer}})
    return [{"role": "user", "parts": parts}] if parts else []


def _bedrock(results: Sequence[CallResult]) -> Messages:
    blocks: Messages = []
    for r in results:
        status = "error" if r.is_error else "success"
        answer = {"toolUseId": r.call.id, "content": [{"text": r.text}], "status": status}
        blocks.append({"toolResult": answer})
    return [{"role": "user", "content": blocks}] if blocks else []


def _vercel(results: Sequence[CallResult]) -> Messages:
    parts: Messages = []
    for r in results:
        output = {"type": "error-text" if r.is_error else "text", "value": r.text}
        parts.append({"type": "tool-result", "toolCallId": r.call.id, "toolName": r.call.name, "output": output})
    return [{"role": "tool", "content": parts}] if parts else []


def _langchain(r: CallResult) -> dict[str, Any]:
    status = "error" if r.is_error else "success"
    return {"type": "tool", "tool_call_id": r.call.id, "name": r.call.name, "content": r.text, "status": status}


_SHAPES: dict[str, Callable[[Sequence[CallResult]], Messages]] = {
    "openai": _each(_openai),
    "openai_responses": _each(_responses),
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "ollama": _each(lambda r: {"role": "tool", "tool_name": r.call.name, "content": _text(r)}),
    "mistral": _each(lambda r: {**_openai(r), "name": r.call.name}),
    "cohere": _each(_openai),
    "vercel": _vercel,
    "langchain": _each(_langchain),
    "mcp": _each(lambda r: {"content": [{"type": "text", "text": r.text}], "isError": r.is_error}),
}
PROVIDERS = tuple(_SHAPES)
# Families that take their results back in another family's shape.
_ALIASES = dict.fromkeys(("llama.cpp", "gluellm", "vllm", "batch", "text", "messages"), "openai")


def tool_results(results: Sequence[CallResult], provider: str) -> Messages:
    """The messages that report the results of its calls to a model.

    >>> call = ToolCall("ping", id="c1")
    >>> tool_results([CallResult(call, "pong", False)], "openai")
    [{'role': 'tool', 'tool_call_id': 'c1', 'content': 'pong'}]
    """
    shape = _SHAPES.get(_ALIASES.get(provider, provider.replace("-", "_")))
    if shape is None:
        raise ValueError(f"provider must be one of {', '.join(PROVIDERS)}; got {provider!r}")
    return shape([result for result in results if not result.call.answered])


def refusal_result(refusal: Refusal) -> CallResult:
    """A refused call as a result that gives the model the reason."""
    return CallResult(refusal.call, refusal.message, is_error=True)


def answer_refusals(refusals: Sequence[Refusal], provider: str) -> Messages:
    """Refused calls as tool-result messages."""
    return tool_results([refusal_result(refusal) for refusal in refusals], provider)
