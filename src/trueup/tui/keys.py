"""The line of keys at the bottom: takes the active bindings and shows their names, in as many lines as they need.

Textual's own footer has only one line, which scrolls; on a narrow terminal that hides keys.
"""

from rich.style import Style
from rich.text import Text
from textual.screen import Screen
from textual.widgets import Static

_GAP = 2


class KeyBar(Static):
    """Every active key, with its action; a click on one presses it."""

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: auto; width: 1fr; padding: 0 1; background: $footer-background; color: $footer-foreground;
             link-style: none; link-color: $footer-foreground; link-background: $footer-background; }
    """
    ALLOW_SELECT = False

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self._draw()

    def _changed(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self._draw()

    def _draw(self) -> None:
        keys = []
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled:
                keys.append((self.app.get_key_display(binding), binding.description, binding.key))
        self.update(key_lines(keys, max(self.content_size.width, 20)))


def key_lines(keys: list[tuple[str, str, str]], width: int) -> Text:
    """Keys as lines of at most `width` cells, never cut: each has its sign, its action, and its name.

    >>> key_lines([("t", "Retry", "t"), ("q", "Quit", "q")], 10).plain
    't Retry\\nq Quit'
    """
    out = Text(no_wrap=True)
    used = 0
    for sign, does, key in keys:
        long = len(sign) + 1 + len(does)
        if used and used + _GAP + long > width:
            out.append("\n")
            used = 0
        elif used:
            out.append(" " * _GAP)
            used += _GAP
        press = Style(meta={"@click": f"app.simulate_key({key!r})"})
        out.append(sign, Style(bold=True) + press)
        out.append(f" {does}", press)
        used += long
    return out
