"""Judges every reply in examples/replies and shows the result, next to the result of `json.loads`; then one verdict in full.

Replies named `invoice-…` are judged by examples/schemas/invoice.json, all others by person.json.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trueup import Contract, Verdict
from trueup.cli.main import main as trueup
from trueup.cli.terminal.json_text import document
from trueup.cli.terminal.layout import short
from trueup.cli.terminal.output import open_console
from trueup.verdict.display import safe_line

HERE = Path(__file__).resolve().parent
SHOWN = HERE / "replies" / "03-python-dict.txt"
STYLES = {"unchanged": "green", "repaired": "yellow", "refused": "red"}
NAME, OUTCOME = 22, 11


def schema_of(reply: Path) -> Path:
    return HERE / "schemas" / ("invoice.json" if reply.name.startswith("invoice") else "person.json")


def outcome(verdict: Verdict) -> str:
    if not verdict.ok:
        return "refused"
    return "repaired" if verdict.fixes else "unchanged"


def account(verdict: Verdict) -> list[tuple[str, str]]:
    """The value and its fixes, or the findings, as lines with their styles."""
    if not verdict.ok:
        return [(f"{finding.code} {finding.message}", "") for finding in verdict.errors]
    lines = [(document(verdict.data, indented=False), "")]
    if verdict.fixes:
        counted = Counter(fix.name for fix in verdict.fixes)
        lines.append((", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counted.items()), "dim"))
    return lines


def by_hand(contract: Contract, text: str) -> str:
    """The result of `json.loads` in a try block."""
    try:
        value = json.loads(text)
    except ValueError:
        return "exceptions"
    return "read" if contract.schema is not None and contract.schema.is_valid(value) else "read but wrong"


def row(console: Console, name: str, word: str, verdict: Verdict) -> None:
    """One reply: what a model wrote is made safe and cut to the width before it is printed."""
    head = Text.assemble((f"{name:<{NAME}} ", ""), (f"{word:<{OUTCOME}}", STYLES[word]))
    room = max(min(console.width, 120), 60) - len(head)
    for text, style in account(verdict):
        console.print(Text.assemble(head, (short(safe_line(text), room), style)), soft_wrap=True)
        head = Text(" " * len(head))


def tally(console: Console, who: str, counted: Counter[str], words: tuple[str, ...]) -> None:
    told = ", ".join(f"{counted[word.partition(',')[0]]} {word}" for word in words)
    console.print(Text.assemble((f"{who:<{OUTCOME}} ", "bold"), told), soft_wrap=True)


def main() -> None:
    contracts = {path: Contract(schema=path) for path in (HERE / "schemas").glob("*.json")}
    console = open_console()
    outcomes: Counter[str] = Counter()
    others: Counter[str] = Counter()
    console.print(Text("The replies in examples/replies\n", "bold"))
    for path in sorted((HERE / "replies").glob("*.txt")):
        contract = contracts[schema_of(path)]
        verdict = contract.check(path.read_bytes())
        word = outcome(verdict)
        outcomes[word] += 1
        others[by_hand(contract, path.read_text("utf-8", "replace"))] += 1
        row(console, path.stem, word, verdict)
    console.print()
    tally(console, "trueup", outcomes, ("unchanged", "repaired", "refused, with the reason"))
    tally(console, "json.loads", others, ("read", "read but wrong", "exceptions"))
    console.print()

    here = Path.cwd()
    files = [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in (SHOWN, schema_of(SHOWN))]
    console.print(Text(f"$ trueup check {files[0]} --schema {files[1]}\n", "bold"), soft_wrap=True)
    trueup.main(["check", files[0], "--schema", files[1]])


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt) as stop:  # `make demo | head`, or Ctrl-C
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(130 if isinstance(stop, KeyboardInterrupt) else 141)
