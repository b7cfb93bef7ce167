"""Closes the clients that an example leaves open. A program that ends need not close them, but here a later test would fail."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected() -> Iterator[None]:
    """Run examples, then collect the connections that they leave open, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
