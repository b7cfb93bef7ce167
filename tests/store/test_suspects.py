"""The first search for words to redact: texts that it passes contain none of them."""

from hypothesis import given
from hypothesis import strategies as st

from trueup.store.records import encode
from trueup.store.redaction import Redaction

_words = st.text(st.sampled_from('ab"\\/\n\u00e9k- '), min_size=1, max_size=6)


@given(_words, st.text(st.sampled_from('ab"\\/\n\u00e9k- '), max_size=20), st.booleans())
def test_text_that_is_not_suspect_contains_no_word(word: str, text: str, inside: bool) -> None:
    rules = Redaction(words=(word,))
    data = {"reply": [text + word * inside], word * inside: 1}
    if not rules.suspects(encode(data)):
        assert not inside
        assert rules.clean(data) == data
