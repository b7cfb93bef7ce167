"""A folded text → its meaningful words and digits, and one line of signs that describes their order.

The line has two signs per token: the text before it (a space, a comma, `of`, `at`, a cue, or `|` for anything else) and
its kind. `grammar.py` is a pattern over this line. This module does not read dates or times.
"""

from typing import Any, NamedTuple

from trueup.grounding.moments.numeric import classify
from trueup.grounding.moments.values import Day
from trueup.grounding.moments.words import Lexeme, Vocabulary, vocabulary
from trueup.verdict.patterns import lazy_regex


class MomentToken(NamedTuple):
    """One word or number: its place, its kind as a letter of the grammar, and its value."""

    start: int
    end: int
    kind: str
    value: Any
    lexeme: Lexeme | None = None


class LexedText(NamedTuple):
    """The tokens of a text, and the signs for the grammar. The token at sign `i` is `tokens[i // 2]`."""

    tokens: list[MomentToken]
    signs: str


_TOKEN = lazy_regex(
    lambda: (
        r"(?<![a-z0-9_ß])(?=[a-z0-9])(?:(?=\d)(?:"
        r"(?P<iso>\d{4}-?\d\d-?\d\d(?:t|_)\d\d:?\d\d(?::?\d\d(?:[.,]\d++)?)?)(?:z|[+-]\d\d(?::?\d\d)?)?(?![a-z0-9])"
        r"|(?P<apart>\d{1,2} : [0-5]\d)(?![\d:])"
        r"|(?P<hour>\d{1,2} ?h(?: ?\d\d)?(?:min|m)?)(?![a-z0-9])"
        r"|(?P<digits>\d++(?:[.,:/\-]\d++)*+)(?P<suffix>[ap]\.m\b\.?|[a-z°]++)?+)"
        r"|(?P<era>[rhs]\d{1,2}\.\d{1,2}\.\d{1,2})(?![\w.])"
        rf"|(?P<word>{vocabulary().pattern})(?![a-z0-9ß])"
        r")"
    )
)
_AROUND = ' ,;:()[]"|'
_REACH = 28  # how far before a token a cue may start, in characters
_NOT_OURS = frozenset("$€£¥₩#+%^*=\\")
_NEEDS_CUE = frozenset("nwsedyFovVxmGu")  # kinds that are moments only after a cue
_CLOCKLIKE = frozenset("nwseTUzd")
_HOUR_ENDINGS = frozenset(("h", "hs", "hr", "hrs", "uhr", "u", "uur"))


def tokens_of(text: str, folded: str) -> LexedText:
    """The tokens of a text, which is given with its folded form."""
    words = vocabulary()
    tokens: list[MomentToken] = []
    signs: list[str] = []
    end = 0
    for match in _TOKEN.finditer(folded):
        found = _plain(match, folded) if match.lastgroup == "digits" else None
        for token in (found,) if found is not None else _read(match, folded, words):
            if token.kind in "pV" and _is_cue(token, tokens, folded, words):
                continue
            signs += _between(text, folded, end if tokens else -1, token, words), token.kind
            tokens.append(token)
            end = token.end
    return LexedText(tokens, "".join(signs))


def _plain(match: Any, folded: str) -> MomentToken | None:
    """The token of digits if nothing next to them changes their meaning: the quick answer for most numbers."""
    start, end = match.span()
    run = folded[start:end]
    if not run.isdecimal() or folded[end : end + 1] in _NOT_OURS:
        return None
    before = folded[start - 1 : start]
    if before in _NOT_OURS or before == "'":
        return None
    kind, value = classify(run)
    return MomentToken(start, end, kind, value)


def _is_cue(token: MomentToken, tokens: list[MomentToken], folded: str, words: Vocabulary) -> bool:
    """Whether a word is a cue: German `am`, and `di` or `do`, are cues unless they follow a time."""
    if folded[token.start : token.end] not in words.cues:
        return False
    return not (tokens and token.start - tokens[-1].end <= 1 and tokens[-1].kind in _CLOCKLIKE)


def _read(match: Any, folded: str, words: Vocabulary) -> list[MomentToken]:
    start, end = match.span()
    name = match.lastgroup
    if name == "word":
        return [_word(start, end, words.lexemes[match["word"]], folded)]
    if name in ("digits", "suffix"):
        return _digits(start, match.end("digits"), match["suffix"] or "", folded, words)
    if name == "hour":
        hour, _, rest = match["hour"].partition("h")
        hours, minutes = int(hour), int(rest.strip(" min") or 0)
        return [
            MomentToken(start, end, "T" if hours <= 24 and minutes < 60 else "j", (hours, minutes, None, hours > 12))
        ]
    if name == "apart":  # as in tokenized texts: 7 : 15 pm
        hours, minutes = (int(part) for part in match["apart"].split(" : "))
        return [MomentToken(start, end, "T" if hours <= 24 else "j", (hours, minutes, None, hours > 12))]
    if name == "era":
        return [MomentToken(start, end, "i", match["era"])]
    digits = match["iso"].replace("-", "").replace(":", "").replace("_", "t")
    kind, days = classify(digits[:8])
    clock = (int(digits[9:11]), int(digits[11:13]), int(digits[13:15]) if digits[13:15].isdecimal() else None, True)
    good = kind == "D" and clock[0] <= 24 and clock[1] < 60 and (clock[2] is None or clock[2] <= 60)
    return [MomentToken(start, end, "I" if good else "j", (days, clock))]


def _word(start: int, end: int, lexeme: Lexeme, folded: str) -> MomentToken:
    kind = lexeme.kind
    if kind in "MmsGxWvV" and end < len(folded) and folded[end] == "." and end - start <= 5:
        end += 1  # an abbreviation
    value = next(iter(lexeme.means.values()))
    return MomentToken(start, end, kind, value, lexeme)


def _digits(start: int, end: int, suffix: str, folded: str, words: Vocabulary) -> list[MomentToken]:
    run = folded[start:end]
    before = folded[start - 1] if start else " "
    if before in _NOT_OURS or (end < len(folded) and folded[end] in _NOT_OURS):
        return [MomentToken(start, end + len(suffix), "j", None)]
    if before == "'" and end - start == 2 and not suffix and folded[max(0, start - 2)] in " '":
        return [MomentToken(start - 1, end, "q", int(run))]
    kind, value = classify(run)
    if kind == "j":
        cut = _cut(run)
        if cut:
            first, second = run[:cut], run[cut + 1 :]
            return [
                *_with_suffix(start, start + cut, classify(first), "", folded, words),
                *_with_suffix(start + cut + 1, end, classify(second), suffix, folded, words),
            ]
    return _with_suffix(start, end, (kind, value), suffix, folded, words)


def _cut(run: str) -> int:
    """The position at which a run splits in two: `5-7`, `10:00-11:30`, `2024-03-05/2024-03-07`; 0 if it does not."""
    if len(run) > 24:
        return 0
    if run.count("-") == 1:
        return run.index("-")
    return run.index("/") if run.count("/") == 1 and len(run) > 9 else 0


def _with_suffix(
    start: int, end: int, read: tuple[str, Any], suffix: str, folded: str, words: Vocabulary
) -> list[MomentToken]:
    """A number with the suffix directly after it: `5th`, `5pm`, `17uhr`."""
    kind, value = read
    if not suffix:
        if kind == "e" and folded[end : end + 1] == "." and value[0]:
            kind, value, end = _dotted(value, end, folded)
        return [MomentToken(start, end, kind, value)]
    stop = end + len(suffix)
    if kind == "n" and (suffix in words.endings or suffix == "°"):
        return [MomentToken(start, stop, "o", value)]
    lexeme = words.lexemes.get(suffix)
    if lexeme is not None and lexeme.kind in "pMmsG" and kind in "nTeD":
        return [MomentToken(start, end, kind, value), _word(end, stop, lexeme, folded)]
    if suffix in _HOUR_ENDINGS and kind in "nTe":
        return [MomentToken(start, end, kind, value), MomentToken(end, stop, "U", 0)]
    return [MomentToken(start, stop, "j", None)]


def _dotted(value: Any, end: int, folded: str) -> tuple[str, Any, int]:
    """`5.3.`: a date if the text continues after the dot, otherwise possibly the end of a sentence."""
    rest = folded[end + 1 : end + 3].lstrip(" ")
    goes_on = bool(rest) and (rest[0].isdecimal() or rest[0] in "-,;)")
    return ("D", value[0], end + 1) if goes_on else ("e", value, end)


def _between(text: str, folded: str, end: int, token: MomentToken, words: Vocabulary) -> str:
    """The sign for the text before a token. The previous token ended at `end`; −1 if there is none."""
    start = token.start
    if end >= 0 and start - end <= _REACH:
        gap = folded[end:start]
        if gap in (" ", "-"):
            return "_" if gap == " " else "="
        gap = gap.strip()
        if (sign := words.joined.get(gap)) is None and gap:
            written = text[end:start].lower().strip(" \t\r\n,.;()")
            sign = words.joined.get(written) or words.joined.get(gap.strip(" ,.;()"))
        if sign is not None:
            return sign
    if token.kind not in _NEEDS_CUE:
        return "|"
    low = max(end, start - _REACH, 0)
    before = folded[low:start]
    sign = _cue(before, words.cues)
    if sign is None and not text[max(low, start - 4) : start].isascii():
        sign = _cue(text[low:start].lower(), words.cues)
    return sign or "|"


def _cue(before: str, cues: dict[str, str]) -> str | None:
    """The sign of the longest cue at the end of a text."""
    parts = before.rstrip(_AROUND).rsplit(None, 3)[-3:]
    if not parts:
        return None
    last = parts[-1].lstrip(_AROUND)
    if len(parts) > 1 and last == parts[-1]:
        if len(parts) > 2 and (sign := cues.get(f"{parts[-3]} {parts[-2]} {last}")) is not None:
            return sign
        if (sign := cues.get(f"{parts[-2]} {last}")) is not None:
            return sign
    return cues.get(last)


def day_of(token: MomentToken) -> int:
    """The number of a token, as a day or an hour."""
    if token.lexeme is None:
        return int(token.value)
    return int(token.lexeme.means.get("number", token.lexeme.means.get("ordinal", 0)))


def days_of(token: MomentToken) -> tuple[Day, ...]:
    """The dates of a token of digits."""
    value = token.value[0] if token.kind in "eI" else token.value
    return tuple(value)
