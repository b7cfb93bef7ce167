"""Reply and ToolCall: what a provider sent, in one shape for all of them.

Nothing here knows a provider's words; the room `read/` fills these in.
"""

from typing import Any, Literal

import msgspec

Finish = Literal["stop", "length", "tool", "filter", "refusal", "malformed_tool", "pause", "error", "unknown"]


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool, as the model asked for it; `raw_args` is verbatim."""

    name: str
    args: dict[str, Any] | None = None
    id: str = ""
    raw_args: str = ""
    origin: str = "native"


class Reply(msgspec.Struct, frozen=True):
    """One reply of a model: its text, its tool calls, how it ended.

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
