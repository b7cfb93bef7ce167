"""The report of a sift: one page, whatever the replies hold, looked at and clicked through in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import run, unit
from trueup.batch.report import Missing, collect, render, write_report

HOSTILE = [
    "<img src=x onerror=\"document.title='pwned'\">",
    "</script><script>document.title='pwned'</script>",
    "<svg onload=\"document.title='pwned'\">",
    "[click](javascript:document.title='pwned')",
    "![x](http://127.0.0.1:9/leak.png)",
    "<!--<script>",
    "\u2028\u2029 \u202e txt",
]
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def sample() -> list[str]:
    return [
        unit("fenced", '```json\n{"name": "Zoé 😀", "age": "36",}\n```'),
        unit("clean"),
        unit("missing", '{"name": "Ada"}'),
        unit("prose", "I cannot answer that."),
        unit("cut", '{"name": "Ada", "age": 3'),
        *(unit(f"hostile-{at}", text) for at, text in enumerate(HOSTILE)),
        unit("<b>id</b>", '{"name": "<img src=x>", "age": 1, "more": 1}'),
        "[1]",
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(run(tmp_path_factory.mktemp("report"), sample()).out)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        yield launched
        launched.close()


def opened(browser: Any, page: Path, **options: Any) -> tuple[Any, list[str], list[str]]:
    """The page in a browser, with every request it makes and every complaint."""
    tab = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
    asked: list[str] = []
    said: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    return tab, asked, said


@pytest.mark.needs("browser")
def test_the_page_is_clicked_through(browser: Any, page: Path) -> None:
    tab, asked, said = opened(browser, page)
    assert tab.title() == "trueup report: 3 of 14 valid"
    assert tab.locator("#funnel li").count() == 5
    assert "− 1" in tab.locator("#funnel").inner_text()
    assert tab.locator("#list li").count() == 13
    tab.locator("#fixes button", has_text="C001").click()
    assert tab.locator("#list li").all_inner_texts()[0].startswith("fenced")
    marks = [mark.inner_text() for mark in tab.locator("#raw mark").all()]
    assert '"36"C001' in marks
    assert ",S001" in marks
    assert "Zoé 😀" in tab.locator("#raw").inner_text()
    tab.locator("#code").select_option("V002")
    assert "Required field is missing" in tab.locator("#unit").inner_text()
    tab.locator("#code").select_option("")
    tab.locator("#text").fill("cannot answer")
    assert tab.locator("#list li").count() == 1
    assert "failed at parse" in tab.locator("#unit").inner_text()
    tab.locator("#text").fill("nothing like this")
    assert "No unit of this report matches." in tab.locator("#unit").inner_text()
    assert asked == [page.as_uri()]
    assert said == []
    tab.close()


@pytest.mark.spec("X21", "X22")
@pytest.mark.needs("browser")
def test_markup_in_replies_is_inert(browser: Any, page: Path) -> None:
    tab, asked, said = opened(browser, page)
    for item in tab.locator("#list li").all():
        item.click()
        assert tab.locator("#unit img, #unit svg, #unit script, #unit a, #unit iframe").count() == 0
    assert tab.title().startswith("trueup report")
    assert asked == [page.as_uri()]
    assert said == []
    # a script that did get in would not be run either
    tab.evaluate("""() => {
        const image = document.createElement("img");
        image.src = "http://127.0.0.1:9/leak.png";
        document.body.append(image);
        const script = document.createElement("script");
        script.textContent = "document.title = 'pwned'";
        document.body.append(script);
    }""")
    tab.wait_for_timeout(100)
    assert tab.title().startswith("trueup report")
    assert sum("violates the following Content Security Policy" in line for line in said) >= 2
    tab.close()


@pytest.mark.needs("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_and_on_a_telephone(browser: Any, page: Path, scheme: str) -> None:
    tab, _, _ = opened(browser, page, color_scheme=scheme)
    colors = tab.evaluate(
        "() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert _contrast(*colors) > 7
    tab.set_viewport_size({"width": 380, "height": 800})
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= 380
    tab.close()


@pytest.mark.needs("browser")
def test_pictures_of_the_report_for_the_documentation(
    browser: Any, page: Path, root: Path, request: pytest.FixtureRequest
) -> None:
    for scheme in ("light", "dark"):
        tab, _, _ = opened(browser, page, color_scheme=scheme)
        tab.locator("#fixes button", has_text="C001").click()
        tab.evaluate("() => scrollTo(0, 0)")
        taken = tab.screenshot(full_page=True)
        kept = root / "docs" / "img" / f"report-{scheme}.png"
        if request.config.getoption("--update-snapshots"):
            kept.write_bytes(taken)
        assert len(taken) > 50_000
        assert kept.read_bytes()[:4] == taken[:4]
        tab.close()


def _contrast(*colors: str) -> float:
    def light(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted(map(light, colors))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.spec("X21")
def test_no_tag_of_a_reply_is_in_the_source(page: Path) -> None:
    source = page.read_text("utf-8")
    data = source.split('id="data">', 1)[1].split("</script>", 1)[0]
    assert "<" not in data
    assert json.loads(data)["summary"]["counts"]["units"] == 14
    assert "http" not in source.replace("http-equiv", "").replace("http://127.0.0.1:9", "")


def test_long_integers_and_odd_characters_come_through(tmp_path: Path) -> None:
    big = 123456789012345678901234567890
    out = run(
        tmp_path,
        [unit("n", f'{{"name": "\\ud83d\\u0000", "age": "{big}"}}'), unit("m", f'{{"name": "A", "age": "{big}"}}')],
    ).out
    units = {shown["unit_id"]: shown for shown in collect(out)["units"]}
    assert str(big) in units["m"]["data"]
    assert write_report(out).stat().st_size > 1000


def test_the_page_stays_small_however_many_units_there_are(tmp_path: Path) -> None:
    long = '```json\n{"name": "' + "x" * 50_000 + '", "age": "3"}\n```'
    out = run(tmp_path, [*(unit(f"u{n}", '{"name": "Ada"}') for n in range(3000)), unit("long", long)]).out
    data = collect(out)
    assert len([shown for shown in data["units"] if shown["kind"] == "failed"]) == 12
    assert next(shown for shown in data["units"] if shown["unit_id"] == "long")["cut"] == len(long)
    assert data["of"] == 3001
    assert len(render(data)) < 200_000


def test_a_folder_without_a_sift_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"holds no summary\.json: run `trueup sift"):
        collect(tmp_path)
    for text in ("", "{", "[]", "{}", '{"counts": {"units": 1}}'):
        (tmp_path / "summary.json").write_text(text, "utf-8")
        with pytest.raises(Missing, match=r"summary\.json is no summary of a sift: "):
            collect(tmp_path)


@pytest.mark.parametrize(
    "told", ['"errors": 5', '"errors": [null]', '"errors": [{"code": []}]', '"fixes": [{"code": "C001"}]']
)
def test_a_record_that_was_damaged_is_passed_over(tmp_path: Path, told: str) -> None:
    run(tmp_path, [unit("a", "no"), unit("b", "no")])
    file = tmp_path / "out" / "failures.jsonl"
    rows = file.read_text("utf-8").splitlines()
    file.write_text(f'{{"unit_id": "a", "raw_response": "no", {told}}}\n{rows[1]}\n', "utf-8")
    assert [shown["unit_id"] for shown in collect(tmp_path / "out")["units"]] == ["b"]
