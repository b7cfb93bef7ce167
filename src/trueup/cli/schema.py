"""The `--schema` option: a word from the command line enters, a schema source for a Contract leaves.

It takes a file, `module:Class`, JSON text, `any`, or `none`.
"""

from typing import Any

from trueup.cli.named import Unavailable, python_object, read_json

_HOW = "give a .json file, module:Class, JSON text that starts with '{', 'any' or 'none'"


def read_schema(given: str) -> Any:
    """The source that an option names.

    >>> read_schema("any"), read_schema("none"), read_schema('{"type": "integer"}')
    (True, None, {'type': 'integer'})
    """
    if given in {"any", "none"}:
        return True if given == "any" else None
    found = python_object("--schema", given)
    if found is not None:
        return found
    schema = read_json("--schema", given, "schema", _HOW)
    if not isinstance(schema, dict | bool):
        where = "--schema" if given.lstrip().startswith("[") else given
        raise Unavailable(f"{where}: a JSON Schema is an object, this is {type(schema).__name__}; {_HOW}")
    return schema
