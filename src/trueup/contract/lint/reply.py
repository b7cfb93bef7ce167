"""Lint of reply rules: reports the refusals of `checks.reply`, at the places that their messages name."""

import re
from collections.abc import Iterator
from typing import Any

from trueup.checks.reply import compile_reply
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_STEP = lazy_regex(r"\.?([A-Za-z_][\w-]*)|\[(\d+)\]")
_WHERE = lazy_regex(r"([a-z_]+(?:\.[\w-]+|\[\d+\])*): (.*)", re.DOTALL)


def lint_reply(spec: Any, marks: Origins) -> Iterator[Fault]:
    """The faults in the reply rules of a contract, independent of the environment."""
    if spec is None:
        return
    try:
        compile_reply(spec, {})
    except ValueError as error:
        path, message = placed(str(error), ("reply",))
        yield fault("N012" if path[-1] == "expr" else "N006", marks.value(path), path, message)


def placed(message: str, otherwise: Parts = ()) -> tuple[Parts, str]:
    """The path at the start of a message, and the rest of the message.

    >>> placed("reply.rules[0].expr: there is no 'txt' here")
    (('reply', 'rules', 0, 'expr'), "there is no 'txt' here")
    """
    found = _WHERE.match(message)
    if found is None:
        return otherwise, message
    steps = _STEP.findall(found[1])
    return tuple(word or int(index) for word, index in steps), found[2]
