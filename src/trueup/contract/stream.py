"""Stream: a reply that is judged while it arrives.

Takes chunks of any provider, or plain text; after each chunk, the value so far and certain faults can be read.
`finish()` gives the verdict of the whole reply, which does not depend on the chunks.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from trueup.checks.sentences import last_sentences
from trueup.conform.validating import validating
from trueup.contract.judging.repetition import EVERY, Looping
from trueup.contract.partial import Partial
from trueup.contract.streaming.visible_value import VisibleValue
from trueup.read.incremental import Arriving
from trueup.read.sources import apieces, pieces
from trueup.recover.envelopes import may_wrap
from trueup.recover.json.growing import GrowingValue, members
from trueup.recover.json.lexer import SURROGATE
from trueup.recover.sentences import ENDED
from trueup.verdict.facts import Finding, Findings, finding
from trueup.verdict.paths import Parts, render
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.verdict import T, Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_MARKED = lazy_regex(r"[<{\[`]")  # the text after it may not be prose: only the whole verdict can decide
_LONGEST = 20_000  # characters without an end that are kept as one sentence


class Stream(Generic[T]):
    """A reply that is still arriving; `Contract.stream()` makes one.

    Feed it chunks by hand, or give it a source and iterate: each step is a `Partial` with the value so far, and
    `verdict` has the verdict after the last one.

    - `contract`: the contract that judges.
    - `source`: a stream of an SDK, or any iterator of chunks, synchronous or asynchronous; None: you feed it yourself.
    - `context`: what is known about the conversation, as in `Contract.check`; None: nothing.
    - `on_closed`: a function that is called with the name and value of each member of the root that has closed; None: none.

    >>> from trueup import Contract
    >>> contract = Contract({"properties": {"name": {"type": "string"}}})
    >>> stream = contract.stream()
    >>> stream.feed('```json\\n{"name": "Ad')
    {'name': 'Ad'}
    >>> stream.feed('a"}\\n```')
    {'name': 'Ada'}
    >>> stream.finish().ok
    True
    >>> [part.data for part in contract.stream(['{"name": "Ad', 'a"}'])]
    [{'name': 'Ad'}, {'name': 'Ada'}]
    """

    __slots__ = (
        "_arriving", "_context", "_contract", "_doubtful", "_early", "_findings", "_growing", "_is_type", "_looping", "_next_look", "_on_closed", "_said",
        "_shown", "_size", "_source", "_unseen", "_verdict", "_watched",
    )  # fmt: skip

    def __init__(
        self,
        contract: "Contract[T]",
        source: Any = None,
        context: dict[str, Any] | None = None,
        on_closed: Callable[[str | int, Any], None] | None = None,
    ) -> None:
        self._contract = contract
        self._source = source
        self._on_closed = on_closed  # called with each member of the root that has closed
        self._context = context
        self._said = ""  # the last text that was judged, and the text after it
        self._watched = contract.schema is None and contract.judges_meaning
        self._arriving = Arriving()
        schema = contract.schema
        self._growing = GrowingValue(contract.max_depth, schema.keys if schema is not None else frozenset())
        self._is_type = schema is not None and schema.is_type
        self._shown = VisibleValue(contract.guide(), schema.root_keys if schema is not None else ())
        self._findings: list[Finding] = contract.unplaced(context)
        self._doubtful: list[tuple[str | int, Any]] = []  # members that have closed, and may be an envelope
        self._early = contract.early()
        self._looping: Looping | None = None  # made once there is enough to examine
        self._unseen: list[str] = []  # the part that it has not seen
        self._next_look = EVERY
        self._verdict: Verdict[T] | None = None
        self._size = 0

    # -- feeding -------------------------------------------------------------------------------

    def feed(self, chunk: Any) -> Any:
        """Take the next `chunk`: a piece of text, bytes, or an event of a provider. Returns the value so far.

        That is a `Partial` if the contract is made from a Python type, else plain data. You can keep it: it never
        changes. Inside a long string it may lag a little, so that feeding stays linear; `partial` is exact.
        """
        self.push(chunk)
        self._growing.glance()
        self._shown.follow(self._growing)
        return self._shown.part() if self._is_type else self._shown.data()

    def push(self, chunk: Any) -> None:
        """Take the next `chunk` and return nothing, if you do not need every step."""
        if self._verdict is not None:
            raise RuntimeError("the stream is finished; read another reply with a new `contract.stream()`")
        text = self._arriving.feed(chunk)
        if not text:
            return
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
        if self._early is not None:
            for found in self._early.look(growing):
                if all((one.code, one.path) != (found.code, found.path) for one in self._findings):
                    self._findings.append(found)
        self._unseen.append(text)
        if self._size >= self._next_look:
            self._look_for_loops()

    def _look_for_loops(self) -> None:
        self._next_look = self._size + EVERY
        pieces, self._unseen = self._unseen, []
        if self._looping is None:
            self._looping = Looping(is_data=self._contract.schema is not None)
        loop = self._looping.feed("".join(pieces))
        if loop is not None:
            self._findings.append(loop)
            self._next_look = sys.maxsize

    def _watch(self, text: str) -> None:
        """Judge the sentences that have ended, each with the text before it, until one breaks the contract."""
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

    def _judge_closed(self) -> None:
        """Report for each member that has closed whether it can still become valid."""
        closed, self._growing.closed = self._growing.closed, []
        if self._on_closed is not None:
            for slot, value in closed:
                self._on_closed(slot, value)
        waiting, self._doubtful = [*self._doubtful, *closed], []
        for slot, value in waiting:
            if self._may_wrap(slot):
                self._doubtful.append((slot, value))
                continue
            with validating(self._context):
                errors = self._contract.member_errors(slot, value)
            said = render((slot,))
            for error in errors:
                path = said + error.path[1:]
                self._findings = [
                    one for one in self._findings if (one.code, one.path) != (error.code, path)
                ]  # reported early
                self._findings.append(
                    Finding(error.code, path, error.message, error.span, error.data, error.hint, error.level)
                )

    def _may_wrap(self, slot: str | int) -> bool:
        """Whether a member may be an envelope around the value: neither it nor an earlier member is in the schema."""
        schema, root = self._contract.schema, self._growing.root
        if schema is None or not isinstance(slot, str) or not isinstance(root, dict) or slot in schema.names:
            return False
        if not schema.names:
            return len(root) == 1 or may_wrap(slot, schema.names)
        return schema.names.isdisjoint(root) or may_wrap(slot, schema.names)

    # -- reading the state ---------------------------------------------------------------------

    @property
    def live(self) -> Any:
        """The value so far as it is being read, None before it starts: not coerced, and it changes with the next chunk."""
        return self._growing.value

    @property
    def partial(self) -> Any:
        """The value so far, as `feed` returns it, and exact even inside a long string."""
        self._growing.value  # noqa: B018 - it brings an open string up to date
        self._shown.follow(self._growing)
        return self._shown.part() if self._is_type else self._shown.data()

    @property
    def data(self) -> Any:
        """The plain data so far, coerced; None before they start. You can keep them."""
        self._growing.glance()
        self._shown.follow(self._growing)
        return self._shown.data()

    def closed_items(self, path: Sequence[Any], start: int) -> list[tuple[int, Any]]:
        """The items of the list at `path` that have closed, from the position `start` on, as they were read."""
        here = self._growing.root
        for slot in path:
            here = inside(here, slot)
        if not isinstance(here, list):
            return []
        count = next((count for raw, count in self._growing.opened if raw is here), len(here))
        return members(here, start, count) if count > start else []

    @property
    def open_path(self) -> Parts | None:
        """The path of the innermost value that is still open; None before the value starts and once it has closed.

        >>> from trueup import Contract
        >>> stream = Contract(True).stream()
        >>> stream.push('{"rows": [1, {"name": "Ad')
        >>> stream.open_path
        ('rows', 1, 'name')
        """
        opened = self._growing.opened
        path = [len(raw) - 1 if isinstance(raw, list) else next(reversed(raw)) for raw, _ in opened[:-1]]
        if not opened:
            return None
        raw, count = opened[-1]
        if len(raw) > count:
            path.append(len(raw) - 1 if isinstance(raw, list) else next(reversed(raw)))
        return tuple(path)

    @property
    def restarts(self) -> int:
        """How many times all text so far turned out to be reasoning, so that the value starts again."""
        return self._growing.restarts

    @property
    def findings(self) -> Findings:
        """Faults that are certain already, whatever text follows."""
        return Findings(self._findings)

    @property
    def verdict(self) -> Verdict[T]:
        """The verdict, once the source was read to its end or `finish` was called."""
        if self._verdict is None:
            raise RuntimeError("the stream has not been read to its end; call `finish()` to judge the text so far")
        return self._verdict

    # -- reading a source ----------------------------------------------------------------------

    def __iter__(self) -> Iterator[Partial[T]]:
        for _ in self.steps():
            if self.has_more():
                yield self._shown.part()

    async def __aiter__(self) -> AsyncIterator[Partial[T]]:
        async for _ in self.asteps():
            if self.has_more():
                yield self._shown.part()

    def steps(self) -> Iterator[None]:
        """Read the source chunk by chunk; the verdict is available after the last one."""
        for chunk in self._pieces("`async for`"):
            self.push(chunk)
            yield
        self.finish()

    async def asteps(self) -> AsyncIterator[None]:
        """The same for a source of either kind."""
        async for chunk in self._apieces():
            self.push(chunk)
            yield
        await self.afinish()

    def has_more(self) -> bool:
        """Whether more of the value can be seen than at the last call."""
        self._growing.glance()
        self._shown.follow(self._growing)
        return self._shown.has_more()

    def _pieces(self, other: str) -> Iterator[Any]:
        """The rest of the source."""
        left = pieces(self._given(), other)
        self._source = left  # a caller that stops may continue later
        return left

    async def _apieces(self) -> AsyncIterator[Any]:
        source = self._given()
        if isawaitable(source):
            self._source = source = await source
        if not hasattr(type(source), "__aiter__"):  # a caller that stops may continue later
            is_manager = hasattr(type(source), "__aenter__")
            self._source = source = apieces(source) if is_manager else pieces(source, "`async for`")
        async for chunk in apieces(source):
            yield chunk

    def _given(self) -> Any:
        if self._source is None:
            raise TypeError("this stream has no source: give one, `contract.stream(source)`, or feed it chunks")
        return self._source

    def finish(self) -> Verdict[T]:
        """The verdict of the whole reply; the rest of the source is read first. Later calls return the same verdict."""
        if self._verdict is None:
            for chunk in () if self._source is None else self._pieces("`await stream.afinish()`"):
                self.push(chunk)
            self._verdict = self._contract.check(self._arriving.whole(), self._context)
        return self._verdict

    async def afinish(self) -> Verdict[T]:
        """Like `finish`, for asynchronous sources; asynchronous custom checks are awaited."""
        if self._verdict is None:
            if self._source is not None:
                async for chunk in self._apieces():
                    self.push(chunk)
            self._verdict = await self._contract.acheck(self._arriving.whole(), self._context)
        return self._verdict


def inside(container: Any, slot: str | int) -> Any:
    """The member of a container at a name or a position; None if there is none.

    >>> inside({"a": 1}, "a"), inside([1], 0), inside([1], 1), inside("ab", 0)
    (1, 1, None, None)
    """
    if isinstance(container, dict):
        return container.get(slot)
    is_there = isinstance(container, list) and isinstance(slot, int) and -len(container) <= slot < len(container)
    return container[slot] if is_there else None


def _moved(found: Finding, by: int) -> Finding:
    """A finding about a part of the text as one about the whole text."""
    span = found.span
    return found if span is None else msgspec.structs.replace(found, span=(span[0] + by, span[1] + by))
