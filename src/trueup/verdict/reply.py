"""Reply and ToolCall: what a provider sent, in one shape for all of them.

Nothing here knows a provider's words; the room `read/` fills these in.
"""

from typing import Any, Literal

import msgspec

Finish = Literal["stop", "length", "tool", "filter", "refusal", "malformed_tool", "pause", "error", "unknown"]


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool, as the model asked for it; `raw_args` is verbatim.

    `args` is None where the arguments are no JSON object; `parse_error` says why. A `custom` tool takes plain text:
    its input is `raw_args`. `answered` means that its output is already part of what was read.
    """

    name: str
    args: dict[str, Any] | None = None
    id: str = ""
    raw_args: str = ""
    origin: str = "native"
    parse_error: str = ""
    index: int = 0
    kind: Literal["function", "custom"] = "function"
    answered: bool = False


class Turn(msgspec.Struct, frozen=True):
    """One message of a reply that has several: what it says, how many calls and tool outputs it holds.

    `after` is the part of the text that follows the last output inside this very message.
    """

    role: Literal["assistant", "tool"] = "assistant"
    text: str = ""
    calls: int = 0
    outputs: int = 0
    after: str = ""


class Reply(msgspec.Struct, frozen=True):
    """One reply of a model: its text, its tool calls, how it ended.

    `turns` is None for a reply of one message without tool outputs, the usual case; `messages` is never None.

    >>> Reply(text="hi").finish
    'unknown'
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    refusal: str = ""
    finish: Finish = "unknown"
    usage: dict[str, int] = {}
    model: str = ""
    provider: str = ""
    raw: Any = None
    turns: tuple[Turn, ...] | None = None

    @property
    def messages(self) -> tuple[Turn, ...]:
        """The messages of the reply, tool outputs between them included.

        >>> Reply(text="hi").messages
        (Turn(role='assistant', text='hi', calls=0, outputs=0, after=''),)
        """
        return (Turn(text=self.text, calls=len(self.calls)),) if self.turns is None else self.turns
