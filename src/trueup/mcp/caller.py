"""Call a tool: takes a name and arguments, and returns a bounded result or an error that says what to do.

Tools run in threads, so that calls do not block each other. Long work has its own process, reports progress, and ends
if the call is cancelled.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from trueup.mcp.answer import AnswerSection, PageRequest, Rendered, ToolAnswer, render
from trueup.mcp.fence import Fenced, inert
from trueup.mcp.findings import fault_rows
from trueup.mcp.table import BY_NAME, offered
from trueup.mcp.tokens import estimate
from trueup.mcp.tool import Continued, Long, McpTool, schema_of
from trueup.mcp.wording import reworded
from trueup.mcp.workspace import Workspace
from trueup.store.errors import StoreError
from trueup.studio.contracts.drafts import FaultyDraft
from trueup.studio.decoding import decoded
from trueup.studio.refusal import RequestRefused
from trueup.studio.working.work import LongJob, ReportedRefusal
from trueup.verdict.likeness import nearest

if TYPE_CHECKING:
    from mcp_types import CallToolResult

T = TypeVar("T")
Report = Callable[[float, float | None, str], Awaitable[None]]
"""A function that is called with the amount done, the total, and a sentence."""

log = logging.getLogger("trueup.mcp")
_AT_ONCE = 8  # tools that run at the same time, and steps of long work
_LONGEST = 1_500  # characters and estimated tokens of an error
_END = object()


class ToolCaller:
    """Calls the tools of one server."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> "CallToolResult":
        """The result of a call."""
        try:
            answer, asked = await self._answer_or_faults(name, arguments, report)
            rendered = await self._quick(partial(render, answer, asked))
        except RequestRefused as refusal:
            return _error(refusal, BY_NAME.get(name))
        except StoreError as error:
            return _error(self._workspace.unavailable(error))
        except Exception:
            log.exception("the tool %s failed", name)
            return _error(
                RequestRefused(500, f"trueup failed in the tool {name}.", hint="The log of the server says why.")
            )
        if not asked.section and not any(each["arguments"].get("result") for each in rendered.data["omitted"]):
            self._workspace.kept.drop(asked.result)
        return _result(rendered, is_error=answer.is_error)

    async def _answer_or_faults(
        self, name: str, arguments: Mapping[str, Any], report: Report
    ) -> tuple[ToolAnswer, PageRequest]:  # fmt: skip
        """An answer; faults of a contract and refusals that quote files are answers with fenced texts."""
        tool = self._tool(name)
        try:
            return await self._answer(tool, arguments, report)
        except FaultyDraft as error:
            facts = {"error": Fenced(error.message), **({"saved": False} if tool.is_edit else {})}
            sections = (AnswerSection("faults", fault_rows(error.faults)),)
            return self._kept(ToolAnswer(facts, sections, is_error=True), "lint")
        except ReportedRefusal as refusal:
            said = Fenced(reworded(_sentences(refusal), tool.takes.__struct_fields__))
            return self._kept(ToolAnswer({"error": said}, is_error=True), name)

    def _kept(
        self, answer: ToolAnswer, reader: str, section: str = "", start: int = 0
    ) -> tuple[ToolAnswer, PageRequest]:
        """An answer, and the request for a part of it by the tool that reads the rest."""
        return answer, PageRequest(reader, self._workspace.kept.put(reader, answer), section, start)

    def _tool(self, name: str) -> McpTool:
        tool = BY_NAME.get(name)
        if tool is None:
            near = nearest(name, BY_NAME)
            names = ", ".join(each.name for each in offered(allow_edit=self._workspace.allow_edit))
            raise RequestRefused(
                404,
                f"There is no tool {name[:60]!r}.",
                hint=f"Did you mean {near}?" if near else f"The tools: {names}.",
            )
        return tool

    async def _answer(
        self, tool: McpTool, arguments: Mapping[str, Any], report: Report
    ) -> tuple[ToolAnswer, PageRequest]:
        given = _decoded(tool, arguments)
        result, section, start = (getattr(given, each, None) for each in Continued.__struct_fields__)
        if result:
            kept = self._workspace.kept.get(tool.name, result)
            return kept, PageRequest(tool.name, result, section or "", start or 0)
        answer = await self._run(tool, given, report)
        # reading the rest of an edit's result changes nothing
        return self._kept(answer, "backtest" if tool.is_edit else tool.name, section or "", start or 0)

    async def _run(self, tool: McpTool, given: Any, report: Report) -> ToolAnswer:
        made = await self._quick(partial(tool.run, self._workspace, given))
        if not isinstance(made, Long):
            return made
        try:
            result = await self._follow(made.work, report)
        except RequestRefused as refusal:
            if made.failed is None:
                raise
            return made.failed(reworded(_sentences(refusal)))
        return await self._quick(partial(made.finish, result))

    async def _follow(self, work: LongJob, report: Report) -> Any:
        """The result of long work, which ends if the call is cancelled."""
        reported = -1.0
        try:
            while (event := await self._slow(partial(next, work, _END))) is not _END:
                if "result" in event:
                    return event["result"]
                done, total, sentence = _progress(event)
                if done > reported:
                    reported = done
                    await report(done, total, sentence)
        finally:
            with anyio.CancelScope(shield=True):
                await self._slow(work.close)
        raise RequestRefused(500, "The work ended before it was done.", code="work_failed", hint="Call the tool again.")

    async def _quick(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._quick_limit)

    async def _slow(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._slow_limit)

    @cached_property
    def _quick_limit(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_AT_ONCE)

    @cached_property
    def _slow_limit(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_AT_ONCE)


def _decoded(tool: McpTool, arguments: Mapping[str, Any]) -> Any:
    known = list(schema_of(tool.takes)["properties"])
    for argument in arguments:
        if argument not in known:
            near = nearest(argument, known)
            raise RequestRefused(
                400, f"{tool.name} has no argument {argument[:60]!r}.",
                hint=f"Did you mean {near}?" if near else f"It takes {', '.join(known)}.",
            )  # fmt: skip
    try:
        given = decoded(tool.takes, arguments, strict=False)
    except RequestRefused as refusal:
        message, hint = (
            text.replace("this path takes", f"{tool.name} takes").replace("This path takes", f"{tool.name} takes")
            for text in (refusal.message, refusal.hint)
        )
        raise RequestRefused(400, message, hint=hint) from None
    start = getattr(given, "start", 0)
    if start and not given.section:
        raise RequestRefused(
            400, "start is given without section.", hint="Name the section whose rows or characters are skipped."
        )
    return given


def _progress(event: dict[str, Any]) -> tuple[float, float | None, str]:
    """The progress of work, from one of its events."""
    progress = event.get("progress") or {}
    if "judged" in progress:
        return progress["read"], progress["total"], f"{progress['judged']:,} replies judged"
    if "read" in progress:
        return progress["read"], None, f"{progress['read']:,} replies read"
    return 0.0, None, "started"


def _result(rendered: Rendered, *, is_error: bool) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    text = TextContent(type="text", text=rendered.text)
    return CallToolResult(content=[text], structured_content=rendered.data, is_error=is_error)


def _error(refusal: RequestRefused, tool: McpTool | None = None) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    arguments = () if tool is None else tool.takes.__struct_fields__
    said = inert(reworded(_sentences(refusal), arguments))
    shown = said[:_LONGEST]
    while estimate(shown) > _LONGEST:
        shown = shown[: len(shown) * 4 // 5]
    text = TextContent(type="text", text=shown if shown == said else f"{shown}…")
    return CallToolResult(content=[text], is_error=True)


def _sentences(refusal: RequestRefused) -> str:
    return f"{refusal.message} {refusal.hint}".strip()
