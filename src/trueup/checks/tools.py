"""Tool calls: does the name mean an offered tool, are ids and repetitions correct, are all arguments known?

Takes calls and the offered tools; returns findings. Arguments are fitted to their schema elsewhere: this module only
checks what the schema does not.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from trueup.checks.toolset import Toolset
from trueup.verdict.facts import Finding, finding
from trueup.verdict.likeness import nearest
from trueup.verdict.reply import ToolCall
from trueup.verdict.tool import Tool

_LISTED = 12  # offered tools that a finding names
_MISSPELT = 75  # percent: above this, the letters alone show which tool was meant
# Keywords under which a schema may name arguments apart from `properties`.
_ELSEWHERE = frozenset(
    ("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef", "if", "dependentSchemas", "unevaluatedProperties")
)


class Resolved(NamedTuple):
    """The meaning of a name: a tool, or a finding that says why not; `matched` if by convention."""

    tool: Tool | None
    problem: Finding | None
    matched: bool


def resolve(name: str, place: str, tools: Toolset) -> Resolved:
    """The tool that a call's name means.

    >>> resolve("functions.ping", "$.calls[0]", Toolset([Tool("ping")])).matched
    True
    """
    tool = tools.tools.get(name)
    if tool is not None:
        return Resolved(tool, None, matched=False)
    fits = tools.by_convention(name)
    if len(fits) == 1:
        return Resolved(tools.tools[fits[0]], None, matched=True)
    if fits:
        shown = " and ".join(repr(f) for f in sorted(fits)[:2])
        problem = finding("T001", place, f"Tool {name!r} is not defined; it could mean {shown}", None,
                          {"name": name, "candidates": sorted(fits)}, f"Call {shown.replace(' and ', ' or ')}.")  # fmt: skip
        return Resolved(None, problem, matched=False)
    twin = tools.looks_like(name)
    if twin is not None and twin != name:
        problem = finding("T002", place, f"Tool name {name!a} only looks like {twin!r}", None,
                          {"name": name, "looks_like": twin}, f"Write the name {twin!r} in plain letters.")  # fmt: skip
        return Resolved(None, problem, matched=False)
    return Resolved(None, _unknown(name, place, tools), matched=False)


def _unknown(name: str, place: str, tools: Toolset) -> Finding:
    closest = tools.closest(name)
    data: dict[str, Any] = {"name": name, "closest": closest, "tools": sorted(tools.tools)[:_LISTED]}
    message = f"Tool {name!r} is not defined" + (f"; the closest is {closest!r}" if closest else "")
    if closest and tools.misspelt(name, _MISSPELT):
        hint = f"Call {closest!r} instead."
    elif closest:  # it shares words with the name, but may be a different tool
        hint = f"Call {closest!r} if you mean it. Use only these tools: {_listed(tools)}."
    else:
        hint = f"Use only these tools: {_listed(tools)}." if tools.tools else "Call no tool."
    return finding("T001", place, message, None, data, hint)


def unoffered(call: ToolCall, offered: Sequence[Any]) -> Finding | None:
    """Findings about a call under a contract without tools; `offered` are the names that a request offers.

    A call that already has its output was made by the program that runs the tool; nobody has to run it.

    >>> unoffered(ToolCall("pay"), ["ping"]).message
    "Tool 'pay' is not defined"
    """
    if call.answered or call.name in offered:
        return None
    return _unknown(call.name, f"$.calls[{call.index}]", Toolset(Tool(str(name)) for name in dict.fromkeys(offered)))


def _listed(tools: Toolset) -> str:
    return ", ".join(sorted(tools.tools)[:_LISTED]) + (" …" if len(tools.tools) > _LISTED else "")


def no_call(tools: Toolset) -> Finding:
    """The finding for a reply without calls if a call is required.

    >>> no_call(Toolset([Tool("ping")])).hint
    'Call ping.'
    """
    listed = _listed(tools)
    hint = f"Call {listed}." if len(tools.tools) == 1 else f"Call one of these tools: {listed}."
    return finding("T019", "$", "The reply calls no tool", None, {"tools": sorted(tools.tools)[:_LISTED]}, hint)


def unknown_arguments(args: dict[str, Any], tool: Tool, place: str) -> Iterator[Finding]:
    """A warning for each argument that the tool does not name, if its schema allows such arguments."""
    schema = tool.parameters
    if not isinstance(schema, dict) or "additionalProperties" in schema or "patternProperties" in schema:
        return
    known = schema.get("properties")
    if not isinstance(known, dict) or not _ELSEWHERE.isdisjoint(schema):
        return
    for key in args:
        if key not in known and key not in schema.get("required", ()):
            closest = nearest(key, known)
            message = f"{tool.name!r} has no argument {key!r}" + (f"; did you mean {closest!r}?" if closest else "")
            hint = f"Name it {closest!r}." if closest else f"Leave {key!r} out."
            yield finding("T005", place, message, None, {"argument": key, "closest": closest}, hint)


def together(calls: Sequence[ToolCall], *, parallel: bool) -> Iterator[Finding]:
    """Findings about the calls of one reply together: repeated ids, identical calls, several calls where one is
    allowed.

    Calls that were already answered belong to separate turns.
    """
    if len(calls) < 2:
        return
    ids: dict[str, int] = {}
    seen: dict[tuple[str, bytes], int] = {}
    names = Counter(call.name for call in calls)
    for index, call in enumerate(calls):
        first = ids.setdefault(call.id, index) if call.id else index
        if first != index:
            message = f"Call {index} has the id of call {first}: {call.id!r}"
            yield finding("T014", f"$.calls[{index}]", message, None, {"first": first, "id": call.id})
        if call.answered or names[call.name] == 1:
            continue
        twin = seen.setdefault((call.name, _key(call)), index)
        if twin != index:
            message = f"Call {index} repeats call {twin}: {call.name} with the same arguments"
            yield finding("T015", f"$.calls[{index}]", message, None, {"first": twin}, "Make each call once.")
    waiting = sum(not call.answered for call in calls)
    if not parallel and waiting > 1:
        message = f"{waiting} calls in one reply; only one at a time is allowed"
        hint = "Make one call, then wait for its result."
        yield finding("T016", "$.calls", message, None, {"count": waiting}, hint)


def _key(call: ToolCall) -> bytes:
    """The arguments in a canonical form: the order of their keys does not matter."""
    if call.args is None:
        return call.raw_args.encode("utf-8", "surrogatepass")
    try:
        return orjson.dumps(call.args, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError):
        return repr(call.args).encode("utf-8", "surrogatepass")
