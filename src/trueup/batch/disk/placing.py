"""Whole files put in place: bytes enter, and in the end either all of them are there or what was there before.

Several files are put in place together. A link is followed. What is not a file, such as a pipe or `/dev/null`, is never replaced:
it is written to.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from trueup.batch.disk.full_disk import writing


class Draft:
    """What is written beside a path until it takes its place; a full disk names the path."""

    def __init__(self, path: Path) -> None:
        self._path = path
        target = Path(os.path.realpath(path))  # in place of a link, its file
        self._target = None if target.exists() and not target.is_file() else target
        self._beside = target.with_name(f".{target.name}.{os.getpid()}.new")
        with writing(path):
            self._opened = (path if self._target is None else self._beside).open("wb")

    def write(self, data: bytes) -> None:
        with writing(self._path):
            self._opened.write(data)

    def finish(self) -> None:
        """Make sure that all of it is on the disk."""
        with writing(self._path):
            self._opened.flush()
            if self._target is not None:
                os.fsync(self._opened.fileno())

    def put(self) -> None:
        """Take the place of the path."""
        if self._target is not None:
            with writing(self._path):
                self._beside.replace(self._target)

    def close(self) -> None:
        """Remove what was not put in place."""
        with contextlib.suppress(OSError):  # what could not be written was reported before
            self._opened.close()
        if self._target is not None:
            self._beside.unlink(missing_ok=True)


@contextlib.contextmanager
def placed(*paths: Path) -> Iterator[list[Draft]]:
    """Drafts that take their places together at the end of the block; if anything fails, none does."""
    with contextlib.ExitStack() as stack:
        drafts = [stack.enter_context(contextlib.closing(Draft(path))) for path in paths]
        yield drafts
        for draft in drafts:
            draft.finish()
        for draft in drafts:
            draft.put()
