"""Collects the tests whose libraries are installed in this environment."""

from tests.adapters.elsewhere import ADAPTERS, HERE, INSIDE

collect_ignore = [f"test_{name}.py" for name in ADAPTERS if name not in HERE]
collect_ignore += ["test_environment.py"] if INSIDE else []
