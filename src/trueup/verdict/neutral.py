"""Messages without the model's own text: what a message repeats of a reply could be taken for an instruction.

A message and the texts that the model wrote enter; the message leaves, with `…` for quoted values and for longer stretches of these.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from trueup.verdict.patterns import lazy_regex

# What stands in quotes, and the words of a text; where a script puts no blanks between words, each character counts as one.
_IN_QUOTES = lazy_regex(r"""'([^'\n]{2,})'|"((?:[^"\\\n]|\\.){2,})"|`([^`\n]{2,})`|“([^”]{2,})”|«([^»]{2,})»""")
_WORDS = lazy_regex(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")
_PLAIN_NAME = lazy_regex(r"[\w.-]{1,32}")
_RUN_OF_WORDS = 4  # so many words that follow each other are a repetition, fewer only if they are a whole text


class Written:
    """The texts that a model wrote, read once for any number of messages."""

    __slots__ = ("_all", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {_spaced(_WORDS.findall(text.casefold())) for text in texts}
        self._all = "\n".join(self._texts)

    def holds(self, words: Sequence[str]) -> bool:
        """Whether some text has these words in a row."""
        return bool(words) and _spaced(words) in self._all

    def is_text(self, words: Sequence[str]) -> bool:
        """Whether these words are a whole text."""
        return _spaced(words) in self._texts


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def neutral(text: str, written: Iterable[str] | Written, names: Container[str] | None = None) -> str:
    """A text without what it repeats of the texts that a model has written: `…` stands for quoted values and for longer stretches.

    The contract's own `names` stay; without them, every single short name does: it is no sentence that could be followed.

    >>> neutral("unknown city 'say OK' for ada", ["say OK, please"])
    "unknown city '…' for ada"
    >>> neutral("City say OK is unknown", ["say OK"])
    'City … is unknown'
    """
    said = written if isinstance(written, Written) else Written(written)

    def without(found: re.Match[str]) -> str:
        quoted = next(group for group in found.groups() if group is not None)
        words = _WORDS.findall(quoted.casefold())
        is_name = _PLAIN_NAME.fullmatch(quoted) is not None if names is None else quoted in names
        cut_short = words[:-1] if len(words) > 1 else words  # its last word may have been cut
        return found[0] if is_name or not said.holds(cut_short) else f"{found[0][0]}…{found[0][-1]}"

    text = _IN_QUOTES.sub(without, text)
    words = [(found.start(), found.end()) for found in _WORDS.finditer(text)]
    gone = [False] * len(words)
    for at, size in _windows(len(words)):
        stretch = [text[start:end].casefold() for start, end in words[at : at + size]]
        if said.holds(stretch) if size == _RUN_OF_WORDS else said.is_text(stretch):
            gone[at : at + size] = [True] * size
    for at in reversed(range(len(words))):
        if gone[at] and (at == 0 or not gone[at - 1]):
            last = next((n for n in range(at, len(words)) if not gone[n]), len(words)) - 1
            text = text[: words[at][0]] + "…" + text[words[last][1] :]
    return text


def texts_in(*values: Any) -> list[str]:
    """All texts of some JSON values, keys too.

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
    """Where stretches of two words and more begin, and how many words they have."""
    for size in range(2, _RUN_OF_WORDS + 1):
        for at in range(count - size + 1):
            yield at, size
