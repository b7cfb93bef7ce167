"""Lists of messages, and single messages: the model's words since the user's last message, and the conversation before.

The list may have messages of any provider. Tool outputs are matched to their calls, which are then marked as answered; a call
that a later message repeats with its output is one call. The text of the reply is the text after the last output, or all of
it if none follows.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from trueup.read import bedrock, gemini, langchain, openai_chat, vercel
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, record, rows, word
from trueup.read.reading import Reading, silent
from trueup.read.waiting import WaitingCalls
from trueup.verdict.reply import Turn

Role = Literal["assistant", "user", "tool", "system", ""]
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("assistant", "ai", "aimessage", "aimessagechunk", "model", "chatbot", "bot"), "assistant"),
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk"), "user"),
    **dict.fromkeys(("tool", "function", "toolmessage", "functionmessage", "ipython"), "tool"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
}
_ENDINGS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_DOCUMENTS = frozenset(("document", "search_result"))  # blocks of Anthropic with a text to cite
_IN_TEXT = frozenset(("text", "content"))  # a document's source that is text, and not a file
_RESULTS = frozenset(("tool_result", "tool-result"))


def role_of(message: Row) -> Role:
    """The speaker of a message, whatever the framework calls it.

    >>> role_of({"role": "model"}), role_of({"type": "human", "content": "hi"}), role_of({"a": 1})
    ('assistant', 'user', '')
    """
    said = word(message.get("role"))
    if not said:
        said = word(message.get("type"))
        if said == "function" and "function" in message:
            return ""  # a tool call, not a message
        if said == "constructor":
            said = word(langchain.unwrapped(message).get("type"))
    role = _ROLES.get(said.lower(), "")
    plain = type(message.get("content")) is str and "parts" not in message  # nearly all messages of a user
    if role == "user" and not plain and _outputs(message):
        return "tool"
    return role


def outputs_in(message: Row) -> list[Row]:
    """The outputs in a message of the role `tool`: its blocks, or the message itself."""
    return _outputs(message) or [message]


def _outputs(message: Row) -> list[Row]:
    """The tool outputs in a message of a role that may carry them."""
    found: list[Row] = []
    for item in rows(message.get("content")) or rows(message.get("parts")):
        block = record(item)
        if word(block.get("type")) in _RESULTS:
            found.append(block)
        inner = block.get("toolResult") or block.get("functionResponse") or block.get("function_response")
        if inner is not None:
            found.append(record(inner))
    return found


def fill_message(draft: ReplyDraft, message: Row) -> str:
    """Read one assistant message of any family into a draft; return the family's name."""
    kind = message.get("type")
    if kind == "constructor" or (isinstance(kind, str) and kind in langchain.AI):
        langchain.fill_message(draft, langchain.unwrapped(message))
        return "langchain"
    parts = message.get("parts")
    if isinstance(parts, list | tuple) and not any("type" in record(part) for part in parts[:1]):
        gemini.fill_parts(draft, parts)
        return "gemini"
    if parts is not None or message.get("toolInvocations") is not None:
        vercel.fill_message(draft, message)
        return "vercel"
    content = message.get("content")
    if isinstance(content, list | tuple) and content:
        first = record(content[0])
        if "type" not in first and not isinstance(content[0], str):
            bedrock.fill_blocks(draft, content)
            return "bedrock"
        openai_chat.fill_message(draft, message)
        return "anthropic" if any(record(b).get("type") == "tool_use" for b in content) else "openai"
    openai_chat.fill_message(draft, message)
    return "openai"


def read(body: Row, raw: Any) -> Reading:
    """Read one separate assistant message."""
    draft = ReplyDraft()
    provider = fill_message(draft, body)
    ending = next((body[name] for name in _ENDINGS if body.get(name)), None)
    return Reading(draft.reply(ending, {}, body.get("model"), provider, raw))


class PriorConversation(NamedTuple):
    """The conversation before a reply: the messages, the user's last words, and whether the model has not spoken yet."""

    messages: list[Any]
    question: str
    first: bool


def before_reply(items: Sequence[Any]) -> PriorConversation:
    """The conversation before the reply, which begins after the user's last message.

    >>> before_reply([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}])[1:]
    ('Why?', True)
    """
    return in_history(items[: _start(items)])


def in_history(items: Sequence[Any]) -> PriorConversation:
    """The same for messages that all come before the reply."""
    spoken = any(role_of(record(item)) == "assistant" for item in items)
    return PriorConversation(list(items), question_in(items), not spoken)


def question_in(items: Sequence[Any]) -> str:
    """The user's last words, whatever the shape of the message; empty if the user said nothing.

    >>> question_in([{"role": "user", "content": [{"type": "text", "text": "Why?"}]}, {"role": "assistant"}])
    'Why?'
    """
    asked = _start(items)
    if not asked:
        return ""
    message = record(items[asked - 1])
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = rows(content) or rows(message.get("parts"))
    said = (word(part if isinstance(part, str) else record(part).get("text")) for part in parts)
    return "\n\n".join(filter(None, said))


def text_in(message: Row) -> str:
    """The whole text of one message, including tool outputs; anything else is written as JSON.

    >>> text_in({"role": "tool", "content": [{"type": "tool_result", "content": {"city": "Oslo"}}]})
    '{"city":"Oslo"}'
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    outputs = _outputs(message)
    if outputs:
        return "\n\n".join(filter(None, map(_output_text, outputs)))
    if isinstance(content, dict):
        return _block_text(content) or _written(content)
    parts = rows(content) or rows(message.get("parts"))
    said = (part if isinstance(part, str) else _block_text(record(part)) for part in parts)
    return "\n\n".join(filter(None, said)) or ("" if content is None or parts else _written(content))


def _block_text(block: Row) -> str:
    """The text of one block of a message: its own, or that of a document or a search result."""
    text = word(block.get("text"))
    if text or block.get("type") not in _DOCUMENTS:
        return text
    source = record(block.get("source"))
    held = source.get("content") or source.get("data") if source.get("type") in _IN_TEXT else block.get("content")
    if isinstance(held, str):
        return held
    return "\n".join(filter(None, (word(record(part).get("text")) for part in rows(held))))


def _output_text(output: Row) -> str:
    """The text of one tool output."""
    held = next(
        (output[name] for name in ("content", "output", "response", "result") if output.get(name) is not None), None
    )
    if isinstance(held, list | tuple):
        pieces = (piece if isinstance(piece, str) else record(piece) for piece in held)
        return "\n".join(piece if isinstance(piece, str) else _block_text(piece) or _written(piece) for piece in pieces)
    return held if isinstance(held, str) else "" if held is None else _written(held)


def _written(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return str(value)


def _start(items: Sequence[Any]) -> int:
    """Where the reply begins: after the user's last message."""
    at = len(items)
    while at and role_of(record(items[at - 1])) != "user":
        at -= 1
    return at


def read_many(items: Any, raw: Any) -> Reading:
    """Read the model's words since the user's last message."""
    spoken = [record(item) for item in items[_start(items) :]]
    roles = [role_of(message) for message in spoken]
    if "assistant" not in roles:
        return silent(raw)
    waiting = WaitingCalls()
    turns: list[Turn] = []
    reasoning: list[str] = []
    refusals: list[str] = []
    provider = ""
    draft = ReplyDraft()
    for message, role in zip(spoken, roles, strict=True):
        if role == "assistant":
            draft = ReplyDraft()
            provider = fill_message(draft, message)
            fresh = waiting.add(draft.calls)
            turns.append(_without(draft.turn(), len(draft.calls) - len(fresh)))
            reasoning += [draft.reasoning] if draft.thinks else []
            refusals.append(draft.refusal)
        elif role == "tool":
            outputs = outputs_in(message)
            for output in outputs:
                waiting.answer(output)
            turns.append(Turn("tool", outputs=len(outputs)))
    last = spoken[-1].get("finish_reason") or spoken[-1].get("stop_reason")
    reply = draft.reply(last, {}, "", provider, raw)
    calls = tuple(waiting.calls)
    open_calls = any(not call.answered for call in calls)
    finish = "stop" if reply.finish == "tool" and not open_calls else reply.finish
    return Reading(
        msgspec.structs.replace(
            reply,
            text=_text(turns),
            calls=calls,
            reasoning="\n\n".join(reasoning),
            refusal="".join(refusals),
            finish="tool" if open_calls and finish in {"stop", "unknown"} else finish,
            turns=None if len(turns) == 1 and not draft.outputs else tuple(turns),
        )
    )


def _without(turn: Turn, again: int) -> Turn:
    """A turn without the calls that an earlier one has made."""
    return msgspec.structs.replace(turn, calls=turn.calls - again) if again else turn


def _text(turns: list[Turn]) -> str:
    """The text after the last tool output, or all of it."""
    last = max((i for i, turn in enumerate(turns) if turn.role == "tool"), default=-1)
    said = [turn.text for turn in turns[last + 1 :] if turn.text] or [turn.text for turn in turns if turn.text]
    return "\n\n".join(said)
