"""Removed escapes: the map from an unfolded text to the original."""

from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.json.lexer import ESCAPE
from trueup.recover.layers.escaping import unfold

PIECES = ["{", '\\"', "\\n", "a", ": 1", "}", "\\\\", "\\u00e9", "\\ud83d", "é", " "]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_every_letter_of_an_unescaped_text_has_its_original_position(text: str) -> None:
    unfolded = unfold(text, 0, len(text))
    ends = [unfolded.back(at) for at in range(len(unfolded.text) + 2)]
    assert ends == sorted(ends)
    assert ends[-2:] == [len(text), len(text)]
    escapes = {found.start() for found in ESCAPE.finditer(text)}
    for at, letter in enumerate(unfolded.text):
        assert ends[at] in escapes or text[ends[at]] == letter
