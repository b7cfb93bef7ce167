"""Values and their places on the report page: clicked through in a real browser, with sources that try to break out of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.reporting.test_report import CHROMIUM, HOSTILE, INERT, opened
from tests.batch.sifting import run
from trueup.batch.reporting.evidence import shown_evidence
from trueup.batch.reporting.report import REPORT, collect, write_report
from trueup.contract.contract import Contract

LONG = "Lorem ipsum dolor sit amet. " * 36_000


def unit(uid: str, source: Any, data: Any, field: str = "source") -> str:
    return json.dumps({"unit_id": uid, "input": {field: source}, "raw_response": json.dumps(data)})


def sample() -> list[str]:
    return [
        unit("invoice", "Northwind Tools sold 2 vices at 64.50, in total GBP 1,178.00.", {"by": "Northwind Tools", "total": 1187, "n": [64.5]}),
        unit("documents", {"mail": "Ada 😀 asks.", "</script><b>two": "Then Ada paid 44 EUR."}, {"who": "Ada", "paid": 44}),
        unit("long", f"{LONG[:500_000]}Wingtip owes 77.50 EUR.{LONG[500_000:]}", {"who": "Wingtip", "sum": 77.5}),
        unit("table", "| name | age |\n|---|---|\n| Ana Ruiz | 41 |\n| Luis Vega | 36 |", [{"name": "Ana Ruiz", "age": 36}, {"name": "Luis Vega", "age": 41}]),
        unit("rtl", "\u202eevil\u202c שלום Ada עולם 12", {"who": "Ada"}),
        *(unit(f"hostile-{at}", f"{text} Ada {text}", {"who": "Ada"}) for at, text in enumerate(HOSTILE)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(run(tmp_path_factory.mktemp("evident"), sample(), Contract(schema=True, grounded=True)).out)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        yield launched
        launched.close()


def choose(tab: Any, uid: str) -> None:
    tab.locator("#text").fill(uid)
    tab.locator("#list li").first.click()


def chosen(tab: Any) -> list[str]:
    return [mark.inner_text() for mark in tab.locator("mark.chosen").all()]


@pytest.mark.needs("browser")
def test_a_click_on_a_value_marks_its_place(browser: Any, page: Path) -> None:
    tab, asked, said = opened(browser, page)
    assert tab.locator("#grounded tbody tr").count() >= 5
    choose(tab, "invoice")
    rows = [row.inner_text().split("\t")[:3] for row in tab.locator("#evidence tbody tr").all()]
    assert rows == [
        ["by", '"Northwind Tools"', "exact"],
        ["total", "1187", "no evidence"],
        ["n[0]", "64.5", "normalized"],
    ]
    assert chosen(tab) == []
    tab.locator("#evidence button", has_text="total").click()
    assert chosen(tab) == ["GBP 1,178.00"]
    assert "none" in tab.locator("mark.chosen").get_attribute("class").split()
    assert "nearest: GBP 1,178.00" in tab.locator("#evidence").inner_text()
    tab.locator("#evidence button", has_text="by").click()
    assert chosen(tab) == ["Northwind Tools"]
    choose(tab, "documents")
    assert (
        "mail 12 characters" in tab.locator(".sources").inner_text()
        or "mail 11 characters" in tab.locator(".sources").inner_text()
    )
    assert "</script><b>two" in tab.locator(".sources").inner_text()
    tab.locator("#evidence button", has_text="who").click()
    assert chosen(tab)[0] == "Ada"
    choose(tab, "table")
    assert tab.locator("#evidence .other_record").count() == 2
    assert asked == [page.as_uri()]
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_values_can_be_reached_by_keyboard(browser: Any, page: Path) -> None:
    tab, _, said = opened(browser, page)
    choose(tab, "invoice")
    tab.locator("#evidence button").first.focus()
    tab.keyboard.press("Enter")
    assert chosen(tab) == ["Northwind Tools"]
    tab.keyboard.press("ArrowDown")
    assert chosen(tab) == ["GBP 1,178.00"]
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    tab.keyboard.press("ArrowUp")
    assert chosen(tab) == ["Northwind Tools"]
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_a_long_source_is_cut_to_excerpts_and_scrolled_to(browser: Any, page: Path) -> None:
    tab, _, said = opened(browser, page)
    choose(tab, "long")
    text = tab.locator(".sources").inner_text()
    assert "characters omitted" in text
    assert len(text) < 3_000
    tab.locator("#evidence button", has_text="sum").click()
    assert chosen(tab) == ["77.50 EUR"]
    assert tab.evaluate(
        "() => { const m = document.querySelector('mark.chosen').getBoundingClientRect();"
        " const p = document.querySelector('.sources').getBoundingClientRect(); return p.top <= m.top && m.bottom <= p.bottom; }"
    )
    assert said == []
    tab.close()


@pytest.mark.spec("X21", "X22")
@pytest.mark.needs("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_markup_in_sources_is_inert(browser: Any, page: Path, scheme: str) -> None:
    tab, asked, said = opened(browser, page, color_scheme=scheme)
    for item in tab.locator("#list li").all():
        item.click()
        for button in tab.locator("#evidence button").all():
            button.click()
        assert tab.locator(INERT).count() == 0
    choose(tab, "rtl")
    assert "⟨U+202E⟩" in tab.locator(".sources").inner_text()
    assert tab.title().startswith("trueup report")
    assert asked == [page.as_uri()]
    assert said == []
    tab.close()


def test_the_size_of_the_page_is_limited(tmp_path: Path) -> None:
    """The source of a unit takes a bounded part of the page, for any length and any number of values in it."""
    numbers = " … ".join(f"number {at}001 {'x' * 2_000}" for at in range(400))
    lines = [unit(f"u{at}", numbers, [f"{n}001" for n in range(1, 400)]) for at in range(4)]
    ran = run(tmp_path, lines, Contract(schema=True, grounded=True))
    found = collect(ran.out)["units"]
    for each in found:
        assert sum(len(text) for source in each["sources"] for _, text in source["pieces"]) <= 24_000
        assert len(each["evidence"]) == 200
        assert each["evidence_more"] == 199
    write_report(ran.out)
    assert (ran.out / REPORT).stat().st_size < 1_000_000


@pytest.mark.parametrize("field", ["source", "mail"])
def test_the_source_is_the_field_that_matches_the_positions(field: str) -> None:
    row = {
        "input": {"note": "Ada and more", field: "By Ada, 12 EUR"},
        "evidence": {
            "$.who": {
                "grade": "exact",
                "value": "Ada",
                "places": [{"document": "source", "span": [3, 6], "text": "Ada"}],
            }
        },
    }
    found = shown_evidence(row)
    assert found["sources"] == [{"name": "source", "size": 14, "pieces": [[0, "By Ada, 12 EUR"]]}]
    assert found["evidence"][0]["places"] == [["source", 3, 6]]


@pytest.mark.parametrize(
    "evidence",
    [
        None,
        5,
        [],
        {"$.a": 5},
        {"$.a": {"grade": "exact", "places": [{"document": "source", "span": "x", "text": ""}]}},
        {"$": {"value": 1}},
    ],
)
def test_a_record_with_damaged_evidence_is_shown_without_it(evidence: Any) -> None:
    assert shown_evidence({"input": {"source": "Ada"}, "evidence": evidence}) == {}


def test_positions_that_do_not_match_are_shown_only_as_text() -> None:
    place = {"document": "source", "span": [400, 403], "text": "Ada"}
    found = shown_evidence(
        {"input": {"source": "Bo"}, "evidence": {"$.who": {"grade": "exact", "value": "Ada", "places": [place]}}}
    )
    assert found["sources"] == []
    assert "places" not in found["evidence"][0]
    assert found["evidence"][0]["says"] == "Ada"
