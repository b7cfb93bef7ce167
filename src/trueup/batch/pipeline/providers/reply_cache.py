"""Keeps valid replies across runs in a file that the user chooses, and returns them for identical requests.

Takes a request of a step, with its provider and model, and returns the record of an earlier reply if there is one and the
contract still accepts it. Repetitions of a unit and further attempts count as different requests, since their purpose is another
reply.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from trueup.ask.cache import FileCache
from trueup.ask.clients.request import Request
from trueup.ask.requests.replay import key_of
from trueup.batch.pipeline.running.outcomes import Unit
from trueup.batch.pipeline.steps.llm import LlmStep, Recorded

_MOST = 10_000_000  # replies in the file; beyond this, the oldest are deleted
_KEPT = ("raw_response", "usage", "finish", "refusal", "model", "at")


class _Asked(NamedTuple):
    """The provider and the model."""

    key: str


class ReplyCache:
    """The file, and the provider of each step with its address. Steps that are not listed are not cached."""

    def __init__(self, path: str, asked: Mapping[str, str]) -> None:
        self._file = FileCache(path, most=_MOST)
        self._asked = asked

    def key(self, step: LlmStep, unit: Mapping[str, Any], number: int, request: Request) -> str | None:
        """The cache key of a request: everything that decides its reply. None if it cannot have one."""
        asked = self._asked.get(step.name)
        plain = None if asked is None else key_of(_Asked(asked), request)
        repetition = unit.get("_repetition_id", "")
        return None if plain is None else hashlib.sha256(f"{plain} {repetition} {number}".encode()).hexdigest()

    def find(self, key: str, step: LlmStep, unit: Unit, prompt: str) -> Recorded | None:
        """The record of an earlier reply, marked as cached. A reply that the contract now refuses is deleted."""
        entry = self._file.get(key)
        if entry is None:
            return None
        record = _decoded(entry)
        if record is None or not step.judge(record, unit, prompt).ok:
            self._file.drop(key)
            return None
        saved = record.pop("usage", {})
        return {**record, "cached": True, "saved": saved}

    def put(self, key: str, record: Recorded) -> None:
        """Keep a reply that was valid."""
        if not record.get("cached"):
            self._file.put(key, msgspec.json.encode({name: record[name] for name in _KEPT if name in record}))

    def close(self) -> None:
        self._file.close()


def _decoded(entry: bytes) -> Recorded | None:
    """The record in an entry; None if it has none."""
    try:
        record = msgspec.json.decode(entry, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return record if isinstance(record.get("raw_response"), str) else None
