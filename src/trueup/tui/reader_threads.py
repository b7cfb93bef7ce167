"""From reader threads back to the screen: hands over data, which is shown only if the screen is still open."""

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.worker import get_current_worker


def hand_over(screen: Screen[Any] | App[Any], show: Callable[..., None], *read: Any) -> None:
    """Let a screen, or the whole application, show the data from its thread, unless it was closed."""

    def shown() -> None:
        try:
            if screen.is_attached:
                show(*read)
        except NoMatches:
            pass  # the screen is being closed: its widgets are already gone

    if get_current_worker().is_cancelled:
        return
    try:
        screen.app.call_from_thread(shown)
    except RuntimeError:
        pass  # the application has ended
