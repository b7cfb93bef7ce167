"""Versions for people: takes the stored text of a contract and returns YAML, and the difference between two versions."""

import difflib
import functools
import io
import json
from typing import Any

import orjson

_MOST_YAML = 100_000  # characters of JSON; longer texts are shown as JSON, which is fast to write
_MOST_LINES = 4_000  # characters of a text that is compared
_MOST_DIFF = 2_000
_FIRST = ("name", "version", "language", "description")


def written(stored: str | None) -> tuple[str, list[str]]:
    """The text of a stored contract for people, and the parts that the store could not keep; empty if there is none.

    >>> written('{"portable":true,"options":{"name":"any","rules":["n > 0"]}}')
    ('name: any\\nrules:\\n  - n > 0\\n', [])
    """
    return ("", []) if stored is None else _written(stored)


@functools.lru_cache(maxsize=256)
def _written(stored: str) -> tuple[str, list[str]]:
    try:
        found = orjson.loads(stored)
        options, lost = found["options"], [str(each) for each in found.get("lost") or ()]
    except (ValueError, KeyError, TypeError):
        return "", ["the text cannot be read"]
    if not options:
        return "", lost
    options = {**{name: options[name] for name in _FIRST if name in options}, **options}
    return (_yaml(options) if len(stored) <= _MOST_YAML else _json(options)), lost


def _yaml(options: dict[str, Any]) -> str:
    from ruamel.yaml import YAML  # a big module, needed only here
    from ruamel.yaml.error import YAMLError

    writer = YAML()
    writer.width = 100_000  # a rule stays in one line
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    try:
        writer.dump(_with_blocks(options), out)
    except (YAMLError, RecursionError, ValueError):
        return _json(options)
    return out.getvalue()


def _with_blocks(value: Any) -> Any:
    """The same data; multi-line texts are written as such."""
    from ruamel.yaml.scalarstring import LiteralScalarString

    if isinstance(value, dict):
        return {key: _with_blocks(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_blocks(part) for part in value]
    if isinstance(value, str) and "\n" in value and value.isprintable() is False and "\r" not in value:
        return LiteralScalarString(value)
    return value


def _json(options: dict[str, Any]) -> str:
    return json.dumps(options, ensure_ascii=False, indent=2) + "\n"


def diff_between(before: str, now: str) -> str | None:
    """The difference between two versions as a unified diff; empty if their texts are equal, None if they are too long."""
    old, new = before.splitlines(keepends=True), now.splitlines(keepends=True)
    if max(len(old), len(new)) > _MOST_LINES or not now:
        return None
    lines = list(difflib.unified_diff(old, new, "before", "this version"))
    shown = lines[:_MOST_DIFF]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown):,} more lines\n")
    return "".join(shown)
