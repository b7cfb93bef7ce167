"""Messages in one neutral form, with a role and parts; and the family of providers whose form a message has.

`kept` returns whether a message is already in a family's own shape; such messages are passed on unchanged. `reading` makes the neutral form.
"""

from typing import Any, Literal, NamedTuple

from trueup.ask.shapes.parts import Media
from trueup.read.objects import Row, record, rows, word
from trueup.read.openai_responses import ITEMS

Family = Literal[
    "shared",
    "keyed",
    "mistral",
    "cohere",
    "neutral",
    "openai",
    "anthropic",
    "gemini",
    "bedrock",
    "ollama",
    "responses",
    "langchain",
    "unknown",
]


class PlainText(NamedTuple):
    """Text in a message."""

    text: str


class CallPart(NamedTuple):
    """A tool call; `more` has the members that the provider added to it, such as a signature."""

    name: str
    args: dict[str, Any]
    id: str
    more: Row


class Output(NamedTuple):
    """The output of a call."""

    id: str
    name: str
    content: "tuple[PlainText | Media, ...]"
    is_error: bool

    @property
    def text(self) -> str:
        """The output as text."""
        return "\n\n".join(part.text for part in self.content if isinstance(part, PlainText))


Part = PlainText | Media | CallPart | Output


class NeutralMessage(NamedTuple):
    """One message: its role, its parts, and its place in the list."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[Part, ...]
    at: int

    @property
    def text(self) -> str:
        """All text of the message."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, PlainText))


_TYPED: dict[str, Family] = {
    **dict.fromkeys(("image_url", "input_audio", "file", "refusal", "video_url"), "openai"),
    **dict.fromkeys(("tool_use", "tool_result", "thinking", "redacted_thinking", "document"), "anthropic"),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file"), "responses"),
    **dict.fromkeys(("tool_call", "non_standard", "reasoning"), "langchain"),
    "text": "shared",
}
# Reasoning that providers require next to calls, and may refuse in messages without calls.
WITH_CALLS = ("reasoning_content", "reasoning")
_GEMINI = frozenset(
    "inlineData inline_data fileData file_data functionCall function_call functionResponse function_response"
    " executableCode executable_code codeExecutionResult code_execution_result".split()
)
_MEMBERS: dict[str, Family] = {"images": "ollama", "thinking": "ollama", "tool_plan": "cohere", "citations": "cohere"}
_BEDROCK = frozenset("image document video toolUse toolResult reasoningContent cachePoint guardContent".split())


def family_of(part: Any) -> Family:
    """The family that a part of a message's content belongs to. Text that several families write alike is `shared` with a type, `keyed` without."""
    if isinstance(part, Media):
        return "neutral"
    if isinstance(part, str):
        return "shared"
    block = block_of(part)
    kind = word(block.get("type"))
    if kind == "document" and "document" in block:
        return "cohere"
    if kind in ("image", "audio"):
        return "anthropic" if "source" in block else "langchain"
    if kind == "file" and "file" not in block:
        return "langchain"
    if kind == "thinking" and "signature" not in block:
        return "mistral" if isinstance(block.get("thinking"), list) else "cohere"  # Anthropic's own thinking is signed
    if kind:
        return _TYPED.get(kind, "unknown")
    if not _BEDROCK.isdisjoint(block):
        return "bedrock"
    if not _GEMINI.isdisjoint(block) or "thought" in block:
        return "gemini"
    return "keyed" if "text" in block else "unknown"


def block_of(part: Any) -> Row:
    """A part as a dict, without the empty members that an SDK writes."""
    return {name: held for name, held in record(part).items() if held is not None}


def body_of(message: Any) -> Row:
    """A message as a dict. A text is a user message; a pair is a role and its text."""
    if isinstance(message, str):
        return {"role": "user", "content": message}
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        return {"role": message[0], "content": message[1]}
    return record(message)


def kept(message: Any, own: Family, *more: Family) -> bool:
    """Whether a message is in the shape of one of these families: a dict without parts of other families."""
    if type(message) is not dict:
        return False
    families = {own, "unknown", *more, "keyed" if own in ("gemini", "bedrock") else "shared"}
    if "parts" in message or own == "gemini":
        return "parts" in message and own == "gemini" and all(family_of(p) in families for p in rows(message["parts"]))
    if "role" not in message:
        return own == "responses" and message.get("type") in ITEMS
    if ("tool_calls" in message or message["role"] == "tool") and not ("openai" in families and _is_matched(message)):
        return False
    if any(name in message and family not in families for name, family in _MEMBERS.items()):
        return False
    content = message.get("content")
    return content is None or isinstance(content, str) or all(family_of(part) in families for part in rows(content))


def _is_matched(message: Row) -> bool:
    """Whether calls and outputs have ids, and arguments are text, as OpenAI requires. Ollama matches them by order, and writes objects."""
    if message["role"] == "tool" and not message.get("tool_call_id"):
        return False
    calls = map(record, rows(message.get("tool_calls")))
    return all(call.get("id") and not isinstance(record(call.get("function")).get("arguments"), dict) for call in calls)
