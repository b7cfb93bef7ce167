"""The studio from the built wheel, in a browser: every view has its page, its libraries and the samples of the demo."""

from pathlib import Path
from typing import Any

import pytest

from tests.packaging.installing import Installed, installed
from tests.studio.conftest import axe
from tests.studio.demonstrated import demonstrated


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(tmp_path_factory)


@pytest.mark.needs("browser")
def test_the_demo_shows_every_view(environment: Installed, tmp_path: Path, browser: Any) -> None:
    with demonstrated(tmp_path, python=environment.python) as url:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        tab = context.new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(url)
        for view in ("try", "verdicts", "contracts", "runs", "live", "tune"):
            tab.locator(f'nav a[href$="/{view}"]').click()
            tab.wait_for_selector(f'nav a[aria-current=page][href$="/{view}"]')
            tab.wait_for_load_state("networkidle")
            assert tab.locator(".note.bad").count() == 0, tab.locator("main").inner_text()
            assert axe(tab) == []
        context.close()
        assert said == []
