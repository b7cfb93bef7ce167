"""Pictures of runs and sifts: takes a place and returns its current state, as plain data for a row of the list or for
its own page.

An active run is read in its current state; a damaged one says so, and none raises. An unchanged run is not read again,
and a slow read is not repeated until twenty times its duration has passed.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from trueup.batch.pipeline.reporting.status import standing
from trueup.batch.pipeline.reporting.words import batches
from trueup.batch.pipeline.rundir.directory import MANIFEST
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.batch.pipeline.rundir.lock import is_held
from trueup.batch.siftdir.directory import FILES, NotASift, Sifted, read_sifted, settled
from trueup.batch.siftdir.summary import levels_of
from trueup.studio.places import named
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.following import following
from trueup.studio.runs.guarding import FAULTS, GuardedRun, bounded, check_plain, cut
from trueup.studio.settings import StudioSettings
from trueup.verdict.catalogue import FINDINGS, FIXES, OWN

Row = dict[str, Any]
WORK = ".sift"
SUMMARY = "summary.json"
_MOST_SUMMARY = 64 << 20
_KEPT = 512
_CALM = 20  # a read is not repeated until this many times its duration has passed
# the stages at which a unit of a sift can fail, in order, with their labels
STAGES = (
    ("pipeline_internal", "read"),
    ("parse", "parse"),
    ("schema_validation", "schema"),
    ("validation", "rules"),
)


class _Kept:
    """A picture, the stamp of its files, its time, and its duration."""

    def __init__(self, row: Row, stamps: Any, took: float) -> None:
        self.row = row
        self.stamps = stamps
        self.took = took
        self.at = time.monotonic()


_kept: "OrderedDict[Path, _Kept]" = OrderedDict()
_turn = threading.Lock()


def picture(settings: StudioSettings, place: RunPlace) -> Row:
    """The current state of a run or a sift; `fault` says why it cannot be read."""
    with suppress(OSError):
        stamps = _stamps(place)
        kept = _kept.get(place.path)
        if kept is not None and (kept.stamps == stamps or time.monotonic() - kept.at < _CALM * kept.took):
            return {**kept.row, "run": place.name}
        began = time.monotonic()
        row = bounded(_picture(settings, place))
        with _turn:
            _kept[place.path] = _Kept(row, stamps if row["state"] != "reading" else None, time.monotonic() - began)
            _kept.move_to_end(place.path)
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
        return {**row, "run": place.name}
    return {**_blank(place), "state": "damaged", "fault": "its files cannot be read, or were deleted"}


def _picture(settings: StudioSettings, place: RunPlace) -> Row:
    blank = _blank(place)
    try:
        return {**blank, **(_run(place) if place.kind == "run" else _sift(place))}
    except NotASift as error:
        if _is_held(place):
            return {**blank, "state": "starting", "running": True, "reason": "there are no results yet", "fixed": 0}
        return {**blank, "state": "damaged", "fault": cut(named(settings, str(error)))}
    except (Damaged, *FAULTS) as error:
        said = str(error) if isinstance(error, Damaged) else f"it cannot be read: {_said(error)}"
        return {**blank, "state": "damaged", "running": _is_held(place), "fault": cut(named(settings, said))}


def _said(error: BaseException) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"{type(error).__name__}: {error}"


def _blank(place: RunPlace) -> Row:
    return {
        "run": place.name, "kind": place.kind, "title": place.path.name, "pipeline": "", "state": "", "running": False,
        "reason": "", "units": 0, "valid": 0, "failed": 0, "waiting": 0, "done": 0, "total": 0, "rate": None,
        "left": None, "cost": None, "unpriced": 0, "started": None, "updated": None, "fault": "", "steps": [],
    }  # fmt: skip


def _stamps(place: RunPlace) -> tuple[Any, ...]:
    """The stamp of a picture: the owner of the lock, and the files that change with progress."""
    held = _is_held(place)
    if place.kind == "run":
        return held, _stamp(place.path / JOURNAL), _stamp(place.path / MANIFEST)
    work = place.path / WORK
    # while it is held, parts come and go without changing any of these
    turn = int(time.monotonic()) if held else 0
    return held, turn, _stamp(place.path / SUMMARY), _stamp(work / "manifest.db"), _stamp(work / "manifest.db-wal")


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.lstat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_held(place: RunPlace) -> bool:
    try:
        return is_held(place.path if place.kind == "run" else place.path / WORK)
    except OSError:
        return False


# Runs of a pipeline ---------------------------------------------------------------------------------------------------


def _run(place: RunPlace) -> Row:
    running = is_held(place.path)
    check_plain(place.path, place.path / MANIFEST)
    with following(place.path) as (state, share):
        if share < 1.0:
            said = f"its journal is long: {int(100 * share)}% of it is read"
            return {"state": "reading", "running": running, "reason": said, "done": int(1000 * share), "total": 1000}
        run = GuardedRun(place.path, state)
        found = standing(run, running=running)
        models = _models(run)
    _must_count(found, *found["steps"])
    live = found.get("live") or {}
    money = found["money"]
    word = "running" if running else {"running": "interrupted"}.get(found["status"], found["status"])
    return {
        "pipeline": found["pipeline"],
        "state": word,
        "running": running,
        "reason": found["reason"] if not running else "",
        "units": found["units"],
        "valid": found["valid"],
        "failed": found["failed"],
        "waiting": found["pending"],
        "done": found["done"],
        "total": found["total"],
        "rate": live.get("per_second") if running else None,
        "left": live.get("seconds_left") if running else None,
        "cost": _micros(money["usd"]) if money["calls"] else None,
        "unpriced": money["unpriced"],
        "started": _seconds(found["created"]),
        "updated": _seconds(found["updated"]),
        "mode": found["mode"],
        "cap": None if found["cap_usd"] is None else _micros(found["cap_usd"]),
        "estimated": None if found["estimated_usd"] is None else _micros(found["estimated_usd"]),
        "calls": money["calls"],
        "under_way": live.get("under_way", 0) if running else 0,
        "lost": money["lost"],
        "cached": money.get("cached", 0),
        "batches": batches(found),
        "retries": found["retries"],
        "steps": [_step(row, models.get(row["step"], "")) for row in found["steps"]],
        "facts": _facts(found["steps"]),
    }


def _must_count(*rows: Row) -> None:
    """Refuse fields that are not numbers."""
    for row in rows:
        for name in ("units", "valid", "failed", "pending", "done", "total"):
            if type(row.get(name, 0)) is not int or row.get(name, 0) < 0:
                raise Damaged(f"{JOURNAL}: {name} is not a number of units")


def _step(row: Row, model: str) -> Row:
    money = row["money"]
    return {
        "step": row["step"],
        "title": row["step"],
        "scope": row["scope"],
        "in": row["valid"] + row["failed"] + row["pending"],
        **{name: row[name] for name in ("valid", "failed", "retried", "fixed", "warned", "seconds", "stages")},
        "waiting": row["pending"],
        "model": model,
        "calls": money["calls"],
        "tokens_in": money["input_tokens"],
        "tokens_out": money["output_tokens"],
        "cost": _micros(money["usd"]) if money["calls"] else None,
        "unpriced": money["unpriced"],
        "resent": sum(row["resent"].values()),
    }


def _facts(steps: list[Row]) -> list[Row]:
    """Every code of a run, by step: failures, warnings and fixes."""
    found = []
    for row in steps:
        for kind, counted in (("failure", "codes"), ("warning", "warnings"), ("fix", "fixes")):
            found += [_fact(row["step"], kind, code, units) for code, units in row[counted].items()]
    return sorted(found, key=lambda fact: (_KINDS.index(fact["kind"]), -fact["units"], fact["code"]))


_KINDS = ("failure", "warning", "fix")


def _fact(step: str, kind: str, code: str, units: int) -> Row:
    return {"step": step, "kind": kind, "code": code, "units": units, **about_code(code)}


def about_code(code: str) -> Row:
    """The name and the title of a code, and the grade if it is a fix."""
    fix = FIXES.get(code)
    if fix is not None:
        return {"name": fix.name, "title": fix.title, "grade": fix.grade}
    known = FINDINGS.get(code) or OWN.get(code)
    return {"name": known.name if known else code.lower(), "title": known.title if known else "", "grade": None}


def _models(run: GuardedRun) -> dict[str, str]:
    """The model that each step asks; empty if the configuration cannot be read."""
    from trueup.batch.pipeline.config import read_config
    from trueup.batch.pipeline.providers.choose import chosen

    file = run.path / "config" / str(run.state.run.get("config", "config.yaml"))
    wanted = run.state.run.get("wanted")
    with suppress(*FAULTS):
        check_plain(run.path, file)
        key = (file, _stamp(file), repr(wanted))
        if key not in _chosen:
            if len(_chosen) > _KEPT:
                _chosen.clear()
            pipeline = read_config(file)
            known = wanted if isinstance(wanted, dict) else {}
            names = {step.name: chosen(pipeline, step, known) for step in pipeline.steps if step.asks}
            _chosen[key] = {step: model or provider for step, (provider, model) in names.items()}
        return _chosen[key]
    return {}


_chosen: dict[Any, dict[str, str]] = {}


def _micros(usd: float) -> int:
    return round(usd * 1e6)


def _seconds(stamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return None


# Sifts ----------------------------------------------------------------------------------------------------------------


def sifted_at(place: RunPlace) -> Sifted:
    """The sift at a place, after a check of its files."""
    check_plain(place.path, place.path / SUMMARY, _MOST_SUMMARY)
    if (place.path / WORK).is_symlink():
        raise Damaged(f"{WORK} is a link")
    return settled(lambda: read_sifted(place.path))


def _sift(place: RunPlace) -> Row:
    running = _is_held(place)
    sifted = sifted_at(place)
    summary = sifted.summary
    counts, timings = summary["counts"], summary["timings"]
    finished = sifted.state == "done"
    inputs = [each for each in summary.get("inputs", ()) if isinstance(each, dict)]
    contract = summary.get("contract")
    about = contract if isinstance(contract, dict) else {}
    row: Row = {
        "pipeline": about.get("name", ""),
        "state": "running" if running else "done" if finished else "interrupted",
        "running": running,
        "reason": "" if finished or running else "it was stopped; the same `trueup sift` command resumes it",
        **{name: counts[name] for name in ("units", "valid", "failed")},
        "done": counts["units"],
        "total": counts["units"],
        "fixed": counts["fixed"],
        "warned": counts.get("warned", 0),
        "seconds": timings["seconds"],
        "rate": timings["units_per_second"] if finished else None,
        "contract": {"name": about.get("name", ""), "fingerprint": about.get("fingerprint", "")},
        "inputs": [{"name": Path(str(each.get("name", ""))).name, "bytes": each.get("bytes")} for each in inputs],
        "steps": _stages(counts, summary["stages"]),
        "facts": _sift_facts(summary),
        "flips": summary.get("flips") or {},
        "phase": sifted.state,
    }
    row["updated"] = _touched(place.path, (SUMMARY,) if finished else _AT_WORK)
    if finished:
        row["started"] = None if row["updated"] is None else row["updated"] - timings["seconds"]
    else:
        row |= _progress(place, sifted, running=running)
    return row


# the files that an active sift writes: its manifest, through the log of the database, and a file for each range that is
# judged
_AT_WORK = (f"{WORK}/manifest.db", f"{WORK}/manifest.db-wal", f"{WORK}/parts", *FILES.values())


def _touched(folder: Path, names: Iterable[str]) -> float | None:
    """When one of the files was last written, in seconds since 1970; None if there is none."""
    stamps = filter(None, (_stamp(folder / name) for name in names))
    return max((stamp[0] / 1e9 for stamp in stamps), default=None)


def _progress(place: RunPlace, sifted: Sifted, *, running: bool) -> Row:
    """The progress of a sift: the share of its input's bytes that is judged."""
    facts, judged = _noted(place.path / WORK / "manifest.db")
    total = sum(size for size in facts.get("sizes", ()) if isinstance(size, int))
    row: Row = {"started": facts.get("started"), "done": 0, "total": 0}
    if total and sifted.state == "judging":
        row |= {"done": min(judged, total), "total": total}
    elif sifted.state != "judging":
        row |= {"done": 1, "total": 1}
    units = sifted.summary["counts"]["units"]
    speed = _pace(place.path, units, judged) if running else None
    if speed is not None:
        row["rate"] = speed[0]
        row["left"] = max(0.0, (total - judged) / speed[1]) if total and speed[1] else None
    return row


def _noted(path: Path) -> tuple[Row, int]:
    """The sizes of the input and the start of a sift from its manifest, and the bytes of the ranges with a part."""
    import sqlite3
    from contextlib import closing

    import orjson

    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as database:
        facts = dict(database.execute("SELECT name, value FROM facts WHERE name IN ('sources', 'started')"))
        judged = database.execute("SELECT sum(last - first) FROM plan WHERE ids > 0 OR size > 0").fetchone()[0]
    sources = orjson.loads(facts.get("sources", b"[]"))
    started = orjson.loads(facts.get("started", b"null"))
    return {"sizes": [source[1] for source in sources], "started": started}, int(judged or 0)


_points: "OrderedDict[Path, list[tuple[float, int, int]]]" = OrderedDict()


def _pace(path: Path, units: int, size: int) -> tuple[float, float] | None:
    """Units and bytes a second over the last reads; None at the first one."""
    now = time.monotonic()
    with _turn:
        points = _points.setdefault(path, [])
        if points and (points[-1][1] > units or now - points[-1][0] > 60):
            points.clear()
        points.append((now, units, size))
        del points[:-30]
        _points.move_to_end(path)
        while len(_points) > _KEPT:
            _points.popitem(last=False)
        (then, before, less), (_, after, more) = points[0], points[-1]
    return ((after - before) / (now - then), (more - less) / (now - then)) if now > then else None


def _stages(counts: Row, stages: Row) -> list[Row]:
    """The funnel of a sift: for each stage, the units that reached it, and those that failed there."""
    rows = []
    left = counts["units"]
    for stage, title in (*STAGES, *((name, name) for name in stages if name not in dict(STAGES))):
        failed = stages.get(stage, 0)
        rows.append({
            "step": stage, "title": title, "scope": "stage", "in": left, "valid": left - failed, "failed": failed,
            "waiting": 0, "retried": 0, "fixed": 0, "warned": 0, "cost": None, "calls": 0, "model": "",
        })  # fmt: skip
        left -= failed
    return rows


def _sift_facts(summary: Row) -> list[Row]:
    split = levels_of(summary["codes"])
    found = [_fact("", "failure", code, row["units"]) for code, row in split["error"].items()]
    found += [_fact("", "warning", code, row["units"]) for code, row in split["warning"].items()]
    return found + [_fact("", "fix", code, row["units"]) for code, row in summary["fixes"].items()]


def in_list(row: Row) -> Row:
    """A picture as a row of the list."""
    return {name: row[name] for name in _blank(RunPlace("", Path(), "run")) if name != "steps"}
