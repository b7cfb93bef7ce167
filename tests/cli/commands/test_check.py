"""`trueup check`, as a person or a script runs it."""

import array
import fcntl
import io
import json
import re
import signal
import subprocess
import termios
import unicodedata
from pathlib import Path
from typing import IO

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.cli.running import COMMAND, PERSON, Run, clean_environment
from tests.waiting import wait_for
from trueup.cli.main import main

SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_valid_reply_exits_with_zero(run: Run) -> None:
    done = run("check", "--schema", PERSON, stdin='{"name": "Ada"}')
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("✓ ok  clean: nothing was changed\n")
    assert done.out.endswith('Value\n{\n  "name": "Ada"\n}\n')


def test_a_repaired_reply_is_shown_with_its_fixes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text("{'name': 'Ada', 'age': '36',}")
    done = run("check", "reply.txt", "--schema", PERSON)
    assert done.code == 0
    assert "  1 - {'name': 'Ada', 'age': '36',}" in done.out
    assert '    + {"name": "Ada", "age": 36}' in done.out
    for words in ("S008 single-quotes ×", "C001 to-integer · guess · $.age", "S001 trailing-comma · lossless · $"):
        assert words in done.out
    assert "\x1b" not in done.out


def test_a_refused_reply_is_shown_with_its_findings(run: Run) -> None:
    done = run("check", "--schema", PERSON, stdin='{"name": "Ada", "age": "old"}')
    assert done.code == 1
    assert done.out.startswith("✗ refused")
    assert "error[V001]" in done.out
    assert "trueup explain V001" in done.out


def test_without_a_schema_any_json_value_is_ok_and_prose_is_not(run: Run) -> None:
    assert run("check", stdin="[1, 2]").code == 0
    assert run("check", "-", stdin="[1, 2]").code == 0
    assert run("check", "--schema", "any", stdin="[1, 2]").code == 0
    assert run("check", stdin="I am sorry.").code == 1


def test_options_reach_the_contract(run: Run) -> None:
    assert run("check", "--accept", "none", stdin="[1,]").code == 1
    assert run("check", "--accept", "lossy", stdin='["a", ...]').code == 0
    assert run("check", "--schema", PERSON, "--coerce", "off", stdin='{"name": "Ada", "age": "36"}').code == 1
    assert run("check", "--schema", PERSON, "--strict", stdin='{"name": "Ada"} {"name": "Bob"}').code == 1
    assert run("check", "--max-size", "5", stdin="[1, 2, 3]").code == 1
    assert run("check", "--max-depth", "2", stdin="[[[1]]]").code == 1


def test_json_is_one_document_on_one_line(run: Run) -> None:
    done = run("check", "--schema", PERSON, "--json", stdin='{"name": "A\u202eda",}')
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert done.out.isascii()
    verdict = json.loads(done.out)
    assert (verdict["ok"], verdict["data"]) == (True, {"name": "A\u202eda"})
    assert [(fix["code"], fix["name"], fix["grade"]) for fix in verdict["fixes"]] == [
        ("S001", "trailing-comma", "lossless")
    ]
    (found,) = json.loads(run("check", "--schema", PERSON, "--json", stdin="{}").out)["findings"]
    assert (found["code"], found["name"]) == ("V002", "missing")


def test_value_is_the_value_or_nothing(run: Run) -> None:
    assert run("check", "--value", stdin="{'n': 5,}") == (0, '{"n":5}\n', "")
    refused = run("check", "--value", "--schema", PERSON, stdin="{}")
    assert (refused.code, refused.out) == (1, "")
    assert run("check", "--value", "--json", stdin="{}").code == 2


def test_value_on_a_refused_reply_prints_the_reason_to_standard_error(run: Run) -> None:
    refused = run("check", "--value", "--schema", PERSON, stdin="{}")
    assert refused == (1, "", 'trueup: V002 $.name: Field "name": Required field is missing\n')
    prose = run("check", "--value", stdin="I cannot do that.\x1b[2J")
    assert (prose.code, prose.out) == (1, "")
    assert prose.err.startswith("trueup: P001 $: ")
    assert "\x1b" not in prose.err
    many = run("check", "--value", "--schema", '{"items": {"type": "integer"}}', stdin=json.dumps(["x"] * 30))
    assert (many.code, many.out, many.err.count("\n")) == (1, "", 11)
    assert many.err.endswith("trueup: … and 10 more; without --value, the whole verdict is shown\n")


def test_value_on_a_reply_that_calls_a_tool_says_that_there_is_none(run: Run) -> None:
    tools = '[{"name": "ping", "parameters": {"type": "object"}}]'
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    done = run("check", "--value", "--tools", tools, stdin=call)
    assert done == (0, "", "trueup: the reply calls tools, so there is no value; --json shows the calls\n")


@pytest.mark.parametrize("options", [("--schema", "none"), ("--tools", '[{"name": "ping"}]')])
def test_value_without_a_schema_says_that_there_is_none(run: Run, options: tuple[str, str]) -> None:
    done = run("check", "--value", *options, stdin="Hello.")
    assert done == (0, "", "trueup: the contract has no schema, so there is no value; --json shows the verdict\n")
    assert run("check", "--value", stdin="null") == (0, "null\n", "")


def test_bytes_that_are_not_text_are_a_finding(run: Run, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_bytes(b'{"name": "Ad\xff"}')
    done = run("check", "reply.txt")
    assert done.code == 1
    assert "error[P007]" in done.out


def test_a_class_is_a_schema(run: Run, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from dataclasses import dataclass\nprint('noise')\n\n\n@dataclass\nclass Order:\n    item: str\n    count: int\n"
    )
    done = run("check", "--schema", "shop:Order", "--json", stdin='{"item": "pen", "count": "2"}')
    assert (done.code, json.loads(done.out)["data"]) == (0, {"item": "pen", "count": 2})
    assert done.err == "noise\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["gone.txt"], ["gone.txt", "no such file"]),
        (["replly.txt"], ["replly.txt: there is no such file; did you mean 'reply.txt'?"]),
        (["--schema", "lst.json"], ["--schema lst.json: there is no such file; did you mean 'list.json'?"]),
        (["--contract", "bad.yaml"], ["--contract bad.yaml: there is no such file; did you mean 'bad.json'?"]),
        (["--contract", "gone/shop.yaml"], ["--contract gone/shop.yaml: there is no such file"]),
        (["."], ["directory"]),
        (["--schema", "gone.json"], ["gone.json", "no such file", "module:Class"]),
        (["--schema", "."], ["directory"]),
        (["--schema", "{bad"], ["--schema:1:2", "not JSON"]),
        (["--schema", "bad.json"], ["bad.json:2:3", "not JSON"]),
        (["--schema", "list.json"], ["list.json", "is an object"]),
        (["--schema", "latin.json"], ["latin.json", "not UTF-8"]),
        (["--schema", '{"type": "strange"}'], ["--schema", "strange"]),
        (["--schema", "nowhere:Thing"], ["no module 'nowhere'"]),
        (["--schema", "broken:Thing"], ["broken.py:2", "ZeroDivisionError"]),
        (["--schema", "fine:Thong"], ["no 'Thong'", "did you mean 'Thing'"]),
        (["--schema", "fine:number"], ["fine:number"]),
        (["--accept", "much"], ["--accept", "lossless"]),
        (["--max-depth", "0"], ["--max-depth"]),
        (["a", "b"], ["unexpected"]),
    ],
)
def test_wrong_use_is_reported_without_a_traceback(args: list[str], says: list[str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"a":\n  oops}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "reply.txt").write_text("{}")
    (tmp_path / "latin.json").write_bytes(b'{"title": "\xe9"}')
    (tmp_path / "broken.py").write_text("x = 0\n1 / x\n")
    (tmp_path / "fine.py").write_text("class Thing:\n    a: int\n\n\nnumber = 5\n")
    done = run("check", *args, stdin="{}")
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    for words in says:
        assert words in done.err


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ('{"schema": {"type": "object"}, "accept": "guess"}', "this looks like a contract"),
        ('{"name": "string", "age": "integer"}', "none of its keys (name, age) is a JSON Schema keyword"),
    ],
)
def test_a_schema_that_would_take_anything_is_refused(run: Run, schema: str, says: str) -> None:
    done = run("check", "--schema", schema, stdin="{}")
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_a_schema_given_as_a_contract_is_recognized(run: Run, tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text(PERSON)
    done = run("check", "--contract", "person.json", stdin="{}")
    assert (done.code, done.err) == (
        2, "trueup: --contract person.json: this looks like a JSON Schema: give it with --schema\n",
    )  # fmt: skip


def test_a_misspelled_keyword_prints_a_warning_next_to_the_verdict(run: Run) -> None:
    done = run("check", "--value", "--schema", '{"type": "object", "requried": ["name"]}', stdin="{}")
    assert (done.code, done.out) == (0, "{}\n")
    assert done.err == (
        "trueup: warning: --schema: $.requried is not a JSON Schema keyword and has no effect; did you mean 'required'?\n"
    )


def test_a_misspelled_key_of_a_context_is_refused_and_a_custom_key_is_not(run: Run) -> None:
    assert run("check", "--context", '{"basket": 3, "state": "IDLE"}', stdin="{}").code == 0
    done = run("check", "--context", '{"sate": "IDLE"}', stdin="{}")
    assert (done.code, done.err) == (2, "trueup: --context: unknown key 'sate'; did you mean 'state'?\n")


def test_a_terminal_as_input_prints_what_to_do(run_on_terminal: Run) -> None:
    done = run_on_terminal("check")
    assert done.code == 2
    assert "give a FILE or pipe a reply in" in " ".join(done.out.split())


@pytest.mark.parametrize("width", [80, 40])
def test_it_fits_a_terminal(width: int, run_on_terminal: Run, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text(
        "Of course! " * 20 + "{'name': 'Ada', 'age': 'old', 'note': '" + "x" * 300 + "',}"
    )
    done = run_on_terminal("check", "reply.txt", "--schema", PERSON, width=width)
    assert done.code == 1
    assert "\x1b[1;31m✗ refused\x1b[0m" in done.out
    assert all(cell_len(line) <= width for line in SGR.sub("", done.out).splitlines())


def test_json_is_indented_for_a_person(run_on_terminal: Run, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text("[1]")
    done = run_on_terminal("check", "reply.txt", "--json")
    assert done.out.startswith('{\n  "ok": true,')


def test_colour_is_the_users_choice(run: Run, run_on_terminal: Run, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text("[1,]")
    assert "\x1b[" in run_on_terminal("check", "reply.txt").out
    assert "\x1b" not in run_on_terminal("check", "reply.txt", NO_COLOR="1").out
    assert "\x1b" not in run_on_terminal("check", "reply.txt", TERM="dumb").out
    assert "\x1b" not in run_on_terminal("check", "reply.txt", "--color", "never").out
    assert "\x1b" not in run("check", "reply.txt").out
    assert "\x1b[" in run("check", "reply.txt", "--color", "always", NO_COLOR="1").out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_output_works(encoding: str, run: Run) -> None:
    done = run("check", stdin="['漢', 'é',]", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.code == 0
    assert "Traceback" not in done.err


def test_a_reader_that_leaves_causes_no_error(tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text(json.dumps(list(range(200_000))))
    for options in (["--all"], ["--json"]):
        with subprocess.Popen(
            [*COMMAND, "check", "reply.txt", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean_environment(),
        ) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(100)
            child.stdout.close()
            assert child.stderr.read() == b""
            assert child.wait(60) == 141


def wait_until_read(pipe: IO[bytes]) -> None:
    """Wait until a pipe is empty."""
    left = array.array("i", [1])

    def is_empty() -> bool:
        fcntl.ioctl(pipe, termios.FIONREAD, left)
        return left[0] == 0

    wait_for(is_empty, "the command never read its input")


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "check"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=clean_environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        assert child.stdout is not None
        child.stdin.write(b"a beginning")
        child.stdin.flush()
        wait_until_read(child.stdin)  # and now it waits for more
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert (child.stdout.read(), child.stderr.read().strip()) == (b"", b"")


HARMFUL = st.text(
    st.sampled_from("\x1b\x07\r\n\t\x00\x7f\x9b\u202e\u200b\ufeff\u2028\U000e0041[]/\\:;a'\"漢{}")
    | st.characters(codec="utf-8"),
    max_size=40,
)
MARKUP = st.sampled_from(
    ["[/foo]", "[red]x[/red]", ":smile:", "\x1b[31m", "\x1b]8;;http://x\x1b\\", '{"a": "', "'", "}"]
)


@pytest.mark.spec("X19", "X20")
@given(st.lists(HARMFUL | MARKUP, max_size=6).map("".join), st.sampled_from(["view", "json", "value"]))
def test_no_reply_can_control_the_terminal(reply: str, mode: str) -> None:
    args = ["check", "--color", "never", *([] if mode == "view" else [f"--{mode}"])]
    done = CliRunner().invoke(main, args, input=io.BytesIO(reply.encode()))
    assert done.exit_code in {0, 1}, done.output
    assert not [c for c in done.output if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.spec("X19")
def test_a_file_name_cannot_write_to_the_terminal(run: Run) -> None:
    done = run("check", "\x1b[31mgone\u202e.txt")
    assert done.code == 2
    assert "\\x1b[31mgone<U+202E>.txt" in done.err
    assert "\x1b" not in done.err
