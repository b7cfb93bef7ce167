"""These tests take the documentation's pictures of pages from the demo and the examples: `--update-snapshots` writes them again.

Without it, each view is opened as for its picture and must show the main content of the picture; pixels differ between
machines. So do fonts: letters that are missing from many machines' fonts would be empty boxes, so this demo has no
names with them.
"""

import contextlib
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from tests.studio.demonstrated import demonstrated
from trueup import Contract, backtest
from trueup.cli.main import main
from trueup.material.selection import Selection
from trueup.store.errors import MICROS
from trueup.studio.demo.filling import fill
from trueup.studio.demo.material import copy
from trueup.studio.demo.traffic import Traffic

SIZE = {"width": 1280, "height": 800}
FOREIGN = re.compile("[\u2e80-\uffdc]")  # from the first Chinese letters on
PROGRAM = f"""
import re
from trueup.cli.main import main
from trueup.studio.demo import scenes
scenes._NAMES = tuple(name for name in scenes._NAMES if not re.search({FOREIGN.pattern!r}, name))
main()
"""


class Picture(NamedTuple):
    """One picture: the address, the steps there, and the content that must be visible."""

    path: str
    shows: str
    act: Callable[[Any], None] = lambda tab: None
    dark: bool = False


def _open_refused(tab: Any) -> None:
    tab.locator("[role=row].tr", has_text="D001").first.click()
    tab.wait_for_selector("[data-fact]")
    tab.mouse.move(0, 0)


def _edit(tab: Any) -> None:
    """Make the contract of the demo stricter by one rule, so that stored replies flip."""
    editor = tab.locator(".cm-content").first
    editor.wait_for()
    line = tab.locator(".cm-line", has_text="age < 130").first
    line.click()
    tab.keyboard.press("End")
    tab.keyboard.press("Shift+Home")
    tab.keyboard.insert_text("- age < 60")
    tab.wait_for_selector("text=newly refused")
    tab.wait_for_selector("button:has-text('Judge again')")  # it is done, not still running
    tab.wait_for_selector("[role=row] .tag.refused, tbody .tag.refused")


def _tune(tab: Any) -> None:
    tab.wait_for_selector("button:has-text('Apply')")


def _choose_value(tab: Any) -> None:
    tab.locator(".value", has_text="total").locator(".choose").click()
    tab.wait_for_selector("#try-source .mark.chosen")


PICTURES = {
    "studio-try": Picture("/try", "[data-judged] .tag.error"),
    "studio-try-dark": Picture("/try", "[data-judged] .tag.error", dark=True),
    "studio-evidence": Picture("/try?example=evidence&show=evidence", "[data-judged] .value .tag", _choose_value),
    "studio-verdicts": Picture("/verdicts?ok=false", "[role=grid]", _open_refused),
    "studio-contract": Picture("/contracts/contracts%2Fprofile.yaml", ".cm-content", _edit),
    "studio-run": Picture("/runs/runs%2Ftickets", ".cause"),
    "studio-live": Picture("/live", "canvas"),
    "studio-tune": Picture("/tune?file=contracts/triage.yaml", "main", _tune),
}


@pytest.fixture(scope="module")
def demo(browser: Any) -> Iterator[tuple[str, Any]]:
    """The address of the demo, and the state of a browser that has opened its URL, which works once."""
    with demonstrated(program=("-c", PROGRAM)) as url:
        context = browser.new_context()
        context.new_page().goto(url)
        kept = context.storage_state()
        context.close()
        yield url.partition("/?")[0], kept


@pytest.mark.needs("browser")
@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_of_a_view_can_be_made(
    name: str, demo: tuple[str, Any], browser: Any, root: Path, request: pytest.FixtureRequest
) -> None:
    picture = PICTURES[name]
    address, kept = demo
    context = browser.new_context(
        viewport=SIZE,
        color_scheme="dark" if picture.dark else "light",
        reduced_motion="reduce",
        storage_state=kept,
    )
    tab = context.new_page()
    tab.goto(address + picture.path)
    tab.wait_for_selector(picture.shows)
    picture.act(tab)
    assert FOREIGN.findall(tab.locator("body").inner_text()) == []
    file = root / "docs" / "img" / f"{name}.png"
    if request.config.getoption("--update-snapshots"):
        tab.wait_for_timeout(500)
        tab.screenshot(path=file)
    context.close()
    assert file.exists(), f"{file.name} is missing: run this test with --update-snapshots, and look at it"
    assert struct.unpack(">II", file.read_bytes()[16:24]) == (SIZE["width"], SIZE["height"])


# -- pages outside the studio -----------------------------------------------------------------------

NOW = 1_800_000_000 * MICROS
ALMOST = """Sure! Here is the person you asked for:

```json
{
  "name": 'Ada Lovelace',   // the first programmer
  "age": "thirty-six",
  "tags": ["math", "poetry",],
}
```
"""
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name", "age"],
}
NOTEBOOK = '<!doctype html><meta charset="utf-8"><body style="font: 14px system-ui, sans-serif; margin: 16px">'


def _report(folder: Path, root: Path) -> Path:
    """The report of a sift of the examples."""
    replies, contract = root / "examples" / "replies" / "people.jsonl", root / "examples" / "contracts" / "people.yaml"
    ran = CliRunner().invoke(main, ["sift", str(replies), "--contract", str(contract), "--out", str(folder / "out")])
    assert ran.exit_code == 1, ran.output
    return folder / "out" / "report.html"


def _backtest(folder: Path, root: Path) -> Path:
    """A backtest of a contract of the demo against its older version."""
    (folder / "before").mkdir()
    traffic = Traffic(Random(7), folder / "before")
    fill(folder / "verdicts.db", traffic, Random(8), NOW, size=2600)
    copy("contracts/profile.yaml", folder / "profile.yaml")
    with contextlib.chdir(folder):
        selection = Selection(contract="profile")
        found = backtest("profile.yaml", "verdicts.db", against="before/profile.yaml", selection=selection)
    page = folder / "page.html"
    page.write_text(found.to_html(), "utf-8")
    return page


def _notebook(folder: Path, root: Path) -> Path:
    """A refused verdict, as a notebook shows it."""
    page = folder / "page.html"
    page.write_text(NOTEBOOK + Contract(PERSON).check(ALMOST)._repr_html_(), "utf-8")
    return page


def _choose_unit(tab: Any) -> None:
    tab.locator("#code").select_option("C001")
    tab.wait_for_selector("text=Reply as received")


class Page(NamedTuple):
    """One picture of a page: how the page is made, its content that must be visible, and the steps there."""

    make: Callable[[Path, Path], Path]
    shows: str
    width: int
    height: int
    act: Callable[[Any], None] = lambda tab: None


PAGES = {
    "report-light": Page(_report, "text=Findings by code", 1200, 2200, _choose_unit),
    "backtest": Page(_backtest, "text=newly refused", 1280, 860),
    "notebook": Page(_notebook, "text=refused", 760, 780),
}


@pytest.mark.needs("browser")
@pytest.mark.parametrize("name", PAGES)
def test_the_picture_of_a_page_can_be_made(
    name: str, browser: Any, root: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = PAGES[name]
    context = browser.new_context(
        viewport={"width": page.width, "height": page.height}, color_scheme="light", reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(page.make(tmp_path, root).as_uri())
    tab.wait_for_selector(page.shows)
    page.act(tab)
    file = root / "docs" / "img" / f"{name}.png"
    if request.config.getoption("--update-snapshots"):
        tab.screenshot(path=file)
    context.close()
    assert struct.unpack(">II", file.read_bytes()[16:24]) == (page.width, page.height)
