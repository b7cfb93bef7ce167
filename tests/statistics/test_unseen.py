"""The share of unseen values: by hand, and by simulating the promised bounds."""

import random
from collections import Counter

import pytest

from trueup.statistics.unseen import missing_mass, missing_mass_bound, missing_mass_upper

WORLDS = {
    "three common values": [0.5, 0.3, 0.2],
    "one rare value": [0.6, 0.39, 0.01],
    "a few rare values": [0.5, 0.45, *[0.005] * 10],
    "uniform over 200": [1 / 200] * 200,
    "by Zipf": [1 / rank / 7.4854 for rank in range(1, 1001)],
    "halves": [0.5**at for at in range(1, 40)],
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [30, 100, 400])
def test_the_bounds_cover(world: str, n: int) -> None:
    rng = random.Random(n)
    weights = WORLDS[world]
    sound = usual = 0
    for _ in range(200):
        seen = Counter(rng.choices(range(len(weights)), weights, k=n))
        missing = sum(weight for at, weight in enumerate(weights) if at not in seen)
        sound += missing <= missing_mass_bound(seen)
        usual += missing <= missing_mass_upper(seen)
    assert sound / 200 >= 0.95
    assert usual / 200 >= 0.92


def test_by_hand() -> None:
    assert missing_mass({"a": 1, "b": 1, "c": 8}) == 0.2
    assert missing_mass([5, 5]) == 0.0
    assert missing_mass([]) == missing_mass_bound([]) == missing_mass_upper([]) == 1.0
    assert missing_mass([0, 0]) == 1.0
    assert missing_mass_upper([1, 1, 1]) == 1.0
    assert missing_mass_bound([2000] * 4) < 0.06
    assert missing_mass_upper([50, 50]) == pytest.approx(1 - 0.05 ** (1 / 100))
    for wrong in (
        lambda: missing_mass([-1]),
        lambda: missing_mass_bound([1], 2),
        lambda: missing_mass_upper([1, 9], 0),
    ):
        with pytest.raises(ValueError, match="must"):
            wrong()
