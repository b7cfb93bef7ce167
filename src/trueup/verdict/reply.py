"""Reply and ToolCall: what a provider sent, in one shape for all of them.

Nothing here knows a provider's words; the room `read/` fills these in.
"""

from typing import Any, Literal

import msgspec

Finish = Literal["stop", "length", "tool", "filter", "refusal", "malformed_tool", "pause", "error", "unknown"]


class ToolCall(
    msgspec.Struct, frozen=True, dict=True
):  # `dict`: what a type made of the arguments is kept beside the fields
    """One call of a tool, as the model asked for it."""

    name: str
    """The name of the tool."""
    args: dict[str, Any] | None = None
    """The arguments; None if they are not a JSON object."""
    id: str = ""
    """The provider's id of the call; empty if it gave none."""
    raw_args: str = ""
    """The arguments as the model wrote them, or the input of a `custom` tool; empty if there are none."""
    origin: str = "native"
    """`native` for a call in the provider's own field; `text:` and a notation for one that was read from the text."""
    parse_error: str = ""
    """Why `args` is None; empty otherwise."""
    index: int = 0
    """The position of the call in the reply, from 0."""
    kind: Literal["function", "custom"] = "function"
    """`function` for a tool with JSON arguments, `custom` for one that takes plain text."""
    answered: bool = False
    """Whether the output of the call is already part of what was read, as with tools that a provider runs itself."""
    failed: bool = False
    """Whether that output is an error: the call was refused, or its tool failed."""
    after: tuple[str, ...] = ()
    """The tools that must succeed earlier in the same reply before this call may run, because the order requires them; empty if there are none."""


class Turn(msgspec.Struct, frozen=True):
    """One message of a reply that has several: what it says, how many calls and tool outputs it holds."""

    role: Literal["assistant", "tool"] = "assistant"
    """`assistant` for a message of the model, `tool` for the output of a tool."""
    text: str = ""
    """What the message says; empty if it says nothing."""
    calls: int = 0
    """How many calls the message holds."""
    outputs: int = 0
    """How many tool outputs the message holds."""
    after: str = ""
    """The part of the text that follows the last output inside this message; empty if nothing does."""


class Reply(msgspec.Struct, frozen=True):
    """One reply of a model, in the same shape for all providers.

    >>> Reply(text="hi").finish
    'unknown'
    """

    text: str = ""
    """What the model said, without reasoning; empty if it said nothing."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls of the reply; empty if there are none."""
    reasoning: str = ""
    """The reasoning that the provider sent in a field of its own; empty if there is none."""
    refusal: str = ""
    """The refusal that the provider sent in a field of its own; empty if there is none."""
    finish: Finish = "unknown"
    """How the reply ended; `unknown` if the provider did not say."""
    usage: dict[str, int] = {}
    """Token counts such as `input_tokens` and `output_tokens`; empty if the provider gave none."""
    model: str = ""
    """The model as the provider names it; empty if it did not."""
    provider: str = ""
    """The family of the provider's shape, such as `openai`; empty for plain text."""
    raw: Any = None
    """What was read, as it was passed; None if the reply was made by hand."""
    turns: tuple[Turn, ...] | None = None
    """The messages of a reply that has several or holds tool outputs; None for the usual reply of one message."""

    @property
    def messages(self) -> tuple[Turn, ...]:
        """The messages of the reply, tool outputs between them included.

        >>> Reply(text="hi").messages
        (Turn(role='assistant', text='hi', calls=0, outputs=0, after=''),)
        """
        return (Turn(text=self.text, calls=len(self.calls)),) if self.turns is None else self.turns
