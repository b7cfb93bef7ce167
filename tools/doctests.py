"""Griffe extensions: the reference shows doctests as code that can be copied and run, and only real defaults as values.

The options of `Contract` are shown as `trueup.contract.options` declares them.
"""

import doctest
import inspect
import re
from typing import Any

import griffe

from trueup.contract.contract import Contract
from trueup.contract.option_help import about_option, type_of
from trueup.contract.options import OPTIONS

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
    """Hides the values that `__init__` assigns to attributes: the signature shows the default, and the code adds nothing."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if "instance-attribute" in attr.labels and "class-attribute" not in attr.labels:
            attr.value = None


class DocumentedOptions(griffe.Extension):
    """Replaces the `**options` of `Contract` with the declared options, and adds a sentence to each in the tables for type checkers."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        if cls.path == "trueup.contract.contract.Contract" and Contract.__doc__:
            cls.docstring = griffe.Docstring(inspect.cleandoc(Contract.__doc__), parent=cls)
            init = cls.members["__init__"]
            assert isinstance(init, griffe.Function)
            init.parameters = griffe.Parameters(
                griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword),
                *(_parameter(name) for name in OPTIONS),
            )
        elif cls.path.startswith("trueup.contract.options."):
            for name, member in cls.members.items():
                if name in OPTIONS and isinstance(member, griffe.Attribute):
                    member.annotation = type_of(name)
                    member.docstring = griffe.Docstring(about_option(name), parent=member)


def _parameter(name: str) -> griffe.Parameter:
    kind = griffe.ParameterKind.positional_or_keyword if name == "schema" else griffe.ParameterKind.keyword_only
    return griffe.Parameter(name, annotation=type_of(name), kind=kind, default=repr(OPTIONS[name].default))
