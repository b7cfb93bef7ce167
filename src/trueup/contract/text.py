"""A contract as text: takes a contract and returns JSON from which the same contract can be made, and the reverse.

The text lists the options as a contract file would. Python functions, classes and compiled rules cannot be written: in
their place, the text contains everything that can be, such as the JSON Schema of a type, and lists the rest in `lost`.
A text is `portable` if the contract made from it has the same fingerprint; this is tested.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueup.conform.schema import Schema
from trueup.contract.options import OPTIONS
from trueup.verdict.tool import Tool

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_MOST_TEXT = 1_000_000
_MOST_DEPTH = 100


def text_of(contract: "Contract[Any]", clean: Callable[[Any], Any] | None = None) -> str:
    """The text of a `contract`; `clean` removes anything that must not be written, such as keys. It never raises.

    >>> from trueup import Contract
    >>> text_of(Contract({"type": "object"}, name="any", rules=["n > 0"]))
    '{"portable":true,"options":{"schema":{"type":"object"},"rules":["n > 0"],"name":"any"}}'
    """
    lost: list[str] = []
    try:
        options = _options(contract, lost)
        if clean is not None and (shown := clean(options)) != options:
            options = shown
            lost.append("something was redacted")
        if not lost and not _is_same(contract, options):
            lost.append("the options do not give the same fingerprint")
        text = _written({**_said(lost), "options": options})
        if len(text) > _MOST_TEXT:
            text = _written({**_said([*lost, f"longer than {_MOST_TEXT:,} characters"]), "options": {}})
    except Exception as error:  # noqa: BLE001 - a contract that judges must not fail because of its text
        text = _written({**_said([f"cannot be written: {type(error).__name__}"]), "options": {}})
    return text


def rebuilt(text: str) -> "Contract[Any]":
    """The contract from a `text` of the store; raises ValueError if the text is not portable."""
    from trueup.contract.contract import Contract

    found = orjson.loads(text)
    if not found["portable"]:
        raise ValueError(f"this contract cannot be made from its text: {'; '.join(found['lost'])}")
    return Contract(**found["options"])


def _said(lost: list[str]) -> dict[str, Any]:
    return {"portable": False, "lost": lost} if lost else {"portable": True}


def _written(value: Any) -> str:
    return orjson.dumps(value).decode()  # in the given order: the first state may be the start


def _is_same(contract: "Contract[Any]", options: dict[str, Any]) -> bool:
    from trueup.contract.contract import Contract

    try:
        return Contract(**orjson.loads(_written(options))).fingerprint == contract.fingerprint
    except Exception:  # noqa: BLE001 - whatever it is, this text does not give the contract
        return False


def _options(contract: "Contract[Any]", lost: list[str]) -> dict[str, Any]:
    """The options of a contract that can be written."""
    given: Mapping[str, Any] = contract._given  # noqa: SLF001 - of the same room
    options: dict[str, Any] = {}
    schema = contract.schema
    if schema is not None:
        options["schema"] = _plain(schema.source, "schema", lost)
        source = given["schema"]
        if (
            source is not None
            and not isinstance(source, dict | bool | str | os.PathLike | Schema)
            and _has_code(source)
        ):
            lost.append(f"schema: the Python type {_name(source)}")
    for name, value in given.items():
        default = OPTIONS[name].default
        if value is None or (default is not None and value == default):
            continue
        if name not in ("schema", "tools"):
            options[name] = _plain(value, name, lost)
    if given["tools"] is not None:
        options["tools"] = [_tool(tool, lost) for tool in contract.tools]
    return options


def _has_code(schema: Any) -> bool:
    from trueup.conform.annotations import code_in

    return bool(code_in(schema))


def _tool(tool: Tool, lost: list[str]) -> dict[str, Any]:
    if tool.function is not None:
        lost.append(f"tools: the Python function {tool.name}")
    said: dict[str, Any] = {"name": tool.name, "parameters": _plain(tool.parameters, "tools", lost)}
    return {**said, "description": tool.description} if tool.description else said


def _plain(value: Any, place: str, lost: list[str], depth: int = 0) -> Any:
    """A value as JSON; if that is impossible, its name."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth > _MOST_DEPTH:
        lost.append(f"{place}: deeper than {_MOST_DEPTH} levels")
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(part, place, lost, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [_plain(part, place, lost, depth + 1) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(part, place, lost, depth + 1) for part in value), key=str)
    if hasattr(value, "_asdict"):
        return _plain(value._asdict(), place, lost, depth + 1)
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value), place, lost, depth + 1)
    lost.append(f"{place}: the Python object {_name(value)}")
    return _name(value)


def _name(value: Any) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))
