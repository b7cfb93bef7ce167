"""The command line, for tests of pipelines that use it like a user."""

from tests.cli.conftest import run, starter

__all__ = ["run", "starter"]
