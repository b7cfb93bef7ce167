"""Griffe extensions: examples in docstrings (`>>> …`) are shown as code in the reference, and only real defaults as values."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts each example into a `pycon` fence, long enough for what it holds."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(lambda m: f"````pycon\n{m[0]}\n````", obj.docstring.value)


class Defaults(griffe.Extension):
    """Hides what `__init__` assigns to an attribute: the signature shows the default, the code behind it says nothing."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if "instance-attribute" in attr.labels and "class-attribute" not in attr.labels:
            attr.value = None
