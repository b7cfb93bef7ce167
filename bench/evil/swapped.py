"""Puts another HTTP client into the gateway: `TRUEUP_BENCH_CLIENT` names it. A plugin for pytest: `-p swapped`."""

import os


def pytest_configure() -> None:
    """Put it in."""
    from http_client_lines import swap

    swap(os.environ["TRUEUP_BENCH_CLIENT"])
