"""Tool: what a model was offered, in one shape for all providers."""

from collections.abc import Callable
from typing import Any

import msgspec


class Tool(msgspec.Struct, frozen=True):
    """One tool: its name, what it does, the schema of its arguments, and the function behind it if there is one."""

    name: str
    """The name that the model calls it by."""
    description: str = ""
    """What the tool does, for the model; empty if nothing is said."""
    parameters: dict[str, Any] | bool = True
    """The JSON Schema of its arguments; True for any object."""
    function: Callable[..., Any] | None = None
    """The Python function behind it; None if there is none."""
