"""Finding quantities takes time in proportion to the text, for any text."""

from collections.abc import Callable

import pytest

from tests.growth import assert_linear
from trueup.grounding.quantities.find import quantities

HOSTILE: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "7" * n,
    "list": lambda n: "1," * (n // 2),
    "thousands": lambda n: "1" + ",111" * (n // 4),
    "dots": lambda n: "1." * (n // 2),
    "spaced groups": lambda n: "111 " * (n // 4),
    "spaced groups, then a longer one": lambda n: "111 " * (n // 4) + "1111",
    "two groups": lambda n: "12 345, " * (n // 8),
    "apostrophes": lambda n: "1'" * (n // 2),
    "slashes": lambda n: "1/" * (n // 2),
    "fractions": lambda n: "1 1/2 " * (n // 6),
    "exponents": lambda n: "1e9" * (n // 3),
    "signs": lambda n: "-" * n + "5",
    "dollars": lambda n: "$" * n + "5",
    "number words": lambda n: "one " * (n // 4),
    "scales": lambda n: "thousand million " * (n // 17),
    "ands": lambda n: "hundred and " * (n // 12),
    "one long word": lambda n: "zweihundert" * (n // 11),
    "halves": lambda n: "5" + " and a half" * (n // 11),
    "scales behind figures": lambda n: "5" + " million" * (n // 8),
    "characters": lambda n: "三" * n,
    "powers": lambda n: "万" * n,
    "characters and figures": lambda n: "3億5000万" * (n // 7),
    "percent": lambda n: "百分之" * (n // 3),
    "hours": lambda n: "1 h 30 min " * (n // 11),
    "cents": lambda n: "5 euros con 50 " * (n // 15),
    "points": lambda n: "one point " * (n // 10),
    "full width": lambda n: "１，" * (n // 2),
    "fraction signs": lambda n: "½ " * (n // 2),
    "korean": lambda n: "삼백" * (n // 2),
    "letters": lambda n: "5" + "a" * n,
    "minus words": lambda n: "minus " * (n // 6),
    "capital dots": lambda n: "İ5 one " * (n // 7),
    "accounts": lambda n: "(1,234)-" * (n // 8),
}


@pytest.mark.growth
@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_takes_linear_time(name: str) -> None:
    assert_linear(quantities, HOSTILE[name], 40_000, what=name)


@pytest.mark.growth
def test_a_long_number_stays_exact() -> None:
    digits = "123456789" * 100_000
    assert quantities(digits)[0].values == (digits,)
    grouped = ",".join(["123"] * 100_000)
    assert quantities(f"€ {grouped}.50")[0].values == ("123" * 100_000 + ".5",)
