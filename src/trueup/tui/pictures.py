"""Pictures of runs for the screens: run directories enter, plain values leave. Nothing is changed, whoever owns the run.

A run under way is read as it is at this moment: a file that is half written or was moved is passed over.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.pipeline.disk import Damaged, read_lines
from trueup.batch.pipeline.journal import JOURNAL
from trueup.batch.pipeline.metadata import METADATA, metadata, notes_of
from trueup.batch.pipeline.rundir import MANIFEST, RunDir, runs_in
from trueup.batch.pipeline.status import status
from trueup.verdict.verdict import Verdict

MOST_UNITS = 1000
_INNER = frozenset({"failure_stage", "raw_response", "errors", "warnings", "fixes", "retry_count", "tries", "input"})


class Run(NamedTuple):
    """How one run stands; `fault` says why it cannot be read."""

    path: Path
    running: bool = False
    status: dict[str, Any] = {}
    live: dict[str, Any] = {}
    fault: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def state(self) -> str:
        """One word: running, or what the journal says."""
        return "damaged" if self.fault else "running" if self.running else str(self.status.get("status", ""))

    @property
    def cost(self) -> str:
        """What it has cost: unknown where a price is, never zero for want of one."""
        money = self.status.get("money", {})
        known = f"${money.get('usd', 0.0):.4f}"
        return f"{known} + {money['unpriced']:,} calls of unknown price" if money.get("unpriced") else known


class UnitRow(NamedTuple):
    """One unit in a list: its id, whether it passed, and codes: of its errors, or of its warnings and fixes if it passed."""

    id: str
    chunk: str
    ok: bool
    codes: tuple[str, ...]


class Replied(NamedTuple):
    """One reply about a unit, and how it was judged (None where it is not judged by a contract)."""

    raw: str
    verdict: Verdict | None
    usage: dict[str, Any]


class Unit(NamedTuple):
    """Everything about one unit at one step."""

    id: str
    input: dict[str, Any]
    prompt: str
    replies: tuple[Replied, ...]
    failure: dict[str, Any] | None
    result: dict[str, Any] | None


def runs_at(folder: Path) -> list[Path]:
    """The runs in a folder, the newest first; the folder itself when it is one."""
    return [folder] if (folder / JOURNAL).is_file() else runs_in(folder)


def picture(path: Path) -> Run:
    """How a run stands now."""
    try:
        run = RunDir.look(path)
        found = status(run.state)
    except (OSError, ValueError, Damaged) as error:
        return Run(path, fault=str(error))
    if not run.state.run:
        return Run(
            path, fault=f"{path / JOURNAL}: the record of the run's creation is gone; try `trueup repair {path}`"
        )
    running = run.is_running
    live: dict[str, Any] = {}
    if running:
        with suppress(OSError, ValueError):
            live = json.loads((path / MANIFEST).read_bytes()).get("live") or {}
    return Run(path, running, found, live)


def units_at(path: Path, step: str, kind: str = "", code: str = "", text: str = "") -> list[UnitRow]:
    """The units of a step, those that failed first; `kind` is failed, valid or empty for both."""
    found: list[UnitRow] = []
    for ok, name in ((False, "failures"), (True, "validated")):
        if kind and kind != ("valid" if ok else "failed"):
            continue
        for chunk, row in _rows(path, f"{step}_{name}.jsonl"):
            fixes, warnings = notes_of(row, step)
            told = (*warnings, *fixes) if ok else row.get("errors") or ()
            codes = tuple(dict.fromkeys(str(fact.get("code", "")) for fact in told))
            unit_id = str(row.get("unit_id", ""))
            if (code and code not in codes) or (text and text.lower() not in unit_id.lower()):
                continue
            found.append(UnitRow(unit_id, chunk, ok, codes))
            if len(found) >= MOST_UNITS:
                return found
    return found


def _rows(path: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in sorted((path / "chunks").iterdir()) if (path / "chunks").is_dir() else []:
        for row in _lines(folder / name):
            yield folder.name, row


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; nothing when it is not there, and no more once one cannot be read."""
    if not file.is_file():
        return
    with suppress(OSError, ValueError, Damaged):
        for row in read_lines(file):
            if isinstance(row, dict):
                yield row


def unit_at(path: Path, step: str, row: UnitRow) -> Unit:
    """One unit: what went in, what was asked, what came back and how that was judged."""
    folder = path / "chunks" / row.chunk

    def own(name: str) -> list[dict[str, Any]]:
        return [found for found in _lines(folder / f"{step}_{name}.jsonl") if found.get("unit_id") == row.id]

    failures, valid, prompts = own("failures"), own("validated"), own("prompts")
    failure = failures[-1] if failures else None
    given = (failure or {}).get("input")
    if not isinstance(given, dict):
        given = next((unit for unit in _entered(path, step, row.chunk) if unit.get("unit_id") == row.id), {})
    replies = _judged(path, step, own("results"), given)
    prompt = str(prompts[-1].get("prompt", "")) if prompts else ""
    return Unit(row.id, given, prompt, replies, failure, valid[-1] if valid else None)


def _entered(path: Path, step: str, chunk: str) -> Iterator[dict[str, Any]]:
    """The units of a chunk as they entered a step."""
    with suppress(OSError, ValueError, KeyError, Damaged):
        run = RunDir.look(path)
        yield from run.units(run.state.chunks[chunk], run.state.steps.index(step))


def _judged(path: Path, step: str, results: list[dict[str, Any]], given: dict[str, Any]) -> tuple[Replied, ...]:
    """The replies about a unit, each judged again by the contract of the step."""
    contract = None
    with suppress(OSError, ValueError, Damaged):
        from trueup.batch.pipeline.steps.llm import step_contract

        pipeline = RunDir.look(path).pipeline
        named = next((found for found in pipeline.steps if found.name == step), None)
        contract = step_contract(pipeline, named) if named is not None else None
    out = []
    for result in results:
        if "raw_response" not in result:  # a call that was sent, or that failed on the way
            continue
        raw = result["raw_response"]
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
        seen = {**given, METADATA: metadata(given, step, result)}
        verdict = contract.check(text, {"input": seen}) if contract is not None else None
        out.append(Replied(text, verdict, result.get("usage") or {}))
    return tuple(out)


def fields_of(result: dict[str, Any]) -> dict[str, Any]:
    """A record without what trueup put beside the unit's own fields."""
    return {name: value for name, value in result.items() if name not in _INNER}
