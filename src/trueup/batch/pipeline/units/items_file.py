"""Reads the file of the items: YAML, JSON, or JSONL with one item a line. Returns the items, or faults with line and column.

Places inside the file are only looked up if there is a fault: files of hundreds of megabytes are read without them.
"""

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import msgspec

from trueup.batch.input.units import given_twice
from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.units.items import ItemsError
from trueup.contract.files.documents import LIMITS, parse_document
from trueup.contract.files.faults import ContractError, Fault, FilePlace, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.verdict.paths import Parts

_MOST = 512 << 20  # bytes
_MOST_FAULTS = 20
_KEEP_ONE = "Keep one of them."
_SOURCE: Parts = ("processing", "items", "source")


def read_items(pipeline: Pipeline) -> Any:
    """The items that the configuration names. A ContractError has every fault of the file."""
    source = pipeline.items_file()
    if not source:
        message = "processing.items.source must name the file of the items"
        raise ContractError([pipeline.fault("N006", _SOURCE[:-1], message)])
    raw = _bytes(pipeline, source)
    name = _name(pipeline)
    kind = Path(source).suffix.lower()
    if kind == ".jsonl":
        return _lines(raw, name)
    if kind == ".json":
        return _document(raw, name)
    try:
        text = raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ContractError([_not_utf8(raw, error, name)]) from None
    document = parse_document(text, name)
    if document.faults:
        raise ContractError(document.faults)
    return document.data


def items_fault(pipeline: Pipeline, error: ItemsError) -> Fault:
    """The fault of items that cannot become units: at the item it is about, else at its place in the configuration."""
    if error.item is None:
        return pipeline.fault("N033", error.path, str(error), error.hint)
    return fault("N033", place_of(pipeline, error.item), _SOURCE, str(error), error.hint)


def place_of(pipeline: Pipeline, item: Parts) -> FilePlace:
    """The place of an item in the file of the items; the file alone if it is too large."""
    name = _name(pipeline)
    kind = Path(name).suffix.lower()
    raw = _bytes(pipeline, pipeline.items_file())
    if kind == ".jsonl":
        lines = [number for number, line in enumerate(raw.splitlines(), 1) if line.strip()]
        index = item[0] if item else 0
        return FilePlace(name, lines[index] if isinstance(index, int) and index < len(lines) else 1)
    if len(raw) > LIMITS.get(kind, LIMITS[".yaml"]):
        return FilePlace(name)
    return parse_document(raw.decode(), name, ".json" if kind == ".json" else ".yaml").marks.value(item)


def _name(pipeline: Pipeline) -> str:
    return (pipeline.file.parent / pipeline.items_file()).as_posix()


def _bytes(pipeline: Pipeline, source: str) -> bytes:
    try:
        with pipeline.inside(source).open("rb") as opened:
            raw = opened.read(_MOST + 1)
    except (OSError, ValueError) as error:
        gone = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if gone else str(error)
        hint = did_you_mean(Path(source).name, _beside(pipeline.folder / source)) if gone else ""
        message = f"the items {source!r} cannot be read: {reason}"
        raise ContractError([pipeline.fault("N033", _SOURCE, message, hint)]) from None
    if len(raw) > _MOST:
        message = f"the items {source!r} have more than {_MOST:,} bytes"
        raise ContractError([pipeline.fault("N003", _SOURCE, message)])
    return raw.removeprefix(BOM_UTF8)


def _beside(file: Path) -> list[str]:
    """The names of files in the folder of a missing file; empty if there is no such folder."""
    try:
        return sorted(each.name for each in file.parent.iterdir() if each.is_file())[:1000]
    except OSError:
        return []


def _lines(raw: bytes, name: str) -> list[Any]:
    """One item a line. A line that is not JSON, or has a key twice, is a separate fault."""
    items: list[Any] = []
    faults: list[Fault] = []
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = msgspec.json.decode(line)
        except (ValueError, RecursionError) as error:
            faults.append(_not_json(line, error, name, number, "the line"))
        else:
            items.append(item)
            twice = given_twice(item, line) if isinstance(item, dict) else ""
            if twice:
                faults.append(fault("N004", FilePlace(name, number), _SOURCE, twice[0].lower() + twice[1:], _KEEP_ONE))
        if len(faults) == _MOST_FAULTS:
            break
    if faults:
        raise ContractError(faults)
    return items


def _document(raw: bytes, name: str) -> Any:
    try:
        data = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise ContractError([_not_json(raw, error, name, 1, "the file")]) from None
    if given_twice(data, raw):
        raise ContractError(_twice(raw.decode(), name))
    return data


def _twice(text: str, name: str) -> list[Fault]:
    """The keys that a file has twice; one fault without a line if the file is too large."""
    if len(text) <= LIMITS[".json"]:
        return parse_document(text, name, ".json").faults[:_MOST_FAULTS]
    return [fault("N004", FilePlace(name), _SOURCE, "an object of the file has a key twice", _KEEP_ONE)]


def _not_json(raw: bytes, error: Exception, name: str, first: int, what: str) -> Fault:
    """The place and the reason if bytes are not JSON; `first` is the number of their first line."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as bad:
        return _not_utf8(raw, bad, name, first)
    try:
        json.loads(text)
    except json.JSONDecodeError as found:
        place = FilePlace(name, first + found.lineno - 1, found.colno)
        return fault("N002", place, _SOURCE, f"{what} is not JSON: {found.msg}")
    except (ValueError, RecursionError):
        pass
    reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
    return fault("N002", FilePlace(name, first), _SOURCE, f"{what} is not JSON: {reason}")


def _not_utf8(raw: bytes, error: UnicodeDecodeError, name: str, first: int = 1) -> Fault:
    line = raw.count(b"\n", 0, error.start) + first
    column = error.start - raw.rfind(b"\n", 0, error.start)
    return fault("N001", FilePlace(name, line, column), _SOURCE, "the file is not UTF-8 here", "Save it as UTF-8.")
