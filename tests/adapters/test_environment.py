"""Some libraries of adapters need a separate environment. This runs the tests, docstrings and page sections of their adapters there."""

import os
import subprocess

import pytest

from tests.adapters.elsewhere import ADAPTERS, ELSEWHERE, PYTHON, ROOT


@pytest.mark.needs("adapters")
@pytest.mark.parametrize("name", [name for name in ADAPTERS if name in ELSEWHERE])
def test_an_adapter_works_in_the_environment_of_its_library(name: str) -> None:
    files = [f"tests/adapters/test_{name}.py", f"src/trueup/adapters/{name}.py"]
    page = f"tests/adapters/test_page.py::test_the_section_of_an_adapter_runs[{name}]"
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, page],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout, done.stdout
