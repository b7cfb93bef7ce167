"""Names and enum values: what counts as the same spelling, and which signs have a meaning."""

import pytest

from trueup.conform.enums import EnumTable
from trueup.conform.names import SimilarNames, fold, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("firstName", "first_name"),
        ("First Name", "first-name"),
        (" name: ", "name"),
        ("**name**", "Name"),
        ("Número", "numero"),
        ("straße", "STRASSE"),
        ("node.js", "nodejs"),
        ("- item", "item"),
        ("High!", "high"),
    ],
)
def test_names_are_compared_without_style(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<5", ">5"),
        ("<5", "5"),
        ("1.5", "15"),
        ("1-5", "15"),
        ("-1", "1"),
        (".5", "5"),
        ("c++", "c"),
        ("c#", "c"),
        ("5%", "5"),
    ],
)
def test_signs_that_carry_meaning_are_compared(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_a_name_that_matches_two_names_matches_none() -> None:
    names = SimilarNames(["first_name", "firstName"], {})
    assert names.match("First Name") is None
    assert names.match("FIRST_NAME") == "first_name"
    assert names.match("x" * 10_000) is None
    assert SimilarNames(["+", "-"], {}).match("*") is None


def test_an_alias_shared_by_two_values_matches_none() -> None:
    names = SimilarNames(["a", "b"], {"a": ["x", "y"], "b": ["x"]})
    assert names.match("x") is None
    assert names.match("Y") == "a"


def test_a_name_is_found_among_the_words_of_a_sentence() -> None:
    assert words("It's HIGH/low (really).") == ["it's", "high", "low", "really"]


def test_sentences_with_shared_words_are_distinguished() -> None:
    table = EnumTable(["high", "very high"], {}, (), ())
    assert table.match("I would say very high", eager=True) == ("very high", "C012")
    assert table.match("very high, or just high", eager=True) is None
    assert EnumTable(["In Progress", "in_progress"], {}, (), ()).match("it is in progress", eager=True) is None
