"""Questions on top of a screen: yes or no, and one line of text. They only return the answer."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static


class Confirm(ModalScreen[bool]):
    """A yes-or-no question below a description of the consequences."""

    BINDINGS: ClassVar = [
        Binding("y", "yes", "Yes"),
        Binding("n,escape", "no", "No"),
    ]

    def __init__(self, question: str, what: str = "") -> None:
        super().__init__()
        self._question = question
        self._what = what

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            if self._what:
                with VerticalScroll(id="what"):
                    yield Static(Text(self._what), id="happens")
            yield Label(Text(self._question), id="question")
            with Horizontal():
                yield Button("Yes (y)", id="yes", variant="warning", compact=True)
                yield Button("No (n)", id="no", variant="primary", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_yes(self) -> None:
        self.dismiss(result=True)

    def action_no(self) -> None:
        self.dismiss(result=False)


class Ask(ModalScreen[str]):
    """One line of text; empty if the question was cancelled."""

    BINDINGS: ClassVar = [Binding("escape", "leave", "Cancel")]

    def __init__(self, question: str, given: str = "") -> None:
        super().__init__()
        self._question = question
        self._given = given

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Label(Text(self._question), id="question")
            yield Input(self._given, id="answer")
            yield Label(Text("enter continues, escape cancels"), id="help")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        self.dismiss("")
