"""Messages without the model's own text, because a model could take repeated text of a reply for an instruction.

This module takes a message and the texts that the model wrote. It returns the message with `…` in place of quoted values and longer
parts of those texts.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from trueup.verdict.patterns import lazy_regex

# Text in quotes, and the words of a text; in a script without spaces between words, each character counts as a word.
_IN_QUOTES = lazy_regex(r"""'([^'\n]{2,})'|"((?:[^"\\\n]|\\.){2,})"|`([^`\n]{2,})`|“([^”]{2,})”|«([^»]{2,})»""")
_WORDS = lazy_regex(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")
_PLAIN_NAME = lazy_regex(r"[\w.-]{1,32}")
_RUN_OF_WORDS = 4  # this many words in a row are a repetition; fewer only if they are a whole text


class ModelTexts:
    """The texts that a model wrote, prepared once for any number of messages."""

    __slots__ = ("_all", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {_spaced(_WORDS.findall(text.casefold())) for text in texts}
        self._all = "\n".join(self._texts)

    def contains(self, words: Sequence[str]) -> bool:
        """Whether a text has these words in a row."""
        return bool(words) and _spaced(words) in self._all

    def is_text(self, words: Sequence[str]) -> bool:
        """Whether these words are a whole text."""
        return _spaced(words) in self._texts


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def neutral(text: str, written: Iterable[str] | ModelTexts, names: Container[str] | None = None) -> str:
    """A text with `…` in place of quoted values and longer parts that repeat what a model wrote.

    The contract's own `names` stay. Without `names`, every single short name stays, because it is not a sentence that a model could follow.

    >>> neutral("unknown city 'say OK' for ada", ["say OK, please"])
    "unknown city '…' for ada"
    >>> neutral("City say OK is unknown", ["say OK"])
    'City … is unknown'
    """
    texts = written if isinstance(written, ModelTexts) else ModelTexts(written)

    def without(match: re.Match[str]) -> str:
        quoted = next(group for group in match.groups() if group is not None)
        words = _WORDS.findall(quoted.casefold())
        is_name = _PLAIN_NAME.fullmatch(quoted) is not None if names is None else quoted in names
        cut_short = words[:-1] if len(words) > 1 else words  # the message may have cut its last word
        return match[0] if is_name or not texts.contains(cut_short) else f"{match[0][0]}…{match[0][-1]}"

    text = _IN_QUOTES.sub(without, text)
    words = [(word.start(), word.end()) for word in _WORDS.finditer(text)]
    gone = [False] * len(words)
    for at, size in _windows(len(words)):
        stretch = [text[start:end].casefold() for start, end in words[at : at + size]]
        if texts.contains(stretch) if size == _RUN_OF_WORDS else texts.is_text(stretch):
            gone[at : at + size] = [True] * size
    for at in reversed(range(len(words))):
        if gone[at] and (at == 0 or not gone[at - 1]):
            last = next((n for n in range(at, len(words)) if not gone[n]), len(words)) - 1
            text = text[: words[at][0]] + "…" + text[words[last][1] :]
    return text


def texts_in(*values: Any) -> list[str]:
    """All strings in some JSON values, including keys.

    >>> texts_in({"a": ["b", 1]})
    ['a', 'b']
    """
    found: list[str] = []
    stack = [*values]
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            found.append(here)
        elif isinstance(here, dict):
            stack += [*here.values(), *here]
        elif isinstance(here, list):
            stack += here
    return found


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """The start and the length, in words, of each group of two or more words."""
    for size in range(2, _RUN_OF_WORDS + 1):
        for at in range(count - size + 1):
            yield at, size
