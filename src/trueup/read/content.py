"""Content as a list of typed blocks, as most providers nest it: text, thinking, refusals, calls, tool outputs.

Blocks fill a Draft in order. Calls that the provider runs itself are not ours: their results count as outputs. An unknown
kind of block is skipped; the raw reply keeps it.
"""

from collections.abc import Callable
from typing import Any

from trueup.read.calls import MISSING
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, record, rows, word


def fill(draft: ReplyDraft, content: Any) -> None:
    """Read content (a text, one block or several) into a draft."""
    if isinstance(content, str):
        draft.say(content)
        return
    for item in rows(content):
        if isinstance(item, str):
            draft.say(item)
            continue
        block = record(item)
        kind = word(block.get("type"))
        reader = _KINDS.get(kind)
        if reader is not None:
            reader(draft, block)
        elif kind.endswith("_tool_result"):
            draft.output()
        elif not kind and "text" in block:
            draft.say(words_of(block["text"]))
        elif kind.endswith(("_use", "_call")):
            draft.between()


def words_of(source: Any) -> str:
    """The text in a string, in `{"value": …}`, in a block, or in a list of any of these."""
    if isinstance(source, str):
        return source
    if isinstance(source, list | tuple):
        return "".join(piece if isinstance(piece, str) else _words(record(piece)) for piece in source)
    return _words(record(source)) if source else ""


def _words(block: Row) -> str:
    for name in ("text", "value", "thinking", "content"):
        found = block.get(name)
        if isinstance(found, str):
            return found
    return ""


def _text(draft: ReplyDraft, block: Row) -> None:
    draft.say(words_of(block.get("text")))


def _spoken(draft: ReplyDraft, block: Row) -> None:
    draft.say(block.get("transcript"))


def _refusal(draft: ReplyDraft, block: Row) -> None:
    draft.refuse(words_of(block.get("refusal")))


def _thinking(draft: ReplyDraft, block: Row) -> None:
    draft.think(words_of(block.get("thinking") or block.get("text")))


def reasoning(draft: ReplyDraft, block: Row) -> None:
    """A reasoning item: its own words if they are shown, else their summary."""
    spoken = block.get("content") or block.get("text") or block.get("reasoning") or block.get("summary")
    if isinstance(spoken, list | tuple):
        spoken = "\n\n".join(filter(None, map(words_of, spoken)))
    draft.think(words_of(spoken))


def _tool_use(draft: ReplyDraft, block: Row) -> None:
    draft.call(word(block.get("name")), block.get("input", MISSING), word(block.get("id")))


def _tool_call(draft: ReplyDraft, block: Row) -> None:
    get = block.get
    name = word(get("name") or get("toolName"))
    arguments = next((block[k] for k in ("args", "input", "arguments") if block.get(k) is not None), MISSING)
    draft.call(name, arguments, word(get("call_id") or get("toolCallId") or get("id")))


def _custom(draft: ReplyDraft, block: Row) -> None:
    draft.custom(word(block.get("name")), block.get("input", MISSING), word(block.get("call_id") or block.get("id")))


def _output(draft: ReplyDraft, _: Row) -> None:
    draft.output()


def _between(draft: ReplyDraft, _: Row) -> None:
    draft.between()


_KINDS: dict[str, Callable[[ReplyDraft, Row], None]] = {
    "text": _text,
    "output_text": _text,
    "text_delta": _text,
    "audio": _spoken,
    "output_audio": _spoken,
    "refusal": _refusal,
    "thinking": _thinking,
    "reasoning": reasoning,
    "reasoning_content": reasoning,
    "tool_use": _tool_use,
    "tool_call": _tool_call,
    "tool-call": _tool_call,
    "function_call": _tool_call,
    "invalid_tool_call": _tool_call,
    "tool_result": _output,
    "tool-result": _output,
    "tool_call_response": _output,
    "code_execution_result": _output,
    "server_tool_use": _between,
    "executable_code": _between,
    "custom_tool_call": _custom,
}
