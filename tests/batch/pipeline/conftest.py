"""The command line, for tests of pipelines that a user would run there."""

from tests.cli.conftest import run, starter

__all__ = ["run", "starter"]
