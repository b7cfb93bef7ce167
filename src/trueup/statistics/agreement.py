"""Agreement: takes judgements of several people on the same things; returns κ: 0 is chance, 1 is full agreement.

Undefined cases (nobody shares a thing, everybody always uses the same word) return None, never NaN or an exception.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple


class Agreement(NamedTuple):
    """How much people agree."""

    kappa: float | None
    """Cohen's κ, averaged over pairs of people by the number of things they share; None if undefined."""
    observed: float | None
    """The share of shared judgements that are equal; None if nothing is shared."""
    fleiss: float | None
    """Fleiss' κ over all things that at least two people judged; None if undefined."""
    items: int
    """How many things at least two people judged."""
    authors: int
    """How many people judged anything."""


def kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's κ of two people, from one pair per thing that both judged. None if undefined.

    >>> kappa(
    ...     [("right", "right")] * 20 + [("right", "wrong")] * 5 + [("wrong", "right")] * 10 + [("wrong", "wrong")] * 15
    ... )
    0.4
    """
    counts = Counter(pairs)
    n = counts.total()
    one: Counter[Hashable] = Counter()
    two: Counter[Hashable] = Counter()
    for (first, second), times in counts.items():
        one[first] += times
        two[second] += times
    agreed = sum(times for (first, second), times in counts.items() if first == second)
    by_chance = sum(times * two[word] for word, times in one.items())  # times n²
    return (agreed * n - by_chance) / (n * n - by_chance) if n * n != by_chance else None


def fleiss(table: Iterable[Sequence[int]]) -> float | None:
    """Fleiss' κ, from one row per thing with the number of people for each word. None if undefined.

    Rows may have different numbers of people. Those with fewer than two are left out.

    >>> round(fleiss([[0, 3], [3, 0], [2, 1], [3, 0]]), 6)
    0.625
    """
    agreed, rows = 0.0, 0
    words: Counter[int] = Counter()
    for row in table:
        people = sum(row)
        if min(row, default=0) < 0:
            raise ValueError(f"counts must not be negative: {list(row)}")
        if people < 2:
            continue
        rows += 1
        agreed += sum(count * (count - 1) for count in row) / (people * (people - 1))
        for at, count in enumerate(row):
            words[at] += count
    total = words.total()
    if not rows or max(words.values()) == total:
        return None
    by_chance = sum(count * count for count in words.values()) / (total * total)
    return (agreed / rows - by_chance) / (1 - by_chance)


def agreement(judgements: Iterable[tuple[Hashable, Hashable, Hashable]]) -> Agreement:
    """How much people agree, from (thing, author, word) triples. An author's last word on a thing counts.

    Pairs of people with an undefined κ are left out of the average.

    >>> agreement([("a", "ada", "right"), ("a", "bob", "right"), ("b", "ada", "wrong"), ("b", "bob", "wrong")]).kappa
    1.0
    """
    by_thing: dict[Hashable, dict[Hashable, Hashable]] = defaultdict(dict)
    for thing, author, word in judgements:
        by_thing[thing][author] = word
    authors = {author for said in by_thing.values() for author in said}
    shared = [said for said in by_thing.values() if len(said) > 1]
    pairs: dict[tuple[Hashable, Hashable], list[tuple[Hashable, Hashable]]] = defaultdict(list)
    for said in shared:
        for one, two in combinations(sorted(said, key=repr), 2):
            pairs[one, two].append((said[one], said[two]))
    both = [pair for each in pairs.values() for pair in each]
    rated = [(value, len(each)) for each in pairs.values() if (value := kappa(each)) is not None]
    words = sorted({word for said in shared for word in said.values()}, key=repr)
    weight = sum(n for _, n in rated)
    return Agreement(
        sum(value * n for value, n in rated) / weight if weight else None,
        sum(one == two for one, two in both) / len(both) if both else None,
        fleiss([list(map(Counter(said.values()).__getitem__, words)) for said in shared]),
        len(shared),
        len(authors),
    )
