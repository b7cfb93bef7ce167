"""These tests take the documentation's pictures from the demo: `--update-snapshots` writes them again.

Without it, each view is opened as for its picture and must show the main content of the picture; pixels differ between
machines. So do fonts: letters that are missing from many machines' fonts would be empty boxes, so this demo has no
names with them.
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.studio.demonstrated import demonstrated

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
