"""Lint of checks: unknown names, checks that cannot be imported, bad options."""

from collections.abc import Iterator
from typing import Any

from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.reply import placed
from trueup.contract.plugins import NoSuchCheck, read_named
from trueup.shelf.options import BadOption
from trueup.verdict.paths import Parts


def lint_checks(checks: Any, marks: Origins) -> Iterator[Fault]:
    """The faults in the checks that a contract names."""
    for index, item in enumerate(checks if isinstance(checks, list) else ()):
        named = {item: None} if isinstance(item, str) else item
        for name, options in named.items() if isinstance(named, dict) else ():
            path: Parts = ("checks", index)
            try:
                read_named(name, options)
            except NoSuchCheck as error:
                hint = "`docs/howto/ready-checks.md` lists the ready checks; packages offer theirs under the entry point group 'trueup.checks'."
                yield fault("N019", marks.value(path), path, str(error), hint)
            except BadOption as error:
                place, message = placed(f"checks[{index}].{error}", path)
                yield fault("N021", marks.value(place), place, message)
            except ModuleNotFoundError as error:
                yield fault("N021", marks.value(path), path, str(error))
