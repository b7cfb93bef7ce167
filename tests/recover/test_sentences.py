"""The ends of sentences, in complete texts and in growing ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.sentences import ENDED, bounds, last


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("A las 10.30 h. Vale.", ["A las 10.30 h.", " Vale."]),
        ("Hola! Qué tal? Bien", ["Hola!", " Qué tal?", " Bien"]),
        ("- uno\n- dos\n", ["- uno\n", "- dos\n"]),
        ('Dijo "sí." Luego', ['Dijo "sí."', " Luego"]),
        ("Version 2.0 is out", ["Version 2.0 is out"]),
        ("With Dr. Patel. Or Mrs. Jones?", ["With Dr. Patel.", " Or Mrs. Jones?"]),
        ("A la Sra. Peña. Hecho en 3.er lugar.", ["A la Sra. Peña.", " Hecho en 3.er lugar."]),
        ("See e.g. Oslo. Done.", ["See e.g. Oslo.", " Done."]),
        ("Nimm z.B. Oslo. Fertig.", ["Nimm z.B. Oslo.", " Fertig."]),
        ("好的。我来查询！「等等。」行", ["好的。", "我来查询！", "「等等。」", "行"]),
        ("", []),
    ],
)
def test_sentences_end_at_their_marks(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in bounds(text)] == pieces


@given(st.text(st.sampled_from("ab .!?\n\"'¿"), max_size=40))
def test_sentences_cover_the_text_without_gap_or_overlap(text: str) -> None:
    assert "".join(text[start:end] for start, end in bounds(text)) == text


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("It is 3.", ""),
        ("It is 3. ", "It is 3."),
        ("Go! Now", "Go!"),
        ("好。然后", "好。"),
        ("a\nb", "a\n"),
        ("3.5", ""),
    ],
)
def test_the_last_mark_of_a_growing_text_ends_nothing_yet(text: str, ended: str) -> None:
    found = [mark.end() for mark in ENDED.finditer(text)]
    assert text[: found[-1] if found else 0] == ended


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("I look. Let me see:", "Let me see:"),
        ("Ask Dr. Who.", "Ask Dr. Who."),
        ("好的。我来", "我来"),
        ("One.\nTwo.\n", "Two."),
    ],
)
def test_the_last_sentence_is_found(text: str, sentence: str) -> None:
    assert last(text) == sentence
