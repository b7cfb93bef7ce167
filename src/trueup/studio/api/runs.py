"""Runs: sifts and pipelines in the folders. Each is read in its current state; actions are left to the runs' own
commands.

A name such as `runs/first` identifies one. The numbers are the same as in `trueup status` and in a sift's summary:
units, `valid`, `failed` and `waiting`, `cost` in millionths of a dollar, times in seconds since 1970. A place in a run
(`at`) is opaque to clients.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from trueup.batch.pipeline.rundir.logs import RUN_LOG, TRACE_LOG
from trueup.batch.siftdir.directory import NotASift
from trueup.studio.endpoint import Endpoint, JsonLines, Nothing
from trueup.studio.places import named
from trueup.studio.refusal import RequestRefused
from trueup.studio.runs import acting
from trueup.studio.runs.causes import causes_of
from trueup.studio.runs.comparing import compared
from trueup.studio.runs.finding import RunPlace, all_in, place_of
from trueup.studio.runs.guarding import FAULTS, cut, open_plain
from trueup.studio.runs.pictures import in_list, picture
from trueup.studio.runs.unit import unit_of
from trueup.studio.runs.units import MOST, UnitSelection, page_of
from trueup.studio.settings import Key
from trueup.studio.studio import Studio

Row = dict[str, Any]
_LOGS = {"run": RUN_LOG, "trace": TRACE_LOG, "studio": acting.LOG, "tui": "TUI_LOG.txt"}
_TAIL = 64 * 1024


class OneRun(msgspec.Struct, frozen=True):
    """A run or a sift."""

    run: str


class Causes(msgspec.Struct, frozen=True):
    """A run or a sift, and one of its steps."""

    run: str
    step: str = ""


class Units(msgspec.Struct, frozen=True):
    """A selection of a run's units; an empty value matches all."""

    run: str
    kind: Literal["", "failed", "valid"] = ""
    step: str = ""
    code: str = ""
    path: str = ""
    text: str = ""
    cursor: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 50


class OneUnit(msgspec.Struct, frozen=True):
    """One unit of a run: its id, and where it was listed."""

    run: str
    unit: str = ""
    at: str = ""
    step: str = ""


class Log(msgspec.Struct, frozen=True):
    """One of the logs of a run."""

    run: str
    which: Literal["run", "trace", "studio", "tui"] = "run"


class Compare(msgspec.Struct, frozen=True):
    """Two runs or sifts."""

    a: str
    b: str


class Retry(msgspec.Struct, frozen=True):
    """Failed units of a run: all, or those with one cause."""

    run: str
    step: str = ""
    code: str = ""
    path: str = ""
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None


def runs(studio: Studio, asked: Nothing, who: Key) -> Row:  # noqa: ARG001 - every handler's signature
    """The runs and sifts in the folders, those with the latest activity first."""
    _all_tenants(who)
    found = all_in(studio.settings)
    rows = [in_list(picture(studio.settings, place)) for place in found.places]
    rows.sort(key=lambda row: (not row["running"], -(row["updated"] or 0), row["run"]))
    return {"runs": rows, "complete": found.complete}


def one(studio: Studio, asked: OneRun, who: Key) -> Row:
    """The current state of one run or sift: its numbers, its funnel, its codes, and its logs."""
    place = _place(studio, asked.run, who)
    return {**picture(studio.settings, place), "logs": _logs(place)}


def causes(studio: Studio, asked: Causes, who: Key) -> Row:
    """The failures of a run by cause: code, path and pattern of the message, with examples.

    `complete` is false while there is more to read: the next request continues.
    """
    place = _place(studio, asked.run, who)
    return _readable(studio, lambda: causes_of(place, asked.step))


def units(studio: Studio, asked: Units, who: Key) -> Row:
    """A page of the units of a run, failed ones first, with a cursor to the next page.

    `searched.complete` is false if the time ran out before the page was full: continue with `next`.
    """
    place = _place(studio, asked.run, who)
    wanted = UnitSelection(asked.kind, asked.step, asked.code, asked.path, asked.text)
    return _readable(studio, lambda: page_of(place, wanted, asked.cursor, asked.limit))


def unit(studio: Studio, asked: OneUnit, who: Key) -> Row:
    """One unit in full: its input, its prompt, and each reply with its verdict."""
    place = _place(studio, asked.run, who)
    if not asked.unit and not asked.at:
        raise RequestRefused(400, "Give a unit: its id, or its place.")
    return _readable(studio, lambda: unit_of(place, asked.unit, asked.at, asked.step))


def log(studio: Studio, asked: Log, who: Key) -> Row:
    """The end of a log of a run."""
    place = _place(studio, asked.run, who)
    try:
        with open_plain(place.path, place.path / _LOGS[asked.which]) as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - _TAIL))
            text = opened.read(_TAIL).decode("utf-8", "replace")
    except FileNotFoundError:
        return {"text": "", "size": 0, "cut": False}
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or named(studio.settings, str(error))
        raise RequestRefused(409, f"The log cannot be read: {cut(said, 200)}", code="damaged") from None
    if size > _TAIL:
        text = text.partition("\n")[2]
    return {"text": named(studio.settings, text), "size": size, "cut": size > _TAIL}


def compare(studio: Studio, asked: Compare, who: Key) -> JsonLines:
    """Compare two runs or sifts: units that flip, values and findings that differ, and the costs."""
    a, b = (_place(studio, name, who) for name in (asked.a, asked.b))
    return JsonLines(compared(studio, a, b))


def retry(studio: Studio, asked: Retry, who: Key) -> Row:
    """Ask again about failed units: all of a run, or those with one cause."""
    place = _place(studio, asked.run, who)
    return acting.retry_run(
        studio.settings, place, step=asked.step, code=asked.code, path=asked.path, attempts=asked.attempts
    )


def resume(studio: Studio, asked: OneRun, who: Key) -> Row:
    """Resume a stopped run."""
    return acting.resume_run(studio.settings, _place(studio, asked.run, who))


def pause(studio: Studio, asked: OneRun, who: Key) -> Row:
    """Ask a run to stop after its calls in progress."""
    return acting.pause_run(studio.settings, _place(studio, asked.run, who))


def kill(studio: Studio, asked: OneRun, who: Key) -> Row:
    """End the process of a run; recorded results are kept."""
    return acting.kill_run(studio.settings, _place(studio, asked.run, who))


def _all_tenants(who: Key) -> None:
    """Runs do not belong to tenants, so a key of one tenant sees none of them."""
    if who.tenant is not None:
        raise RequestRefused(403, "Your key is for one tenant, and runs are not divided by tenant.", code="no_right")


def _place(studio: Studio, name: str, who: Key) -> RunPlace:
    _all_tenants(who)
    return place_of(studio.settings, name)


def _logs(place: RunPlace) -> list[Row]:
    found = []
    for which, name in _LOGS.items():
        try:
            size = (place.path / name).lstat().st_size
        except OSError:
            continue
        found.append({"which": which, "name": name, "size": size})
    return found


def _readable(studio: Studio, read: Callable[[], Row]) -> Row:
    """The result of `read`; a damaged run is a Refusal that says what is wrong."""
    try:
        return read()
    except NotASift as error:
        raise RequestRefused(409, cut(named(studio.settings, str(error))), code="not_ready") from None
    except FAULTS as error:
        said = named(studio.settings, str(error)) or type(error).__name__
        raise RequestRefused(409, f"The run cannot be read: {cut(said)}", code="damaged") from None


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/runs", "read", runs),
    Endpoint("GET", "/runs/one", "read", one, OneRun),
    Endpoint("GET", "/runs/causes", "read", causes, Causes),
    Endpoint("GET", "/runs/units", "read", units, Units),
    Endpoint("GET", "/runs/unit", "read", unit, OneUnit),
    Endpoint("GET", "/runs/log", "read", log, Log),
    Endpoint("POST", "/runs/compare", "read", compare, Compare, streams=True, slow=True),
    Endpoint("POST", "/runs/retry", "edit", retry, Retry, slow=True),
    Endpoint("POST", "/runs/resume", "edit", resume, OneRun, slow=True),
    Endpoint("POST", "/runs/pause", "edit", pause, OneRun),
    Endpoint("POST", "/runs/kill", "edit", kill, OneRun),
)
