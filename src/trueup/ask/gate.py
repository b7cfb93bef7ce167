"""The gate between a model's stream and the caller: only judged text passes.

Takes the pieces of one reply; returns the parts that may be shown. The contract's holder decides which text may be shown:
a value passes as it grows, until a field can no longer be valid; text passes sentence by sentence. The arguments of calls are checked
as they arrive, but never shown.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal
from warnings import warn

import msgspec

from trueup.ask.replies.unwrapping import growing
from trueup.ask.requests.strictness import says_null
from trueup.conform.validating import validating
from trueup.read.deltas import Delta, delta_of
from trueup.verdict.bugs import tried
from trueup.verdict.facts import Finding, Findings, finding
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Refusal, Verdict

if TYPE_CHECKING:
    from trueup.ask.clients.request import Request
    from trueup.contract.contract import Contract

Hold = Literal["sentence", "all"]
_CERTAIN = frozenset({"V003", "V007", "P013"})  # certain for the arguments of a call, whatever arrives later


class AnswerPart(msgspec.Struct, frozen=True):
    """A piece of an answer that may be shown."""

    kind: Literal["text", "value", "restart"]
    """`text` adds text, `value` is the value so far, `restart` takes back everything before it because another attempt begins."""
    text: str = ""
    """The text to add; empty unless the kind is `text`."""
    value: Any = None
    """The whole value so far; None unless the kind is `value`. It does not change later, so you can keep it."""
    attempt: int = 0
    """The number of the attempt that the part belongs to, from 1."""


class Gate:
    """The gate for one attempt."""

    def __init__(
        self, contract: "Contract", context: Mapping[str, Any], attempt: int, hold: Hold = "sentence",
        request: "Request | None" = None, is_last: Callable[[Verdict], bool] | None = None,
    ) -> None:  # fmt: skip
        from trueup.contract.streaming.holding_back import (
            hold as held,  # its patterns are compiled only when something is streamed
        )

        self._contract = contract
        self._context = dict(context)
        self._attempt = attempt
        self._tools = {tool.name for tool in contract.tools}
        self._holder = held(contract, "whole" if hold == "all" else "auto", context)
        self._growing = None if request is None else growing(request)
        self._is_last = is_last  # whether aborting a reply with these faults leaves the caller with nothing
        self._deaf = False  # it is certainly faulty, but is read to its end anyway
        # A null for an absent field looks like a fault until the whole value has arrived, unless coercion removes it.
        self._has_nulls = contract.options.profile == "off" and request is not None and says_null(request)
        self._calling = CallInProgress(contract) if contract.tools else None
        self._said: list[str] = []  # all text so far
        self.passed = False  # whether a part was returned already
        self.size = 0
        self.chunks: list[Any] = []
        self.doomed: tuple[Finding, ...] = ()

    @property
    def text(self) -> str:
        """All text that has arrived."""
        return "".join(self._said)

    def feed(self, chunk: Any) -> list[AnswerPart]:
        """Take a piece of the stream and return what may be shown of it; `doomed` is not empty if the reply cannot become valid."""
        self.chunks.append(chunk)
        delta = delta_of(chunk)
        if self._growing is not None:
            delta = self._growing.of(delta)
        unknown = [name for name in delta.calls if self._tools and not self._is_offered(name)]
        if unknown:
            message = f"The tool {unknown[0]!r} was not offered"
            self.doomed = (finding("T001", "$.calls[0]", message, None, {"name": unknown[0]}, "Call an offered tool."),)
            return []
        if self._calling is not None and (delta.calls or delta.arguments):
            self.size += len(delta.arguments)
            self.doomed = self._calling.feed(delta)
        if not delta.text or self.doomed:
            return []
        self._said.append(delta.text)
        self.size += len(delta.text)
        return [] if self._deaf else self._show(delta.text)

    def _is_offered(self, name: str) -> bool:
        """Whether a call with this name may pass; misspelled names are judged when the reply is complete."""
        verdict = tried(self._contract.check, _calling(name), self._context)
        return verdict is None or all(found.code != "T001" for found in verdict.errors)

    def _show(self, text: str) -> list[AnswerPart]:
        holder = self._holder
        with validating(self._context):
            ready = holder.feed(text)
        if holder.doomed and (self._has_nulls or self._ends_all(holder.doomed)):
            self._deaf = True
            return []
        self.doomed = holder.doomed
        parts = self._taken_back()
        if holder.by_field:
            parts += [] if holder.value is None else [AnswerPart("value", value=holder.value, attempt=self._attempt)]
        elif ready:
            parts.append(AnswerPart("text", text=ready, attempt=self._attempt))
        self.passed = self.passed or bool(parts)
        return parts

    def _ends_all(self, doomed: tuple[Finding, ...]) -> bool:
        return self._is_last is not None and self._is_last(Verdict(Reply(), None, Findings(doomed)))

    def _taken_back(self) -> list[AnswerPart]:
        """The part that takes back what was shown, if it turned out to be reasoning."""
        if not self._holder.retracted:
            return []
        self._holder.take_back()
        return [AnswerPart("restart", attempt=self._attempt)]

    def finish(self, verdict: Verdict) -> list[AnswerPart]:
        """The rest of a reply that has ended and was judged; empty unless the reply is ok."""
        if not verdict.ok:
            return []
        if self._contract.schema is not None:
            if verdict.calls and verdict.data is None:  # a reply with calls does not need a value
                return []
            return [AnswerPart("value", value=verdict.value, attempt=self._attempt)]
        left = self._holder.tail(verdict, self.text)
        return [*self._taken_back(), *([AnswerPart("text", text=left, attempt=self._attempt)] if left else [])]

    def aborted(self, provider: str) -> Verdict:
        """The verdict on a reply that was aborted."""
        call = None if self._calling is None else self._calling.call
        text = "\n".join(part for part in (self.text, "" if call is None else f"{call.name}({call.raw_args})") if part)
        reply = Reply(text=text, finish="error", provider=provider)
        refused = () if call is None else (Refusal(call, self.doomed),)
        return Verdict(reply, None, Findings(self.doomed), refused=refused)


class CallInProgress:
    """Finds certain faults in the arguments of the call that is arriving.

    Faults that coercion or a default may still repair are left to the end. Only sizes, names that are not allowed, and loops are certain.
    """

    def __init__(self, contract: "Contract") -> None:
        self._contract = contract
        self._tools = {tool.name: tool for tool in contract.tools}
        self._index = -1
        self._name = ""
        self._pieces: list[str] = []
        self._stream: Any = None

    @property
    def call(self) -> ToolCall | None:
        """The call so far; None before the first one begins."""
        if not self._name:
            return None
        return ToolCall(self._name, None, raw_args="".join(self._pieces), index=self._index)

    def feed(self, delta: Delta) -> tuple[Finding, ...]:
        """Take a piece; return the certain faults."""
        if delta.calls:
            self._index += len(delta.calls)
            self._name, self._pieces = delta.calls[-1], []
            self._stream = self._listen(self._name)
        self._pieces.append(delta.arguments)
        if self._stream is None or len(delta.calls) > 1:
            return ()
        self._stream.push(delta.arguments)
        place = f"$.calls[{self._index}].args"
        certain = (found for found in self._stream.findings.errors if found.code in _CERTAIN)
        return tuple(msgspec.structs.replace(found, path=place + found.path[1:]) for found in certain)

    def _listen(self, name: str) -> Any:
        """The reader of a tool's arguments; None for an unknown tool."""
        tool = self._tools.get(name)
        return None if tool is None else self._contract.arguments_of(tool).stream()


def _calling(name: str) -> Reply:
    return Reply(calls=(ToolCall(name, {}, id="call", raw_args="{}"),), finish="tool")


def __getattr__(name: str) -> Any:
    if name == "Part":
        warn("trueup.ask.gate.Part is deprecated since 0.2; use AnswerPart", DeprecationWarning, stacklevel=2)
        return AnswerPart
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
