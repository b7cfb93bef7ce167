"""Tool calls on the screen: `trueup check --tools … --reply …`, as a person or a script runs it."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.cli.running import Run

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SGR = re.compile(r"\x1b\[[0-9;]*m")
HELPDESK = ("--tools", "contracts/helpdesk.yaml", "--order", "contracts/helpdesk.yaml")
TOOLS = '[{"name": "look", "parameters": [{"name": "day", "type": "integer"}]}, {"name": "book"}]'


def chat(*calls: tuple[str, str], text: str | None = None, finish: str = "tool_calls") -> str:
    made = [
        {"id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": a}}
        for i, (n, a) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return json.dumps({"object": "chat.completion", "model": "m-1", "choices": [choice]})


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("width", [80, 40])
def test_it_looks_like_this(width: int, run: Run, desk: Path, snapshot: Callable[[str, str], None]) -> None:
    done = run("check", *HELPDESK, "--reply", "responses/openai-calls.json", COLUMNS=str(width))
    assert (done.code, done.err) == (1, "")
    snapshot(f"calls-{width}.txt", done.out)


@pytest.mark.spec("T2", "T3", "T4", "T5")
def test_each_call_has_its_verdict(run: Run, desk: Path) -> None:
    out = run("check", *HELPDESK, "--reply", "responses/openai-calls.json").out
    assert "Calls  1 may run, 2 refused\n" in out
    assert (
        '✓ 1 get_ip_config  call_1\n    named functions.get_ip_config · K002 guess\n    {"adapter": "eth0", "version": 4}\n'
        in out
    )
    assert '    1 - {\'adapter\': \'eth0\', \'version\': "4",}\n      + {"adapter": "eth0", "version": 4}\n' in out
    assert "✗ 2 check_adaptor_status  refused · call_2\n" in out
    assert "the closest is 'check_adapter_status'" in out
    assert '    at args:1:11  $.calls[2].args.count\n    1 | {"count": 50}\n      |           ^^\n' in out
    assert "warning[T011]" in out


def test_calls_that_pass_are_an_exit_code_of_zero(run: Run, desk: Path) -> None:
    for name in ("anthropic-calls.json", "stream.sse"):
        done = run("check", *HELPDESK, "--reply", f"responses/{name}")
        assert (done.code, done.out.splitlines()[0]) == (0, "✓ ok  clean: nothing was changed")
        assert "Calls  1 may run\n" in done.out
        assert "Value" not in done.out


def test_calls_in_the_text_are_shown_at_their_places(run: Run, desk: Path) -> None:
    out = run("check", *HELPDESK, "responses/leaked-calls.txt").out
    assert re.search(r"^✓ 2 ping_dns .*found in the text \(tool_call\)$", out, re.MULTILINE)
    assert "    6 ~ <tool_call>\n      6:1    K001 leaked-call · guess · $.calls[1]\n" in out
    assert "      7:69   C001 to-integer" in out


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (
            '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            ["no reply", "retry: yes"],
        ),
        (
            '{"error": {"message": "No such model", "code": "model_not_found"}}',
            ["no reply", "No such model", "retry: no"],
        ),
        ('{"custom_id": "r7", "result": {"type": "expired"}}', ["no reply", "reply · r7", "error[R002]"]),
        ('{"error": {"code": "tool_use_failed", "message": "x", "failed_generation": "<f>"}}', ["written: <f>"]),
        ('data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}\n\n', ["✗ cut off", "Text\nhel\n"]),
        ('[{"role": "user", "content": "hi"}]', ["✗ no reply", "error[R004]"]),
    ],
)
def test_a_file_that_is_not_a_reply_is_reported(response: str, says: list[str], run: Run) -> None:
    done = run("check", "--tools", TOOLS, "--reply", "-", stdin=response)
    assert done.code == 1
    for words in says:
        assert words in done.out
    assert json.loads(run("check", "--reply", "-", "--json", stdin=response).out)["findings"][0]["code"].startswith("R")


def test_a_response_without_tools_is_judged_by_its_text(run: Run) -> None:
    done = run("check", "--reply", "-", "--value", stdin=chat(text="```json\n[1,]\n```", finish="stop"))
    assert (done.code, done.out) == (0, "[1]\n")
    assert run("check", "--reply", "-", stdin=chat(text="Hello.", finish="stop")).code == 1
    done = run("check", "--reply", "-", "--schema", "none", stdin=chat(text="Hello.", finish="stop"))
    assert (done.code, done.out.splitlines()[-2:]) == (0, ["Text", "Hello."])


def test_a_file_that_is_not_a_response_is_read_as_text_with_a_note(run: Run) -> None:
    done = run("check", "--reply", "-", stdin='{"name": "Ada"}')
    assert done.code == 0
    assert "not a known response format, read as text" in done.out


def test_json_contains_calls_and_refusals(run: Run, desk: Path) -> None:
    done = run("check", *HELPDESK, "--reply", "responses/openai-calls.json", "--json")
    verdict = json.loads(done.out)
    assert (done.code, verdict["ok"]) == (1, False)
    assert verdict["calls"][0]["args"] == {"adapter": "eth0", "version": 4}
    assert [refusal["call"]["name"] for refusal in verdict["refused"]] == ["check_adaptor_status", "ping_gateway"]
    only_calls = run("check", *HELPDESK, "-r", "responses/anthropic-calls.json", "--value")
    assert (only_calls.code, only_calls.out) == (0, "")
    assert only_calls.err == "trueup: the reply calls tools, so there is no value; --json shows the calls\n"


@pytest.mark.parametrize("order", ["look,book", '["look", "book"]', '{"sequence": ["look", "book"]}', "order.json"])
def test_an_order_is_given_in_several_ways(order: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('["look", "book"]')
    done = run("check", "--tools", TOOLS, "--order", order, "-r", "-", stdin=chat(("book", "{}"), ("look", "{}")))
    assert (done.code, "warning[T007]" in done.out) == (0, True)
    strict = run(
        "check", "--tools", TOOLS, "--order", order, "--strict", "-r", "-", stdin=chat(("book", "{}"), ("look", ""))
    )
    assert (strict.code, "error[T007]" in strict.out) == (1, True)


def test_the_history_counts(run: Run, tmp_path: Path) -> None:
    before: list[Any] = [json.loads(chat(("book", "{}")))["choices"][0]["message"]]
    before.append({"role": "tool", "tool_call_id": "call_0", "content": "booked"})
    (tmp_path / "before.json").write_text(json.dumps(before))
    (tmp_path / "request.json").write_text(json.dumps({"model": "m-1", "messages": before}))
    for name in ("before.json", "request.json"):
        args = ("check", "--tools", TOOLS, "--order", "look,book", "--history", name, "-r", "-")
        assert "warning[T007]" in run(*args, stdin=chat(("look", "{}"))).out


@pytest.mark.parametrize("wrong", ['"look"', "[1]", '{"a": 1}', "5"])
def test_a_sequence_that_is_not_a_list_of_names_is_a_fault_of_the_command(run: Run, wrong: str) -> None:
    args = ("check", "--tools", TOOLS, "--context", f'{{"expected_sequence": {wrong}}}', "-r", "-")
    done = run(*args, stdin=chat(("look", "{}")))
    assert done.code == 2
    assert done.err.startswith("trueup: --context: expected_sequence must be a list of tool names, got ")


def test_a_context_gives_each_call_its_position(run: Run) -> None:
    context = json.dumps({"expected_sequence": ["look", "book"]})
    args = ("check", "--tools", TOOLS, "--context", context, "-r", "-")
    assert "T020" not in run(*args, stdin=chat(("look", "{}"), ("book", "{}"))).out
    done = run(*args, stdin=chat(("book", "{}")))
    assert "warning[T020]" in done.out
    assert "Tool sequence mismatch at position 0: expected 'look', got 'book'" in " ".join(done.out.split())
    slip = run(
        "check", "--tools", TOOLS, "--context", '{"expected_sequenc": []}', "-r", "-", stdin=chat(("look", "{}"))
    )
    assert (slip.code, "did you mean 'expected_sequence'?" in slip.err) == (2, True)


def test_calls_without_tools_are_shown_as_not_judged(run: Run, desk: Path) -> None:
    done = run("check", "--schema", "none", "--reply", "responses/openai-calls.json")
    assert done.code == 0
    assert "Calls  3 not judged (--tools names the allowed tools)\n" in done.out
    assert """? 1 functions.get_ip_config\n    {'adapter': 'eth0', 'version': "4",}\n""" in done.out
    assert '? 3 ping_gateway\n    {"count": 50}\n' in done.out
    many = run("check", "--schema", "none", "--reply", "-", stdin=chat(*[("look", "{}")] * 30)).out
    assert "… and 10 more calls (--all shows them)" in many
    by_contract = run("check", "--contract", "contracts/salon.yaml", "--reply", "responses/openai-calls.json").out
    assert "--tools" not in by_contract


def test_python_functions_are_tools(run: Run, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "def price(item: str, count: int = 1) -> float:\n    return 1.0\n\n\nTOOLS = [price]\n"
    )
    for named in ("shop:TOOLS", "shop:price"):
        done = run(
            "check", "--tools", named, "-r", "-", "--json", stdin=chat(("price", '{"item": "pen", "count": "2"}'))
        )
        assert (done.code, json.loads(done.out)["calls"][0]["args"]) == (0, {"item": "pen", "count": 2})


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--tools", "gone.json"], ["gone.json", "no such file", "module:name"]),
        (["--tools", "bad.json"], ["bad.json:1:3", "not JSON"]),
        (["--tools", "[1]"], ["--tools", "tools[0]"]),
        (["--tools", '[{"name": "a"}, {"name": "a"}]'], ["two tools are named 'a'"]),
        (["--tools", '[{"name": "look", "parameters": {"type": "strange"}}]'], ["--tools", "strange"]),
        (["--tools", "nowhere:tools"], ["no module 'nowhere'"]),
        (["--tools", TOOLS, "--order", "a,,b"], ["--order", "a name is missing"]),
        (["--tools", TOOLS, "--order", "gone.json"], ["--order gone.json", "no such file"]),
        (["--tools", TOOLS, "--order", '{"sequenze": []}'], ["--order", "sequence"]),
        (["--order", "look,book"], ["--order needs --tools"]),
        (["--tools", TOOLS, "--history", "{}"], ["--history", "list of messages"]),
        (["reply.txt"], ["give one of them"]),
    ],
)
def test_wrong_use_is_reported_without_a_traceback(args: list[str], says: list[str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[ oops]")
    done = run("check", *args, "--reply", "-", stdin=chat(("look", "{}")))
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    for words in says:
        assert words in done.err


@pytest.mark.parametrize("width", [80, 40])
def test_it_fits_a_terminal(width: int, run_on_terminal: Run, desk: Path) -> None:
    long = json.dumps({"summary": "x" * 500, "urgency": "now", "漢" * 60: 1})
    (desk / "long.json").write_text(
        chat(("create_ticket", long), ("y" * 300, "no JSON " * 40), text="I ran a_b_c. " * 30)
    )
    for name in ("long.json", "responses/openai-calls.json", "responses/leaked-calls.txt"):
        done = run_on_terminal("check", *HELPDESK, "--reply", name, width=width)
        assert all(cell_len(line) <= width for line in SGR.sub("", done.out).splitlines())


@pytest.mark.spec("X19", "X20")
def test_names_ids_and_arguments_cannot_move_the_cursor(run: Run, run_on_terminal: Run, tmp_path: Path) -> None:
    bad = "\x1b[2J\x1b]0;x\x07\u202e\u200b[red]\r"
    body = json.loads(
        chat((f"lo{bad}ok", f'{{"a": "{bad}'), ("look", json.dumps({f"{bad}": bad})), text=f"{bad} ran a_b()")
    )
    body["model"] = body["choices"][0]["message"]["tool_calls"][0]["id"] = bad
    (tmp_path / "response.json").write_text(json.dumps(body))
    for done in (
        run("check", "-t", TOOLS, "-r", "response.json"),
        run_on_terminal("check", "-t", TOOLS, "-r", "response.json"),
    ):
        shown = SGR.sub("", done.out)
        assert done.code == 1
        assert not [c for c in shown if c in "\x1b\x07\u202e\u200b\r"]
        assert "\\x1b[2J" in shown
        assert "[red]" in shown


def test_many_calls_are_cut_and_say_so(run: Run) -> None:
    response = chat(*(("look", f'{{"day": {n}}}') for n in range(50)))
    short = run("check", "--tools", TOOLS, "-r", "-", stdin=response).out
    assert "… and 30 more calls (--all shows them)" in short
    assert run("check", "--tools", TOOLS, "-r", "-", "--all", stdin=response).out.count("✓ ") == 51
