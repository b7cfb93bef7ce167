"""A small disk that is really full: a file system in memory, if the machine allows one, for tests of full disks."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str = "8m") -> Iterator[Path]:
    """A disk of `size` at `place`; the test is skipped if the user may not mount one."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, room: int = 0) -> Path:
    """Fill a disk up to the last `room` bytes, and return the file that takes the space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as opened:
        block = b"\0" * 4096
        try:
            while True:
                opened.write(block)
        except OSError:
            pass
        if room:
            opened.truncate(max(0, opened.tell() - room))
    return ballast


def enlarge(disk: Path, size: str) -> None:
    """Make room."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
