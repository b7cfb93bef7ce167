"""One code, two ways to run it: which modules are compiled is known, and the compiled run really is one.

`make compiled` runs the tests of the engine on compiled modules and sets TRUEUP_COMPILED.
"""

import importlib.util
import os
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trueup.measure.build import build


def _hook(root: Path) -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", root / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


def _hot(root: Path) -> list[str]:
    source = root / "src"
    return [".".join(p.relative_to(source).with_suffix("").parts) for p in _hook(root).hot_modules(source / "trueup")]


def test_the_hot_modules_are_the_engine_and_never_what_users_derive_from(root: Path) -> None:
    hot = _hot(root)
    assert {
        "trueup.recover.json.splice",
        "trueup.recover.json.sweeps",
        "trueup.recover.json.parser",
        "trueup.contract.judge",
    } <= set(hot)
    assert not {"trueup.contract.contract", "trueup.verdict.verdict", "trueup.recover.json.growing"} & set(hot)
    assert {name.split(".")[1] for name in hot} == {"recover", "conform", "contract"}


def test_what_runs_is_what_was_asked_for(root: Path) -> None:
    asked = os.environ.get("TRUEUP_COMPILED") == "1"
    assert build() == ("compiled" if asked else "pure Python")
    for name in _hot(root):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert str(spec.origin).endswith(tuple(EXTENSION_SUFFIXES)) == asked, name


@pytest.mark.parametrize("value", ["", "0"])
def test_a_build_is_pure_unless_asked(root: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    hook = _hook(root)
    monkeypatch.setenv("TRUEUP_COMPILE", value)
    assert not hook.wanted()
    monkeypatch.setenv("TRUEUP_COMPILE", "1")
    assert hook.wanted()


def test_a_build_in_isolation_gets_what_the_modules_are_compiled_by(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (root / "pyproject.toml").open("rb") as opened:
        needed = tomllib.load(opened)["project"]["dependencies"]
    known = SimpleNamespace(core=SimpleNamespace(dependencies=needed))
    made = _hook(root).CompiledModules(str(root), {}, None, known, "", "wheel")
    monkeypatch.setenv("TRUEUP_COMPILE", "1")
    assert {*needed, "mypy>=2.4"} <= set(made.dependencies())
    monkeypatch.delenv("TRUEUP_COMPILE")
    assert made.dependencies() == []
