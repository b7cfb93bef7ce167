"""Reads labels from files of JSON lines, and returns them by the id of their verdict or unit.

A line is `{"verdict": …, "outcome": "right"}` with `author`, `at`, `subject`, `note`, `drawn` and `decided` if known. `unit_id`
or `id` may name the reply, and lines of a store's feedback export are read too. A line that does not name a reply, or has no
label, is an error with its number.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trueup.batch.input.units import read_row
from trueup.material.case import ACCEPTED, REFUSED, RIGHT, WRONG, Label

Index = Mapping[str, tuple[Label, ...]]
_LATEST = 1e15  # seconds; larger numbers are not times


class BadLabels(ValueError):
    """A file of labels cannot be read. The message says where and why."""


def read_labels(files: Iterable[str | Path]) -> dict[str, tuple[Label, ...]]:
    """The labels in files, by id. The last `right` or `wrong` of each author and subject counts."""
    found: dict[str, list[Label]] = {}
    for file in files:
        for label in _labels_in(Path(file)):
            found.setdefault(label.verdict, []).append(label)
    return {name: latest(labels) for name, labels in found.items()}


def latest(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels without those that their author has replaced.

    >>> [
    ...     label.outcome
    ...     for label in latest([Label("1", "right", "ada"), Label("1", "wrong", "ada"), Label("1", "rude")])
    ... ]
    ['wrong', 'rude']
    """
    kept: dict[tuple[str, str, str], Label] = {}
    for label in labels:
        kind = "" if label.outcome in (RIGHT, WRONG) else label.outcome
        kept[label.author, label.subject, kind] = label
    return tuple(kept.values())


def _labels_in(path: Path) -> Iterator[Label]:
    try:
        with path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if line.strip() and not is_torn(line):
                    yield _label(line, f"{path}:{number}")
    except FileNotFoundError:
        raise BadLabels(f"{path}: there is no such file of labels") from None
    except OSError as error:
        raise BadLabels(f"{path}: cannot be read: {error.strerror}") from None


def is_torn(line: bytes) -> bool:
    """Whether a line was cut off by a crash or a full disk: the last line, and not JSON.

    >>> is_torn(b'{"verdict": "1", "outc'), is_torn(b'{"verdict": "1"}'), is_torn(b"not JSON\\n")
    (True, False, False)
    """
    if line.endswith(b"\n"):
        return False
    try:
        read_row(line)
    except (ValueError, RecursionError):
        return line.lstrip().startswith(b"{")
    return False


def _label(line: bytes, place: str) -> Label:
    try:
        row = read_row(line)
    except (ValueError, RecursionError) as error:
        raise BadLabels(f"{place}: the line is not JSON: {str(error)[:100]}") from None
    label = label_of(row) if isinstance(row, dict) else None
    if label is None:
        raise BadLabels(f'{place}: not a label; a line is {{"verdict": "ID", "outcome": "right"}}')
    said = row.get("decided")
    if said not in (None, "", label.decided):
        raise BadLabels(f"{place}: decided must be {ACCEPTED!r} or {REFUSED!r}; got {str(said)[:100]!r}")
    return label


def label_of(row: Mapping[str, Any], verdict: str = "") -> Label | None:
    """The label in a row, about `verdict` if the row names none; None if it has no label.

    >>> label_of({"verdict": "1", "helpful": False}).outcome
    'not_helpful'
    """
    about = next((str(row[name]) for name in ("verdict", "unit_id", "id") if row.get(name)), verdict)
    outcome = row.get("outcome") or row.get("label")
    if not outcome and isinstance(row.get("helpful"), bool):
        outcome = "helpful" if row["helpful"] else "not_helpful"
    if not about or not isinstance(outcome, str) or not outcome:
        return None
    at = row.get("at")
    author, subject, note, drawn = (
        next((str(row[name]) for name in names if row.get(name)), "")
        for names in (("author", "user", "person"), ("subject",), ("note",), ("drawn",))
    )
    is_number = isinstance(at, int | float) and not isinstance(at, bool)
    moment = float(at) if at is not None and is_number and abs(at) <= _LATEST else 0.0
    said = row.get("decided")
    return Label(about, outcome, author, moment, subject, note, drawn, said if said in (ACCEPTED, REFUSED) else "")
