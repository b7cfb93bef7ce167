"""Lint of custom checks: names that no installed package offers, checks that cannot be imported."""

from collections.abc import Iterator
from typing import Any

from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.plugins import NoSuchCheck, find_check
from trueup.verdict.paths import Parts


def lint_checks(checks: Any, marks: Origins) -> Iterator[Fault]:
    """What is wrong with the checks that a contract names."""
    for index, item in enumerate(checks if isinstance(checks, list) else ()):
        for name in [item] if isinstance(item, str) else item:
            path: Parts = ("checks", index)
            try:
                find_check(name)
            except NoSuchCheck as error:
                hint = "A package offers its checks under the entry point group 'trueup.checks'."
                yield fault("N019", marks.value(path), path, str(error), hint)
