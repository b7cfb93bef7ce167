"""Matching: all sources in one pass, no match lost when the tables are full, linear time for any pattern."""

import pytest

from trueup.checks.folding import Folded
from trueup.checks.matching import Matcher
from trueup.checks.patterns import pattern_source
from trueup.checks.state import compile_states


def test_the_sources_that_occur_are_given_by_index() -> None:
    matcher = Matcher([r"\bana\b", "[0-9]+:[0-9]+", "zzz"])
    assert matcher.which(b"10:30 con ana") == [0, 1]
    assert matcher.which(b"manana") == []
    assert list(matcher.places(1, b"10:30 y 11:45")) == [(0, 5), (8, 13)]
    assert Matcher([]).which(b"anything") == []


class Starved:
    """A set out of memory, as the engine shows it: no error message, and no matches, not even the canary."""

    def Match(self, data: bytes) -> list[int]:  # noqa: N802 - the engine's name
        return []


@pytest.mark.spec("X13")
def test_a_set_out_of_memory_is_noticed_and_each_source_is_tried() -> None:
    sources = [pattern_source(rf"a[ab]{{{n}}}c") for n in range(8, 20)]
    text = ("abbabab" * 3000 + "a" + "b" * 10 + "c").encode()
    matcher = Matcher(sources)
    expected = matcher.which(text)
    assert 2 in expected
    assert len(expected) < len(sources)
    matcher._set = Starved()
    assert matcher.which(text) == expected


@pytest.mark.spec("X13")
def test_a_set_too_large_for_its_memory_is_not_used() -> None:
    sources = [pattern_source(rf"a[ab]{{{n}}}c") for n in range(8, 20)]
    text = b"abbabab" * 300 + b"a" + b"b" * 10 + b"c"
    starved = Matcher(sources, max_mem=5_000)
    assert starved._set is None
    assert starved.which(text) == Matcher(sources).which(text) != []


def test_too_many_excused_places_do_not_excuse_the_rest() -> None:
    spec = {"S": {"forbid": [{"term": "ana", "except": ["negated"]}]}}
    states = compile_states(spec)
    assert states.judge_text("no ana. " * 100, "S") == []
    assert states.judge_text("no ana. " * 3000, "S")[0].code == "D001"


def test_a_place_after_many_excused_ones_is_found() -> None:
    states = compile_states({"S": {"forbid": [{"term": "ana", "except": ["negated"]}]}})
    text = "no ana. " * 500 + "Ana!"
    (found,) = states.judge_text(text, "S")
    assert found.span is not None
    assert text[slice(*found.span)] == "Ana"


def test_folding_once_serves_every_source() -> None:
    folded = Folded("María")
    assert Matcher([r"\bmaria\b"]).which(folded.data) == [0]
