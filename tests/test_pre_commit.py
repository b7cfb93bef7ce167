"""The hooks for contributors: pre-commit itself runs them in a small repository, with the tools of this environment."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT

GOOD = (
    '"""Adds numbers."""\n\n\ndef add(first: int, second: int) -> int:\n    """The sum."""\n    return first + second\n'
)
TOOLS = Path(sys.executable).parent


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the configuration of this one, its linters, and one good file."""
    for name in (".pre-commit-config.yaml", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    (tmp_path / ".gitignore").write_text("home/\n", "utf-8")
    write(tmp_path / "src" / "adding.py", GOOD)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def run(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """pre-commit, without a network."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {
        "PATH": os.pathsep.join(filter(None, [path, str(TOOLS), env["PATH"]])), "PRE_COMMIT_HOME": str(folder / "home"),
        "HTTPS_PROXY": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "PYTHONPATH": str(folder / "src"),
    }  # fmt: skip
    command = [TOOLS / "pre-commit", "run", "--color", "never", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )


def results(output: str) -> dict[str, str]:
    """The result of each hook by its name."""
    return dict(re.findall(r"^(.*?)\.{2,}(?:\(.*\))?(Passed|Failed|Skipped)$", output, re.MULTILINE))


LINTERS = ("ruff rules", "ruff formatting", "English of docs, messages and comments")


def test_a_good_file_passes(repository: Path) -> None:
    done = run(repository, "--files", "src/adding.py")
    assert done.returncode == 0, done.stdout
    assert results(done.stdout) == dict.fromkeys(LINTERS, "Passed")


@pytest.mark.parametrize(
    ("name", "text", "failed", "said"),
    [
        ("src/adding.py", GOOD.replace("first + second", "first+second"), LINTERS[1], "1 file would be reformatted"),
        ("src/adding.py", GOOD.replace("\n\n\n", "\n\nimport os\n\n\n"), LINTERS[0], "`os` imported but unused"),
        ("docs/adding.md", "The state is none of this contract.\n", LINTERS[2], "docs/adding.md:1:"),
    ],
)
def test_a_bad_file_fails_at_its_hook(repository: Path, name: str, text: str, failed: str, said: str) -> None:
    write(repository / name, text)
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    done = run(repository, "--files", name)
    assert done.returncode == 1
    assert [hook for hook, result in results(done.stdout).items() if result == "Failed"] == [failed], done.stdout
    assert said in done.stdout


def test_data_is_not_proofread(repository: Path) -> None:
    write(repository / "tests" / "data" / "replies.md", "The state is none of this contract.\n")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    done = run(repository, "--files", "tests/data/replies.md")
    assert done.returncode == 0, done.stdout


def test_types_and_layers_are_checked_before_a_push(repository: Path) -> None:
    """On the whole project they take minutes. Here, programs with the same names report how they were called."""
    programs = repository / "home" / "programs"
    for name in ("mypy", "lint-imports"):
        write(programs / name, f'#!/bin/sh\necho "{name} called with [$*]"\nexit 1\n')
        (programs / name).chmod(0o755)
    done = run(repository, "--hook-stage", "pre-push", "--all-files", path=str(programs))
    assert done.returncode == 1
    assert results(done.stdout) == {"mypy, strict": "Failed", "import-linter, layers": "Failed"}
    assert "mypy called with []" in done.stdout
    assert "lint-imports called with [--no-logo]" in done.stdout


def test_every_hook_is_a_tool_of_make_that_is_installed() -> None:
    config = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    make = (ROOT / "Makefile").read_text("utf-8")
    assert config["default_install_hook_types"] == ["pre-commit", "pre-push"]
    (local,) = config["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        program, *_ = hook["entry"].split()
        assert hook["language"] == "system"
        assert (TOOLS / program).exists()
        assert re.search(rf"\$\(BIN\)/(python -m )?{program}\b", make)
