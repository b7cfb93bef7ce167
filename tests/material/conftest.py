"""The stores of tests/store, for the tests of their readers."""

from tests.store.conftest import database, pytest_generate_tests, server

__all__ = ["database", "pytest_generate_tests", "server"]
