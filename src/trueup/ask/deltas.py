"""Pieces of a stream, as they come: the text that a piece adds, and the names of tools that it begins to call.

A chunk of any client enters: text, a dict, an SDK's object. Two small things leave; the whole reply is read from all chunks
at the end, in `read/`. Reasoning is not text.
"""

from typing import Any, NamedTuple

from trueup.read.objects import member, record, rows, word


class Delta(NamedTuple):
    """What one piece adds."""

    text: str = ""
    calls: tuple[str, ...] = ()


_NOTHING = Delta()


def delta_of(chunk: Any) -> Delta:
    """What a chunk adds to the reply.

    >>> delta_of({"choices": [{"delta": {"content": "Hel"}}]}).text, delta_of("lo").text
    ('Hel', 'lo')
    """
    if isinstance(chunk, str):
        return Delta(chunk)
    if isinstance(chunk, bytes | bytearray):
        return _NOTHING
    choices = rows(member(chunk, "choices"))
    if choices:
        return _of_choice(choices[0])
    kind = word(member(chunk, "type"))
    if kind == "content_block_delta":
        return Delta(word(member(member(chunk, "delta"), "text")))
    if kind == "content_block_start":
        block = member(chunk, "content_block")
        if word(member(block, "type")) == "tool_use":
            return Delta("", (word(member(block, "name")),))
        return Delta(word(member(block, "text")))
    if kind == "response.output_text.delta":
        return Delta(word(member(chunk, "delta")))
    candidates = rows(member(chunk, "candidates"))
    if candidates:
        return _of_parts(rows(member(member(candidates[0], "content"), "parts")))
    return _of_message(chunk, kind)


def _of_choice(choice: Any) -> Delta:
    found = member(choice, "delta") or member(choice, "message")
    names = tuple(word(member(member(call, "function"), "name")) for call in rows(member(found, "tool_calls")))
    return Delta(word(member(found, "content")), tuple(name for name in names if name))


def _of_parts(parts: Any) -> Delta:
    said: list[str] = []
    names: list[str] = []
    for part in parts:
        if not member(part, "thought"):
            said.append(word(member(part, "text")))
        call = member(part, "function_call") or member(part, "functionCall")
        names += [word(member(call, "name"))] if call else []
    return Delta("".join(said), tuple(name for name in names if name))


def _of_message(chunk: Any, kind: str) -> Delta:
    """A piece of a framework's message: LangChain's, Ollama's, or a plain one."""
    held = chunk if kind == "AIMessageChunk" or member(chunk, "content") is not None else member(chunk, "message")
    if held is None:
        return _NOTHING
    content = member(held, "content")
    if isinstance(content, list | tuple):
        content = "".join(
            word(record(block).get("text")) for block in content if word(record(block).get("type")) in {"text", ""}
        )
    pieces = rows(member(held, "tool_call_chunks"))
    names = tuple(word(member(piece, "name")) for piece in pieces if member(piece, "name"))
    return Delta(word(content), names)
