"""Puts whole files in place: after a crash, a path has either all of the new bytes or its old content.

Several files can be put in place together. Links are followed. A path that is not a file, such as a pipe or `/dev/null`, is never
replaced but written to.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from trueup.batch.disk.full_disk import writing


class FileDraft:
    """The file beside a path that is written and then takes its place. A full disk is reported with the path."""

    def __init__(self, path: Path) -> None:
        self._path = path
        target = Path(os.path.realpath(path))  # if the path is a link, the file that it points to
        self._target = None if target.exists() and not target.is_file() else target
        self._beside = target.with_name(f".{target.name}.{os.getpid()}.new")
        with writing(path):
            try:
                self._opened = (path if self._target is None else self._beside).open("wb")
            except OSError as error:  # name the path that the caller knows
                raise OSError(error.errno, error.strerror, str(path)) from error

    def write(self, data: bytes) -> None:
        with writing(self._path):
            self._opened.write(data)

    def finish(self) -> None:
        """Make sure that all bytes are on the disk."""
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
        """Remove the draft if it was not put in place."""
        with contextlib.suppress(OSError):  # a failed write was reported before
            self._opened.close()
        if self._target is not None:
            self._beside.unlink(missing_ok=True)


@contextlib.contextmanager
def placed(*paths: Path) -> Iterator[list[FileDraft]]:
    """Drafts that are put in place together at the end of the block. If anything fails, all of them are removed."""
    with contextlib.ExitStack() as stack:
        drafts = [stack.enter_context(contextlib.closing(FileDraft(path))) for path in paths]
        yield drafts
        for draft in drafts:
            draft.finish()
        for draft in drafts:
            draft.put()
