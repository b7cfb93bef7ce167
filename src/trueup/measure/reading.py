"""Timings of reading: takes readers; returns figures as plain data, for clean replies, broken ones and streams."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from trueup.measure import replies
from trueup.measure.peers import FLOOR, TRUEUP, Peer, Read, Unsupported, plain
from trueup.measure.timing import Call, race, same, timed

Result = dict[str, Any]
Run = Callable[[list[str]], Any]
ABSENT = "not installed"


def reader(peer: Peer, schema: Any, **options: Any) -> Read | str:
    """A reader, or the reason for none."""
    try:
        return peer.make(schema, **options)
    except ImportError:
        if peer is TRUEUP:
            raise
        return ABSENT
    except Unsupported:
        return "schema not supported"


def _outcome(read: Read, text: str, expected: Any) -> str:
    try:
        value = read(text)
    except Exception:  # noqa: BLE001 - a third-party reader may raise anything; that is its result
        return "error"
    return "right" if same(plain(value), expected) else "wrong"


def _quiet(read: Read, text: str) -> Call:
    """The call to time, with any exception ignored."""

    def call() -> None:
        try:
            read(text)
        except Exception:  # noqa: BLE001, S110 - as above
            pass

    try:
        read(text)
    except Exception:  # noqa: BLE001 - as above
        return call
    return partial(read, text)


def clean(rounds: int, peers: Sequence[Peer]) -> Result:
    """Valid JSON of 1 KB under a schema of 20 fields."""
    readers = {peer.name: reader(peer, replies.SCHEMA) for peer in peers}
    there = {name: read for name, read in readers.items() if not isinstance(read, str)}
    times = race({name: _quiet(read, replies.COMPACT) for name, read in there.items()}, rounds)
    floor = times.get(FLOOR.name)
    rows: Result = {}
    for name, read in readers.items():
        if isinstance(read, str):
            rows[name] = {"outcome": read}
            continue
        outcome = _outcome(read, replies.COMPACT, replies.DOCUMENT)
        rows[name] = {"outcome": outcome, "us": times[name], "ratio": times[name] / floor if floor else None}
    return {"characters": len(replies.COMPACT), "peers": rows}


def broken(rounds: int, peers: Sequence[Peer]) -> Result:
    """Twelve kinds of broken 1 KB replies."""
    readers = {peer.name: reader(peer, replies.SCHEMA) for peer in peers}
    there = {name: read for name, read in readers.items() if not isinstance(read, str)}
    kinds: dict[str, Result] = {}
    for kind, (text, expected) in replies.BROKEN.items():
        times = race({name: _quiet(read, text) for name, read in there.items()}, rounds)
        kinds[kind] = {
            name: {"outcome": _outcome(read, text, expected), "us": times[name]} for name, read in there.items()
        }
    return {"absent": [name for name, read in readers.items() if isinstance(read, str)], "kinds": kinds}


def stream_trueup(*, keep: bool = False, live: bool = False) -> Run:
    """The partial results of `feed`: all of them until the end with `keep`, or the `live` value instead."""
    from trueup.contract.contract import Contract

    contract = Contract(schema=replies.STREAM_SCHEMA)
    contract.stream()

    def run(chunks: list[str]) -> Any:
        stream = contract.stream()
        kept: list[Any] = []
        for chunk in chunks:
            if live:
                stream.push(chunk)
                _ = stream.live
                continue
            value = stream.feed(chunk)
            if keep:
                kept.append(value)
        return stream.finish().data

    return run


def reread(read: Callable[[Any], Any], *, encode: bool = False) -> Run:
    """A peer without state: it reads the whole text again at every chunk. A prefix that it refuses has no value."""

    def run(chunks: list[str]) -> Any:
        whole = "".join(chunks)
        data: Any = whole.encode() if encode else whole
        value = None
        end = 0
        for chunk in chunks:
            end += len(chunk)
            try:
                value = read(data[:end])
            except Exception:  # noqa: BLE001 - as above
                value = None
        return value

    return run


def stream_jiter() -> Run:
    from_json = import_module("jiter").from_json
    return reread(lambda data: from_json(data, partial_mode="trailing-strings"), encode=True)


def stream_peer(peer: Peer) -> Run:
    return reread(peer.make(replies.STREAM_SCHEMA))


STREAMS: dict[str, Callable[[], Run]] = {
    "trueup": stream_trueup,
    "trueup, every partial kept": lambda: stream_trueup(keep=True),
    "trueup, live value": lambda: stream_trueup(live=True),
    "jiter": stream_jiter,
}


def streaming(
    size: int, rounds: int, makers: dict[str, Callable[[], Run]], whole: Sequence[str], width: int = 8
) -> Result:
    """Read the partial value of `size` characters at every chunk of `width`.

    Readers that are not in `whole` get a quarter, because their time grows with the square of the length.
    """
    text = replies.stream_document(size)
    chunks = [text[i : i + width] for i in range(0, len(text), width)]
    expected = json.loads(text)
    found: dict[str, Result] = {}
    runs: dict[str, Run] = {}
    for name, make in makers.items():
        try:
            runs[name] = make()
        except (ImportError, AttributeError):
            found[name] = {"outcome": ABSENT}
    for turn in range(rounds):
        for name, run in runs.items():
            if turn and found[name]["ms"] > 2_000:
                continue
            share = chunks if name in whole else chunks[: len(chunks) // 4]
            spent, value = timed(partial(run, share))
            row = found.setdefault(name, {"ms": float("inf"), "chunks": len(share)})
            row["ms"] = min(row["ms"], spent * 1e3)
            row["outcome"] = "a quarter" if share is not chunks else "right" if same(value, expected) else "wrong"
    base = found.get("jiter", {}).get("ms")
    for row in found.values():
        if base and row.get("chunks") == len(chunks):
            row["ratio"] = row["ms"] / base
    return {"characters": len(text), "chunks": len(chunks), "peers": {name: found[name] for name in makers}}
