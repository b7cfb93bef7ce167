"""Matching: all sources in one pass, nothing lost when the tables are full, time linear whatever the pattern."""

import asyncio
import time

import pytest

from trueup import Contract
from trueup.checks.folding import Folded
from trueup.checks.matching import Matcher
from trueup.checks.patterns import pattern_source
from trueup.checks.state import compile_states


def test_the_sources_that_occur_are_told_by_index() -> None:
    matcher = Matcher([r"\bana\b", "[0-9]+:[0-9]+", "zzz"])
    assert matcher.which(b"10:30 con ana") == [0, 1]
    assert matcher.which(b"manana") == []
    assert list(matcher.places(1, b"10:30 y 11:45")) == [(0, 5), (8, 13)]
    assert Matcher([]).which(b"anything") == []


class Starved:
    """A set out of memory, as the engine shows it: no word of an error, and nothing found, not even the canary."""

    def Match(self, data: bytes) -> list[int]:  # noqa: N802 - the engine's name
        return []


@pytest.mark.spec("X13")
def test_a_set_out_of_memory_is_seen_and_each_source_is_tried() -> None:
    sources = [pattern_source(rf"a[ab]{{{n}}}c") for n in range(8, 20)]
    text = ("abbabab" * 3000 + "a" + "b" * 10 + "c").encode()
    matcher = Matcher(sources)
    expected = matcher.which(text)
    assert 2 in expected
    assert len(expected) < len(sources)
    matcher._set = Starved()
    assert matcher.which(text) == expected


@pytest.mark.spec("X13")
def test_a_set_too_large_for_its_memory_is_done_without() -> None:
    sources = [pattern_source(rf"a[ab]{{{n}}}c") for n in range(8, 20)]
    text = b"abbabab" * 300 + b"a" + b"b" * 10 + b"c"
    starved = Matcher(sources, max_mem=5_000)
    assert starved._set is None
    assert starved.which(text) == Matcher(sources).which(text) != []


@pytest.mark.perf
@pytest.mark.spec("X11", "C12")
@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*)*x", r"([a-z]+)*[0-9]", r"(?:a?){30}a{30}", r".*.*=.*"]
)
def test_no_pattern_hangs(pattern: str) -> None:
    states = compile_states(
        {"S": {"forbid": [{"pattern": f"{pattern}|zzz" if pattern.endswith("$") else f"q{pattern}"}]}}
    )
    text = "a" * 30_000 + "!"
    started = time.process_time()
    states.judge_text(text, "S")
    assert time.process_time() - started < 0.5


@pytest.mark.perf
@pytest.mark.spec("X11")
def test_the_event_loop_is_not_held_by_a_hostile_pattern() -> None:
    states = compile_states({"S": {"forbid": [{"pattern": r"q(a+)+$"}, {"pattern": r"(x+x+)+y"}]}})
    text = "qa" + "a" * 1000 + "!" + "x" * 1000

    async def worst_stall() -> float:
        worst = 0.0
        for _ in range(20):
            before = time.perf_counter()
            await asyncio.sleep(0)
            states.judge_text(text, "S")
            worst = max(worst, time.perf_counter() - before)
        return worst

    assert min(asyncio.run(worst_stall()) for _ in range(3)) < 0.020


def seconds(states: object, text: str) -> float:
    best = 9.0
    for _ in range(3):
        started = time.process_time()
        states.judge_text(text, "S")  # type: ignore[attr-defined]
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.perf
@pytest.mark.spec("C12")
@pytest.mark.parametrize(
    "unit",
    [
        "10:30 ",
        "cita confirmada, ",
        "no ",
        "¿no? ",
        "ana.",
        "ana ",
        "Ан\u200bа ",
        "ñ",
        "n\u0303",
        "жена ",
        "👍",
        "a\n",
        ",",
        "aaaa",
        "ß",
    ],
)
def test_time_is_linear_in_any_text(unit: str) -> None:
    spec = {
        "S": {
            "forbid": [
                {"terms": ["ana", "жена"], "except": ["negated", "question", "conditional", {"terms": ["abrimos"]}]},
                {"pattern": r"\d\d:\d\d", "except": [{"pattern": r"[^.]*abrimos"}]},
                {"pattern": r"a.*b|a", "except": [{"terms": ["a"]}]},
            ]
        }
    }
    states = compile_states(spec)
    size = 80_000 // len(unit)
    small = seconds(states, unit * size)
    large = seconds(states, unit * (2 * size))
    assert large < 2.0
    assert large <= 3.0 * small + 0.02


@pytest.mark.perf
@pytest.mark.spec("C12")
def test_a_kilobyte_and_a_hundred_patterns_take_well_under_a_millisecond() -> None:
    rules = [{"pattern": rf"\bcita{i}\b[^.\n]{{0,20}} (?:confirmada|reservada){i}"} for i in range(100)]
    states = compile_states({"S": {"forbid": [*rules, {"terms": [f"término{i}" for i in range(200)]}]}})
    text = ("Perfecto, ¿qué servicio te gustaría? Mañana está disponible. " * 20)[:1024]
    assert seconds(states, text) < 0.001


def test_too_many_excused_places_are_not_taken_for_innocent() -> None:
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


@pytest.mark.perf
@pytest.mark.spec("C12")
@pytest.mark.parametrize(
    "unit", ["Perfecto, ¿qué servicio te gustaría? Mañana está libre. ", "Ana 👍 “vale” – a las 10:30. "]
)
def test_ten_megabytes_are_judged_in_two_seconds(unit: str) -> None:
    rules = [{"terms": ["Ana", "María"]}, {"pattern": r"\d\d:\d\d", "except": ["negated", "question"]}]
    contract = Contract(reply=True, states={"S": {"forbid": rules}})
    text = unit * (9_999_999 // len(unit))
    started = time.process_time()
    verdict = contract.check(text, {"state": "S"})
    assert time.process_time() - started < 2.0
    assert verdict.ok is ("Ana" not in text)
