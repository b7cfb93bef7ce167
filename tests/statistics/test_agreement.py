"""κ compared with statsmodels and with textbook cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.statistics.agreement import agreement, fleiss, kappa

words = st.sampled_from(["right", "wrong", "other"])


@given(st.lists(st.tuples(words, words), max_size=50))
def test_kappa_matches_statsmodels(pairs: list[tuple[str, str]]) -> None:
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    ours = kappa(pairs)
    if ours is None:
        assert len({word for pair in pairs for word in pair}) <= 1
        return
    table = np.zeros((3, 3))
    order = ["right", "wrong", "other"]
    for one, two in pairs:
        table[order.index(one), order.index(two)] += 1
    assert ours == pytest.approx(float(cohens_kappa(table, return_results=False)), abs=1e-9)


@given(st.integers(2, 6), st.data())
def test_fleiss_matches_statsmodels(people: int, data: st.DataObject) -> None:
    import numpy as np
    from statsmodels.stats.inter_rater import fleiss_kappa

    row = st.lists(st.integers(0, 2), min_size=people, max_size=people).map(
        lambda said: [said.count(w) for w in range(3)]
    )
    table = data.draw(st.lists(row, min_size=1, max_size=20))
    ours = fleiss(table)
    if ours is None:
        assert sum(any(each[at] for each in table) for at in range(3)) == 1
        return
    assert ours == pytest.approx(float(fleiss_kappa(np.array(table))), abs=1e-9)


def test_textbook_cases() -> None:
    # Cohen's table (45, 15, 25, 15) and Fleiss' table of 1971, both as on Wikipedia.
    pairs = [("y", "y")] * 45 + [("y", "n")] * 15 + [("n", "y")] * 25 + [("n", "n")] * 15
    assert kappa(pairs) == pytest.approx(0.1304, abs=5e-5)
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert fleiss(table) == pytest.approx(0.210, abs=5e-4)


def test_several_authors_are_averaged_by_what_they_share() -> None:
    said = [(str(item), "ada", "right" if item % 2 else "wrong") for item in range(40)]
    said += [(str(item), "bob", "right" if item % 2 else "wrong") for item in range(30)]  # κ = 1 on 30
    said += [(str(item), "cid", "wrong" if item % 2 else "right") for item in range(30, 40)]  # κ = -1 on 10
    found = agreement(said)
    assert found.kappa == pytest.approx((30 - 10) / 40)
    assert found.observed == pytest.approx(0.75)
    assert (found.items, found.authors) == (40, 3)
    assert found.fleiss == pytest.approx(0.5)


def test_edges() -> None:
    assert kappa([]) is None
    assert kappa([("right", "right")] * 5) is None
    assert kappa([("right", "wrong")] * 5) == 0.0
    assert fleiss([]) is None
    assert fleiss([[1, 0], [0, 1]]) is None, "nobody shares a thing"
    assert fleiss([[5, 0], [5, 0]]) is None
    assert agreement([]) == (None, None, None, 0, 0)
    assert agreement([("a", "ada", "right"), ("b", "bob", "wrong")]) == (None, None, None, 0, 2)
    assert agreement([("a", "ada", "wrong"), ("a", "ada", "right"), ("a", "bob", "right")]).observed == 1.0
    with pytest.raises(ValueError, match="negative"):
        fleiss([[3, -1]])
