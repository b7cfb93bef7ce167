"""Messages in Gemini's form, as the google-genai SDK takes them: contents with parts, in snake_case.

Takes messages of any family; returns the system instruction and the contents. Thought signatures stay on their parts. A call without a
signature, which another model made, gets the value that the documentation gives for such calls, because newer models refuse a
conversation if the first call of a turn has no signature.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import is_system, walk
from trueup.read.messages import role_of
from trueup.read.objects import Row, record, rows, word

UNSIGNED = b"skip_thought_signature_validator"  # ai.google.dev/gemini-api/docs/thought-signatures
_SNAKE = {
    "functionCall": "function_call", "functionResponse": "function_response", "inlineData": "inline_data",
    "fileData": "file_data", "thoughtSignature": "thought_signature", "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result", "videoMetadata": "video_metadata",
}  # fmt: skip


def as_gemini(messages: Sequence[Any]) -> tuple[str, list[Any]]:
    """The system instruction, and the contents.

    >>> as_gemini([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    ('Be kind.', [{'role': 'user', 'parts': [{'text': 'Hi'}]}])
    """
    system: list[str] = []
    out: list[Any] = []
    for message, said in walk(messages, "gemini", unless=is_system):
        if said is None:
            out.append(_snake(message))
        elif said.role == "system":
            system += [said.text] if said.text else []
        else:
            parts = _parts(said)
            if parts:
                out.append({"role": "model" if said.role == "assistant" else "user", "parts": parts})
    return "\n\n".join(system), out


def _snake(message: Row) -> Row:
    """Content with the SDK's names, and signatures as bytes."""
    parts = _signed([_own(record(part)) for part in rows(message["parts"])])
    role = "model" if role_of(message) == "assistant" else word(message.get("role")) or "user"
    return {**message, "role": role, "parts": parts}


def _own(part: Row) -> Row:
    found = {_SNAKE.get(name, name): value for name, value in part.items() if value is not None}
    if isinstance(found.get("thought_signature"), str):
        found["thought_signature"] = signature_bytes(found["thought_signature"])
    return found


def signature_bytes(signature: Any) -> bytes:
    """A signature as bytes, as in the SDK; the REST API writes it in base64."""
    if isinstance(signature, bytes):
        return signature
    try:
        return base64.b64decode(word(signature), validate=True)
    except (binascii.Error, ValueError):
        return word(signature).encode()


def _parts(said: NeutralMessage) -> list[Row]:
    return _signed([_part(part, f"messages[{said.at}].content[{n}]") for n, part in enumerate(said.parts)])


def _signed(parts: list[Row]) -> list[Row]:
    """The parts with a signature on the first call, which counts for all calls of a turn."""
    at = next((n for n, part in enumerate(parts) if "function_call" in part), None)
    if at is not None and not any(part.get("thought_signature") for part in parts if "function_call" in part):
        parts[at] = {**parts[at], "thought_signature": UNSIGNED}
    return parts


def _part(part: Part, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"text": part.text}
    if isinstance(part, CallPart):
        return _call(part)
    if isinstance(part, Output):
        return _response(part, where)
    if part.data is not None:
        return {"inline_data": {"mime_type": part.media_type, "data": part.data}}
    if not part.media_type:
        raise refused(where, f"Gemini needs the media type of {part!r}", "give media_type, such as 'image/png'")
    return {"file_data": {"mime_type": part.media_type, "file_uri": part.url}}


def _call(call: CallPart) -> Row:
    made = {"name": call.name, "args": call.args, **({"id": call.id} if call.id else {})}
    google = record(record(call.more.get("extra_content")).get("google"))  # as in Google's own OpenAI endpoint
    beside = record(call.more.get("provider_specific_fields"))  # as in LiteLLM
    signature = call.more.get("thought_signature") or google.get("thought_signature") or beside.get("thought_signature")
    return {"function_call": made, **({"thought_signature": signature_bytes(signature)} if signature else {})}


def _response(output: Output, where: str) -> Row:
    if not output.name:
        raise refused(
            where, "Gemini needs the name of the function for this result, and no earlier call has its id",
            "include the message with the call, or add a `name` next to `tool_call_id`",
        )  # fmt: skip
    if any(isinstance(part, Media) for part in output.content):
        raise refused(where, "a tool's output contains an image or a file", "put it into a user message")
    answer = {"name": output.name, "response": {"error" if output.is_error else "output": output.text}}
    return {"function_response": {**answer, **({"id": output.id} if output.id else {})}}
