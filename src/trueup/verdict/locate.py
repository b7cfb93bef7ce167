"""Where in a reply a field stands: a verdict enters, the same verdict with more spans leaves. For the screen only.

What concerns the value (a coercion, a schema error) carries a path and at best the span of a whole member. Here the
reply's brackets, strings and words are walked once, as far as they go, and a place is only given when what stands
there is what the verdict says.
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
_MOST = 200_000  # characters: beyond that nobody looks at the screen
_MOST_DEPTH = 600
_MOST_TAILS = 50
_QUOTES = "\"'`“”„«»"
_AROUND = "W"  # the family of fixes that say what is not the value
_OF_VALUE = "C"  # the family of fixes that change a value, whose own span is the whole member
_KEY_CODES = frozenset({"C010", "V003"})
# These say how a stretch was read; nothing of it was dropped or put in its place.
_READ = frozenset({"W007", "W008", "W009", "W012", "W013", "W015", "W016", "K001"})
# These say how a string was written; what it became is in the value.
_STRING = frozenset({"S008", "S009", "S010", "S011", "S012", "S016", "S022", "S025", "S035", "S040"})
_UNPLACED = frozenset({"C009"})  # a member that was left out has no place of its own


def is_reading(fix: Fix) -> bool:
    """Whether a fix marks a stretch that was read in another way, rather than dropped or replaced."""
    return fix.code in _READ or fix.code[0] == "F" or (fix.code in _STRING and not fix.after and bool(fix.before))


class Spot(NamedTuple):
    """A member or item: the span of its key (of itself, in a list) and of its value."""

    key: Span
    value: Span


class Spots:
    """The spots of a text by their paths, as they are and with keys folded."""

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
        """The spot of a path; failing that, the only one that ends like it (the value stood in an envelope)."""
        if parts in self._exact:
            return self._exact[parts]
        wanted = tuple(map(_fold, parts))
        near = self._folded.get(wanted, [])
        if not near and wanted:
            tails = self._tails.get(wanted[-1], [])[:_MOST_TAILS]
            near = [path for path in tails if tuple(map(_fold, path[-len(wanted) :])) == wanted]
        return self._exact[near[0]] if len(near) == 1 else None


def locate(verdict: Verdict, most: int = _MOST) -> tuple[tuple[Fix, ...], Findings]:
    """The verdict's fixes and findings, with a span where one could be found in the first characters of the text."""
    fixes, findings = verdict.fixes, verdict.findings
    text = verdict.reply.text[:most]
    spots = Spots("")
    if not all(found.span for found in findings) or any(fix.code[0] == _OF_VALUE for fix in fixes):
        spots = Spots(_masked(text, fixes))
    placed = tuple(_place_fix(_written(fix, text, verdict.data), spots, text) for fix in fixes)
    by_path = {fix.path: fix.span for fix in placed if fix.path != "$"}
    return placed, Findings(_place_finding(found, spots, text, by_path, verdict.data) for found in findings)


def _parts(path: str) -> Parts | None:
    """The steps of a path; none for the root and for what is no path."""
    try:
        return parse(path) or None
    except ValueError:
        return None


def _written(fix: Fix, text: str, data: Any) -> Fix:
    """A fix of how a string was written, with what the string became, when it does not say so itself."""
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
    """The key and the value of a member that takes up a span, and the span itself."""
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
    """Whether the text of a token is the value that is meant, however it was quoted."""
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
    """The text with what stood around the value blanked out, every offset kept."""
    spans = [fix.span for fix in fixes if fix.code[0] == _AROUND and fix.span and not fix.after and not is_reading(fix)]
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            kept += [text[at:start], " " * len(text[max(start, at) : end])]
            at = end
    return "".join([*kept, text[at:]])


def _spots(text: str) -> Iterator[tuple[Parts, Spot]]:
    """Every member and item that can be told, with its path."""
    path: list[str | int] = []
    frames: list[tuple[str, int, Span | None]] = []  # bracket, its offset, the span of the key it hangs on
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
