"""The stores of tests/store, for tests that read them."""

from tests.store.conftest import database, pytest_generate_tests, server

__all__ = ["database", "pytest_generate_tests", "server"]
