"""The store that a command works on: the option `--store`, and a store that is opened with its errors told in one line."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from trueup.store.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def store_option(function: F) -> F:
    """The option every command of a store has."""
    return click.option(
        "--store", "url", envvar="TRUEUP_STORE", callback=_there, metavar="PATH|URL",
        help="A file of SQLite, or postgresql://…  [default: $TRUEUP_STORE]", show_envvar=False,
    )(function)  # fmt: skip


def _there(context: click.Context, _: click.Parameter, given: str | None) -> str | None:
    if not given and not context.resilient_parsing:
        raise click.UsageError("no store: give --store with a file or an address, or set TRUEUP_STORE")
    return given


@contextlib.contextmanager
def opened(url: str, create: bool = False) -> "Iterator[Store]":
    """The store, closed at the end; what is wrong with it ends the command with what to do."""
    from trueup.store.errors import StoreError
    from trueup.store.open import open_store

    try:
        with open_store(url, create=create) as store:
            yield store
    except StoreError as error:
        raise Unavailable(str(error)) from None
