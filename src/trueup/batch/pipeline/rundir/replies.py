"""Reads the recorded answers for the units of a chunk: `{step}_results.jsonl`, and the replies that a retry brought along.

A line of the results is only a reply if it has the text of one. Other lines record an event of a call: it was sent, the provider
refused it, or it failed on the way. These are counted and priced here, but never shown or judged as replies.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from trueup.batch.pipeline.estimating.cost import money_of
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged, is_record, read_lines
from trueup.batch.pipeline.rundir.state import Chunk, Money

Row = dict[str, Any]
Kind = Literal["reply", "sent", "refused", "transport", "failure"]
RETRIES = "retries.jsonl"


def kind_of(row: Mapping[str, Any]) -> Kind | None:
    """The kind of record in a line of the results; None for a line that a run never writes.

    >>> [kind_of(row) for row in ({"raw_response": ""}, {"sent": True}, {"refused": "rate"}, {"failure": {}}, {})]
    ['reply', 'sent', 'refused', 'failure', None]
    """
    if row.get("sent"):
        return "sent"
    for kind in ("refused", "transport", "failure"):
        if kind in row:
            return kind
    return "reply" if isinstance(row.get("raw_response"), str) else None


def is_reply(row: Mapping[str, Any]) -> bool:
    """Whether a line of the results has the text of a reply."""
    return kind_of(row) == "reply"


class RecordedCalls(NamedTuple):
    """The results of a chunk: the records by unit, calls without an answer, and the cost of everything."""

    recorded: dict[str, list[Row]]
    unanswered: Counter[str]
    money: Money


def read_calls(rows: Iterable[Row], known: Container[str] | None = None) -> RecordedCalls:
    """Sort the lines of a results file. For units that are not `known`, because they were withdrawn, only the cost counts."""
    recorded: dict[str, list[Row]] = {}
    unanswered: Counter[str] = Counter()
    money = Money()
    for row in rows:
        unit_id = row["unit_id"]
        if known is not None and unit_id not in known:
            if "usage" in row:
                money.add(money_of(row["usage"], row.get("usd")))
            continue
        kind = kind_of(row)
        if kind == "sent":
            unanswered[unit_id] += 1
            continue
        if unanswered[unit_id]:
            unanswered[unit_id] -= 1
        if kind == "refused":
            continue
        recorded.setdefault(unit_id, []).append(row)
        if "usage" in row:
            money.add(money_of(row["usage"], row.get("usd")))
        elif row.get("cached"):
            money.add(Money(cached=1))
    return RecordedCalls(recorded, +unanswered, money)


def rows_in(file: Path) -> Iterator[Row]:
    """The records of a file that another process may be writing: an incomplete last line is left out."""
    for number, row in enumerate(read_lines(file, tail=True), 1):
        if not is_record(row):
            raise Damaged(f"{file}: row {number} names no unit; try `trueup repair`")
        yield row


def replies_in(file: Path) -> Iterator[Row]:
    """The replies of a results file, in the order of arrival."""
    return filter(is_reply, rows_in(file))


def last_replies(run: RunDir, chunk: Chunk, step: str) -> dict[str, Row]:
    """The reply that decided, by unit: the last one, or the one of an earlier try if there was none since."""
    found = {row["unit_id"]: row for row in _taken_along(run, chunk, step) if row["raw_response"]}
    found |= {row["unit_id"]: row for row in replies_in(run.file(chunk.name, step, "results"))}
    return found


def reply_counts(run: RunDir, chunk: Chunk, step: str) -> Counter[str]:
    """How many replies each unit had in a step so far, including those before a retry."""
    counts = Counter(row["unit_id"] for row in replies_in(run.file(chunk.name, step, "results")))
    for row in _taken_along(run, chunk, step):
        counts[row["unit_id"]] += sum(number for stage, number in row["tries"].items() if stage != "transport")
    return counts


def replies_to(run: RunDir, chunk: str, step: str, unit_id: str) -> list[Row]:
    """Every reply about one unit in a step, oldest first, including those before a retry."""
    chain: list[list[Row]] = []
    seen: set[str] = set()
    while chunk in run.state.chunks and chunk not in seen:
        seen.add(chunk)
        file = run.file(chunk, step, "results")
        chain.append([row for row in replies_in(file) if row["unit_id"] == unit_id])
        earlier = [row for row in _taken_along(run, run.state.chunks[chunk], step) if row["unit_id"] == unit_id]
        if not earlier:
            break
        chunk = str(earlier[-1].get("chunk", ""))
    return [row for part in reversed(chain) for row in part]


def _taken_along(run: RunDir, chunk: Chunk, step: str) -> Iterator[Row]:
    """The records of earlier tries of the units in a retry chunk."""
    if chunk.origin == "retry" and run.state.steps[chunk.first] == step:
        yield from rows_in(run.folder(chunk.name) / RETRIES)


def open_calls(run: RunDir) -> Iterator[tuple[Chunk, RecordedCalls]]:
    """The calls of the chunks that are in the middle of a step."""
    for chunk in run.state.chunks.values():
        if chunk.submitted and run.state.is_open(chunk):
            yield chunk, read_calls(rows_in(run.file(chunk.name, run.state.steps[chunk.at], "results")))
