"""Draft: a reply while it is being read. Takes pieces in the order of the provider's blocks and builds a Reply.

Adjacent pieces of text are one text; a call or a tool output between them becomes a blank line.
"""

from typing import Any

import msgspec

from trueup.read.calls import MISSING, custom_call, function_call
from trueup.read.endings import finish_of
from trueup.verdict.reply import Reply, ToolCall, Turn


class ReplyDraft:
    """The part of one message that was read so far."""

    __slots__ = ("_gap", "_mark", "_refused", "_said", "_thought", "_waiting", "calls", "outputs")

    def __init__(self) -> None:
        self._said: list[str] = []
        self._thought: list[str] = []
        self._gap = False
        self._mark = 0
        self._refused: list[str] = []
        self.calls: list[ToolCall] = []
        self.outputs = 0
        self._waiting = 0

    def say(self, piece: Any) -> None:
        """Text of the answer."""
        if not piece or not isinstance(piece, str):
            return
        if self._gap:
            self._gap = False
            if self._said:
                self._said.append("\n\n")
        self._said.append(piece)

    def think(self, piece: Any) -> None:
        """Reasoning beside the answer."""
        if piece and isinstance(piece, str):
            self._thought.append(piece)

    def refuse(self, piece: Any) -> None:
        """The words of a refusal."""
        if piece and isinstance(piece, str):
            self._refused.append(piece)

    def call(
        self, name: str, arguments: Any = MISSING, call_id: str = "", *, answered: bool = False, failed: bool = False
    ) -> None:
        """A call of a function; `answered` if its output is known, `failed` if that output is an error."""
        call = function_call(name, arguments, call_id, len(self.calls), answered=answered)
        self.calls.append(msgspec.structs.replace(call, failed=True) if failed else call)
        self._gap = True

    def custom(self, name: str, text: Any, call_id: str = "") -> None:
        """A call of a tool that takes plain text."""
        self.calls.append(custom_call(name, text, call_id, len(self.calls)))
        self._gap = True

    def output(self) -> None:
        """A tool's output inside the message."""
        self.outputs += 1
        self._mark = len(self._said)
        self._gap = True

    def wait(self) -> None:
        """The provider waits for something other than a call of a named tool: a click, a command in its own shell."""
        self._waiting += 1
        self._gap = True

    def between(self) -> None:
        """Something else is here: the text before and after it are two texts."""
        self._gap = True

    @property
    def text(self) -> str:
        said = self._said
        return said[0] if len(said) == 1 else "".join(said)

    @property
    def refusal(self) -> str:
        return "".join(self._refused)

    @property
    def thinks(self) -> bool:
        return bool(self._thought)

    @property
    def reasoning(self) -> str:
        return "\n\n".join(self._thought)

    def turn(self) -> Turn:
        """The message as one of several."""
        after = "".join(self._said[self._mark :]).removeprefix("\n\n") if self.outputs else ""
        return Turn("assistant", self.text, len(self.calls) + self._waiting, self.outputs, after)

    def reply(self, ending: Any, usage: dict[str, int], model: Any, provider: str, raw: Any) -> Reply:
        """The Reply; `ending` is the provider's word for how it ended."""
        calls = tuple(self.calls)
        refusal = "".join(self._refused)
        finish = finish_of(ending, calls=bool(calls or self._waiting), refusal=bool(refusal))
        return Reply(
            self.text,
            calls,
            "\n\n".join(self._thought),
            refusal,
            finish,
            usage,
            model if isinstance(model, str) else "",
            provider,
            raw,
            (self.turn(),) if self.outputs or self._waiting else None,
        )
