"""`trueup label`, as a person runs it on a terminal and as a script does in a pipe."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Run, clean_environment
from trueup import Contract
from trueup.store.open import open_store

SCHEMA = {
    "type": "object",
    "properties": {"day": {"enum": ["Monday", "Friday"]}, "people": {"type": "integer", "maximum": 8}},
    "required": ["day", "people"],
}
CONTRACT = Contract(SCHEMA, name="booking")
# Makes the terminal the process's controlling terminal, so that Ctrl-C reaches it.
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
HOSTILE = "\x1b[2J\u202egone"


@pytest.fixture
def filled(tmp_path: Path) -> str:
    with open_store(tmp_path / "s.db") as store:
        for n in range(40):
            day = ["Monday", "Friday", f"Fri{HOSTILE}{n}"][n % 3]
            reply = json.dumps({"day": day, "people": n}, ensure_ascii=False)
            store.record_verdict(CONTRACT.check(reply), model="small-1", contract=CONTRACT, wait=False)
    return "s.db"


def labels(tmp_path: Path) -> list[tuple[str, str, str, str]]:
    with open_store(tmp_path / "s.db") as store:
        return [(row["author"], row["subject"], row["outcome"], row["drawn"]) for row in store.labels()]


class Person:
    """A person at a terminal."""

    def __init__(self, end: int, process: subprocess.Popen[bytes]) -> None:
        self._end, self.process = end, process
        self.seen = ""

    def sees(self, pattern: str) -> str:
        """Wait until the screen shows the pattern, and return the output since the last call."""
        while not (found := re.search(pattern, self.seen)):
            try:
                piece = os.read(self._end, 65536) if select.select([self._end], [], [], 60)[0] else b""
            except OSError:  # Linux raises this if the other end is closed
                piece = b""
            if not piece:
                raise AssertionError(f"{pattern!r} was never shown; last: {self.seen[-2000:]}")
            self.seen += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        shown, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return shown

    def types(self, keys: str) -> None:
        os.write(self._end, keys.encode())


@contextmanager
def in_front_of(tmp_path: Path, *args: str, width: int = 80, height: int = 40) -> Iterator[Person]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, *COMMAND[1:], "label", "--color", "never", *args],
        cwd=tmp_path, env=clean_environment(), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    try:
        yield Person(ours, process)
        assert termios.tcgetattr(theirs) == before, "the terminal is as it was"
    finally:
        os.close(theirs)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(ours)


@pytest.mark.spec("B14")
def test_a_session_on_a_terminal_is_stored_key_by_key_and_resumes(tmp_path: Path, filled: str) -> None:
    with in_front_of(tmp_path, filled, "--author", "ada", "--size", "6") as ada:
        shown = ada.sees(r"1 of 6") + ada.sees(r"\? help")
        assert "V00" in shown
        assert "Right to refuse it?" in shown
        assert labels(tmp_path) == []
        ada.types("r")
        ada.sees(r"2 of 6[\s\S]*\? help")
        assert len(labels(tmp_path)) == 1, "it is on disk before the next reply is shown"
        ada.types("f")
        ada.sees(r"Is V00\d right here\?[\s\S]*\? help")
        ada.types("w")
        ada.sees(r"Right to refuse it\?[\s\S]*\? help")
        ada.types("n")
        ada.sees("note: ")
        ada.types("far too strictXX\x7f\x7f\n")
        ada.sees(r"the note is added to your next answer")
        ada.types("l")
        ada.sees("label: ")
        ada.types("rude\n")
        ada.sees(r"labelled 'rude'")
        ada.types("w?")
        ada.sees(r"explain the keys")
        ada.types("u")
        ada.sees(r"you said: .*wrong[\s\S]*\? help")
        ada.types("\x1b[A\x1bOPx")
        ada.sees(r"'x' is not a key here")
        ada.types("q")
        ada.sees(r"2 of 6 labelled: 1 right, 1 wrong, 1 about findings, 1 of your own words")
        assert ada.process.wait(30) == 0
    kept = labels(tmp_path)
    assert [each[2] for each in kept] == ["right", "wrong", "rude", "wrong"]
    assert kept[1][1].startswith("code:V00")
    assert {each[0] for each in kept} == {"ada"}
    with open_store(tmp_path / "s.db") as store:
        done = {row["verdict"] for row in store.labels()}
        assert "far too strict" in {row["note"] for row in store.labels()}
    with in_front_of(tmp_path, filled, "--author", "ada", "--size", "100") as ada:
        first = ada.sees(r"1 of \d+[\s\S]*\? help")
        assert int(re.search(r"1 of (\d+)", first)[1]) == 38
        shown = first
        for number in range(2, 39):
            ada.types("s")
            shown += ada.sees(rf"{number} of 38[\s\S]*\? help")
        assert not [name for name in done if name in shown]
        ada.types("s")
        ada.sees("of the random sample skipped")


def test_ctrl_c_keeps_what_was_labelled(tmp_path: Path, filled: str) -> None:
    with in_front_of(tmp_path, filled, "--author", "ada") as ada:
        ada.sees(r"1 of 30[\s\S]*\? help")
        ada.types("rw")
        ada.sees(r"3 of 30[\s\S]*\? help")
        ada.types("\x03")
        ada.sees(r"2 of 30 labelled: 1 right, 1 wrong")
        ada.sees(r"stored in s.db, author ada")
        assert ada.process.wait(30) == 130
    assert [each[2] for each in labels(tmp_path)] == ["right", "wrong"]


def test_ctrl_d_and_a_typed_note_without_an_answer(tmp_path: Path, filled: str) -> None:
    with in_front_of(tmp_path, filled, "--author", "ada") as ada:
        ada.sees(r"1 of 30[\s\S]*\? help")
        ada.types("n")
        ada.sees("note: ")
        ada.types("日本 später\n")
        ada.sees("the note is added")
        ada.types("\x04")
        assert ada.process.wait(30) == 0
    with open_store(tmp_path / "s.db") as store:
        assert [(row["outcome"], row["note"]) for row in store.labels()] == [("comment", "日本 später")]


@pytest.mark.parametrize("width", [80, 40])
def test_nothing_is_wider_than_the_screen_and_nothing_hostile_gets_through(
    tmp_path: Path, filled: str, width: int
) -> None:
    with in_front_of(tmp_path, filled, "--code", "V005", width=width, height=24) as ada:
        shown = ada.sees(r"1 of \d+[\s\S]*\? help")
        ada.types("q")
        ada.process.wait(30)
    own = re.sub(r"\x1b\[(H|2J|[0-9;]*m)", "", shown)
    assert "\x1b" not in own
    assert "\u202e" not in own
    assert "<U+202E>gone" in own
    assert max(len(line) for line in own.splitlines()) <= width
    assert len(own.splitlines()) <= 24


def test_a_pipe_takes_a_letter_per_line(run: Run, filled: str, tmp_path: Path) -> None:
    done = run("label", filled, "--author", "bo", "--size", "4", stdin="r\n\nn too strict\nw\nl rude\nx\n?\ns\n")
    assert done.code == 0
    assert "one letter per line" in done.err
    assert "'x' is not a key here" in done.out
    assert "2 of 4 labelled: 1 right, 1 wrong, 1 skipped, 1 of your own words" in done.out
    assert "\x1b" not in done.out
    assert [each[2] for each in labels(tmp_path)] == ["right", "wrong", "rude", "skipped"]
    done = run("label", filled, "--author", "bo", "--size", "4", stdin="")
    assert (done.code, "nothing was labelled" in done.out) == (0, True)


def test_replies_that_cannot_be_shown_are_counted_with_their_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "replies.jsonl").write_text('{"unit_id": "1", "raw_response": "{}"}\n{"unit_id": "2"}\n')
    (tmp_path / "c.json").write_text('{"schema": {"type": "array"}}')
    done = run("label", "replies.jsonl", "--contract", "c.json", stdin="q\n")
    assert "1 of 2 cannot be shown: not a unit" in done.err
    done = run("label", "replies.jsonl", "--export", ".")
    assert (done.code, "this is a folder" in done.err) == (2, True)
    (tmp_path / "odd.jsonl").write_text('{"verdict": "1", "outcome": "right", "subject": "nonsense"}\n')
    done = run("label", "replies.jsonl", "--import", "odd.jsonl")
    assert (done.code, "label 1: subject must be" in done.err) == (2, True)


def test_a_rule_named_by_a_long_expression_can_be_answered_for(run: Run, tmp_path: Path) -> None:
    long = " and ".join(f"n != {n}" for n in range(50))
    longer = " and ".join(f"n != {n}" for n in range(500))
    for name in (long, longer):
        (tmp_path / "replies.jsonl").write_text('{"unit_id": "1", "raw_response": "{\\"n\\": 3}"}\n')
        with open_store(tmp_path / "long.db") as store:
            contract = Contract(True, rules=[name])
            store.record_verdict(contract.check('{"n": 3}'), contract=contract)
        done = run("label", "long.db", "--author", f"ada {len(name)}", "--color", "never", stdin="f\nw\nw\nq\n")
        assert done.code == 0
        assert ("not stored: subject has at most 1,000 characters" in done.out) == (name is longer)


def test_files_get_a_file_of_labels_next_to_them(run: Run, tmp_path: Path) -> None:
    lines = [
        json.dumps({"unit_id": f"u{n}", "raw_response": json.dumps({"day": "Mon", "people": n})}) for n in range(5)
    ]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines))
    (tmp_path / "c.json").write_text(json.dumps(SCHEMA))
    done = run("label", "replies.jsonl", "--author", "ada", stdin="r\n")
    assert "5 have no verdict; give --contract to judge them" in done.err
    done = run("label", "replies.jsonl", "--contract", "c.json", "--author", "ada", stdin="r\nw\nq\n")
    assert "stored in replies.labels.jsonl" in done.out
    rows = [json.loads(line) for line in (tmp_path / "replies.labels.jsonl").read_text().splitlines()]
    assert [(row["outcome"], row["author"], row["drawn"]) for row in rows] == [
        ("right", "ada", "uncertain"), ("wrong", "ada", "uncertain"),
    ]  # fmt: skip
    done = run("label", "replies.jsonl", "-c", "c.json", "--author", "ada", stdin="r\n" * 9)
    assert "3 of 3 labelled" in done.out
    done = run("label", "replies.jsonl", "-c", "c.json", "--author", "ada", stdin="r\n")
    assert "nothing to label: 5 replies, 5 of them already labelled" in done.out
    done = run("label", "replies.jsonl", "-c", "c.json", "--author", "bob", "--labels", "own.jsonl", stdin="r\nq\n")
    assert (tmp_path / "own.jsonl").exists()


def test_labels_travel_through_files(run: Run, filled: str, tmp_path: Path) -> None:
    run("label", filled, "--author", "ada", "--size", "6", stdin="r\nw\nr\nl rude\nr\nq\n")
    before = labels(tmp_path)
    assert run("label", filled, "--export", "out.jsonl").out == "5 labels written to out.jsonl\n"
    with (tmp_path / "out.jsonl").open("a") as file:
        file.write('{"verdict": "nobody", "outcome": "right"}\n')
    (tmp_path / "s.db").rename(tmp_path / "old.db")
    with open_store(tmp_path / "old.db") as old, open_store(tmp_path / "s.db") as new:
        for stored in old.verdicts():
            new.record_verdict(stored.verdict, id=stored.id, contract=CONTRACT)
    done = run("label", filled, "--import", "out.jsonl")
    assert done.out == "5 labels imported\n"
    assert "1 are about replies that are not in the source" in done.err
    assert sorted(labels(tmp_path)) == sorted(before)
    (tmp_path / "out.jsonl").write_text("not json\n")
    done = run("label", filled, "--import", "out.jsonl")
    assert (done.code, "out.jsonl:1: the line is not JSON" in done.err) == (2, True)


def test_the_summary_says_what_is_needed(run: Run, filled: str, tmp_path: Path) -> None:
    run("label", filled, "--author", "ada", "--size", "8", stdin="r\nw\nr\nr\nw\ns\nr\ns\n")
    run("label", filled, "--author", "bob", "--size", "8", stdin="r\nw\nr\nr\nw\nr\nr\nr\n")
    done = run("label", filled, "--summary")
    assert done.code == 0
    assert re.search(r"^\d+ of 40 replies labelled$", done.out, re.MULTILINE)
    assert re.search(r"^ada +\d+ +\d+ +2 +0$", done.out, re.MULTILINE)
    assert re.search(r"`trueup tune` needs 10 labels per rule: V00\d has \d", done.out)
    assert "random sample: " in done.out
    assert "agreement: κ" in done.out
    data = json.loads(run("label", filled, "--summary", "--json").out)
    assert data["replies"] == 40
    assert data["agreement"]["authors"] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("none.db",), "there is no such store"),
        (("none.jsonl",), "none.jsonl"),
        (("s.db", "--since", "yesterday"), "give 24h, 7d, 2w, or a date"),
        (("s.db", "--summary", "--export", "x"), "choose one"),
        (("s.db", "--json"), "--json needs --summary"),
        (("s.db", "other.jsonl"), "give --labels FILE"),
        (("s.db", "--random", "2"), "2.0 is not in the range"),
        (("s.db", "--contract", "none.yaml"), "none.yaml"),
        (("s.db", "--import", "none.jsonl"), "there is no such file of labels"),
        (("s.db", "--export", "no/such/out.jsonl"), "cannot be written"),
        ((), "Missing argument"),
    ],
)
def test_errors_are_reported_in_one_line(run: Run, filled: str, args: tuple[str, ...], said: str) -> None:
    done = run("label", *args)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_filters_and_an_empty_selection(run: Run, filled: str) -> None:
    done = run("label", filled, "--code", "V004", "--random", "0", "--author", "a", stdin="q\n")
    assert "V004" in done.out
    assert run("label", filled, "--model", "nobody").out == "no replies are selected\n"
