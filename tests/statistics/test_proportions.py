"""Wilson, McNemar and TOST compared with SciPy and statsmodels, to 1e-9; edge cases by hand."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueup.statistics.proportions import clustered_wilson, effective, mcnemar, tost_paired, upper_limit, wilson

counts = st.one_of(st.integers(0, 30), st.integers(0, 5_000_000))


@pytest.mark.spec("B14")
@given(counts, counts, st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999]))
def test_wilson_matches_statsmodels(k: int, rest: int, confidence: float) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assume(k + rest)
    low, high = proportion_confint(k, k + rest, alpha=1 - confidence, method="wilson")
    assert wilson(k, k + rest, confidence) == pytest.approx((max(0.0, low), min(1.0, high)), abs=1e-9)


@pytest.mark.spec("B14")
@given(counts, counts)
def test_mcnemar_matches_scipy(b: int, c: int) -> None:
    from scipy.stats import binomtest

    assume(b + c)
    assert mcnemar(b, c) == pytest.approx(binomtest(min(b, c), b + c, 0.5).pvalue, rel=1e-9, abs=1e-12)


@given(st.integers(0, 5_000_000), st.floats(-5, 5))
def test_mcnemar_matches_scipy_where_it_matters(b: int, away: float) -> None:
    from scipy.stats import binomtest

    c = max(0, round(b + away * math.sqrt(b)))
    assume(b + c)
    assert mcnemar(b, c) == pytest.approx(binomtest(min(b, c), b + c, 0.5).pvalue, rel=1e-9, abs=1e-12)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_matches_statsmodels(b: int, c: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as oracle

    assume(b + c)
    assert mcnemar(b, c) == pytest.approx(oracle([[5, b], [c, 7]], exact=True).pvalue, abs=1e-9)


@pytest.mark.spec("B14")
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 3000), st.floats(1e-4, 0.9))
def test_tost_matches_statsmodels(b: int, c: int, same: int, margin: float) -> None:
    import numpy as np
    from statsmodels.stats.weightstats import ttost_paired

    n = b + c + same
    assume(b + c)
    assume(n not in (b, c))
    assume(n >= 2)
    new = np.array([1] * b + [0] * c + [0] * same, dtype=float)
    old = np.array([0] * b + [1] * c + [0] * same, dtype=float)
    p, (_, low_p, _), (_, high_p, _) = ttost_paired(new, old, -margin, margin)
    ours = tost_paired(b, c, n, margin)
    assert (ours.p, ours.low_p, ours.high_p) == pytest.approx((p, low_p, high_p), abs=1e-9)
    assert ours.equivalent == (ours.p < 0.05)


def test_tost_matches_statsmodels_for_a_million_pairs() -> None:
    import numpy as np
    from statsmodels.stats.weightstats import ttost_paired

    new, old = np.zeros(1_000_000), np.zeros(1_000_000)
    new[:5200] = 1
    old[5200:10_000] = 1
    for margin in (0.0004, 0.0005, 0.0006, 0.001):
        assert tost_paired(5200, 4800, 1_000_000, margin).p == pytest.approx(
            ttost_paired(new, old, -margin, margin)[0], abs=1e-9
        )


def test_tost_without_variance_gives_the_chance_of_the_sample_at_the_margin() -> None:
    assert tost_paired(0, 0, 100, 0.05)[:3] == pytest.approx((0.95**100,) * 3)
    assert tost_paired(0, 0, 500, 0.01).equivalent
    assert not tost_paired(0, 0, 20, 0.01).equivalent
    assert tost_paired(0, 0, 100, 2.0)[:3] == (0.0, 0.0, 0.0)
    assert tost_paired(9, 0, 9, 0.1)[:3] == pytest.approx((1.0, 0.45**9, 1.0))
    assert tost_paired(0, 9, 9, 0.1)[:3] == pytest.approx((1.0, 1.0, 0.45**9))
    assert tost_paired(9, 0, 9, 1.5).equivalent, "no difference is larger than 1"
    assert [tost_paired(0, 0, n, 0.5).p for n in (0, 1)] == [1.0, 1.0]
    assert tost_paired(1, 0, 1, 0.5).p == 1.0


@given(counts, counts, st.floats(0.5, 0.999))
def test_an_interval_contains_its_share(k: int, rest: int, confidence: float) -> None:
    n = k + rest
    low, high = wilson(k, n, confidence)
    assert 0 <= low <= high <= 1
    if n:
        assert low <= k / n <= high
        assert high - low < 1
    assert (low == 0.0) == (k == 0 or n == 0) or n > 1e6
    wider = clustered_wilson(k, n, 3.0, confidence)
    assert wider.low <= low + 1e-12
    assert wider.high >= high - 1e-12


@given(st.integers(0, 400), st.integers(1, 400), st.floats(0.5, 0.999))
def test_the_upper_limit_matches_scipy(k: int, rest: int, confidence: float) -> None:
    from scipy.stats import beta

    assert upper_limit(k, k + rest, confidence) == pytest.approx(
        float(beta.ppf(confidence, k + 1, rest)), rel=1e-9, abs=1e-12
    )


def test_edges() -> None:
    assert wilson(0, 0) == clustered_wilson(0, 0, 2.0) == (0.0, 1.0)
    assert wilson(0, 10).low == 0.0
    assert wilson(10, 10).high == 1.0
    assert clustered_wilson(10, 10, 3.0).high == 1.0
    assert [upper_limit(k, n) for k, n in ((0, 0), (5, 5))] == [1.0, 1.0]
    assert effective(0, 2) == 0.0
    assert (mcnemar(0, 0), mcnemar(1, 0), mcnemar(0, 2)) == (1.0, 1.0, 0.5)
    assert mcnemar(10_000_000, 0) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: wilson(-1, 5), lambda: wilson(6, 5), lambda: wilson(1, 5, 1.0), lambda: wilson(1, 5, 95), lambda: wilson(0, -1),
        lambda: mcnemar(-1, 5), lambda: tost_paired(1, 1, 1, 0.1), lambda: tost_paired(1, 1, 10, 0), lambda: tost_paired(1, 1, 10, -0.1),
        lambda: tost_paired(1, 1, 10, math.nan), lambda: tost_paired(1, 1, 10, 0.1, level=2), lambda: effective(5, 0), lambda: effective(5, math.inf),
        lambda: effective(-5, 1), lambda: upper_limit(6, 5), lambda: clustered_wilson(6, 5, 1.0),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(call) -> None:
    with pytest.raises(ValueError, match=r"must|more than"):
        call()
