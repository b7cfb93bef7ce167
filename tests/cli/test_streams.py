"""Standard streams that are closed, full or cannot show a character: one message and an exit code, never a traceback."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Run, clean_environment

COMMANDS = {
    "check": ["check", "-s", "any", "reply.txt"],
    "check --json": ["check", "-s", "any", "--json", "reply.txt"],
    "explain": ["explain"],
    "explain CODE": ["explain", "V001"],
    "help": ["--help"],
    "help of a command": ["sift", "--help"],
    "lint": ["lint", "--editor-schema"],
    "schema": ["schema", "any"],
    "sift": ["sift", "units.jsonl", "-s", "any", "-o", "out", "--json", "--progress", "none"],
}
UNIT = '{"unit_id": "a", "raw_response": "{}"}\n'


def in_shell(folder: Path, args: list[str], redirected: str) -> subprocess.CompletedProcess[str]:
    (folder / "reply.txt").write_text("{'a': 1}")
    (folder / "units.jsonl").write_text(UNIT)
    line = f'exec "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *args],
        cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False, input=UNIT,
    )  # fmt: skip


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(("to", "says", "code"), [(">/dev/full", "the disk is full", 3), (">&-", "is closed", 2)])
def test_unwritable_output_is_reported(tmp_path: Path, args: list[str], to: str, says: str, code: int) -> None:
    done = in_shell(tmp_path, args, to)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [["check", "-s", "any"], ["schema", "any"], ["ask", "--url", "http://127.0.0.1:9/v1"]])
def test_closed_input_is_reported(tmp_path: Path, args: list[str]) -> None:
    done = in_shell(tmp_path, args, "<&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "trueup: standard input or standard output is closed: name a file, or redirect the stream to one\n"
    )


def test_a_file_is_judged_with_input_and_messages_closed(tmp_path: Path) -> None:
    done = in_shell(tmp_path, ["check", "-s", "any", "--value", "reply.txt"], "<&- 2>&-")
    assert (done.returncode, done.stdout) == (0, '{"a":1}\n')


def test_the_exit_code_is_right_if_all_streams_are_unusable(tmp_path: Path) -> None:
    assert in_shell(tmp_path, ["check", "no-such-file"], ">/dev/full 2>/dev/full").returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_symbols_that_the_encoding_lacks_are_drawn_plainly(run: Run, encoding: str) -> None:
    done = run("check", "-s", "any", stdin="{'a': 1}", PYTHONIOENCODING=encoding)
    assert done.out.startswith("+ ok")
    assert "\\u2713" not in done.out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("option", ["--value", "--json"])
def test_json_stays_json_in_any_encoding(run: Run, encoding: str, option: str) -> None:
    value = {"a": "é … ✓ \U0001f600"}
    done = run("check", "-s", "any", option, stdin=json.dumps(value), PYTHONIOENCODING=encoding)
    told = json.loads(done.out)
    assert (told if option == "--value" else told["data"]) == value


def test_a_bug_in_trueup_is_one_line_with_its_own_code(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import trueup.cli.commands.explain as it\n"
        "def broken(*_):\n    raise ZeroDivisionError('by \\x1b[31m')\n"
        "it._list = broken\n"
    )
    done = run("explain", PYTHONPATH=str(tmp_path))
    assert (done.code, done.out) == (70, "")
    assert len(done.err.splitlines()) == 1
    assert "a bug in trueup itself" in done.err
    assert "ZeroDivisionError: by \\x1b[31m" in done.err
    asked = run("explain", PYTHONPATH=str(tmp_path), TRUEUP_DEBUG="1")
    assert "Traceback" in asked.err
