"""Properties of any text: spans are inside it, values are canonical, and numbers are found in every notation."""

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from trueup.grounding.quantities.find import canonical, quantities
from trueup.grounding.quantities.read import read_quantity

CANONICAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
BITS = [
    "1", "23", "456", "7890", ",", ".", "'", " ", "\u00a0", "-", "−", "(", ")", "$", "€", "%", "kg", "m", "h", "e", "E9", "/", "½", "×10^", "one",
    "hundred", "and", "a", "half", "zwei", "und", "mil", "vingt", "万", "億", "三", "百分之", "点", "半", "個", "円", "１２", "٣", "İ", "ß", "\n", "th",
    "º", "^", "¹", "割", "分", "삼", "백", "원", "minus", "point", "dozen", "of", "cents", "Mio.", "USD", "R$", "un", "million", "twenty",
]  # fmt: skip
messes = (
    st.lists(st.sampled_from(BITS), max_size=14).map("".join)
    | st.lists(st.sampled_from(BITS), max_size=14).map(" ".join)
    | st.text(max_size=40)
)
INDIAN = re.compile(r"(?<=\d)(?=(?:\d\d)*\d{3}$)")


def western(number: int, sign: str) -> str:
    return f"{number:,}".replace(",", sign)


@given(messes)
def test_spans_are_inside_the_text_and_values_canonical(text: str) -> None:
    found = quantities(text)
    assert found == sorted(found, key=lambda quantity: quantity.start)
    for quantity in found:
        assert 0 <= quantity.start < quantity.end <= len(text)
        assert quantity.values
        assert len(set(quantity.values)) == len(quantity.values)
        for value in quantity.values:
            assert CANONICAL.fullmatch(value), value
            assert canonical(value) == value
            assert value != "-0"


@given(messes)
def test_the_same_text_is_read_the_same_way_twice(text: str) -> None:
    assert quantities(text) == quantities(text)


@given(messes)
def test_every_figure_is_covered(text: str) -> None:
    covered = {place for quantity in quantities(text) for place in range(quantity.start, quantity.end)}
    assert all(place in covered for place, glyph in enumerate(text) if glyph.isdecimal())


@given(st.integers(0, 10**15), st.integers(0, 99), st.sampled_from([",.", ".,", " ,", "\u00a0,", "\u202f,", "'."]))
def test_an_amount_is_read_in_every_notation(whole: int, cents: int, signs: str) -> None:
    written = f"{western(whole, signs[0])}{signs[1]}{cents:02}"
    value = canonical(str(Decimal(f"{whole}.{cents:02}")))
    for text in (written, f"€{written}", f"{written} €", f"Total: {written}."):
        match = [quantity for quantity in quantities(text) if value in quantity.values]
        assert match, text
        at = text.index(written)
        assert any(quantity.start <= at and at + len(written) <= quantity.end for quantity in match)
    assert read_quantity(written) is not None


@given(st.integers(0, 10**12))
def test_a_whole_number_is_read_in_every_notation(number: int) -> None:
    forms = [str(number), western(number, ","), western(number, "."), western(number, "'"), western(number, "\u202f")]
    forms += [INDIAN.sub(",", str(number)), str(number).translate(str.maketrans("0123456789", "０１２３４５６７８９"))]
    for form in forms:
        found = read_quantity(form)
        assert found is not None, form
        assert str(number) in found.values, form


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30))
def test_a_float_as_python_writes_it(number: float) -> None:
    found = read_quantity(repr(number))
    assert found is not None
    assert canonical(number) in found.values


@given(st.integers())
def test_canonical_integers(number: int) -> None:
    assert canonical(number) == str(number) == canonical(str(number))
