"""The time for each step of a line: every step of a worker's loop alone, over the lines of one file, best of several.

The steps are timed one after the other, with warm caches; in the loop they share the caches, so the whole takes longer.
"""
# ruff: noqa: SLF001 - the steps of the loop are its own

import json
import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from orjson import dumps

import sift_ways
from trueup.batch.input.ranges import RANGE_SIZE, Range, lines_of
from trueup.batch.input.sources import InputSource
from trueup.batch.input.units import Unit
from trueup.batch.judging import sieve, work
from trueup.batch.judging.records import failed_line, valid_line
from trueup.contract.contract import Contract
from trueup.verdict.codec import decode

LINES = 3_000
TURNS = 7
Steps = list[tuple[str, float]]


def micro(act: Callable[[Any], Any], values: Iterable[Any]) -> float:
    """Microseconds of one call, best of several rounds over all values."""
    values = list(values)
    best = float("inf")
    for _ in range(TURNS):
        began = time.process_time()
        for value in values:
            act(value)
        best = min(best, time.process_time() - began)
    return best / len(values) * 1e6


def of_clean(path: Path) -> Steps:
    """The steps of a clean line, and the loop as a whole."""
    contract: Any = Contract(sift_ways.SCHEMA, rules=sift_ways.RULES)
    with path.open("rb") as opened:
        lines = [line[:-1] for line in islice(opened, LINES)]
    rows = [sieve._plain(line) for line in lines]
    texts = [row.raw_response for row in rows]
    values = [decode(text) for text in texts]
    again = [dumps(value) for value in values]
    fields = {"n": 1, "unit_id": "unit-1"}
    return [
        ("parse the line", micro(sieve._plain, lines)),
        ("see that it names its id and its reply once", micro(_names, lines)),
        ("parse the reply", micro(decode, texts)),
        ("write its value for the record", micro(dumps, values)),
        ("see that no key was lost: count the quotes", micro(_quotes, zip(texts, again, strict=True))),
        ("schema", micro(contract._is_valid, values)),
        ("make sure that `5.0` does not replace an integer", micro(contract._integral, values)),
        ("three rules", micro(lambda value: contract.meaning.keeps_rules(value, fields), values)),
        ("the record", micro(_record, zip(lines, again, strict=True))),
        ("the id", micro(_id, (row.unit_id for row in rows))),
        ("**a worker's loop, with all of these and reading**", _loop(path, contract)),
    ]


def of_broken() -> list[tuple[str, float, float, float]]:
    """For each kind of broken reply: judging it, reporting its fixes, writing its record."""
    contract: Any = Contract(sift_ways.SCHEMA, rules=sift_ways.RULES)
    dice = random.Random(7)
    context = {"input": {"n": 1, "unit_id": "unit-1"}}
    found = []
    for kind, name in enumerate(sift_ways.KINDS):
        texts = [sift_ways.broken(kind, json.dumps(sift_ways.value(dice, number))) for number in range(300)]
        judge = micro(lambda text: contract.check(text, context), texts)
        both = micro(lambda text: contract.check(text, context).fixes, texts)
        verdicts = [contract.check(text, context) for text in texts]
        found.append((name, judge, both - judge, micro(_broken_record, verdicts)))
    return found


def _names(line: bytes) -> bool:
    return line.count(b'"unit_id"') == 1 and line.count(b'"raw_response"') == 1


def _quotes(pair: tuple[str, bytes]) -> bool:
    return pair[0].count('"') == pair[1].count(b'"') and "\\" in pair[0]


def _record(pair: tuple[bytes, bytes]) -> bytes:
    return b"".join((pair[0][:-1], b',"data":', pair[1], b',"fixes":[]}\n'))


def _id(uid: str) -> bytes:
    return blake2b(uid.encode(), digest_size=sieve.ID_SIZE).digest() + (7).to_bytes(4, "big")


def _broken_record(verdict: Any) -> bytes:
    unit = Unit("unit-1", verdict.reply.text, verdict.reply.text, {"n": 1})
    if verdict.ok:
        return valid_line(unit, verdict)
    return failed_line(unit, "parse", verdict.findings, verdict, "broken.jsonl@0")


def _loop(path: Path, contract: Any) -> float:
    """One range, judged as a worker does, its pieces thrown away."""
    size = min(path.stat().st_size, RANGE_SIZE)
    piece = Range(0, 0, 0, size)
    source = InputSource(str(path), path.name, path.stat().st_size, "")
    job: Any = work.SiftJob("", None, (source,), "", 8 << 20)  # type: ignore[arg-type]
    with path.open("rb") as opened:
        count = sum(1 for _ in lines_of(opened, piece, 8 << 20, source.size))
    return micro(lambda task: deque(work.judge_range(job, contract, task, [0]), 0), [work.RangeTask(piece)]) / count
