"""Misspelled keys of tools: takes the tools of a contract and returns each key that has no effect but was meant to have one.

A definition may have any key of its provider. So an unknown key is a fault only if it is spelled almost like a known
one, or if it seems to describe the arguments of a tool that has no `parameters`, and so accepts any arguments.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.words import near_word, strange_words
from trueup.read.definitions import MAPS, SCHEMAS, bodies
from trueup.read.parameters import SNAKE
from trueup.verdict.paths import Parts

_MISSPELT = ("description", "parameters", "input_schema", "inputSchema")
_KNOWN = frozenset({*_MISSPELT, *SCHEMAS, *MAPS})
_FOR_ARGUMENTS = ("arguments", "params", "param", "schema", "input", "properties")


def lint_tool_keys(item: Any, at: Parts, marks: Origins) -> Iterator[Fault]:
    """The faults in the keys of a definition at a path, and in the keywords of its schemas."""
    for path, body in bodies(item, path=at):
        if isinstance(body, Mapping):
            yield from _keys(body, path, marks)
            yield from _keywords(body, path, marks)


def _keys(body: Mapping[str, Any], at: Parts, marks: Origins) -> Iterator[Fault]:
    takes_any = not any(key in body for key in _KNOWN - {"description"})
    for key, value in body.items():
        word = str(key)
        near = "" if word in _KNOWN else near_word(word, _MISSPELT)
        effect = "has no effect"
        if not near and takes_any and value and isinstance(value, dict | list) and word in _FOR_ARGUMENTS:
            near, effect = "parameters", "does not describe its arguments, so any are accepted"
        if near and near not in body:
            path = (*at, key)
            message = f"{word!r} is not a key of a tool and {effect}"
            yield fault("N023", marks.key(path), path, message, f"Did you mean {near!r}?")


def _keywords(body: Mapping[str, Any], at: Parts, marks: Origins) -> Iterator[Fault]:
    for key in SCHEMAS:
        path: Parts = (*at, key)
        schema = body.get(key)
        for wrapper in ("json", "jsonSchema"):
            if isinstance(schema, dict) and isinstance(schema.get(wrapper), dict):
                schema, path = schema[wrapper], (*path, wrapper)
        # otherwise its keys may be names of parameters
        if isinstance(schema, dict) and (isinstance(schema.get("type"), str) or "properties" in schema):
            for inner, near in strange_words(schema):
                if inner and inner[-1] not in SNAKE:
                    whole = (*path, *inner)
                    message = f"{inner[-1]!r} is not a JSON Schema keyword, so it has no effect"
                    yield fault("N023", marks.key(whole), whole, message, f"Did you mean {near!r}?")
