"""The page of integrations: each section runs alone, in the environment of its library."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.elsewhere import ADAPTERS, HERE, ROOT
from tests.leftovers import collected

PAGE = ROOT / "docs" / "howto" / "integrations.md"
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```python(?: title=\"[^\"]*\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADAPTER = re.compile(r"^(?:from|import) trueup\.adapters\.(\w+)", re.MULTILINE)


def sections() -> Iterator[tuple[str, set[str], str]]:
    """The title of each section, the adapters that its code imports, and the code, with the lines of the page."""
    text = PAGE.read_text("utf-8")
    for section in _SECTION.finditer(text):
        code = ""
        for block in _BLOCK.finditer(section[2]):
            line = text.count("\n", 0, section.start(2) + block.start(1))
            code += "\n" * (line - code.count("\n")) + block[1]
        yield section[1], set(_ADAPTER.findall(code)), code


def run(code: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Run the code of a section in an empty folder."""
    module = type(sys)("example")  # pydantic and others look up the module of a class
    monkeypatch.setitem(sys.modules, "example", module)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = module.__dict__
    before = dict(os.environ)
    asyncio.set_event_loop(loop := asyncio.new_event_loop())  # otherwise a call may leave one open
    try:
        with collected():
            exec(compile(code, str(PAGE), "exec"), names)
            names.clear()
            loop.close()
    finally:
        asyncio.set_event_loop(None)
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.parametrize("name", HERE)
def test_the_section_of_an_adapter_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    codes = [code for _, adapters, code in sections() if name in adapters]
    assert codes, f"docs/howto/integrations.md has no section that imports trueup.adapters.{name}"
    for code in codes:
        run(code, monkeypatch, tmp_path)


def test_sections_without_an_adapter_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for _, adapters, code in sections():
        if not adapters:
            run(code, monkeypatch, tmp_path)


def test_every_section_imports_an_adapter_that_exists() -> None:
    named = {name for _, adapters, _ in sections() for name in adapters}
    assert named == set(ADAPTERS)
