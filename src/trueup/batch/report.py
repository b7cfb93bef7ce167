"""The report: what a sift left in a folder enters, one HTML page that needs nothing else leaves.

The page holds the summary and the first units of each code. Replies stand in it as data: its policy lets no other script run and
nothing be loaded, and its script sets them as text. The page's size is bounded, however many units there were.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from trueup.batch.records import line_of
from trueup.batch.summary import read_summary
from trueup.verdict.codec import decode

REPORT = "report.html"
_A_CODE = 12
_UNITS = 600
_LINES = 200_000
_SHOWN = 20_000
_TOTAL = 8_000_000
_CLEAN = b',"fixes":[]}\n'  # how a record ends that has neither fixes nor warnings

Row = dict[str, Any]


class _Fact(msgspec.Struct):
    code: str


class _Fix(_Fact):
    before: str
    after: str


class _Told(msgspec.Struct):
    errors: list[_Fact] | None = None
    warnings: list[_Fact] | None = None
    fixes: list[_Fix] | None = None


class Missing(ValueError):
    """The folder holds no finished sift."""


def write_report(folder: Path) -> Path:
    """Write `report.html` beside the files of a sift."""
    return write_page(folder, collect(folder))


def write_page(folder: Path, data: Row) -> Path:
    """Write the page over some data into a folder."""
    page = render(data).encode("utf-8", "surrogatepass")
    path = folder / REPORT
    draft = folder / (REPORT + ".tmp")
    draft.write_bytes(page)
    draft.replace(path)
    return path


def collect(folder: Path) -> Row:
    """The summary of a sift, and the units that its page shows."""
    try:
        summary = read_summary((folder / "summary.json").read_bytes())
    except FileNotFoundError:
        raise Missing(f"{folder} holds no summary.json: run `trueup sift … --out {folder}` to its end first") from None
    except ValueError as error:
        raise Missing(f"{folder / 'summary.json'} is no summary of a sift: {error}") from None
    files = (("failed", "failures.jsonl"), ("valid", "validated.jsonl"))
    return sampled(summary, ((kind, row) for kind, name in files for row in _rows(folder / name)))


def sampled(summary: Row, rows: Iterable[tuple[str, Row]]) -> Row:
    """A summary, and of the records, each `failed` or `valid`, the first ones of each code."""
    seen: dict[str, int] = {}
    units: list[Row] = []
    room = _TOTAL
    wanted = _wanted(summary)
    for kind, row in rows if wanted else ():
        codes = {fact.get("code", "") for part in ("errors", "warnings", "fixes") for fact in row.get(part) or ()}
        if not codes or all(seen.get(code, 0) >= _A_CODE for code in codes):
            continue
        shown = _shown(kind, row)
        room -= len(shown["raw_response"])
        if room < 0 or len(units) >= _UNITS:
            break
        units.append(shown)
        for code in codes:
            seen[code] = seen.get(code, 0) + 1
            if seen[code] == wanted.get(code):
                del wanted[code]
        if not wanted:
            break  # no unit after this one has a code that is still to be shown
    counts = summary["counts"]
    fixed_and_failed = sum(1 for unit in units if unit["kind"] == "failed" and unit["fixes"])
    of = max(len(units), counts["failed"] + counts["fixed"] - fixed_and_failed)
    return {"summary": summary, "units": units, "of": of}


def _wanted(summary: Row) -> dict[str, int]:
    """Each code of a sift, and how many units with it the page shows."""
    tables = (summary["codes"], summary["fixes"])
    return {code: min(_A_CODE, row["units"]) for table in tables for code, row in table.items()}


def _rows(path: Path) -> Iterator[Row]:
    """The records of a file, as far as the report looks; a line that is none is passed over."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for _, line in zip(range(_LINES), lines, strict=False):
            if line.endswith(_CLEAN):
                continue  # nothing to show of it
            try:
                row = decode(line)
            except (msgspec.MsgspecError, RecursionError):
                continue
            if isinstance(row, dict) and isinstance(row.get("raw_response"), str) and _is_whole(row):
                yield row


def _is_whole(row: Row) -> bool:
    """Whether what was found and changed is told as a sift tells it."""
    try:
        msgspec.convert(row, _Told)
    except msgspec.ValidationError:
        return False
    return True


def _shown(kind: str, row: Row) -> Row:
    """A record as the page needs it, a long reply cut."""
    raw = row["raw_response"]
    unit: Row = {"kind": kind, "unit_id": str(row.get("unit_id", "")), "raw_response": raw[:_SHOWN], "errors": []}
    unit["fixes"] = [
        {**fix, "before": fix["before"][:300], "after": fix["after"][:300]} for fix in row.get("fixes") or ()
    ]
    for name in ("errors", "warnings", "failure_stage", "place"):
        if row.get(name) is not None:
            unit[name] = row[name]
    if len(raw) > _SHOWN:
        unit["cut"] = len(raw)
    # as text: a browser would round long integers
    for name in ("input", "data"):
        if row.get(name) is not None:
            laid_out = json.dumps(row[name], indent=2, ensure_ascii=False)
            unit[name] = laid_out if len(laid_out) <= _SHOWN else laid_out[:_SHOWN] + "\n… (cut here)"
    return unit


def render(data: Row) -> str:
    """The page: its parts put together, and a policy that allows just these."""
    folder = resources.files("trueup.batch") / "page"
    style, script, page = (folder.joinpath(f"report.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))
    written = line_of(data).decode("utf-8", "surrogatepass").strip()
    # no tag can end or begin inside the data, and no separator can end a line of it
    for sign, escape in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        written = written.replace(sign, escape)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"@POLICY@": policy, "@STYLE@": style, "@SCRIPT@": script, "@DATA@": written}
    pieces: list[str] = []
    rest = page
    for mark in ("@POLICY@", "@STYLE@", "@DATA@", "@SCRIPT@"):
        before, _, rest = rest.partition(mark)
        pieces += (before, parts[mark])
    return "".join((*pieces, rest))


def _digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
