"""The outcomes of the study as Markdown tables."""

from pathlib import Path
from typing import Any

MARKS = ("<!-- figures -->", "<!-- end of figures -->")
FREE = [
    ("whole bare", "the bare reply: `json.loads` and pydantic"),
    ("whole recovery", "**trueup**, recovery alone"),
    ("whole", "**trueup**, the loop, `repair: whole`"),
    ("fields", "**trueup**, the loop, `repair: fields`"),
    ("held", "**trueup**, the loop as shipped: the schema enforced if the server supports it"),
    ("instructor", "instructor, MD_JSON (tools: TOOLS)"),
    ("pydantic-ai", "pydantic-ai, PromptedOutput (tools: ToolOutput)"),
]
OTHER = [
    ("whole bare", "schema in words, one example: bare"),
    ("whole recovery", "schema in words, one example: recovery"),
    ("unshown bare", "schema in words, no example: bare"),
    ("unshown recovery", "schema in words, no example: recovery"),
    ("held bare", "schema enforced, one example: bare"),
    ("held", "schema enforced, one example: **trueup**, the loop"),
    ("instructor held", "schema enforced, one example: instructor, JSON_SCHEMA"),
    ("pydantic-ai held", "schema enforced, one example: pydantic-ai, NativeOutput"),
    ("unshown held bare", "schema enforced, no example: bare"),
]


def _rate(rows: list[dict[str, Any]], arm: str, what: str = "valid") -> str:
    rows = [row for row in rows if arm in row]
    return f"{sum(row[arm]['valid'] and row[arm][what] for row in rows)} of {len(rows)}" if rows else "–"


def _table(rows: list[dict[str, Any]], arms: list[tuple[str, str]], *, split: bool) -> list[str]:
    plain, calls = [row for row in rows if not row["calls"]], [row for row in rows if row["calls"]]
    groups = [
        ("English", [r for r in plain if r["lang"] == "en"]),
        ("Spanish", [r for r in plain if r["lang"] == "es"]),
    ]
    if split:
        groups.append(("tools", calls))
    head = [
        "",
        "valid",
        *(name for name, _ in groups),
        "and right",
        "asked again, mean",
        "tokens per prompt",
        "tokens per valid reply",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    asked = rows
    for arm, label in arms:
        rows = [row for row in asked if arm in row]
        again = sum(row[arm]["again"] for row in rows) / max(len(rows), 1)
        tokens = sum(row[arm]["tokens"] for row in rows)
        valid = sum(row[arm]["valid"] for row in rows)
        cells = [label, _rate(rows, arm), *(_rate(group, arm) for _, group in groups), _rate(rows, arm, "right")]
        cells += [f"{again:.2f}", f"{tokens / max(len(rows), 1):,.0f}", f"{tokens / valid:,.0f}" if valid else "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _by_task(rows: list[dict[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(row["task"] for row in rows))
    arms = ["whole bare", "whole recovery", "whole", "fields", "held", "instructor", "pydantic-ai"]
    lines = ["| task | bare | recovery | whole | fields | as shipped | instructor | pydantic-ai |", "|---" * 8 + "|"]
    for name in names:
        some = [row for row in rows if row["task"] == name]
        lines.append("| " + " | ".join([f"`{name}`", *(_rate(some, arm) for arm in arms)]) + " |")
    return lines


def _faults(rows: list[dict[str, Any]], arm: str) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        for code in filter(None, row[arm]["why"].split(",")):
            counts[code] = counts.get(code, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"`{code}` {count}" for code, count in ranked) or "none"


def _won(rows: list[dict[str, Any]]) -> str:
    """The results of asking again after replies that were not valid at first."""
    told = []
    for arm, name in (("whole", "`whole`"), ("fields", "`fields`"), ("held", "as shipped")):
        first = "held recovery" if arm == "held" else "whole recovery"
        lost = [row for row in rows if not row[first]["valid"]]
        told.append(f"{name} {sum(row[arm]['valid'] for row in lost)} of {len(lost)}")
    return f"Asking again made these replies valid, of those that were not valid at first: {', '.join(told)}."


def _targets(rows: list[dict[str, Any]]) -> list[str]:
    """The four targets, and how far each way of asking gets."""
    arms = (("whole", "schema in words, `whole`"), ("fields", "schema in words, `fields`"), ("held", "as shipped"))
    lines = ["| target | " + " | ".join(name for _, name in arms) + " |", "|---" * (len(arms) + 1) + "|"]
    count = len(rows)

    def row(target: str, met: Any, value: Any) -> str:
        cells = [value(arm) if met(arm) else f"**missed**: {value(arm)}" for arm, _ in arms]
        return f"| {target} | " + " | ".join(cells) + " |"

    def readable(arm: str) -> int:
        return sum(not any(code.startswith("P") for code in row[arm]["why"].split(",")) for row in rows)

    def valid(arm: str) -> int:
        return sum(row[arm]["valid"] for row in rows)

    def again(arm: str) -> float:
        return float(sum(row[arm]["again"] for row in rows) / max(count, 1))

    return [
        *lines,
        row("readable ≥ 95 % (no finding of family P at the end)", lambda arm: readable(arm) >= 0.95 * count,
            lambda arm: f"{readable(arm)} of {count}"),
        row("fits the schema ≥ 99 %", lambda arm: valid(arm) >= 0.99 * count, lambda arm: f"{valid(arm)} of {count}"),
        row("fewer than 1.2 repairs on average", lambda arm: again(arm) < 1.2, lambda arm: f"{again(arm):.2f}"),
        row("no valid reply, < 1 %", lambda arm: count - valid(arm) < 0.01 * count,
            lambda arm: f"{count - valid(arm)} of {count}"),
    ]  # fmt: skip


def tables(result: dict[str, Any]) -> str:
    """The whole of the figures."""
    rows, about = result["rows"], result["about"]
    plain = [row for row in rows if not row["calls"]]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    lost = "Faults of the last reply if the loop gave up"
    part = " (the first of the hundred, in an order that mixes tasks and languages)" if len(rows) < 100 else ""
    lines = [
        f"{len(rows)} prompts{part}, {about['minutes']:.0f} minutes of one processor; Python {about['python']}, {versions}.",
        "",
        *_table(rows, FREE, split=True),
        "",
        f"{lost}: {_faults(rows, 'whole')} (`whole`); {_faults(rows, 'fields')} (`fields`); {_faults(rows, 'held')} (as shipped).",
        "",
        _won(rows),
        "",
        "### Against the targets",
        "",
        *_targets(rows),
        "",
        "### Task by task, valid replies",
        "",
        *_by_task(rows),
        "",
        "### The effect of the request",
        "",
        "The schema tasks again, by the content of the request.",
        "",
        *_table(plain, OTHER, split=False),
    ]
    return "\n".join(lines) + "\n"


def put(page: Path, text: str, marks: tuple[str, str] = MARKS) -> None:
    """Write the figures between the two marks of a page."""
    first, last = marks
    before, _, rest = page.read_text("utf-8").partition(first)
    after = rest.partition(last)[2]
    page.write_text(f"{before}{first}\n\n{text}\n{last}{after}", "utf-8")
