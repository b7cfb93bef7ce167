"""The draft of a contract: paths of replies and a selection enter; how many replies were read leaves several times a second, then the draft.

A source that cannot be read, or replies that nothing can be drafted from, are a Refusal.
"""

import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from trueup.inferring.declarations import Mixed
from trueup.inferring.heading import told
from trueup.inferring.infer import NothingToLearn
from trueup.inferring.infer import infer as draft
from trueup.inferring.openapi import BadDescription
from trueup.material.selection import Selection
from trueup.material.sources import SourceError
from trueup.store.errors import StoreError
from trueup.studio.places import named
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings
from trueup.studio.stores import unavailable
from trueup.studio.working.folders import settings_of

_EVERY = 0.25  # seconds between two reports of progress
Tell = Callable[[Any], None]


class InferenceSpec(msgspec.Struct, kw_only=True):
    """The replies to draft from."""

    folders: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Paths of files and folders; empty: the store."""
    store: str = ""
    selection: Selection
    name: str = ""
    strictness: Literal["loose", "standard", "tight"] = "standard"
    expect: Literal["auto", "value", "text"] = "auto"
    reply_column: str = ""
    operation: str = ""
    work: str = ""
    parent: int = 0


def infer(given: dict[str, Any], tell: Tell) -> None:
    """Draft a contract, and report progress."""
    spec = msgspec.convert(given, InferenceSpec)
    settings = settings_of(spec.folders, spec.hidden)
    sources = spec.sources or (spec.store,)
    try:
        drafted = draft(
            *sources, name=spec.name, strictness=spec.strictness, expect=spec.expect, operation=spec.operation,
            selection=spec.selection, reply_column=spec.reply_column, on_case=_Counter(tell),
        )  # fmt: skip
    except StoreError as error:
        raise unavailable(error, sources[0]) from None
    except (NothingToLearn, Mixed, BadDescription, SourceError) as error:
        raise RequestRefused(422, _without_paths(settings, spec, str(error)), code="no_draft") from None
    report = drafted.report.to_dict()
    tell({"result": {"yaml": drafted.yaml, "report": report, "sentences": told(drafted.report)}})


def _without_paths(settings: StudioSettings, spec: InferenceSpec, message: str) -> str:
    """A message that shows neither where the folders are nor the address of the store."""
    text = named(settings, message)
    return text.replace(spec.store, "the store") if spec.store else text


class _Counter:
    """Reports how many replies were read, a few times a second."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told = time.monotonic()

    def __call__(self, number: int) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self._tell({"progress": {"read": number}})
