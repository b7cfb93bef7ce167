"""`trueup ask`: the value goes to stdout, the rest to stderr. It uses a real server and prompts from every source."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import COMMAND, PERSON, clean_environment, read_all
from trueup.testing.script import Call, Fail, Hang, KeepAlive, Say
from trueup.testing.server import ScriptedServer

GOOD = '{"name": "Ada", "age": 36}'
BAD = '{"name": [1, 2]}'


class Desk:
    """A scripted server, and a command line that asks it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server: ScriptedServer | None = None

    def play(self, *script: Any, **options: Any) -> "Desk":
        self.server = ScriptedServer(list(script), **options).start()
        return self

    def ask(self, *words: str, stdin: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        assert self.server is not None
        command = [*COMMAND, "ask", "--url", f"{self.server.url}/v1", *words]
        given: Any = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            command, cwd=self.folder, env=clean_environment(**env), capture_output=True, text=True, check=False, **given
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    if made.server is not None:
        made.server.close()


def test_the_value_goes_to_standard_output_and_the_rest_to_standard_error(desk: Desk) -> None:
    done = desk.play(BAD, Say(GOOD, usage=(30, 8))).ask("-s", PERSON, "-m", "m", "Who was Ada?")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"name": "Ada", "age": 36})
    assert "repairing the reply, 1 of 2" in done.stderr
    assert "repaired · 2 calls · 1 repair" in done.stderr
    quiet = desk.play(GOOD).ask("-q", "-s", PERSON, "Who?")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_an_invalid_reply_is_not_printed(desk: Desk) -> None:
    done = desk.play(then='{"name": [1, 2]}').ask("-s", PERSON, "--repairs", "1", "Who?")
    assert (done.returncode, done.stdout) == (1, "")
    assert "V001 $.name" in done.stderr
    assert "A004 $" in done.stderr


def test_the_whole_answer_can_be_json(desk: Desk) -> None:
    done = desk.play(BAD, GOOD).ask("--json", "-s", PERSON, "Who?")
    answer = json.loads(done.stdout)
    assert (answer["outcome"], len(answer["attempts"]), answer["cost"]) == ("repaired", 2, None)


@pytest.mark.parametrize("way", ["argument", "stdin", "dash", "file"])
def test_the_prompt_can_come_from_every_source(desk: Desk, way: str) -> None:
    (desk.folder / "prompt.txt").write_text("¿Quién fue Ada?\n", "utf-8")
    desk.play("Una matemática.")
    words = {"argument": ["¿Quién fue Ada?"], "stdin": [], "dash": ["-"], "file": ["--file", "prompt.txt"]}[way]
    stdin = "¿Quién fue Ada?\n" if way in {"stdin", "dash"} else None
    done = desk.ask(*words, "--system", "Sé breve.", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "Una matemática.\n")
    assert desk.server is not None
    assert desk.server.requests[0].messages == [
        {"role": "system", "content": "Sé breve."},
        {"role": "user", "content": "¿Quién fue Ada?"},
    ]


def test_text_comes_sentence_by_sentence(desk: Desk) -> None:
    done = desk.play("One. Two\x1b[2J. Three.").ask("--stream", "Count.")
    assert (done.returncode, done.stdout) == (0, "One. Two\\x1b[2J. Three.\n")


def test_calls_are_printed_as_data(desk: Desk) -> None:
    tools = '[{"name": "ping", "parameters": {"type": "object", "properties": {"host": {"type": "string"}}}}]'
    done = desk.play(Say("", (Call("ping", {"host": "a"}),))).ask("-t", tools, "Ping a.")
    assert json.loads(done.stdout) == [{"name": "ping", "arguments": {"host": "a"}}]


def test_a_contract_file_a_state_and_the_next_model(desk: Desk) -> None:
    (desk.folder / "salon.yaml").write_text(
        "states:\n  SERVICE:\n    forbid:\n      - terms: [Ana]\n    fallback: Which service?\n", "utf-8"
    )
    done = desk.play(then="Ana is free.").ask("-c", "salon.yaml", "--state", "SERVICE", "-m", "a", "-m", "b", "Hello")
    assert (done.returncode, done.stdout) == (0, "Which service?\n")
    assert desk.server is not None
    assert [request.model for request in desk.server.requests] == ["a", "a", "b", "b"]


def test_the_key_comes_from_the_environment_and_is_never_shown(desk: Desk) -> None:
    done = desk.play(GOOD, key="sk-canary-1234567890").ask(
        "--key-env", "MY_KEY", "-s", PERSON, "Who?", MY_KEY="sk-canary-1234567890"
    )
    assert done.returncode == 0
    wrong = desk.play(then=Fail(401, "bad key sk-canary-1234567890")).ask(
        "--json", "--key-env", "MY_KEY", "Who?", MY_KEY="sk-canary-1234567890"
    )
    assert wrong.returncode == 1
    assert "canary" not in wrong.stdout + wrong.stderr
    missing = desk.ask("--key-env", "NO_SUCH_KEY", "Who?")
    assert (missing.returncode, "no such variable" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--local", "hi"], "give --url or --local, not both"),
        (["--json", "--stream", "hi"], "give --json or --stream, not both"),
        (["hi", "--file", "x"], "give PROMPT or --file, not both"),
        (["--file", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["-s", "nowhere.json", "hi"], "there is no such file"),
        (["--language", "tlh", "-s", PERSON, "hi"], "there are texts for en, es"),
        ([], "the prompt is empty"),
    ],
)
def test_wrong_use_is_reported_in_one_line(desk: Desk, words: list[str], message: str) -> None:
    done = desk.play(then=BAD).ask(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "ask", *words], env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def interrupt(running: subprocess.Popen[str], times: int) -> tuple[str, str]:
    """Press Ctrl-C the given number of times, and return the output."""
    for _ in range(times):
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGINT)
    return running.communicate(timeout=120)


@pytest.mark.spec("A8")
@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("words", [[], ["--stream"], ["-s", PERSON]])
def test_ctrl_c_ends_a_call(desk: Desk, words: list[str], times: int) -> None:
    desk.play(Hang())
    assert desk.server is not None
    running = start("--url", desk.server.url, *words, "Who?")
    assert desk.server.wait_until(lambda exchanges: len(exchanges) == 1, 60)
    out, err = interrupt(running, times)
    assert (running.returncode, out.strip()) == (130, "")
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert desk.server.wait_until(lambda exchanges: exchanges[0].ended == "client left", 60)


@pytest.mark.spec("A8", "A11")
@pytest.mark.parametrize("words", [[], ["--stream"], ["-s", PERSON]])
@pytest.mark.parametrize("fault", [Hang(), KeepAlive("Ada was a mathematician. ", every=0.02)])
def test_a_deadline_has_its_own_exit_code(desk: Desk, fault: Any, words: list[str]) -> None:
    done = desk.play(then=fault).ask("--deadline", "0.5", *words, "Who?")
    assert (done.returncode, done.stdout.strip()) == (3, "")
    assert "A001 $: The budget has no room for another call" in done.stderr
    assert "Traceback" not in done.stderr


def start_in_terminal(*words: str) -> tuple[subprocess.Popen[str], int]:
    """The command with its standard error on a terminal, once it shows that a model is being asked."""
    terminal, end = os.openpty()
    running = subprocess.Popen(
        [*COMMAND, "ask", *words], env=clean_environment(), stdout=subprocess.PIPE, stderr=end, text=True
    )
    os.close(end)
    shown = b""
    while b"s left" not in shown:
        shown += os.read(terminal, 65536)
    return running, terminal


@pytest.mark.parametrize("words", [[], ["--stream"]])
def test_the_progress_line_counts_down_and_is_removed(desk: Desk, words: list[str]) -> None:
    desk.play(Hang())
    assert desk.server is not None
    running, terminal = start_in_terminal("--url", desk.server.url, "--deadline", "30", *words, "Who?")
    shown = b""
    while b", 29 s left" not in shown:
        shown += os.read(terminal, 65536)
    interrupt(running, 2)
    shown = read_all(terminal)
    assert running.returncode == 130
    assert shown.rstrip().endswith(b"\x1b[2K")  # the line is empty, the cursor at its beginning
    assert b"\x1b[?25h" in shown  # and visible again
    os.close(terminal)


@pytest.mark.needs("model")
@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("words", [[], ["--stream"]])
def test_ctrl_c_ends_the_local_model(words: list[str], times: int) -> None:
    running, terminal = start_in_terminal(
        "--local", "--max-tokens", "2000", *words, "Tell a very long story about the sea."
    )
    interrupt(running, times)
    shown = read_all(terminal)
    os.close(terminal)
    assert running.returncode == 130
    assert b"Traceback" not in shown
    assert b"Exception ignored" not in shown


@pytest.mark.needs("model")
@pytest.mark.parametrize("words", [[], ["--stream"]])
def test_the_local_model_keeps_to_the_deadline(words: list[str]) -> None:
    running = start(
        "--local", "--max-tokens", "2000", "--deadline", "0.3", *words, "Tell a very long story about the sea."
    )
    _, err = running.communicate(timeout=120)
    assert running.returncode == 3
    assert "A001" in err
    assert "Traceback" not in err
