# ruff: noqa: INP001 - a script of the documentation, no package
"""Draws the pictures of the documentation from real runs: `python docs/make_pictures.py`.

Each is what `trueup check` prints on an 80-column terminal, as SVG. The pictures name no address and load no font.
"""

import io
import json
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from trueup import Contract, Verdict
from trueup.cli.layout import View
from trueup.cli.show import show

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
    return drawn(f"trueup check {reply} --schema {schema}", verdict, View(80, name=reply, schema=schema))


def calls_picture() -> str:
    """The verdict of a provider's response with tool calls."""
    response, contract_file = "openai-calls.json", "helpdesk.yaml"
    contract = Contract.load(EXAMPLES / "contracts" / contract_file)
    verdict = contract.check(json.loads((EXAMPLES / "responses" / response).read_text("utf-8")))
    view = View(80, name=response, contract=contract_file, text="text", value=False)
    return drawn(f"trueup check --contract {contract_file} --reply {response}", verdict, view)


def drawn(command: str, verdict: Verdict, view: View) -> str:
    """A command and what it shows, as SVG."""
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
    console.print()  # the last line would lose what hangs below it
    svg = console.export_svg(title="trueup check", theme=THEME, unique_id="trueup")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]+;", f"font-family: {FONT};", svg)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


PICTURES = {"check.svg": value_picture, "calls.svg": calls_picture}


def main() -> None:
    for name, draw in PICTURES.items():
        (ROOT / "docs" / "img" / name).write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
