"""trueup as a user gets it: an sdist, the wheel built from it, and an environment with that wheel and its locked dependencies.

All workers of a test run share one build. The first worker that needs it makes it, and the others wait at a lock.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from uv import find_uv_bin

from tests.conftest import ROOT
from tools.environment import Environment

LOCK = ROOT / "requirements" / "gateway.lock"  # everything that `trueup serve` and `trueup studio` need


class Built(NamedTuple):
    """The two files that `python -m build` writes."""

    sdist: Path
    wheel: Path


class Installed(NamedTuple):
    """An environment that contains the wheel and no files of the checkout."""

    python: str
    trueup: str

    def run(self, *words: str, folder: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a program of this environment in a folder."""
        return subprocess.run(
            words, cwd=folder, env=environment(), input=stdin, capture_output=True, text=True, timeout=300, check=False
        )


def environment() -> dict[str, str]:
    """The variables of this process, without those that lead Python to the checkout or change what is printed."""
    hidden = ("PYTHON", "VIRTUAL_ENV", "TRUEUP_", "OTEL_", "FORCE_COLOR", "NO_COLOR")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(hidden)}, "PYTHONUTF8": "1"}


def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist of the checkout, and the wheel built from that sdist. Nothing is downloaded."""
    folder = _shared(tmp_path_factory) / "dist"
    with (folder.parent / "dist.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            done = subprocess.run(
                [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A new virtual environment with the wheel."""
    wheel = built(tmp_path_factory).wheel
    folder = _shared(tmp_path_factory) / "installed"
    made = Environment(folder)
    with (folder.parent / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            made.uv = find_uv_bin()
            made.create(None)
            made.install("--require-hashes", "-r", str(LOCK))
            made.install("--no-deps", str(wheel))
            (folder / "ready").touch()
    return Installed(str(made.python), str(made.bin / "trueup"))


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
