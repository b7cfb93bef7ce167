"""What an example leaves open: a program that ends need not close its clients, but a test that fails for it would be a later one."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected() -> Iterator[None]:
    """Run examples; the connections that they leave open are collected here, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
