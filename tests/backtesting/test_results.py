"""Results: intervals, tests by conversation, labels, cost, and the same figures in Markdown and on a page for any
replies."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backtesting.making import contracts, write_units
from trueup import Contract
from trueup.backtesting.backtest import backtest
from trueup.backtesting.cost import ObservedRates, Sums, estimate
from trueup.backtesting.judging import CaseOutcome
from trueup.backtesting.labels import mark_of
from trueup.backtesting.result import Backtest, Rate
from trueup.backtesting.tally import excerpt
from trueup.backtesting.words import interval
from trueup.batch.reporting.html import put_page
from trueup.material.case import Case, Label, Recorded
from trueup.statistics.proportions import mcnemar, wilson

HOSTILE = '</script><img src=x onerror="alert(1)"> | `code` \x1b[31m \u202e [x](javascript:alert(1)) {"n": 5} ```'


def test_rates_have_wilson_intervals_and_the_tests_are_exact() -> None:
    new, old = contracts()
    found = backtest(new, ['{"n": 5}'] * 8 + ['{"n": 60}'] * 2 + ['{"n": 20}'] * 90, against=old)
    rate = found.rate("newly_refused")
    assert (rate.count, rate.n, rate.share, (rate.low, rate.high)) == (8, 100, 0.08, tuple(wilson(8, 100)))
    assert found.tests["mcnemar"]["p"] == found.p == mcnemar(8, 2)
    assert (found.clustered, found.design_effect, found.equivalent) == (False, 1.0, False)
    assert (found.rate("refused_before").count, found.rate("refused").count) == (2, 8)
    with pytest.raises(ValueError, match="unknown rate 'x'"):
        found.rate("x")


def test_replies_of_one_conversation_count_for_less() -> None:
    new, old = contracts()
    given = [Case(str(n), '{"n": 5}' if n < 40 else '{"n": 20}', {}, conversation=f"c{n // 20}") for n in range(400)]
    found = backtest(new, given, against=old)
    apart = backtest(new, [Case(case.id, case.reply, {}) for case in given], against=old)
    assert found.clustered
    assert found.design_effect > 10
    wide, narrow = found.rate("newly_refused"), apart.rate("newly_refused")
    assert (wide.count, wide.share) == (narrow.count, narrow.share)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert found.tests["clustered"]["clusters"] == 20
    assert found.p > apart.p


def test_a_part_of_the_blocks_has_a_wider_interval_than_its_count_alone() -> None:
    new, old = contracts()
    given = ['{"n": 5}'] * 2500 + ['{"n": 20}'] * 2500  # all replies of a block are alike
    seen = []
    backtest(
        new,
        given,
        against=old,
        on_progress=lambda part: seen.append((part.judged, part.rate("newly_refused"), part.share)),
    )
    assert [share for _, _, share in seen] == pytest.approx([n / 10 for n in range(1, 11)])
    judged, rate, _ = seen[4]
    assert rate.high - rate.low > 5 * (wilson(rate.count, judged).high - wilson(rate.count, judged).low)


@pytest.mark.parametrize(
    ("recorded", "labels", "kind", "mark"),
    [
        (False, ["wrong"], "newly_accepted", "better"),
        (False, ["right"], "newly_accepted", "worse"),
        (True, ["right"], "newly_refused", "worse"),
        (True, ["wrong"], "newly_refused", "better"),
        (True, ["right"], "value_changed", "worse"),
        (True, ["wrong"], "value_changed", "unlabelled"),
        (True, ["right", "wrong"], "newly_refused", "unlabelled"),
        (True, ["right", "right", "wrong"], "newly_refused", "worse"),
        (True, ["rude"], "newly_refused", "unlabelled"),
        (False, ["wrong"], "newly_refused", "worse"),  # recorded under a third contract: the reply should pass
        (None, ["wrong"], "newly_accepted", "better"),
        (False, ["wrong@code:V004"], "newly_accepted", "better"),
        (False, ["right@code:V004"], "newly_accepted", "worse"),
        (False, ["wrong@code:X999"], "newly_accepted", "unlabelled"),
        (False, ["wrong@rule:tall"], "newly_accepted", "better"),
        (False, [], "newly_accepted", "unlabelled"),
    ],
)
def test_labels_say_whether_a_flip_is_better(recorded: bool | None, labels: list[str], kind: Any, mark: str) -> None:
    said = tuple(
        Label("1", word.partition("@")[0], f"p{n}", subject=word.partition("@")[2]) for n, word in enumerate(labels)
    )
    findings = ({"code": "V004", "level": "error", "data": {"rule": "tall"}},)
    outcome = None if recorded is None else Recorded(recorded, ("V004",), findings)
    case = Case("1", "x", labels=said, recorded=outcome)
    assert mark_of(case, CaseOutcome(kind, was=kind != "newly_accepted", now=kind != "newly_refused")) == mark


def test_labels_and_outcomes_are_counted_with_flips() -> None:
    new, old = contracts()
    given = [
        Case("1", '{"n": 60}', {}, labels=(Label("1", "wrong"),), outcome="failed"),
        Case("2", '{"n": 60}', {}, labels=(Label("2", "right"), Label("2", "refunded"))),
        Case("3", '{"n": 5}', {}, outcome="accepted"),
        Case("4", '{"n": 20}', {}, labels=(Label("4", "right"),)),
    ]
    labels = backtest(new, given, against=old).labels
    assert (labels["better"], labels["worse"], labels["unlabelled"], labels["replies"]) == (1, 1, 1, 3)
    assert labels["words"] == {"newly_accepted": {"refunded": 1}}
    assert labels["outcomes"] == {"newly_accepted": {"failed": 1}, "newly_refused": {"accepted": 1}}


def test_cost_is_observed_or_unknown() -> None:
    new, old = contracts()
    day = 86_400.0
    given = []
    for n in range(100):  # of 100 requests, ten were refused once and asked again
        refused = n < 10
        known = {
            "at": 1_000_000 + n * day / 10,
            "tokens_in": 100,
            "tokens_out": 20,
            "latency": 2.0,
            "cost": 50,
            "conversation": f"r{n}",
        }
        given.append(Case(f"{n}", '{"n": 60}' if refused else '{"n": 20}', {}, recorded=Recorded(not refused), **known))
        if refused:
            given.append(Case(f"{n}b", '{"n": 20}', {}, recorded=Recorded(True), attempt=2, attempts=2, **known))
    cost = backtest(new, given, against=old).cost
    assert cost["observed"]["asks_per_refusal"] == 1.0
    assert (cost["asks"], cost["tokens"], cost["cost"], cost["latency"]) == (-10.0, -1200.0, -500.0, -20.0)
    assert cost["monthly"]["asks"] == pytest.approx(-10 * 30 / 9.9)
    assert (cost["failed"], cost["quota"]) == (0.0, {"requests": 0.0, "tokens": -1200.0, "cost": -500.0})
    nothing = backtest(new, ['{"n": 5}'], against=old).cost
    assert [nothing[name] for name in ("asks", "tokens", "cost", "latency", "quota", "monthly")] == [None] * 6
    finals = estimate(ObservedRates(Sums(100), Sums(), refused=5, more=15), 4, 0)
    assert finals["asks"] == pytest.approx(4 * 15 / 20)
    assert finals["quota"]["requests"] == -finals["failed"] == pytest.approx(-4 * 5 / 20)


def test_nothing_from_a_reply_becomes_markup(tmp_path: Path) -> None:
    old, new = Contract(reply={"min_text": 1}, name=HOSTILE), Contract(reply={"min_text": 500}, name=HOSTILE)
    given = [
        Case(
            HOSTILE,
            HOSTILE,
            {},
            model=HOSTILE,
            state=HOSTILE,
            tenant=HOSTILE,
            outcome=HOSTILE,
            labels=(Label("1", HOSTILE),),
        )
    ]
    found = backtest(new, given, against=old)
    assert found.newly_refused == 1
    text = found.to_markdown()
    assert "\x1b" not in text
    assert "\u202e" not in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<img" not in outside
    assert "javascript:" not in outside
    for line in text.splitlines():
        assert not line.startswith("|") or len(re.findall(r"(?<!\\)\|", line)) in (4, 5), line
    page = found.to_html()
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["examples"][0]["text"] == HOSTILE
    assert "connect-src" not in page
    assert "default-src 'none'" in page
    json.dumps(found.to_dict())
    put_page(tmp_path / "page.html", page)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.mark.needs("browser")
def test_the_page_shows_its_figures_in_a_browser(browser: Any, tmp_path: Path) -> None:
    new, old = contracts()
    hostile = Case("h", '{"n": 5, "s": "a", "x": "<b>no</b>"}', {}, model="m")
    found = backtest(
        new, [hostile, Case("2", '{"n": 60}', {}, labels=(Label("2", "wrong"),)), '{"n": 20}'], against=old
    )
    put_page(tmp_path / "page.html", found.to_html())
    tab = browser.new_page()
    said: list[str] = []
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("console", lambda message: said.append(message.text))
    tab.goto((tmp_path / "page.html").as_uri())
    assert tab.locator("#flips tbody tr").count() == 2
    assert tab.locator(".card b").all_inner_texts()[:3] == ["1", "1", "1"]
    assert tab.locator("main b:has-text('no')").count() == 0
    tab.select_option("#filters select >> nth=0", "newly_accepted")
    assert tab.locator("#flips tbody tr").count() == 1
    assert "now right" in tab.locator("#flips").inner_text()
    for width in (400, 1280, 2560):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
    assert said == []
    tab.close()


def test_an_excerpt_keeps_the_span_in_sight() -> None:
    text = "x" * 1000 + "HERE" + "y" * 1000
    shown, span = excerpt(text, (1000, 1004), 100)
    assert span is not None
    assert (shown[span[0] : span[1]], shown[0], shown[-1], len(shown)) == ("HERE", "…", "…", 102)
    assert excerpt("short", (90, 99)) == ("short", None)
    assert excerpt("x" * 500, None, 10) == ("x" * 10 + "…", None)


def test_every_flip_is_handed_on_as_a_line(tmp_path: Path) -> None:
    new, old = contracts()
    file = write_units(tmp_path / "units.jsonl", ['{"n": 5}'] * 150 + ['{"n": 20}'] * 50)
    lines: list[bytes] = []
    found = backtest(new, file, against=old, on_flips=lines.extend)
    assert len(lines) == found.newly_refused == 150
    assert len({json.loads(line)["id"] for line in lines}) == 150
    assert len(found.examples["newly_refused"]) == 60


def test_memory_does_not_grow_with_names() -> None:
    from trueup.backtesting import tally as room

    new, old = contracts()
    given = [
        Case(f"{n}", '{"n": 5}', {}, tenant=f"t{n}", state=f"s{n % 3}", conversation=f"c{n}") for n in range(3_000)
    ]
    found = backtest(new, given, against=old)
    tenants = found.groups["tenant"]
    assert len(tenants) <= room._GROUPS + 1
    assert sum(row["count"] for row in tenants) == 3_000
    assert next(row["count"] for row in tenants if row["key"] == room.REST) == 3_000 - room._GROUPS
    assert sum(row["count"] for row in found.groups["state"]) == 3_000
    assert found.tests["clustered"] is None


def test_a_label_speaks_of_the_decision_that_it_names() -> None:
    named, plain = Label("1", "wrong", decided="refused"), Label("1", "wrong")
    flip = CaseOutcome("newly_refused", was=True, now=False)
    assert mark_of(Case("1", "x", labels=(named,)), flip) == "worse", "people said that it should pass"
    assert mark_of(Case("1", "x", labels=(plain,)), flip) == "better", "taken to speak of the decision of before"
    assert mark_of(Case("1", "x", recorded=Recorded(True), labels=(named,)), flip) == "worse"
    assert mark_of(Case("1", "x", labels=(named, plain)), flip) == "unlabelled"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.16021, 0.16249, "16–16.2 %"),
        (0.02253, 0.02346, "2.25–2.35 %"),
        (0.041, 0.15, "4.1–15 %"),
        (0.0, 0.0, "0–0 %"),
    ],
)
def test_the_ends_of_an_interval_can_be_distinguished(low: float, high: float, shown: str) -> None:
    assert interval(Rate(1, 100, (low + high) / 2, low, high)) == shown


def test_a_share_of_zero_labels_is_unknown() -> None:
    new, old = contracts()
    found = backtest(new, ['{"n": 5}'], against=old)
    assert not found.fails("better < 50%")
    assert found.fails("better == 0")
    labelled = backtest(new, [Case("1", '{"n": 5}', {}, labels=(Label("1", "right"),))], against=old)
    assert labelled.fails("better < 50%")


def test_many_sources_are_not_all_named() -> None:
    found = Backtest("new", "old", tuple(f"file{n}.jsonl" for n in range(500)))
    assert "`file4.jsonl`, `495 more`" in found.to_markdown()
    assert len(found.to_markdown()) < 2_000
