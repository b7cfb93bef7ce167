"""Rules for every test, including the examples in docstrings under `src`."""

from collections.abc import Iterator

import pytest

from tests.adapters.elsewhere import ADAPTERS, HERE
from trueup.verdict.catalogue import OWN

collect_ignore = [f"src/trueup/adapters/{name}.py" for name in ADAPTERS if name not in HERE]


@pytest.fixture(autouse=True)
def _own_codes() -> Iterator[None]:
    """The codes that a test gives to custom checks are free again after it."""
    before = dict(OWN)
    yield
    OWN.clear()
    OWN.update(before)
