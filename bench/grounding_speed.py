"""The cost of grounding: 50 values in sources of 10 KB, 100 KB and 1 MB, new to the engine and seen before, in English and Chinese.

CPU time of `Contract.check`, in ms. The values come from the first documents; a larger source has more documents after them.
"""

import json
import statistics
import time
from typing import Any

from grounding_texts import document

SIZES = (10_000, 100_000, 1_000_000)
REPEATS = {10_000: 21, 100_000: 9, 1_000_000: 3}
VALUES = 50
LANGUAGES = {"en": "English", "zh": "Chinese"}


def material(language: str, size: int) -> tuple[str, dict[str, Any]]:
    """A source of this many bytes in UTF-8, and 50 values that it contains."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    length = at = 0
    while length < size:
        made = document(f"speed-{at}", language, "dev", f"speed/{language}/{at}")
        at += 1
        text = made.text
        parts.append(text)
        length += len(text.encode()) + 2
        for leaf in made.leaves:
            if leaf.kind != "flag" and len(values) < VALUES:
                values[f"{leaf.key}_{len(values)}"] = leaf.value
    return "\n\n".join(parts), values


def _contract(values: dict[str, Any]) -> Any:
    from trueup import Contract

    types = {key: "string" if isinstance(value, str) else "number" for key, value in values.items()}
    schema = {
        "type": "object",
        "properties": {key: {"type": name} for key, name in types.items()},
        "required": list(types),
    }
    return Contract(schema, grounded=True)


def measure() -> dict[str, Any]:
    """For each language and size: milliseconds of a fresh source and of a known one, minimum and median."""
    out: dict[str, Any] = {}
    for language in LANGUAGES:
        for size in SIZES:
            source, values = material(language, size)
            contract, reply = _contract(values), json.dumps(values, ensure_ascii=False)
            contract.check(
                reply, {"source": source[:1000]}
            )  # loading at the first use is not part of the cost of a check
            times: dict[str, list[float]] = {"fresh": [], "known": []}
            for turn in range(REPEATS[size]):
                context = {"source": f"{source}\n({turn})"}
                for name in ("fresh", "known"):
                    begun = time.process_time()
                    contract.check(reply, context)
                    times[name].append((time.process_time() - begun) * 1000)
            out.setdefault(language, {})[str(size)] = {
                name: {"minimum": min(all_), "median": statistics.median(all_)} for name, all_ in times.items()
            }
    return out


def table(speed: dict[str, Any]) -> str:
    lines = [
        f"CPU ms of checking {VALUES} values against a source that is new, and one that was seen before: minimum (median).",
        "",
        "| language | source | new | ratio to the size before | seen before | ratio to the size before |",
        "|---|---|---|---|---|---|",
    ]
    for language, sizes in speed.items():
        before: dict[str, float] = {}
        for size, row in sizes.items():
            cells = []
            for name in ("fresh", "known"):
                best = row[name]["minimum"]
                ratio = f"{best / before[name]:.1f}×" if name in before else ""
                cells += [f"{best:.2f} ({row[name]['median']:.2f})", ratio]
                before[name] = best
            lines.append(f"| {LANGUAGES[language]} | {int(size) // 1000:,} KB | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
