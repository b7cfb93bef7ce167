"""LangChain messages: as objects, as `{"type": "ai", "data": …}`, as `dumpd` writes them, as chunks, inside results.

`invalid_tool_calls` are calls like any other: their text is kept. The provider's own calls in `additional_kwargs` give the
arguments verbatim; a call that appears in several places is read once.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.content import fill
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, member, place, record, rows, word
from trueup.read.openai_chat import fill_call
from trueup.read.reading import Reading, silent

AI = frozenset(("ai", "AIMessage", "AIMessageChunk"))
_ENDINGS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason")


def unwrapped(message: Row) -> Row:
    """The fields of a message, from `data` or `kwargs`, and its type.

    >>> unwrapped({"lc": 1, "type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": "hi"}})
    {'type': 'AIMessage', 'content': 'hi'}
    """
    if message.get("lc") is not None and "kwargs" in message:
        name = rows(message.get("id"))
        return {"type": name[-1] if name else "", **record(message["kwargs"])}
    if "data" in message and "content" not in message:
        return {**record(message["data"]), "type": message.get("type")}
    return message


def read(body: Row, raw: Any) -> Reading:
    """Read one AI message."""
    message = unwrapped(body)
    draft = ReplyDraft()
    fill_message(draft, message)
    about = record(message.get("response_metadata"))
    ending = next((about[name] for name in _ENDINGS if about.get(name)), None)
    counted = usage.langchain(message.get("usage_metadata")) or usage.openai(
        about.get("token_usage") or about.get("usage")
    )
    model = about.get("model_name") or about.get("model")
    return Reading(draft.reply(ending, counted, model, "langchain", raw))


def read_result(body: Row, raw: Any) -> Reading:
    """Read an LLMResult, a ChatResult, or a message beside the value parsed from it."""
    if "generations" not in body:
        return read(record(body.get("raw")), raw)
    # Read from the object itself: its dump writes each message as a BaseMessage, without the calls.
    found = rows(member(raw, "generations") or body["generations"])
    if found and isinstance(found[0], list | tuple):
        found = rows(found[0])
    if not found:
        return silent(raw, provider="langchain")
    message = member(found[0], "message")
    if message is not None:
        return read(record(message), raw)
    draft = ReplyDraft()
    draft.say(member(found[0], "text"))
    ending = record(member(found[0], "generation_info")).get("finish_reason")
    return Reading(draft.reply(ending, {}, "", "langchain", raw))


def fill_message(draft: ReplyDraft, message: Row) -> None:
    """Read an AI message's content and all its calls into a draft."""
    extra = record(message.get("additional_kwargs"))
    verbatim = _verbatim(extra)
    fill(draft, message.get("content"))
    if not draft.thinks:
        draft.think(extra.get("reasoning_content") or extra.get("reasoning"))
    if not draft.refusal:
        draft.refuse(extra.get("refusal"))
    written, draft.calls = draft.calls, []
    known: set[str] = set()
    for name in ("tool_calls", "invalid_tool_calls"):
        for item in rows(message.get(name)):
            call = record(item)
            call_id = word(call.get("id"))
            known.add(call_id)
            given = verbatim.get(call_id) if call_id else None
            draft.call(word(call.get("name")), call.get("args", MISSING) if given is None else given, call_id)
    for found in written:
        if not known or (found.id and found.id not in known):
            if found.kind == "custom":
                draft.custom(found.name, found.raw_args, found.id)
            else:
                draft.call(found.name, found.raw_args if found.args is None else found.args, found.id)
            known.add(found.id)
    if not draft.calls:
        for item in rows(extra.get("tool_calls")):
            fill_call(draft, record(item))
        legacy = record(extra.get("function_call"))
        if legacy and not draft.calls:
            draft.call(word(legacy.get("name")), legacy.get("arguments", MISSING))


def _verbatim(extra: Row) -> dict[str, str]:
    """The arguments as the provider sent them, by call id."""
    found: dict[str, str] = {}
    for item in rows(extra.get("tool_calls")):
        call = record(item)
        given = record(call.get("function")).get("arguments")
        if isinstance(given, str) and given:
            found[word(call.get("id"))] = given
    return found


def _add(content: list[Any], block: Any) -> None:
    """Append a block; a thought that arrives in pieces is one."""
    more, last = record(block), record(content[-1]) if content else {}
    for name in ("reasoning", "thinking"):
        alike = more.get("type") == last.get("type") == name and more.get("index") == last.get("index")
        if alike and isinstance(more.get(name), str) and isinstance(last.get(name), str):
            content[-1] = {**last, name: last[name] + more[name]}
            return
    content.append(block)


def _added(before: Any, more: Any) -> Any:
    """The sum of two chunks' tokens: each counts what it adds."""
    if not before or not more:
        return more or before
    one, other = record(before), record(more)
    found: Row = {**one, **other}
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if isinstance(a, dict) and isinstance(b, dict):
            found[name] = _added(a, b)
        elif isinstance(a, int) and isinstance(b, int):
            found[name] = a + b
    return found


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One AI message from chunks, and whether it is complete."""
    content: list[Any] = []
    calls: list[Row] = []
    places: dict[Any, Row] = {}
    about: Row = {}
    body: Row = {"type": "ai"}
    last = False
    for event in events:
        chunk = unwrapped(event)
        about |= {n: v for n, v in record(chunk.get("response_metadata")).items() if v}
        body["usage_metadata"] = _added(body.get("usage_metadata"), chunk.get("usage_metadata"))
        last = last or chunk.get("chunk_position") == "last"
        found = chunk.get("content")
        for block in [found] if isinstance(found, str) else rows(found):
            _add(content, block)
        for item in rows(chunk.get("tool_call_chunks")):
            fragment = record(item)
            index = place(fragment.get("index"))
            call = places.get(index) if index is not None else None
            if call is None or (fragment.get("id") and call["id"] and fragment["id"] != call["id"]):
                call = places[index] = {"id": "", "name": "", "pieces": []}
                calls.append(call)
            call["id"] = call["id"] or word(fragment.get("id"))
            call["name"] = call["name"] or word(fragment.get("name"))
            call["pieces"].append(word(fragment.get("args")))
    body["content"] = "".join(content) if all(isinstance(c, str) for c in content) else content
    body["response_metadata"] = about
    body["tool_calls"] = [{"id": c["id"], "name": c["name"], "args": "".join(c["pieces"])} for c in calls]
    return body, done or last or any(about.get(name) for name in _ENDINGS)
