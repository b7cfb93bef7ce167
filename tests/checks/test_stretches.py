"""Long texts are searched in stretches: the matches are the same as in one piece, and are found quickly."""

import random

import pytest

from trueup.checks import mentions, stretches
from trueup.checks.folding import Folded
from trueup.checks.toolset import Toolset
from trueup.verdict.tool import Tool

TOOLS = Toolset([Tool(name) for name in ("book_table", "check_network_status", "send_mail", "search")])
PIECES = [
    "I ran reset_the_router for you. ", "I've booked the table. ", "We have just used the search tool. ", "He ejecutado ya la herramienta send_mail. ",
    "EJECUTÉ `send_mail`. ", "`check_network_state` is what I call. ", "It may run late. ", "calling\u00a0getWeatherNow ", "restart_network_status( x ) ",
    "check_network_health ", "I called\nsend_mail ", "Nothing of the kind. ", "ñandú – “sí” 👍 ", "run test_all.py ", "WE’VE\u2003cancelled it. ", "_", "`", "(",
]  # fmt: skip


def matches_in(text: str) -> list[tuple[str, str, tuple[int, int] | None]]:
    return [(f.code, f.message, f.span) for f in mentions.mention_findings(text, TOOLS, frozenset())]


@pytest.mark.parametrize("seed", range(40))
def test_stretches_find_the_same_as_one_piece(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    filler = chance.choice(["Plain words, and more of them. ", "Palabras sin más, ñ. ", "x"])
    parts = [chance.choice(PIECES) if chance.random() < 0.02 else filler for _ in range(60_000 // len(filler))]
    text = "".join(parts)
    assert len(text) > stretches.LONG
    by_stretches = matches_in(text)
    monkeypatch.setattr(stretches, "LONG", 10**9)
    monkeypatch.setattr(mentions, "LONG", 10**9)
    assert by_stretches == matches_in(text)


def test_a_match_across_the_edge_of_a_stretch_is_found() -> None:
    for edge in (stretches._BLOCK, stretches._BLOCK + stretches._LAP):
        for at in range(edge - 40, edge + 2):
            text = "." * at + " I've called send_mail now. " + "." * 30_000
            assert [code for code, _, _ in matches_in(text)] == ["T012"]


def test_no_name_is_cut_at_the_end_of_a_stretch() -> None:
    edge = stretches._BLOCK + stretches._LAP
    for at in range(edge - 40, edge + 2):
        text = "." * at + " I will run reset_the_router and run test_all.py. " + "." * 30_000
        assert [said.split("'")[1] for _, said, _ in matches_in(text)] == ["reset_the_router"]


@pytest.mark.parametrize(
    "text", ["Mari\u0301a vendrá man\u0303ana 👍. ", "А\u200bnа, ｙ más… ", "漢字 ß Æ “x” \x85\x07"]
)
def test_a_long_text_is_folded_as_its_parts_are(text: str) -> None:
    long = text * (40_000 // len(text))
    whole = Folded(long)
    assert whole.data == Folded(text).data * (40_000 // len(text))
    start = len(Folded(text).data) * 100
    assert whole.span(start, start + 1)[0] == len(text) * 100
