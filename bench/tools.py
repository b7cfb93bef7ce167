"""Tool calls: reading and judging them, with few tools and with many, native and written into the text."""

from typing import Any

import trueup.measure.tools

Result = dict[str, Any]
MANY = 10_000


def tools(rounds: int) -> Result:
    """Three calls against 50 tools and against 10,000."""
    return trueup.measure.tools.tools(rounds, MANY)


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    rows = [[name, f"{us:.1f}" if us < 100 else f"{us:,.0f}"] for name, us in data["us"].items()]
    note = f"CPU µs for reading and judging one reply. Making a contract with {data['tools']:,} tools takes {data['made']:.2f} s."
    return "Tool calls", note, ["reply", "µs"], rows
