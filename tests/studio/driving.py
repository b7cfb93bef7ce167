"""A browser that is driven from a separate thread.

Playwright leaves an event loop running in the thread that uses it, in which nothing can call `asyncio.run` any more:
neither a later test of the same process nor other code of a test of the page. So it runs in another thread, and a test
has proxies: calling one, or one of its methods, happens there.
"""

import contextlib
import functools
import shutil
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright import sync_api

LONGEST = 120_000  # milliseconds as a limit: a test waits for the content of the page, never for a time


class Thread:
    """The thread of a browser."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._name = pool.submit(threading.get_ident).result()

    def run(self, work: Callable[[], Any]) -> Any:
        """Do something there; immediately, if this is that thread."""
        return work() if threading.get_ident() == self._name else self._pool.submit(work).result()


@contextlib.contextmanager
def driven(**options: Any) -> Iterator[Any]:
    """Chromium, started with options of Playwright's `launch`."""
    with ThreadPoolExecutor(1, "browser") as pool:
        thread = Thread(pool)
        playwright = thread.run(lambda: sync_api.sync_playwright().start())
        try:
            sync_api.expect.set_options(timeout=LONGEST)
            launched = StandIn(thread, playwright.chromium.launch)(executable_path=shutil.which("chromium"), **options)
            yield launched
            launched.close()
        finally:
            thread.run(playwright.stop)


def expect(stand_in: "StandIn") -> Any:
    """Playwright's `expect`."""
    return StandIn(stand_in._thread, sync_api.expect)(stand_in)


class StandIn:
    """A proxy of a Playwright object, used from another thread. Arguments of callbacks are proxies too."""

    __slots__ = ("_real", "_thread")

    def __init__(self, thread: Thread, real: Any) -> None:
        self._thread = thread
        self._real = real

    def __getattr__(self, name: str) -> Any:
        if name == "url" and isinstance(self._real, sync_api.Page):
            # Playwright's own copy may be older than the content of the page.
            return self._there(lambda: self._real.evaluate("location.href"))
        return self._there(lambda: getattr(self._real, name))

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._there(
            lambda: self._real(
                *map(self._real_of, given), **{name: self._real_of(each) for name, each in named.items()}
            )
        )

    def __enter__(self) -> Any:
        return self._there(self._real.__enter__)

    def __exit__(self, *error: object) -> Any:
        return self._there(lambda: self._real.__exit__(*error))

    def _there(self, work: Callable[[], Any]) -> Any:
        return self._stand_in(self._thread.run(work))

    def _stand_in(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self._stand_in(each) for each in found]
        is_theirs = type(found).__module__.startswith("playwright.") and not isinstance(found, Exception)
        return StandIn(self._thread, found) if is_theirs or callable(found) else found

    def _real_of(self, given: Any) -> Any:
        if isinstance(given, StandIn):
            return given._real
        if isinstance(given, types.FunctionType):
            # Playwright looks at the signature of a callback, to choose its arguments.
            return functools.wraps(given)(lambda *handed: given(*map(self._stand_in, handed)))
        return given


class Held:
    """Requests that wait until they are released."""

    def __init__(self, tab: StandIn, pattern: str, method: str) -> None:
        self._waiting: list[Any] = []
        self._free = False

        def hold(route: Any) -> None:
            if self._free or route.request.method != method:
                route.continue_()
            else:
                self._waiting.append(route)

        tab.route(pattern, hold)

    def wait(self, tab: StandIn) -> None:
        for _ in range(LONGEST // 20):
            if self._waiting:
                return
            tab.wait_for_timeout(20)
        raise AssertionError("no such request came")

    def release(self) -> None:
        self._free = True
        for route in self._waiting:
            route.continue_()
