# ruff: noqa: INP001 - a script of the documentation, no package
"""Draws the pictures of the documentation from real runs: `python docs/make_pictures.py`.

Each is the output of a command in a terminal, as SVG. The pictures contain no addresses and load no fonts.
"""

import asyncio
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from trueup import Contract, Verdict
from trueup.batch.pipeline.reporting.status import standing
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.cli.display.verdict import show
from trueup.cli.terminal.layout import Layout
from trueup.tui.app import RunsApp

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
THEME = TerminalTheme(
    (24, 27, 34),
    (216, 222, 233),
    [(59, 66, 82), (243, 112, 108), (140, 200, 120), (235, 196, 98), (108, 164, 238), (198, 146, 233), (100, 198, 204), (216, 222, 233)],
    [(110, 120, 138), (255, 134, 130), (160, 220, 140), (250, 214, 120), (130, 184, 250), (214, 168, 245), (124, 216, 222), (240, 244, 250)],
)  # fmt: skip


def value_picture() -> str:
    """The verdict of one example reply."""
    reply, schema = "15-almost.txt", "person.json"
    verdict = Contract(schema=EXAMPLES / "schemas" / schema).check((EXAMPLES / "replies" / reply).read_bytes())
    return drawn(f"trueup check {reply} --schema {schema}", verdict, Layout(80, name=reply, schema=schema))


def calls_picture() -> str:
    """The verdict of a provider's response with tool calls."""
    response, contract_file = "openai-calls.json", "helpdesk.yaml"
    contract = Contract.load(EXAMPLES / "contracts" / contract_file)
    verdict = contract.check(json.loads((EXAMPLES / "responses" / response).read_text("utf-8")))
    view = Layout(80, name=response, contract=contract_file, text="text", value=False)
    return drawn(f"trueup check --contract {contract_file} --reply {response}", verdict, view)


def drawn(command: str, verdict: Verdict, view: Layout) -> str:
    """A command and its output, as SVG."""
    console = Console(
        record=True,
        width=view.width,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        file=io.StringIO(),
    )
    console.print(Text.assemble(("$ ", "dim"), f"{command}\n"))
    show(verdict, console, view)
    console.print()  # otherwise the last line would be cut at the bottom
    svg = console.export_svg(title="trueup check", theme=THEME, unique_id="trueup")
    return self_contained(svg)


def self_contained(svg: str) -> str:
    """A picture without addresses and fonts to load."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]+;", f"font-family: {FONT};", svg)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def run_picture() -> str:
    """The screen of one run."""
    return screen("enter")


def unit_picture() -> str:
    """The screen of the units of a step, with one whose first reply broke a rule."""
    return screen("enter", "enter", "f", "f", "f", *["down"] * 4)


def screen(*keys: str) -> str:
    """The screen of `trueup tui` after some keys, for a run of a shipped pipeline."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "runs" / "harbour"
        command = [sys.executable, "-m", "trueup.cli", "run", str(EXAMPLES / "pipelines" / "npc_dialogue")]
        subprocess.run([*command, "--run-dir", str(run)], capture_output=True, check=False)  # noqa: S603 - our own command
        app = RunsApp(run)

        async def look() -> str:
            async with app.run_test(size=(100, 30)) as pilot:
                app.sub_title = "runs"
                await pilot.pause()
                for key in keys:
                    await pilot.press(key)
                    await pilot.pause()
                    await app.workers.wait_for_complete()  # units are read in the background
                    await pilot.pause()
                return app.export_screenshot(title="trueup tui")

        with patch("trueup.tui.pictures.standing", _timed):
            svg = self_contained(asyncio.run(look()))
    return re.sub(r"terminal-\d+", "trueup", svg)


def _timed(run: RunDir, *, running: bool) -> dict[str, Any]:
    """The state of a run, with the same time on every machine."""
    found = standing(run, running=running)
    return {**found, "steps": [{**row, "seconds": 0.8} for row in found["steps"]]}


PICTURES = {
    "check.svg": value_picture,
    "calls.svg": calls_picture,
    "tui-run.svg": run_picture,
    "tui-unit.svg": unit_picture,
}


def main() -> None:
    for name, draw in PICTURES.items():
        (ROOT / "docs" / "img" / name).write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
