"""Messages in pydantic-ai's form, and its responses and events in OpenAI's.

Takes messages of any family; returns `ModelMessage`s. Takes a `ModelResponse`; returns a chat completion. An event of a stream becomes
a chunk. Thoughts keep their order among thoughts, and texts among texts.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from trueup.ask.shapes.ids import ANY
from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, PlainText
from trueup.ask.shapes.parts import Media
from trueup.ask.shapes.walking import walk

_ENDINGS = {"tool_call": "tool_calls"}


def as_model_messages(messages: Sequence[Any]) -> list[Any]:
    """The history of a request; consecutive messages in the same direction become one message."""
    from pydantic_ai import messages as own

    out: list[Any] = []
    for is_own, run in groupby(messages, lambda message: isinstance(message, own.ModelRequest | own.ModelResponse)):
        if is_own:
            out += run
            continue
        for _, said in walk([*run], "unknown", unless=lambda _: True, ids=ANY):
            assert said is not None
            parts = _spoken(said) if said.role == "assistant" else _heard(said)
            kind = own.ModelResponse if said.role == "assistant" else own.ModelRequest
            if parts and out and isinstance(out[-1], kind):
                out[-1] = kind(parts=[*out[-1].parts, *parts])
            elif parts:
                out.append(kind(parts=parts))
    return out


def _spoken(said: NeutralMessage) -> list[Any]:
    from pydantic_ai.messages import TextPart, ToolCallPart

    parts: list[Any] = []
    for part in said.parts:
        if isinstance(part, PlainText):
            parts.append(TextPart(content=part.text))
        elif isinstance(part, CallPart):
            parts.append(ToolCallPart(tool_name=part.name, args=part.args, tool_call_id=part.id))
    return parts


def _heard(said: NeutralMessage) -> list[Any]:
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

    if said.role == "system":
        return [SystemPromptPart(content=said.text)] if said.text else []
    parts: list[Any] = [
        ToolReturnPart(tool_name=part.name, content=part.text, tool_call_id=part.id)
        for part in said.parts
        if isinstance(part, Output)
    ]
    content = [_content(part) for part in said.parts if isinstance(part, PlainText | Media)]
    if content:
        parts.append(
            UserPromptPart(content=content[0] if len(content) == 1 and isinstance(content[0], str) else content)
        )
    return parts


def _content(part: PlainText | Media) -> Any:
    from pydantic_ai.messages import BinaryContent, DocumentUrl, ImageUrl

    if isinstance(part, PlainText):
        return part.text
    if part.data is not None:
        return BinaryContent(data=part.data, media_type=part.media_type or "application/octet-stream")
    return ImageUrl(url=part.url) if part.kind == "image" else DocumentUrl(url=part.url)


def as_completion(response: Any) -> dict[str, Any]:
    """A response as a chat completion."""
    said = {"text": "", "thinking": ""}
    calls: list[dict[str, Any]] = []
    for part in response.parts:
        if part.part_kind in said:
            said[part.part_kind] += part.content or ""
        elif part.part_kind == "tool-call":
            function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
            calls.append({"id": part.tool_call_id, "type": "function", "function": function})
    message: dict[str, Any] = {"role": "assistant", "content": said["text"] or (None if calls else "")}
    if said["thinking"]:
        message["reasoning_content"] = said["thinking"]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _ending(response)}
    return {**_about(response, "chat.completion"), "choices": [choice]}


def as_chunk(event: Any, places: dict[int, int]) -> dict[str, Any] | None:
    """An event of a stream as a chunk; None if it only repeats others. `places` contains the places of the calls so far."""
    kind = event.event_kind
    if kind not in {"part_start", "part_delta"}:
        return None
    part = event.part if kind == "part_start" else event.delta
    name = part.part_kind if kind == "part_start" else part.part_delta_kind
    said = (
        part.content if kind == "part_start" and name in {"text", "thinking"} else getattr(part, "content_delta", None)
    )
    delta: dict[str, Any]
    if name == "text":
        delta = {"content": said or ""}
    elif name == "thinking":
        delta = {"reasoning_content": said or ""}
    elif name in {"tool-call", "tool_call"}:
        delta = {"tool_calls": [_call_chunk(event.index, part, places)]}
    else:
        return None
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _call_chunk(index: int, part: Any, places: dict[int, int]) -> dict[str, Any]:
    place = places.setdefault(index, len(places))
    if hasattr(part, "args_as_json_str"):  # the start of a call
        arguments = part.args if isinstance(part.args, str) else part.args_as_json_str() if part.args else ""
        function = {"name": part.tool_name, "arguments": arguments}
        return {"index": place, "id": part.tool_call_id, "type": "function", "function": function}
    more = part.args_delta
    function = {"arguments": more if isinstance(more, str) else ""}
    if part.tool_name_delta:
        function["name"] = part.tool_name_delta
    return {"index": place, "function": function}


def as_last_chunk(response: Any) -> dict[str, Any]:
    """The end of a stream: its finish reason and its usage."""
    choice = {"index": 0, "delta": {}, "finish_reason": _ending(response) or "stop"}
    return {**_about(response, "chat.completion.chunk"), "choices": [choice]}


def _about(response: Any, kind: str) -> dict[str, Any]:
    usage = response.usage
    counted: dict[str, Any] = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    if getattr(usage, "cache_read_tokens", 0):
        counted["prompt_tokens_details"] = {"cached_tokens": usage.cache_read_tokens}
    about = {"id": response.provider_response_id or "", "object": kind, "model": response.model_name or ""}
    return {**about, "usage": counted if any(counted.values()) else None}


def _ending(response: Any) -> str | None:
    reason: str | None = response.finish_reason
    return _ENDINGS.get(reason, reason) if reason else None
