"""Joins the chunks of a Chat Completions stream into the body that the same reply would have had without streaming.

Fragments of a call belong together by index, or by id if a server gives all of them one index or none. One pass, each piece
joined once. Only the first choice is kept.
"""

from typing import Any

from trueup.read.objects import Row, place, record, rows, word

_SPOKEN = ("content", "refusal", "reasoning_content", "reasoning")
_OF_CALL = frozenset({"index", "id", "type", "function", "custom"})


class _Choice:
    """The pieces of one choice."""

    __slots__ = ("calls", "details", "function", "ids", "message", "pieces", "places", "seen", "thoughts")

    def __init__(self) -> None:
        self.pieces: dict[str, list[Any]] = {}
        self.calls: list[Row] = []
        self.places: dict[Any, Row] = {}
        self.ids: dict[str, Row] = {}
        self.function: Row = {}
        self.details: list[Any] = []
        self.thoughts: list[Any] = []
        self.message: Any = None
        self.seen: Row = {}

    def add(self, choice: Row) -> None:
        """Add one chunk's part of this choice."""
        for name in ("finish_reason", "error"):
            if choice.get(name):
                self.seen[name] = choice[name]
        if choice.get("message"):
            self.message = choice["message"]
        if isinstance(choice.get("text"), str):
            self.pieces.setdefault("text", []).append(choice["text"])
        delta = record(choice.get("delta"))
        for name in _SPOKEN:
            found = delta.get(name)
            if found or (found == "" and name == "reasoning_content"):  # an empty one must be sent back too
                self.pieces.setdefault(name, []).append(found)
        self.details += rows(delta.get("reasoning_details"))
        self.thoughts += rows(delta.get("thinking_blocks"))
        for item in rows(delta.get("tool_calls")):
            self._call(record(item))
        legacy = delta.get("function_call")
        if legacy:
            _extend(self.function, record(legacy))

    def _call(self, item: Row) -> None:
        """Find the call that a fragment belongs to, or begin a new one."""
        index, call_id = place(item.get("index")), word(item.get("id"))
        custom = item.get("custom")
        part = record(item.get("function") if custom is None else custom)
        call = self.ids.get(call_id) if call_id else None
        if call is None:
            if index is not None:
                call = self.places.get(index)
            elif not call_id and not part.get("name"):
                call = self.calls[-1] if self.calls else None
            if call is not None and _is_another(call, call_id, part):
                call = None
        if call is None:
            call = {"id": call_id, "custom": custom is not None, "part": {}, "more": {}}
            self.calls.append(call)
        # Members beside the function, such as a signature of the thoughts before the call, belong to the call.
        call["more"] |= {name: held for name, held in item.items() if name not in _OF_CALL and held is not None}
        if index is not None:
            self.places[index] = call
        if call_id:
            self.ids[call_id] = call
            call["id"] = call["id"] or call_id
        _extend(call["part"], part)

    def body(self) -> Row:
        """The choice as in a body without streaming."""
        if "text" in self.pieces and self.message is None:
            return {**self.seen, "text": "".join(self.pieces["text"])}
        message: Row = {name: _joined(pieces) for name, pieces in self.pieces.items()}
        if self.details:
            message["reasoning_details"] = self.details
        if self.thoughts:
            message["thinking_blocks"] = self.thoughts
        if self.calls:
            message["tool_calls"] = [_call_body(call) for call in self.calls]
        if self.function:
            message["function_call"] = _whole(self.function)
        if self.message is not None:
            message = {**record(self.message), **message}
        return {**self.seen, "message": message}


def _is_another(call: Row, call_id: str, part: Row) -> bool:
    """Whether a fragment begins a second call under an index that was used before: some servers count all as 0."""
    name = part.get("name")
    if not name:
        return False
    if call_id and call["id"]:
        return True
    pieces = call["part"].get("pieces")
    if "object" not in call["part"] and (not pieces or (call["id"] and not call_id and not any(pieces))):
        return False  # the name itself arrives in pieces
    if name != call["part"].get("name"):
        return True
    more = part.get("arguments")
    return not isinstance(more, str) or (more[:1] == "{" and bool(pieces) and pieces[-1][-1:] == "}")


def _extend(part: Row, more: Row) -> None:
    """Add a fragment's name and arguments; a repeated name is the same name."""
    name = word(more.get("name"))
    if name and name != part.get("name"):
        part["name"] = part.get("name", "") + name
    for key in ("arguments", "input"):
        found = more.get(key)
        if isinstance(found, str):
            part.setdefault("pieces", []).append(found)
        elif found is not None:
            part["object"] = found


def _whole(part: Row) -> Row:
    text = "".join(part.get("pieces", ()))
    return {"name": part.get("name", ""), "arguments": text if text or "object" not in part else part["object"]}


def _call_body(call: Row) -> Row:
    whole = _whole(call["part"])
    if call["custom"]:
        return {"id": call["id"], **call["more"], "custom": {"name": whole["name"], "input": whole["arguments"]}}
    return {"id": call["id"], **call["more"], "function": whole}


def _joined(pieces: list[Any]) -> Any:
    """Text as one text; if a server sends blocks, all blocks, with the pieces of a text or a thought joined."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    blocks: list[Any] = []
    for piece in pieces:
        blocks += ({"type": "text", "text": piece},) if isinstance(piece, str) else rows(piece)
    out: list[Any] = []
    for block in blocks:
        here, before = record(block), record(out[-1]) if out else {}
        thought = here.get("thinking")
        if isinstance(thought, list) and isinstance(before.get("thinking"), list):
            out[-1] = {**before, "thinking": [*before["thinking"], *thought]}
        elif _is_text(here) and _is_text(before):
            out[-1] = {**before, "text": before["text"] + here["text"]}
        else:
            out.append(block)
    return out


def _is_text(block: Row) -> bool:
    """Whether a block is only a text."""
    return block.keys() == {"type", "text"} and isinstance(block["text"], str)


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One body from many chunks, and whether the stream is complete."""
    first: _Choice | None = None
    position: Any = None
    body: Row = {"object": "chat.completion"}
    for event in events:
        for name in ("model", "id", "usage", "error"):
            if event.get(name):
                body[name] = event[name]
        inner = record(event.get("x_groq"))
        if inner.get("usage") and "usage" not in body:
            body["usage"] = inner["usage"]
        for item in rows(event.get("choices")):
            choice = record(item)
            if first is None:
                first, position = _Choice(), choice.get("index")
            if choice.get("index") == position:
                first.add(choice)
            if choice.get("usage"):
                body.setdefault("usage", choice["usage"])
    if first is None:
        return body, done
    body["choices"] = [first.body()]
    return body, done or "finish_reason" in first.seen
