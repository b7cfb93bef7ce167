"""Where in a reply a field stands: a verdict enters, the same verdict with more spans leaves. For the screen only.

What concerns the value (a coercion, a schema error) carries a path and no span. Here the reply's brackets, strings and
words are walked once, as far as they go, and a place is only given when what stands there is what the verdict says.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.facts import Finding, Findings, Fix, Span
from trueup.verdict.paths import Parts, parse
from trueup.verdict.verdict import Verdict

_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|“[^”]*”)"""
    r"""|(?P<open>[{\[(])|(?P<close>[}\])])|(?P<sign>[,:])|(?P<word>[^\s{}\[\](),:"'`“]+(?:[ ]+[^\s{}\[\](),:"'`“]+)*)""",
    re.DOTALL,
)
_MOST = 1_000_000  # characters: beyond that nobody looks at the screen
_QUOTES = "\"'`“”"
_AROUND = "W"  # the family of fixes that say what is not the value
_KEY_CODES = frozenset({"C010", "V003"})
_UNPLACED = frozenset({"C009"})  # a member that was left out has no place of its own


class Spot(NamedTuple):
    """A member or item: the span of its key (of itself, in a list) and of its value."""

    key: Span
    value: Span


def locate(verdict: Verdict) -> tuple[tuple[Fix, ...], Findings]:
    """The verdict's fixes and findings, with a span where one could be found."""
    fixes, findings = verdict.fixes, verdict.findings
    if all(fact.span for fact in (*fixes, *findings)):
        return fixes, findings
    text = verdict.reply.text[:_MOST]
    spots = dict(_spots(_masked(text, fixes)))
    placed = tuple(_place_fix(fix, spots, text) for fix in fixes)
    by_path = {fix.path: fix.span for fix in placed if fix.path != "$"}
    return placed, Findings(_place_finding(found, spots, text, by_path, verdict.data) for found in findings)


def _parts(path: str) -> Parts | None:
    """The steps of a path; none for the root and for what is no path."""
    try:
        return parse(path) or None
    except ValueError:
        return None


def _place_fix(fix: Fix, spots: dict[Parts, Spot], text: str) -> Fix:
    parts = _parts(fix.path)
    spot = None if fix.span or parts is None or fix.code in _UNPLACED else _find(spots, parts)
    if spot is None:
        return fix
    span = spot.key if fix.code in _KEY_CODES else spot.value
    return msgspec.structs.replace(fix, span=span) if _same(text[slice(*span)], fix.before) else fix


def _place_finding(
    found: Finding, spots: dict[Parts, Spot], text: str, by_path: dict[str, Span | None], data: Any
) -> Finding:
    parts = _parts(found.path)
    if found.span or parts is None:
        return found
    span = by_path.get(found.path)
    spot = _find(spots, parts)
    if spot is not None and found.code in _KEY_CODES:
        span = spot.key
    elif spot is not None:
        value = _value_at(data, parts)
        if isinstance(value, dict | list) or _same(text[slice(*spot.value)], json.dumps(value, ensure_ascii=False)):
            span = spot.value
    elif found.code == "V002" and (around := _find(spots, parts[:-1])):
        span = (around.value[0], around.value[0] + 1)
    return found if span is None else msgspec.structs.replace(found, span=span)


def _find(spots: dict[Parts, Spot], parts: Parts) -> Spot | None:
    """The spot of a path; failing that, the only one that ends like it (the value stood in an envelope)."""
    wanted = tuple(map(_fold, parts))
    if wanted in spots:
        return spots[wanted]
    near = [spot for path, spot in spots.items() if wanted and path[-len(wanted) :] == wanted]
    return near[0] if len(near) == 1 else None


def _fold(part: str | int) -> str | int:
    return part if isinstance(part, int) else re.sub(r"[\W_]", "", part).casefold() or part


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
    for fix in fixes:
        if fix.code[0] == _AROUND and fix.span and not fix.after:
            start, end = fix.span
            text = text[:start] + " " * len(text[start:end]) + text[end:]
    return text


def _spots(text: str) -> Iterator[tuple[Parts, Spot]]:
    """Every member and item that can be told, with its path; keys are folded."""
    path: list[str | int] = []
    frames: list[tuple[str, int, Span | None]] = []  # bracket, its offset, the span of the key it hangs on
    last: re.Match[str] | None = None  # a string or word that may be a key
    key: Span | None = None
    for token in _TOKEN.finditer(text):
        kind, start = token.lastgroup, token.start()
        if not frames:
            if kind == "open":
                frames.append((token[0], start, None))
                path.append(0)
            continue
        in_list = frames[-1][0] != "{"
        if kind == "sign" and token[0] == ":" and last is not None and not in_list:
            path[-1], key, last = _fold(last[0].strip(_QUOTES)), last.span(), None
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
