"""What a call is made of, wherever it stands: JSON that names a tool, a name with its arguments, Python, tags.

The offset of a sign enters; the calls that directly follow it and the offset behind what was read leave. Only names
that are offered make a call; everything else is passed over.
"""

import re

from trueup.recover.calls import tags as calltags
from trueup.recover.calls.lines import CODED, LineCalls
from trueup.recover.calls.marks import (
    ARG_OPEN,
    BETWEEN,
    CALL_ID,
    CLOSE,
    ELEMENT_NAME,
    NAME,
    NAMED,
    NO_ARGUMENTS,
    NOISE,
    PYTHON_CALL,
    RESULT,
    TAG_CLOSE,
    TAG_NAME,
    TAG_SLIP,
    TAG_SLIP_END,
    TO_NAME,
    TO_REST,
    WRAP_CLOSE,
    WRAP_OPEN,
)  # fmt: skip
from trueup.recover.calls.objects import Read, past
from trueup.recover.calls.python import LIST_OF_CALLS
from trueup.recover.calls.tags import Tagged
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import MOST_CALLS, TooMany

_BLANK = re.compile(r"\s*")
_ALONE = re.compile(rf"{NAME}(?=[ \t]*\r?\n?[ \t]*\{{)")
_ELEMENT = re.compile(r"<([^\W\d][\w.\-]{0,119})(?:>|(?=\s?/>|\s[^\W\d][\w.-]{0,79}\s?=))\s*")
_LOOSE = frozenset({"S014", "S015", "S031"})
_CHANNEL = re.compile(r"(?:<\|start\|>assistant\s?)?(?:<\|channel\|>)?(?:\b(?:commentary|analysis|final))?[ \t]*\Z")
# Words behind the marks of a code block, which name no tool.
_LANGUAGES = frozenset(
    "json jsonc json5 xml yaml python py javascript js typescript ts bash sh text txt markdown".split()
)
_MORE = ("<parameter", "<param", "<argument", "<｜DSML｜parameter")
_PARALLEL = "multi_tool_use.parallel"


class Bodies(LineCalls):
    """Reads calls at given places of one text."""

    __slots__ = ()

    # -- behind a mark -------------------------------------------------------------------------

    def after_mark(self, start: int, at: int, dialect: str = "tool_call") -> Read:
        """Every call that directly follows a mark, one behind the other."""
        leaks: list[Leak] = []
        while True:
            opened = at
            at = past(NOISE, self.text, at)
            read = self.one(start, at, dialect)
            if read is None:
                return leaks, opened if leaks else at
            if not read[0]:
                return leaks, read[1]
            leaks += read[0]
            if len(leaks) > MOST_CALLS:
                raise TooMany("calls", MOST_CALLS)
            start = read[1]
            at = past(BETWEEN, self.text, start)

    def one(self, start: int, at: int, dialect: str) -> Read | None:
        """The call, or the list of calls, that starts here."""
        text = self.text
        if at >= len(text) or RESULT.match(text, at):
            return None
        if text[at] in "{[" and not LIST_OF_CALLS.match(text, at):
            return self.arrowed(start, at, dialect) or self.json_calls(start, at, dialect)
        if text[at] == "<":
            inner = self.element(start, at) or self.unmarked_element(at)
            return inner if inner[0] else None
        if text[at] == "[" or PYTHON_CALL.match(text, at):
            return self.python(start, at, dialect)
        named = NAMED.match(text, at)
        read = self.named(start, named, dialect) if named else None
        return read or self.fields(start, at, dialect)

    def named(self, start: int, named: re.Match[str], dialect: str) -> Read | None:
        """A name, then its arguments: as JSON, as Gemma writes them, as keys and values, or none."""
        text = self.text
        name = self.own(named[3])
        at = past(NOISE, text, named.end())
        if text.startswith((":", ","), at) and text.startswith("{", behind := past(NOISE, text, at + 1)):
            at = behind
        if name == _PARALLEL:
            return self.json_calls(start, at, dialect)
        if not self.offered(name):
            return None
        found = CALL_ID.search(text, named.end(), at)
        call_id = found[1] if found else named[2] if named[4] else ""
        if text.startswith("{", at):
            read = self.gemma(at) if named[1] else self.value(at)
            return self.with_arguments(name, read, start, at, dialect, call_id)
        tagged = calltags.pairs(text, at) or calltags.parameters(text, at)
        if tagged is not None:
            return self.tagged(name, tagged, start, at, "glm")
        closing = CLOSE.match(text, past(NO_ARGUMENTS, text, named.end()))
        if closing is None and at < len(text):
            given, stop = calltags.attributes(text, named.end())
            ended = CLOSE.match(text, stop) if given else None
            if ended:
                raw = text[named.end() : stop]
                return [Leak(name, given, raw, start, ended.end(), dialect, id=call_id, untyped=True)], ended.end()
            return self.named_fields(name, start, named.end(), dialect, call_id)
        wrapped = WRAP_OPEN.match(text, closing.end()) if closing else None
        if wrapped:  # `<tool>f</tool><tool_input>…</tool_input>`
            read = self.value(wrapped.end())
            if read is None:
                return self.spoken(name, start, wrapped.end(), WRAP_CLOSE, call_id)
            ended = WRAP_CLOSE.match(text, read.stop)
            read = read._replace(stop=ended.end()) if ended else read
            return self.with_arguments(name, read, start, wrapped.end(), dialect, call_id)
        stop = closing.end() if closing else len(text)
        return [Leak(name, {}, "", start, stop, dialect, id=call_id, cut=closing is None)], stop

    def harmony(self, start: int, at: int) -> Read:
        """`to=functions.f … {…}`, as gpt-oss addresses a call; start at the channel if one is named."""
        addressed = TO_NAME.match(self.text, at)
        if addressed is None:
            return [], at
        name = addressed[0] if self.offered(addressed[0]) else addressed[0].removesuffix("json")
        if name != _PARALLEL and not self.offered(name):
            return [], addressed.end()
        found = TO_REST.match(self.text, addressed.end())
        if found is None:
            return [], addressed.end()
        channel = _CHANNEL.search(self.text, max(0, start - 80), start)
        start = channel.start() if channel else start
        if name == _PARALLEL:
            return self.json_calls(start, found.end(), "harmony")
        if self.text.startswith("<|call|>", found.end()):
            stop = self.closed(found.end())
            return [Leak(name, {}, "", start, stop, "harmony")], stop
        if found.end() >= len(self.text):
            leak = Leak(name, {}, "", start, found.end(), "harmony", cut=True)
            return ([leak] if "<|" in found[1] else []), found.end()
        return self.with_arguments(name, self.value(found.end()), start, found.end(), "harmony")

    # -- tags ----------------------------------------------------------------------------------

    def tag(self, start: int, at: int) -> Read:
        """`<invoke name="f">` or `<function=f>`: parameter tags, JSON, or elements up to the closing tag."""
        text = self.text
        slip = TAG_SLIP.match(text, at)
        if slip is not None and self.offered(self.own(slip[1])):
            leaks, stop = self.with_arguments(self.own(slip[1]), self.value(slip.end()), start, slip.end(), "tag")
            stop = self.closed(past(TAG_SLIP_END, text, stop))
            return [leak._replace(stop=stop) for leak in leaks], stop
        found = TAG_NAME.match(text, at)
        if found is None or not self.offered(self.own(found[1])):
            return [], at
        name = self.own(found[1])
        at = found.end()
        given = calltags.attributes(found[2], 0)[0] if found[2] else {}
        if found[3]:
            return [Leak(name, given, found[2], start, at, "tag", untyped=True)], at
        if given and (closing := TAG_CLOSE.match(text, at)):
            return [Leak(name, given, found[2], start, closing.end(), "tag", untyped=True)], closing.end()
        return self.tag_body(name, start, at)

    def tag_body(self, name: str, start: int, at: int) -> Read:
        text = self.text
        closing = TAG_CLOSE.match(text, at)
        if closing:
            return [Leak(name, {}, "", start, self.closed(closing.end()), "tag")], closing.end()
        wrapped = WRAP_OPEN.match(text, at)
        begin = wrapped.end() if wrapped else past(BETWEEN, text, at)
        if wrapped and (ended := WRAP_CLOSE.match(text, begin)):
            return [Leak(name, {}, "", start, self.closed(ended.end()), "tag")], ended.end()
        read = self.value(begin)
        if read is not None:
            stop = text.find(">", read.stop) + 1 if wrapped and text.startswith("</", read.stop) else read.stop
            leaks, stop = self.with_arguments(name, read._replace(stop=stop), start, begin, "tag")
            return [leaks[0]._replace(raw=text[begin : read.stop])], stop
        tagged = calltags.parameters(text, begin) or calltags.pairs(text, begin) or calltags.elements(text, begin)
        if tagged is not None:
            return self.tagged(name, tagged, start, begin, "tag")
        if begin < len(text) and not _cut_tag(text, begin):
            fields = self.lines(begin, begin)
            return ([], begin) if fields is None else self.with_arguments(name, fields, start, begin, "tag")
        return [Leak(name, {}, "", start, len(text), "tag", cut=True)], len(text)

    def tagged(self, name: str, tagged: Tagged, start: int, at: int, dialect: str) -> Read:
        stop = self.closed(tagged.stop)
        rest = self.text[tagged.stop :].lstrip()
        more = ARG_OPEN.match(rest) or rest.startswith(_MORE) or _cut_tag(self.text, tagged.stop)
        cut = tagged.cut or (not tagged.closed and bool(more))
        is_open = not tagged.closed and not rest
        raw = self.text[at : tagged.stop]
        leak = Leak(name, tagged.arguments, raw, start, stop, dialect, untyped=True, cut=cut, open=is_open)
        return [leak], stop

    def xtml(self, start: int, at: int) -> Read:
        """`<|open|>call tool="f" …<|sep|>`, as Kimi K3 writes it."""
        named = TO_NAME.match(self.text, at)
        if named is None or not self.offered(named[0]):
            return [], at
        tagged = calltags.xtml(self.text, named.end())
        if tagged is None:
            cut = not self.text[named.end() + 80 :]
            return ([Leak(named[0], {}, "", start, len(self.text), "xtml", cut=True)] if cut else []), named.end()
        raw = self.text[named.end() : tagged.stop]
        return [
            Leak(named[0], tagged.arguments, raw, start, tagged.stop, "xtml", untyped=True, cut=tagged.cut)
        ], tagged.stop

    def element(self, start: int, at: int) -> Read | None:
        """`<tool_name>f</tool_name>` and then the arguments in an element of their own."""
        found = ELEMENT_NAME.match(self.text, at)
        if found is None or not self.offered(found[1]):
            return None
        return self.tag_body(found[1], start, found.end())

    # -- without a mark ------------------------------------------------------------------------

    def unmarked(self, at: int, inline: bool = False) -> Read:
        """A call on a line that starts here: JSON, Python, a name before its JSON, an element named as the tool."""
        text = self.text
        if text[at] in "{[" and not LIST_OF_CALLS.match(text, at):
            return self.unmarked_json(at, inline)
        if text[at] == "<":
            return self.unmarked_element(at)
        coded = None if inline else CODED.match(text, at)
        if coded is not None:
            return self.coded(coded)
        found = _ALONE.match(text, at)
        if found is not None and not inline:
            if (text[at - 1 : at] == "`" and found[0] in _LANGUAGES) or not self.offered(found[0]):
                return [], found.end()
            begin = past(BETWEEN, text, found.end())
            read = self.value(begin)
            if read is None or not _LOOSE.isdisjoint(record[0] for record in read.records):
                return [], found.end()  # a style sheet, a block of code
            return self.with_arguments(found[0], read, at, begin, "name")
        return self.python(at, at) if not inline else ([], at)

    def unmarked_element(self, at: int) -> Read:
        """`<f><a>1</a></f>`: an element named exactly as an offered tool, with elements or JSON inside."""
        found = _ELEMENT.match(self.text, at)
        if found is None or not self.offered(found[1]):
            return [], at + 1
        bare = self.bare_element(found, at)
        if bare is not None or not found[0].rstrip().endswith(">"):
            return bare or ([], found.end())
        read = self.value(found.end())
        tagged = None
        if read is None:
            tagged = calltags.parameters(self.text, found.end()) or calltags.elements(self.text, found.end())
        inner = read.stop if read else tagged.stop if tagged else -1
        closing = f"</{found[1]}>"
        end = past(_BLANK, self.text, max(inner, 0))
        cut = end >= len(self.text) or _cut_tag(self.text, end)
        if inner < 0 or not (self.text.startswith(closing, end) or cut):
            return [], found.end()
        stop = len(self.text) if cut else end + len(closing)
        raw = self.text[found.end() : inner]
        if read:
            return [Leak(found[1], read.value, raw, at, stop, "element", read.records, cut=cut or read.cut)], stop
        arguments = tagged.arguments if tagged else {}
        return [Leak(found[1], arguments, raw, at, stop, "element", untyped=True, cut=cut)], stop

    def bare_element(self, found: re.Match[str], at: int) -> Read | None:
        """`<f a="1"/>`, `<f></f>`: an element whose arguments stand inside its tag, or that has none."""
        begin = found.end(1)
        given, stop = calltags.attributes(self.text, begin)
        closing = re.compile(rf"\s?(?:/>|>\s{{0,9}}</{re.escape(found[1])}>)").match(self.text, stop)
        if closing is None or not (given or not found[1].isalpha() or self.only(at, closing.end())):
            return None
        raw = self.text[begin:stop]
        return [Leak(found[1], given, raw, at, closing.end(), "element", untyped=True)], closing.end()


def _cut_tag(text: str, at: int) -> bool:
    """Whether the text ends inside a tag: `<param`, `<parameter=ci`, `</func`."""
    rest = text[at : at + 200].lstrip()
    return len(text) - at < 200 and rest.startswith("<") and ">" not in rest
