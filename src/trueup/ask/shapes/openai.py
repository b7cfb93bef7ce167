"""Messages in OpenAI's chat completions form, which most servers support.

Takes messages of any family; OpenAI's own are returned unchanged. A text file is sent as text, a PDF as a file. Audio and
other files that do not fit this form raise an error.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.ids import ANY
from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText, body_of
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.reading import read_one
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row, rows
from trueup.verdict.codec import written

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3"}


def as_openai(messages: Sequence[Any]) -> list[Any]:
    """The messages of a chat completion.

    >>> as_openai([{"role": "model", "parts": [{"text": "Hi"}]}])
    [{'role': 'assistant', 'content': 'Hi'}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "openai", ids=ANY):
        out += [message] if said is None else written_as(said)
    return out


def plain(messages: Sequence[Any]) -> list[Any]:
    """The messages with trueup's images and files in OpenAI's form, and everything else unchanged: for any callable."""
    return [
        written_as(read_one(message, at))[0] if _has_media(message) else message for at, message in enumerate(messages)
    ]


def _has_media(message: Any) -> bool:
    if type(message) is dict and type(message.get("content")) is str:  # the usual case
        return False
    return any(isinstance(part, Media) for part in _given(message))


def _given(message: Any) -> Sequence[Any]:
    """The parts of a message, or of a pair of a role and its content."""
    pair = isinstance(message, tuple) and len(message) == 2
    return rows(body_of(message).get("content")) if pair or type(message) is dict else ()


def as_texts(messages: Sequence[Any], who: str) -> list[Any]:
    """The messages of a chat with every content as text, for a model that reads only text; `who` is the model's name.

    >>> as_texts([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "this model")
    [{'role': 'user', 'content': 'Hi'}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "openai", unless=lambda message: bool(parts_of(message)), ids=ANY):
        if said is None:
            out.append(message)
            continue
        for n, part in enumerate(said.parts):
            if isinstance(part, Media) and (part.kind != "text" or part.data is None):
                raise refused(f"messages[{said.at}].content[{n}]", f"{who} does not accept {part!r}", "give its text")
        texts = (PlainText(text_of(part)) if isinstance(part, Media) else part for part in said.parts)
        out += written_as(said._replace(parts=tuple(texts)))
    return out


def parts_of(message: Any) -> Sequence[Any]:
    """The items of a message's content; empty if the content is a text."""
    content = message.get("content") if type(message) is dict else None
    return rows(content) if isinstance(content, list | tuple) else ()


def written_as(said: NeutralMessage) -> list[Row]:
    """A message as messages in OpenAI's form; each output becomes a separate message."""
    where = f"messages[{said.at}]"
    outputs = [part for part in said.parts if isinstance(part, Output)]
    found: list[Row] = [_output(part, where) for part in outputs]
    rest = [part for part in said.parts if not isinstance(part, Output)]
    calls = [part for part in rest if isinstance(part, CallPart)]
    if not rest and outputs:
        return found
    content = content_of([part for part in rest if not isinstance(part, CallPart)], where)
    message: Row = {"role": said.role, "content": content or (None if calls else "")}
    if calls:
        message["tool_calls"] = [call_as(call) for call in calls]
    return [*found, message]


def content_of(parts: Sequence[Part], where: str) -> Any:
    """The content of a message; a text if all of its parts are text."""
    if all(isinstance(part, PlainText) for part in parts):
        return "\n\n".join(part.text for part in parts if isinstance(part, PlainText))
    return [_block(part, f"{where}.content[{n}]") for n, part in enumerate(parts)]


def call_as(call: CallPart) -> Row:
    """A call in OpenAI's form; its additional members are kept."""
    function = {"name": call.name, "arguments": written(call.args).decode()}
    more = {name: value for name, value in call.more.items() if name != "thought_signature"}
    return {"id": call.id, "type": "function", "function": function, **more}


def _output(output: Output, where: str) -> Row:
    seen = next((part for part in output.content if isinstance(part, Media)), None)
    if seen is not None:
        raise refused(
            where, f"a tool's output contains {seen!r}, and OpenAI takes only text there", "put it into a user message"
        )
    return {"role": "tool", "tool_call_id": output.id, "content": output.text}


def _block(part: Part, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"type": "text", "text": part.text}
    assert isinstance(part, Media)
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": part.data_url}}
    if part.kind == "text" and part.data is not None:
        return {"type": "text", "text": text_of(part)}
    if part.media_type in _AUDIO and part.data is not None:
        return {"type": "input_audio", "input_audio": {"data": part.base64, "format": _AUDIO[part.media_type]}}
    if part.data is not None and part.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": part.name or "file.pdf", "file_data": part.data_url}}
    raise refused(
        where, f"a chat completion does not accept {part!r}", "give an image, a PDF as bytes, a text, WAV or MP3"
    )


def text_of(part: Media) -> str:
    """A text file as text, after its name."""
    said = (part.data or b"").decode("utf-8", "replace")
    return f"{part.name}:\n\n{said}" if part.name else said
