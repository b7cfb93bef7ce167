"""Where in a reply a field is: takes a verdict and returns its facts with more spans. For display only.

A fact about the value (a coercion, a schema error) has a path and at best the span of a whole member. This module walks
the reply's brackets, strings and words once, as far as it can. It adds a span only if the text there matches the verdict.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.facts import Finding, Findings, Fix, Span
from trueup.verdict.paths import Parts, parse
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.verdict import Verdict

_TOKEN = lazy_regex(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|“[^”]*”|„[^“”]*[“”]|«[^»]*»)"""
    r"""|(?P<open>[{\[(])|(?P<close>[}\])])|(?P<sign>[,:])|(?P<word>[^\s{}\[\](),:"'`“„«]+(?:[ ]+[^\s{}\[\](),:"'`“„«]+)*)""",
    re.DOTALL,
)
_MEMBER = lazy_regex(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s:]+)\s*:\s*""", re.DOTALL)
_COLON = lazy_regex(r"\s*:")
_MOST = 200_000  # characters: a longer text is not read on a screen
_MOST_DEPTH = 600
_MOST_TAILS = 50
_QUOTES = "\"'`“”„«»"
_AROUND = "W"  # the family of fixes for text outside the value
_OF_VALUE = "C"  # the family of fixes that change a value; their span is the whole member
_KEY_CODES = frozenset({"C010", "V003"})
# These fixes say how a part of the text was read; they drop and replace nothing.
_READ = frozenset({"W007", "W008", "W009", "W012", "W013", "W015", "W016", "K001"})
# These fixes say how a string was written; the result is in the value.
_STRING = frozenset({"S008", "S009", "S010", "S011", "S012", "S016", "S022", "S025", "S035", "S040"})
_UNPLACED = frozenset({"C009"})  # a dropped member has no place in the value


def is_reading(fix: Fix) -> bool:
    """Whether a fix marks text that was read in another way, rather than dropped or replaced."""
    return fix.code in _READ or fix.code[0] == "F" or (fix.code in _STRING and not fix.after and bool(fix.before))


class Spot(NamedTuple):
    """A member or item: the span of its key (of itself, in a list) and of its value."""

    key: Span
    value: Span


class Spots:
    """The spots of a text by path, with keys both exact and folded."""

    def __init__(self, text: str) -> None:
        self._exact = dict(_spots(text))
        self._folded: dict[Parts, list[Parts]] = {}
        self._tails: dict[str | int, list[Parts]] = {}
        for path in self._exact:
            folded = tuple(map(_fold, path))
            self._folded.setdefault(folded, []).append(path)
            if path:
                self._tails.setdefault(folded[-1], []).append(path)

    def find(self, parts: Parts) -> Spot | None:
        """The spot of a path, or the only spot whose path ends like it (the value was in an envelope)."""
        if parts in self._exact:
            return self._exact[parts]
        wanted = tuple(map(_fold, parts))
        near = self._folded.get(wanted, [])
        if not near and wanted:
            tails = self._tails.get(wanted[-1], [])[:_MOST_TAILS]
            near = [path for path in tails if tuple(map(_fold, path[-len(wanted) :])) == wanted]
        return self._exact[near[0]] if len(near) == 1 else None


def locate(verdict: Verdict, most: int = _MOST) -> tuple[tuple[Fix, ...], Findings]:
    """The verdict's fixes and findings, with a span if one was found in the first `most` characters of the text."""
    fixes, findings = verdict.fixes, verdict.findings
    text = verdict.reply.text[:most]
    spots = Spots("")
    if not all(finding.span for finding in findings) or any(fix.code[0] == _OF_VALUE for fix in fixes):
        spots = Spots(_masked(text, fixes))
    placed = tuple(_place_fix(_written(fix, text, verdict.data), spots, text) for fix in fixes)
    by_path = {fix.path: fix.span for fix in placed if fix.path != "$"}
    return placed, Findings(_place_finding(finding, spots, text, by_path, verdict.data) for finding in findings)


def _parts(path: str) -> Parts | None:
    """The steps of a path; None for the root and for text that is not a path."""
    try:
        return parse(path) or None
    except ValueError:
        return None


def _written(fix: Fix, text: str, data: Any) -> Fix:
    """A fix of a string's notation; if its `after` is empty, it is filled with the resulting string."""
    parts = _parts(fix.path)
    if fix.after or fix.code not in _STRING or not fix.span or not parts:
        return fix
    raw = text[slice(*fix.span)]
    value = _value_at(data, parts)
    if _COLON.match(text, fix.span[1]) and _unquoted(raw) == parts[-1]:
        value = parts[-1]
    if raw[:1] not in _QUOTES or not isinstance(value, str):
        return fix
    return msgspec.structs.replace(fix, after=json.dumps(value, ensure_ascii=False))


def _place_fix(fix: Fix, spots: Spots, text: str) -> Fix:
    if fix.code[0] != _OF_VALUE:
        return fix
    parts = _parts(fix.path)
    if parts is None or fix.code in _UNPLACED:
        return msgspec.structs.replace(fix, span=None)
    spot = spots.find(parts)
    spans = [] if spot is None else [spot.key if fix.code in _KEY_CODES else spot.value]
    if fix.span is not None:
        spans += _pieces(text, fix.span)
    right = (span for span in spans if _same(text[slice(*span)], fix.before))
    return msgspec.structs.replace(fix, span=next(right, None))


def _pieces(text: str, span: Span) -> list[Span]:
    """The spans of the key and the value of a member that fills a span, and the span itself."""
    start, end = span
    member = _MEMBER.match(text, start, end)
    return [span] if member is None else [member.span(1), (member.end(), end), span]


def _place_finding(found: Finding, spots: Spots, text: str, by_path: dict[str, Span | None], data: Any) -> Finding:
    parts = _parts(found.path)
    if found.span or parts is None:
        return found
    span = by_path.get(found.path)
    spot = spots.find(parts)
    if spot is not None and found.code in _KEY_CODES:
        span = spot.key
    elif spot is not None:
        value = _value_at(data, parts)
        if isinstance(value, dict | list) or _same(text[slice(*spot.value)], json.dumps(value, ensure_ascii=False)):
            span = spot.value
    elif found.code == "V002" and (around := spots.find(parts[:-1])):
        span = (around.value[0], around.value[0] + 1)
    return found if span is None else msgspec.structs.replace(found, span=span)


def _fold(part: str | int) -> str | int:
    return part if isinstance(part, int) else re.sub(r"[\W_]", "", part).casefold() or part


def _unquoted(raw: str) -> str:
    try:
        return str(json.loads(raw, strict=False)) if raw[0] == '"' else raw.strip(_QUOTES)
    except ValueError:
        return raw.strip(_QUOTES)


def _same(raw: str, before: str) -> bool:
    """Whether the text of a token is the given value, in any kind of quotes."""
    if raw[:1] in "{[(" or before.endswith("…"):
        return raw[:1] == before[:1]
    plain = raw.strip(_QUOTES)
    try:
        meant = json.loads(before)
    except ValueError:
        meant = before.strip(_QUOTES)
    return plain in (before, str(meant)) or raw == before or plain.casefold() == before.casefold()


def _value_at(data: Any, parts: Parts) -> Any:
    for part in parts:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _masked(text: str, fixes: tuple[Fix, ...]) -> str:
    """The text with everything around the value blanked out; all offsets stay the same."""
    spans = [fix.span for fix in fixes if fix.code[0] == _AROUND and fix.span and not fix.after and not is_reading(fix)]
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            kept += [text[at:start], " " * len(text[max(start, at) : end])]
            at = end
    return "".join([*kept, text[at:]])


def _spots(text: str) -> Iterator[tuple[Parts, Spot]]:
    """Every member and item that can be recognized, with its path."""
    path: list[str | int] = []
    frames: list[tuple[str, int, Span | None]] = []  # bracket, its offset, the span of its key
    last: re.Match[str] | None = None  # a string or word that may be a key
    key: Span | None = None
    for token in _TOKEN.finditer(text):
        kind, start = token.lastgroup, token.start()
        if len(frames) > _MOST_DEPTH:
            return
        if not frames:
            if kind == "open":
                frames.append((token[0], start, None))
                path.append(0)
            continue
        in_list = frames[-1][0] != "{"
        if kind == "sign" and token[0] == ":" and last is not None and not in_list:
            path[-1], key, last = _unquoted(last[0]), last.span(), None
        elif kind == "open":
            frames.append((token[0], start, key))
            path.append(0)
            key = last = None
        elif kind in ("text", "word"):
            last = token
            if key is not None or in_list:
                yield tuple(path), Spot(key or token.span(), token.span())
        elif kind == "sign" and in_list:
            path[-1] = int(path[-1]) + 1
        elif kind == "close":
            _, opened, hung = frames.pop()
            path.pop()
            if frames:
                yield tuple(path), Spot(hung or (opened, token.end()), (opened, token.end()))
            else:
                yield (), Spot((opened, token.end()), (opened, token.end()))
        if kind in ("sign", "close") and token[0] != ":":
            key = last = None
