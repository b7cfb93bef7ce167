"""`trueup explain`: every page can be read in the terminal."""

import json

import pytest

from tests.cli.running import Run
from trueup.contract.codes import FAMILIES
from trueup.verdict.catalogue import FINDINGS, FIXES

KINDS = [*FIXES.values(), *FINDINGS.values()]


@pytest.mark.parametrize("word", ["S001", "s001", "trailing-comma", "Trailing-Comma"])
def test_a_page_is_found_by_code_or_name_in_any_case(word: str, run: Run) -> None:
    done = run("explain", word)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# S001 · trailing-comma\n\n*fix · lossless · price 1*\n")


def test_a_name_of_a_fix_and_of_its_finding_gives_both(run: Run) -> None:
    out = run("explain", "duplicate-key").out
    assert "# S032 · duplicate-key" in out
    assert "# P003 · duplicate-key" in out


def test_an_unknown_code_gets_a_suggestion(run: Run) -> None:
    done = run("explain", "trailing-coma")
    assert (done.code, done.out) == (2, "")
    assert "did you mean S001 (trailing-comma)" in done.err
    assert "lists them all" in run("explain", "\x1b[31m").err
    assert "\x1b" not in run("explain", "\x1b[31m").err


def test_the_list_has_every_code_on_a_separate_line(run: Run) -> None:
    lines = run("explain").out.splitlines()
    for kind in KINDS:
        (line,) = [line for line in lines if line.startswith(f"  {kind.code}  {kind.name} ")]
        assert line.endswith(kind.title)
    assert {kind.code[0] for kind in KINDS} == set(FAMILIES)
    assert [line for line in lines if line and line[0] != " "] == [
        FAMILIES[family] for family in dict.fromkeys(kind.code[0] for kind in KINDS)
    ]


def test_json_has_every_part_of_the_page(run: Run) -> None:
    rows = json.loads(run("explain", "--json").out)
    assert [row["code"] for row in rows] == [kind.code for kind in KINDS]
    assert rows[0] == {"kind": "fix", **FIXES["W001"]._asdict()}
    one = json.loads(run("explain", "V001", "--json").out)
    assert (one["kind"], one["level"]) == ("finding", "error")
    assert one["page"].startswith("# V001 · wrong-type")
    assert len(json.loads(run("explain", "non-finite", "--json").out)) == 2


def test_a_page_is_rendered_on_a_terminal(run_on_terminal: Run) -> None:
    done = run_on_terminal("explain", "W001")
    assert done.code == 0
    assert "\x1b[1;4mW001 · code-fence\x1b[0m" in done.out
    assert "## Finds" not in done.out
    assert "```json" in done.out  # part of the example


def test_links_of_a_page_can_be_followed_from_a_terminal(run_on_terminal: Run) -> None:
    said = " ".join(run_on_terminal("explain", "K003", NO_COLOR="1").out.split())
    assert "removed like any envelope: W007. Calls" in said
    said = " ".join(run_on_terminal("explain", "N005", NO_COLOR="1").out.split())
    assert "the list of keys in contract files (docs/howto/contracts.md)." in said


@pytest.mark.parametrize("width", [80, 40])
def test_it_fits_a_terminal(width: int, run_on_terminal: Run) -> None:
    for args in ([], ["S012"]):
        lines = run_on_terminal("explain", *args, width=width, NO_COLOR="1").out.splitlines()
        assert max(map(len, lines)) <= width
