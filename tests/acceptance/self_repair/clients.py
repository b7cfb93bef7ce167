"""The three protocols of the gateway, each through its real SDK, whole and streamed: the client's result, in one shape."""

import json
from typing import Any, NamedTuple

from anthropic import Anthropic
from openai import OpenAI

from tests.acceptance.self_repair.assistant import CONTRACT

PROTOCOLS = ("chat", "messages", "responses")
SAY: Any = [{"role": "user", "content": "Say hello."}]


class Got(NamedTuple):
    """A client's result: the text, the calls, and the fields that have no place in its protocol."""

    text: str
    calls: list[dict[str, Any]]
    fields: dict[str, Any]


def send(url: str, protocol: str, *, stream: bool = False, tools: bool = False, headers: Any = None) -> Got:
    """One request through the SDK of a protocol."""
    ask = {"chat": _chat, "messages": _messages, "responses": _responses}[protocol]
    return ask(url, headers or {}, stream=stream, tools=tools)


def _openai(url: str) -> OpenAI:
    return OpenAI(base_url=url + "/v1", api_key="any", max_retries=0)


def _call(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": json.loads(arguments) if isinstance(arguments, str) else arguments}


def _fields(extension: Any) -> dict[str, Any]:
    found: dict[str, Any] = (extension or {}).get("fields", {})
    return found


def _chat(url: str, headers: Any, *, stream: bool, tools: bool) -> Got:
    functions = [{"type": "function", "function": {"name": t.name, "parameters": t.parameters}} for t in CONTRACT.tools]
    given: Any = {"model": "m", "messages": SAY, "extra_headers": headers, **({"tools": functions} if tools else {})}
    with _openai(url) as client:
        if not stream:
            reply = client.chat.completions.create(**given)
            message = reply.choices[0].message
            calls = [_call(c.function.name, c.function.arguments) for c in message.tool_calls or ()]  # type: ignore[union-attr]
            assert (reply.choices[0].finish_reason == "tool_calls") == bool(calls)
            return Got(message.content or "", calls, _fields((reply.model_extra or {}).get("trueup")))
        text, made, fields = "", {}, {}
        for chunk in client.chat.completions.create(**given, stream=True):
            fields |= _fields((chunk.model_extra or {}).get("trueup"))
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    made.setdefault(part.index, ["", ""])
                    made[part.index][0] += part.function.name or ""
                    made[part.index][1] += part.function.arguments or ""
        return Got(text, [_call(*one) for one in made.values()], fields)


def _messages(url: str, headers: Any, *, stream: bool, tools: bool) -> Got:
    offered = [{"name": tool.name, "input_schema": tool.parameters} for tool in CONTRACT.tools]
    given: Any = {"model": "m", "max_tokens": 500, "messages": SAY, "extra_headers": headers}
    given |= {"tools": offered} if tools else {}
    with Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        fields: dict[str, Any] = {}
        if stream:
            with client.messages.stream(**given) as events:
                for event in events:
                    fields |= _fields((getattr(event, "model_extra", None) or {}).get("trueup"))
                reply = events.get_final_message()
        else:
            reply = client.messages.create(**given)
            fields = _fields((reply.model_extra or {}).get("trueup"))
        text = "".join(block.text for block in reply.content if block.type == "text")
        calls = [_call(block.name, block.input) for block in reply.content if block.type == "tool_use"]
        return Got(text, calls, fields)


def _responses(url: str, headers: Any, *, stream: bool, tools: bool) -> Got:
    offered = [
        {"type": "function", "name": t.name, "parameters": t.parameters, "strict": False} for t in CONTRACT.tools
    ]
    given: Any = {
        "model": "m",
        "input": "Say hello.",
        "extra_headers": headers,
        **({"tools": offered} if tools else {}),
    }
    with _openai(url) as client:
        if stream:
            with client.responses.stream(**given) as events:
                for _ in events:
                    pass
                reply: Any = events.get_final_response()
        else:
            reply = client.responses.create(**given)
        calls = [_call(item.name, item.arguments) for item in reply.output if item.type == "function_call"]
        return Got(reply.output_text, calls, _fields((reply.model_extra or {}).get("trueup")))
