"""Tool: a tool that a model was offered, in one shape for all providers."""

from collections.abc import Callable
from typing import Any

import msgspec


class Tool(msgspec.Struct, frozen=True):
    """One tool: its name, its description, the schema of its arguments, and its function if there is one."""

    name: str
    """The name that the model calls it by."""
    description: str = ""
    """A description of the tool for the model; empty if there is none."""
    parameters: dict[str, Any] | bool = True
    """The JSON Schema of its arguments; True for any object."""
    function: Callable[..., Any] | None = None
    """The Python function that runs the tool; None if there is none."""
