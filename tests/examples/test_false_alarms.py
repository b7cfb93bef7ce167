"""The study of false alarms: its page shows the results of its script, and the contract is as good as the page says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("false_alarms", ROOT / "bench" / "false_alarms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_results_of_the_script(study: ModuleType) -> None:
    page = (ROOT / "docs" / "false-alarms.md").read_text("utf-8")
    assert study.tables() in page, "run: python bench/false_alarms.py --markdown docs/false-alarms.md"


def test_exceptions_never_lose_a_claim_that_the_patterns_find(study: ModuleType) -> None:
    said = study.replies()
    scores = [study.score(states, said) for states in study.variants().values()]
    for family in (scores[:5], scores[5:]):
        assert len({score.missed for score in family}) == 1
        assert [score.alarms for score in family] == sorted((score.alarms for score in family), reverse=True)


def test_replies_the_contract_was_not_mended_for(study: ModuleType) -> None:
    unseen = [one for one in study.replies() if one.part == "sixth"]
    whole = study.score(list(study.variants().values())[-1], unseen)
    assert whole.precision >= 0.85
    assert whole.recall >= 0.75
