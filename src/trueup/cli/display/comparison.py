"""Show a comparison to people: as tables for a terminal, or the same tables as Markdown.

Ids, paths, messages and values come from replies. They are made safe for a terminal, and quoted as code in Markdown.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.batch.flips import WORDS
from trueup.cli.display.grounding import rate_of
from trueup.verdict.display import safe_line

_ROWS = 12  # columns of a table on a terminal
_MARKDOWN_ROWS = 30
_VALUE = 60  # characters shown of a value
_TITLES = {"codes": "Findings by code", "paths": "Findings by field", "rules": "Findings by rule", "fixes": "Fixes"}
_FIRST = {"codes": "code", "paths": "field", "rules": "rule", "fixes": "fix"}
_OTHERS = {"other_errors": "failed, other errors", "only_in_a": "only in A", "only_in_b": "only in B"}

Row = dict[str, Any]


class Quoted(str):
    """Untrusted text of a cell: an id, a path, a message, a value."""

    __slots__ = ()


class ComparisonTable(NamedTuple):
    """A part of a comparison: title, head, rows, alignment of columns, and the number of rows that are equal on both
    sides.
    """

    title: str
    head: list[str]
    rows: list[list[str]]
    align: str
    same: int = 0


def show(found: Row) -> None:
    """Print a comparison to the terminal; in a pipe no line is cut."""
    from rich.text import Text

    from trueup.cli.terminal.output import open_console
    from trueup.cli.terminal.table import table

    console = open_console()
    width = console.width if console.is_terminal else 0

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    for number, each in enumerate(tables(found)):
        if number:
            say("")
        if each.title:
            say(each.title, "bold")
        for line in table(each.head, each.rows[:_ROWS], each.align, width):
            console.print(Text.assemble(*line), soft_wrap=True)
        if rest := _rest(each, _ROWS):
            say(rest, "dim")
    for note in notes(found):
        say(f"\n{safe_line(note)}", "yellow")
    say(f"\n{verdict(found)}", "bold")


def markdown(found: Row) -> str:
    """The comparison as Markdown."""
    parts = [f"### {verdict(found)}", *(f"> {safe_line(note)}" for note in notes(found))]
    for each in tables(found):
        head = f"| {' | '.join(each.head)} |"
        rule = f"|{'|'.join(' ---: ' if side == '>' else ' --- ' for side in each.align)}|"
        rows = [_row(row) for row in each.rows[:_MARKDOWN_ROWS]]
        rest = _rest(each, _MARKDOWN_ROWS)
        parts.append("\n".join([*([f"#### {each.title}\n"] if each.title else []), head, rule, *rows]))
        parts += [rest] if rest else []
    return "\n\n".join(parts) + "\n"


def _rest(table: ComparisonTable, shown: int) -> str:
    """A line about the rows that a table leaves out."""
    parts = [f"{len(table.rows) - shown:,} more differ"] if len(table.rows) > shown else []
    parts += [f"{table.same:,} {'is' if table.same == 1 else 'are'} the same"] if table.same else []
    return f"… {' and '.join(parts)}; --json has them all" if parts else ""


def _row(row: list[str]) -> str:
    return f"| {' | '.join(code(cell) if isinstance(cell, Quoted) else cell for cell in row)} |"


def code(text: str) -> str:
    """Any text as code in a cell of a Markdown table.

    >>> print(code("a|b `c`"))
    ``a\\|b `c` ``
    """
    line = safe_line(text).replace("|", "\\|")
    if not line:
        return ""
    fence = "`"
    while fence in line:
        fence += "`"
    edge = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{edge if line[0] == '`' else ''}{line}{edge if line[-1] == '`' else ''}{fence}"


def verdict(found: Row) -> str:
    """The comparison in one line.

    >>> flips = {kind: {"units": 0} for kind in ("valid_to_failed", "failed_to_valid", "other_value")}
    >>> verdict({"flips": flips, "differs": False})
    'No unit and no finding differs.'
    """
    if not found["differs"]:
        return "No unit and no finding differs."
    counts = {kind: row["units"] for kind, row in found["flips"].items()}
    told = [f"{counts[kind]:,} {WORDS[kind]}" for kind in ("valid_to_failed", "failed_to_valid") if counts[kind]]
    if counts["other_value"]:
        told.append(f"{counts['other_value']:,} with another value")
    only = [(found[name]["units"], name[-1].upper()) for name in ("only_in_a", "only_in_b")]
    told += [f"{units:,} only in {side}" for units, side in only if units]
    return f"A and B differ: {', '.join(told) or 'the same outcomes, but different findings'}."


def notes(found: Row) -> Iterator[str]:
    """Notes that a reader needs before the numbers."""
    for name in ("a", "b"):
        side = found[name]
        if side["state"] != "done":
            pending = f", {side['counts']['pending']:,} units pending" if side["counts"]["pending"] else ""
            yield f"{name.upper()} is {side['state']}{pending}, so the comparison covers only what it has so far."
        damaged = side["damaged"]
        if damaged["lines"]:
            lines = (
                "1 line that is not a record"
                if damaged["lines"] == 1
                else f"{damaged['lines']:,} lines that are not records"
            )
            yield f"{name.upper()}: {lines} left out ({', '.join(damaged['places'])})"


def tables(found: Row) -> Iterator[ComparisonTable]:
    """The parts of a comparison that have rows."""
    yield _sides(found)
    yield _units(found)
    parts = [*_flips(found), _values(found), *(_findings(found, name) for name in _TITLES), _grounded(found)]
    yield from (part for part in parts if part.rows)


def _sides(found: Row) -> ComparisonTable:
    sides = [found["a"], found["b"]]
    head = ["", "A", "B", "difference"]
    rows: list[list[str]] = [["folder", *(Quoted(side["path"]) for side in sides), ""]]
    rows.append(["kind", *(f"{side['kind']}, {side['state']}" for side in sides), ""])
    rows += (_counted(name, [side["counts"][name] for side in sides]) for name in ("units", "valid", "failed"))
    if any(side["counts"]["pending"] for side in sides):
        rows.append(_counted("pending", [side["counts"]["pending"] for side in sides]))
    money = [side.get("money") for side in sides]
    if any(money):
        rows += money_rows(money)
    rows.append(["time", *(_time(side) for side in sides), ""])
    return ComparisonTable("", head, rows, "<>>>")


def _time(side: Row) -> str:
    """The duration and the speed of one side."""
    seconds = side["seconds"]
    if not seconds:
        return "-"
    return f"{seconds:,.1f} s, {side['units_per_second']:,.0f} units/s"


def money_rows(money: list[Row | None]) -> Iterator[list[str]]:
    """Calls, tokens and cost of both sides, with the difference if both are known."""
    for name, word in (("calls", "calls"), ("input_tokens", "tokens in"), ("output_tokens", "tokens out")):
        numbers = [each[name] if each else None for each in money]
        yield _counted(word, numbers)
    words = ["-" if each is None else _cost(each) for each in money]
    known = [each["usd"] for each in money if each is not None and not each["unpriced"]]
    yield ["cost", *words, f"{known[1] - known[0]:+.4f}" if len(known) == 2 else ""]


def _cost(money: Row) -> str:
    unknown = money["unpriced"]
    if unknown and unknown == money["calls"]:
        return "unknown"
    return f"${money['usd']:.4f}{f' + {unknown:,} unknown' if unknown else ''}"


def _counted(name: str, numbers: list[int | None]) -> list[str]:
    shown = ["-" if number is None else f"{number:,}" for number in numbers]
    a, b = numbers
    return [name, *shown, "" if a is None or b is None else _signed(b - a)]


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "="


def _units(found: Row) -> ComparisonTable:
    rows = [[WORDS[kind], f"{row['units']:,}", ""] for kind, row in found["flips"].items()]
    for name, word in _OTHERS.items():
        rows.append([word, f"{found[name]['units']:,}", Quoted(", ".join(found[name]["examples"]))])
    rows.append(["the same", f"{found['same']:,}", ""])
    return ComparisonTable("Units", ["A → B", "units", "examples"], rows, "<><")


def _flips(found: Row) -> Iterator[ComparisonTable]:
    for kind in ("valid_to_failed", "failed_to_valid"):
        rows = []
        for flip in found["flips"][kind]["examples"]:
            error = (flip["errors_now"] or flip["errors_before"] or [{}])[0]
            unit, path, message = (
                Quoted(text) for text in (flip["unit_id"], error.get("path", ""), error.get("message", ""))
            )
            rows.append([unit, error.get("code", ""), path, message])
        yield ComparisonTable(WORDS[kind], ["unit", "code", "field", "message"], rows, "<<<<")


def _values(found: Row) -> ComparisonTable:
    rows = []
    for path, row in found["values"].items():
        example = row["example"]
        change = f"{_short(example['before']) or 'absent'} → {_short(example['now']) or 'absent'}"
        rows.append([Quoted(path), f"{row['units']:,}", Quoted(change), Quoted(example["unit_id"])])
    return ComparisonTable("Changed values by field", ["field", "units", "example", "unit"], rows, "<><<")


def _short(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


def _grounded(found: Row) -> ComparisonTable:
    """For each field, the share of values that are in the source."""
    rows = []
    for row in found.get("grounded", ()):
        a, b = row["rate"]["a"], row["rate"]["b"]
        difference = "" if a is None or b is None else f"{100 * (b - a):+.1f}" if a != b else "="
        shown = (f"{rate_of({'rate': row['rate'][side]})} of {row['values'][side]:,}" for side in ("a", "b"))
        rows.append([Quoted(row["key"]), *shown, difference])
    return ComparisonTable("Grounded by field", ["field", "A", "B", "difference"], rows, "<>>>")


def _findings(found: Row, name: str) -> ComparisonTable:
    """The rows that differ."""
    rows = []
    differing = [row for row in found["findings"][name] if row["differs"]]
    for row in differing:
        what = f"{row['key']} {row['name']}" if "name" in row else Quoted(row["key"])
        for word in ("failed", "warned", "fixed"):
            both = row.get(word, {"difference": 0})
            if both["difference"]:
                rows.append([what, word, f"{both['a']:,}", f"{both['b']:,}", _signed(both["difference"])])
    same = len(found["findings"][name]) - len(differing)
    return ComparisonTable(_TITLES[name], [_FIRST[name], "units", "A", "B", "difference"], rows, "<<>>>", same)
