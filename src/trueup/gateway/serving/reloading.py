"""Applies a changed file: reads it into a configuration that a running gateway can use.

A file with a fault changes nothing: every fault is reported, and the configuration in force stays. The address, the number of
workers and the store are fixed on startup: such a change is reported, and needs a restart.
"""

import errno
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from trueup.gateway.config import Config
from trueup.gateway.settings import read_config
from trueup.verdict.display import safe_line

log = logging.getLogger("trueup.gateway")

FIXED = ("host", "port", "workers", "server", "store", "telemetry")  # at startup
_SAID = {"host": "listen", "port": "listen"}
Read = Callable[[], Config]


class NotUsable(Exception):
    """A configuration that cannot be used; `faults` are lines that say why."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def file_reader(path: str, changed: Callable[[Config], Config] = lambda config: config) -> Read:
    """A function that reads the configuration at `path` again; `changed` applies the command line's options."""

    def read() -> Config:
        config, faults = read_config(path)
        if config is None:
            raise NotUsable([str(fault) for fault in faults])
        return changed(config)

    return read


def taken_over(running: Config, fresh: Config, *, quiet: bool = False) -> Config:
    """The part of the new configuration that the running gateway can follow; unless `quiet`, the rest is reported."""
    kept = {name: getattr(running, name) for name in FIXED}
    names = dict.fromkeys(_SAID.get(name, name) for name in FIXED if getattr(fresh, name) != kept[name])
    if fresh.meters and not running.store:
        raise NotUsable(["quota needs the store, and a store is opened on startup only; restart the gateway"])
    if names and not quiet:
        log.warning("%s changed; restart the gateway to apply that", " and ".join(f"`{name}`" for name in names))
    return replace(fresh, **kept)


def report(error: NotUsable) -> None:
    """Report every reason why a configuration is not applied."""
    for fault in error.faults:
        log.error("%s", safe_line(fault))
    log.error("the changed configuration was not applied; the current one stays in force")


def terminal_is_gone() -> bool:
    """Whether this process was started from a terminal that has been closed: then SIGHUP keeps its usual meaning."""
    try:
        os.tcgetpgrp(2)
    except OSError as error:
        return error.errno == errno.EIO
    except AttributeError:  # Windows
        pass
    return False


class Watch:
    """Whether the files of a configuration have changed: the file itself, and every contract and schema beside it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()
        self._seen = self._look()

    def changed(self) -> bool:
        """Whether anything has changed since the last call."""
        before, self._seen = self._seen, self._look()
        return before != self._seen

    def _look(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for path in _files(self._path):
            try:
                status = path.stat()
            except OSError:
                continue
            found[os.fspath(path)] = (status.st_mtime_ns, status.st_size)
        return found


_EVERY = 1.0  # seconds between two checks
_KINDS = (".yaml", ".yml", ".toml", ".json", ".py")
_MOST_FILES = 10_000


def _files(path: Path) -> list[Path]:
    found = [path]
    for folder, folders, names in os.walk(path.parent):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        found += [Path(folder, name) for name in names if name.endswith(_KINDS)]
        if len(found) > _MOST_FILES:
            break
    return found


def watch_files(path: str, wanted: Callable[[], object], ended: threading.Event) -> None:
    """Call `wanted` after each change of the files, from its own thread, until it has `ended`."""
    watch = Watch(path)

    def look() -> None:
        while not ended.wait(_EVERY):
            if watch.changed():
                wanted()

    threading.Thread(target=look, name="trueup-watch", daemon=True).start()
