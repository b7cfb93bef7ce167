"""Whether a file has the shape of a contract: takes a document and returns the faults of its keys and values.

The schema that is shipped for editors decides whether there are faults. Our own engine, with the same schema, finds out
which, and its findings are reworded for a file.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs
import orjson

from trueup.contract.files.documents import ParsedFile
from trueup.contract.files.faults import Fault, Marks, fault
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse

_WORDS = {"object": "a mapping", "array": "a list", "string": "text", "number": "a number", "integer": "a whole number"}
_WORDS |= {"boolean": "true or false", "null": "nothing"}
_NOT_BOOLEAN = frozenset({"yes", "no", "on", "off", "y", "n"})
_MOST = 50


def shape_faults(document: ParsedFile) -> list[Fault]:
    """The faults of the keys and values of one contract file, according to the shape of contract files."""
    data = document.data
    if isinstance(data, dict) and "extends" in data:
        data = _without_nulls(data)  # there, null removes a part and is not a value
    if _fits(data):
        return []
    from trueup.contract.files.shape import compiled  # it loads every room that may judge a part of a contract

    return [_as_fault(found, data, document.marks) for found in compiled().errors(data, limit=_MOST)]


def _fits(data: Any) -> bool:
    """Whether there are no faults, as in most files; if this is unclear, the document is judged in full."""
    try:
        return _shipped().is_valid(data)
    except (ValueError, TypeError):  # keys that are not text, numbers that JSON does not have
        return False


@cache
def _shipped() -> jsonschema_rs.Validator:
    schema = files("trueup.contract.files") / "contract.schema.json"
    return jsonschema_rs.validator_for(orjson.loads(schema.read_bytes()))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return value


def _as_fault(found: Finding, data: Any, marks: Marks) -> Fault:
    path = parse(found.path)
    similar = found.data.get("similar")
    if found.code == "V003":
        allowed = ", ".join(found.data.get("allowed", [])[:30])
        return _unknown(path, found.data.get("suggestion"), f"The allowed keys are {allowed}.", marks)
    if found.code == "V002" and similar:
        return _unknown((*path[:-1], str(similar)), path[-1], "", marks)
    if found.code == "V002":
        return fault("N006", marks.value(path[:-1]), path, f"{_called(path[:-1])} is missing {path[-1]!r}", "Add it.")
    if found.code == "V001" and "got" in found.data:
        *others, last = (_WORDS.get(kind, kind) for kind in found.data["expected"])
        takes = f"{', '.join(others)} or {last}" if others else last
        message = f"{_called(path)} must be {takes}, not {_WORDS.get(found.data['got'], found.data['got'])}"
        expected, got = found.data["expected"], found.data["got"]
        hint = ""
        if str(_at(data, path)).lower() in _NOT_BOOLEAN and "boolean" in expected:
            hint = "Write true or false; anything else is text."
        elif (
            "string" in expected and not {"object", "array"} & set(expected) and got in ("number", "integer", "boolean")
        ):
            hint = "Put it in quotes."
        elif expected == ["array"] and got == "string":
            hint = "Put it in brackets: [ … ]."
        return fault("N006", marks.value(path), path, message, hint)
    if "gives" in path:
        message = f"{found.data.get('value', 'this')} is not a finding code"
        return fault(
            "N006", marks.value(path), path, message, "Write a code such as V001, or code and path: V001 $.age."
        )
    said = found.message.split(": ", 1)[-1]
    return fault("N006", marks.value(path), path, f"{_called(path)}: {said[:1].lower()}{said[1:]}")


def _unknown(path: Parts, meant: Any, otherwise: str, marks: Marks) -> Fault:
    hint = f"Did you mean {meant!r}?" if meant else otherwise
    return fault("N005", marks.key(path), path, f"unknown key {path[-1]!r}", hint)


def _called(path: Parts) -> str:
    """The name of a position in a sentence.

    >>> _called(("rules", 2)), _called(("accept",)), _called(())
    ("'rules[2]'", "'accept'", 'a contract')
    """
    if not path:
        return "a contract"
    if isinstance(path[-1], int):
        return repr(f"{path[-2]}[{path[-1]}]") if len(path) > 1 else f"item {path[-1]}"
    return repr(path[-1])


def _at(data: Any, path: Parts) -> Any:
    for part in path:
        data = data[part]
    return data
