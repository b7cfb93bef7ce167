"""The measurements: clean, broken, streaming, probes, import. Each gives plain data that report.py draws."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cases
from peers import FAST, FLOOR, PARSERS, REPAIRERS, TRUEUP, Peer, Read, plain
from timing import Call, race, same, timed
from types_of import Unsupported

Result = dict[str, Any]


def _reader(peer: Peer, schema: Any, **options: Any) -> Read | str:
    """A reader, or why there is none."""
    try:
        return peer.make(schema, **options)
    except ImportError:
        if peer is TRUEUP:
            raise
        return "not installed"
    except Unsupported:
        return "schema not supported"


def _outcome(read: Read, text: str, expected: Any) -> str:
    try:
        value = read(text)
    except Exception:
        return "error"
    return "right" if same(plain(value), expected) else "wrong"


def _quiet(read: Read, text: str) -> Call:
    """The call to be timed; one that raises is timed as well, with the exception swallowed."""

    def call() -> None:
        try:
            read(text)
        except Exception:
            pass

    try:
        read(text)
    except Exception:
        return call
    return lambda: read(text)


def clean(rounds: int) -> Result:
    """Valid JSON of 1 KB under a schema of 20 fields."""
    readers = {peer.name: _reader(peer, cases.SCHEMA) for peer in PARSERS}
    there = {name: read for name, read in readers.items() if not isinstance(read, str)}
    times = race({name: _quiet(read, cases.COMPACT) for name, read in there.items()}, rounds)
    floor = times.get(FLOOR.name)
    return {
        "characters": len(cases.COMPACT),
        "peers": {
            name: {"outcome": readers[name]}
            if name not in there
            else {
                "outcome": _outcome(there[name], cases.COMPACT, cases.DOCUMENT),
                "us": times[name],
                "ratio": times[name] / floor if floor else None,
            }
            for name in readers
        },
    }


def broken(rounds: int) -> Result:
    """Twelve kinds of broken 1 KB replies."""
    readers = {peer.name: _reader(peer, cases.SCHEMA) for peer in REPAIRERS}
    kinds: dict[str, Result] = {}
    for kind, (text, expected) in cases.BROKEN.items():
        there = {name: read for name, read in readers.items() if not isinstance(read, str)}
        times = race({name: _quiet(read, text) for name, read in there.items()}, rounds)
        kinds[kind] = {
            name: {"outcome": _outcome(read, text, expected), "us": times[name]} for name, read in there.items()
        }
    return {"absent": [name for name, read in readers.items() if isinstance(read, str)], "kinds": kinds}


def _stream_trueup(schema: Any, keep: Callable[[Any], Any] = lambda value: value) -> Callable[[list[str]], Any]:
    """`partial` is a live view that grows with the stream; a stateless peer gives a fresh value each time, as `keep` does."""
    from trueup import Contract

    contract = Contract(schema=schema)
    contract.stream()

    def run(chunks: list[str]) -> Any:
        stream = contract.stream()
        for chunk in chunks:
            stream.feed(chunk)
            keep(stream.partial)
        return stream.finish().data

    return run


def _copy(value: Any) -> Any:
    import orjson

    return orjson.loads(orjson.dumps(value))


def _rereader(read: Callable[[Any], Any], encode: bool = False) -> Callable[[list[str]], Any]:
    """A peer without state: it reads everything so far again at every chunk."""

    def run(chunks: list[str]) -> Any:
        whole = "".join(chunks)
        data: Any = whole.encode() if encode else whole
        value = None
        end = 0
        for chunk in chunks:
            end += len(chunk)
            value = read(data[:end])
        return value

    return run


def _stream_jiter() -> Callable[[list[str]], Any]:
    import jiter

    return _rereader(lambda data: jiter.from_json(data, partial_mode="trailing-strings"), encode=True)


def _stream_langchain() -> Callable[[list[str]], Any]:
    from langchain_core.utils.json import parse_partial_json

    return _rereader(parse_partial_json)


def _stream_partial_json_parser() -> Callable[[list[str]], Any]:
    import partial_json_parser

    return _rereader(_forgiving(partial_json_parser.loads))  # it raises on some prefixes


def _forgiving(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def forgiving(data: Any) -> Any:
        try:
            return read(data)
        except Exception:
            return None

    return forgiving


def _stream_repairer(peer: Peer) -> Callable[[list[str]], Any]:
    return _rereader(_forgiving(peer.make(cases.STREAM_SCHEMA)))


WHOLE = (
    "trueup",
    "trueup, each partial copied",
    "jiter",
    "fast_json_repair",
)  # the rest is given a quarter: quadratic, minutes


def streaming(size: int, rounds: int, width: int = 8) -> Result:
    """16 KB in chunks of 8 characters, the partial value read at every chunk."""
    text = cases.stream_document(size)
    chunks = [text[i : i + width] for i in range(0, len(text), width)]
    makers: dict[str, Callable[[], Callable[[list[str]], Any]]] = {
        "trueup": lambda: _stream_trueup(cases.STREAM_SCHEMA),
        "trueup, each partial copied": lambda: _stream_trueup(cases.STREAM_SCHEMA, _copy),
        "jiter": _stream_jiter,
        "langchain-core": _stream_langchain,
        "partial-json-parser": _stream_partial_json_parser,
        "fast_json_repair": lambda: _stream_repairer(FAST),
        "json_repair": lambda: _stream_repairer(REPAIRERS[2]),
    }
    expected = json.loads(text)
    found: dict[str, Result] = {}
    runs: dict[str, Callable[[list[str]], Any]] = {}
    for name, make in makers.items():
        try:
            runs[name] = make()
        except (ImportError, AttributeError):
            found[name] = {"outcome": "not available"}
    for turn in range(rounds):
        for name, run in runs.items():
            if turn and found[name]["ms"] > 2_000:
                continue
            share = chunks if name in WHOLE else chunks[: len(chunks) // 4]
            spent, value = timed(partial(run, share))
            row = found.setdefault(name, {"ms": float("inf"), "chunks": len(share)})
            row["ms"] = min(row["ms"], spent * 1e3)
            row["outcome"] = "a quarter" if share is not chunks else "right" if same(value, expected) else "wrong"
    base = found.get("jiter", {}).get("ms")
    for row in found.values():
        if base and row.get("chunks") == len(chunks):
            row["ratio"] = row["ms"] / base
    return {"characters": len(text), "chunks": len(chunks), "peers": found}


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

    read = _reader(peer, line["schema"], **(line["contract"] if peer is TRUEUP else {}))
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


IMPORTS = (
    "import trueup",
    "from trueup import Contract",  # the package is lazy: this is what a first use pays
    "import json_repair",
    "import pydantic",
    "import langchain_core.utils.json",
    "import instructor.utils",
    "import baml_py",
)


def import_time(rounds: int) -> Result:
    """Imports in a fresh interpreter, less the interpreter's own start, in CPU milliseconds."""
    return {statement: _import_ms(statement, rounds) for statement in IMPORTS}


def _import_ms(statement: str, rounds: int) -> float | None:
    code = f"import time; a = time.process_time(); {statement}; print(time.process_time() - a)"
    best = None
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        spent = float(done.stdout) * 1e3
        best = spent if best is None else min(best, spent)
    return best
