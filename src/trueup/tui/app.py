"""The application: takes a folder of runs and opens its screens."""

from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding

from trueup.tui.runs import Runs


class RunsApp(App[None]):
    """The screens for a folder of runs."""

    TITLE = "trueup"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS: ClassVar = [Binding("q", "quit", "Quit", show=False)]
    CSS = """
    #about, #which, #hint, #detail { padding: 0 1; height: auto; }
    #hint.empty { display: none; }
    #detail { color: $text-muted; max-height: 6; }
    #runs { height: 1fr; }
    #steps { height: auto; max-height: 50%; }
    #codes { height: 1fr; min-height: 3; }
    #which { width: 1fr; }
    #find { padding: 0 1; }
    #both { height: 1fr; }
    #one { padding: 0 1; }
    .-wide #both { layout: horizontal; }
    .-wide #units { width: 40%; height: 1fr; }
    .-wide #one { width: 60%; height: 1fr; border-left: solid $primary 50%; }
    .-narrow #both { layout: vertical; }
    .-narrow #units { width: 1fr; height: 45%; }
    .-narrow #one { width: 1fr; height: 1fr; }
    .-reading #units { display: none; }
    .-reading #one { width: 1fr; height: 1fr; border-left: none; }
    Confirm, Ask { align: center middle; }
    #confirm { width: 64; max-width: 96%; height: auto; max-height: 96%; border: round $primary; background: $surface; padding: 0 1; }
    #confirm Horizontal { height: auto; margin-top: 1; }
    #confirm Button { margin-right: 2; }
    #what { height: auto; max-height: 12; margin-bottom: 1; }
    #question, #help { width: 1fr; }
    #help { color: $text-muted; }
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def on_mount(self) -> None:
        self.sub_title = str(self._folder)
        self.push_screen(Runs(self._folder))
