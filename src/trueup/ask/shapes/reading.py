"""Reads messages of any provider into the neutral form: dicts of any family, pairs of a role and a text, a framework's objects.

Unknown parts raise a `MessageError` that names the message and the part. Reasoning is skipped, because no provider takes another's.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText, block_of, body_of
from trueup.ask.shapes.parts import File, Image, Media, refused
from trueup.read.messages import role_of
from trueup.read.objects import Row, record, rows, word
from trueup.read.openai_responses import ITEMS

_CALLED = frozenset({"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"})


def read_one(message: Any, at: int = 0) -> NeutralMessage:
    """One message.

    >>> read_one({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
    NeutralMessage(role='user', parts=(PlainText(text='Hi'),), at=0)
    """
    body = body_of(message)
    kind = word(body.get("type"))
    if "role" not in body and kind in ITEMS:
        return _item(body, kind, at)
    role = role_of(body)
    if not role:
        raise refused(f"messages[{at}]", f"a {type(message).__name__} without a known role", "give role and content")
    where = f"messages[{at}].{'parts' if body.get('parts') else 'content'}"
    parts = list(_content(body.get("parts") or body.get("content"), where))
    parts += [media_of(image, f"messages[{at}].images[{n}]") for n, image in enumerate(rows(body.get("images")))]
    if role == "tool" and not any(isinstance(part, Output) for part in parts):
        content = tuple(part for part in parts if isinstance(part, PlainText | Media))
        call_id = word(body.get("tool_call_id") or body.get("call_id") or body.get("toolCallId"))
        is_error = body.get("status") == "error" or bool(body.get("is_error"))
        return NeutralMessage(
            "tool", (Output(call_id, word(body.get("name") or body.get("tool_name")), content, is_error),), at
        )
    known = {part.id for part in parts if isinstance(part, CallPart)}
    calls = (
        _call(record(call), f"messages[{at}].tool_calls[{n}]") for n, call in enumerate(rows(body.get("tool_calls")))
    )
    parts += [call for call in calls if not call.id or call.id not in known]
    if role == "assistant":
        parts = _joined(parts)
    if role == "tool" and not all(isinstance(part, Output) for part in parts):
        role = "user"  # outputs, and the user's own parts next to them
    return NeutralMessage(role, tuple(parts), at)


def _joined(parts: list[Part]) -> list[Part]:
    """The parts with consecutive texts joined, because a model's text arrives in pieces that may end inside a word."""
    found: list[Part] = []
    for part in parts:
        before = found[-1] if found else None
        if isinstance(part, PlainText) and isinstance(before, PlainText):
            found[-1] = PlainText(before.text + part.text)
        else:
            found.append(part)
    return found


def _item(body: Row, kind: str, at: int) -> NeutralMessage:
    """An item of the Responses API that is not a message. Reasoning and calls that the provider ran itself are skipped."""
    where = f"messages[{at}]"
    if kind not in _CALLED:
        return NeutralMessage("assistant", (), at)
    call_id = word(body.get("call_id") or body.get("id"))
    if kind.endswith("_output"):
        return NeutralMessage(
            "tool", (Output(call_id, "", tuple(_heard(body.get("output"), f"{where}.output")), is_error=False),), at
        )
    given = {"input": body.get("input")} if kind == "custom_tool_call" else body.get("arguments")
    return NeutralMessage("assistant", (CallPart(word(body.get("name")), _arguments(given, where), call_id, {}),), at)


def _content(content: Any, where: str) -> Iterator[Part]:
    if content is None:
        return
    if isinstance(content, str):
        if content:
            yield PlainText(content)
        return
    for n, item in enumerate(rows(content)):
        yield from _part(item, f"{where}[{n}]")


def _heard(content: Any, where: str) -> Iterator[PlainText | Media]:
    """The parts of an output: text and media."""
    for part in _content(content, where):
        if isinstance(part, PlainText | Media):
            yield part


def _part(item: Any, where: str) -> Iterator[Part]:
    if isinstance(item, Media):
        yield item
        return
    if isinstance(item, str):
        yield PlainText(item)
        return
    block = block_of(item)
    kind = word(block.get("type"))
    reader = _READERS.get(kind) if kind else next((_KEYED[name] for name in _KEYED if name in block), None)
    if reader is None:
        told = (
            f"a part of the type {kind!r}" if kind else f"a part with the keys {', '.join(map(str, block)) or 'none'}"
        )
        raise refused(
            where, f"{told} is not known", "give text, trueup.Image(…), trueup.File(…), or a part in OpenAI's form"
        )
    found = reader(block, where)
    if found is not None:
        yield found


def _call(item: Row, where: str) -> CallPart:
    """A call in OpenAI's form, or in the flat form that frameworks write."""
    function = record(item.get("function")) or item
    given: Any = next((function[name] for name in ("arguments", "args", "input") if function.get(name) is not None), {})
    own = ("id", "type", "index", "function", "name", "args", "arguments", "input")
    more = {name: value for name, value in item.items() if name not in own and value is not None}
    call_id = word(item.get("id") or item.get("call_id") or item.get("toolCallId"))
    return CallPart(word(function.get("name") or item.get("toolName")), _arguments(given, where), call_id, more)


def _arguments(given: Any, where: str) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given) if given.strip() else {}
        except msgspec.DecodeError:
            raise refused(
                where, "the arguments of the call are not valid JSON", "leave this call and its result out"
            ) from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise refused(where, "the arguments of the call are not an object", "leave this call and its result out")
    return given


def media_from(url: str, where: str, kind: type[Media] = Image, media_type: str = "", name: str = "") -> Media:
    """The part for a URL."""
    if not url.startswith(("data:", "http://", "https://", "gs://", "s3://")):
        raise refused(where, f"{url[:40]!r} is not a URL", "give an https: or data: URL, or trueup.Image(…)")
    try:
        return kind(url, media_type or None, name=name)
    except ValueError as error:
        raise refused(where, str(error), "give trueup.Image(…) or trueup.File(…)") from None


def media_of(data: Any, where: str, media_type: str = "", name: str = "") -> Media:
    """The part for bytes or base64."""
    try:
        held = data if isinstance(data, bytes) else base64.b64decode(word(data), validate=True)
        return File(held, media_type or None, name=name)
    except (ValueError, binascii.Error) as error:
        raise refused(where, str(error), "give trueup.Image(…) or trueup.File(…)") from None


def _text(block: Row, _: str) -> Part | None:
    found = block.get("text", block.get("refusal"))
    if block.get("thought") or not isinstance(found, str) or not found:
        return None
    return PlainText(found)


def _nothing(_: Row, __: str) -> None:
    """Nothing, for reasoning and marks that only their own provider takes."""


def _image_url(block: Row, where: str) -> Part:
    held = block.get("image_url")
    if held is None and block.get("file_id"):
        raise refused(where, "it refers to a file that was uploaded to OpenAI", "give trueup.Image(…)")
    return media_from(word(held) or word(record(held).get("url")), where)


def _openai_file(block: Row, where: str) -> Part:
    held = record(block.get("file")) or block
    name = word(held.get("filename") or held.get("name"))
    data = word(held.get("file_data")) or word(held.get("file_url")) or word(held.get("url"))
    if data.startswith(("data:", "http")):
        return media_from(data, where, File, word(held.get("mime_type")), name)
    inline = data or held.get("base64") or held.get("data")
    if not inline:
        raise refused(where, "it refers to a file that was uploaded to a provider", "give trueup.File(…)")
    return media_of(inline, where, word(held.get("mime_type")), name)


def _audio(block: Row, where: str) -> Part:
    held = record(block.get("input_audio")) or block
    form = word(held.get("format")) or "wav"
    return media_of(held.get("data"), where, "audio/mpeg" if form == "mp3" else f"audio/{form}")


def _sourced(block: Row, where: str) -> Part:
    """An image or a document in Anthropic's form, an image in LangChain's, or a document in a tool's output in Cohere's."""
    if "document" in block:
        said = record(block["document"]).get("data", block["document"])
        return PlainText(said if isinstance(said, str) else msgspec.json.encode(said, enc_hook=str).decode())
    source = record(block.get("source")) or block
    media_type = word(source.get("media_type") or source.get("mime_type"))
    name = word(block.get("title") or source.get("filename"))
    if source.get("type") == "text":
        return File(word(source.get("data")).encode(), "text/plain", name=name)
    url = word(source.get("url"))
    if url:
        return media_from(url, where, Image if block.get("type") == "image" else File, media_type, name)
    data = source.get("data") or source.get("base64")
    if not data:
        raise refused(
            where, "it refers to a file that was uploaded to a provider", "give trueup.Image(…) or trueup.File(…)"
        )
    return media_of(data, where, media_type, name)


def _tool_use(block: Row, where: str) -> Part:
    return CallPart(word(block.get("name")), _arguments(block.get("input"), where), word(block.get("id")), {})


def _tool_result(block: Row, where: str) -> Part:
    content = tuple(_heard(block.get("content"), f"{where}.content"))
    return Output(word(block.get("tool_use_id")), "", content, bool(block.get("is_error")))


def _inline(block: Row, where: str) -> Part:
    held = record(block.get("inlineData") or block.get("inline_data"))
    return media_of(held.get("data"), where, word(held.get("mimeType") or held.get("mime_type")))


def _file_data(block: Row, where: str) -> Part:
    held = record(block.get("fileData") or block.get("file_data"))
    media_type = word(held.get("mimeType") or held.get("mime_type"))
    return media_from(word(held.get("fileUri") or held.get("file_uri")), where, File, media_type)


def _function_call(block: Row, where: str) -> Part:
    held = record(block.get("functionCall") or block.get("function_call"))
    signature = block.get("thoughtSignature") or block.get("thought_signature")
    more = {"thought_signature": signature} if signature else {}
    return CallPart(word(held.get("name")), _arguments(held.get("args"), where), word(held.get("id")), more)


def _function_response(block: Row, _: str) -> Part:
    held = record(block.get("functionResponse") or block.get("function_response"))
    answer = held.get("response")
    is_error = isinstance(answer, dict) and "error" in answer and "output" not in answer
    said = answer
    if isinstance(answer, dict) and len(answer) == 1 and next(iter(answer)) in ("output", "error", "result"):
        said = next(iter(answer.values()))
    text = said if isinstance(said, str) else msgspec.json.encode(said, enc_hook=str).decode()
    return Output(word(held.get("id")), word(held.get("name")), (PlainText(text),), is_error)


def _bedrock_media(block: Row, where: str) -> Part:
    kind = next(name for name in ("image", "document", "video") if name in block)
    held = record(block[kind])
    source, form = record(held.get("source")), word(held.get("format"))
    name = word(held.get("name"))
    media_type = {"image": f"image/{form}", "video": f"video/{form}"}.get(kind, "")
    location = word(record(source.get("s3Location")).get("uri"))
    if location:
        return media_from(location, where, File, media_type, name)
    return media_of(source.get("bytes"), where, media_type, name if "." in name or not form else f"{name}.{form}")


def _bedrock_use(block: Row, where: str) -> Part:
    held = record(block.get("toolUse"))
    return CallPart(word(held.get("name")), _arguments(held.get("input"), where), word(held.get("toolUseId")), {})


def _bedrock_result(block: Row, where: str) -> Part:
    held = record(block.get("toolResult"))
    content: list[PlainText | Media] = []
    for n, item in enumerate(rows(held.get("content"))):
        part = record(item)
        if "json" in part:
            content.append(PlainText(msgspec.json.encode(part["json"], enc_hook=str).decode()))
        else:
            content += _heard([item], f"{where}.content[{n}]")
    return Output(word(held.get("toolUseId")), "", tuple(content), held.get("status") == "error")


_Reader = Callable[[Row, str], Part | None]
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), _text),
    **dict.fromkeys(("image_url", "input_image"), _image_url),
    **dict.fromkeys(("file", "input_file"), _openai_file),
    **dict.fromkeys(("image", "document"), _sourced),
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning", "reasoning_content", "non_standard"), _nothing),
    "input_audio": _audio,
    "tool_use": _tool_use,
    "tool_call": lambda block, where: _call(block, where),
    "tool_result": _tool_result,
}
_KEYED: dict[str, _Reader] = {
    **dict.fromkeys(("inlineData", "inline_data"), _inline),
    **dict.fromkeys(("fileData", "file_data"), _file_data),
    **dict.fromkeys(("functionCall", "function_call"), _function_call),
    **dict.fromkeys(("functionResponse", "function_response"), _function_response),
    **dict.fromkeys(("image", "document", "video"), _bedrock_media),
    **dict.fromkeys(("reasoningContent", "cachePoint", "guardContent"), _nothing),
    **dict.fromkeys(("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"), _nothing),
    "toolUse": _bedrock_use,
    "toolResult": _bedrock_result,
    "text": _text,
}
