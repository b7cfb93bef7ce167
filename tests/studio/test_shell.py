"""The shell of the page: every view opens by its URL, by its link and by its number, in light and dark, wide and narrow."""

from typing import Any

import pytest

from tests.studio.conftest import axe

VIEWS = ["try", "verdicts", "contracts", "runs", "live", "tune"]


@pytest.mark.needs("browser")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1440, 2560])
def test_every_view_opens_and_axe_finds_nothing(served: Any, look: Any, width: int, dark: bool) -> None:
    tab = look(served(), "/try", width=width, dark=dark)
    for number, view in enumerate(VIEWS, 1):
        tab.locator("body").press(str(number))
        tab.wait_for_url(f"**/{view}")
        tab.wait_for_selector(f'nav a[aria-current=page][href$="/{view}"]')
        assert axe(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is wider than the window"
