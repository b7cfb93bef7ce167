"""Scroll hints: how much of a list or a text is out of sight, and on which side, written on the line below it."""

from typing import Any

from rich.text import Text
from textual.containers import VerticalScroll


def hint(above: int, below: int, *, left: bool = False, right: bool = False, what: str = "row") -> str:
    """A hint about the hidden parts; empty if everything is visible.

    >>> hint(2, 12), hint(0, 1, right=True, what="line"), hint(0, 0)
    ('↑ 2 · ↓ 12 more rows', '↓ 1 more line · → more', '')
    """
    parts = []
    if above > 0:
        parts.append(f"↑ {above:,}" if below > 0 else f"↑ {above:,} more {what}{'s' * (above != 1)}")
    if below > 0:
        parts.append(f"↓ {below:,} more {what}{'s' * (below != 1)}")
    if left or right:
        parts.append(f"{'← ' * left}{'→ ' * right}more")
    return " · ".join(parts)


class Pane(VerticalScroll, can_focus=True):
    """A scrollable text; the line below says how many lines are out of sight."""

    DEFAULT_CSS = """
    Pane { border-bottom: solid $primary 50%; border-subtitle-color: $text; }
    Pane:focus { border-bottom: solid $primary; }
    """

    def on_mount(self) -> None:
        self.watch(self, "scroll_y", self.say_hint)
        self.watch(self, "virtual_size", self.say_hint)

    def on_resize(self) -> None:
        self.say_hint()

    def say_hint(self, *_: Any) -> None:
        """Update the hint."""
        said = hint(round(self.scroll_y), max(0, self.max_scroll_y - round(self.scroll_y)), what="line")
        self.border_subtitle = Text(said)
