"""Translates a request from the client's protocol to that of an upstream.

Messages, system texts, tools, tool results, images and the usual parameters are translated. The names of untranslatable parts
that only change how a model works, such as `seed`, are returned along with the body, so that the client can see what was left
out. A part that changes what the reply is, such as a tool that the provider runs itself, raises a `MessageError`: such a
request is not sent to that upstream.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.anthropic import message_parameters
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.policy import Mode
from trueup.ask.shapes.openai import as_openai
from trueup.ask.shapes.parts import MessageError, refused
from trueup.gateway.config import Upstream
from trueup.gateway.protocols.chat import Chat
from trueup.gateway.protocols.messages import Messages
from trueup.gateway.protocols.protocol import Body, RequestParts, Speaking
from trueup.read.definitions import DefinitionError, definitions
from trueup.verdict.tool import Tool

# the code of a failure: an upstream's protocol has no equivalent for a part of the request
UNTRANSLATABLE = "untranslatable"
RESPONSES = "/v1/responses"
_CHAT, _MESSAGES = Chat(), Messages()
_CARRIED = frozenset({"model", "stream", "stream_options"})  # and what each protocol reads below
_MOST_NAMES = 50  # parts that were left out; a client may invent any number
_STOPS = 4  # OpenAI's limit
_MOST_TOKENS = 16_000  # for a reply of Anthropic's, which requires a limit, if the client sets none
_BLOCK = frozenset(
    "type text refusal image_url source id name input tool_use_id content title input_audio file image"
    " file_data file_url filename annotations logprobs".split()
)
_MESSAGE = frozenset(
    "role content tool_calls tool_call_id type id call_id arguments output status name_of_call refusal".split()
)
_USUAL = (None, False, "auto")  # values of parts that mean the same as leaving them out
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})
# Parts of a request that change what its reply is: without them it would be another request.
_NEEDED = frozenset(
    "functions function_call audio modalities web_search_options logprobs top_logprobs prediction"
    " previous_response_id conversation prompt background container mcp_servers".split()
)


class Translated(NamedTuple):
    """A request in another protocol, and the names of the parts without an equivalent."""

    body: Body
    left_out: tuple[str, ...] = ()


class _Wanted(msgspec.Struct):
    """The options that a client requests in addition to its messages."""

    tools: list[Tool] = []
    strict: bool = False  # a tool must be called exactly according to its schema
    choice: str = ""  # "any", "none", or empty: the model's own
    tool: str = ""  # the one to call
    parallel: bool = True
    limit: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] = []
    mode: Mode = "text"
    schema: dict[str, Any] | None = None
    name: str = "reply"
    user: str = ""
    known: frozenset[str] = frozenset()  # the parts of the body that were read


def target_of(protocol: Speaking, upstream: Upstream) -> Speaking:
    """The protocol to ask an upstream in: the client's own if the upstream supports it."""
    if upstream.protocol == protocol.speaks and (upstream.responses or protocol.path != RESPONSES):
        return protocol
    return _MESSAGES if upstream.protocol == "anthropic" else _CHAT


def instructed(request: Request, body: Body) -> Request:
    """A request with the instructions of a Responses body as a system message, where other protocols have them."""
    said = body.get("instructions")
    if not isinstance(said, str) or not said:
        return request
    return request.replace(messages=[{"role": "system", "content": said}, *request.messages])


def translated(body: Body, request: Request, asked: RequestParts, source: Speaking, target: Speaking) -> Translated:
    """The body for an upstream; `request` is the request of the contract's loop, or only the messages."""
    wanted = _READERS[source.path](body)
    needed = sorted(name for name in _NEEDED & body.keys() if body[name] not in (None, False, [], ["text"]))
    if needed:
        raise refused(needed[0], f"the protocol {target.speaks!r} of this upstream has no equivalent", "leave it out")
    left_out = [name for name, held in body.items() if held is not None and name not in wanted.known | _CARRIED]
    left_out += _unheard(request.messages)
    whole = _joined(request, wanted, asked)
    if target.speaks == "anthropic":
        new = _as_messages(whole, wanted, left_out)
    else:
        new = _as_chat(whole, wanted, left_out)
    return Translated(new, tuple(dict.fromkeys(map(_shown, left_out)))[:_MOST_NAMES])


def _joined(request: Request, wanted: _Wanted, asked: RequestParts) -> Request:
    """The loop's request with the client's options; the loop wins, as it does where nothing is translated."""
    names = {tool.name for tool in request.tools}
    tools = tuple(tool for tool in wanted.tools if tool.name in names) or tuple(wanted.tools)
    own = asked.own_format or request.mode == "text"
    must_call = bool(tools) and (wanted.choice == "any" or (request.must_call and not wanted.tool))
    return request.replace(
        model=request.model or asked.model,
        mode=wanted.mode if own else request.mode,
        schema=wanted.schema if own else request.schema,
        name=wanted.name if own else request.name,
        tools=tools,
        must_call=must_call,
        answer_tool=wanted.tool if tools and request.call_tools else "",
        call_tools=request.call_tools and wanted.choice != "none",
        temperature=wanted.temperature if request.temperature is None else request.temperature,
        max_tokens=wanted.limit if request.max_tokens is None else request.max_tokens,
        parameters={},
        without=request.without | {"nulls"},  # a null for an absent field would reach the client
    )


def _as_messages(request: Request, wanted: _Wanted, left_out: list[str]) -> Body:
    if wanted.strict:
        left_out.append("tools[].strict")
    if request.temperature is not None and request.temperature > 1:
        request = request.replace(temperature=1.0)
        left_out.append("temperature")
    if request.mode == "json_object":
        left_out.append("response_format")
    if request.max_tokens is None:
        request = request.replace(max_tokens=_most_tokens(request.model))
    new = message_parameters(request)
    if wanted.top_p is not None:
        new["top_p"] = wanted.top_p
    if wanted.stop:
        new["stop_sequences"] = wanted.stop
    if wanted.user:
        new["metadata"] = {"user_id": wanted.user}
    if not wanted.parallel and request.tools and request.call_tools:
        new["tool_choice"] = {"type": "auto", **new.get("tool_choice", {}), "disable_parallel_tool_use": True}
    return new


def _as_chat(request: Request, wanted: _Wanted, left_out: list[str]) -> Body:
    new = {"messages": as_openai(request.messages), **chat_parameters(request)}
    if wanted.top_p is not None:
        new["top_p"] = wanted.top_p
    if wanted.stop:
        new["stop"] = wanted.stop[:_STOPS]
        if len(wanted.stop) > _STOPS:
            left_out.append(f"stop_sequences[{_STOPS}:]")
    if wanted.user:
        new["user"] = wanted.user
    if not wanted.parallel and request.tools:
        new["parallel_tool_calls"] = False
    return new


def _most_tokens(model: str) -> int:
    from trueup.ask.prices import listed

    row = listed(model) if model else None
    return min(_MOST_TOKENS, (None if row is None else row.most_output) or 4096)


def _chat(body: Body) -> _Wanted:
    form = _part(body, "response_format")
    inner = _part(form, "json_schema")
    choice = body.get("tool_choice")
    stop = body.get("stop")
    return _Wanted(
        tools=_tools(body, ("function",)),
        strict=_strict(body),
        choice={"required": "any", "none": "none"}.get(choice, "") if isinstance(choice, str) else "",
        tool=_text(_part(_part(body, "tool_choice"), "function").get("name")),
        parallel=body.get("parallel_tool_calls") is not False,
        limit=_whole(body.get("max_completion_tokens")) or _whole(body.get("max_tokens")),
        temperature=_number(body.get("temperature")),
        top_p=_number(body.get("top_p")),
        stop=[stop] if isinstance(stop, str) else _texts(stop),
        **_format(form.get("type"), inner),
        user=_text(body.get("user")),
        known=frozenset(
            "messages tools tool_choice parallel_tool_calls max_tokens max_completion_tokens temperature top_p stop"
            " response_format user n".split()
        ),
    )


def _messages(body: Body) -> _Wanted:
    choice = _part(body, "tool_choice")
    form = _part(_part(body, "output_config"), "format") or _part(body, "output_format")
    more = {"output_config"} if _part(body, "output_config").keys() <= {"format"} else set()
    return _Wanted(
        tools=_tools(body, (None, "custom")),
        choice={"any": "any", "none": "none"}.get(_text(choice.get("type")), ""),
        tool=_text(choice.get("name")) if choice.get("type") == "tool" else "",
        parallel=choice.get("disable_parallel_tool_use") is not True,
        limit=_whole(body.get("max_tokens")),
        temperature=_number(body.get("temperature")),
        top_p=_number(body.get("top_p")),
        stop=_texts(body.get("stop_sequences")),
        **_format(form.get("type"), form),
        user=_text(_part(body, "metadata").get("user_id")),
        known=frozenset(
            "messages system tools tool_choice max_tokens temperature top_p stop_sequences metadata output_format".split()
        )
        | more,
    )


def _responses(body: Body) -> _Wanted:
    form = _part(_part(body, "text"), "format")
    choice = body.get("tool_choice")
    more = {"text"} if _part(body, "text").keys() <= {"format"} else set()
    return _Wanted(
        tools=_tools(body, ("function",)),
        strict=_strict(body),
        choice={"required": "any", "none": "none"}.get(choice, "") if isinstance(choice, str) else "",
        tool=_text(_part(body, "tool_choice").get("name")),
        parallel=body.get("parallel_tool_calls") is not False,
        limit=_whole(body.get("max_output_tokens")),
        temperature=_number(body.get("temperature")),
        top_p=_number(body.get("top_p")),
        **_format(form.get("type"), form),
        user=_text(body.get("user")),
        known=frozenset(
            "input instructions tools tool_choice parallel_tool_calls max_output_tokens temperature top_p user".split()
        )
        | more,
    )


_READERS = {"/v1/chat/completions": _chat, "/v1/messages": _messages, RESPONSES: _responses}


def _format(kind: Any, form: Mapping[str, Any]) -> dict[str, Any]:
    schema = form.get("schema")
    if kind == "json_schema" and isinstance(schema, dict):
        return {"mode": "json_schema", "schema": schema, "name": _text(form.get("name")) or "reply"}
    return {"mode": "json_object"} if kind == "json_object" else {}


def _tools(body: Body, kinds: tuple[str | None, ...]) -> list[Tool]:
    """The client's tools; one that its provider runs itself has no counterpart."""
    given = body.get("tools")
    if not isinstance(given, list):
        return []
    for at, tool in enumerate(given):
        kind = tool.get("type") if isinstance(tool, dict) else ""
        if kind not in kinds:
            raise refused(f"tools[{at}]", f"a tool of the type {kind!r} is run by its provider", "offer functions only")
    try:
        return definitions(given)
    except (DefinitionError, ValueError) as error:
        raise MessageError(str(error)) from None


def _strict(body: Body) -> bool:
    """Whether one of the client's tools is strict, which OpenAI writes in the tool or in its function."""
    given = body.get("tools")
    tools = [tool for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []
    return any(tool.get("strict") is True or _part(tool, "function").get("strict") is True for tool in tools)


def _unheard(messages: Iterable[Any]) -> list[str]:
    """Parts of messages that no other protocol can express."""
    found: list[str] = []
    for message in messages:
        if not isinstance(message, dict):
            continue
        if _text(message.get("type")) in _REASONING:
            found.append("reasoning")
        heard = _MESSAGE | {"name"} if message.get("type") == "function_call" else _MESSAGE
        found += [f"messages[].{name}" for name, held in message.items() if held is not None and name not in heard]
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if _text(block.get("type")) in _REASONING:
                found.append("reasoning")
            else:
                parts = {**block, "detail": block.get("detail") or _part(block, "image_url").get("detail")}
                found += [name for name, held in parts.items() if name not in _BLOCK and held not in _USUAL]
    return found


def _shown(name: str) -> str:
    """The name of a part in a form that a header can carry; clients choose names."""
    return name[:60] if name.isascii() and name.isprintable() else "?"


def _part(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    held = body.get(name)
    return held if isinstance(held, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) else None


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None
