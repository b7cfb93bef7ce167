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
def test_the_same_name(one: str, other: str) -> None:
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
def test_signs_that_carry_meaning(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_two_names_that_fit_are_none() -> None:
    names = SimilarNames(["first_name", "firstName"], {})
    assert names.match("First Name") is None
    assert names.match("FIRST_NAME") == "first_name"
    assert names.match("x" * 10_000) is None
    assert SimilarNames(["+", "-"], {}).match("*") is None


def test_an_alias_that_two_share_is_none() -> None:
    names = SimilarNames(["a", "b"], {"a": ["x", "y"], "b": ["x"]})
    assert names.match("x") is None
    assert names.match("Y") == "a"


def test_words_of_a_sentence() -> None:
    assert words("It's HIGH/low (really).") == ["it's", "high", "low", "really"]


def test_sentences_with_shared_words() -> None:
    table = EnumTable(["high", "very high"], {}, (), ())
    assert table.match("I would say very high", eager=True) == ("very high", "C012")
    assert table.match("very high, or just high", eager=True) is None
    assert EnumTable(["In Progress", "in_progress"], {}, (), ()).match("it is in progress", eager=True) is None
