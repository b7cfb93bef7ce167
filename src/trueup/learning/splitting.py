"""Splitting: takes examples; returns training and test examples. No conversation and no text is on both sides.

The test has the latest conversations, because a model is used on replies that come after its labels. Without times, the
order of the examples counts.
"""

import random
from collections.abc import Sequence

from trueup.checks.scoring import grams
from trueup.learning.examples import LabelledReply

SHARE = 0.25  # the test's share of the labels


def conversations(examples: Sequence[LabelledReply]) -> list[list[LabelledReply]]:
    """The examples by conversation, ordered by each one's last message. An example without one is its own group."""
    together: dict[str, list[tuple[float, int, LabelledReply]]] = {}
    for place, example in enumerate(examples):
        key = f"c {example.conversation}" if example.conversation else f"i {place}"
        together.setdefault(key, []).append((example.at, place, example))
    ordered = sorted(together.values(), key=lambda rows: max(row[:2] for row in rows))
    return [[row[2] for row in sorted(rows, key=lambda row: row[:2])] for rows in ordered]


def by_time(examples: Sequence[LabelledReply], share: float = SHARE) -> tuple[list[LabelledReply], list[LabelledReply]]:
    """The earlier and the latest examples. About a `share` of them is the test."""
    groups = conversations(examples)
    wanted, test = share * len(examples), list[list[LabelledReply]]()
    while len(groups) > 1 and sum(map(len, test)) < wanted:
        test.append(groups.pop())
    return [one for group in groups for one in group], [one for group in reversed(test) for one in group]


def look(example: LabelledReply) -> frozenset[int]:
    """The features that a model sees. Two examples with the same features are the same reply to it."""
    return grams(example.text, example.state).hashes


def unseen(early: Sequence[LabelledReply], late: Sequence[LabelledReply]) -> list[LabelledReply]:
    """The later examples without repeats: a model would remember a repeated reply instead of judging it."""
    looks = {look(example) for example in early}
    found = []
    for example in late:
        seen = look(example)
        if seen not in looks:
            looks.add(seen)
            found.append(example)
    return found


def folds(examples: Sequence[LabelledReply], count: int, seed: int) -> list[list[int]]:
    """The positions of the examples in `count` folds of about equal size. Each conversation stays in one fold."""
    places = {id(example): place for place, example in enumerate(examples)}
    groups = [[places[id(one)] for one in group] for group in conversations(examples)]
    random.Random(seed).shuffle(groups)  # noqa: S311 - an order, not a secret
    found: list[list[int]] = [[] for _ in range(count)]
    for group in sorted(groups, key=len, reverse=True):
        min(found, key=len).extend(group)
    return [sorted(fold) for fold in found if fold]
