"""The measurements: clean, broken, streaming, probes. Each returns plain data that report.py draws."""

import json
from pathlib import Path
from typing import Any

from peers import PARSERS, REPAIRERS
from trueup.measure import reading
from trueup.measure.peers import FAST, JSON_REPAIR, TRUEUP, Peer, plain
from trueup.measure.timing import same

Result = dict[str, Any]


def clean(rounds: int) -> Result:
    """Valid JSON of 1 KB under a schema of 20 fields."""
    return reading.clean(rounds, PARSERS)


def broken(rounds: int) -> Result:
    """Twelve kinds of broken 1 KB replies."""
    return reading.broken(rounds, REPAIRERS)


def _stream_langchain() -> reading.Run:
    from langchain_core.utils.json import parse_partial_json

    return reading.reread(parse_partial_json)


def _stream_partial_json_parser() -> reading.Run:
    import partial_json_parser

    return reading.reread(partial_json_parser.loads)


WHOLE = (
    "trueup",
    "trueup, every partial kept",
    "trueup, live value",
    "jiter",
    "fast_json_repair",
)  # the rest is given a quarter: quadratic, minutes


def streaming(size: int, rounds: int) -> Result:
    """16 KB in chunks of 8 characters, the partial value read at every chunk."""
    makers = {
        **reading.STREAMS,
        "langchain-core": _stream_langchain,
        "partial-json-parser": _stream_partial_json_parser,
        "fast_json_repair": lambda: reading.stream_peer(FAST),
        "json_repair": lambda: reading.stream_peer(JSON_REPAIR),
    }
    return reading.streaming(size, rounds, makers, WHOLE)


def probes(path: Path) -> Result:
    """Hand-written messes, each with its schema and the one value (or refusal) that is right."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    table: dict[str, Result] = {}
    for peer in REPAIRERS:
        row = {"right": 0, "refused": 0, "silent": 0, "silent_checked": 0, "unsupported": 0}
        if peer.version() == "not installed":
            table[peer.name] = {"outcome": "not installed"}
            continue
        for line in lines:
            _probe(peer, line, row)
        table[peer.name] = row
    return {"count": len(lines), "peers": table}


def _probe(peer: Peer, line: dict[str, Any], row: Result) -> None:
    import jsonschema_rs

    read = reading.reader(peer, line["schema"], **(line["contract"] if peer is TRUEUP else {}))
    if isinstance(read, str):
        row["unsupported"] += 1
        return
    try:
        value = plain(read(line["input"]))
    except Exception:
        row["right" if line.get("expect_error") else "refused"] += 1
        return
    if not line.get("expect_error") and same(value, line["expected"]):
        row["right"] += 1
        return
    row["silent"] += 1
    if line["schema"] is True or jsonschema_rs.is_valid(line["schema"], value):
        row["silent_checked"] += 1
