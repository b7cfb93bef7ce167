"""Shared by the tests of pipelines: pipelines written to a folder, runs of them, disks that break, and their results."""

import json
import os
import random
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueup.ask.clients.request import Request
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.providers.replay import ReplayProvider
from trueup.batch.pipeline.rundir.create import RunSettings, create_run
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.rundir.state import Money
from trueup.batch.pipeline.running.run import PipelineOptions, RunEnd, execute
from trueup.batch.pipeline.verifying.recheck import recheck
from trueup.batch.pipeline.verifying.verify import verify

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "pipelines"
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
GOOD = '{"answer": "yes, of course"}'


def asking(name: str, schema: Any = None, template: str = "Say {{ unit_id }}.", rules: Any = None) -> dict[str, Any]:
    """A step that asks, with its template, schema and rules."""
    return {
        "name": name,
        "_schema": schema or ANSWER,
        "_template": template,
        "_rules": rules or {"required": ["answer"]},
    }


def write_pipeline(
    folder: Path,
    steps: Sequence[dict[str, Any]],
    items: Sequence[Mapping[str, Any]] = ({"id": "a"}, {"id": "b"}, {"id": "c"}),
    replies: Sequence[Mapping[str, Any]] = (),
    *,
    api: Mapping[str, Any] | None = None,
    chunk_size: int = 2,
    file: str = "config.yaml",
    **sections: Any,
) -> Path:
    """Write a pipeline, and return its folder."""
    for name in ("templates", "schemas"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    asks = [step for step in steps if "_schema" in step]
    for step in asks:
        (folder / "templates" / f"{step['name']}.jinja2").write_text(step["_template"], "utf-8")
        (folder / "schemas" / f"{step['name']}.json").write_text(json.dumps(step["_schema"]), "utf-8")
    config: dict[str, Any] = {
        "pipeline": {"steps": [{k: v for k, v in step.items() if not k.startswith("_")} for step in steps]},
        "api": {
            "provider": "replay",
            "replay": {"source": "replies.jsonl"},
            "retry": {"max_attempts": 3, "initial_delay_seconds": 0},
            **(api or {}),
        },
        "processing": {
            "strategy": "direct",
            "chunk_size": chunk_size,
            "items": {"source": "items.json", "name_field": "id"},
            **sections.pop("processing", {}),
        },
        "prompts": {"templates": {s["name"]: f"{s['name']}.jinja2" for s in asks}, **sections.pop("prompts", {})},
        "schemas": {"files": {step["name"]: f"{step['name']}.json" for step in asks}},
        "validation": {step["name"]: step["_rules"] for step in asks},
        **sections,
    }
    (folder / file).write_text(json.dumps(config, indent=1), "utf-8")
    (folder / "items.json").write_text(json.dumps(list(items)), "utf-8")
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies), "utf-8")
    return folder


def reply(step: str, unit: str, *texts: str, tokens: int = 10) -> list[dict[str, Any]]:
    """Recorded replies of a unit in a step, each with its tokens."""
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    return [{"step": step, "unit_id": unit, "raw_response": text, "usage": usage} for text in texts]


class Ran(NamedTuple):
    """The results of a run."""

    path: Path
    result: RunEnd
    valid: list[dict[str, Any]]
    failed: list[dict[str, Any]]

    @property
    def run(self) -> RunDir:
        return RunDir.look(self.path)

    @property
    def money(self) -> Money:
        return self.run.state.money()

    @property
    def ids(self) -> tuple[list[str], list[str]]:
        return [unit["unit_id"] for unit in self.valid], [record["unit_id"] for record in self.failed]


def start(folder: Path, target: Path, disk: Disk | None = None, **wanted: Any) -> Path:
    quick = folder / "config.json"  # read much faster than YAML
    return create_run(read_config(quick if quick.exists() else folder), target, RunSettings(**wanted), disk)


def go(path: Path, options: PipelineOptions | None = None, **more: Any) -> Ran:
    """Continue a run, and return its results."""
    return seen(path, execute(path, options, **more))


def run_pipeline(folder: Path, target: Path, options: PipelineOptions | None = None, **more: Any) -> Ran:
    """Make a run and run it to its end."""
    return go(start(folder, target), options, **more)


def seen(path: Path, result: RunEnd) -> Ran:
    return Ran(path, result, lines(path / "validated.jsonl"), lines(path / "failures.jsonl"))


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def timeless(units: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Units without the times of their replies, to compare two runs."""
    return [
        {**unit, "_metadata": {step: {**about, "at": ""} for step, about in unit["_metadata"].items()}}
        for unit in units
    ]


def assert_whole(path: Path) -> None:
    """Every unit is there exactly once, the files match the journal, and the stored values are what the contract gives."""
    run = RunDir.look(path)
    assert [*verify(run), *recheck(run, None).problems] == []


def results(path: Path) -> list[dict[str, Any]]:
    """Every recorded reply of a run."""
    files = sorted((path / "chunks").glob("*/*_results.jsonl"))
    return [row for file in files for row in lines(file) if "raw_response" in row]


class Crash(BaseException):
    """The process is gone."""


class BreakingDisk(Disk):
    """Dies at a given operation, in the middle of it if it is a write; with `power`, unsynced bytes may be lost.

    A power cut keeps any part of the bytes appended since the last sync, and may undo the renaming of a file whose folder was not
    synced.
    """

    def __init__(self, at: int, seed: int, *, power: bool = False) -> None:
        self._left = at
        self._random = random.Random(seed)
        self._power = power
        self._synced: dict[Path, int] = {}
        self._renamed: dict[Path, bytes | None] = {}
        self._turn = threading.RLock()  # files are written from several threads
        self.dead = False
        self.operations = 0

    def _step(self) -> bool:
        """Count an operation. Returns whether it is the last one."""
        if self.dead:
            raise Crash
        self.operations += 1
        self._left -= 1
        return self._left == 0

    def _die(self) -> None:
        self.dead = True
        if self._power:
            for path, size in self._synced.items():
                if path.exists() and path.stat().st_size > size:
                    os.truncate(path, self._random.randint(size, path.stat().st_size))
            for path, before in reversed(self._renamed.items()):
                if self._random.random() < 0.5:
                    path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
        raise Crash

    def write(self, handle: int, data: bytes | memoryview) -> int:
        with self._turn:
            last = self._step()
            path = Path(f"/proc/self/fd/{handle}").readlink()
            self._synced.setdefault(path, os.fstat(handle).st_size)
            if last:
                os.write(handle, bytes(data)[: self._random.randrange(len(data) + 1)])
                self._die()
            return os.write(handle, data)

    def sync(self, handle: int) -> None:
        with self._turn:
            if self._step():
                self._die()
            path = Path(f"/proc/self/fd/{handle}").readlink()
            self._synced.pop(path, None)
            for renamed in [renamed for renamed in self._renamed if renamed.parent == path]:
                del self._renamed[renamed]

    def replace(self, source: Path, target: Path) -> None:
        with self._turn:
            last = self._step()
            source, target = source.resolve(), target.resolve()
            if last and self._random.random() < 0.5:
                self._die()
            if self._power:
                self._renamed.setdefault(target, target.read_bytes() if target.exists() else None)
            source.replace(target)
            if source in self._synced:
                self._synced[target] = self._synced.pop(source)
            if last:
                self._die()

    def truncate(self, handle: int, size: int) -> None:
        if self.dead:
            raise Crash
        os.ftruncate(handle, size)


class Counting(ReplayProvider):
    """Recorded replies, with a list of the units asked about."""

    def __init__(self, rows: Sequence[dict[str, Any]], delay: float = 0.0) -> None:
        super().__init__(rows, delay)
        self.asked: list[tuple[str, str, int]] = []

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:
        self.asked.append((step, unit_id, number))
        return await super().send(step, unit_id, number, request)
