"""Members without braces: calls, printed models, members whose braces are missing, tuples; each with the places of its values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.forms import unbraced

KNOWN = frozenset({"name", "age"})
PIECES = [
    "a", "array", "(", "((", "x=", "x ==", "x = 1", ")", ".", "\n", " ", "'k' =>", '"k"=>', "_b", "é", "1", "f(", "f(a=",
    "obj.f( b =", "new P(a=1)", "array('k' =>", 'array("k" =>', "²", "٣",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.integers(0, 30))
def test_skipping_from_bracket_to_bracket_finds_the_same_call(text: str, at: int) -> None:
    plain, quick = unbraced._CALL_START.search(text, at), unbraced._next_call(text, at)
    assert (plain and plain.span()) == (quick and quick.span())


@pytest.mark.parametrize(
    ("read", "text", "value", "places"),
    [
        (unbraced.calls, "P(name='Ada', age=[1, 2])", {"name": "Ada", "age": [1, 2]}, {"name": "'Ada'", "age.1": "2"}),
        (unbraced.members, '"name": "Ada", "age": 36', {"name": "Ada", "age": 36}, {"name": '"Ada"', "age": "36"}),
        (unbraced.printed, "name='Ada' age=36", {"name": "Ada", "age": 36}, {"name": "'Ada'", "age": "36"}),
    ],
)
def test_members_have_their_positions(read: Any, text: str, value: Any, places: dict[str, str]) -> None:
    (candidate,) = read(text, KNOWN, 9)
    assert candidate.value == value
    found = {".".join(map(str, path)): text[start:stop] for path, (start, stop) in candidate.places.items()}
    assert found.items() >= places.items()
    assert found[""] == text
