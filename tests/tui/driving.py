"""How the tests drive the screens: they press keys like a person, and read the visible text.

The pilot waits after each key until the process has used hardly any processor time for a while. Here a key has had its
effect when every message was handled, no thread is reading any more and no animation runs: that is quicker, and
reliable.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.events import Key
from textual.widgets import DataTable, Static
from textual.worker import WorkerCancelled

from trueup.tui.keys import KeyBar
from trueup.tui.listing import Listing


def drive(app: App[None], steps: Callable[[Any], Awaitable[None]], size: tuple[int, int] = (120, 40)) -> None:
    """Open the screens at a size, and do some steps."""

    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(pilot, lambda: bool(app.screen.children), "the screen stays empty")
            await idle(pilot)
            await steps(pilot)

    asyncio.run(main())


async def settled(pilot: Any, until: Callable[[], bool], what: str = "it did not come to that") -> None:
    """Wait until something is so."""
    for _ in range(12_000):
        if until():
            return
        assert pilot.app.is_running, what
        await pilot.pause(0.01)
    raise AssertionError(what)


async def press(pilot: Any, *keys: str) -> None:
    """Press keys, each when what the one before began has ended."""
    for key in keys:
        pilot.app.post_message(Key(key, key if len(key) == 1 else None))
        await idle(pilot)


async def idle(pilot: Any) -> None:
    """Wait until all that was begun has come to its end: each round may begin something, as a page read does its first unit."""
    for _ in range(4):
        await pilot.pause(0)
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.app.animator.wait_until_complete()
    await pilot.pause(0)


def cells(app: App[None], table: str) -> list[list[str]]:
    """The visible rows of a table."""
    found = app.screen.query_one(table, DataTable)
    return [[str(cell).strip() for cell in found.get_row_at(at)] for at in range(found.row_count)]


def by_head(app: App[None], table: str) -> list[dict[str, str]]:
    """The same, with the head of each column."""
    found = app.screen.query_one(table, DataTable)
    heads = [column.label.plain.rstrip(" ▲▼") for column in found.ordered_columns]
    return [dict(zip(heads, row, strict=True)) for row in cells(app, table)]


def shown(app: App[None], name: str) -> str:
    """The text of a widget."""
    return str(app.screen.query_one(name, Static).render())


def footer(app: App[None]) -> str:
    """The keys at the bottom."""
    return str(app.screen.query_one(KeyBar).render())


def below(app: App[None], table: str) -> str:
    """The hint on the line below a list."""
    return str(app.screen.query_one(table, Listing).border_subtitle or "")


def screen_lines(app: App[None]) -> list[str]:
    """All visible text, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip()[:width] for strip in strips][:height]
