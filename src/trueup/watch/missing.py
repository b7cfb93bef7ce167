"""Packages of an extra: takes the name of a module; returns the module, or raises with the command that installs it."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trueup.verdict.extras import install, quoted


def needed(module: str, extra: str = "telemetry") -> Any:
    """The module, imported when it is first needed.

    >>> needed("json").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".", 1)[0]
        raise ModuleNotFoundError(f"{package} is not installed: {install(extra)}", name=package) from error


@contextmanager
def library(requirement: str) -> Iterator[None]:
    """Around the imports of a library that only an adapter needs: without it, the error says what to install.

    >>> with library("example-library>=2"):
    ...     import example_library
    Traceback (most recent call last):
    ModuleNotFoundError: this adapter needs example-library>=2 (No module named 'example_library'): pip install "example-library>=2"
    """
    try:
        yield
    except ImportError as error:
        message = f"this adapter needs {requirement} ({error}): pip install {quoted(requirement)}"
        raise type(error)(message, name=error.name) from error
