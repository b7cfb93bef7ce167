"""The results of mypy and pyright for a user's program, and whether the types that they read match the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from trueup.checks.order import Order
from trueup.checks.rules import RULE_KEYS, SECTIONS
from trueup.contract.calls import CallOptions
from trueup.contract.option_types import CallTable, OrderTable, RulesTable, RuleTable

PROGRAM = Path(__file__).with_name("user_program.py")
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "mypy_user"
Said = dict[int, set[str]]  # by line: what `reveal_type` shows, or the codes of errors

_COMMENT = re.compile(r"  # (?:is: (?P<type>.*?)|error: (?P<mypy>.*?); (?P<pyright>.*?))(?:  #.*)?$")
_MYPY = re.compile(r'^[^:]+:(\d+): (?:note: Revealed type is "(.*)"|error: .*\[([\w-]+)\])$', re.MULTILINE)


def expected(checker: str) -> Said:
    """The results that the comments of the program expect."""
    said: Said = {}
    for number, line in enumerate(PROGRAM.read_text("utf-8").splitlines(), 1):
        if found := _COMMENT.search(line):
            said[number] = {found["type"]} if found["type"] else set(found[checker].split(", "))
    return said


def plain(shown: str) -> str:
    """A type of mypy in pyright's notation: without modules, a TypedDict by its name, one Literal for many."""
    shown = re.sub(r"TypedDict\(([\w.]+), \{.*?\}\)", r"\1", shown)
    shown = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", shown)
    return re.sub(r"'\] \| Literal\['", "', '", shown)


def run(folder: Path, *words: str) -> str:
    """The output of a checker, run on a copy of the program outside of this project. Nothing is fetched."""
    shutil.copy(PROGRAM, folder)
    settings = {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "PYRIGHT_PYTHON_USE_BUNDLED_PYRIGHT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder, env={**os.environ, **settings}, capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr  # errors were found, and it did not crash
    return done.stdout


def mypy(folder: Path) -> Said:
    said: Said = defaultdict(set)
    written = run(folder, "mypy", "--strict", "--config-file=", "--cache-dir", str(CACHE), PROGRAM.name)
    for line, shown, code in _MYPY.findall(written):
        said[int(line)].add(plain(shown) if shown else code)
    return dict(said)


def pyright(folder: Path) -> Said:
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    said: Said = defaultdict(set)
    written = run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable, PROGRAM.name)
    for found in json.loads(written)["generalDiagnostics"]:
        shown = re.fullmatch(r'Type of ".*" is "(.*)"', found["message"], re.DOTALL)
        assert shown or found["severity"] == "error", found
        said[found["range"]["start"]["line"] + 1].add(shown[1] if shown else found["rule"])
    return dict(said)


def test_mypy_understands_a_users_program(tmp_path: Path) -> None:
    assert mypy(tmp_path) == expected("mypy")


def test_pyright_understands_a_users_program(tmp_path: Path) -> None:
    assert pyright(tmp_path) == expected("pyright")


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (CallTable, CallOptions.__struct_fields__),
        (OrderTable, Order.__struct_fields__),
        (RulesTable, SECTIONS),
        (RuleTable, RULE_KEYS),
    ],
    ids=["calls", "order", "rules", "rule"],
)
def test_the_tables_for_editors_name_every_option(table: type, names: tuple[str, ...]) -> None:
    assert table.__optional_keys__ == set(names)  # type: ignore[attr-defined]
