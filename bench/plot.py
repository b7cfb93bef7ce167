"""One picture, written as SVG by hand: CPU time per kind of broken reply, a dot per reader, on a log scale.

A filled dot is the right value, a ring a wrong one, a cross an error. Colours read on light and on dark pages.
"""

import math
from typing import Any
from xml.sax.saxutils import escape

COLOURS = {
    "trueup": "#e4572e",
    "fast_json_repair": "#2e86c1",
    "json_repair": "#8e6bbf",
    "repairjson": "#2a9d8f",
    "baml-py": "#b8860b",
    "langchain-core": "#c05a8a",
    "instructor": "#6b8e23",
}
INK = "#808790"
LEFT, TOP, ROW, WIDTH, RIGHT = 150, 62, 26, 620, 24


def _x(us: float, low: float, high: float) -> float:
    share = (math.log10(us) - low) / (high - low)
    return LEFT + share * WIDTH


def _dot(x: float, y: float, name: str, cell: Any) -> str:
    colour, size = COLOURS[name], 6 if name == "trueup" else 4.5
    tip = f"<title>{escape(name)}: {cell['us']:.1f} µs, {cell['outcome']}</title>"
    if cell["outcome"] == "error":
        d = size - 1
        path = f"M{x - d:.1f} {y - d:.1f}l{2 * d} {2 * d}m0 {-2 * d}l{-2 * d} {2 * d}"
        return f'<path d="{path}" stroke="{colour}" stroke-width="1.8" fill="none">{tip}</path>'
    fill = colour if cell["outcome"] == "right" else "none"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" stroke="{colour}" stroke-width="1.8">{tip}</circle>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'


def _legend(names: list[str]) -> list[str]:
    out, x = [], float(LEFT)
    for name in names:
        out.append(f'<circle cx="{x:.1f}" cy="16" r="5" fill="{COLOURS[name]}"/>')
        out.append(_text(x + 9, 20, name))
        x += 22 + 6.6 * len(name)
    out.append(_text(LEFT, 42, "● right   ○ wrong value   × error"))
    out.append(_text(LEFT + WIDTH, 42, "CPU µs, log scale", "end"))
    return out


def svg(broken: Any) -> str:
    kinds = broken["kinds"]
    names = [name for name in COLOURS if name in next(iter(kinds.values()))]
    every = [row[name]["us"] for row in kinds.values() for name in names]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    height = TOP + ROW * len(kinds) + 34
    parts = _legend(names)
    for power in range(low, high + 1):
        x = _x(10**power, low, high)
        parts.append(f'<path d="M{x:.1f} {TOP - 8}V{height - 26}" stroke="{INK}" stroke-opacity=".3"/>')
        parts.append(_text(x, height - 10, f"{10**power:,}", "middle"))
    for number, (kind, row) in enumerate(kinds.items()):
        y = TOP + ROW * number + ROW / 2
        parts.append(_text(LEFT - 12, y + 4, kind, "end"))
        parts.append(f'<path d="M{LEFT} {y}h{WIDTH}" stroke="{INK}" stroke-opacity=".15"/>')
        parts += [_dot(_x(row[name]["us"], low, high), y, name, row[name]) for name in reversed(names)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" '
        'font-family="system-ui, sans-serif" font-size="12" role="img" '
        'aria-label="CPU time of each reader on twelve kinds of broken replies">'
    )
    return head + "\n" + "\n".join(parts) + "\n</svg>\n"
