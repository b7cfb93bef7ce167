"""The pieces of a stream: the text that a piece adds, the names of tools that it begins to call, and their arguments.

Takes a chunk of any provider: text, a dict, an SDK's object. The whole reply is read from all chunks at the end, by
`streams`. Reasoning is not text.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trueup.read.calls import as_text
from trueup.read.objects import member, record, rows, word


class Delta(NamedTuple):
    """The content that one piece adds."""

    text: str = ""
    calls: tuple[str, ...] = ()
    arguments: str = ""


_NOTHING = Delta()
# Helpers of the SDKs repeat each event of the provider in another form.
_REPEATS = ("content.", "refusal.", "logprobs.", "tool_calls.function.")
_REPEATING = frozenset(("text", "thinking", "citation", "signature", "input_json"))


def bare(chunk: Any) -> Any:
    """The chunk inside an SDK's event; None for an event that only repeats others.

    >>> bare({"type": "chunk", "chunk": {"choices": []}, "snapshot": {}}), bare({"type": "text", "snapshot": "Hel"})
    ({'choices': []}, None)
    """
    kind = word(member(chunk, "type"))
    if kind == "chunk":
        return member(chunk, "chunk")
    if kind.startswith(_REPEATS) and member(chunk, "choices") is None:
        return None
    if kind in _REPEATING and (kind == "signature" or member(chunk, "snapshot") is not None):
        return None
    inner = None if kind or member(chunk, "choices") is not None else member(chunk, "data")
    return inner if inner is not None and not isinstance(inner, str | bytes) else chunk


class Choosing:
    """Follows one of several interleaved choices: the first that appears, as `streams` does at the end."""

    __slots__ = ("_index",)

    def __init__(self) -> None:
        self._index: Any = ...  # no choice has arrived

    def text_of(self, chunk: Any) -> str:
        """The text that a chunk adds to the choice.

        >>> choosing = Choosing()
        >>> [choosing.text_of({"choices": [{"index": at, "delta": {"content": "ab"[at]}}]}) for at in (0, 1, 0)]
        ['a', '', 'a']
        """
        choices = rows(member(chunk, "choices"))
        if not choices:
            return delta_of(chunk).text
        if self._index is ...:
            self._index = member(choices[0], "index")
        return "".join(_of_choice(choice).text for choice in choices if member(choice, "index") == self._index)


def delta_of(chunk: Any) -> Delta:
    """The content that a chunk adds to the reply.

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
    kind = word(member(chunk, "type")) or word(member(chunk, "event_type"))
    read = _BY_KIND.get(kind)
    if read is not None:
        return read(chunk)
    candidates = rows(member(chunk, "candidates"))
    if candidates:
        return _of_parts(rows(member(member(candidates[0], "content"), "parts")))
    for name, read in _BY_KEY.items():
        held = member(chunk, name)
        if held is not None:
            return read(held)
    inner = member(chunk, "data")
    if inner is not None and not kind and not isinstance(inner, str | bytes):  # an event of Mistral's SDK
        return delta_of(inner)
    return _of_message(chunk, kind)


def _of_choice(choice: Any) -> Delta:
    found = member(choice, "delta") or member(choice, "message")
    if found is None:
        return Delta(word(member(choice, "text")))
    calls = rows(member(found, "tool_calls"))
    if not calls:
        return Delta(_said(member(found, "content")))
    return Delta(_said(member(found, "content")), *_of_calls([member(call, "function") for call in calls]))


def _of_calls(calls: Sequence[Any]) -> tuple[tuple[str, ...], str]:
    """The names of functions, and the pieces of their arguments: text, or a complete object."""
    names = (word(member(call, "name")) for call in calls)
    given = (_arguments(_first(call, "arguments", "args")) for call in calls)
    return tuple(name for name in names if name), "".join(given)


def _first(call: Any, *names: str) -> Any:
    return next((held for name in names if (held := member(call, name)) is not None), None)


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else as_text(given) if isinstance(given, dict) and given else ""


def _of_block_delta(chunk: Any) -> Delta:
    delta = member(chunk, "delta")
    use = member(delta, "toolUse")  # Converse's
    return Delta(word(member(delta, "text")), (), word(member(delta, "partial_json")) or word(member(use, "input")))


def _of_block_start(chunk: Any) -> Delta:
    block = member(chunk, "content_block")
    if word(member(block, "type")) == "tool_use":
        return Delta("", (word(member(block, "name")),), _arguments(member(block, "input")))
    return Delta(word(member(block, "text")))


def _of_plain_delta(chunk: Any) -> Delta:
    return Delta(word(member(chunk, "delta")) or word(member(chunk, "textDelta")))


def _of_item(chunk: Any) -> Delta:
    """A new item of a response: a call already has its name."""
    item = member(chunk, "item")
    return Delta("", (word(member(item, "name")),)) if word(member(item, "type")) == "function_call" else _NOTHING


def _of_cohere(chunk: Any) -> Delta:
    said = member(member(chunk, "delta"), "message")
    call = member(said, "tool_calls")
    called = () if call is None else [member(one, "function") for one in rows(call)]
    return Delta(word(member(member(said, "content"), "text")), *_of_calls(called))


def _of_step_delta(chunk: Any) -> Delta:
    delta = member(chunk, "delta")
    return Delta(word(member(delta, "text"))) if word(member(delta, "type")) == "text" else _NOTHING


def _of_parts(parts: Any) -> Delta:
    said: list[str] = []
    calls: list[Any] = []
    for part in parts:
        if not member(part, "thought"):
            said.append(word(member(part, "text")))
        call = member(part, "function_call") or member(part, "functionCall")
        calls += [call] if call else []
    return Delta("".join(said), *_of_calls(calls))


def _of_converse_start(begun: Any) -> Delta:
    name = word(member(member(member(begun, "start"), "toolUse"), "name"))
    return Delta("", (name,)) if name else _NOTHING


def _of_message(chunk: Any, kind: str) -> Delta:
    """A piece of a framework's message: LangChain's, Ollama's, or a plain one."""
    held = chunk if kind == "AIMessageChunk" or member(chunk, "content") is not None else member(chunk, "message")
    if held is None:
        return Delta(word(member(chunk, "response"))) if member(chunk, "done") is not None else _NOTHING
    pieces = rows(member(held, "tool_call_chunks")) or rows(member(held, "tool_calls"))
    return Delta(_said(member(held, "content")), *_of_calls([member(piece, "function") or piece for piece in pieces]))


def _said(content: Any) -> str:
    """The text of a content that is text, or of blocks some of which are."""
    if not isinstance(content, list | tuple):
        return word(content)
    blocks = [{"text": block} if isinstance(block, str) else record(block) for block in content]
    return "".join(word(block.get("text")) for block in blocks if word(block.get("type")) in {"text", ""})


_BY_KIND: dict[str, Callable[[Any], Delta]] = {
    "content_block_delta": _of_block_delta,
    "content_block_start": _of_block_start,
    "response.output_text.delta": _of_plain_delta,
    "response.output_item.added": _of_item,
    "response.function_call_arguments.delta": lambda chunk: Delta("", (), word(member(chunk, "delta"))),
    "content-start": _of_cohere,
    "content-delta": _of_cohere,
    "tool-call-start": _of_cohere,
    "tool-call-delta": _of_cohere,
    "text-generation": lambda chunk: Delta(word(member(chunk, "text"))),
    "text-delta": _of_plain_delta,
    "step.delta": _of_step_delta,
    "content.delta": _of_step_delta,
}
_BY_KEY: dict[str, Callable[[Any], Delta]] = {
    "contentBlockDelta": _of_block_delta,
    "contentBlockStart": _of_converse_start,
}
