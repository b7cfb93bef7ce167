"""Lint of tools: unusable definitions and patterns, misspelled keys, and unknown names in `order` and `calls`."""

from collections.abc import Iterator
from typing import Any

from trueup.checks.unknown_names import pattern_fault
from trueup.conform.schema import SchemaError, refuse_bad_schema
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, FilePlace, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.tool_keys import lint_tool_keys
from trueup.read.definitions import definitions
from trueup.verdict.paths import Parts


def offered(tools: Any) -> list[str] | None:
    """The names of the tools that a contract offers; None if it has no tools, or they cannot be read."""
    try:
        return None if tools is None else [tool.name for tool in definitions(tools)]
    except ValueError:
        return None


def lint_tools(data: dict[str, Any], marks: Origins, names: list[str] | None) -> Iterator[Fault]:
    """The faults in the tools of a contract, and in the names that its order and its claims use."""
    yield from _bad_tools(data.get("tools"), marks)
    yield from _bad_patterns(data.get("calls"), marks)
    for path, name, place in _used(data, marks):
        yield from unknown_tool(name, path, place, names)


def unknown_tool(name: str, path: Parts, place: FilePlace, names: list[str] | None) -> Iterator[Fault]:
    """A fault if a name is not a tool; nothing if the tools are unknown."""
    if names is not None and name not in names:
        hint = did_you_mean(name, names, f"The contract offers {', '.join(names[:20]) or 'none'}.")
        yield fault("N010", place, path, f"{name!r} is not a tool of this contract", hint)


def _bad_tools(tools: Any, marks: Origins) -> Iterator[Fault]:
    if tools is None:
        return
    seen: set[str] = set()
    listed = isinstance(tools, list)
    for index, item in enumerate(tools if isinstance(tools, list) else [tools]):
        path: Parts = ("tools", index) if listed else ("tools",)
        place = marks.value(path)
        try:
            found = definitions(item, f"tools[{index}]" if listed else "tools")
            for tool in found:
                refuse_bad_schema(tool.parameters, f"tool {tool.name!r}")
        except (ValueError, SchemaError) as error:
            yield fault("N009", place, path, str(error))
            continue
        for tool in found:
            if tool.name in seen:
                yield fault("N009", place, path, f"two tools are named {tool.name!r}", "Give each its own name.")
            seen.add(tool.name)
        yield from lint_tool_keys(item, path, marks)


def _bad_patterns(calls: Any, marks: Origins) -> Iterator[Fault]:
    """The patterns of `calls.mentions` that cannot be used."""
    mentions = calls.get("mentions") if isinstance(calls, dict) else None
    patterns = mentions.get("patterns") if isinstance(mentions, dict) else None
    for index, source in enumerate(patterns if isinstance(patterns, list) else ()):
        reason = pattern_fault(source) if isinstance(source, str) else ""
        if reason:
            path: Parts = ("calls", "mentions", "patterns", index)
            yield fault("N014", marks.value(path), path, f"the pattern cannot be used: {reason}")


def _used(data: dict[str, Any], marks: Origins) -> Iterator[tuple[Parts, str, FilePlace]]:
    """Every tool name that `order` and `calls.claims` use, with its position."""
    calls = data.get("calls")
    claims = calls.get("claims") if isinstance(calls, dict) else None
    for name in claims if isinstance(claims, dict) else ():
        path: Parts = ("calls", "claims", name)
        yield path, name, marks.key(path)
    order = data.get("order")
    if isinstance(order, list):
        order = {"": order}
    for part, value in order.items() if isinstance(order, dict) else ():
        base: Parts = ("order", part) if part else ("order",)
        if isinstance(value, list):
            yield from _listed(value, base, marks)
        elif isinstance(value, dict):
            for name, others in value.items():
                yield (*base, name), name, marks.key((*base, name))
                if isinstance(others, list):
                    yield from _listed(others, (*base, name), marks)


def _listed(names: list[Any], base: Parts, marks: Origins) -> Iterator[tuple[Parts, str, FilePlace]]:
    for index, name in enumerate(names):
        path = (*base, index)
        yield path, name, marks.value(path)
