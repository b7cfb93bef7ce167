"""A JSON Schema where a contract is expected: it is put below `schema`, and its faults are reported at their places in
the text.
"""

from pathlib import Path

import msgspec

from trueup.contract.files.documents import Barred, SourceFile, parse_document
from trueup.contract.files.faults import ContractError, Fault
from trueup.contract.lint.run import Linted, lint_contract

_CORE = frozenset(
    {"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items", "$defs", "required"}
)
_BOTH = frozenset({"$schema", "description", "examples"})  # both keys of contracts and keywords of JSON Schema
_OTHERS = frozenset({"title", "$id", "$comment", "default", "definitions", "additionalProperties", "patternProperties", "not", "if", "then", "else"})  # fmt: skip
_USED = "This is a JSON Schema; it is used as the schema of a contract."
_UNUSED = "This is a JSON Schema, not a contract."
_HINT = "Put it below the key `schema` to save it as a contract, and to add rules, tools or states."


def is_schema(text: str, kind: str) -> bool:
    """Whether a text is a JSON Schema and not a contract.

    >>> (
    ...     is_schema("type: object", ".yaml"),
    ...     is_schema("type: object\\nrules: []", ".yaml"),
    ...     is_schema("schema: true", ".yaml"),
    ... )
    (True, False, False)
    """
    try:
        data = parse_document(text, "", kind).data
    except ContractError:
        return False
    return isinstance(data, dict) and not _CORE.isdisjoint(data) and data.keys() <= _CORE | _BOTH | _OTHERS


def lint_schema(text: str, path: Path, name: str) -> Linted:
    """The contract for such a schema, and its faults."""
    kind = path.suffix.lower()
    wrapped, lines, columns = _wrapped(text, kind)

    def find(asked: Path) -> SourceFile:
        if asked != path:
            raise Barred(_HINT)
        return SourceFile(path, name, wrapped)

    linted = Linted(None, ()) if kind == ".toml" else lint_contract(path, find=find)
    faults = [_moved(one, lines, columns) for one in linted.faults]
    said = Fault("N005", name, 1, 1, "$", _UNUSED if linted.contract is None else _USED, _HINT)
    level = "error" if linted.contract is None and not faults else "warning"
    return linted._replace(faults=(msgspec.structs.replace(said, level=level), *faults))


def _wrapped(text: str, kind: str) -> tuple[str, int, int]:
    """The text of the contract, and by how many lines and columns the schema was moved.

    For JSON, columns are moved only in the first line.
    """
    if kind == ".json":
        head = '{"schema": '
        return f"{head}{text}}}", 0, len(head)
    return "schema:\n" + "".join(f"  {line}\n" for line in text.split("\n")), 1, 2


def _moved(one: Fault, lines: int, columns: int) -> Fault:
    column = one.column - columns if lines or one.line == 1 else one.column
    path = f"${one.path.removeprefix('$.schema').removeprefix('$')}"
    return msgspec.structs.replace(one, line=max(1, one.line - lines), column=max(1, column), path=path)
