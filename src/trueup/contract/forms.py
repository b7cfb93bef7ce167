"""The former name of `trueup.contract.options` and `option_types`: their names, with a deprecation warning. `Given` is now `ContractOptions`."""

from typing import Any
from warnings import warn

from trueup.contract import option_types
from trueup.contract.options import ContractOptions


def __getattr__(name: str) -> Any:
    found = ContractOptions if name == "Given" else getattr(option_types, name)
    warn(
        "trueup.contract.forms is deprecated since 0.2; use trueup.contract.options",
        DeprecationWarning,
        stacklevel=2,
    )
    return found
