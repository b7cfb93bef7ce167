"""Saving a contract file: takes a text and the hash of the file that it was made from. Either the file gets the text,
or nothing changes.

The text is saved as typed. Line endings, a byte order mark and permissions stay unchanged. Writing is atomic: readers
see the old or the new file. A lock on the folder serializes simultaneous saves, so that the second one sees the result
of the first.
"""

import contextlib
import difflib
import errno
import os
import re
import secrets
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from trueup.contract.files.documents import KINDS, LIMITS
from trueup.studio.contracts.drafts import place_of
from trueup.studio.contracts.files import ContractFileState, line_ends, open_contract
from trueup.studio.contracts.kinds import in_pipeline, is_contract
from trueup.studio.places import top_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

_BOM = b"\xef\xbb\xbf"
_PATIENCE = 5.0  # seconds to wait for another save in the same folder
_ENDS = re.compile(r"\r\n|\r|\n")
_MOST_COMPARED = 1_000_000  # pairs of lines
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


class Changed(RequestRefused):
    """The file has changed since it was read; contains its current state."""

    def __init__(self, name: str, now: str) -> None:
        super().__init__(
            409, f"{name} has changed since you opened it. Nothing was saved.", code="changed",
            hint="Compare your text with the file, then save again.",
        )  # fmt: skip
        self.hash = now

    def to_dict(self) -> dict[str, Any]:
        """The body of the response, with the current hash of the file."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint, "hash": self.hash}}


def save(settings: StudioSettings, name: str, text: str, known: str) -> ContractFileState:
    """Write a text to a contract file that still has the hash `known`."""
    _refuse_text(name, text)
    opened = open_contract(settings, name)
    with turn(opened.path.parent, name):
        now = open_contract(settings, name)
        if now.hash != known:
            raise Changed(name, now.hash)
        if now.path != opened.path:
            raise Changed(name, now.hash)
        written = as_written(text, now.raw)
        if written != now.raw:
            _refuse_read_only(now)
            _write(now.path, written, name)
    return open_contract(settings, name)


def create(settings: StudioSettings, name: str, text: str) -> ContractFileState:
    """Create a new contract file; an existing one is never replaced."""
    _refuse_text(name, text)
    path = place_of(settings, name)
    _refuse_name(settings, name, path)
    if path.exists() or path.is_symlink():
        raise RequestRefused(
            409, f"{name} already exists. Nothing was saved.", code="exists", hint="Choose another name."
        )
    with turn(path.parent, name):
        _write(path, text.encode(), name, new=True)
    return open_contract(settings, name)


def as_written(text: str, before: bytes) -> bytes:
    """A text as the bytes of a file, with the file's previous byte order mark and line endings.

    If the line endings are mixed, an unchanged line keeps its own.

    >>> as_written("a\\nb\\n", b"a\\r\\n"), as_written("a\\nc\\nb\\n", b"a\\r\\nb\\n")
    (b'a\\r\\nb\\r\\n', b'a\\r\\nc\\nb\\n')
    """
    text = _ENDS.sub("\n", text.removeprefix("\ufeff"))
    ends = line_ends(before)
    if ends == "crlf":
        text = text.replace("\n", "\r\n")
    elif ends == "mixed":
        text = _with_own_ends(text, before.removeprefix(_BOM).decode())
    return (_BOM if before.startswith(_BOM) else b"") + text.encode()


def _with_own_ends(text: str, before: str) -> str:
    old, ends = _ENDS.split(before), _ENDS.findall(before)
    new = text.split("\n")
    usual = max(("\n", "\r\n", "\r"), key=ends.count)
    made = [usual] * (len(new) - 1)
    for at, start, size in _same_lines(old, new):
        for step in range(size):
            if at + step < len(ends) and start + step < len(made):
                made[start + step] = ends[at + step]
    for at, (end, following) in enumerate(pairwise(made)):
        if end == "\r" and following == "\n" and not new[at + 1]:  # together they would be one line ending
            made[at] = "\n"
    return "".join(line + end for line, end in zip(new, [*made, ""], strict=True))


def _same_lines(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int]]:
    """The blocks of unchanged lines: the start of each in the old and in the new text, and its length.

    The text between the first and the last change is compared line by line, unless it is so long that this would take
    minutes.
    """
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    yield 0, 0, first
    yield len(old) - last, len(new) - last, last
    between = old[first : len(old) - last], new[first : len(new) - last]
    if len(between[0]) * len(between[1]) <= _MOST_COMPARED:
        for at, start, size in difflib.SequenceMatcher(None, *between, autojunk=False).get_matching_blocks():
            yield first + at, first + start, size


def _refuse_text(name: str, text: str) -> None:
    kind = f".{name.rpartition('.')[2].lower()}"
    if kind in KINDS and len(text) > LIMITS[kind]:
        most = f"{LIMITS[kind]:,}"
        raise RequestRefused(
            413, f"The text is longer than the {most} characters that a {kind} contract may have.", code="too_large"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise RequestRefused(
            400, f"Line {line} contains half a surrogate pair, which is not a character.", code="not_text"
        ) from None
    if kind in KINDS and not is_contract(text, kind):
        raise RequestRefused(
            422, "This text is not a contract. Nothing was saved.", code="not_a_contract",
            hint="A contract has a part such as schema, rules, reply or states.",
        )  # fmt: skip


def _refuse_name(settings: StudioSettings, name: str, path: Path) -> None:
    last = name.rpartition("/")[2]
    top = top_of(settings, path)
    odd = last.startswith(".") or not last.isprintable() or len(last.encode()) > 200 or "\\" in last
    if odd or path.suffix.lower() not in KINDS or last == "config.yaml" or in_pipeline(path, top):
        raise RequestRefused(
            400, f"{last[:100]!r} is not a name for a contract.", code="bad_name",
            hint=f"Choose a name that ends in {', '.join(KINDS[:-1])} or {KINDS[-1]}, in a folder that is not a pipeline's.",
        )  # fmt: skip


def _refuse_read_only(opened: ContractFileState) -> None:
    """A rename would replace even a read-only file, against its owner's intention."""
    if not opened.path.stat().st_mode & 0o222:
        raise RequestRefused(
            403, f"{opened.name} is read-only. Nothing was saved.", code="read_only", hint="Make the file writable."
        )


@contextlib.contextmanager
def turn(folder: Path, name: str) -> Iterator[None]:
    """Hold the folder's lock, so that only one process at a time saves in it."""
    try:
        import fcntl
    except ImportError:  # a system without such locks: the hash is still compared
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise RequestRefused(
                        503, f"Someone else is saving in the folder of {name}. Try again.", code="busy"
                    ) from None
                time.sleep(0.005)
            except OSError:  # a file system without locks, as some network ones
                break
        yield
    finally:
        os.close(handle)


def _write(path: Path, content: bytes, name: str, *, new: bool = False) -> None:
    part: Path | None = None
    try:
        for left in path.parent.glob(f".{_escaped(path.name)}.*.part"):  # by a process that was killed while writing
            left.unlink(missing_ok=True)
        part = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"
        made = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if new else 0o600
        )  # a private file is never readable by others
        with os.fdopen(made, "wb") as opened:
            opened.write(content)
            opened.flush()
            if not new:
                _as_before(part, path)
            os.fsync(opened.fileno())
        if new:
            os.link(part, path)  # fails if one exists by now
        else:
            part.replace(path)
        _settle(path.parent)
    except FileExistsError:
        raise RequestRefused(409, f"{name} already exists. Nothing was saved.", code="exists") from None
    except OSError as error:
        raise _told(error, name) from None
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _as_before(part: Path, path: Path) -> None:
    """Give a new file the owner and the permissions of the one that it replaces."""
    found = path.stat()
    with contextlib.suppress(OSError, AttributeError):  # not permitted, or the system has no owners
        os.chown(part, found.st_uid, found.st_gid)
    part.chmod(found.st_mode & 0o7777)


def _settle(folder: Path) -> None:
    """Flush the rename to disk; if that fails, the file itself is still complete."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _told(error: OSError, name: str) -> RequestRefused:
    if error.errno in _FULL:
        return RequestRefused(
            507, f"The disk is full. {name} is unchanged.", code="disk_full", hint="Free some space and save again."
        )
    if error.errno in _DENIED:
        return RequestRefused(
            403, f"{name} may not be written here. It is unchanged.", code="read_only",
            hint="Check the permissions of its folder.",
        )  # fmt: skip
    return RequestRefused(500, f"{name} could not be written: {error.strerror}. It is unchanged.", code="not_written")
