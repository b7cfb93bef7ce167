"""Versions as people read them: the text of a contract as a store keeps it enters, YAML leaves, and how two versions differ."""

import difflib
import functools
import io
import json
from typing import Any

import orjson

_MOST_YAML = 100_000  # characters of JSON; what is longer is shown as JSON, which is written at once
_MOST_LINES = 4_000  # of a text that is compared
_MOST_DIFF = 2_000
_FIRST = ("name", "version", "language", "description")


def written(stored: str | None) -> tuple[str, list[str]]:
    """The text of a stored contract for people, and what it has lost on its way into the store; empty if there is none.

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
    from ruamel.yaml import YAML  # a big module, needed here alone
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
    """The same data; texts of several lines are written as such."""
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
    """The difference of two versions as a unified diff; empty if there is none that is written, None if they are too long for one."""
    old, new = before.splitlines(keepends=True), now.splitlines(keepends=True)
    if max(len(old), len(new)) > _MOST_LINES or not now:
        return None
    lines = list(difflib.unified_diff(old, new, "before", "this version"))
    shown = lines[:_MOST_DIFF]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown):,} more lines\n")
    return "".join(shown)
