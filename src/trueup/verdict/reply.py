"""Reply and ToolCall: a provider's response, in one shape for all providers.

Nothing here depends on a provider; the room `read/` fills in these values.
"""

from typing import Any, Literal

import msgspec

Finish = Literal["stop", "length", "tool", "filter", "refusal", "malformed_tool", "pause", "error", "unknown"]


class ToolCall(msgspec.Struct, frozen=True, dict=True):  # `dict`: the typed arguments are stored next to the fields
    """One tool call that the model asked for."""

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
    """Whether the provider's response already contains the output of the call, as with tools that a provider runs itself."""
    failed: bool = False
    """Whether that output is an error: the call was refused, or its tool failed."""
    after: tuple[str, ...] = ()
    """The tools that must succeed earlier in the same reply before this call may run, as the contract's order requires; empty if there are none."""


class Turn(msgspec.Struct, frozen=True):
    """One message of a reply that has several: its text, and how many calls and tool outputs it contains."""

    role: Literal["assistant", "tool"] = "assistant"
    """`assistant` for a message from the model, `tool` for a tool's output."""
    text: str = ""
    """The text of the message; empty if it has none."""
    calls: int = 0
    """How many calls the message contains."""
    outputs: int = 0
    """How many tool outputs the message contains."""
    after: str = ""
    """The text after the last tool output in this message; empty if there is none."""


class Reply(msgspec.Struct, frozen=True):
    """One reply from a model, in the same shape for all providers.

    >>> Reply(text="hi").finish
    'unknown'
    """

    text: str = ""
    """The text of the reply, without reasoning; empty if there is none."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls of the reply; empty if there are none."""
    reasoning: str = ""
    """The reasoning that the provider sent in a separate field; empty if there is none."""
    refusal: str = ""
    """The refusal that the provider sent in a separate field; empty if there is none."""
    finish: Finish = "unknown"
    """How the reply ended; `unknown` if the provider did not say."""
    usage: dict[str, int] = {}
    """Token counts such as `input_tokens` and `output_tokens`; empty if the provider gave none."""
    model: str = ""
    """The provider's name for the model; empty if it gave none."""
    provider: str = ""
    """The family of the provider's shape, such as `openai`; empty for plain text."""
    raw: Any = None
    """The original input; None if the reply was created directly."""
    turns: tuple[Turn, ...] | None = None
    """The messages of a reply that has several messages or contains tool outputs; None for a reply of one message."""

    @property
    def messages(self) -> tuple[Turn, ...]:
        """The messages of the reply, including tool outputs.

        >>> Reply(text="hi").messages
        (Turn(role='assistant', text='hi', calls=0, outputs=0, after=''),)
        """
        return (Turn(text=self.text, calls=len(self.calls)),) if self.turns is None else self.turns
