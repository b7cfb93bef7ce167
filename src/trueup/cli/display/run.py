"""Show the state of a run: its head, a table of its steps, and notes. Text that models wrote is made safe first."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.batch.pipeline.running.run import RunEnd


def print_end(path: Path, result: "RunEnd", *, as_json: bool) -> None:
    """Print the state of a run at the end of this session."""
    from trueup.batch.pipeline.reporting.status import standing
    from trueup.batch.pipeline.rundir.directory import RunDir

    found = RunDir.look(path)
    # on a full disk, the journal may lack the end of the run
    ended = {**standing(found, running=False), "status": result.status, "reason": result.reason}
    if as_json:
        print_json({"path": str(path), **ended})
        return
    show_run(path, ended)
    if result.status == "done":
        _say(f"{path / 'validated.jsonl'}", "failures.jsonl next to it" if found.state.step_rows() else "")


def print_json(value: Any) -> None:
    from trueup.cli.terminal.json_text import document
    from trueup.cli.terminal.output import is_terminal, write

    write(document(value, indented=is_terminal()) + "\n")


def _say(first: str, then: str) -> None:
    from trueup.cli.terminal.output import write

    write(safe_line(first) + (f" ({then})" if then else "") + "\n")


def show_run(path: Path, found: dict[str, Any], *, running: bool = False) -> None:
    """A run: its head, and the table of its steps."""
    from rich.text import Text

    from trueup.batch.pipeline.reporting.words import by_code
    from trueup.cli.display.grounding import grounded_lines
    from trueup.cli.terminal.output import open_console
    from trueup.cli.terminal.table import table

    console = open_console()
    status = "running" if running else found["status"] if found["status"] != "running" else "stopped"
    style = {"done": "green", "failed": "red", "running": "cyan"}.get(status, "yellow")
    console.print(Text.assemble((safe_line(str(path)), "bold"), "  ", (status, style)), soft_wrap=True)
    if found["reason"]:
        console.print(Text(safe_line(found["reason"]), "dim"), soft_wrap=True)
    pace = _pace(found)
    if pace:
        console.print(Text(pace, "dim"), soft_wrap=True)
    head = ["step", "valid", "failed", "retried", "pending", "cost", "failures by code"]
    rows = [_row(row) for row in found["steps"]]
    for line in table(head, rows, "<>>>>><", console.width if console.is_terminal else 0):  # pipes have no width
        console.print(Text.assemble(*line), soft_wrap=True)
    for name, title in (("warnings", "warnings"), ("fixes", "fixes"), ("resent", "sent again")):
        for row in found["steps"]:
            if row[name]:
                console.print(Text(f"{title} in {row['step']}: {by_code(row[name])}", "dim"), soft_wrap=True)
    for row in found["steps"]:
        told = grounded_lines(row.get("grounded") or {})
        for each in [f"grounded in {row['step']}:", *told] if told else ():
            console.print(Text(each, "dim"), soft_wrap=True)
    cached = found["money"].get("cached", 0)
    if cached:
        replies = "1 reply is" if cached == 1 else f"{cached:,} replies are"
        console.print(
            Text(f"{replies} from the cache; nothing was sent for {'it' if cached == 1 else 'them'}", "dim"),
            soft_wrap=True,
        )
    lost = found["money"]["lost"]
    if lost:
        calls = "1 call was" if lost == 1 else f"{lost} calls were"
        console.print(
            Text(f"{calls} in progress when the run was interrupted; the cost is not known", "yellow"),
            soft_wrap=True,
        )


def _pace(found: dict[str, Any]) -> str:
    """The speed, the remaining time and the expected cost of a run that is running or was stopped."""
    from trueup.batch.pipeline.reporting.words import batches, clock, cost

    live = found.get("live") or {}
    if found["status"] in {"done", "failed", "ready"} and not live:
        return ""
    left = clock(live.get("seconds_left"))
    parts = [
        f"{100 * found['done'] // max(found['total'], 1)}%",
        f"{live['per_second']:,.1f} units a second" if live else "",
        f"{left} left" if left else "",
        batches(found),
        cost(found),
    ]
    return " · ".join(part for part in parts if part)


def _row(row: dict[str, Any]) -> list[str]:
    import msgspec

    from trueup.batch.pipeline.estimating.cost import shown
    from trueup.batch.pipeline.reporting.words import by_code
    from trueup.batch.pipeline.rundir.state import Money

    money = msgspec.convert(row["money"], Money)
    cost = shown(money) if money.calls else "-"
    numbers = [f"{row[name]:,}" for name in ("valid", "failed", "retried", "pending")]
    return [row["step"], *numbers, cost, by_code(row["codes"]) or "-"]
