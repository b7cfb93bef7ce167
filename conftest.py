"""What holds for every test, the examples in docstrings under `src` included."""

from collections.abc import Iterator

import pytest

from trueup.verdict.catalogue import OWN


@pytest.fixture(autouse=True)
def _own_codes() -> Iterator[None]:
    """The codes that a test gives to checks of its own are free again after it."""
    before = dict(OWN)
    yield
    OWN.clear()
    OWN.update(before)
