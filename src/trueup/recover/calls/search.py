"""Finds tool calls that leaked into the text: every dialect that models are trained on, but only offered tools.

Takes a text and the offered names; returns leaks, each with its span, its dialect and the records of its reading. The
text is searched once and never re-read, so the time depends on the length alone. Marked calls are taken wherever the
reply makes a call; unmarked ones (JSON, `name(a=1)`) only on separate lines.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from trueup.recover.calls import bodies, lines, tags
from trueup.recover.calls.acting import acts
from trueup.recover.calls.alone import calls_alone
from trueup.recover.calls.dialects import NO_NAME, RESULT_EDGE, RESULT_PAIRS, normalized
from trueup.recover.calls.json import Read
from trueup.recover.calls.signs import Sign, Signs, mark_at, may_mark
from trueup.recover.calls.source import CallReader, Value
from trueup.recover.calls.values import Leak, calls_in
from trueup.recover.json.lexer import SURROGATE
from trueup.recover.json.parser import MOST_CALLS, MOST_PLACES, TooMany
from trueup.recover.marks import CLOSES_REASONING, CLOSES_UNOPENED, may_reason
from trueup.verdict.patterns import lazy_regex

__all__ = ["CallText", "Leak", "leaked_calls"]

# Between two calls side by side: spaces, and the marks that close one and open the next.
_NEXT = lazy_regex(r"(?:[\s;,]|</?[\w:｜▁|-]{1,60}>|<[|｜][^<>\n]{1,60}[|｜]>|`{3,9}\w{0,12})*")
_OPENERS = ("{", "[", "(", "ction:", "Tool:", "ction 1:")  # a text without any of these has no unmarked call
_EXPLAINED = lazy_regex(r"[ \t]*\r?\n[ \t]+(?=[^\W\d])(?![\w.]+\s?\()")  # an indented explanation below a call
_NEAR = 200
_decode = msgspec.json.Decoder().decode
_ESCAPED = lazy_regex(r"\s*(\"?)(?=[{\[]\s*[{\[]?\s*\\\"\w|<[|\w])")
# The reader of the calls after each kind of mark.
_READERS: dict[str, Callable[[CallReader, int, int], Read]] = {
    "any": bodies.mark_body,
    "told": bodies.mark_body,
    "behind": bodies.mark_body,
    "named": lambda source, start, _: bodies.after_mark(source, start, start),
    "tag": tags.named_tag,
    "xtml": tags.xtml,
    "to": bodies.addressed,
    "react": lines.react,
    "recipient": lambda source, start, stop: bodies.after_mark(source, start, stop, "recipient"),
    "raven": lambda source, start, stop: bodies.after_mark(source, start, stop, "raven"),
}


class _Text(NamedTuple):
    """The parts of a search that do not depend on the names: the text's signs, and the values that were read."""

    text: str
    signs: Signs
    values: dict[int, Value]


class _Search:
    """One search of one text."""

    __slots__ = (
        "acting",
        "apart",
        "invented",
        "last",
        "leaks",
        "missing",
        "quiet",
        "signs",
        "source",
        "text",
        "thinking",
    )

    def __init__(self, searched: _Text, offered: Callable[[str], bool], max_depth: int) -> None:
        self.text = searched.text
        self.signs = searched.signs
        self.source = CallReader(searched.text, offered, max_depth, searched.values)
        self.leaks: list[Leak] = []
        self.thinking = False  # inside reasoning that never ends, where only marked calls count
        self.acting = False  # whether the reply makes the last call
        self.last = -9 * _NEAR  # where the last call ended
        self.quiet = False  # no closing mark of reasoning follows
        self.apart = False  # a result followed the last call
        self.invented = False  # a result followed a call of this reply, so the model invented it
        self.missing: set[str] = set()

    def run(self) -> list[Leak]:
        """The calls of the text that the reply makes."""
        if not (any(opener in self.text for opener in _OPENERS) or may_mark(self.text)):
            return []
        at = count = 0
        while sign := self.signs.after(at):
            count += 1
            if count > MOST_PLACES:
                raise TooMany("signs of a call", MOST_PLACES)
            at = max(sign.stop, sign.start + 1, self.step(sign))
            if len(self.leaks) > MOST_CALLS:
                raise TooMany("calls", MOST_CALLS)
        return self.without_reasoning() or calls_alone(self.source)

    def step(self, sign: Sign) -> int:
        """Read the text at one sign; returns the offset to continue from."""
        reader, start, stop, _ = sign
        if reader == "think":
            return self.skip_reasoning(stop)
        if reader == "seen" or (reader == "told" and not self.source.offered(self.text[start + 1 : stop - 1])):
            return self.skip_result(start, stop)
        if reader == "behind":
            begin = self.name_before(start)
            read = bodies.after_mark(self.source, begin, begin) if begin < start else ([], start)
            if read[0]:
                return self.take(read, marked=True)
        if reader in _READERS:
            return self.take(_READERS[reader](self.source, start, stop), marked=True)
        if reader == "unmarked" and (marked := mark_at(self.text, stop)):
            return max(marked.stop, self.step(marked))
        if self.thinking:
            return stop
        return self.take(bodies.unmarked(self.source, stop, inline=reader == "inline"), marked=False)

    def name_before(self, start: int) -> int:
        """Where the word right before an offset starts."""
        tail = self.text[max(self.last, start - _NEAR, 0) : start]
        kept = tail.rstrip()
        return start - len(tail) + len(kept) - len(NO_NAME.split(kept.rpartition(">")[2])[-1])

    def take(self, read: tuple[list[Leak], int], *, marked: bool) -> int:
        """Keep the calls if the reply makes them; a call right after another one counts like that one."""
        leaks, stop = read
        if leaks:
            start = leaks[0].start
            if self.apart or not self.follows(start):
                listed = not marked and _EXPLAINED.match(self.text, leaks[-1].stop) is not None
                self.acting = not listed and acts(self.text, start, leaks[-1].stop, marked=marked, since=self.last)
            self.last = leaks[-1].stop
            self.apart = False
            if self.acting:
                self.leaks += [leak._replace(rests=True) for leak in leaks] if self.invented else leaks
        return stop

    def follows(self, start: int) -> bool:
        """Whether this place is right after the last call."""
        return start - self.last <= _NEAR and _NEXT.fullmatch(self.text, self.last, start) is not None

    def skip_result(self, start: int, at: int) -> int:
        """Skip a tool's result in the text; after a call of the same reply, the model invented it."""
        end, stop = _result_span(self.text, start, at, self.missing)
        if self.leaks and self.acting and self.follows(start) and not self.apart and self.text[at:end].strip():
            self.leaks[-1] = self.leaks[-1]._replace(result=(start, stop))
            self.invented = True
        self.last = max(self.last, stop)
        self.apart = True
        return stop

    def skip_reasoning(self, at: int) -> int:
        closed = None if self.quiet else CLOSES_REASONING.search(self.text, at)
        if closed is None:
            self.quiet = self.thinking = True
            return at
        return closed.end()

    def without_reasoning(self) -> list[Leak]:
        """The leaks without those before a closing mark of reasoning that the prompt opened."""
        if not self.leaks or not may_reason(self.text):
            return self.leaks
        spans = iter(self.leaks)
        span = next(spans, None)
        last = 0
        for closed in CLOSES_UNOPENED.finditer(self.text):
            while span is not None and span.stop <= closed.start():
                span = next(spans, None)
            if span is None or closed.start() < span.start:
                last = closed.end()
        kept = [leak for leak in self.leaks if leak.start >= last]
        if kept and kept[0].rests:  # on a result that belongs to the reasoning
            first = next((i for i, leak in enumerate(kept) if leak.result), len(kept) - 1)
            kept[: first + 1] = [leak._replace(rests=False) for leak in kept[: first + 1]]
        return kept


def _result_span(text: str, start: int, at: int, missing: set[str]) -> tuple[int, int]:
    """Where the words of a result end, and where to continue; `missing` remembers closing marks that do not occur.

    >>> _result_span("<tool_response>3 C</tool_response> Fine.", 0, 15, set())
    (18, 34)
    """
    closer = _closer(text[start:at])
    if closer and closer not in missing:
        end = text.find(closer, at)
        if end >= 0:
            return end, end + len(closer)
        missing.add(closer)
    edge = RESULT_EDGE.search(text, at)
    end = edge.start() if edge else len(text)
    return end, end


def _closer(sign: str) -> str:
    """The mark that ends a result, by the one that opened it."""
    if sign[:8] == "<|start|":
        return "<|end|>"
    for opening, closing in RESULT_PAIRS:
        if opening in sign:
            return sign.replace(opening, closing)
    if sign[0] == "<" and sign[1].isalpha():
        return f"</{sign[1:]}"
    return f"<{sign[2:-1]}|>" if sign[:2] == "<|" and sign[-2] != "|" else ""


class CallText:
    """A text without lone surrogates, whose calls can be read for several sets of names; its signs and values are read once."""

    __slots__ = ("_inner", "_max_depth", "_outer", "_text")

    def __init__(self, text: str, max_depth: int = 500) -> None:
        self._text = text
        self._max_depth = max_depth
        self._outer: _Text | None = None
        self._inner: _Text | None = None

    def calls(self, offered: Callable[[str], bool]) -> list[Leak]:
        """Every call of an offered tool that was written into the text instead of being made, in order."""
        if self._outer is None:
            if _calls_nothing(self._text, offered):
                return []
            self._outer = _searchable(normalized(self._text))
        leaks = _Search(self._outer, offered, self._max_depth).run()
        return leaks or (self._encoded_calls(self._outer.text, offered) if "\\" in self._text else [])

    def _encoded_calls(self, text: str, offered: Callable[[str], bool]) -> list[Leak]:
        """The calls of a reply that was written as a JSON string, with or without its quotes."""
        opened = _ESCAPED.match(text)
        if opened is None:
            return []
        if self._inner is None:
            try:
                inner = _decode('"' * (not opened[1]) + text.strip() + '"' * (not opened[1]))
            except (msgspec.MsgspecError, UnicodeEncodeError):
                inner = ""
            self._inner = _searchable(inner if isinstance(inner, str) else "")
        leaks = _Search(self._inner, offered, self._max_depth).run()
        record = ("W008" if opened[1] else "W009", 0, len(text), "", None)
        if any(leak.records for leak in leaks):
            return []
        return [leak._replace(start=0, stop=len(text), records=(record,), result=None) for leak in leaks]


def leaked_calls(text: str, offered: Callable[[str], bool], max_depth: int = 500) -> list[Leak]:
    """Every call of an offered tool that was written into the text instead of being made, in order.

    >>> leaks = leaked_calls('<tool_call>{"name": "ping", "arguments": {}}</tool_call>', {"ping"}.__contains__)
    >>> [leak.name for leak in leaks]
    ['ping']
    """
    return CallText(text if text.isascii() else SURROGATE.sub("\ufffd", text), max_depth).calls(offered)


def _searchable(text: str) -> _Text:
    return _Text(text, Signs(text), {})


def _calls_nothing(text: str, offered: Callable[[str], bool]) -> bool:
    """Whether a text is one clean JSON object without a call: the usual reply, recognized without a search."""
    if text[:1] != "{" or text[-1:] != "}" or may_mark(text):
        return False
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return next(calls_in(value, offered, marked=False, alone=True), None) is None
