"""Tool calls that leaked into the text: every dialect that models are trained on, read for offered tools only.

A text and the offered names enter; leaks leave, each with its span, its dialect and the records of its reading.
Marked dialects are taken wherever they stand. Unmarked ones (JSON, `name(a=1)`) only where the reply acts:
on lines of their own, not in a sentence that talks about a call.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from trueup.recover.callvalues import calls_in
from trueup.recover.reader import Reader, Record, TooDeep

_OPEN_MARK = re.compile(
    r"<\|?(?:[A-Za-z]+:)?(?:tool_calls?|function_calls?|TOOLCALL|tools_prefix|action_start|python_tag)\|?>"
    r"|<｜(?:DSML｜)?(?:tool▁calls?▁begin|function_calls)｜?>|<\|tool_calls_section_begin\|>|<\|plugin\|>"
    r"|\[TOOL_CALLS\]|<\|tool_call_begin\|>|<｜tool▁call▁begin｜>"
)
_INVOKE = re.compile(r"<(?:｜DSML｜|[A-Za-z]+:)?invoke\s+name\s*=\s*[\"']?([^\"'<>\s]{1,120})[\"']?[^<>\n]{0,80}>")
_FUNCTION = re.compile(r"<function(?:=|\s+name\s*=\s*[\"']?)([^\"'<>\s]{1,120})[\"']?\s*>")
_BODY_END = re.compile(
    r"</(?:｜DSML｜|[A-Za-z]+:)?(?:invoke|function)>|<(?:｜DSML｜|[A-Za-z]+:)?invoke\s|<function[= ]"
)
_PARAMETER = re.compile(
    r"<(?:｜DSML｜|[A-Za-z]+:)?parameter(?:=|\s+name\s*=\s*[\"']?)([^\"'<>\s]{1,120})[\"']?([^<>\n]{0,80})>"
)
_PARAMETER_END = re.compile(r"</(?:｜DSML｜|[A-Za-z]+:)?parameter>")
_GLM = re.compile(r"<tool_call>\s*([\w.\-]{1,120})\s*(?=<arg_key>|</tool_call>)")
_GLM_PAIR = re.compile(r"<arg_key>\s*([^<>\n]{1,120}?)\s*</arg_key>\s*<arg_value>")
_DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?\s*([\w.\-]{1,120})\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?)?\s*(?=\{)"
)
_KIMI = re.compile(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.\-]{1,120}?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*"
)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*([\w.\-]{1,120})\s*(?:\[CALL_ID\][^\[{]{0,60})?(?:\[ARGS\])?\s*(?=\{)")
_HARMONY = re.compile(
    r"(?:<\|channel\|>)?(?:commentary|analysis)?\s*to=(?:functions\.)?([\w.\-]{1,120})[^{}\n]{0,80}?<\|message\|>\s*(?=\{)"
)
_GEMMA = re.compile(r"<\|tool_call>\s*call:([\w.\-]{1,120})(?=\{)")
_REACT = re.compile(r"(?m)^[ \t]*Action:[ \t]*`?([\w.\-]{1,120})`?[ \t]*\n+[ \t]*Action Input:[ \t]*")
_FUNCTIONARY = re.compile(r"(?m)^>>>[ \t]*([\w.\-]{1,120})[ \t]*\n(?=\{)")
_PYTHONIC = re.compile(r"(?m)^[ \t]*(?:```\w*\s*)?\[?[ \t]*(?=([^\W\d][\w.]{0,119})\()")
_TALK = re.compile(
    r"\b(?:for example|for instance|e\.g\.|such as|like this|looks? like|example|format|syntax|you (?:can|could|would|should)|"
    r"would (?:look|be)|instead of|don't|do not|never|por ejemplo|ejemplo|como este|formato|podrías|puedes)\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"tool|TOOL|function|invoke|Action:|call|to=|>>>|[{\[(]")


class Leak(NamedTuple):
    """A call found in text: the name as written, its arguments, where it stood, and how it was written."""

    name: str
    arguments: Any
    raw: str
    start: int
    stop: int
    dialect: str
    records: tuple[Record, ...]


class _Finder:
    """One search of one text."""

    __slots__ = ("leaks", "max_depth", "offered", "taken", "text")

    def __init__(self, text: str, offered: Callable[[str], bool], max_depth: int) -> None:
        self.text = text
        self.offered = offered
        self.max_depth = max_depth
        self.leaks: list[Leak] = []
        self.taken: list[tuple[int, int]] = []

    def free(self, at: int) -> bool:
        return not self.taken or all(not a <= at < b for a, b in self.taken[-64:])

    def take(self, name: str, arguments: Any, start: int, stop: int, raw: str, dialect: str, records: Any = ()) -> None:
        self.leaks.append(Leak(name, arguments, raw, start, stop, dialect, tuple(records)))
        self.taken.append((start, stop))

    def value_at(self, at: int) -> tuple[Any, int, list[Record]] | None:
        """Read the JSON-like value that starts at an offset."""
        if at >= len(self.text) or self.text[at] not in "{[":
            return None
        outcome = Reader(self.text, at, len(self.text), frozenset(), self.max_depth).read()
        return outcome.value, outcome.end, outcome.records

    # -- marked dialects -----------------------------------------------------------------------

    def named(self, pattern: re.Pattern[str], dialect: str, ending: str = "") -> None:
        """Dialects that give the name first and the arguments as JSON behind it."""
        for found in pattern.finditer(self.text):
            name = found[1]
            if not self.free(found.start()) or not self.offered(name):
                continue
            at = found.end()
            read = self.value_at(at)
            if read is None:
                line = self.text[at:].split("\n", 1)[0].strip() if dialect == "react" else ""
                self.take(name, line or {}, found.start(), at + len(line), line, dialect)
                continue
            value, stop, records = read
            raw = self.text[at:stop]
            tail = self.text.find(ending, stop, stop + 40) if ending else -1
            self.take(name, value, found.start(), tail + len(ending) if tail >= 0 else stop, raw, dialect, records)

    def tagged(self, pattern: re.Pattern[str], dialect: str) -> None:
        """`<invoke name="f">` and `<function=f>`, with parameter tags or JSON inside."""
        for found in pattern.finditer(self.text):
            if not self.free(found.start()) or not self.offered(found[1]):
                continue
            ending = _BODY_END.search(self.text, found.end())
            limit = ending.start() if ending else len(self.text)
            arguments, stop = self.parameters(found.end(), limit)
            closed = _BODY_END.match(self.text, stop)
            stop = closed.end() if closed and self.text[stop + 1] == "/" else stop
            raw = self.text[found.end() : stop]
            read = self.value_at(found.end() + len(raw) - len(raw.lstrip())) if not arguments else None
            if read is not None and isinstance(read[0], dict):
                self.take(found[1], read[0], found.start(), max(stop, read[1]), raw, dialect, read[2])
            else:
                self.take(found[1], arguments, found.start(), stop, raw, dialect)

    def parameters(self, at: int, limit: int) -> tuple[dict[str, Any], int]:
        """Parameter tags; a value runs to the last closing tag before the next parameter or the end of the call."""
        arguments: dict[str, Any] = {}
        text = self.text
        while found := _PARAMETER.search(text, at, limit):
            following = _PARAMETER.search(text, found.end(), limit)
            edge = following.start() if following else limit
            ends = list(_PARAMETER_END.finditer(text, found.end(), edge))
            stop, at = (ends[-1].start(), ends[-1].end()) if ends else (edge, edge)
            value = text[found.end() : stop]
            arguments[found[1]] = value.strip("\n") if "\n" in value else value.strip()
        return arguments, limit if arguments or not text[at:limit].strip() else at

    def glm(self) -> None:
        for found in _GLM.finditer(self.text):
            if not self.offered(found[1]):
                continue
            ending = self.text.find("</tool_call>", found.end())
            limit = ending if ending >= 0 else len(self.text)
            arguments: dict[str, Any] = {}
            at = found.end()
            while pair := _GLM_PAIR.search(self.text, at, limit):
                stop = self.text.find("</arg_value>", pair.end(), limit)
                stop = stop if stop >= 0 else limit
                arguments[pair[1]] = self.text[pair.end() : stop].strip()
                at = stop
            end = limit + len("</tool_call>") if ending >= 0 else limit
            self.take(found[1], arguments, found.start(), end, self.text[found.end() : limit], "glm")

    def marked_json(self) -> None:
        """A mark, then JSON that says name and arguments; several objects may follow one mark."""
        for mark in _OPEN_MARK.finditer(self.text):
            at = mark.end()
            start = mark.start()
            while self.free(start):
                while at < len(self.text) and self.text[at] in " \t\r\n;,":
                    at += 1
                read = self.value_at(at)
                if read is None:
                    break
                value, stop, records = read
                said = list(calls_in(value, self.offered))
                if not said:
                    break
                for call in said:
                    self.take(call.name, call.arguments, start, stop, self.text[at:stop], "tool_call", records)
                start = at = stop

    # -- unmarked ------------------------------------------------------------------------------

    def alone(self, start: int, stop: int) -> bool:
        """Whether a stretch stands on lines of its own, and the words before it do not talk about calls."""
        text = self.text
        line = text.rfind("\n", 0, start) + 1
        before = text[line:start].strip(" \t`>*-")
        after = text[stop : text.find("\n", stop) if "\n" in text[stop:] else len(text)].strip(" \t`;.")
        if before or after:
            return False
        lead = text[max(0, line - 300) : line].rstrip().rstrip("`").rstrip()
        lead = re.sub(r"```\w*\s*\Z", "", lead).rstrip()
        sentence = re.split(r"(?<=[.!?])\s|\n", lead)[-1] if lead else ""
        return not _TALK.search(sentence)

    def bare_json(self) -> None:
        text = self.text
        at = 0
        budget = 4 * len(text) + 4096
        while budget > 0 and 0 <= (at := _next_opener(text, at)) < len(text):
            if not self.free(at):
                at += 1
                continue
            read = self.value_at(at)
            stop = read[1] if read else at + 1
            budget -= stop - at + 16
            said = list(calls_in(read[0], self.offered)) if read else []
            if said and read and self.alone(at, stop):
                for call in said:
                    self.take(call.name, call.arguments, at, stop, text[at:stop], "json", read[2])
                at = stop
            else:
                at = stop if read and not said and isinstance(read[0], dict) and stop > at else at + 1

    def pythonic(self) -> None:
        """`[f(a=1), g(b="x")]` or `f(a=1)` on a line of its own."""
        for found in _PYTHONIC.finditer(self.text):
            if not self.free(found.end()) or not self.offered(found[1]):
                continue
            at = self.text.find("[", found.start(), found.end())
            begin = at if at >= 0 else found.end()
            items = self.call_list(begin)
            if items and self.alone(begin, items[-1][3]):
                for name, arguments, start, stop, records in items:
                    self.take(name, arguments, start, stop, self.text[start:stop], "pythonic", records)

    def call_list(self, at: int) -> list[tuple[str, Any, int, int, list[Record]]]:
        """The calls of a pythonic list, each read by itself so that its name is kept."""
        text = self.text
        listed = text[at] == "["
        at += listed
        out: list[tuple[str, Any, int, int, list[Record]]] = []
        while found := re.compile(r"\s*([^\W\d][\w.]{0,119})\(").match(text, at):
            if not self.offered(found[1]):
                return []
            outcome = Reader(text, found.start(1), len(text), frozenset(), self.max_depth).read()
            arguments = (
                outcome.value if isinstance(outcome.value, dict) else {} if outcome.value == [] else outcome.value
            )
            records = [r for r in outcome.records if r[0] != "F003"]
            out.append((found[1], arguments, found.start(1), outcome.end, records))
            at = outcome.end
            separator = re.compile(r"\s*[,;]").match(text, at)
            if not listed or separator is None:
                break
            at = separator.end()
        closing = re.compile(r"\s*\]").match(text, at) if listed and out else None
        if closing:
            name, arguments, start, _, records = out[-1]
            out[-1] = (name, arguments, start, closing.end(), records)
        return out


def _next_opener(text: str, at: int) -> int:
    brace, bracket = text.find("{", at), text.find("[", at)
    return min(x for x in (brace, bracket, len(text)) if x >= 0)


def leaked_calls(text: str, offered: Callable[[str], bool], max_depth: int = 500) -> list[Leak]:
    """Every call of an offered tool that was written into the text instead of being made.

    >>> [
    ...     leak.name
    ...     for leak in leaked_calls('<tool_call>{"name": "ping", "arguments": {}}</tool_call>', {"ping"}.__contains__)
    ... ]
    ['ping']
    """
    if not _ANY.search(text):
        return []
    finder = _Finder(text, offered, max_depth)
    try:
        finder.named(_DEEPSEEK, "deepseek", "<｜tool▁call▁end｜>")
        finder.named(_KIMI, "kimi", "<|tool_call_end|>")
        finder.named(_MISTRAL, "mistral")
        finder.named(_GEMMA, "gemma", "<tool_call|>")
        finder.named(_HARMONY, "harmony", "<|call|>")
        finder.named(_FUNCTIONARY, "functionary")
        finder.glm()
        finder.tagged(_INVOKE, "invoke")
        finder.tagged(_FUNCTION, "function")
        finder.marked_json()
        finder.named(_REACT, "react")
        finder.pythonic()
        finder.bare_json()
    except TooDeep:
        return []
    return sorted(finder.leaks, key=lambda leak: (leak.start, leak.stop))
