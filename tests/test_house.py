"""The conventions of the house, as tests: what a reviewer would otherwise have to say again and again."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from trueup.verdict.catalogue import FINDINGS, FIXES

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "trueup"
MODULES = sorted(SRC.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOLDERS = ("src", "tests", "docs", "tools", "examples", "bench", "requirements", ".ci")
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".json", ".jsonl", ".txt", ".lock", ".cfg", ".in", ".svg", ".css", ""}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def own_files() -> list[Path]:
    """Every text file that is part of the project, wherever it is checked out."""
    files = [p for p in ROOT.iterdir() if p.is_file()]
    for folder in FOLDERS:
        files += [p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return sorted(p for p in files if p.suffix in TEXT and p.name != "LICENSE")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short_and_says_what_it_does(path: Path) -> None:
    tree = tree_of(path)
    assert len(path.read_text("utf-8").splitlines()) <= 400, "over 400 lines: split it by nouns"
    assert ast.get_docstring(tree), "no docstring: what enters, what leaves, what it refuses to do"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= 60, f"{node.name} has {lines} lines, over 60"


@pytest.mark.parametrize("path", [p for p in MODULES if "cli" not in p.parts], ids=name_of)
def test_only_the_command_line_prints(path: Path) -> None:
    calls = (n.func for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call))
    assert not [f.lineno for f in calls if isinstance(f, ast.Name) and f.id in {"print", "input", "breakpoint"}]


def test_of_urllib_only_parse_is_used() -> None:
    # import-linter sees whole packages; parsing an address is no I/O, opening one is.
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [n for n in names if n.split(".")[0] == "urllib" and n != "urllib.parse"], name_of(path)


def test_inner_inits_hold_only_a_docstring() -> None:
    for path in SRC.rglob("*/__init__.py"):
        body = tree_of(path).body
        assert len(body) == 1, f"{name_of(path)} holds code"
        assert isinstance(body[0], ast.Expr), f"{name_of(path)} holds code"


def test_the_front_door_is_small() -> None:
    import trueup

    assert len((SRC / "__init__.py").read_text("utf-8").splitlines()) <= 60
    for name in trueup.__all__:
        assert getattr(trueup, name) is not None
    assert set(trueup.__all__) <= set(dir(trueup))
    with pytest.raises(AttributeError, match="no attribute 'Contrakt'"):
        _ = trueup.Contrakt


def test_no_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert not [name_of(p) for p in SRC.rglob("*") if p.stem in drawers]


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    kinds = {**FIXES, **FINDINGS}
    assert len(kinds) == len(FIXES) + len(FINDINGS), "a code is both a fix and a finding"
    pages = {p.stem for p in (SRC / "findings").glob("*.md")}
    assert pages == {f"{kind.code}-{kind.name}" for kind in kinds.values()}
    assert not [code for code in kinds if not re.fullmatch(r"[A-Z]{1,3}\d{3}", code)]


def test_readme_is_short_and_starts_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) < 200
    assert text.index("make demo") < text.index("make test") < text.index("```python")


def test_nothing_names_this_machine_or_a_registry() -> None:
    # Built from pieces, so that this file does not name them either.
    words = [
        "/" + "work/",
        "/" + "root/",
        "/" + "opt/",
        "/" + "home/",
        "files." + "pythonhosted",
        "pypi" + ".org/simple",
    ]
    words += ["registry." + "npmjs", "--" + "index-url http", "extra-" + "index-url", "deb." + "debian"]
    found = []
    for path in own_files():
        text = path.read_text("utf-8", errors="replace")
        found += [f"{name_of(path)}: {word}" for word in words if word in text]
        if not path.is_relative_to(ROOT / "tests") and "/" + "tmp/" in text:  # a test may hold one as data
            found.append(f"{name_of(path)}: an absolute temporary path")
    assert not found


def test_the_lock_is_hashed_and_names_no_host() -> None:
    text = (ROOT / "requirements" / "dev.lock").read_text("utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=\S)", text):
        assert entry.startswith("#") or "--hash=sha256:" in entry, entry
    names = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    needed = {re.split(r"[<>=!~\[]", need)[0].replace(".", "-") for need in PROJECT["dependencies"]}
    assert needed <= names


def test_changelog_and_package_agree_on_the_version() -> None:
    import trueup

    assert trueup.__version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (\S+)", changelog, re.MULTILINE)
    assert PROJECT["version"] in heads[:2], "the newest heading is the current version, or Unreleased above it"


@pytest.mark.spec("X49")
def test_few_dependencies_each_with_its_reason() -> None:
    names = [re.split(r"[<>=!~\[;]", need)[0].strip() for need in PROJECT["dependencies"]]
    assert len(names) <= 8
    reasons = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert not [name for name in names if f"| {name} |" not in reasons]


def import_seconds(what: str) -> float:
    """CPU time of importing `what` in a fresh interpreter, the interpreter's own start not counted."""
    code = f"import time; t = time.process_time(); {what}; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.perf
def test_import_is_quick() -> None:
    assert min(import_seconds("import trueup") for _ in range(5)) < 0.050
    assert min(import_seconds("from trueup import Contract") for _ in range(5)) < 0.150


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, trueup; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"msgspec", "orjson", "jsonschema_rs", "rapidfuzz", "click", "rich", "pydantic"} & set(loaded)
