"""Show grounding rates: takes the counts of a summary and returns lines for a terminal."""

from typing import Any

from trueup.batch.counting.grounding_rates import KINDS, TITLES
from trueup.cli.terminal.layout import count, short
from trueup.verdict.display import safe_line

_ROWS = 8
_WIDTH = 79


def grounded_lines(found: dict[str, Any], indent: str = "  ") -> list[str]:
    """All values, then the fields with the most values without evidence, then the models. Empty if no value was looked
    up.

    >>> print(*grounded_lines({"values": 3, "rate": 0.6667, "exact": 2, "none": 1, "fields": {}}), sep="\\n")
      3 values: 66.7 % grounded; 2 exact, 1 no evidence
    """
    if not found:
        return []
    lines = [f"{indent}{count(found['values'], 'value')}: {rate_of(found)} grounded; {kinds_of(found)}"]
    lines += _rows(found["fields"], "fields", indent)
    models = found.get("models") or {}
    if models:
        lines.append(f"{indent}by model")
        lines += _rows({name or "(not named)": row for name, row in models.items()}, "models", indent)
    return [short(line, _WIDTH) for line in lines]


def rate_of(row: dict[str, Any]) -> str:
    """The share of checkable values that have evidence."""
    rate = row.get("rate")
    return "-" if rate is None else f"{100 * rate:.1f} %"


def kinds_of(row: dict[str, Any]) -> str:
    """The number of values of each kind in a row."""
    return ", ".join(f"{row[kind]:,} {TITLES[kind]}" for kind in KINDS if row.get(kind))


def _rows(rows: dict[str, Any], what: str, indent: str) -> list[str]:
    shown = [(safe_line(name), row) for name, row in list(rows.items())[:_ROWS]]
    first = max((min(len(name), 30) for name, _ in shown), default=0)
    lines = [f"{indent}  {short(name, 30):<{first}}  {rate_of(row):>7}  {kinds_of(row)}" for name, row in shown]
    if len(rows) > _ROWS:
        lines.append(f"{indent}  and {len(rows) - _ROWS} more {what}, in the JSON")
    return lines
