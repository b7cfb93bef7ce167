"""The assistant of the document, written on trueup: a contract file, a policy, and a callback that shows progress.

A reply that does not parse or does not fit is sent back at most twice, at temperature 0; a provider that says "too many requests" is
asked again for as long as the user waits; when nothing helps, the user gets the text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trueup import Contract, Policy
from trueup.ask.answer import Answer
from trueup.verdict.events import Event, Regenerating, Repairing, Waiting

CONTRACT = Contract.load(Path(__file__).parent / "assistant.yaml")
# Two repairs at temperature 0, three retries from 1 s up to 30 s, and the ladder of modes are a policy's defaults.
POLICY = Policy(otherwise="text", deadline=None)
STRICT = Policy(otherwise="failed")  # nothing but a valid reply
OFF = Policy(repairs=0)  # no repair at all


class Progress(msgspec.Struct, frozen=True):
    """The text in the user interface during a wait."""

    attempt: int
    limit: int | None  # None: as long as it takes
    delay: float
    reason: str
    started: float
    is_repair: bool  # else the provider failed


def progress(show: Callable[[Progress], object]) -> Callable[[Event], None]:
    """A subscriber that shows each wait and each repair."""

    def listen(event: Event) -> None:
        if isinstance(event, Waiting):
            show(Progress(event.nth, event.most, event.delay, event.reason, event.started, is_repair=False))
        elif isinstance(event, Repairing | Regenerating):
            show(Progress(event.nth, event.most, 0.0, event.reason, event.started, is_repair=True))

    return listen


def ask(client: Any, messages: Any, policy: Policy = POLICY, **options: Any) -> Answer:
    """One turn of the assistant."""
    return CONTRACT.ask(client, messages, policy, **options)
