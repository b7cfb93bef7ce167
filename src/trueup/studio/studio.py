"""Studio: the state that the handlers of the API share. The store is opened on first use, and closed once."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings
from trueup.studio.working.slots import Slots

if TYPE_CHECKING:
    from pathlib import Path

    from trueup.store.errors import StoreError
    from trueup.store.store import Store


class Studio:
    """One running studio.

    `lent` returns the store of a gateway that serves the studio; the studio does not close that store.
    """

    def __init__(self, settings: StudioSettings, lent: "Callable[[], Store | None] | None" = None) -> None:
        self.settings = settings
        self.gateway: Callable[[], dict[str, Any]] | None = None
        """The state of the gateway that serves this studio, set by the gateway: `version`, `uptime` (seconds),
        `problems` (sentences), `routes` (each `name`, `models`, `contract`) and `breakers` (names of upstreams that are
        not used at the moment); None: no gateway.
        """
        self._lent = lent
        self._opened: Store | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self.works = Slots()
        """The long jobs that are running."""

    @property
    def store(self) -> "Store":
        """The store; a Refusal if there is none."""
        store = self.store_or_none
        if store is None:
            raise RequestRefused(
                404, "No store is open.", code="no_store",
                hint="Start the studio with --store verdicts.db, or with --demo for sample traffic; a gateway needs `store` in its file.",
            )  # fmt: skip
        return store

    @property
    def has_store(self) -> bool:
        """Whether there is a store, even one that cannot be opened now."""
        return self._lent() is not None if self._lent is not None else bool(self.settings.store)

    @property
    def store_or_none(self) -> "Store | None":
        """The store, if there is one."""
        if self._lent is not None:
            return self._lent()
        if not self.settings.store:
            return None
        from trueup.store.errors import StoreError
        from trueup.store.open import file_of, open_store

        gone: Store | None = None
        try:
            with self._lock:
                file = file_of(self.settings.store)
                if self._opened is not None and _identity(file) != self._file:
                    gone, self._opened = (
                        self._opened,
                        None,
                    )  # it was deleted or replaced: anything written to it would be lost
                if self._opened is None:
                    self._opened = open_store(self.settings.store, create=False)
                    self._file = _identity(file)
                return self._opened
        except StoreError as error:
            raise self.unavailable(error) from None
        finally:
            if gone is not None:
                gone.close()

    def unavailable(self, error: "StoreError") -> RequestRefused:
        """Why the store cannot be used."""
        from trueup.studio.stores import unavailable

        lent = self._lent() if self._lent is not None else None
        return unavailable(error, self.settings.store if lent is None else lent.where)

    def close(self) -> None:
        """Close what was opened here, and end what was started."""
        self.works.close()
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


def _identity(file: "Path | None") -> tuple[int, int] | None:
    """The identity of a file, even if another one gets the same name; None if it does not exist."""
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)
