"""Benjamini and Hochberg compared with statsmodels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.statistics.multiple import adjusted, benjamini_hochberg


@given(
    st.lists(st.one_of(st.floats(0, 1), st.floats(0, 0.06), st.just(0.05)), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_it_matches_statsmodels(ps: list[float], q: float) -> None:
    from statsmodels.stats.multitest import multipletests

    found, values, _, _ = multipletests(ps, alpha=q, method="fdr_bh")
    assert benjamini_hochberg(ps, q) == found.tolist()
    assert adjusted(ps) == pytest.approx(values.tolist(), abs=1e-9)


def test_edges() -> None:
    assert (benjamini_hochberg([]), adjusted([])) == ([], [])
    assert benjamini_hochberg([0.05]) == [True]
    for wrong in (lambda: adjusted([1.5]), lambda: benjamini_hochberg([0.1], q=0), lambda: adjusted([float("nan")])):
        with pytest.raises(ValueError, match="must be"):
            wrong()
