"""`trueup check --source`: the values that are looked up, how they are shown, and bad files."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup.cli.display.evidence import evidence_lines
from trueup.cli.terminal.layout import Layout, cells
from trueup.verdict.evidence import Evidence, Place
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

SOURCE = "Northwind Tools. Total: GBP 1,178.00, payable within thirty days.\n"
WRONG = '{"supplier": "Northwind", "total": 1187}'
RIGHT = '{"supplier": "Northwind", "total": 1178}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mail.txt").write_text(SOURCE)
    (tmp_path / "open.yaml").write_text("schema: {type: object}\n")
    (tmp_path / "strict.yaml").write_text("schema: {type: object}\ngrounded: {fields: [supplier]}\n")
    return tmp_path


@pytest.mark.parametrize("contract", [[], ["--contract", "open.yaml"]])
@pytest.mark.usefixtures("folder")
def test_every_value_is_looked_up(run: Run, contract: list[str]) -> None:
    assert run("check", *contract, "--source", "mail.txt", stdin=RIGHT).code == 0
    done = run("check", *contract, "--source", "mail.txt", stdin=WRONG)
    assert done.code == 1
    assert "error[E001]" in done.out
    assert "  supplier  exact  'Northwind'\n  total     none   nearest: 'GBP 1,178.00'\n" in done.out


@pytest.mark.usefixtures("folder")
def test_a_grounded_contract_keeps_its_settings(run: Run) -> None:
    done = run("check", "--contract", "strict.yaml", "--source", "mail.txt", "--json", stdin=WRONG)
    assert done.code == 0
    assert list(json.loads(done.out)["evidence"]) == ["$.supplier"]


@pytest.mark.usefixtures("folder")
def test_claims_in_prose_are_looked_up(run: Run) -> None:
    done = run("check", "--schema", "none", "--source", "mail.txt", stdin="The total is 1,187.00.")
    assert done.code == 1
    assert "1,187.00" in done.out


def test_documents_and_messages_of_a_json_file(run: Run, folder: Path) -> None:
    (folder / "m.json").write_text(json.dumps([{"role": "user", "content": SOURCE}]))
    (folder / "d.json").write_text(json.dumps({"mail": "Northwind", "invoice": "1178"}))
    for name in ("m.json", "d.json"):
        assert run("check", "--source", name, stdin=RIGHT).code == 0
        assert run("check", "--source", name, stdin=WRONG).code == 1


def test_several_files_are_named(run: Run, folder: Path) -> None:
    (folder / "other.txt").write_text("Northwind")
    done = run("check", "--source", "other.txt", "--source", "mail.txt", stdin=RIGHT)
    assert "  supplier  exact       'Northwind' and 1 more  other.txt\n" in done.out
    assert "  total     normalized  'GBP 1,178.00'  mail.txt\n" in done.out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mial.txt", "there is no such file; did you mean 'mail.txt'?"),
        (".", "that is a directory"),
        ("bytes.txt", "the file is not UTF-8 (byte 0)"),
        ("broken.json", "broken.json"),
    ],
)
def test_wrong_files_are_reported(run: Run, folder: Path, name: str, said: str) -> None:
    (folder / "bytes.txt").write_bytes(b"\xff\xfe")
    (folder / "broken.json").write_text("{")
    done = run("check", "--source", name, stdin=RIGHT)
    assert done.code == 2
    assert said in done.err


def test_lines_fit_the_screen_and_say_what_is_left_out() -> None:
    place = Place("mail", (0, 5), "a long text " * 20)
    evidence = {f"$.lines[{index}].\x1b[31mname{'x' * 40}": Evidence("exact", (place,)) for index in range(40)}
    evidence["$.last"] = Evidence("none")
    lines = list(evidence_lines(Verdict(Reply(""), None, evidence=evidence), Layout(width=80)))
    assert max(map(cells, lines)) <= 80
    assert lines[1][1][0].strip() == "last"
    assert lines[-1][0][0].startswith("… 21 more values")
    assert not any("\x1b" in text for line in lines for text, _ in line)
    assert len(list(evidence_lines(Verdict(Reply(""), None, evidence=evidence), Layout(everything=True)))) == 42
