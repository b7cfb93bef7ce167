"""Linting: runs every rule over passages and yields what the rules find."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from english.passage import Passage
from english.rules import OURS, checks, rules

# Code and addresses are not prose: they keep their length and lose their letters. Neither reaches beyond its passage (\x1f).
_CODE = re.compile(r"(`+)([^`\x1f]+)(`+)|\w+://\S+")
_BETWEEN = "\n\x1f\n"


@dataclass(frozen=True, order=True)
class Hit:
    """One hit of a rule: its place, the rule, the words, and a better wording."""

    file: str
    line: int
    column: int
    rule: str
    words: str
    say: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.words!r} → {self.say}"


def _masked(text: str) -> str:
    return _CODE.sub(lambda match: match[1] + "x" * len(match[2]) + match[3] if match[1] else "x" * len(match[0]), text)


def _shown(words: str) -> str:
    return words if len(words) <= 60 else words[:57].rsplit(" ", 1)[0] + " …"


def lint(passages: Iterable[tuple[str, Passage]]) -> Iterator[Hit]:
    """Every hit in these passages, each of which comes with the name of its file."""
    known = list(passages)
    # One text for all, so each pattern runs once. The separator between two passages ends a match.
    texts = [passage.text.replace("\n", " ") for _, passage in known]
    starts, length = [], 0
    for text in texts:
        starts.append(length)
        length += len(text) + len(_BETWEEN)
    plain = _BETWEEN.join(texts)
    whole = _masked(plain)
    for check in checks():
        for result in check.check_with_flags(whole):
            start, end = result.span
            index = bisect_right(starts, start) - 1
            file, passage = known[index]
            if end - starts[index] > len(passage.text) + 1:
                continue  # two passages together
            name = result.check_path.removeprefix(f"{OURS}.")
            if passage.heading and name in rules() and not rules()[name].headings:
                continue
            line, column = passage.place(min(start - starts[index], len(passage.text) - 1))
            yield Hit(file, line, column, name, _shown(plain[start:end].strip()), result.message)
