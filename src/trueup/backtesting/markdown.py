"""A backtest as Markdown, for a pull request. Text from replies cannot become markup."""

from typing import TYPE_CHECKING

from trueup.backtesting.judging import FLIPS
from trueup.backtesting.words import EVIDENT, KINDS, amounts, how_computed, interval, p_value, percent, reasons, some_of
from trueup.verdict.catalogue import FINDINGS, OWN
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.backtesting.result import Backtest, Row

_ROWS = 20
_WIDE = 160


def markdown(found: "Backtest") -> str:
    """The backtest as Markdown."""
    against = code(found.old) if found.old else "the recorded outcomes"
    parts = [
        f"### {plain(found.conclusion)}",
        f"{code(found.new)} against {against} · {', '.join(map(code, some_of(found.sources)))} · {found.total:,} replies",
        _counts(found),
    ]
    if not found.complete:
        parts.insert(1, f"> Not complete: {percent(found.share)} of the sources were read, in random order.")
    if found.flips:
        parts.append(_reasons(found))
    parts += [_statistics(found), _labels(found), _cost(found), _others(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def code(text: str) -> str:
    """Any untrusted text as code, also in a cell of a table.

    >>> print(code("a|b `c`"))
    ``a\\|b `c` ``
    """
    line = safe_line(text).replace("|", "\\|")
    if not line.strip():
        return ""
    fence = "`"
    while fence in line:
        fence += "`"
    before, after = (" " if line[at] == "`" else "" for at in (0, -1))
    return f"{fence}{before}{line}{after}{fence}"


def plain(text: str) -> str:
    """One of our sentences, without anything that could be markup."""
    return safe_line(text).replace("|", "\\|").replace("<", "&lt;")


def _counts(found: "Backtest") -> str:
    lines = ["| | replies | share | 95 % interval |", "| --- | ---: | ---: | --- |"]
    for kind in FLIPS:
        rate = found.rate(kind)
        lines.append(f"| **{KINDS[kind]}** | {rate.count:,} | {percent(rate.share)} | {interval(rate)} |")
    rate = found.rate("unchanged")
    lines.append(f"| unchanged | {rate.count:,} | {percent(rate.share)} | |")
    lines += [f"| not judged: {plain(why)} | {n:,} | | |" for n, why in reasons(found)]
    return "\n".join(lines)


def _reasons(found: "Backtest") -> str:
    """The flips with their reasons, and an example of each in a fold."""
    rows = found.groups["reason"]
    lines = ["| what flips | replies | direction | example |", "| --- | ---: | --- | --- |"]
    lines += [
        f"| {code(row['key'])}{_named(row['key'])} | {row['count']:,} | {KINDS[row['kind']]} | {_example(row['example'])} |"
        for row in rows[:_ROWS]
    ]
    if len(rows) > _ROWS:
        lines.append(f"| … {len(rows) - _ROWS:,} more | | | |")
    return "\n".join(lines)


def _named(key: str) -> str:
    kind = FINDINGS.get(key.partition(" ")[0]) or OWN.get(key.partition(" ")[0])
    return f" {kind.name}" if kind else ""


def _example(example: "Row | None") -> str:
    if not example:
        return ""
    if example["kind"] == "value_changed":
        return f"{code(example['before'] or 'absent')} → {code(example['after'] or 'absent')}"
    text, span = example["text"], example["span"]
    start = max(0, (span[0] if span else 0) - _WIDE // 2)
    shown = text[start : start + _WIDE]
    told = code(f"{'…' if start else ''}{shown}{'…' if start + _WIDE < len(text) else ''}")
    return (
        f"{told} {plain(example['message'])}" if EVIDENT & {*example.get("codes", ())} and example["message"] else told
    )


def _statistics(found: "Backtest") -> str:
    tests = found.tests
    parts = [f"exact McNemar {p_value(tests['mcnemar']['p'])}"]
    parts.append(
        f"{'equivalent' if found.equivalent else 'not shown to be equivalent'} within {percent(found.margin)} (TOST)"
    )
    if tests["clustered"]:
        seen = tests["clustered"]
        parts.append(
            f"{seen['clusters']:,} conversations, design effect {seen['design_effect']:.2f}, {p_value(seen['p'])} by conversation"
        )
    return f"**Statistics:** {'; '.join(parts)}."


def _labels(found: "Backtest") -> str:
    labels = found.labels
    if not labels["replies"]:
        return ""
    told = f"**Labels:** {labels['better']:,} flips are better, {labels['worse']:,} worse, {labels['unlabelled']:,} without a label."
    words = [
        f"{code(word)} {n:,}"
        for words in (labels["words"], labels["outcomes"])
        for kind in words.values()
        for word, n in list(kind.items())[:5]
    ]
    return f"{told} Also: {', '.join(words)}." if words else told


def _cost(found: "Backtest") -> str:
    cost = found.cost
    if cost["asks"] is None:
        return f"**Cost:** {how_computed(cost)}."
    per = "a month" if cost["monthly"] else "for these replies"
    shown = ", ".join(f"{word} {amount}" for word, amount in amounts(cost["monthly"] or cost))
    return f"**Cost {per}:** {shown}. <sub>{plain(how_computed(cost))}.</sub>"


def _others(found: "Backtest") -> str:
    """Flips by model, state, tenant and path, in folds."""
    parts = []
    for name in ("model", "state", "tenant", "path"):
        rows = found.groups[name]
        if rows:
            lines = [f"| {name} | direction | replies |", "| --- | --- | ---: |"]
            lines += [
                f"| {code(row['key'])} | {KINDS[row['kind']]} | {row['count']:,}{_of(row)} |" for row in rows[:_ROWS]
            ]
            parts.append(f"<details><summary>By {name}</summary>\n\n" + "\n".join(lines) + "\n\n</details>")
    return "\n\n".join(parts)


def _of(row: "Row") -> str:
    return f" of {row['of']:,}" if row.get("of") else ""
