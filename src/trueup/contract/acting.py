"""The former name of `trueup.contract.call_results`: every name of that module, with a deprecation warning."""

from typing import Any
from warnings import warn

from trueup.contract import call_results


def __getattr__(name: str) -> Any:
    found = getattr(call_results, name)
    warn(
        "trueup.contract.acting is deprecated since 0.2; use trueup.contract.call_results",
        DeprecationWarning,
        stacklevel=2,
    )
    return found
