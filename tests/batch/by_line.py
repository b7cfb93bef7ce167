"""The expected results of a sift, computed the slow way: every line is judged alone, and lines with the same id are combined by hand."""

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

from trueup import Contract
from trueup.batch.counting.tally import UnitTally
from trueup.batch.input.units import NEVER_UNITS, read_unit
from trueup.batch.judging.records import line_of
from trueup.batch.judging.sieve import Sieve


class Judged(NamedTuple):
    """Judge one line alone."""

    line: bytes
    name: str
    offset: int
    record: bytes
    failed: bool
    tally: UnitTally

    @property
    def row(self) -> dict[str, Any]:
        return dict(json.loads(self.record))

    @property
    def strange(self) -> bool:
        return self.failed and any(error["code"] in NEVER_UNITS for error in self.row["errors"])

    @property
    def silent(self) -> bool:
        return self.failed and not read_unit(self.line, f"{self.name}@{self.offset}").claims


def judge(contract: Contract, name: str, offset: int, line: bytes, code: str = "") -> Judged:
    sieve = Sieve(contract, name, max_line=1 << 20)
    if code:
        sieve.condemn(line, offset, code)
    else:
        sieve.sift(line, 0, offset)
    valid = sieve.take()
    return Judged(line, name, offset, valid or sieve.failed[0], not valid, sieve.counted())


def text_of(file: Path) -> bytes:
    """The content of a file, packed or not."""
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def lines_in(files: list[Path]) -> list[tuple[str, int, bytes]]:
    found = []
    for file in files:
        offset = 0
        for line in text_of(file).split(b"\n"):
            if line.strip():
                found.append((file.name, offset, line))
            offset += len(line) + 1
    return found


def expected(files: list[Path], contract: Contract, how: str) -> dict[str, Any]:
    """The bytes of both files, and the tables of the summary."""
    lines = [judge(contract, *place) for place in lines_in(files)]
    by_id: dict[str, list[Judged]] = {}
    for line in lines:
        if not line.strange:
            by_id.setdefault(line.row["unit_id"], []).append(line)
    out: dict[int, Judged | None] = {}
    merged: dict[str, int] = {}
    for group in by_id.values():
        spoken = [line for line in group if not line.silent]
        if how == "fail":
            for line in spoken[1:]:
                out[id(line)] = judge(contract, line.name, line.offset, line.line, "U003")
        elif len(group) > 1:
            chosen = choose(spoken or group, how)
            others = [line for line in group if line is not chosen]
            told = [
                {
                    "place": f"{line.name}@{line.offset}",
                    "raw_response": line.row["raw_response"],
                    "errors": line.row.get("errors", []),
                }
                for line in others
            ]
            out[id(chosen)] = chosen._replace(record=chosen.record[:-2] + b"," + line_of({"merged": told})[1:])
            merged["units"] = merged.get("units", 0) + 1
            for line in others:
                out[id(line)] = None
                was, now = ("failed" if one.failed else "valid" for one in (line, chosen))
                merged[f"{was}_to_{now}"] = merged.get(f"{was}_to_{now}", 0) + 1
    left = [line for line in (out.get(id(line), line) for line in lines) if line is not None]
    tally = UnitTally()
    for line in left:
        tally.add(line.tally.to_dict())
    account = tally.account()
    units = merged.pop("units", 0)
    replies = len(lines) - len(left)
    return {
        "validated.jsonl": b"".join(line.record for line in left if not line.failed),
        "failures.jsonl": b"".join(line.record for line in left if line.failed),
        **{name: account[name] for name in ("stages", "codes", "rules", "by_path", "by_rule", "fixes", "grades")},
        "merged": {"how": how, "units": units, "replies": replies, "kinds": dict(sorted(merged.items()))},
        "lines": len(lines),
    }


def choose(lines: list[Judged], how: str) -> Judged:
    if how == "valid":
        return next((line for line in lines if not line.failed), lines[-1])
    return lines[0] if how == "first" else lines[-1]


def found(out: Path) -> dict[str, Any]:
    """The same, read from a run."""
    summary = json.loads((out / "summary.json").read_bytes())
    counts = summary["counts"]
    assert counts["lines"] == counts["valid"] + counts["failed"] + counts["merged"]
    assert counts["units"] == counts["valid"] + counts["failed"]
    names = ("stages", "codes", "rules", "by_path", "by_rule", "fixes", "grades", "merged")
    return {
        **{name: (out / name).read_bytes() for name in ("validated.jsonl", "failures.jsonl")},
        **{name: summary[name] for name in names},
        "lines": counts["lines"],
    }
