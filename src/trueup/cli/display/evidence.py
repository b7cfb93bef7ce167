"""Show the evidence of a verdict: each value that was looked up, its grade, and the matching text of the source.

Takes a verdict and returns styled lines. Values without evidence show the nearest place instead.
"""

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from trueup.cli.terminal.layout import Layout, Line, count, short
from trueup.verdict.display import safe_line
from trueup.verdict.evidence import Evidence, Place
from trueup.verdict.verdict import Verdict

_MOST = 20
_FEW_MORE = 3  # so few rows are shown uncut
_STYLE = {"exact": "green", "normalized": "green", "computed": "green", "fuzzy": "yellow", "none": "red"}
_WIDEST = 30  # cells of a path
_LEAST = 20  # cells for the text of the source


def evidence_lines(verdict: Verdict, view: Layout) -> Iterator[Line]:
    """The section about the evidence. If not all values fit, values without evidence come first."""
    rows = list(verdict.evidence.items())
    if not view.everything and len(rows) > _MOST + _FEW_MORE:
        rows = sorted(rows, key=lambda row: row[1].grade != "none")[:_MOST]
    places = [place for _, one in rows if (place := _best(one)) is not None]
    several = len({place.document for place in places}) > 1
    names = [safe_line(path.removeprefix("$.")) for path, _ in rows]
    first = min(max(map(cell_len, names), default=0), _WIDEST)
    second = max((len(one.grade) for _, one in rows), default=0)
    room = max(view.width - first - second - 6, _LEAST)
    yield [("Evidence", "bold")]
    for name, (_, one) in zip(names, rows, strict=True):
        said = safe_line(_said(one, several=several))
        style = _STYLE.get(one.grade, "dim")
        line: Line = [
            ("  ", ""),
            (set_cell_size(short(name, first), first), ""),
            ("  ", ""),
            (one.grade.ljust(second) if said else one.grade, style),
        ]
        yield [*line, ("  ", ""), (said if view.everything else short(said, room), "")] if said else line
    if len(rows) < len(verdict.evidence):
        yield [(f"… {count(len(verdict.evidence) - len(rows), 'more value')} (--all shows them)", "dim")]


def _best(one: Evidence) -> Place | None:
    return one.places[0] if one.places else one.nearest


def _said(one: Evidence, *, several: bool) -> str:
    """The matching text of the source, with the name of the document if there are several."""
    place = _best(one)
    if place is None:
        return ""
    text = " ".join(place.text.split())
    before = "" if one.places else "nearest: "
    more = f" and {len(one.places) - 1} more" if len(one.places) > 1 else ""
    return f"{before}{text!r}{more}" + (f"  {place.document}" if several else "")
