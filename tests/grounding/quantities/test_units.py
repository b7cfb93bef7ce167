"""Units by name, and comparisons of amounts after conversion."""

import pytest

from trueup.grounding.languages import CHARACTERS, SPACED
from trueup.grounding.quantities.find import Quantity
from trueup.grounding.quantities.units import equal, unit_named
from trueup.grounding.quantities.vocabulary import language, table


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("kilos", "kg"), ("Minuten", "min"), ("€", "EUR"), ("円", "JPY"), ("house", ""), ("", ""), ("kg", "kg"), ("KG", "kg"),
        ("usd", "USD"), ("US$", "USD"), ("Std.", "h"), ("horas", "h"), ("公斤", "kg"), ("%", "%"), ("percent", "%"), ("h", "h"),
        ("square feet", "ft2"), ("MB", "MB"), ("mW", ""), ("°C", "°C"), ("원", "KRW"), ("Prozent", "%"), ("dólares", "USD"),
    ],
)  # fmt: skip
def test_names_of_units(word: str, unit: str) -> None:
    assert unit_named(word) == unit


@pytest.mark.parametrize(
    ("value", "unit", "said", "in_unit"),
    [
        ("1.5", "h", "90", "min"), ("90", "min", "1.5", "h"), ("2", "kg", "2000", "g"), ("0.45", "", "45", "%"), ("45", "%", "0.45", ""),
        ("45", "", "45", "%"), ("45", "%", "45", ""), ("1", "a", "12", "mo"), ("0.2", "USD", "20", "cent"), ("5", "GBP", "5", "pound"),
        ("5", "lb", "5", "pound"), ("100", "CNY", "100", "¥"), ("100", "JPY", "100", "¥"), ("2.5", "kg", "5", "Pfund"),
        ("1", "km", "1000", "m"), ("1", "in", "2.54", "cm"), ("36", "km/h", "10", "m/s"), ("500", "MXN", "500", "peso"),
    ],
)  # fmt: skip
def test_equal_after_conversion(value: str, unit: str, said: str, in_unit: str) -> None:
    assert equal(value, unit, Quantity(0, 1, (said,), in_unit, words=False))


@pytest.mark.parametrize(
    ("value", "unit", "said", "in_unit"),
    [
        ("5", "kg", "5", "lb"), ("45", "%", "45", "USD"), ("5", "USD", "5", "EUR"), ("20", "°C", "20", "°F"), ("1.5", "h", "15", "min"),
        ("0.45", "%", "45", "%"), ("5", "kg", "5", "m"), ("100", "EUR", "100", "¥"), ("5", "EUR", "5", "pound"), ("1", "h", "1", "d"),
        ("20", "GBP", "20", "cent"), ("1", "%", "1", "‰"),
    ],
)  # fmt: skip
def test_never_equal(value: str, unit: str, said: str, in_unit: str) -> None:
    assert not equal(value, unit, Quantity(0, 1, (said,), in_unit, words=False))


def test_every_name_in_the_data_is_known() -> None:
    for name in (*SPACED, *CHARACTERS):
        for words in table(f"languages/{name}.toml")["units"].values():
            assert all(unit_named(word) for word in words), name


def test_every_doubtful_word_is_a_word_of_its_language() -> None:
    for name in SPACED:
        spoken = language(name)
        unknown = spoken.doubtful - set(spoken.words) - set(spoken.alone) - set(spoken.starts)
        assert not unknown, name
