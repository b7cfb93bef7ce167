"""The page for users of other libraries keeps its promises: forty tasks, each with no more lines in trueup, and each one run.

A task is a heading of the third level with the code of the other library (`py title="…"`), and ours (`python title="trueup"`). Blocks
without a title are shared by both sides. Ours is run with the shared names alone, so every import it needs is counted.
"""

import ast
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.leftovers import collected

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "howto" / "coming-from.md"
LIBRARIES = ["instructor", "pydantic-ai", "LangChain parsers", "guardrails", "json_repair", "BAML"]
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    title: str
    code: str
    line: int


class Task(NamedTuple):
    library: str
    name: str
    blocks: list[Block]

    @property
    def ours(self) -> list[Block]:
        return [block for block in self.blocks if block.title == "trueup"]

    @property
    def theirs(self) -> list[Block]:
        return [block for block in self.blocks if block.title not in {"", "trueup"}]


def blocks_in(text: str, at: int) -> list[Block]:
    return [
        Block(match[1], match[2] or "", match[3], at + text.count("\n", 0, match.start(3)))
        for match in _FENCE.finditer(text)
    ]


def read_page(text: str) -> tuple[list[Task], list[Block]]:
    """The tasks of the page, and all its blocks in order."""
    tasks, library, at = [], "", 0
    for part in re.split(r"^(?=##)", text, flags=re.MULTILINE):
        head, _, _ = part.partition("\n")
        if head.startswith("### "):
            tasks.append(Task(library, head[4:], blocks_in(part, at)))
        elif head.startswith("## "):
            library = head[3:]
        at += part.count("\n")
    return tasks, blocks_in(text, 0)


def counted(blocks: list[Block]) -> int:
    """Lines with code: neither blank nor only a comment."""
    lines = [line.strip() for block in blocks for line in code_of(block).splitlines()]
    return len([line for line in lines if line and not line.startswith(("#", "//"))])


def code_of(block: Block) -> str:
    """The code of a block; of a console, its commands."""
    if block.language != "console":
        return block.code
    return "\n".join(line for line in block.code.splitlines() if line.startswith("$ "))


TASKS, BLOCKS = read_page(PAGE.read_text("utf-8"))
EACH = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def test_there_are_forty_tasks_in_six_sections() -> None:
    assert len(TASKS) >= 40
    assert list(dict.fromkeys(task.library for task in TASKS)) == LIBRARIES
    assert len({task.name for task in TASKS}) == len(TASKS)


@EACH
def test_a_task_has_both_sides_and_trueup_takes_no_more_lines(task: Task) -> None:
    assert task.theirs, "the code of the other library is missing"
    assert len(task.ours) == 1
    assert counted(task.ours) <= counted(task.theirs)
    assert {block.title for block in task.theirs} == {task.library.split()[0]}


def test_both_sides_are_formatted_alike(tmp_path: Path) -> None:
    """No side wins by longer lines or by several statements on one."""
    for number, block in enumerate(BLOCKS):
        if block.language in {"py", "python"}:
            (tmp_path / f"line_{block.line}_{number}.py").write_text(block.code, "utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--check", "--diff", "--line-length", "120", "--no-cache", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def shown(block: Block) -> str:
    """The output that a block shows in its lines that begin with `# → `."""
    return "".join(f"{line[4:]}\n" for line in block.code.splitlines() if line.startswith("# → "))


def printed(block: Block, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.code, str(PAGE), "exec"), names)
    return out.getvalue()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names of a module in which blocks can run, in a separate folder. Its environment variables are removed afterwards."""
    before = dict(os.environ)
    monkeypatch.chdir(tmp_path)
    example = type(sys)("example")  # pydantic looks up the module of a class
    monkeypatch.setitem(sys.modules, "example", example)
    yield example.__dict__
    os.environ.clear()
    os.environ.update(before)


def test_ours_prints_what_it_shows_with_its_own_imports(module: dict[str, Any]) -> None:
    with collected():
        for block in BLOCKS:
            if block.language == "python" and block.title:
                assert printed(block, dict(module)) == shown(block)
            elif block.language == "python":
                printed(block, module)
        module.clear()


def importable(block: Block) -> bool:
    """Whether everything that a block imports is installed."""
    imports = [node for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    return all(importlib.util.find_spec(name.partition(".")[0]) for name in names)


_CALLING = "pydantic-ai"  # it reads its output from a tool call, and the replies of the page are texts


def test_the_other_side_runs_too_where_its_library_is_installed(module: dict[str, Any]) -> None:
    run = 0
    with collected():
        for block in BLOCKS:
            if block.language == "python" and not block.title:
                printed(block, module)
            elif block.language == "py" and block.title != _CALLING and importable(block):
                assert printed(block, dict(module))
                run += 1
        module.clear()
    assert run >= 5, "LangChain's parsers are installed with the tests"
