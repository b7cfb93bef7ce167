"""Readers for the output of the commands: lines of JSON, the log of a run, a configuration to change."""

import json
from pathlib import Path
from typing import Any

import yaml


def rows(source: Path | str) -> list[dict[str, Any]]:
    """The lines of a file or of an output."""
    text = source.read_text("utf-8") if isinstance(source, Path) else source
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def flat_rows(source: str) -> list[dict[str, Any]]:
    """Flat units without the field that lists their changes."""
    return [{name: value for name, value in row.items() if name != "_trueup"} for row in rows(source)]


def by_id(source: Path | str) -> dict[str, dict[str, Any]]:
    return {row["unit_id"]: row for row in rows(source)}


def lines(*units: dict[str, Any]) -> str:
    return "".join(json.dumps(unit) + "\n" for unit in units)


def log_of(run: Path) -> list[str]:
    """The log of a run, without the times."""
    return [line.partition(" ")[2] for line in (run / "RUN_LOG.txt").read_text("utf-8").splitlines()]


def change(config: Path, *path: str | int, to: Any = ...) -> None:
    """Set one value of a configuration, or take it out."""
    data = yaml.safe_load(config.read_text("utf-8"))
    here = data
    for part in path[:-1]:
        here = here[part]
    if to is ...:
        del here[path[-1]]
    else:
        here[path[-1]] = to
    config.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
