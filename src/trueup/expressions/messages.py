"""Message templates: `{field}` and `{a.b[0]}` are replaced by data, `{_computed}` by the value that a rule computed.

A template is compiled once and then turns records into text. A placeholder can read only keys and indexes of data:
no attributes, no formats, no code. An unknown placeholder stays unchanged, and inserted text is not expanded again.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from trueup.expressions.errors import ExpressionError
from trueup.expressions.values import as_data
from trueup.verdict.patterns import lazy_regex

_FIELD = lazy_regex(r"\{([^{}]{1,200})\}")
_PATH = lazy_regex(r"[^\W\d]\w*(?:\.\w+|\[\d{1,9}\]|\[\"[^\"\]]*\"\])*\Z")
_STEP = lazy_regex(r"\[(\d+)\]|\[\"([^\"\]]*)\"\]|\.?(\w+)")
_SHOWN = 300
_PARTS = 2_000
MISSING: Any = object()

Steps = tuple[str | int, ...]


class Message:
    """A compiled template; `render` fills it in."""

    __slots__ = ("_pieces", "fields", "template")

    def __init__(self, template: str) -> None:
        self.template = template
        self._pieces: list[tuple[str, str, Steps]] = []
        at = 0
        for field in _FIELD.finditer(template):
            if _PATH.match(field[1]):
                self._pieces.append((template[at : field.start()], field[0], read_path(field[1])))
                at = field.end()
        self._pieces.append((template[at:], "", ()))
        self.fields: frozenset[Steps] = frozenset(steps for _, _, steps in self._pieces if steps)

    @property
    def wants_computed(self) -> bool:
        """Whether the template uses `{_computed}`."""
        return any(steps[0] == "_computed" for steps in self.fields)

    def render(self, record: Mapping[str, Any], computed: Any = MISSING) -> str:
        """The message for one record.

        >>> compile_message("{hp} of {limits.hp}, {nobody}").render({"hp": 3, "limits": {"hp": 9}})
        '3 of 9, {nobody}'
        """
        out = []
        for before, written, steps in self._pieces:
            out.append(before)
            if steps:
                root = {"_computed": computed} if steps[0] == "_computed" and computed is not MISSING else record
                value = follow(root, steps)
                out.append(written if value is MISSING else shown(value, written))
        return "".join(out)


def compile_message(template: str) -> Message:
    """A message from its template.

    >>> compile_message("{e.__init__.__globals__[KEY]} {v:>99999999}").render({"e": 1, "v": 2})
    '{e.__init__.__globals__[KEY]} {v:>99999999}'
    """
    if not isinstance(template, str):
        raise TypeError(f"a message must be text, not {type(template).__name__}")
    return Message(template)


def read_path(path: str) -> Steps:
    """The keys and indexes of a path.

    >>> read_path('a.b[0]["x-y"]')
    ('a', 'b', 0, 'x-y')
    """
    steps: list[str | int] = []
    for index, quoted, word in _STEP.findall(path):
        steps.append(int(index) if index else word or quoted)
    return tuple(steps)


def follow(value: Any, steps: Steps) -> Any:
    """The value at the end of a path in data, or `MISSING`."""
    for step in steps:
        if isinstance(value, Mapping):
            key = step if step in value else str(step)
            if key not in value:
                return MISSING
            value = value[key]
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def shown(value: Any, otherwise: str) -> str:
    """A value for a message: text unchanged, anything else as JSON; a long value is cut."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = orjson.dumps(as_data(value, _PARTS)).decode()
        except (ExpressionError, TypeError, RecursionError):
            text = str(value) if isinstance(value, int | float) and _is_small(value) else otherwise
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _is_small(value: int | float) -> bool:
    return isinstance(value, float) or value.bit_length() < 4_000
