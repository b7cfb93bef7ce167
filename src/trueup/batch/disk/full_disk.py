"""Recognizes errors that mean a full disk, and names the file that could not be written.

Takes an error with the errors that caused it, and returns the one that names the full disk, or None. `writing` adds the name of a
file to errors of its descriptor, which have none. The command line turns it into one message.
"""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SQLITE_FULL, _SQLITE_IOERR_WRITE, _SQLITE_IOERR_SHMSIZE = 13, 10 | 3 << 8, 10 | 19 << 8


class DiskFull(OSError):
    """No space is left for a file. No incomplete file was kept."""


def is_full(error: BaseException) -> bool:
    """Whether an error says that the disk, the quota or the allowed size of a file is used up."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code in (_SQLITE_FULL, _SQLITE_IOERR_WRITE, _SQLITE_IOERR_SHMSIZE)
    return type(error).__name__ == "StoreFull"  # only loaded by users of a store


def full_disk(error: BaseException | None) -> BaseException | None:
    """The full disk that caused an error: the error itself, or one that it was raised from or while handling."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if is_full(error):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn a full disk inside the block into a `DiskFull` that names `path`, unless an inner one named a path already."""
    try:
        yield
    except Exception as error:
        full = full_disk(error)
        if full is None or (full is error and isinstance(error, DiskFull)):
            raise
        if isinstance(full, DiskFull):
            raise full from None
        raise DiskFull(getattr(full, "errno", None) or errno.ENOSPC, "no space left on the disk", str(path)) from None


def describe(error: BaseException) -> str:
    """The path that could not be written, for a message.

    >>> describe(DiskFull(errno.ENOSPC, "No space left on device", "out/validated.jsonl"))
    'the disk is full: out/validated.jsonl could not be written'
    """
    if not isinstance(error, OSError):
        return str(error)
    what = error.filename or "standard output"
    if error.errno == errno.EFBIG:
        return f"{what} could not be written: it would exceed the file size limit"
    why = "the disk quota is used up" if error.errno == errno.EDQUOT else "the disk is full"
    return f"{why}: {what} could not be written"
