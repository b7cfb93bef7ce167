"""The tutorials show the real contracts: every YAML block of a page is part of its file."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trueup.contract.files.documents import parse_document, read_document
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = sorted((ROOT / "examples" / "contracts").glob("*.yaml"))
PAGES = {"salon": "salon", "clinic": "clinic", "chat-quota": "chat_quota", "helpdesk": "helpdesk", "wounds": "wounds"}
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def nodes(value: Any) -> Iterator[Any]:
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(part)


def holds(whole: Any, part: Any) -> bool:
    """Whether a value has everything that a shorter one shows; a page may leave items and keys out."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and holds(whole[key], inner) for key, inner in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(holds(item, inner) for item in whole) for inner in part)
    return bool(whole == part)


@pytest.mark.parametrize("page", PAGES)
def test_the_yaml_of_a_tutorial_is_in_the_contract(page: str) -> None:
    contract = list(nodes(read_document(ROOT / "examples" / "contracts" / f"{PAGES[page]}.yaml").data))
    blocks = BLOCK.findall((ROOT / "docs" / "tutorial" / f"{page}.md").read_text("utf-8"))
    assert blocks
    for block in blocks:
        shown = parse_document(textwrap.dedent(block), page, ".yaml").data
        assert any(holds(node, shown) for node in contract), block


def test_every_example_contract_of_the_design_has_a_tutorial() -> None:
    assert {path.stem for path in CONTRACTS} >= set(PAGES.values())
    assert {path.stem for path in (ROOT / "docs" / "tutorial").glob("*.md")} >= set(PAGES)


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.name)
def test_an_example_contract_has_no_fault_and_its_examples_hold(path: Path) -> None:
    linted = lint_contract(path)
    assert not linted.faults
    assert not list(run_examples(linted))
