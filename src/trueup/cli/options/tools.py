"""The options for tool calls: turn words from the command line into tools, their order and the history.

Tools are a file in any provider's format, JSON text, or `module:name`; an order is names, JSON text or a file.
"""

from pathlib import Path
from typing import Any

from trueup.cli.options.references import Unavailable, python_object, read_json

_HOW = "give a .json file, JSON text, or module:name"
_ORDER_HOW = "give names separated by commas, JSON text, or a .json file"
_HISTORY_HOW = "give a .json file with the list of messages before the reply"


def read_tools(given: str) -> Any:
    """The tool definitions that an option names, unchanged."""
    found = python_object("--tools", given)
    return read_json("--tools", given, "list of tools", _HOW) if found is None else found


def read_order(given: str) -> Any:
    """The order that an option names. From a file with tools and their order, only the order.

    >>> read_order("look, book")
    ['look', 'book']
    """
    if given.lstrip()[:1] in {"{", "["} or given.endswith(".json") or Path(given).exists():
        order = read_json("--order", given, "order", _ORDER_HOW)
        return order["order"] if isinstance(order, dict) and "order" in order else order
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise Unavailable(f"--order {given!r}: a name is missing between the commas; {_ORDER_HOW}")
    return names


def read_history(given: str) -> list[Any]:
    """The messages that an option names: a list, or an object with `messages`."""
    found = read_json("--history", given, "history", _HISTORY_HOW)
    if isinstance(found, dict) and isinstance(found.get("messages"), list):
        found = found["messages"]
    if not isinstance(found, list):
        raise Unavailable(f"--history {given}: a history is a list of messages; {_HISTORY_HOW}")
    return found
