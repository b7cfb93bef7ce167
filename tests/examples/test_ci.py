"""The example workflow for GitHub Actions: its own steps, run in a repository with the sample replies."""

import os
import shutil
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

pytestmark = [pytest.mark.needs("checkout"), pytest.mark.timeout(500)]
_GIT = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def job(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(root / "examples" / "ci" / "backtest.yml")["jobs"]["backtest"]
    return loaded


class Runner:
    """A repository of a user with one pull request, and what GitHub sets for its steps."""

    def __init__(self, root: Path, folder: Path, programs: Path) -> None:
        self.root, self.folder = root, folder / "repository"
        self.summary, self.temporary = folder / "summary.md", folder / "temporary"
        self.temporary.mkdir()
        for name in ("contracts/people.yaml", "replies/people.jsonl"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / "examples" / name, self.folder / name)
        git(self.folder, "init", "-q")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", "Start")
        git(self.folder, "update-ref", "refs/remotes/origin/main", "HEAD")
        (self.folder / ".trueup").symlink_to(root)
        self.environment = {
            **os.environ, **_GIT, **job(root)["env"], "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(self.summary), "RUNNER_TEMP": str(self.temporary),
        }  # fmt: skip

    def change(self, old: str, new: str) -> None:
        file = self.folder / "contracts" / "people.yaml"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def run(self, *names: str) -> subprocess.CompletedProcess[str]:
        """Run the steps with these words in their names as GitHub does, up to the first that fails."""
        done = None
        for step in job(self.root)["steps"]:
            if any(name in step.get("name", "") for name in names):
                done = subprocess.run(
                    ["bash", "-e", "-c", step["run"]], cwd=self.folder, env=self.environment,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=450,
                )  # fmt: skip
                if done.returncode:
                    break
        assert done is not None
        return done


@pytest.fixture(scope="module")
def programs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment, into which the first step of the workflow installs trueup."""
    folder = tmp_path_factory.mktemp("ci")
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    installed = Runner(root, folder, programs).run("Install")
    assert installed.returncode == 0, installed.stdout
    assert (programs / "trueup").exists()
    return programs


@pytest.fixture
def runner(root: Path, tmp_path: Path, programs: Path) -> Runner:
    return Runner(root, tmp_path, programs)


def test_a_rule_that_refuses_too_much_fails_with_a_summary(runner: Runner) -> None:
    runner.change("level: warning", "level: error")
    done = runner.run("Lint", "Backtest")
    assert done.returncode == 1, done.stdout
    assert "--fail-if 'newly_refused > 2%' is true" in done.stdout
    summary = runner.summary.read_text("utf-8")
    assert "newly refused" in summary
    assert "B005" in summary


def test_a_change_that_flips_nothing_passes(runner: Runner) -> None:
    runner.change("level: warning", "level: warning  # for now")
    done = runner.run("Lint", "Backtest")
    assert done.returncode == 0, done.stdout
    assert runner.summary.exists()


def test_an_old_contract_is_read_with_the_files_that_it_names(runner: Runner) -> None:
    contracts = runner.folder / "contracts"
    (contracts / "person.json").write_text('{"type": "object"}', "utf-8")
    (contracts / "a person.yaml").write_text("schema: person.json\n", "utf-8")
    (contracts / "README.md").write_text("Contracts.\n", "utf-8")
    git(runner.folder, "add", "contracts")
    git(runner.folder, "commit", "-qm", "Add a contract with a schema in its own file")
    git(runner.folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    (contracts / "person.json").write_text('{"type": "object", "required": ["nobody has this"]}', "utf-8")
    (contracts / "a person.yaml").write_text("name: person\nschema: person.json\n", "utf-8")
    (contracts / "README.md").write_text("The contracts.\n", "utf-8")
    done = runner.run("Lint", "Backtest")
    assert done.returncode == 1, done.stdout
    assert "V002" in runner.summary.read_text("utf-8")


def test_no_contract_is_backtested_if_none_has_changed(runner: Runner) -> None:
    assert runner.run("Lint", "Backtest").returncode == 0
    assert not runner.summary.exists()


def test_a_fault_in_a_contract_fails_before_the_backtest(runner: Runner) -> None:
    runner.change("schema:", "shema:")
    done = runner.run("Lint", "Backtest")
    assert done.returncode == 1
    assert "N005" in done.stdout
    assert not runner.summary.exists()


def test_every_step_is_run_here_or_is_a_public_action(root: Path) -> None:
    steps = job(root)["steps"]
    assert [step["name"].split()[0] for step in steps if "run" in step] == ["Install", "Lint", "Backtest"]
    assert all(step["uses"].startswith("actions/") for step in steps if "run" not in step)


def test_the_page_shows_the_workflow(root: Path) -> None:
    page = (root / "docs" / "howto" / "ci.md").read_text("utf-8")
    workflow = (root / "examples" / "ci" / "backtest.yml").read_text("utf-8")
    assert workflow[workflow.index("name: contracts") :] in page
