"""Tables of texts with their moments, in order, one file per language. All texts are read on Tuesday, 2024-03-05.

`2024-03-05`, `03-05`, `2024-03`, `2024`, `Tue`, or a number for a lone month or day: a date that the moment can mean.
`17:45`: a time that it can mean; `=5:45,17:45`: exactly these times; `+1`: a relative date, in this many days.
"""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from trueup.grounding.moments.find import Day, Moment, moments

TODAY = date(2024, 3, 5)
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
CASES = [
    pytest.param(text, expected, id=f"{path.stem}: {text}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for text, expected in json.loads(path.read_text("utf-8")).items()
]


def spelled(day: Day) -> str:
    if day[:3] == (None, None, None):
        return WEEKDAYS[day.weekday or 0]
    parts = (
        f"{day.year:04}" if day.year else "",
        f"{day.month:02}" if day.month else "",
        f"{day.day:02}" if day.day else "",
    )
    whole = "-".join(part for part in parts if part)
    return whole.lstrip("0") if len(whole) == 2 else whole


def holds(moment: Moment, expected: str) -> bool:
    if " " in expected:
        return all(holds(moment, part) for part in expected.split())
    times = [f"{time.hour}:{time.minute:02}" for time in moment.times]
    if expected.startswith("="):
        return sorted(times) == sorted(expected[1:].split(","))
    if ":" in expected:
        return expected in times
    if expected.startswith("+"):
        away = TODAY + timedelta(days=int(expected[1:]))
        return moment.relative and Day(away.year, away.month, away.day) in moment.dates
    return expected in [spelled(day) for day in moment.dates]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_the_moments_of_a_text(text: str, expected: list[str]) -> None:
    found = moments(text, TODAY)
    assert len(found) == len(expected), found
    assert all(map(holds, found, expected)), found
    assert all(0 <= moment.start < moment.end <= len(text) for moment in found)
    assert [moment.start for moment in found] == sorted(moment.start for moment in found)


def test_enough_cases_of_each_language() -> None:
    for language in ("en", "es", "de", "zh", "ja"):
        assert sum(case.id is not None and case.id.startswith(language) for case in CASES) >= 40
