"""Report a full disk: one message about what could not be written and how to resume, and exit code 3.

`cli/main.py` reports every full disk this way, even if a command wrapped the error. A command with its own way to
resume says so with `resumable`.
"""

import contextlib
from collections.abc import Iterator

import click


class NoSpace(click.ClickException):
    """Nothing more can be written."""

    exit_code = 3


@contextlib.contextmanager
def resumable(how: str) -> Iterator[None]:
    """Report a full disk inside the block with `how`, the sentence that says how to resume."""
    try:
        yield
    except NoSpace:
        raise
    except Exception as error:
        from trueup.batch.disk.full_disk import describe, full_disk

        full = full_disk(error)
        if full is None:
            raise
        raise NoSpace(f"{describe(full)}. {how}") from None
