"""Reads calls written as Python: `f(a=1)`, `[f(a=1), g()]`, `["f(a=1)"]`, `{f(a=1)}`, `print(f(1))`.

Takes the offset of a call; returns the calls there and the offset after them. Brackets and quotes around calls are
layers without a meaning. Inside them every name has to be an offered one.
"""

from trueup.recover.calls.arguments import Arguments
from trueup.recover.calls.dialects import ASSIGNED, NAME
from trueup.recover.calls.json import Read
from trueup.recover.calls.source import CallReader, Value, past
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import MOST_CALLS, TooMany
from trueup.verdict.catalogue import GRADE
from trueup.verdict.patterns import lazy_regex

CALL = lazy_regex(rf"\s*{ASSIGNED}({NAME})\s?\(")
# Brackets and quotes before a call; the usual form, unquoted calls in a list; quoted calls in a list.
LAYERED = lazy_regex(rf"[\[({{'\"`][\[({{'\"`\s]{{0,12}}(?=(?:\w{{1,30}} ?= ?)?{NAME}\s?\()")
LISTED = lazy_regex(rf"\[\s*(?={NAME}\s?\()")
QUOTED_LIST = lazy_regex(rf"\[\s*[\"'](?={NAME}\s?\()")
_SEPARATED = lazy_regex(r"\s*[,;]\s*|\s*\n\s*|\s*")
_FOLLOWING = lazy_regex(rf"\s?[,;]\s?(?={NAME}\()")
# `f(city: str, days: int = 3)` shows how to call a tool, and is not a call
_SIGNATURE = lazy_regex(
    r"[^()\n\"']{0,200}?\b\w{1,80}\??\s?:\s?(?:str|string|int|integer|float|number|bool|boolean|list|dict|array|object|any"
    r"|Optional|List|Dict|Any|Union)\b(?!\s?\()"
)
_CUT_NAME = lazy_regex(r"(?:\s*,\s*['\"]?[\w.]*\Z)?")
_CLOSERS = {"[": "]", "(": ")", "{": "}", "'": "'", '"': '"', "`": "`"}
_NESTED = lazy_regex(rf"({NAME})\s?\(")
_NEAR = 200
_DEEPEST = 12


def calls_at(source: CallReader, start: int, at: int, dialect: str = "pythonic") -> Read:
    """The calls here, one after the other, with or without brackets and quotes around them."""
    text = source.text
    opened = LAYERED.match(text, at)
    layers = list("".join(opened[0].split())) if opened else []
    listed = bool(layers)
    leaks: list[Leak] = []
    begin = at
    at = opened.end() if opened else at
    while found := CALL.match(text, at):
        name = source.own(found[1])
        if not source.offered(name) or _SIGNATURE.match(text, found.end()):
            return ([], found.end()) if listed or not leaks else (leaks, leaks[-1].stop)
        quoted = "'" in layers or '"' in layers
        leaks.append(call(source, name, start if not leaks else found.start(1), found.end(), dialect, quoted=quoted))
        if len(leaks) > MOST_CALLS:
            raise TooMany("calls", MOST_CALLS)
        at = leaks[-1].stop
        if leaks[-1].lost:
            break
        if text[found.start() : found.start(1)].strip() == "print(" and text.startswith(")", at):
            at += 1
            leaks[-1] = leaks[-1]._replace(stop=at)
        if listed:
            at = _peeled(text, at, layers)
            if not layers:
                break
        elif "\n" in text[at : at + 8] or dialect != "pythonic" or _FOLLOWING.match(text, at):
            at = past(_SEPARATED, text, at)
    if not leaks:
        return [], begin + 1
    last = leaks[-1]
    if listed and not last.lost:
        at = at if not layers else past(_CUT_NAME, text, last.stop)
        leaks[-1] = last = last._replace(stop=at, open=bool(layers) and not text[at:].strip())
    if dialect != "pythonic":
        leaks[-1] = last = last._replace(stop=source.closed(last.stop))
    return leaks, last.stop


def _peeled(text: str, at: int, layers: list[str]) -> int:
    """Skip the text between two calls: closing brackets and quotes, a comma, opening ones."""
    while at < len(text):
        sign = text[at]
        if layers and sign == _CLOSERS[layers[-1]]:
            layers.pop()
        elif sign in _CLOSERS and len(layers) < _DEEPEST:
            layers.append(sign)
        elif sign not in " \t\r\n,;":
            break
        at += 1
        if not layers:
            break
    return at


def call(source: CallReader, name: str, start: int, at: int, dialect: str, *, quoted: bool = False) -> Leak:
    """The call whose arguments start here."""
    text = source.text
    # a string may contain a mark; after too many unsuccessful readings, only nearby text is read
    reach = len(text) if source.budget > 0 else min(source.stop_after(at)[0], at + _NEAR)
    given = Arguments(
        text, at, source.max_depth, quoted=quoted, stop_after=lambda place: source.stop_after(place)[0], reach=reach
    )
    fault = given.fault or _nested(source, given)
    named, by_place = given.named, tuple(given.by_place)
    if len(by_place) == 1 and not named and isinstance(by_place[0], dict):
        named, by_place = by_place[0], ()
    lost = given.cut or bool(given.fault)
    source.budget -= reach - at if lost else 0
    raw = text[at : given.stop - (not lost)]
    return Leak(
        name, named, raw, start, given.stop, dialect, tuple(given.records), by_place=by_place, cut=given.cut,
        bare=given.bare, fault=fault, lost=lost,
    )  # fmt: skip


def _nested(source: CallReader, given: Arguments) -> str:
    """The reason why a call cannot be run yet: one of its arguments is a call of another tool."""
    for key, at in given.nested.items():
        found = _NESTED.match(source.text, at)
        if found and source.offered(source.own(found[1])):
            label = f"argument {key + 1}" if isinstance(key, int) else f"argument {key!r}"
            return f"{label} is the result of another call; call {found[1]} first"
    return ""


def quoted(source: CallReader, read: Value, start: int, at: int, dialect: str = "pythonic") -> Read:
    """The calls in the strings of a list, `["f(a=1)", "g()"]`, if reading the list took no guess."""
    texts = read.value if isinstance(read.value, list) else [read.value]
    if read.cut or not all(GRADE[record[0]] == "lossless" or record[0] == "S023" for record in read.records):
        return [], at + 1
    stop = source.closed(read.stop) if dialect != "pythonic" else read.stop
    leaks: list[Leak] = []
    for inner in texts:
        calls, end = (
            calls_at(CallReader(inner, source.offered, source.max_depth), 0, 0) if isinstance(inner, str) else ([], 0)
        )
        if not calls or calls[-1].lost or inner[end:].strip(" \t\r\n;"):
            return [], at + 1
        for leak in calls:
            records = tuple((code, at, read.stop, after, node) for code, _, _, after, node in leak.records)
            leaks.append(leak._replace(start=start, stop=stop, dialect=dialect, records=records))
    return leaks, stop
