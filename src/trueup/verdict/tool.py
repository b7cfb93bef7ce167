"""Tool: what a model was offered, in one shape for all providers."""

from collections.abc import Callable
from typing import Any

import msgspec


class Tool(msgspec.Struct, frozen=True):
    """One tool: its name, what it does, the schema of its arguments, and the function behind it if there is one."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | bool = True
    function: Callable[..., Any] | None = None
