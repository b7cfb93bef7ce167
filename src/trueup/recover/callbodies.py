"""What a call is made of, wherever it stands: JSON that names a tool, a name with its arguments, Python, tags.

The offset of a sign enters; the calls that directly follow it and the offset behind what was read leave. Only names
that are offered make a call; everything else is passed over.
"""

import re

from trueup.recover import calltags
from trueup.recover.callmarks import (
    ARG_OPEN,
    BETWEEN,
    CALL_ID,
    CLOSE,
    ELEMENT_NAME,
    NAME,
    NAMED,
    NOISE,
    PYTHON_CALL,
    REACT_INPUT,
    REACT_PLACE,
    TAG_CLOSE,
    TAG_NAME,
    TAG_SLIP,
    TAG_SLIP_END,
    TO_REST,
    WRAP_CLOSE,
    WRAP_OPEN,
)  # fmt: skip
from trueup.recover.callpython import LIST_OF_CALLS, PythonCalls, Read, past
from trueup.recover.callread import Value
from trueup.recover.calltags import Tagged
from trueup.recover.callvalues import ARGUMENT_KEYS, CALL_KEYS, Leak, calls_in
from trueup.recover.reader import Node, Record, parts_of

_FIRST_KEY = re.compile(r"""[\[{\s]*["'“`]?([^\s"'“”`:{}\[\],]{1,120})["'”`]?\s*(?:[:：]|=>)""")
_BLANK = re.compile(r"\s*")
_ALONE = re.compile(rf"{NAME}(?=[ \t]*\n?[ \t]*\{{)")
_ELEMENT = re.compile(r"<([^\W\d][\w.\-]{0,119})>\s*")
_LOOSE = frozenset({"S014", "S015", "S031"})
_CUT_OFF = frozenset({"S005", "S028", "S029", "S030", "S037"})
_CHANNEL = re.compile(r"(?:<\|start\|>assistant\s?)?(?:<\|channel\|>)?(?:\b(?:commentary|analysis|final))?[ \t]*\Z")
_THOUGHT = re.compile(r"\bThought:[^\n]*\n\s*\Z")
_PARALLEL = "multi_tool_use.parallel"
_ASIDE = " \t\r\n`;"


class Bodies(PythonCalls):
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
            start = read[1]
            at = past(BETWEEN, self.text, start)

    def one(self, start: int, at: int, dialect: str) -> Read | None:
        """The call, or the list of calls, that starts here."""
        text = self.text
        if at >= len(text):
            return None
        if text[at] in "{[" and not LIST_OF_CALLS.match(text, at):
            return self.json_calls(start, at, dialect)
        if text[at] == "<":
            return self.element(start, at)
        if text[at] == "[" or PYTHON_CALL.match(text, at):
            return self.python(start, at, dialect)
        named = NAMED.match(text, at)
        return self.named(start, named, dialect) if named else None

    def json_calls(self, start: int, at: int, dialect: str, marked: bool = True) -> Read:
        """The calls that the value here says."""
        read = self.value(at)
        if read is None:
            return [], at + 1
        said = list(calls_in(read.value, self.offered, marked))
        if said and read.cut:
            read = self.further(at, read)
            said = list(calls_in(read.value, self.offered, marked))
        whole = not read.cut
        if not whole and isinstance(read.value, list) and not list(calls_in(read.value[-1:], self.offered, marked)):
            # the text ends inside the next call of the list, before its name: those before it are whole
            said, whole = list(calls_in(read.value[:-1], self.offered, marked)), True
        if not marked and said and not said[0].given and not self.only(at, read.stop):
            said = []
        stop = self.closed(read.stop) if marked and said else read.stop
        leaks = []
        for index, call in enumerate(said):
            last = index == len(said) - 1
            inside = any(part in ARGUMENT_KEYS or part == call.name for part in read.inside)
            cut = last and not whole and (read.lost or inside or not call.given)
            records = _records_of(read, index, len(said), call.name, dropped=whole and read.cut)
            raw = self.text[at : read.stop]
            leaks.append(Leak(call.name, call.arguments, raw, start, stop, dialect, records, call.id, cut=cut))
        return leaks, max(stop, at + 1)

    def only(self, start: int, stop: int) -> bool:
        """Whether nothing else is in the text: without arguments, an object with a name is a call only then."""
        before = self.text[:start].rsplit("</think>", 1)[-1]
        return not before.strip(_ASIDE + "json") and not self.text[stop:].strip(_ASIDE)

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
        closing = CLOSE.match(text, named.end())
        if closing is None and at < len(text):
            return None
        stop = closing.end() if closing else len(text)
        return [Leak(name, {}, "", start, stop, dialect, id=call_id, cut=closing is None)], stop

    def with_arguments(
        self, name: str, read: Value | None, start: int, at: int, dialect: str, call_id: str = ""
    ) -> Read:
        if read is None:
            return [], at
        if read.cut:
            read = self.further(at, read)
        stop = self.closed(read.stop)
        raw = self.text[at : read.stop]
        return [Leak(name, read.value, raw, start, stop, dialect, read.records, call_id, cut=read.cut)], stop

    def harmony(self, start: int, at: int) -> Read:
        """`to=functions.f … {…}`, as gpt-oss addresses a call; start at the channel if one is named."""
        found = TO_REST.match(self.text, at)
        if found is None:
            return [], at
        channel = _CHANNEL.search(self.text, max(0, start - 80), start)
        start = channel.start() if channel else start
        name = found[1].removesuffix("json") if not self.offered(found[1]) else found[1]
        if name == _PARALLEL:
            return self.json_calls(start, found.end(), "harmony")
        if not self.offered(name):
            return [], found.end(1)
        if self.text.startswith("<|call|>", found.end()):
            stop = self.closed(found.end())
            return [Leak(name, {}, "", start, stop, "harmony")], stop
        if found.end() >= len(self.text):
            leak = Leak(name, {}, "", start, found.end(), "harmony", cut=True)
            return ([leak] if "<|" in found[2] else []), found.end()
        return self.with_arguments(name, self.value(found.end()), start, found.end(), "harmony")

    def react(self, start: int, at: int) -> Read:
        """`Action: f`, then `Action Input:` with JSON or a line of text; or an action as JSON."""
        text = self.text
        thought = _THOUGHT.search(text, max(0, start - 400), start)
        start = thought.start() if thought else start
        begin = past(NOISE, text, at)
        if text[begin : begin + 1] in ("{", "["):
            return self.json_calls(start, begin, "react")
        if PYTHON_CALL.match(text, begin):
            return self.python(start, begin, "react")
        named = NAMED.match(text, begin)
        name = self.own(named[3]) if named else ""
        if named is None or not self.offered(name):
            return [], at
        given = REACT_INPUT.match(text, named.end())
        if given is None and (placed := REACT_PLACE.match(text, named.end())):
            return [Leak(name, placed[1], placed[1], start, placed.end(), "react")], placed.end()
        if given is None:
            rest = " ".join(text[named.end() : named.end() + 40].split())
            cut = len(text) - named.end() < 40 and "Action Input:".startswith(rest)
            return ([Leak(name, {}, "", start, len(text), "react", cut=True)] if cut else []), named.end()
        begin = past(NOISE, text, given.end())
        read = self.value(begin)
        if read is not None:
            return self.with_arguments(name, read, start, begin, "react")
        line = text[given.end() :].split("\n", 1)[0].strip()
        stop = given.end() + len(line)
        return [Leak(name, line or {}, line, start, stop, "react", cut=not line and stop >= len(text.rstrip()))], stop

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
        if found[3]:
            return [Leak(name, {}, "", start, at, "tag")], at
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
            return [], begin
        return [Leak(name, {}, "", start, len(text), "tag", cut=True)], len(text)

    def tagged(self, name: str, tagged: Tagged, start: int, at: int, dialect: str) -> Read:
        stop = self.closed(tagged.stop)
        rest = self.text[tagged.stop :].lstrip()
        cut = tagged.cut or (not tagged.closed and bool(ARG_OPEN.match(rest) or _cut_tag(self.text, tagged.stop)))
        is_open = not tagged.closed and not rest
        raw = self.text[at : tagged.stop]
        leak = Leak(name, tagged.arguments, raw, start, stop, dialect, untyped=True, cut=cut, open=is_open)
        return [leak], stop

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
        found = _ALONE.match(text, at)
        if found is not None and not inline:
            if not self.offered(found[0]):
                return [], found.end()
            begin = past(BETWEEN, text, found.end())
            read = self.value(begin)
            if read is None or not _LOOSE.isdisjoint(record[0] for record in read.records):
                return [], found.end()  # a style sheet, a block of code
            return self.with_arguments(found[0], read, at, begin, "name")
        return self.python(at, at) if not inline else ([], at)

    def unmarked_json(self, at: int, inline: bool) -> Read:
        key = _FIRST_KEY.match(self.text, at)
        if inline and (key is None or key[1] not in CALL_KEYS):
            return [], at
        leaks, stop = self.json_calls(at, at, "json", marked=False)
        while leaks:  # further objects behind the first, joined by white space or a semicolon
            following = past(BETWEEN, self.text, stop)
            if self.text[following : following + 1] != "{":
                break
            more, end = self.json_calls(following, following, "json", marked=False)
            if not more and end >= len(self.text):  # cut off before its name
                leaks[-1] = leaks[-1]._replace(stop=end)
            if not more:
                break
            leaks += more
            stop = end
        return leaks, stop

    def unmarked_element(self, at: int) -> Read:
        """`<f><a>1</a></f>`: an element named exactly as an offered tool, with elements or JSON inside."""
        found = _ELEMENT.match(self.text, at)
        if found is None or not self.offered(found[1]):
            return [], at + 1
        read = self.value(found.end())
        tagged = None if read else calltags.elements(self.text, found.end())
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


def _records_of(read: Value, index: int, count: int, name: str, dropped: bool) -> tuple[Record, ...]:
    """The records of one call among those of a list, each with its place inside the arguments."""
    out: list[Record] = []
    item = read.value[index] if isinstance(read.value, list) and len(read.value) == count else read.value
    apart = isinstance(item, dict) and any(key in item for key in ARGUMENT_KEYS)
    for code, start, stop, after, node in read.records:
        parts = parts_of(node)
        own = parts[0] if parts and isinstance(parts[0], int) and isinstance(read.value, list) else count - 1
        key = next((p for p in parts if isinstance(p, str)), name)
        beside = apart and key != name and key not in CALL_KEYS
        if own != index or beside or (dropped and code in _CUT_OFF):
            continue
        inner: Node = None
        for part in parts[next((i + 1 for i, p in enumerate(parts) if p in ARGUMENT_KEYS), len(parts)) :]:
            inner = (inner, part)
        out.append((code, start, stop, after, inner))
    return tuple(out)


def _cut_tag(text: str, at: int) -> bool:
    """Whether the text ends inside a tag: `<param`, `<parameter=ci`, `</func`."""
    rest = text[at : at + 200].lstrip()
    return len(text) - at < 200 and rest.startswith("<") and ">" not in rest
