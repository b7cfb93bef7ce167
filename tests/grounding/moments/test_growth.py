"""Finding moments takes time in proportion to the text, for any text."""

import pytest

from tests.growth import assert_linear
from trueup.grounding.moments.find import moments

PIECES = [
    "1", "1/", "1/1/", "1:", "12:34:", "1.", "1-", "2024-03-05 ", "2024-", "march ", "may", "5 march ", "mar. 5 mars ", "friday next ",
    "at ", "at 5 ", "half past ", "quarter to ", "five thirty ", "5 to 5 ", "in a ", "'24 ", "'s ", "am ", "年", "3月", "一", "二十", "下午",
    "下周", "5時", "5日後", "令和", "월", " ", "\n", ",", "e\u0301", "5 de ", "17h", "t17:45", "a las ", "r6.3.5.", "i\u0307", "İ",
]  # fmt: skip


@pytest.mark.growth
@pytest.mark.parametrize("piece", PIECES)
def test_repeated_pieces_take_linear_time(piece: str) -> None:
    assert_linear(moments, lambda size: piece * (size // len(piece)), 40_000, what=piece)
