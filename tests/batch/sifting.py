"""Shared by the tests of sifting: files of lines, a contract, a run, and its results."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import UnitLimits
from trueup.batch.sift import SiftOptions, sift

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


class Ran(NamedTuple):
    """The results of a run."""

    valid: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    summary: dict[str, Any]
    out: Path

    @property
    def codes(self) -> dict[str, list[str]]:
        """The codes of each failed unit."""
        return {row["unit_id"]: [error["code"] for error in row["errors"]] for row in self.failed}


def unit(uid: Any, reply: Any = '{"name": "Ada", "age": 36}', **more: Any) -> str:
    """A line with a unit."""
    return json.dumps({"unit_id": uid, "input": {"n": 1}, "raw_response": reply, **more})


def write(path: Path, lines: list[str] | list[bytes] | bytes) -> Path:
    """Write a file of lines."""
    if isinstance(lines, list):
        lines = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    path.write_bytes(lines)
    return path


def run(folder: Path, lines: Any, contract: Any = None, *, out: str = "out", **options: Any) -> Ran:
    """Sift lines in a folder."""
    file = write(folder / "lines.jsonl", lines)
    return run_files(folder, [str(file)], contract, out=out, **options)


def run_files(folder: Path, files: list[str], contract: Any = None, *, out: str = "out", **options: Any) -> Ran:
    """Sift files into a folder."""
    guard = UnitLimits(options.pop("seconds", 60.0), options.pop("megabytes", 1024))
    stdin = options.pop("stdin", None)
    spec = spec_of(contract) if contract is not None else spec_of(options={"schema": SCHEMA})
    settings = SiftOptions(**{"workers": 1, "guard": guard, **options})
    result = sift(files, spec, folder / out, settings, stdin=stdin)
    return read_run(folder / out, result.summary)


def read_run(out: Path, summary: dict[str, Any] | None = None) -> Ran:
    """The files in the folder of a run."""
    files = [
        [json.loads(line) for line in (out / name).read_bytes().splitlines()]
        for name in ("validated.jsonl", "failures.jsonl")
    ]
    return Ran(files[0], files[1], summary or json.loads((out / "summary.json").read_bytes()), out)


def bytes_of(out: Path) -> dict[str, bytes]:
    """The files of a run, without the times in the summary."""
    found = {name: (out / name).read_bytes() for name in ("validated.jsonl", "failures.jsonl")}
    summary = json.loads((out / "summary.json").read_bytes())
    del summary["timings"]
    return {**found, "summary.json": json.dumps(summary).encode()}
