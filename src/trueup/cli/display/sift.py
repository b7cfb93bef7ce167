"""The result of a sift in words: takes its summary and returns a few lines for a person."""

from pathlib import Path
from typing import Any

from trueup.batch.flips import WORDS
from trueup.batch.siftdir.summary import levels_of
from trueup.cli.display.grounding import grounded_lines
from trueup.cli.terminal.layout import count, short
from trueup.verdict.display import safe_line

_ROWS = 8
WIDTH = 79


def account(summary: dict[str, Any], out: Path, *, already: bool = False, width: int = WIDTH) -> str:
    """The result of a sift as text. The lines of its tables have at most `width` cells."""
    counts = summary["counts"]
    lines = []
    if already:
        lines.append(f"{out} was sifted before, with the same contract and files; nothing was left to do.")
    lines.append(_headline(counts))
    lines += _merged(summary)
    lines += _table("Failed at", [(stage, f"{n:,}", "") for stage, n in summary["stages"].items()], width)
    levels = levels_of(summary["codes"])
    lines += _table("Findings", [_row(code, row, "error") for code, row in levels["error"].items()], width)
    lines += _table("Warnings", [_row(code, row, "warning") for code, row in levels["warning"].items()], width)
    lines += _table("Failures by field", _fields(summary.get("by_path", {})), width)
    lines += _table("Rules broken", [(safe_line(rule), f"{n:,}", "") for rule, n in summary["rules"].items()], width)
    if grounded := summary.get("grounded"):
        lines += ["\nGrounded", *grounded_lines(grounded)]
    lines += _table("Fixes", [_row(code, row, row["grade"]) for code, row in summary["fixes"].items()], width)
    if "flips" in summary:
        lines += _table(
            "Compared with before", [(_FLIPS[kind], f"{n:,}", "") for kind, n in summary["flips"].items()], width
        )
    timings = summary["timings"]
    lines.append(f"\n{timings['seconds']:.1f} s, {timings['units_per_second']:,} units a second")
    there = [name for name in _FILES if (out / name).exists()]
    lines.append(f"In {out}: {', '.join(there)}")
    return "\n".join(lines) + "\n"


_FILES = ("validated.jsonl", "failures.jsonl", "flips.jsonl", "summary.json", "report.html")
_FLIPS = {**WORDS, "same": "unchanged"}


_MERGED = {
    "failed_to_failed": "another failed one",
    "failed_to_valid": "a valid one",
    "valid_to_failed": "a failed one",
    "valid_to_valid": "another valid one",
}


def _headline(counts: dict[str, int]) -> str:
    if not counts["units"]:
        return "There were no units to judge."
    failed = f"{counts['failed']:,} failed" if counts["failed"] else "none failed"
    fixed = f", {counts['fixed']:,} needed fixes" if counts["fixed"] else ""
    valid, verb = f"{counts['valid']:,} of {count(counts['units'], 'unit')}", "is" if counts["valid"] == 1 else "are"
    return f"{valid} {verb} valid, {failed}{fixed}."


def _merged(summary: dict[str, Any]) -> list[str]:
    """The merged units, and a sum that shows that no line is missing."""
    counts, merged = summary["counts"], summary.get("merged", {})
    if not merged.get("units"):
        return []
    kinds = [f"{_replies(kind, n)} were replaced by {_MERGED[kind]}" for kind, n in merged["kinds"].items()]
    total = f"{counts['lines']:,} lines = {counts['valid']:,} valid + {counts['failed']:,} failed + {counts['merged']:,} merged"
    return [f"Merged {count(merged['units'], 'unit')}: {', '.join(kinds)}.", f"{total}."]


def _replies(kind: str, number: int) -> str:
    return f"{number:,} {kind.partition('_')[0]} {'reply' if number == 1 else 'replies'}"


def _row(code: str, row: dict[str, Any], kind: str) -> tuple[str, str, str]:
    examples = ", ".join(safe_line(uid) for uid in row["examples"][:3])
    return f"{code} {row['name']} · {kind}", f"{row['units']:,}", examples


def _fields(rows: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The fields at which units failed. A failure of the whole reply does not have a field."""
    failing = [(path, row) for path, row in rows.items() if row["failed"] and path != "$"]
    return [(safe_line(path), f"{row['failed']:,}", " ".join(row["codes"])) for path, row in failing]


def _table(title: str, rows: list[tuple[str, str, str]], width: int) -> list[str]:
    if not rows:
        return []
    shown = rows[:_ROWS]
    first = max(len(row[0]) for row in shown)
    second = max(len(row[1]) for row in shown)
    lines = [f"\n{title}"]
    for name, number, more in shown:
        line = f"  {name:<{first}}  {number:>{second}}  {more}".rstrip()
        lines.append(short(line, width))
    if len(rows) > len(shown):
        lines.append(f"  and {len(rows) - len(shown)} more, in summary.json")
    return lines
