"""SECURITY.md promises only what a test proves, and other pages link to it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [
    (re.findall(r"\bX\d+\b", cells[3]), re.findall(r"`(tests/[\w/]+\.py)`", cells[4]), cells[1].strip())
    for cells in (line.split("|") for line in TEXT.splitlines() if "`tests/" in line)
]


@pytest.mark.parametrize(
    ("requirements", "tests", "threat"), ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_defence_names_a_test_that_shows_it(requirements: list[str], tests: list[str], threat: str) -> None:
    texts = [(ROOT / test).read_text("utf-8") for test in tests]
    assert texts, threat
    for requirement in requirements:
        assert any(re.search(rf'spec\([^)]*"{requirement}"', text) for text in texts), f"{requirement}: {threat}"


def test_it_answers_the_questions_of_reporters_and_operators() -> None:
    assert len(ROWS) > 15
    for title in (
        "Report a vulnerability",
        "Supported versions",
        "Threat model",
        "What we do not defend against",
        "Hardening checklist",
    ):
        assert re.search(rf"^##+ {title}$", TEXT, re.MULTILINE), title
    assert "private vulnerability reporting" in TEXT.replace("**", "")
    assert not re.search(r"[\w.]+@[\w.]+\.\w+", TEXT), "no address of anybody"


def test_it_is_linked_and_its_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (ROOT / link).exists(), link
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "security.md)" in (ROOT / "docs" / "howto" / "deploy.md").read_text("utf-8")
