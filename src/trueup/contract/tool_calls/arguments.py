"""The arguments of one call, fitted to its tool's schema: read, unwrapped, filled, conformed and checked.

Takes a call and its tool; returns the arguments to pass on, the findings and the fixes. Truncated arguments are
distinguished from malformed ones, and a call with incomplete arguments is never passed on.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from trueup.checks.fixes import remarks
from trueup.checks.tools import unknown_arguments
from trueup.contract.tool_calls.leaks import CUT
from trueup.recover.calls.values import ARGUMENT_KEYS
from trueup.verdict.bugs import bug_of
from trueup.verdict.catalogue import Level
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, Fix, demoted, finding, fix
from trueup.verdict.paths import Parts, parse, render, value_at, with_value
from trueup.verdict.reply import ToolCall
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

# Judges the arguments of one tool: given as text or as a value.
Check = Callable[[Any], Verdict]
_CUT = frozenset({"S028", "S029", "S030"})
_OPEN_END = _CUT | {"S005"}
_AS_OBJECT = "Give the arguments as a JSON object."
_NOT_JSON = "the arguments hold what JSON cannot: NaN, half of a surrogate pair, or a value of another kind"
_SEVERAL = "the arguments hold several objects that differ, and nothing says which one is meant"
_SHORTER = "Give shorter arguments, or raise the output limit."


class ArgumentsResult(NamedTuple):
    """The result for the arguments: an object, or None if there is none to pass on.

    `made` is the result of the tool's own annotations, if the tool is a function or a class.
    """

    args: dict[str, Any] | None
    findings: list[Finding]
    fixes: list[Fix]
    made: Any = None


def keep_made(call: ToolCall, function: Callable[..., Any] | None, made: Any) -> None:
    """Store with a call the arguments that annotations produced: they may not accept their own output again."""
    call.__dict__["made"] = function, made


def made_for(call: ToolCall, function: Callable[..., Any]) -> Any:
    """The arguments that were produced for this very function; None if there are none."""
    known, made = call.__dict__.get("made", (None, None))
    return made if known is function else None


class ArgumentJudge:
    """Judges arguments; the check of a tool is made for its first call."""

    __slots__ = ("_accept", "_checks", "_defaults", "_enums", "_make_check", "_types")

    def __init__(
        self,
        make_check: Callable[[Tool], Check],
        *,
        defaults: bool,
        types: Level = "error",
        enums: Literal["error", "default"] = "error",
        accept: str = "guess",
    ) -> None:
        self._make_check = make_check
        self._defaults = defaults
        self._types = types
        self._enums = enums
        self._accept = accept
        self._checks: dict[str, Check] = {}

    def judge(self, call: ToolCall, tool: Tool, index: int, finish: str) -> ArgumentsResult:
        """Fit the arguments of a call to the tool's schema."""
        if call.origin != "native" and call.parse_error:
            return ArgumentsResult(None, [_unread(call, index, call.parse_error)], [])
        check = self._checks.get(tool.name)
        if check is None:
            check = self._checks[tool.name] = self._make_check(tool)
        source: Any = call.args if call.args is not None else call.raw_args
        place = f"$.calls[{index}].args"
        fixes: list[Fix] = []
        try:
            inner = self._unwrapped(source, tool, check, place, fixes)
            verdict = check(source if source != "" else {}) if inner is None else inner
            args = verdict.data
            if self._defaults and type(args) is dict:
                verdict, args = self._filled(verdict, args, tool, check, place, fixes)
            if self._enums == "default" and not verdict.ok and type(args) is dict:
                verdict, args = _defaulted(verdict, args, tool, check, place, fixes)
        except (TypeError, UnicodeEncodeError, RecursionError) as error:
            if bug_of(error) is not None:  # the tool's own validator raised it
                raise
            return ArgumentsResult(None, [_unread(call, index, _NOT_JSON)], [])
        if any(f.code == "W010" for f in verdict.fixes):
            return ArgumentsResult(None, [_unread(call, index, _SEVERAL)], [])
        if type(args) is dict and "null" in call.raw_args and not _finite(args):
            return ArgumentsResult(None, [_unread(call, index, _NOT_JSON)], [])
        fixes += [_moved(f, place) for f in verdict.fixes]
        problems = [*_problems(verdict, call, index, finish), *_remarks(fixes, self._accept)]
        if self._types == "warning":
            problems = [demoted(problem) if problem.code == "V001" else problem for problem in problems]
        if type(args) is not dict:
            return ArgumentsResult(None, problems, fixes)
        meant = {f.data.get("similar") for f in problems}
        unknown = [f for f in unknown_arguments(args, tool, place) if f.data["argument"] not in meant]
        made = verdict.value if tool.function is not None and verdict.ok and args is verdict.data else None
        return ArgumentsResult(args, [*problems, *unknown], fixes, made)

    def _unwrapped(self, args: Any, tool: Tool, check: Check, place: str, fixes: list[Fix]) -> Verdict | None:
        """`{"arguments": {…}}`: the verdict on the inner object, if only that fits the tool."""
        if type(args) is not dict or len(args) != 1:
            return None
        (key, inner), *_ = args.items()
        known = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
        if key not in ARGUMENT_KEYS or not isinstance(known, dict) or key in known or not isinstance(inner, dict | str):
            return None
        found = check(inner)
        if not found.ok or not isinstance(found.data, dict) or not found.data.keys() <= known.keys():
            return None
        fixes.append(fix("K003", place, None, key, ""))
        return found

    def _filled(
        self, verdict: Verdict, args: dict[str, Any], tool: Tool, check: Check, place: str, fixes: list[Fix]
    ) -> tuple[Verdict, dict[str, Any]]:
        """The arguments, with the schema's defaults for missing ones, each with its fix."""
        known = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
        missing = {
            key: schema["default"]
            for key, schema in (known.items() if isinstance(known, dict) else ())
            if key not in args and isinstance(schema, dict) and "default" in schema
        }
        if not missing:
            return verdict, args
        fixes += [fix("K004", f"{place}.{key}", None, "", written(value).decode()) for key, value in missing.items()]
        if verdict.ok:
            return verdict, {**args, **missing}
        fixes += [_moved(f, place) for f in verdict.fixes]
        again = check({**args, **missing})
        return again, again.data if isinstance(again.data, dict) else args


def _moved(change: Fix, place: str) -> Fix:
    """A fix of the arguments as one of the call; its span is still a span in the text of the arguments."""
    return msgspec.structs.replace(change, path=place + change.path[1:])


def _defaulted(
    verdict: Verdict, args: dict[str, Any], tool: Tool, check: Check, place: str, fixes: list[Fix]
) -> tuple[Verdict, dict[str, Any]]:
    """The arguments, with the tool's default for each value outside its enum, each with its fix."""
    replaced: dict[Parts, Any] = {}
    filled: Any = args
    for found in verdict.errors:
        path = parse(found.path)
        schema = _part(tool.parameters, path)
        if found.code == "V005" and path and "default" in schema:
            replaced[path] = value_at(filled, path)
            filled = with_value(filled, path, schema["default"])
    if not replaced:
        return verdict, args
    again = check(filled)
    if not isinstance(again.data, dict) or any(parse(found.path) in replaced for found in again.errors):
        return verdict, args  # a default that does not fit either
    fixes += [_moved(f, place) for f in verdict.fixes]
    for path, value in replaced.items():
        after = written(value_at(filled, path)).decode()
        fixes.append(fix("K005", place + render(path)[1:], None, written(value).decode(), after))
    return again, again.data


def _part(schema: Any, path: Parts) -> dict[str, Any]:
    """The schema of one field, found by following `properties`."""
    for step in path:
        known = schema.get("properties") if isinstance(schema, dict) else None
        schema = known.get(step) if isinstance(known, dict) else None
    return schema if isinstance(schema, dict) else {}


def _remarks(fixes: list[Fix], accept: str) -> Iterator[Finding]:
    """The findings about a default that replaced a value, if the contract does not accept such a fix."""
    return remarks(tuple(change for change in fixes if change.code == "K005"), accept)


def _problems(verdict: Verdict, call: ToolCall, index: int, finish: str) -> list[Finding]:
    """The findings of a verdict on arguments, as findings of the call."""
    ok = verdict.ok
    if ok and not verdict.findings and finish != "length":
        return []
    codes = {f.code for f in verdict.fixes}
    if (not ok and codes & _CUT) or (finish == "length" and (codes & _OPEN_END or (not ok and not call.args))):
        return [_unread(call, index, CUT)]
    place = f"$.calls[{index}].args"
    data = verdict.data
    not_an_object = call.parse_error.endswith("not an object") if call.args is None else False
    if not isinstance(data, dict) and (data is not None or not_an_object):
        got = call.parse_error.removeprefix("arguments are ").removesuffix(", not an object") or type(data).__name__
        message = f"Call {index} ({call.name}): the arguments must be an object, got {got}"
        return [finding("T004", place, message, None, {"got": got, "raw": call.raw_args[:200]}, _AS_OBJECT)]
    if data is None and not ok:
        return [_unread(call, index, f"the arguments are not JSON: {verdict.errors[0].message}")]
    return [msgspec.structs.replace(f, path=place + f.path[1:]) for f in verdict.findings]


def _finite(value: Any) -> bool:
    """Whether a value contains no NaN and no infinity; examined level by level."""
    level = [value]
    while level:
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            return False
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for children in inner for child in children]
    return True


def _unread(call: ToolCall, index: int, fault: str) -> Finding:
    """The arguments were cut off, or cannot be read at all."""
    place = f"$.calls[{index}].args"
    data = {"tool": call.name, "fault": fault, "raw": call.raw_args[:200]}
    if fault == CUT:
        return finding("T006", place, f"Call {index} ({call.name}): {CUT}", None, data, _SHORTER)
    return finding("T003", place, f"Call {index} ({call.name}): {fault}", None, data, _AS_OBJECT)
