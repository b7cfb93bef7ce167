"""Stream: a reply that is judged while it comes in.

Chunks enter, the partial value and what is certainly wrong can be looked at after each, and `finish()` gives the
verdict of the whole text: the same, however the text was cut into chunks.
"""

import codecs
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from trueup.checks.sentences import last_sentences
from trueup.recover.json.growing import Growing
from trueup.recover.json.lexer import SURROGATE
from trueup.recover.sentences import ENDED
from trueup.verdict.facts import Finding, Findings, finding
from trueup.verdict.paths import render
from trueup.verdict.verdict import T, Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_MARKED = re.compile(r"[<{\[`]")  # what stands behind may be no prose: the whole verdict says
_LONGEST = 20_000  # characters without an end that are held as one sentence


class Stream(Generic[T]):
    """One reply in the making; `Contract.stream()` makes one.

    >>> from trueup import Contract
    >>> stream = Contract({"properties": {"name": {"type": "string"}}}).stream()
    >>> stream.feed('```json\\n{"name": "Ad')
    {'name': 'Ad'}
    >>> stream.feed('a"}\\n```')
    {'name': 'Ada'}
    >>> stream.finish().ok
    True
    """

    __slots__ = (
        "_chunks", "_context", "_contract", "_decoder", "_findings", "_growing", "_on_closed", "_said", "_size", "_watched",
    )  # fmt: skip

    def __init__(
        self,
        contract: "Contract[T]",
        context: dict[str, Any] | None = None,
        on_closed: Callable[[str | int, Any], None] | None = None,
    ) -> None:
        self._contract = contract
        self._on_closed = on_closed  # is told of each member of the root that has closed
        self._context = context
        self._said = ""  # the last text that was judged, and what came behind it
        self._watched = contract.schema is None and contract.judges_meaning
        self._chunks: list[Any] = []
        self._decoder: codecs.IncrementalDecoder | None = None
        self._growing = Growing(
            contract.max_depth, contract.schema.keys if contract.schema is not None else frozenset()
        )
        self._findings: list[Finding] = contract.unplaced(context)
        self._size = 0

    def feed(self, chunk: str | bytes) -> Any:
        """Take the next piece of the reply; the partial value so far (`partial` is exact inside a long string too)."""
        self._chunks.append(chunk)
        text = chunk if isinstance(chunk, str) else self._decoded(chunk)
        before = self._size
        self._size += len(text)
        if self._watched:
            self._watch(text)
        growing, limit = self._growing, self._contract.max_size
        if before <= limit < self._size:
            message = f"The reply is longer than {limit:,} characters"
            self._findings.append(finding("L001", "$", message, None, {"limit": limit}, "Give a shorter reply."))
            growing.lost = True
        if not text.isascii() and SURROGATE.search(text):
            growing.lost = True
        growing.feed(text)
        if growing.closed:
            self._judge_closed()
        return growing.glance()

    def _watch(self, text: str) -> None:
        """Judge the sentences that have ended, each with what stands before it, until one does not belong here."""
        if _MARKED.search(text):
            self._watched = False
            return
        fresh = max(0, len(self._said) - 10)
        self._said += text
        ends = [end.end() for end in ENDED.finditer(self._said, fresh)]
        if not ends:
            self._watched = len(self._said) <= _LONGEST
            return
        ended, begun = self._said[: ends[-1]], self._said[ends[-1] :]
        found = self._contract.forbids(ended, self._context or {})
        self._findings += [_moved(one, self._size - len(self._said)) for one in found]
        self._watched = not found
        self._said = last_sentences(ended) + begun

    def _decoded(self, chunk: bytes) -> str:
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoder.decode(chunk)

    def _judge_closed(self) -> None:
        """Say of each member that has closed whether it can still become valid."""
        closed, self._growing.closed = self._growing.closed, []
        judge = self._contract.member_errors
        for slot, value in closed:
            if self._on_closed is not None:
                self._on_closed(slot, value)
            for error in judge(slot, value):
                path = render((slot,)) + error.path[1:]
                self._findings.append(
                    Finding(error.code, path, error.message, error.span, error.data, error.hint, error.level)
                )

    @property
    def partial(self) -> Any:
        """The value so far, None before it starts. It is live: copy it to keep it."""
        return self._growing.value

    @property
    def findings(self) -> Findings:
        """What is certainly wrong already, whatever is still to come."""
        return Findings(self._findings)

    def finish(self) -> Verdict[T]:
        """The reply has ended: the verdict of the whole text."""
        return self._contract.check(self._whole(), self._context)

    async def afinish(self) -> Verdict[T]:
        """The same with asynchronous custom checks awaited."""
        return await self._contract.acheck(self._whole(), self._context)

    def _whole(self) -> str | bytes:
        texts = [chunk for chunk in self._chunks if isinstance(chunk, str)]
        if len(texts) == len(self._chunks):
            return "".join(texts)
        return b"".join(c.encode("utf-8", "surrogatepass") if isinstance(c, str) else c for c in self._chunks)


def _moved(found: Finding, by: int) -> Finding:
    """A finding about a stretch as one about the whole text."""
    span = found.span
    return found if span is None else msgspec.structs.replace(found, span=(span[0] + by, span[1] + by))
