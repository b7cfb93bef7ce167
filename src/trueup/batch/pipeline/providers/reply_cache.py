"""Valid replies that are kept across runs, in a file of the user's choice: an identical request takes its reply from there.

A request of a step enters, with who is asked; the record of an earlier reply leaves, if there is one and the contract still accepts it.
Repetitions of a unit, and further attempts, are requests of their own: they are there to get another reply.
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

_MOST = 10_000_000  # replies in the file; of more, the oldest are deleted
_KEPT = ("raw_response", "usage", "finish", "refusal", "model", "at")


class _Asked(NamedTuple):
    """Who is asked."""

    key: str


class Keeping:
    """The file, and who each step asks: the provider with its address. A step that is not among them keeps nothing."""

    def __init__(self, path: str, asked: Mapping[str, str]) -> None:
        self._file = FileCache(path, most=_MOST)
        self._asked = asked

    def key(self, step: LlmStep, unit: Mapping[str, Any], number: int, request: Request) -> str | None:
        """The key of a request: what decides about its reply. None if it has none."""
        asked = self._asked.get(step.name)
        plain = None if asked is None else key_of(_Asked(asked), request)
        repetition = unit.get("_repetition_id", "")
        return None if plain is None else hashlib.sha256(f"{plain} {repetition} {number}".encode()).hexdigest()

    def find(self, key: str, step: LlmStep, unit: Unit, prompt: str) -> Recorded | None:
        """The record of an earlier reply, marked as such; one that the contract refuses by now is deleted."""
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
        """Keep a reply that was judged valid."""
        if not record.get("cached"):
            self._file.put(key, msgspec.json.encode({name: record[name] for name in _KEPT if name in record}))

    def close(self) -> None:
        self._file.close()


def _decoded(entry: bytes) -> Recorded | None:
    """The record in an entry; None if there is none in it."""
    try:
        record = msgspec.json.decode(entry, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return record if isinstance(record.get("raw_response"), str) else None
