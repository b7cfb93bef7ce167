"""Misspelled keys of tools: takes the tools of a contract and returns each key that has no effect but was meant to have one.

A definition may have any key of its provider. So an unknown key is a fault only if it is spelled almost like a known
one, or if it seems to describe the arguments of a tool that has no `parameters`, and so accepts any arguments.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.words import lint_words, near_word
from trueup.read.definitions import MAPS, SCHEMAS, bodies, wrapper_of
from trueup.read.parameters import SNAKE
from trueup.verdict.paths import Parts

_MEANT = ("description", "parameters", "input_schema", "inputSchema")
_SCHEMAS = frozenset({*SCHEMAS, *MAPS})
_OTHER_WORDS = ("arguments", "params", "param", "schema", "input", "properties")


def lint_tool_keys(item: Any, at: Parts, marks: Origins) -> Iterator[Fault]:
    """The faults in the keys of a definition at a path, and in the keywords of its schemas."""
    for path, body in bodies(item, path=at):
        if isinstance(body, Mapping):
            yield from _keys(body, path, marks)
            yield from _keywords(body, path, marks)


def _keys(body: Mapping[str, Any], at: Parts, marks: Origins) -> Iterator[Fault]:
    takes_any = _SCHEMAS.isdisjoint(body)
    for key, value in body.items():
        if key in _SCHEMAS or key in _MEANT:
            continue
        near, effect = near_word(str(key), _MEANT), "it has no effect"
        if not near and takes_any and key in _OTHER_WORDS and value and isinstance(value, dict | list):
            near, effect = "parameters", "the tool accepts any arguments"
        if near and near not in body:
            path = (*at, key)
            message = f"{str(key)!r} is not a key of a tool, so {effect}"
            yield fault("N023", marks.key(path), path, message, f"Did you mean {near!r}?")


def _keywords(body: Mapping[str, Any], at: Parts, marks: Origins) -> Iterator[Fault]:
    for key in SCHEMAS:
        schema, path = body.get(key), (*at, key)
        if isinstance(schema, dict) and (wrapper := wrapper_of(schema)) is not None:
            schema, path = schema[wrapper], (*path, wrapper)
        # otherwise its keys may be names of parameters
        if isinstance(schema, dict) and (isinstance(schema.get("type"), str) or "properties" in schema):
            yield from lint_words(schema, marks, path, SNAKE)
