"""Kinds of files: decides whether a file in a folder is a contract.

The rules are the same as in `trueup lint`: a folder with a `config.yaml` belongs to a pipeline, a file with `upstreams`
to a gateway. Folders contain other YAML and JSON too; the keys of a file show whether it is a contract. A contract with
a syntax error is still a contract, so its lines decide.
"""

import re
from pathlib import Path
from typing import Any

from trueup.contract.files.documents import KINDS, LIMITS, parse_document
from trueup.contract.files.faults import ContractError
from trueup.contract.options import FILE_KEYS

OPENED = tuple(key for key, option in FILE_KEYS.items() if option.identifies)
"""The keys that make a file a contract: any one of these."""
_LINE = re.compile(rf"""^\s{{0,2}}["'\[]?({"|".join(OPENED)})["']?\s*[:=\]]""", re.MULTILINE)
PIPELINE = "config.yaml"
"""The settings of a pipeline."""


def is_contract_file(path: Path, text: str, top: Path) -> bool:
    """Whether a file below the folder `top` is a contract."""
    return path.suffix.lower() in KINDS and not in_pipeline(path, top) and is_contract(text, path.suffix.lower())


def in_pipeline(path: Path, top: Path) -> bool:
    """Whether a file belongs to a pipeline: its folder, or a parent, has a `config.yaml`."""
    return any((folder / PIPELINE).exists() for folder in path.parents if folder == top or top in folder.parents)


def is_contract(text: str, kind: str) -> bool:
    """Whether a text is a contract, even if it is broken or still empty.

    >>> is_contract("rules: [n > 0]", ".yaml"), is_contract("apiVersion: v1\\nkind: Role\\nrules: []", ".yaml")
    (True, False)
    >>> is_contract("schema: {type: object", ".yaml"), is_contract('{"type": "object"}', ".json")
    (True, False)
    """
    if not text.strip():
        return kind != ".json"
    if len(text) > LIMITS[kind]:
        return False
    if not _LINE.search(text) and kind != ".json":
        return False
    try:
        data = parse_document(text, "", kind).data
    except ContractError:
        return _LINE.search(text) is not None
    return _has_parts(data, kind)


def extended_by(data: Any) -> list[str]:
    """The files that the data of a contract extends, as written there."""
    given = data.get("extends") if isinstance(data, dict) else None
    return [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]


def _has_parts(data: Any, kind: str) -> bool:
    if not isinstance(data, dict) or "upstreams" in data:
        return False
    keys = {key for key in data if isinstance(key, str)}
    known = len(keys & FILE_KEYS.keys())
    if kind == ".json" and known < len(data):  # most JSON is something else
        return False
    return not keys.isdisjoint(OPENED) and known >= len(data) - known
