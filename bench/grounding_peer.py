"""LangExtract's aligner on the same values and sources, as a peer: how many values it aligns, and how long it takes.

It was built for verbatim extractions, so it is measured twice: with the values as in JSON, and with the words of the text in
their place. Any alignment counts as grounded, none as flagged. It has no notion of records or prompts, so these mistakes are left out.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import grounding_speed
from grounding_records import HALVES, LANGUAGES
from grounding_run import all_cases

WORKER = Path(__file__).with_name("grounding_peer_worker.py")
DOCUMENTS = 400
LEFT_OUT = ("swap", "copied")
NOT_INSTALLED = "not installed"


def _run(python: Path, lines: list[str], seconds: float) -> list[Any] | None:
    """The worker's answer; None if it takes too long or is not installed."""
    try:
        done = subprocess.run(
            [str(python), str(WORKER)],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return answers if len(answers) == len(lines) else None


def _installed(python: Path) -> bool:
    return subprocess.run([str(python), "-c", "import langextract"], capture_output=True, check=False).returncode == 0


def _line(source: str, values: list[Any], language: str) -> str:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in values]
    return json.dumps({"source": source, "values": texts, "unicode": language in ("zh", "ja")})


def measure(python: Path | None, seed: int) -> dict[str, Any]:
    python = python or Path(sys.executable)
    if not _installed(python):
        return {"outcome": NOT_INSTALLED}
    return {"aligned": _aligned(python, seed), "ms": _speed(python)}


def _aligned(python: Path, seed: int) -> dict[str, Any]:
    lines, asked = [], []
    for case in all_cases(seed, DOCUMENTS, LANGUAGES, HALVES):
        made = case.document
        leaves = [leaf for leaf in case.leaves if leaf.kind != "flag"]
        if case.kind in LEFT_OUT:
            continue
        if not case.false:
            lines.append(_line(made.text, [leaf.value for leaf in leaves], made.language))
            asked.append(("as in JSON", made.language, True))
            lines.append(_line(made.text, [leaf.said[-1].text for leaf in leaves], made.language))
            asked.append(("as in the text", made.language, True))
        else:
            value = case.value
            for step in case.false[0][2:].replace("[", ".").replace("]", "").split("."):
                value = value[int(step) if step.isdigit() else step]
            lines.append(_line(made.text, [value], made.language))
            asked.append(("as in JSON", made.language, False))
    answers = _run(python, lines, 1800)
    right: Counter[Any] = Counter()
    every: Counter[Any] = Counter()
    failed = 0
    for key, answer in zip(asked, answers or [], strict=False):
        failed += bool(answer["failed"])
        for status in answer["statuses"]:
            every[key] += 1
            right[key] += (status is not None) == key[2]
    rows = {}
    for language in LANGUAGES:
        rows[language] = {
            name: {"right": right[way, language, true], "all": every[way, language, true]}
            for name, way, true in (
                ("as in JSON", "as in JSON", True), ("as in the text", "as in the text", True), ("flagged", "as in JSON", False),
            )
        }  # fmt: skip
    return {"languages": rows, "failed": failed}


def _speed(python: Path) -> dict[str, Any]:
    times: dict[str, Any] = {}
    for language in grounding_speed.LANGUAGES:
        for size in grounding_speed.SIZES[:2]:
            source, values = grounding_speed.material(language, size)
            line = _line(source, list(values.values()), language)
            answers = _run(python, [line] * 3, 300)
            times.setdefault(language, {})[str(size)] = min(one["ms"] for one in answers) if answers else None
    return times


def table(peer: dict[str, Any]) -> str:
    if peer.get("outcome") == NOT_INSTALLED:
        return "| LangExtract's aligner | |\n|---|---|\n| all | not installed |\n"
    lines = [
        f"LangExtract's aligner on {DOCUMENTS} of the documents, offline. Values with any alignment; false values without one.",
        "",
        "| language | true values, as in JSON | true values, as in the text | false values, flagged |",
        "|---|---|---|---|",
    ]
    for language, row in peer["aligned"]["languages"].items():
        cells = [
            f"{100 * one['right'] / one['all']:.1f} % of {one['all']:,}" if one["all"] else "–" for one in row.values()
        ]
        lines.append(f"| {language} | {' | '.join(cells)} |")
    lines += ["", f"| CPU ms, {grounding_speed.VALUES} values | 10 KB | 100 KB |", "|---|---|---|"]
    for language, sizes in peer["ms"].items():
        cells = [f"{ms:,.0f}" if ms is not None else "over 100 s" for ms in sizes.values()]
        lines.append(f"| {grounding_speed.LANGUAGES[language]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
