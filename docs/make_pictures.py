# ruff: noqa: INP001 - a script of the documentation, no package
"""Draws the pictures of the documentation from real runs: `python docs/make_pictures.py`.

Each is what `trueup check` prints on an 80-column terminal, as SVG. The pictures name no address and load no font.
"""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from trueup import Contract
from trueup.cli.layout import View
from trueup.cli.show import show

ROOT = Path(__file__).resolve().parent.parent
REPLY, SCHEMA = "15-almost.txt", "person.json"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
THEME = TerminalTheme(
    (24, 27, 34),
    (216, 222, 233),
    [(59, 66, 82), (243, 112, 108), (140, 200, 120), (235, 196, 98), (108, 164, 238), (198, 146, 233), (100, 198, 204), (216, 222, 233)],
    [(110, 120, 138), (255, 134, 130), (160, 220, 140), (250, 214, 120), (130, 184, 250), (214, 168, 245), (124, 216, 222), (240, 244, 250)],
)  # fmt: skip


def picture() -> str:
    """The verdict of one example reply as SVG."""
    console = Console(
        record=True,
        width=80,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        file=io.StringIO(),
    )
    console.print(Text.assemble(("$ ", "dim"), f"trueup check {REPLY} --schema {SCHEMA}\n"))
    contract = Contract(schema=ROOT / "examples" / "schemas" / SCHEMA)
    verdict = contract.check((ROOT / "examples" / "replies" / REPLY).read_bytes())
    show(verdict, console, View(console.width, name=REPLY, schema=SCHEMA))
    svg = console.export_svg(title="trueup check", theme=THEME, unique_id="trueup")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]+;", f"font-family: {FONT};", svg)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    (ROOT / "docs" / "img" / "check.svg").write_text(picture(), "utf-8")


if __name__ == "__main__":
    main()
