"""Show a backtest on the terminal: estimates while it runs, then the result in at most 80 columns.

Replies, ids and names are untrusted text: they are made safe for a terminal.
"""

import contextlib
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from trueup.backtesting.judging import FLIPS
from trueup.backtesting.words import EVIDENT, KINDS, amounts, how_computed, interval, p_value, percent, reasons, some_of
from trueup.verdict.catalogue import FINDINGS, OWN
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trueup.backtesting.result import Backtest, Row
    from trueup.cli.terminal.layout import Line

Kind = Literal["auto", "bar", "plain", "json", "none"]
_EVERY = {"bar": 0.1, "plain": 5.0, "json": 0.5}
_ROWS = 8
_KEYS = 5  # rows of each table
_WIDE = 66  # columns that a table with unabbreviated words needs
_SHORT = {"newly_refused": "refused", "newly_accepted": "accepted", "value_changed": "other"}
_STYLES = {"newly_refused": "red", "newly_accepted": "green", "value_changed": "yellow"}


class EstimateDisplay:
    """Show the estimates of a running backtest at a limited rate; `last` is the newest one."""

    def __init__(self, kind: Kind) -> None:
        self._kind: Kind = ("bar" if sys.stderr.isatty() else "plain") if kind == "auto" else kind
        self._began = time.monotonic()
        self._shown = 0.0 if self._kind == "plain" else -10.0  # a short run writes no lines to a log
        self._live: Any = None
        self.last: Backtest | None = None

    def __call__(self, found: "Backtest") -> None:
        self.last = found
        now = time.monotonic() - self._began
        if self._kind == "none" or now - self._shown < _EVERY[self._kind]:
            return
        self._shown = now
        try:
            self._show(found)
        except OSError:  # the reader has gone, but the work continues
            self._kind = "none"

    def close(self) -> None:
        """Remove the bar."""
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()

    def _show(self, found: "Backtest") -> None:
        if self._kind == "bar":
            self._draw(found)
            return
        if self._kind == "json":
            from trueup.cli.terminal.json_text import document

            rates: dict[str, Any] = {
                kind: [found.rate(kind).count, found.rate(kind).low, found.rate(kind).high] for kind in FLIPS
            }
            row: dict[str, Any] = {
                "share": round(found.share, 4),
                "total": found.total,
                "judged": found.judged,
                **rates,
                "seconds": round(found.seconds, 3),
            }
            line = document(row, indented=False)
        else:
            line = f"trueup backtest: {'  '.join(parts_of(found))}"
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _draw(self, found: "Backtest") -> None:
        from trueup.cli.terminal.bars import drawn

        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, markup=False, highlight=False, emoji=False)
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._live.start()
        width = self._live.console.width
        self._live.update(drawn(parts_of(found), found.done, max(found.blocks, found.done), width), refresh=True)


def parts_of(found: "Backtest") -> list[str]:
    """The estimate so far, most important first."""
    parts = [f"{100 * found.share:3.0f}%", f"{found.judged:,} judged"]
    for kind in FLIPS:
        rate = found.rate(kind)
        if kind != "value_changed" or rate.count:
            parts.append(f"{KINDS[kind]} {percent(rate.share)} ({interval(rate)})")
    lost = found.total - found.judged
    if lost:
        parts.append(f"{lost:,} not judged")
    return [*parts, f"{found.total / found.seconds if found.seconds else 0:,.0f}/s"]


def show(found: "Backtest") -> None:
    """Print the result, at most as wide as the terminal. In a pipe, the width is COLUMNS or 80."""
    from rich.text import Text

    from trueup.cli.terminal.output import open_console

    console = open_console()
    for line in lines_of(found, min(console.width, 100)):
        console.print(Text.assemble(*line), soft_wrap=True)


def lines_of(found: "Backtest", width: int = 80) -> "list[Line]":
    """The lines of a result, at most as long as the width."""
    lines: list[Line] = []
    for block in (_head, _counts, _flips, _where, _statistics, _labels, _cost, _errors):
        part = list(block(found, width))
        if part and lines:
            lines.append([("", "")])
        lines += part
    return [*lines, [("", "")], *_wrapped(found.conclusion, width, "bold")]


def _head(found: "Backtest", width: int) -> "Iterator[Line]":
    against = found.old or "the recorded outcomes"
    yield from _wrapped(f"{found.new} against {against} · {', '.join(some_of(found.sources))}", width, "bold")
    if not found.complete:
        yield from _wrapped(f"{percent(found.share)} of the sources were read, in a random order", width, "yellow")


def _counts(found: "Backtest", width: int) -> "Iterator[Line]":
    """Counts with their intervals, and the reasons for replies that were not judged."""
    rows: list[tuple[str, str, str, str, str]] = []
    for kind in FLIPS:
        rate = found.rate(kind)
        rows.append(
            (KINDS[kind], f"{rate.count:,}", percent(rate.share), interval(rate), _STYLES[kind] if rate.count else "")
        )
    rate = found.rate("unchanged")
    rows.append(("unchanged", f"{rate.count:,}", percent(rate.share), "", ""))
    before, now = found.rate("refused_before"), found.rate("refused")
    rows.append(("refused before", f"{before.count:,}", percent(before.share), interval(before), "dim"))
    rows.append(("refused now", f"{now.count:,}", percent(now.share), interval(now), "dim"))
    wide = [max(len(row[at]) for row in rows) for at in range(3)]
    for name, count, share, ends, style in rows:
        yield [(f"  {name:<{wide[0]}}  {count:>{wide[1]}}  {share:>{wide[2]}}  {ends}".rstrip(), style)]
    told = f"{found.judged:,} of {found.total:,} replies were judged under both; 95 % intervals"
    yield from _wrapped(told, width, "dim", "  ")
    for n, why in reasons(found):
        yield from _wrapped(f"{n:,} not judged: {why}", width, "yellow", "  ")


def _flips(found: "Backtest", width: int) -> "Iterator[Line]":
    """The flips with their reasons and an example of each."""
    rows = found.groups["reason"]
    if not rows:
        return
    yield [("What flips", "bold")]
    wide = max(len(f"{row['count']:,}") for row in rows[:_ROWS])
    for row in rows[:_ROWS]:
        code, _, place = row["key"].partition(" ")
        kind = FINDINGS.get(code) or OWN.get(code)
        told = f"{code} {kind.name} · {place}" if kind else row["key"]
        label = f"  {row['count']:>{wide},}  {KINDS[row['kind']]:<14}  "
        yield [(label, _STYLES[row["kind"]]), (_cut(safe_line(told), max(10, width - len(label))), "")]
        yield _example(row["example"], width, " " * (wide + 4))
        if code in EVIDENT and row["example"].get("message"):
            yield from _wrapped(row["example"]["message"], width, "dim", " " * (wide + 4))
    if len(rows) > _ROWS:
        yield [(f"  … {len(rows) - _ROWS:,} more; --json and --html have them", "dim")]


def _example(example: "Row", width: int, indent: str) -> "Line":
    """A reply on one line, with the relevant place marked."""
    from rich.cells import cell_len

    room = max(10, width - len(indent))
    if example["kind"] == "value_changed":
        text = f"{example['before'] or 'absent'} → {example['after'] or 'absent'}"
        return [(indent, ""), (_cut(safe_line(text), room), "dim")]
    start, end = example["span"] or (0, 0)
    text = example["text"]
    before, marked, after = (safe_line(part) for part in (text[:start], text[start:end], text[max(start, end) :]))
    if cell_len(before) > room // 3 and cell_len(before + marked + after) > room:
        while cell_len(before) > room // 3 - 1:
            before = before[max(1, (cell_len(before) - room // 3) // 2) :]
        before = f"…{before}"
    marked = _cut(marked, room - cell_len(before))
    style = "red" if example["now"] == "refused" else "green"
    left = room - cell_len(before) - cell_len(marked)
    return [(indent + before, "dim"), (marked, style), (_cut(after, left) if left > 0 else "", "dim")]


def _where(found: "Backtest", width: int) -> "Iterator[Line]":
    """Flips by path, model, state and tenant: a table for each that has several values, all with the same columns."""
    from rich.cells import cell_len

    tables: dict[str, dict[str, Counter[str]]] = {}
    for name in ("path", "model", "state", "tenant"):
        counts: dict[str, Counter[str]] = {}
        for row in found.groups[name]:
            count = counts.setdefault(safe_line(row["key"]), Counter())
            count[row["kind"]], count["of"] = row["count"], row.get("of", 0)
        if len(counts) > 1:
            tables[f"By {name}"] = counts
    rows = [count for counts in tables.values() for count in counts.values()]
    heads = {**(KINDS if width >= _WIDE else _SHORT), "of": "of"}
    columns = {
        kind: max(len(heads[kind]), *(len(f"{count[kind]:,}") for count in rows))
        for kind in heads
        if any(count[kind] for count in rows)
    }
    longest = max((cell_len(key) for counts in tables.values() for key in counts), default=0)
    room = min(max(longest, 8), max(8, width - 2 - sum(columns.values()) - 2 * len(columns)))
    for number, (title, counts) in enumerate(tables.items()):
        if number:
            yield [("", "")]
        yield from _table(title, counts, {kind: (heads[kind], size) for kind, size in columns.items()}, room)


def _table(
    title: str, counts: "dict[str, Counter[str]]", columns: dict[str, tuple[str, int]], room: int
) -> "Iterator[Line]":
    """A row for each key, most flips first."""
    from rich.cells import set_cell_size

    yield [(set_cell_size(title, room + 2), "bold"), *((f"  {head:>{size}}", "dim") for head, size in columns.values())]
    for key in sorted(counts, key=lambda key: (-sum(counts[key][kind] for kind in FLIPS), key))[:_KEYS]:
        line: Line = [(f"  {set_cell_size(_cut(key, room), room)}", "")]
        for kind, (_, size) in columns.items():
            count = counts[key][kind]
            line.append((f"  {f'{count:,}' if count else '':>{size}}", _STYLES.get(kind, "dim")))
        while not line[-1][0].strip():
            line.pop()
        yield line
    if len(counts) > _KEYS:
        yield [(f"  … {len(counts) - _KEYS:,} more; --json and --html have them", "dim")]


def _statistics(found: "Backtest", width: int) -> "Iterator[Line]":
    tests = found.tests
    told = [f"exact McNemar {p_value(tests['mcnemar']['p'])}"]
    shown = "equivalent" if found.equivalent else "not shown to be equivalent"
    told.append(f"{shown} within {percent(found.margin)} (TOST)")
    if seen := tests["clustered"]:
        told.append(
            f"{seen['clusters']:,} conversations: {p_value(seen['p'])}, design effect {seen['design_effect']:.2f}"
        )
    yield from _wrapped(f"Statistics: {' · '.join(told)}", width)


def _labels(found: "Backtest", width: int) -> "Iterator[Line]":
    labels = found.labels
    if labels["replies"]:
        told = f"Labels: {labels['better']:,} flips are better, {labels['worse']:,} worse, {labels['unlabelled']:,} without a label"
        yield from _wrapped(told, width)
    for title, group in (("Labels of flips", labels["words"]), ("Outcomes of flips", labels["outcomes"])):
        parts = [
            f"{safe_line(word)} {n:,} {KINDS[kind]}"
            for kind, words in group.items()
            for word, n in list(words.items())[:4]
        ]
        if parts:
            yield from _wrapped(f"{title}: {' · '.join(parts)}", width)


def _cost(found: "Backtest", width: int) -> "Iterator[Line]":
    cost = found.cost
    if cost["asks"] is None:
        yield from _wrapped(f"Cost: {how_computed(cost)}", width)
        return
    per = " a month" if cost["monthly"] else " for these replies"
    parts = [f"{word} {amount}" for word, amount in amounts(cost["monthly"] or cost)]
    yield from _wrapped(f"Cost{per}: {' · '.join(parts)}", width)
    yield from _wrapped(how_computed(cost), width, "dim", "  ")


def _errors(found: "Backtest", width: int) -> "Iterator[Line]":
    for said, n in found.tally.errors.most_common(3):
        yield from _wrapped(f"{safe_line(said)} ({n:,} replies)", width, "yellow")


def _cut(text: str, room: int) -> str:
    from trueup.cli.terminal.layout import short

    return short(text, room)


def _wrapped(text: str, width: int, style: str = "", indent: str = "") -> "Iterator[Line]":
    """A text wrapped to a width; longer words are cut."""
    from rich.cells import cell_len

    line, begin = indent, indent
    for word in safe_line(text).split(" "):
        piece = _cut(word, width - len(begin))
        if line != begin and cell_len(line) + 1 + cell_len(piece) > width:
            yield [(line, style)]
            begin = indent or "  "
            line = begin
            piece = _cut(word, width - len(begin))
        line += piece if line == begin else f" {piece}"
    yield [(line, style)]
