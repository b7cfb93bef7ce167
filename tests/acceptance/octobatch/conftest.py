"""Shared fixtures of the suite: a folder with the two pipelines of the document, and the command line."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import run, starter

__all__ = ["run", "starter"]

PIPELINES = Path(__file__).parent / "pipelines"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both pipelines, in which the commands run."""
    for name in ("tarot", "npc"):
        shutil.copytree(PIPELINES / name, tmp_path / name)
    return tmp_path
