"""Means of clustered values: compared with a bootstrap over clusters, simulations, and tests for independent values."""

import pickle
import random
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.statistics.clusters import Clustered
from trueup.statistics.proportions import clustered_wilson, mcnemar, wilson

pairs = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c", "d"]), st.sampled_from([-1, 0, 0, 1])), max_size=40)


def taken(values: list[tuple[str, int]]) -> Clustered:
    seen = Clustered()
    for cluster, value in values:
        seen.add(cluster, value)
    return seen


def conversations(rng: random.Random, clusters: int, share: float = 0.1, alike: float = 0.5) -> list[tuple[str, int]]:
    """Conversations of unequal length. With probability `alike`, a reply equals the rest of its conversation."""
    drawn = []
    for number in range(clusters):
        whole = rng.random() < share
        for _ in range(rng.choice([1, 2, 4, 8, 15])):
            drawn += [(f"c{number}", int(whole if rng.random() < alike else rng.random() < share))]
    return drawn


@pytest.mark.spec("B14")
@pytest.mark.parametrize("seed", range(3))
def test_the_error_agrees_with_a_bootstrap_over_conversations(seed: int) -> None:
    import numpy as np

    rng = random.Random(seed)
    values = [(cluster, -value if int(cluster[1:]) % 3 == 0 else value) for cluster, value in conversations(rng, 300)]
    by_cluster: dict[str, list[int]] = defaultdict(list)
    for cluster, value in values:
        by_cluster[cluster].append(value)
    sums = np.array([sum(each) for each in by_cluster.values()])
    sizes = np.array([len(each) for each in by_cluster.values()])
    chosen = np.random.default_rng(seed).integers(0, len(sums), (4000, len(sums)))
    means = sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    estimate = taken(values).difference()
    assert estimate.value == pytest.approx(sums.sum() / sizes.sum())
    assert estimate.error == pytest.approx(float(means.std(ddof=1)), rel=0.06)
    low, high = np.quantile(means, [0.025, 0.975])
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.2 * estimate.error)
    assert estimate.design_effect > 2


def test_an_interval_for_clusters_covers_where_one_for_replies_does_not() -> None:
    rng = random.Random(7)
    rounds, clustered, plain, shares = 250, 0, 0, 0
    for _ in range(rounds):
        values = conversations(rng, 80, share=0.2)
        seen = taken(values)
        estimate = seen.difference()
        clustered += estimate.low <= 0.2 <= estimate.high
        share = seen.wilson()
        shares += share.low <= 0.2 <= share.high
        low, high = wilson(sum(value for _, value in values), len(values))
        plain += low <= 0.2 <= high
    assert clustered / rounds > 0.91
    assert shares / rounds > 0.92
    assert plain / rounds < 0.8


def test_the_clustered_mcnemar_test_keeps_its_level_where_the_plain_one_does_not() -> None:
    rng = random.Random(3)
    rounds, clustered, plain = 400, 0, 0
    for _ in range(rounds):
        seen = Clustered()
        flips = []
        for number in range(40):
            sign = rng.choice([-1, 1])  # a whole conversation flips, in either direction
            for _ in range(rng.choice([1, 3, 9])):
                flips.append(sign if rng.random() < 0.5 else 0)
                seen.add(f"c{number}", flips[-1])
        clustered += seen.mcnemar() < 0.05
        plain += mcnemar(flips.count(1), flips.count(-1)) < 0.05
    assert clustered / rounds < 0.08
    assert plain / rounds > 0.2


@given(pairs, st.integers(0, 40))
def test_merged_parts_are_the_whole(values: list[tuple[str, int]], at: int) -> None:
    whole, part = taken(values), taken(values[:at])
    part.merge(pickle.loads(pickle.dumps(taken(values[at:]))))
    assert part.difference() == whole.difference()
    assert part.mcnemar() == whole.mcnemar()


@given(pairs)
def test_every_sample_has_an_answer(values: list[tuple[str, int]]) -> None:
    seen = taken(values)
    estimate = seen.difference()
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert 0 <= estimate.p <= 1
    assert 0 <= seen.mcnemar() <= 1
    assert estimate.n == len(values)
    assert estimate.design_effect > 0


@given(st.lists(st.sampled_from([-1, 0, 0, 1]), max_size=60))
def test_values_without_a_cluster_are_independent(values: list[int]) -> None:
    alone, named = Clustered(), Clustered()
    for number, value in enumerate(values):
        alone.add("", value)
        named.add(f"c{number}", value)
    assert alone.difference() == named.difference()
    assert alone.difference().design_effect == pytest.approx(1.0)
    assert alone.mcnemar() == pytest.approx(mcnemar(values.count(1), values.count(-1)))
    if -1 not in values:
        assert alone.wilson() == pytest.approx(wilson(sum(values), len(values)))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_the_clustered_mcnemar_test_is_exact(totals: list[int]) -> None:
    from itertools import product

    seen = Clustered()
    for number, total in enumerate(totals):
        seen.add(f"c{number}", (total > 0) - (total < 0), times=abs(total) or 1)
    sums = [sum(s * t for s, t in zip(signs, totals, strict=True)) for signs in product((-1, 1), repeat=len(totals))]
    exact = sum(abs(s) >= abs(sum(totals)) for s in sums) / len(sums)
    assert seen.mcnemar() == pytest.approx(exact)


def test_very_many_flips_take_the_normal_approximation() -> None:
    seen = Clustered()
    for number in range(3000):
        seen.add(f"c{number}", 1 if number % 2 else -1, times=1 + number % 5)
    for number in range(40):
        seen.add(f"d{number}", 1)
    assert 0.05 < seen.mcnemar() < 1


def test_edges() -> None:
    assert Clustered().difference() == (0.0, -1.0, 1.0, 1.0, 0, 1.0, 0.0, 0)
    assert Clustered().mcnemar() == 1.0
    assert Clustered().wilson() == (0.0, 1.0)
    one = Clustered()
    one.add("a", 1, times=9)
    assert one.difference() == (1.0, -1.0, 1.0, 1.0, 1, 9.0, 0.0, 9)
    assert one.wilson() == wilson(1, 1), "one conversation is one observation"
    calm = Clustered()
    calm.add("a", 0, times=50)
    calm.add("b", 0, times=50)
    low, high = calm.difference()[1:3]
    assert (low, high) == (-high, clustered_wilson(0, 100, 50.0).high)
    assert calm.wilson().low == 0.0
    flipped = Clustered()
    for cluster in "abcdefgh":
        flipped.add(cluster, -1, times=3)
    assert flipped.difference().p < 0.01
    assert flipped.difference().high < 0
    for wrong in (lambda: calm.add("a", 2), lambda: calm.add("a", 1, times=-1), lambda: flipped.wilson()):
        with pytest.raises(ValueError, match=r"must|needs"):
            wrong()
