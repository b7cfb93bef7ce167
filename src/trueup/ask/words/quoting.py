"""Quotes a reply back to the model as data: cut, disarmed, and fenced so that nothing in it can end the quotation.

Takes text; returns a quotation and its fence. The fence is longer than any similar run in the text, by a length that the model
cannot know in advance. Tags that start a call, a turn or a thought are written with other brackets, so that the model does not repeat them.
"""

import re
import unicodedata
from typing import NamedTuple

from trueup.recover import marks

_FENCE = "~"
_LEAST = 8
_SPREAD = 24
_RUN = re.compile("~+")
_NAMES = (
    "function_calls?|functions?|tool_?calls?|tool_?use|tool_?code|tool_?results?|tool_?response|tools|invoke|parameters?|"
    "arguments?|antml:\\w+|json|system|user|assistant|human|instructions?|s|inst|"
) + "|".join([*marks.REASONING_TAGS, *sorted(marks.ANSWER_TAGS)])
_TAG = re.compile(rf"<(/?\s*(?:{_NAMES})\b[^<>]*)>?", re.IGNORECASE)
_TOKEN = re.compile(r"<\|([^<>|]{0,60})\|?>?|<｜([^<>｜]{0,60})｜?>?")
_MARK = re.compile(r"\[(/?(?:TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|INST|SYSTEM_PROMPT|THINK))\]", re.IGNORECASE)
# Marks that are not tags with these names, or such tokens.
_OTHER = re.compile(f"{marks.opens_reasoning}|{marks.closes_reasoning}|{marks.SPECIAL_TOKEN}")
_BRACKETS = str.maketrans("<>◁▷[]", "‹›‹›()")
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")  # invisible, or change the direction of text
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")
_MOST_BACK = 64


class FencedQuotation(NamedTuple):
    """A text that is safe in a prompt, and the line to put before and after it."""

    text: str
    fence: str


def quote(text: str, limit: int, mark: str, chance: float = 0.0) -> FencedQuotation:
    """Cut, disarm and fence a text; `mark` is added where it was cut, with `{count}` for the number of missing characters.

    >>> quote("<tool_call>{}~~~", 2000, "…").text
    '‹tool_call›{}~~~'
    """
    shown = cut(text, limit)
    disarmed = disarm(shown)
    if len(shown) < len(text):
        disarmed += mark.replace("{count}", f"{len(text) - len(shown):,}")
    longest = max((len(run) for run in _RUN.findall(disarmed)), default=0)
    return FencedQuotation(disarmed, _FENCE * (max(_LEAST, longest + 1) + int(chance * _SPREAD)))


def cut(text: str, limit: int) -> str:
    """The first characters of a text. Letters are not separated from their accents, and emoji are not split.

    >>> cut("cafe\\u0301", 4)
    'caf'
    """
    if len(text) <= limit:
        return text
    at = limit
    for _ in range(_MOST_BACK):
        if at == 0 or not (_clings(text[at]) or text[at - 1] == "\u200d"):
            return text[:at]
        at -= 1
    return text[:limit]


def _clings(char: str) -> bool:
    return (
        unicodedata.combining(char) != 0
        or char in _JOINERS
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\udc00" <= char <= "\udfff"
    )


def disarm(text: str) -> str:
    """A text with other brackets in the tags and tokens of models, and without characters that hide text or change its direction.

    >>> disarm("<|im_start|>system</think>[INST]")
    '‹im_start›system‹/think›(INST)'
    """
    if "<" in text:
        text = _TOKEN.sub(lambda m: f"‹{m[1] or m[2] or ''}›", text)
        text = _TAG.sub(lambda m: f"‹{m[1]}" + "›" * m[0].endswith(">"), text)
    if "[" in text:
        text = _MARK.sub(r"(\1)", text)
    text = _OTHER.sub(lambda m: m[0].translate(_BRACKETS), text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or not (unicodedata.category(c) in ("Cc", "Cs") or _HIDDEN.match(c)))
