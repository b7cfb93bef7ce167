"""Writes pairs into a fine-tuning file, or two with some pairs held out, and counts the units without a line by reason.

Both files are put in place when everything is written; until then, earlier files stay.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from trueup.batch.disk.placing import placed
from trueup.batch.exporting.pairs import (
    FORMATS,
    PREFERENCES,
    Format,
    NotWritable,
    Skipped,
    TrainingPair,
    is_held_out,
    line_for,
)

SHARE = 0.1


class Exported(NamedTuple):
    """How many lines each file has, and how many units have none, by reason."""

    written: int
    held_out: int
    skipped: dict[str, int]


class ExportOptions(NamedTuple):
    """How pairs are exported."""

    form: str = "openai"
    preference: bool = False
    system: str = ""
    share: float = SHARE

    @property
    def shape(self) -> Format:
        """Makes the line of a pair."""
        return (PREFERENCES if self.preference else FORMATS)[self.form]


def export_pairs(
    pairs: Iterable[TrainingPair | Skipped], wish: ExportOptions, out: Path, held_out: Path | None = None
) -> Exported:
    """Write pairs into `out`, and a share of them into `held_out`."""
    counts = [0, 0]
    skipped: Counter[str] = Counter()
    with placed(*(path for path in (out, held_out) if path is not None)) as files:
        for found in pairs:
            line = _line(found, wish)
            if isinstance(line, str):
                skipped[line] += 1
                continue
            side = 1 if held_out is not None and is_held_out(found.unit_id, wish.share) else 0
            files[side].write(line)
            counts[side] += 1
    return Exported(counts[0], counts[1], dict(skipped.most_common()))


def _line(found: TrainingPair | Skipped, wish: ExportOptions) -> bytes | str:
    """The line of a pair, or the reason why there is none."""
    if isinstance(found, Skipped):
        return found.reason
    if wish.preference and found.refused is None:
        return "no reply to its prompt was refused"
    try:
        return line_for(found, wish.shape, wish.system)
    except NotWritable as error:
        return str(error)
