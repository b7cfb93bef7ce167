"""Lists of messages, and one message alone: what the model said since the user last spoke.

Messages of all providers may stand in the list. Tool outputs are matched to their calls, so that a call that was
answered says so. The text of the reply is what was said after the last output, or all of it where nothing was.
"""

from collections import deque
from typing import Any, Literal

import msgspec

from trueup.read import bedrock, gemini, langchain, openai_chat, vercel
from trueup.read.draft import Draft
from trueup.read.objects import Row, record, rows, word
from trueup.read.reading import Reading, silent
from trueup.verdict.reply import ToolCall, Turn

Role = Literal["assistant", "user", "tool", "system", ""]
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("assistant", "ai", "aimessage", "aimessagechunk", "model", "chatbot", "bot"), "assistant"),
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk"), "user"),
    **dict.fromkeys(("tool", "function", "toolmessage", "functionmessage", "ipython"), "tool"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
}
_ANSWERS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id")
_ENDINGS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_RESULTS = frozenset(("tool_result", "tool-result"))


def role_of(message: Row) -> Role:
    """Who speaks in a message, whatever the framework calls it.

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
    if role == "user" and _outputs(message):
        return "tool"
    return role


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


def fill_message(draft: Draft, message: Row) -> str:
    """Read one assistant message of any family into a draft; the family's name leaves."""
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
    """Read one assistant message that stands alone."""
    draft = Draft()
    provider = fill_message(draft, body)
    ending = next((body[name] for name in _ENDINGS if body.get(name)), None)
    return Reading(draft.reply(ending, {}, body.get("model"), provider, raw))


def read_many(items: Any, raw: Any) -> Reading:
    """Read what the model said since the user last spoke."""
    spoken = [record(item) for item in items]
    roles = [role_of(message) for message in spoken]
    start = len(roles) - next((i for i, role in enumerate(reversed(roles)) if role == "user"), len(roles))
    if "assistant" not in roles[start:]:
        return silent(raw)
    waiting = _Waiting()
    turns: list[Turn] = []
    reasoning: list[str] = []
    refusals: list[str] = []
    provider = ""
    draft = Draft()
    for message, role in zip(spoken[start:], roles[start:], strict=True):
        if role == "assistant":
            draft = Draft()
            provider = fill_message(draft, message)
            for call in draft.calls:
                waiting.add(call)
            turns.append(draft.turn())
            reasoning += [draft.reasoning] if draft.thinks else []
            refusals.append(draft.refusal)
        elif role == "tool":
            outputs = _outputs(message)
            for output in outputs or [message]:
                waiting.answer(output)
            turns.append(Turn("tool", outputs=len(outputs) or 1))
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


def _text(turns: list[Turn]) -> str:
    """What was said after the last output of a tool message, or all that was said."""
    last = max((i for i, turn in enumerate(turns) if turn.role == "tool"), default=-1)
    said = [turn.text for turn in turns[last + 1 :] if turn.text] or [turn.text for turn in turns if turn.text]
    return "\n\n".join(said)


class _Waiting:
    """Calls that wait for their output: found by id, else by name, else the first one. Linear in calls and outputs."""

    __slots__ = ("_done", "_queues", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._done: set[int] = set()
        self._queues: dict[tuple[str, str], deque[int]] = {}

    def add(self, call: ToolCall) -> None:
        place = len(self.calls)
        self.calls.append(msgspec.structs.replace(call, index=place))
        if call.answered:
            return
        for queue in (("id", call.id), ("name", call.name), ("any", "")):
            self._queues.setdefault(queue, deque()).append(place)

    def answer(self, output: Row) -> None:
        """Mark the call that an output answers."""
        get = output.get
        call_id = word(next(filter(None, map(get, _ANSWERS)), ""))
        name = word(get("name") or get("tool_name") or get("toolName"))
        place = self._next(("id", call_id) if call_id else ("name", name) if name else ("any", ""))
        if place is None and call_id:
            place = self._next(("id", ""))  # a framework made the id up for a call that had none
        if place is not None:
            self._done.add(place)
            self.calls[place] = msgspec.structs.replace(self.calls[place], answered=True)

    def _next(self, queue: tuple[str, str]) -> int | None:
        places = self._queues.get(queue, ())
        while places:
            place = places.popleft()
            if place not in self._done:
                return place
        return None
