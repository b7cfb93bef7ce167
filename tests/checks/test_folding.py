"""Folding: look-alikes fold alike, different texts stay different, and every position leads back to the original."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.checks import folding
from trueup.checks.folding import Folded, fold, is_spaced, words

TEXTS = st.text(st.characters() | st.sampled_from("aánñN\u0303\u0301ßæ¿\u200b\xadАж時👍\x08\n"), max_size=60)


@pytest.mark.spec("C7")
def test_case_accents_and_decomposition_do_not_matter() -> None:
    forms = ["María", "MARÍA", "maria", "Mari\u0301a", "ＭＡＲＩＡ", "𝐌𝐚𝐫𝐢́𝐚"]
    assert {fold(form) for form in forms} == {"maria"}


@pytest.mark.spec("C7")
def test_ene_is_a_separate_letter_composed_or_not() -> None:
    assert fold("año") == fold("an\u0303o") == "aNo"
    assert fold("ano") == "ano"


@pytest.mark.spec("X14")
@pytest.mark.parametrize(
    "hidden",
    [
        "A\u200bna", "An\u200ca", "A\u2060n\ufeffa", "An\xada", "A\u180ena",  # zero width
        "\u202eA\u202cna", "A\u2066n\u2069a", "A\u200fna",  # bidi
        "A\U000e006e\U000e0061na", "A\ufe0fna", "A\U000e0100na",  # tag block, variation selectors
        "Аnа", "Αnα", "ANА", "𝐀𝐧𝐚", "Ⓐⓝⓐ", "Ａｎａ", "🅰n🅰", "ᴀna", "Ạṇạ", "A\u0336n\u0336a\u0336",  # look-alikes
        "A\x08na", "A\x00na", "A\x7fna", "A\x9bna",  # control characters
    ],
)  # fmt: skip
def test_evasions_fold_to_the_word_they_hide(hidden: str) -> None:
    assert fold(hidden) == "ana"


def test_other_scripts_keep_their_letters_and_ignore_case() -> None:
    assert fold("Жена") == fold("жена") != fold("вена")
    assert len({fold(letter) for letter in "жщъыэюя"}) == 7
    assert fold("Ελλάδα") == fold("ΕΛΛΑΔΑ")
    assert fold("ё") == fold("е")


def test_letters_are_word_characters_and_signs_are_not() -> None:
    assert list(words("ok✅да, 時間—niño")) == [fold("ok"), fold("да"), fold("時間"), fold("niño")]


@given(TEXTS)
def test_folded_text_is_ascii_and_folds_the_same_in_pieces(text: str) -> None:
    folded = Folded(text)
    assert folded.data.isascii()
    cut = len(text) // 2
    if "\u0303" not in text[cut : cut + 1]:
        assert fold(text[:cut]) + fold(text[cut:]) == fold(text)


@given(TEXTS)
def test_case_never_matters(text: str) -> None:
    plain = "".join(c for c in text if len(c.upper()) == 1 and c.upper().lower() == c.lower())
    assert fold(plain.upper()) == fold(plain.lower())


@given(TEXTS)
def test_composed_and_decomposed_forms_fold_alike(text: str) -> None:
    plain = "".join(c for c in text if not unicodedata.combining(c))
    assert fold(unicodedata.normalize("NFC", plain)) == fold(unicodedata.normalize("NFD", plain))


@given(
    TEXTS, TEXTS, st.sampled_from(["María", "Mari\u0301a", "niño", "nin\u0303o", "Straße", "жена", "А\u200bnа", "時間"])
)
def test_a_position_leads_back_to_the_original(before: str, after: str, word: str) -> None:
    text = f"{before} {word} {after}"
    folded = Folded(text)
    start = len(fold(before + " "))
    first, last = folded.span(start, start + len(fold(word)))
    assert text[first:last] == word


@given(TEXTS)
def test_positions_stay_inside_the_text_and_in_order(text: str) -> None:
    folded = Folded(text)
    last = 0
    for place in range(len(folded.data)):
        first, end = folded.span(place, place + 1)
        assert last <= first < end <= len(text)
        last = first


def test_scripts_without_spaces_have_no_edges() -> None:
    assert [is_spaced(c) for c in "aé7_жא"] == [True] * 6
    assert [is_spaced(c) for c in "時のไ!-"] == [False] * 5


def test_no_text_can_make_the_texts_after_it_slow() -> None:
    """Characters after the last code are not stored; there is room for all others."""
    fold("".join(map(chr, range(0x40000, 0x80000))) + "\U0010fffd" * 30_000)
    assert max(point for point in folding._table if not 0xE0000 <= point <= 0xE0FFF) < 0x40000
    fold("👍" * 30_000)
    assert ord("👍") in folding._table
    assert fold("\U00050000") == fold("\U0010fffd") != ""
