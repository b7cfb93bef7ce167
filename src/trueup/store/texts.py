"""Store the text of each contract once, by its fingerprint.

A text is written by the store's writer, once a day in each process, so that judging never waits for it.
"""

from collections.abc import Sequence
from typing import Any

from trueup.contract.text import text_of
from trueup.store.cells import pack, to_bytes
from trueup.store.errors import MICROS
from trueup.store.records import Note
from trueup.store.redaction import Redaction
from trueup.store.session import Session

_DAY = 86_400 * MICROS
_MOST_KNOWN = 10_000


class StoredTexts:
    """The texts of contracts that one process has stored."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}  # fingerprints, and the day on which their text was last stored
        self._fresh: dict[str, int] = {}  # the same, not yet committed

    def insert(self, session: Session, notes: Sequence[Note], redaction: Redaction) -> None:
        """Store the texts that are not in the store yet."""
        self._fresh = {}
        met = {note.fingerprint: note for note in notes if note.rules is not None}
        if not met:
            return
        now = session.now()
        rows: list[tuple[Any, ...]] = []
        for mark, note in met.items():
            if mark and self._known.get(mark) != now // _DAY:
                self._fresh[mark] = now // _DAY
                text = text_of(note.rules, Redaction(words=redaction.words).clean)
                rows.append((pack(mark), pack(note.contract), now, to_bytes(text)))
        session.insert("contracts", sorted(rows), "ON CONFLICT (fingerprint) DO NOTHING")

    def forget(self) -> None:
        """Texts may have been deleted: check again before the next verdict."""
        self._known = {}

    def written(self, notes: Sequence[Note]) -> None:  # noqa: ARG002 - what was inserted last is what was written
        """Remember what has been committed."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(self._fresh)
        self._fresh = {}
