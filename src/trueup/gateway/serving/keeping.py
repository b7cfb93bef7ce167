"""A worker's work besides serving requests: checks the store, deletes what is past its retention, and publishes gauges.

Nothing here makes a request wait, and no failure here ends the worker: it is logged, counted and retried.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable

from trueup.gateway.watching.metrics import Metrics
from trueup.store.errors import StoreError
from trueup.store.store import Store

log = logging.getLogger("trueup.gateway")

PRUNE_SECONDS = 3600.0
_TICK = 1.0
_LOOK = 5  # ticks between two checks of the store
_REST = 3.0  # pruning pauses this many times as long as it deletes
_PATIENCE = 2.0  # seconds in which a healthy store accepts a write


class Keeper:
    """The work of one worker besides requests; `store` returns the open store, or None. It prunes the store if that is its
    own.
    """

    def __init__(self, metrics: Metrics, store: Callable[[], Store | None], *, prunes: bool) -> None:
        self._metrics = metrics
        self._store = store
        self._down = False
        self._pruned = 0.0
        self._next = 0.0 if prunes else math.inf
        self._task: asyncio.Task[None] | None = None
        metrics.gauge("trueup_store_queued", lambda: 0 if (found := store()) is None else found.queued)
        metrics.gauge("trueup_store_trouble", self._trouble, how="max")
        metrics.gauge("trueup_pruned_timestamp_seconds", lambda: self._pruned, how="max")

    def start(self) -> None:
        """Begin; the store is pruned soon, unless another worker has done so within the hour."""
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End; a pruning in progress ends with its store."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def look(self) -> None:
        """Check whether the store can be written to."""
        store = self._store()
        if store is not None:
            self._down = await store.areach(_PATIENCE) is not None

    async def prune(self) -> None:
        """Delete what is past its retention, if no other worker has done so within the hour."""
        store = self._store()
        if store is None or not await asyncio.to_thread(store.lease, "prune", PRUNE_SECONDS * 0.9):
            return
        began = time.perf_counter()
        gone = await asyncio.to_thread(lambda: store.prune(rest=_REST))
        self._pruned = time.time()
        for what, n in gone.items():
            self._metrics.count("trueup_pruned_total", n, what=what)
        if gone:
            found = ", ".join(f"{n:,} {what}" for what, n in sorted(gone.items()))
            log.info("deleted rows past their retention in %.1f s: %s", time.perf_counter() - began, found)

    async def _run(self) -> None:
        tick = 0
        pruning: asyncio.Task[None] | None = None
        try:
            while True:
                if tick % _LOOK == 0:
                    await self._look()
                if time.monotonic() >= self._next and (pruning is None or pruning.done()):
                    self._next = time.monotonic() + PRUNE_SECONDS * random.uniform(0.9, 1.1)  # noqa: S311 - spreads the load
                    pruning = asyncio.ensure_future(self._prune())
                self._metrics.publish()
                tick += 1
                await asyncio.sleep(_TICK)
        finally:
            if pruning is not None:
                pruning.cancel()

    async def _look(self) -> None:
        try:
            await self.look()
        except Exception:  # this worker must still publish its gauges
            log.exception("the store could not be checked")

    async def _prune(self) -> None:
        try:
            await self.prune()
        except StoreError as error:
            self._metrics.count("trueup_prune_failures_total")
            log.warning("the store could not be pruned: %s", error)
        except Exception:  # the next try is in an hour
            self._metrics.count("trueup_prune_failures_total")
            log.exception("the store could not be pruned")

    def _trouble(self) -> float:
        store = self._store()
        return float(store is not None and (self._down or store.trouble is not None))
