"""The figures as tables: plain text for the terminal, Markdown for the docs. Both from the same rows."""

from collections.abc import Callable
from typing import Any

import dialogue
import ending
import large
import loop
import rules
import running
import start
import tools
import typed

Rows = list[list[str]]
Table = tuple[str, str, list[str], Rows]  # title, note, head, rows


def _us(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"


def _clean(data: Any) -> Table:
    rows = [
        [name, row["outcome"], _us(row["us"]) if "us" in row else "", _ratio(row.get("ratio"))]
        for name, row in data["peers"].items()
    ]
    rows.sort(key=lambda row: (row[0] != "trueup", float(row[2].replace(",", "") or "inf")))
    note = f"Valid JSON of {data['characters']} characters under a schema of 20 fields. CPU µs for one call; the ratio is to orjson + jsonschema-rs."
    return "Clean replies", note, ["reader", "value", "µs", "ratio"], rows


TOLD = "the same, told it is broken"


def ratios(data: Any, other: str = "fast_json_repair") -> dict[str, float]:
    """trueup's CPU time over a peer's, by kind."""
    return {
        kind: row["trueup"]["us"] / row[other]["us"]
        for kind, row in data["kinds"].items()
        if "trueup" in row and other in row
    }


def _within(over: dict[str, float]) -> str:
    """How many kinds cost no more than with the peer, and how many no more than three times that."""
    return f"≤ 1: {sum(r <= 1 for r in over.values())}, ≤ 3: {sum(r <= 3 for r in over.values())}" if over else ""


def _broken(data: Any) -> Table:
    names = list(next(iter(data["kinds"].values())))
    mark = {"right": "", "wrong": " ✗", "error": " –"}
    over, told = ratios(data), ratios(data, TOLD)
    rows = [
        [
            kind,
            *(_us(row[name]["us"]) + mark[row[name]["outcome"]] for name in names),
            _ratio(over.get(kind)),
            _ratio(told.get(kind)),
        ]
        for kind, row in data["kinds"].items()
    ]
    right = {name: sum(row[name]["outcome"] == "right" for row in data["kinds"].values()) for name in names}
    wrong = {name: sum(row[name]["outcome"] == "wrong" for row in data["kinds"].values()) for name in names}
    total = len(data["kinds"])
    rows.append(["right", *(f"{right[name]} of {total}" for name in names), _within(over), _within(told)])
    rows.append(["wrong value", *(str(wrong[name]) for name in names), "", ""])
    absent = f" Not installed: {', '.join(data['absent'])}." if data["absent"] else ""
    note = (
        "Twelve kinds of broken 1 KB replies. CPU µs for one call; ✗ a wrong value, – an error. The last two columns "
        "divide trueup's time by fast_json_repair's: by its `loads`, and by `repair_json(…, skip_json_loads=True)`, which does "
        "not try to read the text unchanged first. trueup also checks the schema and records every fix." + absent
    )
    return "Broken replies", note, ["kind", *names, "trueup / fast", "/ told"], rows


def _streaming(data: Any) -> Table:
    rows = [
        [
            name,
            row["outcome"],
            f"{row['ms']:,.1f}" if "ms" in row else "",
            str(row.get("chunks", "")),
            _ratio(row.get("ratio")),
        ]
        for name, row in data["peers"].items()
    ]
    note = (
        f"{data['characters']:,} characters in {data['chunks']:,} chunks, the partial value read at every chunk. CPU ms; "
        "the ratio is to jiter. As with the other readers, a value that `feed` has returned never changes; the second row keeps "
        "all of these values. The live value is one object that grows, and is not coerced. Slow readers got only the first quarter."
    )
    return "Streaming", note, ["reader", "final value", "ms", "chunks", "ratio"], rows


def _short_stream(data: Any) -> Table:
    _, _, header, rows = _streaming(data)
    note = (
        f"The same with {data['characters']:,} characters in {data['chunks']:,} chunks. jiter reads the text again at every "
        "chunk, which costs little while the text is short: up to about 8,000 characters, it is faster than trueup."
    )
    return "Streaming a short reply", note, header, rows


def _hostile_cell(row: Any) -> str:
    if row is None:
        return ""
    last: Any = row["steps"][-1] if row["steps"] else None
    if row["status"] != "ok":
        reached = f" after {last['size'] // 1000} KB" if last else ""
        return f"{row['status']}{reached}"
    time = f"{last['cpu'] * 1000:,.0f} ms" if row["seconds"] is None else f"{row['seconds'] * 1000:,.0f} ms"
    return time if last["outcome"] == "value" else f"{time} ({last['outcome']})"


def _hostile(data: Any) -> Table:
    names: list[str] = []
    for row in data["shapes"].values():
        names += [name for name in row if name not in names]
    rows = []
    for shape, row in data["shapes"].items():
        own = row.get("trueup", {}).get("ratio")
        rows.append([shape, *(_hostile_cell(row.get(name)) for name in names), _ratio(own)])
    size = min(1_000_000, data["sizes"][-1]) // 1000
    note = (
        f"CPU time for {size} KB of each shape, each reader in a separate process with a limit of {data['limit']:.0f} s. A refusal is "
        "a good answer here. *Too slow* means that it was stopped because the next size would not have finished in time. The last "
        "column divides trueup's time at twice the size by its time at this size."
    )
    return "Hostile texts", note, ["shape", *names, "trueup, 2n / n"], rows


def _probes(data: Any) -> Table:
    rows = [
        [name, row["outcome"], "", "", "", ""]
        if "outcome" in row
        else [name, *(str(row[key]) for key in ("right", "refused", "silent", "silent_checked", "unsupported"))]
        for name, row in data["peers"].items()
    ]
    note = (
        f"{data['count']} hand-written messy replies, each with its schema. *Silently wrong* means a wrong value "
        "without any sign of it; *of these valid* counts how many of them also fit the schema."
    )
    return (
        "Probes",
        note,
        ["reader", "right", "refused", "silently wrong", "of these valid", "schema not supported"],
        rows,
    )


DRAW: dict[str, Callable[[Any], Table]] = {
    "clean": _clean,
    "broken": _broken,
    "streaming": _streaming,
    "short-stream": _short_stream,
    "hostile": _hostile,
    "probes": _probes,
    "tools": tools.table,
    "dialogue": dialogue.table,
    "large": large.table,
    "loop": loop.table,
    "running": running.table,
    "ending": ending.table,
    "rules": rules.table,
    "typed": typed.table,
    "imports": start.table,
}


def plain_table(head: list[str], rows: Rows) -> str:
    """A table for the terminal: the first column to the left, all others to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def text(name: str, data: Any) -> str:
    title, note, head, rows = DRAW[name](data)
    return f"\n{title}\n{note}\n\n{plain_table(head, rows)}"


_MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "|`*_<>[]{}\\#&"})


def markdown_table(head: list[str], rows: Rows) -> str:
    """A table for a page, with every cell unchanged."""
    cells = [[cell.translate(_MARKS) for cell in row] for row in rows]
    return "\n".join(
        [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in cells)]
    )


def markdown(result: dict[str, Any], plot: str | None) -> str:
    parts = [
        "# Benchmarks\n",
        "Written by `make bench`: CPU time of one run on one machine. The readers take turns, and each figure is the best of several rounds.\n",
        f"{result['machine']}\n",
    ]
    if plot:
        parts.append(f"![CPU time by kind of broken reply]({plot})\n")
    for name in DRAW:
        if name not in result:
            continue
        title, note, head, rows = DRAW[name](result[name])
        parts.append(f"## {title}\n\n{note}\n\n{markdown_table(head, rows)}\n")
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    parts.append(f"## Versions\n\n{versions}.\n")
    return "\n".join(parts)
