"""The command that installs an extra: it has every package of pyproject.toml, in any shell, and never trueup."""

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from trueup.verdict.extras import install

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_has_the_packages_that_the_project_names(extra: str) -> None:
    pip, command, *packages = shlex.split(install(extra))
    assert (pip, command) == ("pip", "install")
    assert {str(Requirement(package)) for package in packages} == {str(Requirement(each)) for each in EXTRAS[extra]}


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_shell_reads_the_command_alike(extra: str) -> None:
    outside = re.sub(r'"[^"]*"', "", install(extra))
    assert re.fullmatch(r"[a-z ]+", outside), "cmd.exe knows no single quotes, and < and > redirect"
    assert not re.search(r"[$`\\%]|!(?!=)", install(extra)), "these mean something between double quotes"


def test_sources_that_are_not_installed_say_where_the_packages_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", requires)
    assert install("http") == "install the packages of the extra 'http', which trueup's pyproject.toml lists"


def test_every_extra_that_the_sources_name_exists() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py") if path.name != "extras.py"]
    named = {name for source in sources for name in re.findall(r"install\([\'\"]([\w-]+)[\'\"]\)", source)}
    assert len(named) > 8
    assert named <= set(EXTRAS)


def test_the_page_lists_every_extra() -> None:
    section = (ROOT / "docs" / "index.md").read_text("utf-8").partition("\n## Install\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(rows))) == sorted(EXTRAS)
