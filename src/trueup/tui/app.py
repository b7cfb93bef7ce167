"""The application: a folder of runs enters, the screens over it open."""

from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding

from trueup.tui.screens import Runs


class RunsApp(App[None]):
    """The screens over a folder of runs."""

    TITLE = "trueup"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [Binding("q", "quit", "Quit", show=False)]
    CSS = """
    #about, #which, .heading, #hint { padding: 0 1; }
    #about { margin: 1 0; height: auto; }
    .heading { margin-top: 1; text-style: bold; }
    #runs, #steps { height: auto; max-height: 60%; }
    #codes { height: 1fr; }
    #units { width: 40%; height: 1fr; }
    #one { width: 60%; height: 1fr; border-left: solid $primary; padding: 0 1; }
    Confirm, Ask { align: center middle; }
    #confirm { width: 64; height: auto; border: thick $primary; background: $surface; padding: 1 2; }
    #confirm Horizontal { height: auto; margin-top: 1; }
    #confirm Button { margin-right: 2; }
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def on_mount(self) -> None:
        self.sub_title = str(self._folder)
        self.push_screen(Runs(self._folder))
