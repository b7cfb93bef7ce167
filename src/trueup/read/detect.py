"""Finds the family of a dict, an event or a list, from ordered tables; the first match wins.

A probe checks a few keys and never looks deeper than a first item. The order matters: an OpenAI body may have anything beside
its `choices`, and an error comes last, because a reply may contain one too.
"""

from collections.abc import Callable
from typing import Any, Protocol

from trueup.read import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    gluellm,
    interactions,
    langchain,
    messages,
    mistral,
    ollama,
    openai_chat,
    openai_chunks,
    openai_responses,
    vercel,
)
from trueup.read.objects import Row, as_dict, record, word
from trueup.read.reading import Reading

Reader = Callable[[Row, Any], Reading]


class Joiner(Protocol):
    """Joins the events of a stream into one body, and says whether the reply is complete. `done`: the stream ended."""

    def __call__(self, events: list[Row], *, done: bool) -> tuple[Row, bool]: ...


_ERROR_KEYS = frozenset(
    "error errors message Message msg detail details code status statusCode status_code type __type object param id"
    " request_id requestId error_type error_code errorCode errorMessage estimated_time user_id timestamp path"
    " raw_status_code success title provider ResponseMetadata".split()
)


def _is_chat(body: Row) -> bool:
    choices = body.get("choices")
    if not isinstance(choices, list | tuple):
        return False
    kind = body.get("object")
    if kind == "chat.completion" or not choices:
        return bool(kind != "chat.completion.chunk")
    first = record(choices[0])
    if first.get("message") is not None:
        return True
    return "text" in first and kind != "chat.completion.chunk" and (kind is not None or _is_numbered(first))


def _is_numbered(choice: Row) -> bool:
    """Whether a choice gives its index or how it ended: an answer to a question of the user's own has a text too."""
    return "index" in choice or "finish_reason" in choice


def _is_response(body: Row) -> bool:
    kind = body.get("object")
    if kind is not None:
        return bool(kind == "response")
    output = body.get("output")
    return (
        isinstance(output, list | tuple)
        and bool(output)
        and word(record(output[0]).get("type")) in openai_responses.ITEMS
    )


def _is_anthropic(body: Row) -> bool:
    return (
        body.get("type") == "message"
        and isinstance(body.get("content"), list | tuple)
        and ("stop_reason" in body or body.get("role") == "assistant")
    )


def _is_gemini(body: Row) -> bool:
    if "promptFeedback" in body or "prompt_feedback" in body:
        return True
    candidates = body.get("candidates")
    if not candidates:
        return "candidates" in body
    return isinstance(candidates, list | tuple) and not gemini.CANDIDATE.isdisjoint(record(candidates[0]))


def _is_bedrock(body: Row) -> bool:
    return "stopReason" in body and record(body.get("output")).get("message") is not None


def _is_older_bedrock(body: Row) -> bool:
    if isinstance(body.get("generated_text"), str) or ("generation" in body and "stop_reason" in body):
        return True
    found = body.get("results") or body.get("outputs")
    if not isinstance(found, list) or not found:
        return False
    first = record(found[0])
    return "outputText" in first or ("stop_reason" in first and ("text" in first or "generated_text" in first))


def _is_conversation(body: Row) -> bool:
    if body.get("object") == "conversation.response":
        return True
    outputs = body.get("outputs")
    return isinstance(outputs, list) and bool(outputs) and mistral.is_event(word(record(outputs[0]).get("type")))


def _is_ollama(body: Row) -> bool:
    if "done" not in body:
        return False
    return isinstance(body.get("response"), str) or as_dict(body.get("message")) is not None


def _is_llama_cpp(body: Row) -> bool:
    return isinstance(body.get("content"), str) and ("stop_type" in body or "tokens_predicted" in body)


def _is_vercel(body: Row) -> bool:
    if isinstance(body.get("toolInvocations"), list):
        return "role" in body or "content" in body
    parts = body.get("parts")
    if not isinstance(parts, list) or "role" not in body or messages.role_of(body) != "assistant":
        return False
    return not parts or "type" in record(parts[0])


def _is_vercel_result(body: Row) -> bool:
    return "finishReason" in body and ("text" in body or "toolCalls" in body)


def _is_langchain(body: Row) -> bool:
    kind = body.get("type")
    if kind == "constructor":
        return body.get("lc") is not None and messages.role_of(body) == "assistant"
    return isinstance(kind, str) and kind in langchain.AI and ("content" in body or "data" in body)


def _is_langchain_result(body: Row) -> bool:
    if isinstance(body.get("generations"), list):
        return True
    return "raw" in body and "parsed" in body


def _is_cohere(body: Row) -> bool:
    return "finish_reason" in body and isinstance(body.get("message"), dict)


def _is_old_cohere(body: Row) -> bool:
    return isinstance(body.get("text"), str) and (
        "generation_id" in body or "response_id" in body or "chat_history" in body
    )


def _is_completion(body: Row) -> bool:
    return isinstance(body.get("completion"), str) and "stop_reason" in body


def _is_gluellm(body: Row) -> bool:
    return "final_response" in body or "tool_execution_history" in body


def _is_enclosed(body: Row) -> bool:
    if "completion_message" in body:
        return record(body["completion_message"]).get("role") == "assistant"
    inner = body.get("output")
    if not isinstance(inner, dict) or "request_id" not in body:
        return False
    return isinstance(inner.get("choices"), list) or ("finish_reason" in inner and isinstance(inner.get("text"), str))


def _is_message(body: Row) -> bool:
    role = messages.role_of(body)
    if role == "assistant":
        return any(name in body for name in ("content", "tool_calls", "function_call", "parts", "refusal"))
    if role or "tool_calls" not in body:
        return False
    return isinstance(body["tool_calls"], list) or (body["tool_calls"] is None and isinstance(body.get("content"), str))


FAMILIES: tuple[tuple[Callable[[Row], bool], Reader], ...] = (
    (_is_chat, openai_chat.read),
    (_is_response, openai_responses.read),
    (_is_anthropic, anthropic.read),
    (_is_gemini, gemini.read),
    (interactions.is_body, interactions.read),
    (_is_bedrock, bedrock.read),
    (_is_ollama, ollama.read),
    (_is_llama_cpp, ollama.read_llama_cpp),
    (_is_vercel, vercel.read),
    (_is_langchain, langchain.read),
    (_is_cohere, cohere.read),
    (_is_old_cohere, cohere.read_old),
    (_is_conversation, mistral.read),
    (_is_langchain_result, langchain.read_result),
    (_is_gluellm, gluellm.read),
    (_is_vercel_result, vercel.read_result),
    (_is_completion, anthropic.read_completion),
    (_is_older_bedrock, bedrock.read_older),
    (_is_enclosed, openai_chat.read_enclosed),
    (_is_message, messages.read),
)


def family(body: Row) -> Reader | None:
    """The reader of a response body, or None.

    >>> family({"choices": [{"message": {"content": "hi"}}]}).__module__
    'trueup.read.openai_chat'
    """
    for fits, reader in FAMILIES:
        if fits(body):
            return reader
    return None


def is_error(body: Row) -> bool:
    """Whether a dict is what a provider sends instead of a reply.

    >>> is_error({"error": {"message": "no"}}), is_error({"error": "no such model"}), is_error({"name": "Ada"})
    (True, True, False)
    """
    error = body.get("error")
    if isinstance(error, dict) and error:
        return bool({"message", "code", "type", "status", "msg", "error"} & error.keys())
    if "ResponseMetadata" in body and "Code" in record(body.get("Error")):
        return True
    if not body.keys() <= _ERROR_KEYS:
        return False
    return (isinstance(error, str) and bool(error)) or body.get("object") == "error" or body.get("type") == "error"


def may_be_error(body: Row) -> bool:
    """Whether a dict has only a message, as the errors of some providers do, and as an answer may too.

    >>> may_be_error({"message": "no such model", "id": "1"}), may_be_error({"message": "hi", "name": "Ada"})
    (True, False)
    """
    if not body.keys() <= _ERROR_KEYS:
        return False
    said = body.get("message") or body.get("Message") or body.get("detail") or body.get("errorMessage")
    return bool(said) and (isinstance(said, str) or "detail" in body)


def _is_chunk(event: Row) -> bool:
    if word(event.get("object")) in {"chat.completion.chunk", "text_completion"}:
        return True
    choices = event.get("choices")
    if not isinstance(choices, list | tuple):
        return False
    first = record(choices[0]) if choices else {}
    return "delta" in first or ("text" in first and "message" not in first and _is_numbered(first))


def _typed(kinds: frozenset[str], key: str = "type") -> Callable[[Row], bool]:
    return lambda event: word(event.get(key)) in kinds


STREAMS: tuple[tuple[Callable[[Row], bool], Joiner, Reader], ...] = (
    (_is_chunk, openai_chunks.join, openai_chat.read),
    (lambda event: word(event.get("type")).startswith("response."), openai_responses.join, openai_responses.read),
    (_typed(anthropic.EVENTS), anthropic.join, anthropic.read),
    (_is_gemini, gemini.join, gemini.read),
    (lambda event: any(name in event for name in bedrock.EVENTS[:5]), bedrock.join, bedrock.read),
    (_is_ollama, ollama.join, ollama.read),
    (lambda event: isinstance(event.get("content"), str) and type(event.get("stop")) is bool,
     ollama.join_llama_cpp, ollama.read_llama_cpp),
    (interactions.is_event, interactions.join, interactions.read),
    (_typed(cohere.EVENTS), cohere.join, cohere.read),
    (_typed(cohere.OLD_EVENTS, "event_type"), cohere.join_old, cohere.read_old),
    (lambda event: mistral.is_event(word(event.get("type"))), mistral.join, mistral.read),
    (_typed(vercel.EVENTS), vercel.join, vercel.read),
    (lambda event: langchain.unwrapped(event).get("type") == "AIMessageChunk", langchain.join, langchain.read),
)  # fmt: skip


def stream(event: Row) -> tuple[Joiner, Reader] | None:
    """How to join and read the stream that an event belongs to, or None.

    >>> stream({"type": "message_start", "message": {}})[1].__module__
    'trueup.read.anthropic'
    """
    for fits, joiner, reader in STREAMS:
        if fits(event):
            return joiner, reader
    return None
