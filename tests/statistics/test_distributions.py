"""Distributions compared with SciPy; edge cases by hand."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueup.statistics.distributions import (
    binomial_cdf,
    binomial_pmf,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    student_cdf,
    student_quantile,
)

shares = st.floats(0.0, 1.0)
sizes = st.floats(-1, 6).map(lambda x: 10**x)


@given(sizes, sizes, shares)
def test_the_incomplete_beta_function_matches_scipy(a: float, b: float, x: float) -> None:
    from scipy.special import betainc

    # Test where the function changes, not only in its flat ends.
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
    for at in (x, min(1.0, max(0.0, mean + (x - 0.5) * 6 * spread))):
        assert incomplete_beta(a, b, at) == pytest.approx(float(betainc(a, b, at)), rel=1e-10, abs=1e-12)


@given(st.integers(0, 10_000_000), shares, st.floats(-6, 6))
def test_binomial_probabilities_match_scipy(n: int, p: float, away: float) -> None:
    from scipy.stats import binom

    assume(not 0 < p < 1e-300)  # SciPy overflows there
    k = min(n, max(0, round(n * p + away * math.sqrt(n * p * (1 - p)))))
    assert binomial_cdf(k, n, p) == pytest.approx(float(binom.cdf(k, n, p)), abs=1e-11)
    assert binomial_pmf(k, n, p) == pytest.approx(float(binom.pmf(k, n, p)), rel=1e-9, abs=1e-300)


@given(st.floats(-60, 60), st.floats(0, 7).map(lambda x: 10**x))
def test_student_matches_scipy(t: float, df: float) -> None:
    from scipy.stats import t as student

    assert student_cdf(t, df) == pytest.approx(float(student.cdf(t, df)), rel=1e-10, abs=1e-13)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0, 7).map(lambda x: 10**x))
def test_quantiles_lead_back(p: float, df: float) -> None:
    assert student_cdf(student_quantile(p, df), df) == pytest.approx(p, abs=1e-12)
    assert normal_cdf(normal_quantile(p)) == pytest.approx(p, abs=1e-14)


def test_edges() -> None:
    assert [binomial_cdf(k, 5, 0.3) for k in (-1, 5, 6)] == [0.0, 1.0, 1.0]
    assert [binomial_pmf(k, 5, p) for k, p in ((0, 0.0), (1, 0.0), (5, 1.0), (-1, 0.5), (6, 0.5))] == [1, 0, 1, 0, 0]
    assert (binomial_cdf(0, 0, 0.5), binomial_pmf(0, 0, 0.5)) == (1.0, 1.0)
    assert [incomplete_beta(2, 3, x) for x in (0, 1)] == [0.0, 1.0]
    assert [student_cdf(t, 3) for t in (-math.inf, -1e200, 0, 1e200, math.inf)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert student_quantile(0.5, 3) == 0.0
    assert student_quantile(0.975, 1) == pytest.approx(math.tan(math.pi * 0.475))


@pytest.mark.parametrize(
    "call",
    [
        lambda: normal_quantile(0), lambda: normal_quantile(1), lambda: student_quantile(1.5, 2), lambda: student_cdf(1, 0),
        lambda: binomial_cdf(1, -1, 0.5), lambda: binomial_cdf(1, 2, 1.5), lambda: incomplete_beta(0, 1, 0.5),
        lambda: incomplete_beta(1, 1, 2), lambda: student_cdf(1.0, math.nan), lambda: student_cdf(math.nan, 3), lambda: binomial_pmf(1, 2, math.nan),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(call) -> None:
    with pytest.raises(ValueError, match=r"must (not )?be"):
        call()
