"""The studio from a built wheel: the page, its libraries and the samples of the demo are in the package."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import axe
from tests.studio.demonstrated import demonstrated


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A folder with the package as a wheel brings it, and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*pip, "build", "--wheel", "--no-build-isolation", "--out-dir", str(folder), str(root)], check=True)
    (wheel,) = folder.glob("*.whl")
    target = folder / "installed"
    subprocess.run([*pip, "pip", "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


@pytest.mark.needs("browser")
def test_the_demo_shows_every_view(installed: Path, tmp_path: Path, browser: Any) -> None:
    with demonstrated(tmp_path, {"PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}) as url:
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


def test_the_package_is_the_one_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    """The test above would prove nothing if the checkout were used."""
    env = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    found = subprocess.run(
        [sys.executable, "-c", "import trueup; print(trueup.__file__)"], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(installed)
