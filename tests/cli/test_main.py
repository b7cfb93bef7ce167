"""The command itself: help, version, mistakes, and import time."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import trueup
from tests.cli.running import Run, clean_environment
from trueup.cli.main import COMMANDS, EXTRAS, GROUPS, main
from trueup.verdict.extras import install

ROOT = Path(__file__).resolve().parents[2]


def test_help_names_every_command(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name, sentence in COMMANDS.items():
        assert f"  {name}" in done.out
        assert sentence in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(name: str, run: Run) -> None:
    with click.Context(main) as context:
        command = main.get_command(context, name)
    assert command is not None
    assert command.name == name
    assert run(name, "--help").out.startswith(f"Usage: trueup {name}")


def test_help_fits_a_screen_and_groups_the_commands(run: Run) -> None:
    lines = run("--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")] == ["Options", *GROUPS]


def test_version(run: Run) -> None:
    assert run("--version").out == f"trueup {trueup.__version__}\n"


def test_a_mistyped_command_gets_a_suggestion(run: Run) -> None:
    done = run("chek")
    assert done.code == 2
    assert "did you mean 'check'" in done.err.lower()


def test_an_unknown_command_without_a_similar_one_points_to_the_list(run: Run) -> None:
    done = run("zzz")
    assert (done.code, "trueup: unknown command 'zzz'. `trueup --help` lists them all." in done.err) == (2, True)


def test_a_value_that_is_not_a_number_is_reported_without_names_of_types(run: Run) -> None:
    assert "Invalid value for '--max-depth': 'x' is not a whole number." in run("check", "--max-depth", "x").err
    assert "Invalid value for '--max-depth': '1.5' is not a whole number." in run("check", "--max-depth", "1.5").err
    assert "is not a number." in run("pause", "r", "--wait", "soon").err


def test_without_a_command_it_shows_help(run: Run) -> None:
    done = run()
    assert (done.code, done.out) == (2, "")
    assert done.err == run("--help").out


def test_help_imports_nothing_heavy() -> None:
    code = "import sys\nfrom trueup.cli.main import main\ntry:\n main(['--help'])\nfinally:\n print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"rich", "msgspec", "orjson", "jsonschema_rs", "rapidfuzz", "pydantic"} & set(out.split())


def test_every_package_of_an_extra_is_known_to_be_one() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {
        re.split(r"[\[>;= ]", need)[0].replace("-", "_"): extra for extra, needs in extras.items() for need in needs
    }
    modules = {
        name if not name.startswith("opentelemetry") else "opentelemetry": extra for name, extra in named.items()
    }
    assert set(EXTRAS) == set(modules)
    for module, extra in EXTRAS.items():
        assert any(need.replace("-", "_").startswith(module) for need in extras[extra]), module


def test_a_package_that_is_missing_is_named_with_its_extra(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import trueup.cli.commands.explain as it\n"
        "def broken(*_):\n    raise ModuleNotFoundError('No module', name='httptools.parser')\n"
        "it._list = broken\n"
    )
    done = run("explain", PYTHONPATH=str(tmp_path))
    assert (done.code, done.err) == (2, f"trueup: httptools.parser is not installed: {install('gateway')}\n")


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trueup", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=clean_environment())
    assert done.stdout == f"trueup {trueup.__version__}\n"
