"""Tool calls judged before any is run: names, arguments, order, and what the prose says of tools.

A reply's calls and text enter; the calls that may be run, the refusals, the findings and the fixes leave.
Arguments go the same line as any value: recovered, conformed and checked under the tool's own schema.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trueup.checks.mentions import mention_findings
from trueup.checks.order import Order, order_findings, read_order
from trueup.checks.tools import resolve, together, unknown_arguments
from trueup.checks.toolset import Toolset
from trueup.conform.functions import function_tool
from trueup.contract.merge import Judged
from trueup.read.answers import answer_refusals
from trueup.read.definitions import definitions
from trueup.recover.calls import Leak, leaked_calls
from trueup.recover.candidate import to_fixes
from trueup.recover.clean import written
from trueup.verdict.facts import Finding, Fix, finding, fix
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Refusal, Verdict, answer_with

# Judges the arguments of one tool: given as text or as a value.
Check = Callable[[Any], Verdict]
_CUT = frozenset({"S028", "S029", "S030"})
_WRAPS = ("arguments", "args", "parameters", "params", "input", "kwargs")


class CallOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How calls are judged: from text too, in parallel, with defaults filled in, prose about tools watched."""

    from_text: bool = True
    parallel: bool = True
    defaults: bool = False
    mentions: bool = True


answer_with(answer_refusals)


def make_call_judge(tools: Any, order: Any, options: Any, make_check: Callable[[Tool], Check]) -> "CallJudge":
    """A judge of calls from the tools, order and options a contract was given."""
    if not isinstance(options, CallOptions):
        try:
            options = msgspec.convert(options or {}, CallOptions)
        except msgspec.ValidationError as error:
            raise ValueError(f"calls: {error}; it takes {', '.join(CallOptions.__struct_fields__)}") from None
    return CallJudge(Toolset(_tools(tools)), read_order(order or ()), options, make_check)


def _tools(source: Any) -> list[Tool]:
    """Tools from definitions of any shape, Python functions and classes among them."""
    if isinstance(source, Toolset):
        return list(source.tools.values())
    given = source if isinstance(source, list | tuple) else [source]
    out: list[Tool] = []
    for index, item in enumerate(given):
        plain_function = inspect.isroutine(item) or isinstance(item, type)
        out += [function_tool(item)] if plain_function else definitions(item, f"tools[{index}]")
    return out


class CallJudge:
    """Judges the calls of replies under one set of tools."""

    __slots__ = ("_checks", "_make_check", "_order", "options", "tools")

    def __init__(self, tools: Toolset, order: Order, options: CallOptions, make_check: Callable[[Tool], Check]) -> None:
        self.tools = tools
        self.options = options
        self._order = order
        self._make_check = make_check
        self._checks: dict[str, Check] = {}

    def judge(self, reply: Reply, before: Sequence[str]) -> Judged:
        """Judge all calls of a reply; `before` are the names of calls made earlier in the conversation."""
        findings: list[Finding] = []
        fixes: list[Fix] = []
        given = list(reply.calls)
        if not given and self.options.from_text and reply.text:
            given = self._from_text(reply.text, fixes)
        passed: list[ToolCall] = []
        keys: list[str] = []
        names: list[str] = []
        own: list[list[Finding]] = []
        for index, call in enumerate(given):
            judged, problems = self._one(call, index, reply.finish, fixes)
            own.append(problems)
            names.append(judged.name if judged else call.name)
            keys.append(written(judged.args).decode() if judged else call.raw_args)
            passed.append(judged or call)
        for problem in (*together(passed, keys, self.options.parallel), *order_findings(names, before, self._order)):
            place = int(problem.path[8:-1]) if problem.path.startswith("$.calls[") else None
            (own[place] if place is not None else findings).append(problem)
        if self.options.mentions and reply.text and not any(call.origin != "native" for call in given):
            findings += mention_findings(reply.text, self.tools, set(names) | set(before))
        if not given and not reply.text.strip() and not reply.refusal:
            findings.append(
                finding("T013", "$", "The reply has neither text nor calls", None, {}, "Answer, or call a tool.")
            )
        return _sorted(given, passed, own, findings, fixes)

    def _from_text(self, text: str, fixes: list[Fix]) -> list[ToolCall]:
        """Calls that were written into the text, each with its fixes."""
        calls = []
        for index, leak in enumerate(leaked_calls(text, self.tools.offers)):
            place = f"$.calls[{index}]"
            fixes.append(fix("K001", place, (leak.start, leak.stop), text[leak.start : leak.stop][:200], leak.name))
            fixes += [_moved(f, place) for f in to_fixes(text, list(leak.records))]
            calls.append(_as_call(leak, index))
        return calls

    def _one(self, call: ToolCall, index: int, finish: str, fixes: list[Fix]) -> tuple[ToolCall | None, list[Finding]]:
        place = f"$.calls[{index}]"
        resolved = resolve(call.name, place, self.tools)
        if resolved.tool is None:
            return None, [resolved.problem] if resolved.problem else []
        tool = resolved.tool
        if resolved.matched:
            fixes.append(fix("K002", place, None, call.name, tool.name))
        if call.kind == "custom":
            return msgspec.structs.replace(call, name=tool.name), []
        return self._arguments(call, tool, index, finish, fixes)

    def _arguments(
        self, call: ToolCall, tool: Tool, index: int, finish: str, fixes: list[Fix]
    ) -> tuple[ToolCall | None, list[Finding]]:
        """Bring the arguments of a call to the tool's schema."""
        place = f"$.calls[{index}].args"
        check = self._checks.get(tool.name)
        if check is None:
            check = self._checks[tool.name] = self._make_check(tool)
        source = call.args if call.args is not None else call.raw_args
        verdict = check(source if source != "" else {})
        args = verdict.data
        if not verdict.ok and isinstance(args, dict) and (inner := self._unwrapped(args, tool, check)) is not None:
            fixes.append(fix("K003", place, None, next(iter(args)), ""))
            verdict, args = inner, inner.data
        fixes += [_moved(f, place) for f in verdict.fixes]
        problems = _problems(verdict, call, place, finish)
        if isinstance(args, dict):
            problems += unknown_arguments(args, tool, place)
            args = self._filled(args, tool, place, fixes)
        if any(p.level == "error" for p in problems) or not isinstance(args, dict):
            return None, problems
        return msgspec.structs.replace(call, name=tool.name, args=args, parse_error=""), problems

    def _unwrapped(self, args: dict[str, Any], tool: Tool, check: Check) -> Verdict | None:
        """`{"arguments": {…}}`: the verdict of what is inside, when only that fits."""
        key = next(iter(args), "")
        known = tool.parameters.get("properties", {}) if isinstance(tool.parameters, dict) else {}
        if len(args) != 1 or key not in _WRAPS or key in known:
            return None
        inner = check(args[key]) if isinstance(args[key], dict | str) else None
        return inner if inner is not None and inner.ok and isinstance(inner.data, dict) else None

    def _filled(self, args: dict[str, Any], tool: Tool, place: str, fixes: list[Fix]) -> dict[str, Any]:
        """The arguments with the schema's defaults for what is missing, if the contract asks for that."""
        properties = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
        if not self.options.defaults or not isinstance(properties, dict):
            return args
        for key, schema in properties.items():
            if key not in args and isinstance(schema, dict) and "default" in schema:
                args = {**args, key: schema["default"]}
                fixes.append(fix("K004", f"{place}.{key}", None, "", written(schema["default"]).decode()))
        return args


def _as_call(leak: Leak, index: int) -> ToolCall:
    args = leak.arguments if isinstance(leak.arguments, dict) else None
    raw = leak.arguments if isinstance(leak.arguments, str) else leak.raw
    if args is None and not isinstance(leak.arguments, str):
        raw = written(leak.arguments).decode()
    return ToolCall(leak.name, args, "", raw, f"text:{leak.dialect}", "", index)


def _moved(change: Fix, place: str) -> Fix:
    return msgspec.structs.replace(change, path=place + change.path[1:])


def _problems(verdict: Verdict, call: ToolCall, place: str, finish: str) -> list[Finding]:
    """The errors of a verdict on arguments, as errors of the call."""
    cut = any(f.code in _CUT for f in verdict.fixes)
    if not isinstance(verdict.data, dict) and (verdict.data is not None or call.raw_args.strip() == "null"):
        got = type(verdict.data).__name__
        return [
            finding(
                "T004",
                place,
                f"{call.name!r} takes an object of arguments, got {got}",
                None,
                {"got": got},
                "Give the arguments as a JSON object.",
            )
        ]
    if not verdict.ok and (cut or (finish == "length" and not call.args)):
        message = f"The arguments of {call.name!r} were cut off"
        return [
            finding(
                "T006",
                place,
                message,
                None,
                {"raw": call.raw_args[:200]},
                "Give shorter arguments, or raise the output limit.",
            )
        ]
    if verdict.data is None and not verdict.ok:
        message = f"The arguments of {call.name!r} are not JSON: {verdict.errors[0].message}"
        return [
            finding("T003", place, message, None, {"raw": call.raw_args[:200]}, "Give the arguments as a JSON object.")
        ]
    return [msgspec.structs.replace(f, path=place + f.path[1:]) for f in verdict.findings]


def _sorted(
    given: list[ToolCall], passed: list[ToolCall], own: list[list[Finding]], findings: list[Finding], fixes: list[Fix]
) -> Judged:
    """Part the calls into those that may be run and those that may not."""
    good: list[ToolCall] = []
    refused: list[Refusal] = []
    blocked = any(f.level == "error" and f.path == "$.calls" for f in findings)
    for call, judged, problems in zip(given, passed, own, strict=True):
        findings += problems
        errors = tuple(p for p in problems if p.level == "error")
        if errors or blocked:
            refused.append(Refusal(call, errors or tuple(f for f in findings if f.path == "$.calls")))
        else:
            good.append(judged)
    return Judged(tuple(good), tuple(refused), findings, fixes)
