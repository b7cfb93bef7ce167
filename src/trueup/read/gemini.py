"""Gemini generateContent: REST in camelCase, the SDK's dump in snake_case, and chunks of a stream.

Text is spread over parts: those that are not thoughts are one text. Calls end with STOP like anything else. A blocked prompt
has no candidates, only its reason. A part with code that Gemini ran itself is not a call.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.draft import ReplyDraft
from trueup.read.endings import finish_of
from trueup.read.gemini_calls import whole_calls
from trueup.read.objects import Row, record, rows, word
from trueup.read.reading import Reading, silent
from trueup.verdict.reply import Reply

# Tools that Gemini ran itself: results, and calls that are not the client's.
_OUTPUTS = ("codeExecutionResult", "code_execution_result", "functionResponse", "function_response", "toolResponse",
            "tool_response")  # fmt: skip
_RUN_BY_PROVIDER = ("executableCode", "executable_code", "toolCall", "tool_call")
# A candidate has at least one of these; other lists of candidates are data.
CANDIDATE = frozenset("content finishReason finish_reason index tokenCount token_count".split())
_NUMBERS = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}


def either(body: Row, camel: str, snake: str) -> Any:
    """A member under its REST name or its SDK name."""
    found = body.get(camel)
    return body.get(snake) if found is None else found


def read(body: Row, raw: Any) -> Reading:
    """Read a response: its first candidate."""
    counted = usage.gemini(either(body, "usageMetadata", "usage_metadata"))
    model = either(body, "modelVersion", "model_version")
    candidates = rows(body.get("candidates"))
    feedback = record(either(body, "promptFeedback", "prompt_feedback"))
    blocked = word(either(feedback, "blockReason", "block_reason"))
    if not candidates and not blocked:
        return silent(raw, provider="gemini")
    draft = ReplyDraft()
    ending: Any = blocked
    candidate = record(candidates[0]) if candidates else {}
    if candidates:
        fill_parts(draft, rows(record(candidate.get("content")).get("parts")))
        ending = either(candidate, "finishReason", "finish_reason")
        ending = _NUMBERS.get(ending, ending) if type(ending) is int else ending
    elif finish_of(blocked) != "filter":
        ending = "SAFETY"
    reply: Reply = draft.reply(ending, counted, model, "gemini", raw)
    if not reply.text and reply.finish == "malformed_tool":
        draft.say(either(candidate, "finishMessage", "finish_message"))
        reply = draft.reply(ending, counted, model, "gemini", raw)
    return Reading(reply)


def fill_parts(draft: ReplyDraft, parts: Any) -> None:
    """Read the parts of a content into a draft."""
    thoughts: list[str] = []
    for part in whole_calls(parts):
        text = part.get("text")
        if isinstance(text, str):
            if part.get("thought"):
                thoughts.append(text)
            else:
                draft.say(text)
        call = either(part, "functionCall", "function_call")
        if call is not None:
            inner = record(call)
            arguments = inner.get("args")
            draft.call(word(inner.get("name")), MISSING if arguments is None else arguments, word(inner.get("id")))
        elif any(part.get(name) is not None for name in _OUTPUTS):
            draft.output()
        elif any(part.get(name) is not None for name in _RUN_BY_PROVIDER):
            draft.between()
    draft.think("".join(thoughts))


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One response from a stream's chunks, and whether it is complete."""
    body: Row = {}
    parts: list[Any] = []
    candidate: Row = {}
    ended = done
    for event in events:
        body |= {name: value for name, value in event.items() if value is not None and name != "candidates"}
        found = rows(event.get("candidates"))
        if not found:
            continue
        first = record(found[0])
        parts += rows(record(first.get("content")).get("parts"))
        candidate |= {name: value for name, value in first.items() if value is not None}
        ended = ended or bool(either(first, "finishReason", "finish_reason"))
    if candidate:
        candidate["content"] = {"role": "model", "parts": parts}
        body["candidates"] = [candidate]
    feedback = record(either(body, "promptFeedback", "prompt_feedback"))
    return body, ended or bool(either(feedback, "blockReason", "block_reason"))
