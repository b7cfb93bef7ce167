"""The pytest plugin: contracts as fixtures, to test stored replies next to the prompts.

`trueup_contract` is the contract that the mark `@pytest.mark.trueup("salon.yaml")` or the ini option `trueup_contract`
names. `assert_ok` fails a test with the errors in a reply. Paths are relative to the test's file, then to the root.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trueup.contract.contract import Contract
    from trueup.verdict.verdict import Verdict

_HOW = "mark the test with @pytest.mark.trueup('contract.yaml'), or set trueup_contract in the ini file"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option."""
    parser.addini("trueup_contract", "The contract file of the fixture trueup_contract.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", "trueup(path): the contract file of the fixture trueup_contract")


@pytest.fixture
def trueup_contract(request: pytest.FixtureRequest) -> "Contract":
    """The contract for this test."""
    from trueup.contract.files.faults import ContractError
    from trueup.testing.contracts import contract_at

    mark = request.node.get_closest_marker("trueup")
    named = str(mark.args[0]) if mark is not None and mark.args else str(request.config.getini("trueup_contract"))
    if not named:
        pytest.fail(f"no contract: {_HOW}", pytrace=False)
    try:
        return contract_at(_path(request, named) or Path(request.config.rootpath) / named)
    except ContractError as error:
        faults = str(error)
    pytest.fail(
        f"the contract cannot be used:\n{faults}", pytrace=False
    )  # outside the `except` block, so that it is not reported twice


@pytest.fixture
def assert_ok(request: pytest.FixtureRequest) -> "Callable[..., Verdict]":
    """`assert_ok(reply)`, or with another contract `assert_ok(reply, contract, context)`."""
    from trueup.testing import asserting

    def check(reply: Any, contract: Any = None, context: dict[str, Any] | None = None) -> "Verdict":
        __tracebackhide__ = True
        given = request.getfixturevalue("trueup_contract") if contract is None else contract
        if isinstance(given, str | os.PathLike):
            given = _path(request, given) or given
        return asserting.assert_ok(reply, given, context)

    return check


def _path(request: pytest.FixtureRequest, named: "str | os.PathLike[str]") -> Path | None:
    """The path of a named file: next to the test, or under the root."""
    places = (Path(request.path).parent / named, Path(request.config.rootpath) / named)
    return next((place for place in places if place.exists()), None)
