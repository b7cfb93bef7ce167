"""Every recipe of CONTRIBUTING.md works: it is applied to a copy of the project exactly as it is printed, and its commands are run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.recipes import Recipe, Step, apply, changed, read_recipes

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = read_recipes(PAGE)
COPIED = ("src", "tests", "docs", "tools", "examples")
LEFT_OUT = shutil.ignore_patterns("bundle", "page", "benchmarks*", "node_modules", ".pytest_cache", ".hypothesis")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT_OUT)
    for file in ROOT.iterdir():
        if file.is_file() and file.name != ".git":
            shutil.copy2(file, tmp_path)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, in which `trueup` and every tool see only the copy."""
    hidden = ("PYTEST_", "COV_", "TRUEUP_", "FORCE_COLOR")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env |= {"PATH": path, "PYTHONPATH": str(folder / "src"), "PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": "80"}
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def carry_out(step: Step, folder: Path) -> None:
    """Apply one step, or run its commands."""
    if step.path:
        apply(step, folder)
        return
    if step.kind == "run":
        done = run(step.text, folder)
        assert done.returncode == 0, f"{step.text}\n{done.stdout}"
        return
    for shown in re.split(r"^\$ ", step.text, flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        assert run(command, folder).stdout == output, command


def test_there_is_a_recipe_for_everything_that_people_add() -> None:
    assert [recipe.title for recipe in RECIPES] == [
        "Add a finding", "Add a repair", "Add a provider", "Add a command", "Add a language",
    ]  # fmt: skip
    for recipe in RECIPES:
        assert any(path.startswith("tests/") or "findings/" in path for path in recipe.files), recipe.title
        assert recipe.steps[-1].kind == "show", f"{recipe.title}: it ends with what it has achieved"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_works_as_printed(recipe: Recipe, checkout: Path) -> None:
    for step in recipe.steps:
        carry_out(step, checkout)
    created = " ".join(step.path for step in recipe.steps if step.kind == "create")
    code = " ".join(path for path in recipe.files if path.endswith(".py"))
    linted = run(f"ruff check {code} && ruff format --check {code} && python tools/prose.py {created}", checkout)
    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize("text", ["a\nb\na\n", "b\n"], ids=["twice", "never"])
def test_a_change_that_no_longer_fits_is_refused(text: str) -> None:
    with pytest.raises(AssertionError, match="no longer fits"):
        changed(text, Step("change", "letters.txt", " a\n+c\n"))


def test_a_recipe_whose_test_fails_is_refused(tmp_path: Path) -> None:
    (step,) = read_recipes("### Add a note\n\n```sh\nfalse\n```\n")[0].steps
    with pytest.raises(AssertionError):
        carry_out(step, tmp_path)


def test_output_that_differs_from_the_page_is_refused(tmp_path: Path) -> None:
    (step,) = read_recipes("### Add a note\n\n```console\n$ echo one\ntwo\n```\n")[0].steps
    with pytest.raises(AssertionError):
        carry_out(step, tmp_path)
