"""Contracts of a test run: each file is read once, and again after a change."""

from functools import lru_cache
from pathlib import Path

from trueup.contract.contract import Contract


def contract_at(path: Path) -> Contract:
    """The contract in a file."""
    changed = path.stat().st_mtime_ns if path.exists() else 0
    return _loaded(str(path), changed)


@lru_cache(maxsize=64)
def _loaded(path: str, changed: int) -> Contract:  # noqa: ARG001 - a changed file is another one
    return Contract.load(path)
