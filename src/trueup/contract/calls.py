"""Judge tool calls before any is run: names, arguments, order, and claims about tools in the text.

Takes a reply's calls and text; returns the calls that may be run, the refused ones, the findings and the fixes.
Arguments are processed like any value: recovered, conformed, and checked against the tool's own schema.
"""

import inspect
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import msgspec

from trueup.checks.fixes import remarks, too_many
from trueup.checks.mentions import mention_findings
from trueup.checks.order import Order, order_findings, read_order, with_expected
from trueup.checks.problems import takes
from trueup.checks.tools import no_call, resolve, together
from trueup.checks.toolset import Toolset
from trueup.checks.unknown_names import USUAL, Mentions, pattern_fault, undefined
from trueup.conform.functions import function_tool
from trueup.conform.schema import refuse_bad_schema
from trueup.contract.judging.incoming import without_surrogates
from trueup.contract.judging.merge import Account, JudgedCalls, parted
from trueup.contract.runners import is_runner
from trueup.contract.tool_calls.arguments import ArgumentJudge, Check, keep_made
from trueup.contract.tool_calls.leaks import as_call, invented, is_signature, unbundled, with_ids
from trueup.read.answers import answer_refusals
from trueup.read.definitions import definitions
from trueup.read.history import Earlier
from trueup.read.registries import held_tools, is_collection
from trueup.recover.calls.search import CallText, Leak, leaked_calls
from trueup.recover.candidate import to_fixes
from trueup.recover.json.parser import Record, TooMany
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding, Fix, finding, fix
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import answer_with


class CallOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How calls are judged: the option `calls`.

    - `from_text`: whether calls that the model wrote into its text are read.
    - `parallel`: whether one reply may contain several calls.
    - `defaults`: whether missing arguments are filled in from the defaults in the tool's schema.
    - `mentions`: whether names in the text that look like tools but are not offered are reported; `Mentions` says which.
    - `envelope`: whether calls are in the reply's value, under `toolCalls`.
    - `required`: whether a reply without a call is refused.
    - `types`: the level of an argument of the wrong type; after a `warning`, the call may run with the value as it is.
    - `outside_enum`: what happens to an argument outside its enum: an `error`, or the tool's `default` if it has one.
    - `claims`: for a tool, phrases that say it was run, such as `I've booked`; a claim without a call is refused. Empty: none.
    """

    from_text: bool = True
    parallel: bool = True
    defaults: bool = False
    mentions: bool | Mentions = True
    envelope: bool = False
    required: bool = False
    types: Level = "error"
    outside_enum: Literal["error", "default"] = "error"
    claims: dict[str, tuple[str, ...]] = {}


answer_with(answer_refusals)
_TOOL_LIKE = lazy_regex(r"[^\W\d][\w.\-:/]{1,79}")
_MISSPELT = 90  # percent; an unmarked name that is at least this similar to an offered one is a misspelling of it
_QUOTED = ('"name"', '"tool', '"function', '"recipient_name"')
_MARKED = frozenset({"tool_call", "tag", "glm", "harmony", "react", "recipient", "chatglm3"})


def make_call_judge(
    tools: Any, order: Any, options: Any, make_check: Callable[[Tool], Check], accept: str = "guess"
) -> "CallJudge":
    """A judge of calls, made from a contract's tools, order and options."""
    if not isinstance(options, CallOptions):
        try:
            options = msgspec.convert(options or {}, CallOptions)
        except msgspec.ValidationError as error:
            raise ValueError(f"calls: {error}; {takes(options, CallOptions.__struct_fields__)}") from None
    toolset = Toolset(read_tools(tools))
    for tool in toolset.tools.values():
        refuse_bad_schema(tool.parameters, f"tool {tool.name!r}")
    unknown = [name for name in options.claims if name not in toolset.tools]
    if unknown:
        raise ValueError(f"calls: claims names {unknown[0]!r}, which is not a tool of this contract")
    for source in options.mentions.patterns if isinstance(options.mentions, Mentions) else ():
        if reason := pattern_fault(source):
            raise ValueError(f"calls: the pattern {source!r} of mentions cannot be used: {reason}")
    arguments = ArgumentJudge(
        make_check, defaults=options.defaults, types=options.types, enums=options.outside_enum, accept=accept
    )
    asked = read_order(order or ())
    _refuse_unknown(asked, toolset)
    return CallJudge(toolset, asked, options, arguments, accept)


def _refuse_unknown(order: Order, tools: Toolset) -> None:
    """Refuse a name in the order that is not a tool: the contract's author misspelled it."""
    for name in order.names():
        if name not in tools.tools:
            closest = tools.closest(name)
            raise ValueError(
                f"order: {name!r} is not a tool of this contract" + (f"; {closest!r} is" if closest else "")
            )


def read_tools(source: Any) -> list[Tool]:
    """Tools from definitions of any shape, including Python functions and classes."""
    if isinstance(source, Toolset):
        return list(source.tools.values())
    if isinstance(source, dict) and source and all(map(is_runner, source.values())):  # as for `execute`
        return [msgspec.structs.replace(read_tools([item])[0], name=str(name)) for name, item in source.items()]
    given = source if isinstance(source, list | tuple) else list(source) if is_collection(source) else [source]
    out: list[Tool] = []
    for index, item in enumerate(given):
        if _is_function(item):
            out.append(function_tool(item))
        elif (held := held_tools(item)) is not None:
            out += read_tools(held)
        elif callable(item) and not hasattr(item, "name"):  # a callable object, not a definition
            out.append(function_tool(item))
        else:
            out += definitions(item, f"tools[{index}]")
    return out


def _is_function(item: Any) -> bool:
    return inspect.isroutine(item) or isinstance(item, type | partial)


class CallJudge:
    """Judges the calls of replies against one set of tools."""

    __slots__ = ("_accept", "_arguments", "_order", "options", "tools")

    def __init__(
        self, tools: Toolset, order: Order, options: CallOptions, arguments: ArgumentJudge, accept: str
    ) -> None:
        self.tools = tools
        self.options = options
        self._order = order
        self._arguments = arguments
        self._accept = accept

    @property
    def ordered(self) -> frozenset[str]:
        """The tools whose calls must follow an order."""
        return self._order.chained()

    def judge(
        self, reply: Reply, before: Sequence[Earlier] = (), *, is_data: bool = False, expected: Any = None
    ) -> JudgedCalls:
        """Judge all calls of a reply; `before` is what the model said earlier in the conversation, with the results of
        its calls.

        `is_data` means that the text is known to be a value, so it is not searched for calls. `expected` are the names
        that a context expects in a fixed order, in place of the contract's.
        """
        order = with_expected(self._order, expected)
        findings: list[Finding] = []
        fixes: list[Fix] = []
        prose = reply.text
        written: _Written | None = None
        given: Sequence[ToolCall] = reply.calls
        remarked: list[list[Finding]] | None = None
        if not given and prose and self.options.from_text and not is_data:
            try:
                found, remarked, prose, written = self._from_text(reply, fixes)
            except TooMany as limit:
                return JudgedCalls((), (), [too_many(limit)], [], [], unread=True)
            given = with_ids(found, before)
        if any(call.name.endswith("parallel") for call in given):
            given, remarked = self._unbundled(given, remarked or [[] for _ in given], fixes)
        accounts: list[Account] = []
        for index, call in enumerate(given):
            account = self._account(call, index, reply.finish if index == len(given) - 1 else "stop", fixes)
            if remarked is not None:
                account.findings.extend(remarked[index])
            accounts.append(account)
        called = self._called(before) if before else []
        if accounts:
            done = [name for name, worked in called if worked]
            accounts = self._between(accounts, done, order, findings)
        if prose and self.options.mentions:
            names = {account.passed.name for account in accounts}.union(name for name, _ in called)
            all_read = reply.text.count('"name"') <= len(given) and not _may_call(prose)
            findings += self._said(prose, names, None if all_read else written)
        if not given and not reply.text.strip() and not reply.refusal and not any(t.calls for t in reply.messages):
            message = "The reply is empty: it has neither text nor calls"
            findings.append(finding("T013", "$", message, None, {}, "Answer, or call a tool."))
        elif not given and self.options.required:
            findings.append(no_call(self.tools))
        calls, refused = parted(accounts, findings, strict=False)
        for account in accounts:
            findings += account.findings
        return JudgedCalls(calls, refused, findings, fixes, accounts)

    def _between(
        self, accounts: list[Account], done: list[str], order: Order, findings: list[Finding]
    ) -> list[Account]:
        """The accounts, with the findings about all calls together; `done` are the earlier calls that succeeded."""
        passed = [account.passed for account in accounts]
        problems = list(together(passed, parallel=self.options.parallel))
        if not order.is_empty:
            # A call that is still to run counts if it is valid; a call that has run counts if it succeeded.
            good = [not a.passed.failed and not any(f.level == "error" for f in a.findings) for a in accounts]
            problems += order_findings([call.name for call in passed], good, done, order)
        for problem in problems:
            if problem.path == "$.calls":
                findings.append(problem)
            else:
                accounts[int(problem.path[8:-1])].findings.append(problem)
        return _with_waits(accounts, done, order) if order.requires else accounts

    def _unbundled(
        self, given: Sequence[ToolCall], remarked: list[list[Finding]], fixes: list[Fix]
    ) -> tuple[list[ToolCall], list[list[Finding]]]:
        """The calls, with the inner calls of a wrapper call in its place, and the findings about them."""
        calls: list[ToolCall] = []
        said: list[list[Finding]] = []
        for call, known in zip(given, remarked, strict=True):
            inner = [call] if call.name in self.tools.tools else unbundled(call)
            for one in inner:
                said.append(known)
                if one is not call:
                    change = fix("K003", f"$.calls[{len(calls)}]", None, call.name, one.name)
                    fixes.append(change)
                    said[-1] = [*known, *remarks((change,), self._accept)]
                calls.append(msgspec.structs.replace(one, index=len(calls)))
        return calls, said

    def _called(self, before: Sequence[Earlier]) -> list[tuple[str, bool]]:
        """The tools that were called before, by their names here, and whether each call has an output without an error."""
        names: list[tuple[str, bool]] = []
        for reply, worked in before:
            said = [
                (inner.name, call.answered and not call.failed) for call in reply.calls for inner in unbundled(call)
            ]
            if not said and reply.text and self.options.from_text:
                with suppress(TooMany):  # it is unclear what was called there
                    said = [(leak.name, worked) for leak in leaked_calls(reply.text, self.tools.offers)]
            names += [(self.tools.meant(name), ok) for name, ok in said]
        return names

    def _from_text(self, reply: Reply, fixes: list[Fix]) -> "tuple[list[ToolCall], list[list[Finding]], str, _Written]":
        """The calls that were written into the text, the findings from reading them, and the text without them."""
        text = reply.text
        damage: list[Record] = []
        if not text.isascii():
            text, damage = without_surrogates(text)
        calls: list[ToolCall] = []
        remarked: list[list[Finding]] = []
        prose: list[str] = []
        at = 0
        written = _Written(text, self.tools.offers)
        for leak in written.offered():
            tool = self.tools.tools.get(self.tools.meant(leak.name))
            if is_signature(leak, tool):
                continue
            index = len(calls)
            place = f"$.calls[{index}]"
            raw = text[leak.start : leak.stop]
            change = fix("K001", place, (leak.start, leak.stop), raw[:200], leak.name)
            inside = _inside(damage, leak.start, leak.stop)
            mended = [_moved(f, f"{place}.args") for f in to_fixes(text, [*leak.records, *inside])]
            fixes += (change, *mended)
            calls.append(as_call(leak, tool, index, reply.finish))
            remarked.append([] if calls[-1].parse_error else list(remarks((change, *mended), self._accept)))
            remarked[-1] += invented(leak, index)
            prose += (text[at : leak.start], " " * (max(leak.stop, at) - max(leak.start, at)))
            at = max(at, leak.stop)
        return calls, remarked, "".join((*prose, text[at:])) if calls else text, written

    def _said(self, prose: str, called: AbstractSet[str], written: "_Written | None") -> list[Finding]:
        """Findings about the text: made-up names, claims, and calls in `written` that were not read."""
        asked = self.options.mentions if isinstance(self.options.mentions, Mentions) else USUAL
        said = list(mention_findings(prose, self.tools, called, self.options.claims, asked))
        if written is not None:
            said += self._written_unknown(written.alike(), {found.data["name"] for found in said}, asked)
        return said

    def _written_unknown(self, written: list[Leak], known: AbstractSet[str], asked: Mentions) -> Iterator[Finding]:
        """A finding for each unmistakable call in the text to a tool that is not offered."""
        seen = set(known)
        for leak in written:
            sure = leak.dialect in _MARKED or (leak.dialect == "json" and not leak.name.isalpha())
            sure = sure or self.tools.misspelt(leak.name, _MISSPELT) is not None
            if sure and leak.name not in seen and not self.tools.offers(leak.name.removesuffix(".call")):
                seen.add(leak.name)
                yield undefined(leak.name, (leak.start, leak.stop), self.tools, asked.level)

    def _account(self, call: ToolCall, index: int, finish: str, fixes: list[Fix]) -> Account:
        place = f"$.calls[{index}]"
        resolved = resolve(call.name, place, self.tools)
        if resolved.tool is None:
            return Account(call, call, [resolved.problem] if resolved.problem else [])
        tool = resolved.tool
        problems: list[Finding] = []
        if resolved.matched:
            change = fix("K002", place, None, call.name, tool.name)
            fixes.append(change)
            problems += remarks((change,), self._accept)
        if call.kind == "custom":
            return Account(call, msgspec.structs.replace(call, name=tool.name), problems)
        outcome = self._arguments.judge(call, tool, index, finish)
        fixes += outcome.fixes
        problems += outcome.findings
        if outcome.args is call.args and not resolved.matched and outcome.made is None:
            return Account(call, call, problems)
        passed = msgspec.structs.replace(
            call, name=tool.name, args=call.args if outcome.args is None else outcome.args, parse_error=""
        )
        if outcome.made is not None:
            keep_made(passed, tool.function, outcome.made)
        return Account(call, passed, problems)


def _with_waits(accounts: list[Account], done: Sequence[str], order: Order) -> list[Account]:
    """The accounts, each call with the tools that must succeed before it in this reply because the order requires them."""
    worked = {*done, *(a.passed.name for a in accounts if a.passed.answered and not a.passed.failed)}
    out: list[Account] = []
    for account in accounts:
        after = tuple(need for need in order.requires.get(account.passed.name, ()) if need not in worked)
        if after and not account.passed.answered:
            call = msgspec.structs.replace(account.passed, after=after)
            call.__dict__.update(account.passed.__dict__)  # the arguments as they were read
            account = account._replace(passed=call)
        out.append(account)
    return out


class _Written:
    """The calls in a text to tools that are offered and to tools that might be; one search finds both."""

    __slots__ = ("_answers", "_doubted", "_found", "_offers", "_text")

    def __init__(self, text: str, offers: Callable[[str], bool]) -> None:
        self._offers = offers
        self._text = CallText(text)
        self._found: list[Leak] = []
        self._answers: dict[str, bool] = {}
        self._doubted = False  # a name was found that is offered, or that looks like a tool's, but not both

    def offered(self) -> list[Leak]:
        """The calls of tools that are offered."""
        self._found = self._text.calls(self._is_offered)
        return self._found

    def alike(self) -> list[Leak]:
        """The calls to anything with a name that looks like a tool's; empty if the calls cannot be identified."""
        if not self._doubted:  # every name in question would have got the same answer
            return self._found
        with suppress(TooMany):
            return self._text.calls(_is_like_a_tool)
        return []

    def _is_offered(self, name: str) -> bool:
        offered = self._answers.get(name)
        if offered is None:
            offered = self._answers[name] = self._offers(name)
            self._doubted = self._doubted or offered != _is_like_a_tool(name)
        return offered


def _is_like_a_tool(name: str) -> bool:
    return _TOOL_LIKE.fullmatch(name) is not None


def _inside(damage: list[Record], start: int, stop: int) -> list[Record]:
    """The damaged places in a stretch of the text."""
    first = bisect_right(damage, start, key=itemgetter(2))
    return damage[first : bisect_left(damage, stop, first, key=itemgetter(1))]


def _may_call(prose: str) -> bool:
    """Whether a text may contain a call; substrings that are cheap to search for come first."""
    if "<" in prose or "`" in prose or "✿" in prose or ("[" in prose and "[TOOL" in prose):
        return True
    if ('"' in prose and any(sign in prose for sign in _QUOTED)) or (":" in prose and "Action:" in prose):
        return True
    return ("{" in prose and "\n{" in prose) or ("=" in prose and "to=" in prose) or (">" in prose and ">>>" in prose)


def _moved(change: Fix, place: str) -> Fix:
    return msgspec.structs.replace(change, path=place + change.path[1:])
