"""The gate between a model's stream and the caller: nothing passes that was not judged.

Pieces of one reply enter; parts that may be shown leave. What of the text may be shown is for the contract's holder to say:
a value passes as it grows, until a field can no longer be valid; text passes sentence by sentence.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from trueup.read.deltas import delta_of
from trueup.verdict.bugs import tried
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

Hold = Literal["sentence", "all"]


class Part(msgspec.Struct, frozen=True):
    """A piece of an answer that may be shown."""

    kind: Literal["text", "value", "restart"]
    """`text` adds text, `value` is the value so far, `restart` takes back everything before: another attempt begins."""
    text: str = ""
    """The text to add; empty unless the kind is `text`."""
    value: Any = None
    """The whole value so far; None unless the kind is `value`. It never changes: you can keep it."""
    attempt: int = 0
    """The number of the attempt that it belongs to, from 1."""


class Gate:
    """The gate for one attempt."""

    def __init__(self, contract: "Contract", context: Mapping[str, Any], attempt: int, hold: Hold = "sentence") -> None:
        from trueup.contract.holder import hold as held  # its patterns are made when something is streamed

        self._contract = contract
        self._context = dict(context)
        self._attempt = attempt
        self._tools = {tool.name for tool in contract.tools}
        self._holder = held(contract, "whole" if hold == "all" else "auto", context)
        self._said: list[str] = []  # all text so far
        self.passed = False  # something was let through already
        self.size = 0
        self.chunks: list[Any] = []
        self.doomed: tuple[Finding, ...] = ()

    @property
    def text(self) -> str:
        """All text that has come."""
        return "".join(self._said)

    def feed(self, chunk: Any) -> list[Part]:
        """Take a piece of the stream; what of it may be shown leaves, and `doomed` says if all is lost."""
        self.chunks.append(chunk)
        delta = delta_of(chunk)
        unknown = [name for name in delta.calls if self._tools and not self._is_offered(name)]
        if unknown:
            message = f"The tool {unknown[0]!r} was not offered"
            self.doomed = (finding("T001", "$.calls[0]", message, None, {"name": unknown[0]}, "Call an offered tool."),)
            return []
        if not delta.text:
            return []
        self._said.append(delta.text)
        self.size += len(delta.text)
        return self._show(delta.text)

    def _is_offered(self, name: str) -> bool:
        """Whether a name may become a call that passes: near misses are judged with the whole."""
        verdict = tried(self._contract.check, _calling(name), self._context)
        return verdict is None or all(found.code != "T001" for found in verdict.errors)

    def _show(self, text: str) -> list[Part]:
        holder = self._holder
        ready = holder.feed(text)
        self.doomed = holder.doomed
        parts = self._taken_back()
        if holder.by_field:
            parts += [] if holder.value is None else [Part("value", value=holder.value, attempt=self._attempt)]
        elif ready:
            parts.append(Part("text", text=ready, attempt=self._attempt))
        self.passed = self.passed or bool(parts)
        return parts

    def _taken_back(self) -> list[Part]:
        """What was shown turned out to be reasoning: it is taken back."""
        if not self._holder.retracted:
            return []
        self._holder.take_back()
        return [Part("restart", attempt=self._attempt)]

    def finish(self, verdict: Verdict) -> list[Part]:
        """The reply has ended and was judged; what is left of it may be shown when it is ok."""
        if not verdict.ok:
            return []
        if self._contract.schema is not None:
            return [Part("value", value=verdict.value, attempt=self._attempt)]
        left = self._holder.tail(verdict, self.text)
        return [*self._taken_back(), *([Part("text", text=left, attempt=self._attempt)] if left else [])]

    def aborted(self, provider: str) -> Verdict:
        """The verdict of a reply that was given up."""
        from trueup.verdict.facts import Findings

        reply = Reply(text=self.text, finish="error", provider=provider)
        return Verdict(reply, None, Findings(self.doomed))


def _calling(name: str) -> Reply:
    from trueup.verdict.reply import ToolCall

    return Reply(calls=(ToolCall(name, {}, id="call", raw_args="{}"),), finish="tool")
