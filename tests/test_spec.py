"""Every requirement has a test or is on the list of open ones, and that list only shrinks."""

from pathlib import Path

from tools.pages import citations, open_ids, requirement_ids

COUNTS = {"T": 12, "A": 15, "C": 15, "Q": 15, "B": 22, "X": 49, "E": 8}


def test_the_page_lists_every_requirement_once_and_in_order() -> None:
    expected = [f"{letter}{number}" for letter, last in COUNTS.items() for number in range(1, last + 1)]
    assert requirement_ids() == expected


def test_tests_cite_only_requirements_that_exist() -> None:
    unknown = {key: tests for key, tests in citations().items() if key not in set(requirement_ids())}
    assert not unknown


def test_every_requirement_has_a_test_or_is_listed_as_open() -> None:
    cited = citations()
    missing = [key for key in requirement_ids() if key not in cited and key not in set(open_ids())]
    assert not missing, f"no test carries @pytest.mark.spec for {missing}"


def test_the_list_of_open_requirements_only_shrinks() -> None:
    cited = citations()
    done = {key: cited[key] for key in open_ids() if key in cited}
    assert not done, "these have a test now: run `make snapshots` to take them off tests/spec_open.txt"
    assert set(open_ids()) <= set(requirement_ids())
    assert len(open_ids()) == len(set(open_ids()))


def test_citations_are_found_wherever_a_mark_can_stand(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "room"
    folder.mkdir(parents=True)
    (folder / "test_x.py").write_text(
        """
import pytest
from pytest import mark

pytestmark = pytest.mark.spec("A1")

@mark.spec("A2", "A3")
class TestIt:
    @pytest.mark.spec("A2")
    async def test_one(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec("A4"))])
def test_two(x): ...

def test_three(): "pytest.mark.spec('A5')"
""",
        "utf-8",
    )
    assert citations(tmp_path / "tests") == {
        "A1": ["tests/room/test_x.py"],
        "A2": ["tests/room/test_x.py::TestIt", "tests/room/test_x.py::TestIt::test_one"],
        "A3": ["tests/room/test_x.py::TestIt"],
        "A4": ["tests/room/test_x.py::test_two"],
    }
