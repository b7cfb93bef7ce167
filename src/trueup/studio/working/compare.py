"""The comparison of two runs or sifts, as in `trueup compare`: takes two folders and returns one result."""

import tempfile
from collections.abc import Callable
from typing import Any

import msgspec

from trueup.batch.compare import compare as compare_sides
from trueup.studio.places import named
from trueup.studio.refusal import RequestRefused
from trueup.studio.working.folders import settings_of

Tell = Callable[[Any], None]


class ComparisonSpec(msgspec.Struct, kw_only=True):
    """The specification of a comparison."""

    folders: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    a: str
    b: str
    """The two paths."""
    room: str
    """A folder for data that does not fit into memory; the caller removes it, however this process ends."""
    examples: int
    work: str = ""
    parent: int = 0


def compare(given: dict[str, Any], tell: Tell) -> None:
    """Compare two folders."""
    spec = msgspec.convert(given, ComparisonSpec)
    tempfile.tempdir = spec.room
    try:
        found = compare_sides(spec.a, spec.b, examples=spec.examples)
    except (ValueError, KeyError, TypeError, OSError, ImportError) as error:  # one of them is damaged, or was deleted
        said = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        raise RequestRefused(409, named(settings_of(spec.folders), said)[:2000], code="not_comparable") from None
    tell({"result": found.to_dict()})
