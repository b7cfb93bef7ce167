"""OpenAI Chat Completions and the many compatible APIs: vLLM, llama.cpp, Groq, Mistral, DeepSeek, OpenRouter, Azure.

Reads the first choice of a response body. Expects lax servers: content as a list, arguments as an object, legacy
`function_call`, reasoning under four names, an error inside a 200.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING, as_text
from trueup.read.content import fill, words_of
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, record, rows, word
from trueup.read.reading import Reading, failed, failure_of, silent
from trueup.verdict.reply import Reply

_TOLD = frozenset({"role", "content"})


def read(body: Row, raw: Any) -> Reading:
    """Read a chat completion, or a legacy text completion."""
    choices = rows(body.get("choices"))
    if not choices:
        error = body.get("error")
        return failed(failure_of(error), raw=raw) if error else silent(raw, provider="openai")
    choice = record(choices[0])
    if choice.get("finish_reason") == "stop" and not body.get("error") and not choice.get("error"):
        text = _plain_text(choice.get("message"))
        if text:
            model = body.get("model")
            told = usage.openai(body.get("usage"))
            return Reading(Reply(text, (), "", "", "stop", told, model if type(model) is str else "", "openai", raw))
    draft = ReplyDraft()
    message = choice.get("message")
    if message is not None:
        fill_message(draft, record(message))
    else:
        draft.say(choice.get("text"))
    reply = draft.reply(choice.get("finish_reason"), usage.openai(body.get("usage")), body.get("model"), "openai", raw)
    error = choice.get("error") or body.get("error")
    if error or reply.finish == "error":
        return failed(failure_of(error or {"message": "the provider ended the reply with an error"}), reply)
    return Reading(reply)


def read_enclosed(body: Row, raw: Any) -> Reading:
    """Read the completion that DashScope has under `output`, or the message of the Llama API."""
    message = body.get("completion_message")
    if message is not None:
        ending = record(message).get("stop_reason")
        return read({"choices": [{"message": message, "finish_reason": ending}], "model": body.get("model")}, raw)
    inner = record(body.get("output"))
    choices = inner.get("choices") or [{"text": inner.get("text"), "finish_reason": inner.get("finish_reason")}]
    return read({"choices": choices, "usage": body.get("usage"), "model": body.get("model")}, raw)


def _plain_text(message: Any) -> str:
    """The text of a message that has only a text, as most do; nothing for any other."""
    if type(message) is not dict:
        return ""
    content = message.get("content")
    if type(content) is not str:
        return ""
    for name, part in message.items():
        if part and name not in _TOLD:
            return ""
    return content


def fill_message(draft: ReplyDraft, message: Row) -> None:
    """Read one assistant message into a draft."""
    get = message.get
    content = get("content")
    if type(content) is str:
        draft.say(content)
    elif isinstance(content, dict) and "type" not in content and "text" not in content:
        draft.say(as_text(content))  # a lax server that has already parsed the answer
    elif content is not None:
        fill(draft, content)
    elif get("audio"):
        draft.say(record(get("audio")).get("transcript"))
    draft.refuse(get("refusal"))
    if not draft.thinks:
        _think(draft, message)
    calls = get("tool_calls")
    if calls:
        known = {call.id for call in draft.calls if call.id}
        for item in rows(calls):
            fill_call(draft, record(item), known)
    legacy = get("function_call")
    if legacy and not calls:
        call = record(legacy)
        if call.get("name") or call.get("arguments"):  # some servers send an empty one with every reply
            draft.call(word(call.get("name")), call.get("arguments", MISSING))


def _think(draft: ReplyDraft, message: Row) -> None:
    """Reasoning under the first of its names that has any; the others repeat it."""
    get = message.get
    for name in ("reasoning_content", "reasoning", "thinking"):
        found = get(name)
        if found:
            draft.think(words_of(found))
            return
    details = get("reasoning_details") or get("thinking_blocks")
    if details:
        spoken = [record(item) for item in rows(details)]
        draft.think("".join(words_of(d.get("text") or d.get("thinking") or d.get("summary")) for d in spoken))


def fill_call(draft: ReplyDraft, item: Row, known: set[str] | frozenset[str] = frozenset()) -> None:
    """Read one tool call: nested under `function` or `custom`, or flat; one that is already known by its id is skipped."""
    get = item.get
    call_id = word(get("id") or get("call_id") or get("tool_call_id") or get("toolCallId"))
    if call_id and call_id in known:
        return
    function = get("function")
    if function is not None and not isinstance(function, str):
        inner = record(function)
        draft.call(word(inner.get("name")), inner.get("arguments", MISSING), call_id)
        return
    custom = get("custom")
    if custom is not None:
        inner = record(custom)
        draft.custom(word(inner.get("name")), inner.get("input", MISSING), call_id)
        return
    name = word(get("name") or get("toolName") or get("tool_name") or function)
    for key in ("arguments", "args", "input", "parameters"):
        if key in item:
            draft.call(name, item[key], call_id)
            return
    draft.call(name, MISSING, call_id)
