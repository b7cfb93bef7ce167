"""The pre-commit hook for contract files: pre-commit installs this checkout and runs the hook in a user's
repository."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

GOOD = "schema: {type: object, required: [name]}\n"
BAD = "shema: {type: object}\n"

pytestmark = [pytest.mark.needs("checkout"), pytest.mark.timeout(500)]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def config_of_the_page(root: Path) -> dict[str, Any]:
    """The configuration that docs/howto/ci.md shows, for the commit that is checked out here."""
    page = (root / "docs" / "howto" / "ci.md").read_text("utf-8")
    (block,) = re.findall(r"^```yaml\n(repos:.*?)^```$", page, re.MULTILINE | re.DOTALL)
    config: dict[str, Any] = YAML(typ="safe").load(block)
    config["repos"][0] |= {"repo": str(root), "rev": git(root, "rev-parse", "HEAD")}
    return config


def test_the_hook_lints_contract_files_and_no_others(root: Path, tmp_path: Path) -> None:
    for name, text in {
        ".pre-commit-config.yaml": json.dumps(config_of_the_page(root)),
        "contracts/person.yaml": GOOD,
        "contracts/shop.yaml": BAD,
        "contracts/person.json": '{"type": "object"}',  # a schema that a contract names
        "docs/contract.toml": 'shema = "x"\n',
        "docker-compose.yaml": "services: {}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    home = tmp_path / ".git" / "pre-commit"
    done = subprocess.run(
        [Path(sys.executable).with_name("pre-commit"), "run", "--all-files", "--verbose", "--color", "never"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=450,
        env={**os.environ, "PRE_COMMIT_HOME": str(home), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
             "GIT_CONFIG_VALUE_0": "*"},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "contracts/shop.yaml:1:1: error[N005] unknown key 'shema'. Did you mean 'schema'?" in done.stdout
    assert "docs/contract.toml:1:1: error[N005]" in done.stdout
    assert "3 files" in done.stdout
    assert "docker-compose" not in done.stdout
