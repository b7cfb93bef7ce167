"""Reads calls written as JSON: an object or a list that names its tools, or the arguments after a name.

Takes the offset of a value; returns its calls, each with the records of its reading, and the offset after them. A list
that was cut off before a name gives the complete calls before it.
"""

from json import dumps

from trueup.recover.calls.dialects import BETWEEN
from trueup.recover.calls.source import CallReader, Value, past
from trueup.recover.calls.values import CALL_KEYS, Leak, ValueCall, calls_in
from trueup.recover.json.parser import Node, Parser, Record, TooDeep, parts_of
from trueup.verdict.patterns import lazy_regex

Read = tuple[list[Leak], int]
FIRST_KEY = lazy_regex(r"""[\[{\s]*["'“`]?([^\s"'“”`:{}\[\],]{1,120})["'”`]?\s*(?:[:：]|=>)""")
_CUT_OFF = frozenset({"S005", "S028", "S029", "S030", "S037"})
_ASTRAY = lazy_regex(r"\s*,\s*[\"'](?:arguments|parameters|args|input)[\"']\s*:\s*(?=\{)")
_BRACE = lazy_regex(r"\s*\}?")
_GEMMA = lazy_regex(r"(?P<quote><\|\"\|>|<escape>)|[{}\[\]]")


def calls_at(source: CallReader, start: int, at: int, dialect: str, *, marked: bool = True) -> Read:
    """The calls in the value here."""
    read = source.value(at)
    if read is None:
        return [], at + 1
    alone = not marked and source.only(at, read.stop)
    leaks, stop = calls_of(source, read, start, at, dialect, marked=marked, alone=alone)
    astray = _ASTRAY.match(source.text, read.stop) if marked and len(leaks) == 1 and not leaks[0].arguments else None
    if astray:  # `{"name": "f"}, "arguments": {…}`: a brace that closed too early
        value = source.value(astray.end())
        leaks, stop = with_arguments(source, leaks[0].name, value, start, astray.end(), dialect)
        stop = source.closed(past(_BRACE, source.text, stop))
        leaks = [leak._replace(stop=stop) for leak in leaks]
    return leaks, stop


def calls_of(
    source: CallReader, read: Value, start: int, at: int, dialect: str, *, marked: bool = True, alone: bool = False
) -> Read:
    """The calls in a value that was read from here on."""
    calls = list(calls_in(read.value, source.offered, marked=marked, alone=alone))
    if calls and read.cut:
        read = source.further(at, read)
        calls = list(calls_in(read.value, source.offered, marked=marked, alone=alone))
    whole = not read.cut
    if (
        not whole
        and isinstance(read.value, list)
        and not list(calls_in(read.value[-1:], source.offered, marked=marked, alone=alone))
    ):
        # the text ends inside the next call of the list, before its name: the calls before it are complete
        calls, whole = list(calls_in(read.value[:-1], source.offered, marked=marked, alone=alone)), True
    if not marked and calls and not calls[0].given and not source.only(at, read.stop):
        calls = []
    stop = source.closed(read.stop) if marked and calls else read.stop
    raw = source.text[at : read.stop]
    leaks = []
    for index, call in enumerate(calls):
        last = index == len(calls) - 1
        given = call.path if call.key is None else (*call.path, call.key)
        inside = read.inside[: len(given)] == given and (call.key is not None or stop == read.stop)
        cut = last and not whole and (read.lost or inside or not call.given)
        records = _records_of(read, call, last=last, dropped=whole and read.cut)
        written = "pair" if isinstance(call.key, int) and not marked else dialect
        leaks.append(Leak(call.name, call.arguments, raw, start, stop, written, records, call.id, cut=cut))
    return leaks, max(stop, at + 1)


def _records_of(read: Value, call: ValueCall, *, last: bool, dropped: bool) -> tuple[Record, ...]:
    """The records of one call of a value, each with its place inside the arguments."""
    out: list[Record] = []
    depth = len(call.path)
    for code, start, stop, after, node in read.records:
        parts = parts_of(node)
        own = parts[:depth] == call.path
        if not (own or (last and depth > len(parts))) or (dropped and code in _CUT_OFF):
            continue
        rest = parts[depth:] if own else ()
        given = rest[:1] == (call.key,)
        if rest and call.key is not None and not given and rest[0] not in CALL_KEYS:
            continue
        inner: Node = None
        for part in rest[1:] if given else ():
            inner = (inner, part)
        out.append((code, start, stop, after, inner))
    return tuple(out)


def with_arguments(
    source: CallReader, name: str, read: Value | None, start: int, at: int, dialect: str, *, call_id: str = ""
) -> Read:
    """The call of a name, with a value that was read from here on as its arguments."""
    if read is None:
        return [], at
    if read.cut:
        read = source.further(at, read)
    stop = source.closed(read.stop)
    raw = source.text[at : read.stop]
    cut = read.cut and (read.lost or stop == read.stop)  # if a mark closes the call, only a bracket is missing
    return [Leak(name, read.value, raw, start, stop, dialect, read.records, call_id, cut=cut)], stop


def unmarked(source: CallReader, at: int, *, inline: bool) -> Read:
    """The calls in a value without a mark, and in further objects right after it."""
    key = FIRST_KEY.match(source.text, at)
    if inline and (key is None or key[1] not in CALL_KEYS):
        return [], at
    leaks, stop = calls_at(source, at, at, "json", marked=False)
    while leaks:
        following = past(BETWEEN, source.text, stop)
        if source.text[following : following + 1] != "{":
            break
        more, end = calls_at(source, following, following, "json", marked=False)
        if not more and end >= len(source.text):  # cut off before its name
            leaks[-1] = leaks[-1]._replace(stop=end)
        if not more:
            break
        leaks += more
        stop = end
    return leaks, stop


def gemma(source: CallReader, at: int) -> Value:
    """`{a:1,s:<|"|>txt<|"|>}`: strings between special marks, keys without quotes."""
    text, start = source.text, at
    out: list[str] = []
    depth = 0
    cut = True
    while piece := _GEMMA.search(text, at):
        out.append(text[at : piece.start()])
        at = piece.end()
        quote = piece["quote"]
        if quote:
            end = text.find(quote, at)
            out.append(dumps(text[at : end if end >= 0 else None]))
            if end < 0:
                break
            at = end + len(quote)
            continue
        out.append(piece[0])
        depth += 1 if piece[0] in "{[" else -1
        if depth == 0:
            cut = False
            break
    stop = len(text) if cut else at
    plain = "".join(out)
    try:
        outcome = Parser(plain, 0, len(plain), frozenset(), source.max_depth).read()
    except TooDeep:
        return Value(None, stop)
    lossy = tuple((r[0], start, stop, r[3], r[4]) for r in outcome.records if r[0] in {"S031", "S033", "S034"})
    return Value(outcome.value, stop, lossy, cut)
