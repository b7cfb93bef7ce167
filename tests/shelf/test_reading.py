"""The plain text for checks leads back to the positions in the original."""

from hypothesis import given
from hypothesis import strategies as st

from trueup.checks.folding import UNSEEN
from trueup.shelf.reading import _ODD, ReadText, _plain

PIECES = st.lists(
    st.sampled_from(["a", "@", "＠", "\u200b", "&#64;", "&amp;", "\\u0040", "\\n", "\\ud83d\\ude00", "é", "😀", "١"]),
    max_size=9,
)


@given(PIECES)
def test_each_character_is_at_its_span(pieces: list[str]) -> None:
    text = "".join(pieces)
    reading = ReadText(text, is_json=True)
    for at, char in enumerate(reading.text):
        start, stop = reading.span(at, at + 1)
        assert 0 <= start < stop <= len(text)
        assert char in ReadText(text[start:stop], is_json=True).text


@given(st.text(alphabet=st.characters(max_codepoint=127, exclude_characters="&\\"), max_size=30))
def test_plain_text_is_not_changed(text: str) -> None:
    reading = ReadText(text, is_json=True)
    assert reading.text is text
    assert reading.span(0, len(text)) == (0, len(text))


def test_only_json_escapes_are_decoded() -> None:
    assert ReadText(r"a\u0040b").text == r"a\u0040b"
    assert ReadText(r"a\u0040b", is_json=True).text == "a@b"
    assert ReadText("&unknown; &#xffffff; &#0;").text.startswith("&unknown;")


def test_text_that_is_skipped_would_not_change() -> None:
    for point in (*range(0xD800), *range(0xE000, 0x30000)):
        char = chr(point)
        if not _ODD.match(char):
            assert _plain[point] == char, hex(point)
            assert not UNSEEN.match(char), hex(point)
