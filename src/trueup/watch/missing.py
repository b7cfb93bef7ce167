"""Packages of an extra: takes the name of a module; returns the module, or raises with the command that installs it."""

import importlib
from typing import Any


def needed(module: str, extra: str = "telemetry") -> Any:
    """The module, imported when it is first needed.

    >>> needed("json").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".", 1)[0]
        raise ModuleNotFoundError(f"{package} is not installed: pip install 'trueup[{extra}]'", name=package) from error
