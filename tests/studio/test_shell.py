"""The shell of the page: every view opens by its URL, by its link and by its number, in light and dark, wide and narrow."""

from typing import Any

import pytest

from tests.studio.conftest import axe
from tests.studio.driving import expect

VIEWS = ["try", "verdicts", "contracts", "runs", "live", "tune"]


@pytest.mark.needs("browser")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1440, 2560])
def test_every_view_opens_and_axe_finds_nothing(served: Any, look: Any, width: int, *, dark: bool) -> None:
    tab = look(served(), "/try", width=width, dark=dark)
    for number, view in enumerate(VIEWS, 1):
        tab.locator("body").press(str(number))
        tab.wait_for_url(f"**/{view}")
        tab.wait_for_selector(f'nav a[aria-current=page][href$="/{view}"]')
        assert axe(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is wider than the window"


@pytest.mark.needs("browser")
def test_shortcuts_work_on_other_keyboards(served: Any, look: Any) -> None:
    """On a Mac, the command key stands for Ctrl. Many keyboards have `[` on AltGr, which Windows calls Ctrl and Alt."""
    press = "(given) => document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...given}))"
    tab = look(served(), "/try")
    tab.wait_for_selector("[data-judged]")
    assert not tab.evaluate(press, {"key": "s", "metaKey": True}), "the browser would save the page"
    expect(tab.locator(".messages")).to_contain_text("not from a file")
    tab.evaluate(press, {"key": "[", "ctrlKey": True, "altKey": True, "modifierAltGraph": True})
    expect(tab.locator("#try-verdict .headline strong")).to_have_text("Arriving")


@pytest.mark.needs("browser")
def test_a_view_that_fails_says_so_and_the_others_work(served: Any, browser: Any) -> None:
    desk = served()
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(desk.first_url)
    tab.wait_for_selector("[data-judged]")
    tab.route("**/api/contracts**", lambda route: route.fulfill(json={"files": 7}))
    tab.locator("body").press("3")
    alert = tab.locator("main [role=alert]")
    expect(alert).to_contain_text("This view failed: ")
    assert axe(tab) == []
    tab.locator("body").press("4")
    expect(alert).to_have_count(0)
    tab.locator("body").press("3")
    expect(alert).to_contain_text("This view failed: ")
    tab.unroute("**/api/contracts**")
    tab.get_by_role("button", name="Try again").click()
    expect(alert).to_have_count(0)
    expect(tab.locator("main")).to_contain_text("contract")
    context.close()
