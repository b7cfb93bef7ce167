"""Tuning a contract file: takes its name and a selection from a store; returns measures of its rules and suggestions
for the file.

Every labelled reply of the selection is judged, and a random sample of the others. Applying makes the suggestions
again, without their backtests, and writes the chosen one if the file has not changed since.
"""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from trueup.material.blocks import cases_in
from trueup.material.case import REASONS, Case
from trueup.material.selection import Selection
from trueup.material.sources import SourceError, SourceName, open_material
from trueup.store.browsing import Filters
from trueup.store.errors import StoreError
from trueup.store.open import open_store
from trueup.studio.contracts.drafts import contract_of
from trueup.studio.contracts.files import open_contract
from trueup.studio.contracts.labelled import cases_of, labelled_ids
from trueup.studio.contracts.saving import Changed, turn
from trueup.studio.places import name_of, named
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings
from trueup.studio.stores import unavailable
from trueup.studio.working.folders import settings_of
from trueup.tuning.applying import CannotApply
from trueup.tuning.applying import apply as write
from trueup.tuning.report import to_dict
from trueup.tuning.tune import Suggestion, Tuning, facts_of
from trueup.tuning.tune import tune as measure

MOST_LABELLED = 20_000
MOST_OTHERS = 10_000  # replies without a label
_SEED = 20
_EVERY = 0.25  # seconds between two reports of progress
_EXCERPT = 300
Tell = Callable[[Any], None]


class TuningSpec(msgspec.Struct, kw_only=True):
    """The specification of a tuning, or of applying suggestions."""

    folders: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    store: str
    file: str
    selection: Selection
    hash: str = ""
    suggestions: tuple[str, ...] = ()
    """The ids of the suggestions to apply."""
    examples: bool = True
    work: str = ""
    parent: int = 0


def tune(given: dict[str, Any], tell: Tell) -> None:
    """Measure a contract, and report progress."""
    run = _Run(msgspec.convert(given, TuningSpec), tell)
    tuning = run.tuned(backtest=True)
    tell({"result": run.result(tuning)})


def apply(given: dict[str, Any], tell: Tell) -> None:
    """Write suggestions into the file."""
    run = _Run(msgspec.convert(given, TuningSpec), tell)
    run.refuse_changed()
    tell({"result": run.applied(run.tuned(backtest=False))})


class _Run:
    """One run over the replies."""

    def __init__(self, spec: TuningSpec, tell: Tell) -> None:
        self._spec = spec
        self._tell = tell
        self._settings: StudioSettings = settings_of(spec.folders, spec.hidden)
        self._opened = open_contract(self._settings, spec.file)
        self._began = time.monotonic()
        self._told = 0.0

    def tuned(self, *, backtest: bool) -> Tuning:
        """The tuning of the current file."""
        contract_of(
            self._settings, self._opened.text, self._spec.file
        )  # reports its faults, and reads no file outside the folders
        try:
            return measure(
                self._opened.path, self._cases(), most=MOST_OTHERS, backtest=backtest, on_progress=self._tried
            )
        except (SourceError, StoreError) as error:
            raise unavailable(error, self._spec.store) from None

    def refuse_changed(self) -> None:
        """Refuse if the file has changed since the suggestions were made."""
        now = open_contract(self._settings, self._spec.file).hash
        if now != self._spec.hash:
            raise Changed(self._spec.file, now)

    def result(self, tuning: Tuning) -> dict[str, Any]:
        """Everything that the page shows."""
        told = {name: value for name, value in to_dict(tuning).items() if name != "contract"}
        return {
            **told, "file": self._spec.file, "hash": self._opened.hash, "name": self._spec.selection.contract or "",
            "seconds": round(time.monotonic() - self._began, 2), "reasons": {str(name): REASONS[name] for name in REASONS if name in told["unjudgeable"]},
            "suggestions": [self._suggestion(each) for each in tuning.suggestions],
        }  # fmt: skip

    def applied(self, tuning: Tuning) -> dict[str, Any]:
        """Write the chosen suggestions; returns what was written."""
        known = {identity(each): each.number for each in tuning.suggestions}
        numbers = [known.get(each, 0) for each in self._spec.suggestions]
        if not all(numbers):
            raise RequestRefused(
                409, "The labels have changed and no longer support this suggestion. Nothing was written.", code="gone",
                hint="Run the tuning again.",
            )  # fmt: skip
        with contextlib.ExitStack() as stack:
            for folder in sorted({file.resolve().parent for file in tuning.file.digests()}):
                stack.enter_context(turn(folder, self._spec.file))
            self.refuse_changed()
            try:
                done = write(tuning, numbers, examples=self._spec.examples)
            except CannotApply as error:
                said = named(self._settings, str(error))
                raise RequestRefused(422, f"{_sentence(said)}.", code="cannot_apply") from None
            except OSError as error:
                raise RequestRefused(507 if error.errno == 28 else 403, f"{self._spec.file} could not be written: {error.strerror}.", code="not_written") from None  # fmt: skip
        return {
            "files": [self._named(file) for file in done.files], "examples": done.examples, "left_out": done.left_out,
            "note": named(self._settings, done.note), "hash": open_contract(self._settings, self._spec.file).hash,
        }  # fmt: skip

    def _named(self, file: Path) -> str:
        return name_of(self._settings, file) or file.name

    def _suggestion(self, suggestion: Suggestion) -> dict[str, Any]:
        told = facts_of(suggestion)
        diff = "\n".join(change._replace(file=Path(self._named(change.file))).diff() for change in suggestion.changes)
        own = [each.new for each in suggestion.changes if each.file == self._opened.path]
        return {
            **told, "id": identity(suggestion), "text": own[0] if len(own) == len(suggestion.changes) == 1 else None, "diff": diff or None, "no_diff": named(self._settings, suggestion.refusal) or None,
            "files": [self._named(change.file) for change in suggestion.changes],
            "examples": [{"id": one.case.id, "text": one.case.text[:_EXCERPT], "should": bool(one.said.should)} for one in suggestion.examples],
        }  # fmt: skip

    def _cases(self) -> Iterator[Case]:
        """The labelled replies of the selection, and a random sample of the others."""
        chosen = self._spec.selection
        filters = Filters(
            **{name: getattr(chosen, name) for name in ("since", "until", "model", "contract", "state", "tenant")}
        )
        read = 0
        with open_store(self._spec.store, create=False) as store:
            for case in cases_of(store, labelled_ids(store, filters, MOST_LABELLED)):
                read += 1
                self._say(f"Reading labelled replies: {read:,}")
                yield case
        others = 0
        with open_material([SourceName(self._spec.store)], chosen) as material:
            blocks = list(material.blocks)
            Random(_SEED).shuffle(blocks)  # noqa: S311 - an order, not a secret
            for case in (case for block in blocks for case in cases_in(block, chosen, {})):
                if not case.labels:
                    others += 1
                    self._say(f"Reading other replies: {others:,}", min(others, MOST_OTHERS), MOST_OTHERS)
                    yield case
                if others == MOST_OTHERS:
                    return

    def _tried(self, done: int, of: int) -> None:
        self._told = 0.0
        self._say(f"Trying out suggestion {done + 1} of {of}", done, of)

    def _say(self, words: str, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self._tell(
                {"progress": {"words": words, "done": done, "total": total, "seconds": round(now - self._began, 1)}}
            )


def _sentence(said: str) -> str:
    """A message as a sentence; a file name at its start stays unchanged."""
    first = said.split(" ", 1)[0]
    return said if "/" in first else f"{said[:1].upper()}{said[1:]}"


def identity(suggestion: Suggestion) -> str:
    """The identity of a suggestion in any run: the change that it makes."""
    proposal = suggestion.proposal
    said = repr((proposal.kind, proposal.at, proposal.title, proposal.edits))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
