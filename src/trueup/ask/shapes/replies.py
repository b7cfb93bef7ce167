"""A reply as messages of its conversation, in each provider's shape.

Takes a Reply and a provider; returns messages. If the reply is what the provider sent, it is sent back unchanged and in the same order:
thinking blocks with their signatures, redacted blocks, signed parts, encrypted items. If only a part of it was kept, or it was
changed, the thinking stays before the text and the calls.
"""

from typing import Any, Protocol

import msgspec

from trueup.ask.shapes.neutral import WITH_CALLS
from trueup.read.native_messages import blocks_in, body_of, is_intact, items_in, keyed_in, message_in, parts_in
from trueup.read.objects import Row, record, rows, word
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply, ToolCall

# These providers' replies are read as chat completions.
_CHAT = frozenset({"openai", "mistral", "azure", "groq", "vllm", "llama.cpp", "litellm"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
# Reasoning that may always be sent back.
_ALWAYS = ("reasoning_details", "thinking_blocks")


def replied(reply: Reply, provider: str) -> list[Any]:
    """The messages of a reply in its conversation.

    >>> replied(Reply(text="Hello"), "gemini")
    [{'role': 'model', 'parts': [{'text': 'Hello'}]}]
    """
    shape = provider.replace("-", "_")
    if shape == "langchain":
        own = _langchain(reply)
        if own is not None:
            return [own]
    same = _family(reply.provider) == _family(shape)
    body = body_of(reply.raw) if same and reply.raw is not None else None
    write = _WRITERS.get(shape, _chat)
    return write(reply, body or {}, intact=body is not None and is_intact(reply))


def _family(provider: str) -> str:
    name = provider.replace("-", "_")
    return "openai" if name in _CHAT else name


def _arguments(call: ToolCall) -> str:
    """The arguments as the model wrote them, if that is valid JSON."""
    try:
        if call.raw_args and msgspec.json.decode(call.raw_args) == call.args:
            return call.raw_args
    except (msgspec.DecodeError, RecursionError):
        pass
    return written(call.args or {}).decode()


def _chat(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    calls = reply.calls
    own = message_in(body) if body else {}
    message: Row = {"role": "assistant", "content": reply.text or (None if calls else "")}
    kept = (*_ALWAYS, *WITH_CALLS) if calls else _ALWAYS
    message |= {name: own[name] for name in kept if name in own}
    content = own.get("content")
    if intact and isinstance(content, list) and any(record(part).get("type") == "thinking" for part in content):
        message["content"] = content  # Mistral's reasoning is in the content
    if calls:
        beside = _matching([_beside(record(call)) for call in rows(own.get("tool_calls"))], reply)
        message["tool_calls"] = [_call(call, more) for call, more in zip(calls, beside, strict=True)]
    return [message]


def _beside(call: Row) -> Row:
    """The members that the provider added to a call, such as a signature."""
    return {name: held for name, held in call.items() if name not in ("id", "index", "type", "function", "custom")}


def _call(call: ToolCall, more: Row) -> Row:
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.raw_args}, **more}
    function = {"name": call.name, "arguments": _arguments(call)}
    return {"id": call.id, "type": "function", "function": function, **more}


def _anthropic(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    calls = reply.calls
    own = blocks_in(body)
    if intact:
        inputs = {call.id: call.args or {} for call in calls}
        blocks = [_block(block, inputs) for block in own]
    else:
        blocks = [block for block in own if block.get("type") in _THINKING]
        blocks += [{"type": "text", "text": reply.text}] if reply.text.strip() else []
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.args or {}} for c in calls]
    plain = all(block.get("type") == "text" for block in blocks)
    return [{"role": "assistant", "content": reply.text if plain else blocks}]


def _block(block: Row, inputs: dict[str, Any]) -> Row:
    """A block. If the input of a call arrived in pieces, it is the object that they make up."""
    if block.get("type") != "tool_use" or isinstance(block.get("input"), dict):
        return block
    return {**block, "input": inputs.get(word(block.get("id"))) or {}}


def _gemini(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    own = parts_in(body)
    if intact and own:
        return [{"role": "model", "parts": own}]
    parts: list[Row] = [{"text": reply.text}] if reply.text else []
    signed = [_signature(part) for part in own if "functionCall" in part]
    for call, signature in zip(reply.calls, _matching(signed, reply), strict=True):
        made = {**({"id": call.id} if call.id else {}), "name": call.name, "args": call.args or {}}
        parts.append({"functionCall": made, **signature})
    return [{"role": "model", "parts": parts}]


def _signature(part: Row) -> Row:
    return {"thoughtSignature": part["thoughtSignature"]} if "thoughtSignature" in part else {}


def _matching(beside: list[Row], reply: Reply) -> list[Row]:
    """The additional members of each call; empty if the calls are not the ones that were read."""
    return beside if len(beside) == len(reply.calls) else [{}] * len(reply.calls)


def _responses(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    own = items_in(body) if intact else []
    if own:
        return own
    items: list[Row] = [{"role": "assistant", "content": reply.text}] if reply.text or not reply.calls else []
    for call in reply.calls:
        if call.kind == "custom":
            items.append({"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.raw_args})
        else:
            told = {"call_id": call.id, "name": call.name, "arguments": _arguments(call)}
            items.append({"type": "function_call", **told})
    return items


def _bedrock(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    own = keyed_in(body)
    if intact and own:
        inputs = {call.id: call.args or {} for call in reply.calls}
        return [{"role": "assistant", "content": [_keyed(block, inputs) for block in own]}]
    blocks = [block for block in own if "reasoningContent" in block]
    blocks += [{"text": reply.text}] if reply.text.strip() or not reply.calls else []
    blocks += [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.args or {}}} for c in reply.calls]
    return [{"role": "assistant", "content": blocks}]


def _keyed(block: Row, inputs: dict[str, Any]) -> Row:
    use = record(block.get("toolUse"))
    if not use or isinstance(use.get("input"), dict):
        return block
    return {"toolUse": {**use, "input": inputs.get(word(use.get("toolUseId"))) or {}}}


def _cohere(reply: Reply, body: Row, *, intact: bool) -> list[Any]:
    own = message_in(body) if body else {}
    calls = [_call(call, {}) for call in reply.calls]
    content: Any = own.get("content") if intact and own.get("content") else reply.text
    message: Row = {"role": "assistant", **({"content": content} if content or not calls else {})}
    if calls:
        message |= {**({"tool_plan": own["tool_plan"]} if own.get("tool_plan") else {}), "tool_calls": calls}
    return [message]


def _ollama(reply: Reply, body: Row, *, intact: bool) -> list[Any]:  # noqa: ARG001 - as all providers
    own = message_in(body) if body else {}
    message: Row = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message |= {"thinking": own["thinking"]} if own.get("thinking") else {}
        message["tool_calls"] = [{"function": {"name": c.name, "arguments": c.args or {}}} for c in reply.calls]
    return [message]


def _langchain(reply: Reply) -> Any:
    """LangChain's own message, which contains everything that its model needs again; None if the reply is not LangChain's or was changed."""
    raw = reply.raw
    if isinstance(raw, list) and raw and all(hasattr(chunk, "tool_call_chunks") for chunk in raw):
        whole = raw[0]
        for chunk in raw[1:]:
            whole = whole + chunk
        raw = whole
    is_message = hasattr(raw, "tool_calls") and hasattr(raw, "response_metadata")
    return raw if is_message and is_intact(reply) else None


class _Writer(Protocol):
    def __call__(self, reply: Reply, body: Row, *, intact: bool) -> list[Any]: ...


_WRITERS: dict[str, _Writer] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "gemini": _gemini,
    "ollama": _ollama,
    "openai_responses": _responses,
}
