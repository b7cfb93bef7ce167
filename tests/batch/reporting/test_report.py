"""The report of a sift: one page for any replies, viewed and clicked through in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import SCHEMA, run, unit, write
from tests.waiting import wait_for
from trueup.batch.judging.contracts import spec_of
from trueup.batch.reporting.report import NotASift, collect, render, write_report
from trueup.batch.sift import OutOfTime, SiftOptions, SiftProgress, sift
from trueup.contract.contract import Contract

HOSTILE = [
    "<img src=x onerror=\"document.title='pwned'\">",
    "</script><script>document.title='pwned'</script>",
    "<svg onload=\"document.title='pwned'\">",
    "[click](javascript:document.title='pwned')",
    "![x](http://127.0.0.1:9/leak.png)",
    "<!--<script>",
    "\u2028\u2029 \u202e txt",
]
# things that a reply must not become; links to the explanation of a code belong to the page
INERT = "#unit img, #unit svg, #unit script, #unit iframe, #unit a:not([href^='#explain-'])"
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
    """The page in a browser, with its requests and console messages."""
    tab = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
    asked: list[str] = []
    said: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    return tab, asked, said


@pytest.mark.needs("browser")
def test_the_page_works_by_click(browser: Any, page: Path) -> None:
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
    assert "No unit in this report matches." in tab.locator("#unit").inner_text()
    assert asked == [page.as_uri()]
    assert said == []
    tab.close()


@pytest.mark.spec("X21", "X22")
@pytest.mark.needs("browser")
def test_markup_in_replies_is_inert(browser: Any, page: Path) -> None:
    tab, asked, said = opened(browser, page)
    for item in tab.locator("#list li").all():
        item.click()
        assert tab.locator(INERT).count() == 0
    assert tab.title().startswith("trueup report")
    assert asked == [page.as_uri()]
    assert said == []
    # a script that got in would not be run either
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


def shown_codes(tab: Any, table: str, column: int = 0) -> list[str]:
    """The cells in a column of a table, row by row."""
    return [cell.split("\n")[0] for cell in tab.locator(f"#{table} tbody td:nth-child({column + 1})").all_inner_texts()]


@pytest.mark.needs("browser")
def test_every_table_sorts_by_click_and_by_keyboard(browser: Any, page: Path) -> None:
    tab, _, said = opened(browser, page)
    for table in ("codes", "paths", "rules", "fixes"):
        heads = tab.locator(f"#{table} th")
        for at in range(heads.count()):
            button = heads.nth(at).locator("button")
            assert heads.nth(at).get_attribute("aria-sort") == "none"
            button.click()
            first = heads.nth(at).get_attribute("aria-sort")
            button.focus()
            tab.keyboard.press("Enter")
            assert {first, heads.nth(at).get_attribute("aria-sort")} == {"ascending", "descending"}
            heads.nth((at + 1) % heads.count()).locator("button").click()
            assert heads.nth(at).get_attribute("aria-sort") == "none"
            tab.reload()
    tab.locator("#codes th", has_text="code").locator("button").click()
    assert shown_codes(tab, "codes") == sorted(shown_codes(tab, "codes"))
    tab.locator("#codes th", has_text="code").locator("button").click()
    assert shown_codes(tab, "codes") == sorted(shown_codes(tab, "codes"), reverse=True)
    tab.locator("#codes th", has_text="failed").locator("button").click()
    failed = [int(cell) for cell in shown_codes(tab, "codes", 1)]
    assert failed == sorted(failed, reverse=True)
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_a_row_leads_to_its_units_by_keyboard_whatever_was_searched_before(browser: Any, page: Path) -> None:
    tab, _, said = opened(browser, page)
    tab.locator("#text").fill("nothing like this")
    assert tab.locator("#list li").count() == 0
    tab.locator("#fixes button", has_text="C001").focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#text").input_value() == ""
    assert tab.locator("#list li").count() > 0
    assert tab.evaluate("() => document.activeElement === document.querySelector('#list li')")
    tab.locator("#code").select_option("")
    tab.locator("#list").evaluate("(list) => { list.style.maxHeight = '5rem'; list.scrollTop = 1000; }")
    tab.locator("#kind").select_option("failed")
    assert tab.locator("#list").evaluate("(list) => [list.scrollTop, list.scrollHeight > 200]") == [0, True]
    tab.locator("#kind").select_option("")
    first = tab.locator("#unit h3").first.inner_text()
    tab.locator("#list li").first.focus()
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#unit h3").first.inner_text() != first
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_each_code_links_to_its_explanation(browser: Any, page: Path) -> None:
    tab, asked, said = opened(browser, page)
    codes = set(shown_codes(tab, "codes")) | set(shown_codes(tab, "fixes"))
    assert {panel.get_attribute("id") for panel in tab.locator("details").all()} == {
        f"explain-{code}" for code in codes
    }
    panel = tab.locator("#explain-V002")
    assert not panel.evaluate("(panel) => panel.open")
    tab.locator("#codes a[href='#explain-V002']").focus()
    tab.keyboard.press("Enter")
    wait_for(lambda: panel.evaluate("(panel) => panel.open"))
    assert "Finds" in panel.inner_text()
    panel.evaluate("(panel) => { panel.open = false; }")
    tab.locator("#unit a[href='#explain-V002'], #codes a[href='#explain-V002']").first.click()
    wait_for(lambda: panel.evaluate("(panel) => panel.open"), "the same link again does not open it again")
    tab.goto(page.as_uri() + "#explain-C001")
    tab.reload()
    wait_for(lambda: tab.locator("#explain-C001").evaluate("(panel) => panel.open"))
    assert {url.partition("#")[0] for url in asked} == {page.as_uri()}
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_units_can_be_searched_by_field_and_by_rule(browser: Any, tmp_path: Path) -> None:
    rules = [
        {"name": "grown", "expr": "age >= 18", "error": "{name} is {age}"},
        {"name": "short", "expr": "len(name) < 9", "error": "{name} is long", "level": "warning"},
    ]
    lines = [
        unit("young", '{"name": "Bo", "age": 7}'),
        unit("long", '{"name": "Wilhelmina", "age": 30}'),
        unit("missing", '{"name": "Ada"}'),
    ]
    path = write_report(run(tmp_path, lines, Contract(SCHEMA, rules=rules)).out)
    tab, _, said = opened(browser, path)
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in tab.locator("#rules tbody tr").all_inner_texts()}
    assert {rule: cells[:2] for rule, cells in rows.items()} == {"grown": ["1", "0"], "short": ["0", "1"]}
    tab.locator("#rules button", has_text="short").click()
    assert [text.split("\n")[0] for text in tab.locator("#list li").all_inner_texts()] == ["long"]
    tab.locator("#paths button", has_text="$.age").focus()
    tab.keyboard.press("Enter")
    assert [text.split("\n")[0] for text in tab.locator("#list li").all_inner_texts()] == ["young", "missing"]
    assert tab.locator("#path").input_value() == "$.age"
    tab.locator("#list li").first.focus()
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#unit h3").first.inner_text() == "missing"
    tab.keyboard.press("Home")
    assert tab.locator("#unit h3").first.inner_text() == "young"
    assert tab.locator("#list li[aria-selected=true]").count() == 1
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
@pytest.mark.parametrize("width", [400, 800, 1280, 2560])
def test_it_fits_narrow_and_wide_screens(browser: Any, page: Path, width: int) -> None:
    tab, _, _ = opened(browser, page)
    tab.set_viewport_size({"width": width, "height": 900})
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
    assert tab.evaluate("() => document.querySelector('#codes').getBoundingClientRect().width") > 300
    tab.close()


@pytest.mark.needs("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_light_and_dark_and_on_a_phone(browser: Any, page: Path, scheme: str) -> None:
    tab, _, _ = opened(browser, page, color_scheme=scheme)
    colors = tab.evaluate(
        "() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert _contrast(*colors) > 7
    tab.set_viewport_size({"width": 380, "height": 800})
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= 380
    tab.close()


def _contrast(*colors: str) -> float:
    def light(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted(map(light, colors))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.spec("X21")
def test_no_tag_from_a_reply_is_in_the_html(page: Path) -> None:
    source = page.read_text("utf-8")
    data = source.split('id="data">', 1)[1].split("</script>", 1)[0]
    assert "<" not in data
    assert json.loads(data)["summary"]["counts"]["units"] == 14
    assert "http" not in source.replace("http-equiv", "").replace("http://127.0.0.1:9", "")


def test_long_integers_and_unusual_characters_are_shown_exactly(tmp_path: Path) -> None:
    big = 123456789012345678901234567890
    out = run(
        tmp_path,
        [unit("n", f'{{"name": "\\ud83d\\u0000", "age": "{big}"}}'), unit("m", f'{{"name": "A", "age": "{big}"}}')],
    ).out
    units = {shown["unit_id"]: shown for shown in collect(out)["units"]}
    assert str(big) in units["m"]["data"]
    assert write_report(out).stat().st_size > 1000


def test_the_page_stays_small_for_any_number_of_units(tmp_path: Path) -> None:
    long = '```json\n{"name": "' + "x" * 50_000 + '", "age": "3"}\n```'
    out = run(tmp_path, [*(unit(f"u{n}", '{"name": "Ada"}') for n in range(3000)), unit("long", long)]).out
    data = collect(out)
    assert len([shown for shown in data["units"] if shown["kind"] == "failed"]) == 12
    assert next(shown for shown in data["units"] if shown["unit_id"] == "long")["cut"] == len(long)
    assert data["of"] == 3001
    assert len(render(data)) < 200_000


def test_a_folder_without_a_sift_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(NotASift, match=r"contains no summary\.json: run `trueup sift"):
        collect(tmp_path)
    for text in ("", "{", "[]", "{}", '{"counts": {"units": 1}}'):
        (tmp_path / "summary.json").write_text(text, "utf-8")
        with pytest.raises(NotASift, match=r"summary\.json is not the summary of a sift: "):
            collect(tmp_path)


@pytest.mark.parametrize(
    "told", ['"errors": 5', '"errors": [null]', '"errors": [{"code": []}]', '"fixes": [{"code": "C001"}]']
)
def test_a_damaged_record_is_skipped(tmp_path: Path, told: str) -> None:
    run(tmp_path, [unit("a", "no"), unit("b", "no")])
    file = tmp_path / "out" / "failures.jsonl"
    rows = file.read_text("utf-8").splitlines()
    file.write_text(f'{{"unit_id": "a", "raw_response": "no", {told}}}\n{rows[1]}\n', "utf-8")
    assert [shown["unit_id"] for shown in collect(tmp_path / "out")["units"]] == ["b"]


def test_a_deleted_file_is_named(tmp_path: Path) -> None:
    out = run(tmp_path, [unit("a", '{"name": "Ada", "age": "36"}'), unit("b", "no")]).out
    assert (collect(out)["notes"], len(collect(out)["units"])) == ([], 2)
    (out / "failures.jsonl").unlink()
    data = collect(out)
    assert data["notes"] == ["failures.jsonl is missing: its units are counted but not shown here."]
    assert ([shown["unit_id"] for shown in data["units"]], data["summary"]["counts"]["failed"]) == (["a"], 1)


def test_lines_that_are_not_records_are_counted(tmp_path: Path) -> None:
    out = run(tmp_path, [unit("a", "no"), unit("b", "no")]).out
    with (out / "failures.jsonl").open("ab") as opened_file:
        opened_file.write(b'[1]\n{"unit_id": "c"\n')
    assert collect(out)["notes"] == ["2 lines are not records of a sift and are not shown here."]


def test_an_unfinished_sift_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    lines = [unit(f"u{n}", '{"name": "Ada"}' if n % 2 else '{"name": "Ada", "age": "3"}') for n in range(2000)]
    file = write(tmp_path / "lines.jsonl", lines)
    options = SiftOptions(workers=1, range_size=20_000)
    spec = spec_of(options={"schema": SCHEMA})

    def stop(report: SiftProgress) -> None:
        if report.tally.counts["units"]:
            raise OutOfTime("enough")

    with pytest.raises(OutOfTime):
        sift([str(file)], spec, tmp_path / "out", options, stop)
    data = collect(tmp_path / "out")
    counts = data["summary"]["counts"]
    assert 0 < counts["units"] < 2000
    assert (counts["valid"] + counts["failed"], data["paths"][0]["failed"]) == (counts["units"], counts["failed"])
    assert data["notes"] == ["This sift is not finished: the page shows the results so far."]
    assert {shown["kind"] for shown in data["units"]} == {"valid", "failed"}
    assert write_report(tmp_path / "out").is_file()
    sift([str(file)], spec, tmp_path / "out", options)
    data = collect(tmp_path / "out")
    assert (data["summary"]["counts"]["units"], data["notes"]) == (2000, [])


def test_a_folder_of_an_earlier_version_is_counted_again(tmp_path: Path) -> None:
    out = run(tmp_path, sample()).out
    before = collect(out)
    summary = json.loads((out / "summary.json").read_bytes())
    for name in ("by_path", "by_rule"):
        del summary[name]
    for row in summary["codes"].values():
        del row["failed"], row["warned"]
    (out / "summary.json").write_text(json.dumps(summary), "utf-8")
    after = collect(out)
    assert (after["paths"], after["rules"]) == (before["paths"], before["rules"])
    assert after["summary"]["codes"] == before["summary"]["codes"]


def test_the_size_of_the_page_is_limited_whatever_one_unit_contains(tmp_path: Path) -> None:
    keys = ", ".join(f'"key{n}": 1' for n in range(20_000))
    lines = [unit(f"u{n}", f'{{"name": "A", "age": 1, {keys}}}', input={"text": "x" * 100_000}) for n in range(3)]
    lines += [unit(f"v{n}", f'{{"name": "A", "age": 1, "invented{n}": 1}}') for n in range(1500)]
    lines += [unit(f"w{n}", "<" * 20_000, input={"text": "<" * 20_000}, more="&" * 100) for n in range(100)]
    data = collect(run(tmp_path, lines).out)
    assert len(data["paths"]) <= 1001
    assert sum(row["times"] for row in data["paths"]) == 3 * 20 + 1500 + 100
    assert data["sampled"]
    assert len(render(data)) < 10_000_000


@pytest.mark.needs("browser")
def test_merged_replies_are_shown_with_their_faults(browser: Any, tmp_path: Path) -> None:
    lines = [unit("a", HOSTILE[0]), unit("b"), unit("a")]
    out = run(tmp_path, lines, merge="valid").out
    tab, _, said = opened(browser, write_report(out))
    text = tab.locator("#unit").inner_text()
    assert "Earlier reply · lines.jsonl@0" in text
    assert HOSTILE[0] in text
    assert "P001" in text
    assert tab.locator(INERT).count() == 0
    assert tab.locator("#merged tbody tr").all_inner_texts() == ["failed → valid\t1"]
    assert "1\nmerged" in tab.locator("#tiles").inner_text()
    tab.locator("#kind").select_option("merged")
    assert [text.split("\n")[0] for text in tab.locator("#list li").all_inner_texts()] == ["a"]
    assert said == []
    tab.close()
