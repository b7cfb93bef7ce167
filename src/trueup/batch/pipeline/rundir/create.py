"""Makes a run directory from a pipeline, complete or not at all.

Configuration, templates, schemas, items and scripts are copied in and hashed; units are made and divided into chunks. Everything
is prepared beside its place and moved there in one step, so there is never half a run.
"""

import hashlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.disk.full_disk import writing
from trueup.batch.input.folders import address_of
from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.reporting.status import manifest
from trueup.batch.pipeline.rundir.directory import MANIFEST, RunDir
from trueup.batch.pipeline.rundir.disk import Disk, encode, line
from trueup.batch.pipeline.rundir.journal import JOURNAL, now, sealed
from trueup.batch.pipeline.units.items import ItemsError, Unit, make_units
from trueup.batch.pipeline.units.items_file import items_fault, read_items
from trueup.batch.pipeline.units.sampling import sampled
from trueup.batch.pipeline.units.seeds import Dice, step_seed
from trueup.contract.files.faults import ContractError

HASHES = "HASHES.json"
_MOST_FILES = 2000
_MOST_BYTES = 64 << 20


class RunSettings(NamedTuple):
    """Settings of the command line that override the configuration."""

    provider: str = ""
    model: str = ""
    max_units: int | None = None
    repeat: int | None = None
    base_url: str = ""
    price: str = ""  # dollars per million tokens, IN/OUT
    sample: int | None = None  # units, chosen at random
    by: str = ""  # the field whose values the sample should have in proportion
    seed: int = 0


class CannotCreate(ValueError):
    """The reason why a run cannot be made here."""


def create_run(pipeline: Pipeline, target: Path, wanted: RunSettings | None = None, disk: Disk | None = None) -> Path:
    """Make the run directory of a pipeline, and return its path. The target must not exist yet, or be empty."""
    wanted, disk = wanted or RunSettings(), disk or Disk()
    if address := address_of(target):
        raise CannotCreate(f"{address}: a run is kept in a local folder; choose one, and copy it when the run is done")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CannotCreate(
            f"{target}: it already exists and is not an empty folder; name a new one, or resume the run in it with `trueup run`"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.parent / f".{target.name}.{secrets.token_hex(4)}.new"
    try:
        beside.mkdir()
    except OSError as error:  # name the folder that the caller knows
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        hashes = _snapshot(pipeline, beside / "config", disk)
        chunks = _write_units(pipeline, beside, wanted, disk)
        record = {
            "n": 0, "term": 0, "at": now(), "kind": "created",
            "run": secrets.token_hex(8),
            "pipeline": pipeline.name,
            "config": pipeline.file.name,
            "steps": [{"name": step.name, "scope": step.scope} for step in pipeline.steps],
            "chunks": chunks,
            "units": sum(units for _, units in chunks),
            "wanted": {key: value for key, value in wanted._asdict().items() if value},
            "sha256": hashlib.sha256(encode(hashes)).hexdigest(),
        }  # fmt: skip
        disk.put(beside / JOURNAL, [sealed(record)])
        disk.put(beside / MANIFEST, [encode(manifest(RunDir.look(beside))) + b"\n"])
        if target.exists():
            target.rmdir()
        beside.rename(target)
        disk.sync_folder(target.parent)
    except ItemsError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise ContractError([items_fault(pipeline, error)]) from None
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return target


def _snapshot(pipeline: Pipeline, target: Path, disk: Disk) -> dict[str, str]:
    """Copy the files of the pipeline, and return the hash of each by its name."""
    target.mkdir()
    hashes: dict[str, str] = {}
    total = 0
    for file in pipeline_files(pipeline):
        name = file.relative_to(pipeline.folder.resolve()).as_posix()
        raw = file.read_bytes()
        total += len(raw)
        if total > _MOST_BYTES or len(hashes) >= _MOST_FILES:
            raise CannotCreate(f"{pipeline.folder}: more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MB to copy")
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        disk.put(target / name, [raw])
        hashes[name] = hashlib.sha256(raw).hexdigest()
    disk.put(target / HASHES, [line(hashes)])
    return hashes


def pipeline_files(pipeline: Pipeline) -> Iterator[Path]:
    """The files of a pipeline, inside its folder: links that lead out of it are not followed."""
    root = pipeline.folder.resolve()
    seen: set[Path] = set()
    places = [root / pipeline.file.name]
    named: list[Any] = [pipeline.template_dir, pipeline.schema_dir]
    named += [pipeline.items_file(), pipeline.section("api", "replay").get("source") or "replies.jsonl"]
    named += [entry.get("script") for entry in _scripts(pipeline)]
    for name in named:
        try:
            places += [pipeline.inside(name)] if isinstance(name, str) and name else []
        except ValueError:
            continue  # it leads out of the folder; whatever needs the file reports it
    for place in places:
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            resolved = file.resolve()
            if resolved in seen or not resolved.is_file() or not resolved.is_relative_to(root):
                continue
            if not file.is_relative_to(root):
                continue
            seen.add(resolved)
            yield file


def _scripts(pipeline: Pipeline) -> list[dict[str, Any]]:
    found = [entry for entry in pipeline.posts if isinstance(entry, dict)]
    return [*found, *(step.config for step in pipeline.steps if step.scope == "run")]


def _write_units(pipeline: Pipeline, target: Path, wanted: RunSettings, disk: Disk) -> list[tuple[str, int]]:
    """Write the units, whole and in chunks, and return the chunks with their sizes."""
    size = pipeline.chunk_size
    chunks: list[tuple[str, int]] = []
    (target / "input").mkdir()
    (target / "chunks").mkdir()
    file = target / "input" / "units.jsonl"
    with writing(file), file.open("wb") as whole:
        pending: list[bytes] = []
        for unit in units_of(pipeline, wanted):
            pending.append(line(unit))
            if len(pending) == size:
                chunks.append(_write_chunk(target, len(chunks), pending, disk))
                whole.write(b"".join(pending))
                pending = []
        if pending:
            chunks.append(_write_chunk(target, len(chunks), pending, disk))
            whole.write(b"".join(pending))
        whole.flush()
        disk.sync(whole.fileno())
    if not chunks:
        raise ItemsError("there are no units: the items are empty")
    return chunks


def _write_chunk(target: Path, number: int, lines: list[bytes], disk: Disk) -> tuple[str, int]:
    name = f"chunk_{number:03d}"
    folder = target / "chunks" / name
    folder.mkdir()
    disk.put(folder / "units.jsonl", lines)
    return name, len(lines)


def units_of(pipeline: Pipeline, wanted: RunSettings) -> Iterator[Unit]:
    """The units of a run of a pipeline: all of them, or a sample. Raises ItemsError and BadSample."""
    if wanted.sample is None:
        return _units(pipeline, wanted)
    return sampled(lambda: _units(pipeline, wanted), wanted.sample, wanted.by, wanted.seed)


def _units(pipeline: Pipeline, wanted: RunSettings) -> Iterator[Unit]:
    """The units, with the fields that the processing section computes for each."""
    processing = dict(pipeline.section("processing"))
    if wanted.repeat is not None:
        processing["repeat"] = wanted.repeat
    units = make_units(processing, read_items(pipeline), wanted.max_units)
    expressions = processing.get("expressions")
    if not expressions:
        yield from units
        return
    from trueup.batch.pipeline.steps.expression import Formulas, UnitError

    dice = Dice()
    formulas = Formulas(expressions, dice)
    first = pipeline.steps[0].name
    for unit in units:
        dice.seed(step_seed(unit, first))
        try:
            yield {**unit, **formulas.work_out(unit)}
        except UnitError as error:
            raise ItemsError(f"unit {unit['unit_id']!r}: {error}", ("processing", "expressions")) from None
