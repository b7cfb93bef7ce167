"""Tool calls that leaked into the text: every dialect that models are trained on, read for offered tools only.

A text and the offered names enter; leaks leave, each with its span, its dialect and the records of its reading. The
text is gone through once: whatever was read is passed, so time grows with length alone. Marked calls are taken
wherever the reply acts; unmarked ones (JSON, `name(a=1)`) only on lines of their own.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from trueup.recover.calls.acting import acts
from trueup.recover.calls.bodies import Bodies
from trueup.recover.calls.marks import ANY, COLON_TAG, MARKED, NO_NAME, UNMARKED, UNTHINK
from trueup.recover.calls.reader import Value
from trueup.recover.calls.signs import signs_of
from trueup.recover.calls.told import result_span
from trueup.recover.calls.values import Leak, calls_in
from trueup.recover.json.lexer import SURROGATE
from trueup.recover.json.parser import MOST_CALLS, MOST_PLACES, TooMany

__all__ = ["CallText", "Leak", "leaked_calls"]

# Between two calls that stand side by side: blanks, and the marks that close one and open the next.
_NEXT = re.compile(r"(?:[\s;,]|</?[\w:｜▁|-]{1,60}>|<[|｜][^<>\n]{1,60}[|｜]>|`{3,9}\w{0,12})*")
_NEAR = 200
_decode = msgspec.json.Decoder().decode
# What a text holds that may hold a call: a letter that is quickly looked for, and what it has to stand in.
_SIGNS = {
    "<": ("<",), "[": ("[T", "[t", "[A", "[C"), "`": ("```",), "=": ("to=",), ">": (">>>",), "◁": ("◁",), "✿": ("✿",),
    "f": ("functools", "function call", "functions."), "T": ("TOOL_CALL",),
}  # fmt: skip
_OPENERS = {"{": ("{",), "[": ("[",), "(": ("(",), ":": ("ction:", "Tool:", "ction 1:")}
# Marks behind a name, where the mark before it was lost: Mistral's, Kimi's and GLM's.
_BEHIND_NAME = frozenset({"[ARGS]", "<|tool_call_argument_begin|>", "<arg_key>", "<longcat_arg_key>"})
# The token that MiniMax M3 puts before each tag becomes a namespace of the same length inside of it.
_MINIMAX = re.compile(r"\]<\]minimax\[>\[<(/?)")
# Tags in full-width signs, and DeepSeek's tokens with blanks: each is brought to the usual signs, one for one.
_WIDE = re.compile(r"＜(?=[^＜＞\n]{0,60}?(?:tool|function|invoke|param|arg|think|DSML))([^＜＞\n]{1,160})＞")
_SPACED = re.compile(r"<([|｜])tool (?:(?:call|output)s? (?:begin|end)|sep)\1>")
_ESCAPED = re.compile(r"\s*(\"?)(?=[{\[]\s*[{\[]?\s*\\\"\w|<[|\w])")


class _Search:
    """One search of one text."""

    __slots__ = (
        "acting", "apart", "bodies", "invented", "last", "leaks", "missing", "quiet", "sign_after", "text", "thinking",
    )  # fmt: skip

    def __init__(self, found: "_Found", offered: Callable[[str], bool], max_depth: int) -> None:
        self.text = found.text
        self.sign_after = found.sign_after
        self.bodies = Bodies(found.text, offered, max_depth, found.values)
        self.leaks: list[Leak] = []
        self.thinking = False  # inside reasoning that never ends: only marked calls count
        self.acting = False  # what the last call was found to be
        self.last = -9 * _NEAR  # where it ended
        self.quiet = False  # no closing of reasoning follows any more
        self.apart = False  # a told result stood behind the last call
        self.invented = False  # and nobody had given it
        self.missing: set[str] = set()

    def run(self) -> list[Leak]:
        if self.sign_after is None:
            return []
        at = count = 0
        while found := self.sign_after(at):
            count += 1
            if count > MOST_PLACES:
                raise TooMany("signs of a call", MOST_PLACES)
            kind = found.lastgroup
            at = max(found.end(), found.start() + 1, self.step(kind or "", found))
            if len(self.leaks) > MOST_CALLS:
                raise TooMany("calls", MOST_CALLS)
        return self.without_reasoning()

    def step(self, kind: str, found: re.Match[str]) -> int:
        """Read what stands at one sign; the offset to go on from."""
        bodies, start, stop = self.bodies, found.start(), found.end()
        if kind == "think":
            return self.skip_reasoning(stop)
        if kind == "told" and not (found["result"] and bodies.offered(found["result"])):
            return self.skip_result(start, stop, found[0])
        if kind == "tag":
            return self.take(bodies.tag(start, stop), True)
        if kind == "xtml":
            return self.take(bodies.xtml(start, stop), True)
        if kind == "mark" and found[0] in _BEHIND_NAME:
            begin = self.name_before(start)
            if begin < start and (read := bodies.after_mark(begin, begin))[0]:
                return self.take(read, True)
        if kind in ("mark", "told"):
            return self.take(self.behind_mark(found), True)
        if kind == "to":
            return self.take(bodies.harmony(start, stop), True)
        if kind == "line" and (marked := MARKED.match(self.text, stop)):
            return max(marked.end(), self.step(marked.lastgroup or "", marked))
        if kind == "line" and found["react"]:
            return self.take(bodies.react(found.start("react"), stop), True)
        if kind == "line" and found["seen"]:
            return self.skip_result(found.start("seen"), stop, found["seen"])
        word = next((w for w in ("recipient", "raven") if kind == "line" and found[w]), "")
        if word:
            return self.take(bodies.after_mark(found.start(word), stop, word), True)
        if self.thinking:
            return stop
        return self.take(bodies.unmarked(stop, inline=kind == "inline"), False)

    def behind_mark(self, found: re.Match[str]) -> tuple[list[Leak], int]:
        """The calls behind a mark; a tag may also be the name of a tool."""
        bodies, start, stop = self.bodies, found.start(), found.end()
        read = bodies.after_mark(start, stop)
        if not read[0] and (named := COLON_TAG.fullmatch(found[0])) and bodies.offered(named[1]):
            read = bodies.tag_body(named[1], start, stop)
        if not read[0] and self.text[start - 1 : start] in ("", "\n"):  # a tool whose name says that it is one
            read = bodies.unmarked_element(start)
        return read

    def name_before(self, start: int) -> int:
        """Where the word starts that stands right before an offset."""
        tail = self.text[max(self.last, start - _NEAR, 0) : start]
        kept = tail.rstrip()
        return start - len(tail) + len(kept) - len(NO_NAME.split(kept.rpartition(">")[2])[-1])

    def take(self, read: tuple[list[Leak], int], marked: bool) -> int:
        """Keep the calls if the reply makes them; a call right behind another is what that one is."""
        leaks, stop = read
        if leaks:
            start = leaks[0].start
            if self.apart or not self.follows(start):
                self.acting = acts(self.text, start, leaks[-1].stop, marked, self.last)
            self.last = leaks[-1].stop
            self.apart = False
            if self.acting:
                self.leaks += [leak._replace(rests=True) for leak in leaks] if self.invented else leaks
        return stop

    def follows(self, start: int) -> bool:
        """Whether what stands here is right behind the last call."""
        return start - self.last <= _NEAR and _NEXT.fullmatch(self.text, self.last, start) is not None

    def skip_result(self, start: int, at: int, sign: str) -> int:
        """Pass over the result of a tool that the text tells; behind a call of its own, nobody had given it."""
        end, stop = result_span(self.text, sign, at, self.missing)
        if self.leaks and self.acting and self.follows(start) and not self.apart and self.text[at:end].strip():
            self.leaks[-1] = self.leaks[-1]._replace(result=(start, stop))
            self.invented = True
        self.last = max(self.last, stop)
        self.apart = True
        return stop

    def skip_reasoning(self, at: int) -> int:
        closed = None if self.quiet else UNTHINK.search(self.text, at)
        if closed is None:
            self.quiet = self.thinking = True
            return at
        return closed.end()

    def without_reasoning(self) -> list[Leak]:
        """The leaks without those before a closing tag of reasoning that was opened in the prompt."""
        if not self.leaks or not ("</" in self.text or "◁/" in self.text or "[/" in self.text):
            return self.leaks
        spans = iter(self.leaks)
        span = next(spans, None)
        last = 0
        for closed in UNTHINK.finditer(self.text):
            while span is not None and span.stop <= closed.start():
                span = next(spans, None)
            if (span is None or closed.start() < span.start) and closed[0] != "<|end|>":
                last = closed.end()
        kept = [leak for leak in self.leaks if leak.start >= last]
        if kept and kept[0].rests:  # on a result that belongs to the reasoning
            first = next((i for i, leak in enumerate(kept) if leak.result), len(kept) - 1)
            kept[: first + 1] = [leak._replace(rests=False) for leak in kept[: first + 1]]
        return kept


class _Found:
    """What a search finds in a text whatever the names: its signs, and the values that were read."""

    __slots__ = ("sign_after", "text", "values")

    def __init__(self, text: str) -> None:
        self.text = text
        pattern = ANY if _holds(text, _SIGNS) else UNMARKED if _holds(text, _OPENERS) else None
        self.sign_after = None if pattern is None else signs_of(text, pattern)
        self.values: dict[int, Value] = {}


class CallText:
    """A text, without halves of pairs, whose calls are asked for under one set of names or several; it is gone through once."""

    __slots__ = ("_found", "_inner", "_max_depth", "_text")

    def __init__(self, text: str, max_depth: int = 500) -> None:
        self._text = text
        self._max_depth = max_depth
        self._found: _Found | None = None
        self._inner: _Found | None = None

    def calls(self, offered: Callable[[str], bool]) -> list[Leak]:
        """Every call of an offered tool that was written into the text instead of being made, in order."""
        if self._found is None:
            if _calls_nothing(self._text, offered):
                return []
            self._found = _Found(_usual(self._text))
        found = _Search(self._found, offered, self._max_depth).run()
        return found or (self._encoded_calls(offered) if "\\" in self._text else [])

    def _encoded_calls(self, offered: Callable[[str], bool]) -> list[Leak]:
        """The calls of a reply that was written as a JSON string, with its quotes or without them."""
        text = self._found.text if self._found is not None else self._text
        opened = _ESCAPED.match(text)
        if opened is None:
            return []
        if self._inner is None:
            try:
                inner = _decode('"' * (not opened[1]) + text.strip() + '"' * (not opened[1]))
            except (msgspec.MsgspecError, UnicodeEncodeError):
                inner = ""
            self._inner = _Found(inner if isinstance(inner, str) else "")
        found = _Search(self._inner, offered, self._max_depth).run()
        record = ("W008" if opened[1] else "W009", 0, len(text), "", None)
        if any(leak.records for leak in found):
            return []
        return [leak._replace(start=0, stop=len(text), records=(record,), result=None) for leak in found]


def leaked_calls(text: str, offered: Callable[[str], bool], max_depth: int = 500) -> list[Leak]:
    """Every call of an offered tool that was written into the text instead of being made, in order.

    >>> found = leaked_calls('<tool_call>{"name": "ping", "arguments": {}}</tool_call>', {"ping"}.__contains__)
    >>> [leak.name for leak in found]
    ['ping']
    """
    return CallText(text if text.isascii() else SURROGATE.sub("\ufffd", text), max_depth).calls(offered)


def _usual(text: str) -> str:
    """The text with the signs of some dialects brought to the usual ones, one for one."""
    if "＜" in text:
        text = _WIDE.sub(r"<\1>", text)
    if "]<]minimax[>[" in text:
        text = _MINIMAX.sub(r"<\1minimaxmmmmm:", text)
    if "tool " in text:
        text = _SPACED.sub(lambda token: token[0].replace(" ", "▁"), text)
    return text


def _holds(text: str, signs: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether one of the signs stands in a text."""
    return any(letter in text and any(sign in text for sign in those) for letter, those in signs.items())


def _calls_nothing(text: str, offered: Callable[[str], bool]) -> bool:
    """Whether a text is one clean JSON object that stands for no call: the usual reply, told without a search."""
    if text[:1] != "{" or text[-1:] != "}" or _holds(text, _SIGNS):
        return False
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return next(calls_in(value, offered, marked=False), None) is None
