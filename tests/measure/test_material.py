"""The timed material is correct: each reply means its document, each rule is true, and each section gives figures."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from trueup import Contract
from trueup.measure import reading
from trueup.measure.dialogue import PATTERNS, TERMS, TEXT, make_states
from trueup.measure.peers import FLOOR, TRUEUP, Peer, PeerRefused, Read
from trueup.measure.replies import BROKEN, COMPACT, DOCUMENT, SCHEMA, STREAM_SCHEMA, stream_document
from trueup.measure.sections import SECTIONS, machine
from trueup.measure.timing import same


@pytest.mark.parametrize("kind", BROKEN)
def test_every_broken_reply_means_its_document(kind: str) -> None:
    text, meant = BROKEN[kind]
    verdict = Contract(SCHEMA).check(text)
    assert verdict.ok
    assert same(verdict.data, meant)
    assert verdict.fixes


def test_the_clean_reply_is_clean() -> None:
    verdict = Contract(SCHEMA).check(COMPACT)
    assert (verdict.data, verdict.fixes) == (DOCUMENT, ())


@pytest.mark.parametrize("size", [1, 4_000, 16_000])
def test_the_document_for_streams_fits_its_schema(size: int) -> None:
    text = stream_document(size)
    assert len(text) <= max(size, 1_100)
    assert Contract(STREAM_SCHEMA, accept="none").check(text).ok


def test_there_are_as_many_patterns_and_terms_as_the_tables_say() -> None:
    assert (len(PATTERNS), len(set(TERMS)), len(TEXT)) == (100, 200, 1024)
    assert make_states().judge_text("Tu cita ya está confirmada, Begoña Muñoz.", "S")


@pytest.mark.parametrize("name", ["clean", "rules", "reply"])
def test_a_section_gives_figures(name: str) -> None:
    figures = list(_numbers(SECTIONS[name]()))
    assert len(figures) >= 4
    assert all(figure > 0 for figure in figures)


def test_the_clean_path_is_compared_with_its_floor() -> None:
    rows = reading.clean(2, (TRUEUP, FLOOR))["peers"]
    assert rows["trueup"]["outcome"] == rows[FLOOR.name]["outcome"] == "right"
    assert rows[FLOOR.name]["ratio"] == 1.0


def _absent(_schema: Any) -> Read:
    raise ImportError


def _raising(_schema: Any) -> Read:
    def read(_text: str) -> Any:
        raise PeerRefused

    return read


def test_readers_that_are_absent_or_raise_are_named_as_such() -> None:
    peers = (TRUEUP, Peer("gone", "gone", _absent), Peer("no", "no", _raising), Peer("odd", "odd", lambda _: len))
    rows = reading.clean(1, peers)["peers"]
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "trueup": "right", "gone": "not installed", "no": "error", "odd": "wrong",
    }  # fmt: skip
    assert "us" not in rows["gone"]
    assert rows["no"]["us"] > 0


def test_streams_of_readers_that_are_absent_are_left_out() -> None:
    gone, raises = Peer("gone", "gone", _absent), Peer("raises", "raises", _raising)
    makers: dict[str, Callable[[], reading.Run]] = dict(reading.STREAMS)
    makers |= {peer.name: partial(reading.stream_peer, peer) for peer in (gone, raises)}
    own = ("trueup", "trueup, every partial kept", "trueup, live value")
    found = reading.streaming(1_000, 1, makers, own)["peers"]
    assert list(found) == list(makers)
    assert [found[name]["outcome"] for name in own] == ["right"] * 3
    assert found["gone"] == {"outcome": "not installed"}
    assert found["raises"]["outcome"] == "a quarter"


def test_versions_belong_to_the_measured_packages() -> None:
    assert machine(["state"])["versions"].keys() == {"trueup"}
    assert machine(["broken", "rules"])["versions"].keys() == {"trueup", "fast_json_repair", "json_repair", "asteval"}


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    return [value] if isinstance(value, int | float) else []
