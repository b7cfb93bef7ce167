"""Griffe extensions: the reference shows doctests as code that can be copied and run, and only real defaults as values."""

import doctest
import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts each example into a `python` fence, without prompts and with its results as comments."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(lambda m: f"````python\n{as_code(m[0])}````", obj.docstring.value)


def as_code(session: str) -> str:
    """A doctest as code with its results below each statement, as the other pages show them.

    >>> print(as_code(">>> 1 + 1\\n2"), end="")
    1 + 1
    # → 2
    """
    code = ""
    for example in doctest.DocTestParser().get_examples(f"{session}\n"):
        result = f"{example.exc_msg}" if example.exc_msg else example.want.replace("<BLANKLINE>", "")
        code += example.source + "".join(f"# → {line}".rstrip() + "\n" for line in result.splitlines())
    return code


class Defaults(griffe.Extension):
    """Hides what `__init__` assigns to an attribute: the signature shows the default, the code behind it says nothing."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if "instance-attribute" in attr.labels and "class-attribute" not in attr.labels:
            attr.value = None
