"""The option `--store` of commands that use a store. Errors of opening the store are reported on one line."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from trueup.store.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def store_option(function: F) -> F:
    """Add the option `--store` to a command."""
    return click.option(
        "--store", "url", envvar="TRUEUP_STORE", callback=_there, metavar="PATH|URL",
        help="An SQLite file, or postgresql://…  [default: $TRUEUP_STORE]", show_envvar=False,
    )(function)  # fmt: skip


def _there(context: click.Context, _: click.Parameter, given: str | None) -> str | None:
    if not given and not context.resilient_parsing:
        raise click.UsageError("no store: give --store with a file or a URL, or set TRUEUP_STORE")
    return given


@contextlib.contextmanager
def opened(url: str, *, create: bool = False) -> "Iterator[Store]":
    """The store, closed at the end. If it cannot be used, the error says what to do."""
    from trueup.store.errors import StoreError
    from trueup.store.open import open_store

    try:
        with open_store(url, create=create) as store:
            yield store
    except StoreError as error:
        raise Unavailable(str(error)) from None
