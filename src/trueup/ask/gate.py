"""The gate between a model's stream and the caller: nothing passes that was not judged.

Pieces of one reply enter; parts that may be shown leave. A value passes as it grows, until a field can no longer be valid. Text
passes sentence by sentence, each judged with what stands before it; a sentence that does not belong here never leaves. Under a
contract whose value is judged for its meaning too, everything waits for the whole verdict.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from trueup.ask.deltas import delta_of
from trueup.checks.sentences import ENDED, last_sentences
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

Hold = Literal["sentence", "all"]
_LEAK = re.compile(r"[<{\[`]|\baction:", re.IGNORECASE)
_LONGEST = 20_000  # characters that are held back as one sentence, before the whole is waited for


class Part(msgspec.Struct, frozen=True):
    """A piece that may be shown. `restart` takes back all that came before: another attempt begins.

    `text` adds to the text so far; `value` is the whole value so far, live: copy it to keep it.
    """

    kind: Literal["text", "value", "restart"]
    text: str = ""
    value: Any = None
    attempt: int = 0


class Gate:
    """The gate for one attempt."""

    def __init__(self, contract: "Contract", context: Mapping[str, Any], attempt: int, hold: Hold = "sentence") -> None:
        self._contract = contract
        self._context = dict(context)
        self._attempt = attempt
        self._tools = {tool.name for tool in contract.tools}
        as_value = contract.schema is not None
        self._stream = contract.stream() if as_value else None
        self._closed = hold == "all" or (as_value and contract.judges_meaning)
        self._said: list[str] = []  # all text so far
        self._held = ""  # of it, what has not been let through
        self._shown = ""  # the end of what has
        self._from = 0
        self._passed = 0
        self.size = 0
        self.chunks: list[Any] = []
        self.doomed: tuple[Finding, ...] = ()

    @property
    def text(self) -> str:
        """All text that has come."""
        return "".join(self._said)

    @property
    def passed(self) -> bool:
        """Whether something was let through already."""
        return self._passed > 0

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
        return self._text(delta.text) if self._stream is None else self._value(delta.text)

    def _is_offered(self, name: str) -> bool:
        """Whether a name may become a call that passes: near misses are judged with the whole."""
        verdict = self._contract.check(_calling(name), self._context)
        return all(found.code != "T001" for found in verdict.errors)

    def _value(self, text: str) -> list[Part]:
        assert self._stream is not None
        partial = self._stream.feed(text)
        errors = self._stream.findings.errors
        if errors:
            self.doomed = tuple(errors)
            return []
        if self._closed or partial is None:
            return []
        self._passed = self.size
        return [Part("value", value=partial, attempt=self._attempt)]

    def _text(self, text: str) -> list[Part]:
        if self._closed:
            return []
        self._held += text
        parts: list[Part] = []
        while not self.doomed and (end := ENDED.search(self._held, self._from)) is not None:
            if self._tools and _LEAK.search(self._held, 0, end.end()):
                self._closed = True  # it may be a call written into the text: the whole verdict says
                break
            if self._may_pass(self._held[: end.end()]):
                parts.append(Part("text", text=self._held[: end.end()], attempt=self._attempt))
                self._passed += end.end()
                self._held, self._from = self._held[end.end() :], 0
            else:
                self._from = end.end()
        self._from = max(self._from, len(self._held) - 8)
        self._closed = self._closed or len(self._held) > _LONGEST  # no sentence is as long: the whole verdict says
        return parts

    def _may_pass(self, text: str) -> bool:
        """Whether a stretch of text may be shown; what does not belong here dooms it, what is only too little waits."""
        window = self._shown + text
        errors = self._contract.check(Reply(text=window), self._context).errors
        self.doomed = tuple(found for found in errors if found.code[0] == "D")
        if errors:
            return False
        self._shown = last_sentences(window)
        return True

    def finish(self, verdict: Verdict) -> list[Part]:
        """The reply has ended and was judged; what is left of it may be shown when it is ok."""
        if not verdict.ok:
            return []
        if self._stream is not None:
            return [Part("value", value=verdict.value, attempt=self._attempt)]
        left = self.text[self._passed :]
        leaked = any(call.origin != "native" for call in verdict.calls)
        return [Part("text", text=left, attempt=self._attempt)] if left and not leaked else []

    def aborted(self, provider: str) -> Verdict:
        """The verdict of a reply that was given up."""
        from trueup.verdict.facts import Findings

        reply = Reply(text=self.text, finish="error", provider=provider)
        return Verdict(reply, None, Findings(self.doomed))


def _calling(name: str) -> Reply:
    from trueup.verdict.reply import ToolCall

    return Reply(calls=(ToolCall(name, {}, id="call", raw_args="{}"),), finish="tool")
