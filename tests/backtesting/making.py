"""Shared by the tests of backtests: contracts, replies that flip between them in known ways, and units in files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueup import Contract

OLD = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer", "maximum": 50}, "s": {"enum": ["a", "b"]}},
}
NEW = {
    "type": "object", "required": ["n"],
    "properties": {"n": {"type": "integer", "minimum": 10}, "s": {"enum": ["a", "b"]}, "t": {"type": "number"}},
}  # fmt: skip
# Clean and broken replies by the change of their outcome from OLD to NEW.
REPLIES: dict[str, list[str]] = {
    "same": ['{"n": 20}', '{"n": 20,}', "sorry", '{"n": 20, "s": "x y"}', '```json\n{"n": 30}\n```'],
    "newly_refused": ['{"n": 5}', '{"n": "5"}', '{"n": 5,}'],
    "newly_accepted": ['{"n": 60}', 'Here: {"n": 60}'],
    "value_changed": ['{"n": 20, "t": "7"}', '{"n": 20, "t": "8",}'],
}


def contracts() -> tuple[Contract[Any], Contract[Any]]:
    return Contract(NEW, name="new"), Contract(OLD, name="old")


def write_units(path: Path, replies: Iterable[str | bytes]) -> Path:
    """Units of replies; bytes are unchanged lines."""
    lines = [
        reply if isinstance(reply, bytes) else json.dumps({"unit_id": f"u{n}", "input": {}, "raw_response": reply}).encode()
        for n, reply in enumerate(replies)
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def write_contract(path: Path, schema: Any, **more: Any) -> Path:
    path.write_text(json.dumps({"schema": schema, **more}))
    return path
