"""Stream: a reply that is judged while it comes in.

Chunks enter, the partial value and what is certainly wrong can be looked at after each, and `finish()` gives the
verdict of the whole text: the same, however the text was cut into chunks.
"""

import codecs
from typing import TYPE_CHECKING, Any, Generic

from trueup.recover.grammar import SURROGATE
from trueup.recover.growing import Growing
from trueup.verdict.facts import Finding, Findings, finding
from trueup.verdict.paths import render
from trueup.verdict.verdict import T, Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract


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

    __slots__ = ("_chunks", "_contract", "_decoder", "_findings", "_growing", "_size")

    def __init__(self, contract: "Contract[T]") -> None:
        self._contract = contract
        self._chunks: list[Any] = []
        self._decoder: codecs.IncrementalDecoder | None = None
        self._growing = Growing(contract.max_depth)
        self._findings: list[Finding] = []
        self._size = 0

    def feed(self, chunk: str | bytes) -> Any:
        """Take the next piece of the reply; the partial value so far (`partial` is exact inside a long string too)."""
        self._chunks.append(chunk)
        text = chunk if isinstance(chunk, str) else self._decoded(chunk)
        before = self._size
        self._size += len(text)
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

    def _decoded(self, chunk: bytes) -> str:
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoder.decode(chunk)

    def _judge_closed(self) -> None:
        """Say of each member that has closed whether it can still become valid."""
        closed, self._growing.closed = self._growing.closed, []
        judge = self._contract.member_errors
        for slot, value in closed:
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
        texts = [chunk for chunk in self._chunks if isinstance(chunk, str)]
        if len(texts) == len(self._chunks):
            return self._contract.check("".join(texts))
        joined = b"".join(c.encode("utf-8", "surrogatepass") if isinstance(c, str) else c for c in self._chunks)
        return self._contract.check(joined)
