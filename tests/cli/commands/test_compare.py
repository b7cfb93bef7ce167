"""`trueup compare`: exit codes, what it prints in a pipe and on narrow terminals, Markdown, JSON and the page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PERSON, Run
from trueup.cli.display.comparison import code, money_rows

GOOD, OTHER, BAD = '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 37}', '{"age": 36}'


def sifted(run: Run, folder: Path, name: str, replies: dict[str, str]) -> str:
    """Sift some replies into a folder with a name."""
    rows = [{"unit_id": uid, "input": {}, "raw_response": text} for uid, text in replies.items()]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run("sift", f"{name}.jsonl", "--schema", PERSON, "--out", name, "-w", "1").code in {0, 1}
    return name


@pytest.fixture
def both(run: Run, tmp_path: Path) -> tuple[str, str]:
    a = sifted(run, tmp_path, "a", {"same": GOOD, "worse": GOOD, "better": BAD, "value": GOOD, "gone": GOOD})
    b = sifted(run, tmp_path, "b", {"better": GOOD, "same": GOOD, "worse": BAD, "value": OTHER, "new": GOOD})
    return a, b


@pytest.mark.spec("B14", "B21")
def test_the_exit_code_says_whether_anything_differs(run: Run, both: tuple[str, str]) -> None:
    differs = run("compare", *both)
    assert (differs.code, differs.err) == (1, "")
    assert differs.out.splitlines()[-1] == (
        "A and B differ: 1 valid → failed, 1 failed → valid, 1 with another value, 1 only in A, 1 only in B."
    )
    same = run("compare", "a", "a")
    assert (same.code, same.out.splitlines()[-1]) == (0, "No unit and no finding differs.")
    assert (run("compare", "a", "none").code, run("compare", "a").code) == (2, 2)
    assert run("compare", "a", "none").err == "trueup: none: there is no such folder or run\n"
    assert "neither the folder of a `trueup sift` nor a run" in run("compare", "a", ".").err
    assert run("compare", "a", "b", "--json", "--markdown").code == 2


def test_every_flip_has_an_example(run: Run, both: tuple[str, str]) -> None:
    lines = run("compare", *both).out.splitlines()
    assert any(re.match(r"worse +V002 +\$\.name +.*missing", line) for line in lines)
    assert any(re.match(r"better +V002 +\$\.name +.*missing", line) for line in lines)
    assert any(re.match(r"\$\.age +1 +36 → 37 +value", line) for line in lines)
    assert any(re.match(r"only in A +1 +gone", line) for line in lines)
    assert any(re.match(r"only in B +1 +new", line) for line in lines)


@pytest.mark.parametrize("width", [60, 80])
def test_it_fits_narrow_terminals(run: Run, run_on_terminal: Run, tmp_path: Path, width: int) -> None:
    long = "unit-" + "x" * 90
    sifted(run, tmp_path, "a", {long: GOOD})
    sifted(run, tmp_path, "b", {long: BAD})
    shown = run_on_terminal("compare", "a", "b", width=width)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.out)
    # the last line is a sentence, which a terminal may wrap
    assert max(len(line) for line in plain.splitlines()[:-1]) <= width
    assert long in run("compare", "a", "b").out, "in a pipe nothing is cut"


def test_json_has_everything(run: Run, both: tuple[str, str]) -> None:
    found: Any = json.loads(run("compare", *both, "--json").out)
    assert {kind: row["units"] for kind, row in found["flips"].items()} == {
        "valid_to_failed": 1, "failed_to_valid": 1, "other_value": 1
    }  # fmt: skip
    assert found["flips"]["valid_to_failed"]["examples"][0]["unit_id"] == "worse"
    assert (found["differs"], found["a"]["counts"]["valid"], found["same"]) == (True, 4, 1)
    assert found["values"]["$.age"]["example"]["now"] == "37"
    short: Any = json.loads(run("compare", *both, "--json", "--examples", "0").out)
    assert short["flips"]["valid_to_failed"] == {"units": 1, "examples": []}


def test_markdown_quotes_the_text_of_replies(run: Run, tmp_path: Path) -> None:
    hostile = "a|b `c` <img src=x> @everyone [x](javascript:1)\x1b[31m"
    sifted(run, tmp_path, "a", {hostile: GOOD, "x": GOOD})
    sifted(run, tmp_path, "b", {hostile: BAD, "x": BAD})
    text = run("compare", "a", "b", "--markdown").out
    assert text.startswith("### A and B differ: 2 valid → failed.\n")
    assert "| valid → failed | 2 |  |" in text
    assert "``a\\|b `c` <img" in text
    assert "\x1b" not in text
    for table in text.split("\n\n"):
        if table.startswith("|"):
            columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(columns) == 1, "no text of a reply adds a column"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", "`a`"), ("", ""), ("`", "`` ` ``"), ("a`", "``a` ``"), ("x\ny", "`x\\ny`"), ("|", "`\\|`")],
)
def test_code_is_escaped_in_markdown(text: str, expected: str) -> None:
    assert code(text) == expected


def test_the_page_is_written_and_an_unwritable_path_is_reported(
    run: Run, both: tuple[str, str], tmp_path: Path
) -> None:
    done = run("compare", *both, "--html", "compare.html", "--json")
    assert done.code == 1
    assert "Content-Security-Policy" in (tmp_path / "compare.html").read_text("utf-8")
    refused = run("compare", *both, "--html", "no/such/folder/x.html")
    assert (refused.code, refused.out) == (2, "")
    assert "--html no/such/folder/x.html: cannot be written" in refused.err


def test_damaged_lines_and_an_unfinished_side_are_reported(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    with (tmp_path / "b" / "failures.jsonl").open("ab") as opened:
        opened.write(b"torn {\n")
    assert "B: 1 line that is not a record left out (failures.jsonl@" in run("compare", *both).out
    assert "> B: 1 line that is not a record left out" in run("compare", *both, "--markdown").out


@pytest.mark.parametrize(
    ("unpriced", "shown"),
    [
        ((0, 0), ["$1.0000", "$3.0000", "+2.0000"]),
        ((0, 4), ["$1.0000", "unknown", ""]),
        ((1, 0), ["$1.0000 + 1 unknown", "$3.0000", ""]),
        ((4, 4), ["unknown", "unknown", ""]),
    ],
)
def test_unknown_costs_do_not_have_a_difference(unpriced: tuple[int, int], shown: list[str]) -> None:
    tokens = {"calls": 4, "input_tokens": 1, "output_tokens": 1}
    money: list[Any] = [{**tokens, "usd": usd, "unpriced": n} for usd, n in zip((1.0, 3.0), unpriced, strict=True)]
    assert list(money_rows(money))[-1] == ["cost", *shown]
    assert list(money_rows([money[0], None]))[-1] == ["cost", shown[0], "-", ""]


def test_the_page_never_replaces_results(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    before = (tmp_path / "a" / "validated.jsonl").read_bytes()
    refused = run("compare", *both, "--html", "a/validated.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert "--html a/validated.jsonl: that is a file of a sift; choose another name" in refused.err
    assert (tmp_path / "a" / "validated.jsonl").read_bytes() == before
    assert run("compare", *both, "--html", "a/compare.html").code == 1
    assert (tmp_path / "a" / "compare.html").is_file()
