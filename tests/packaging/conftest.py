"""The package, built and installed once for every test of this folder."""

import pytest

from tests.packaging import installing
from tests.packaging.installing import Built, Installed


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return installing.built(tmp_path_factory)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installing.installed(tmp_path_factory)
