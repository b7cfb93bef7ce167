"""Every page is documentation and test at once: what its examples say is what the engine gives."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trueup import Contract
from trueup.conform.coerce import Options
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.pages import SECTIONS, Example, Page, read_page

FOLDER = Path(__file__).resolve().parents[2] / "src" / "trueup" / "findings"
PAGES = {file.stem: read_page(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.md"))}
TRIGGERS = [(f"{p.code}-{i}", p, e) for p in PAGES.values() for i, e in enumerate(p.triggers, 1)]
QUIET = [(f"{p.code}-{i}", p, e) for p in PAGES.values() for i, e in enumerate(p.quiet, 1)]


def judge(example: Example, folder: Path) -> set[tuple[str, str]]:
    """What the engine gives for an example: the code and path of each fix and finding."""
    if example.contract:
        return judge_file(example, folder)
    options: dict[str, Any] = {"schema": None if "tools" in example.options else True, **example.options}
    if isinstance(options.get("coerce"), dict):
        options["coerce"] = Options(**options["coerce"])
    if example.python:
        module = ModuleType("page_example")  # dataclasses look their own module up
        sys.modules[module.__name__] = module
        exec(example.python, module.__dict__)
        if isinstance(options["schema"], str):
            options["schema"] = getattr(module, options["schema"])
        if "checks" in options:
            options["checks"] = [getattr(module, name) for name in options["checks"]]
    verdict = Contract(**options).check(example.reply, example.context)
    return {(fact.code, fact.path) for fact in (*verdict.fixes, *verdict.findings)}


def judge_file(example: Example, folder: Path) -> set[tuple[str, str]]:
    """The same where a contract file is given: what is wrong with the file, or with a reply under it."""
    file = folder / example.options.get("file", "contract.yaml")
    file.write_text(example.contract, "utf-8")
    if example.reply is not None:
        verdict = Contract.load(file).check(example.reply, example.context)
        return {(fact.code, fact.path) for fact in (*verdict.fixes, *verdict.findings)}
    linted = lint_contract(file)
    faults = [*linted.faults, *(run_examples(linted) if example.options.get("run") else ())]
    return {(found.code, found.path) for found in faults}


def test_there_is_a_page_for_every_code_and_no_other() -> None:
    kinds = [*FIXES.values(), *FINDINGS.values()]
    assert sorted(PAGES) == sorted(f"{kind.code}-{kind.name}" for kind in kinds)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_agrees_with_the_catalogue(page: Page) -> None:
    fix = FIXES.get(page.code)
    if fix is not None:
        assert (page.name, page.head) == (fix.name, f"fix · {fix.grade} · price {fix.price}")
    else:
        finding = FINDINGS[page.code]
        assert (page.name, page.head) == (finding.name, f"finding · {finding.level}")


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_has_every_section_and_both_kinds_of_example(page: Page) -> None:
    assert tuple(page.sections) == SECTIONS
    assert all(page.sections.values())
    assert page.triggers
    assert page.quiet
    for example in page.triggers:
        assert page.code in {code for code, _ in example.gives}
    for example in page.quiet:
        assert not example.gives


@pytest.mark.parametrize(("page", "example"), [row[1:] for row in TRIGGERS], ids=[row[0] for row in TRIGGERS])
def test_triggers_give_exactly_what_they_say(page: Page, example: Example, tmp_path: Path) -> None:
    assert judge(example, tmp_path) == example.gives


@pytest.mark.parametrize(("page", "example"), [row[1:] for row in QUIET], ids=[row[0] for row in QUIET])
def test_stays_quiet(page: Page, example: Example, tmp_path: Path) -> None:
    assert judge(example, tmp_path) == set()
