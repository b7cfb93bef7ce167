"""A string that is a date or a time is read as a moment, and equal moments are recognized."""

import pytest

from trueup.grounding.moments.find import Day, Moment, TimeOfDay, moments
from trueup.grounding.moments.read import read_moment
from trueup.grounding.moments.same import same_date, same_time, weekday_only


def value(text: str) -> Moment:
    moment = read_moment(text)
    assert moment is not None
    return moment


@pytest.mark.parametrize(
    ("text", "day", "time"),
    [
        ("2024-03-05", Day(2024, 3, 5), None),
        (" 2024-03-05 ", Day(2024, 3, 5), None),
        ("2024-03-05T17:45:00Z", Day(2024, 3, 5), TimeOfDay(17, 45, 0)),
        ("2024-03-05T17:45:00.000+01:00", Day(2024, 3, 5), TimeOfDay(17, 45, 0)),
        ("20240305T174500", Day(2024, 3, 5), TimeOfDay(17, 45, 0)),
        ("2024-03-05 17:45", Day(2024, 3, 5), TimeOfDay(17, 45)),
        ("17:45", None, TimeOfDay(17, 45)),
        ("5:45 pm", None, TimeOfDay(17, 45)),
        ("March 5th", Day(None, 3, 5), None),
        ("march 5", Day(None, 3, 5), None),
        ("Friday", Day(None, None, None, 4), None),
        ("2024-03", Day(2024, 3, None), None),
        ("2024", Day(2024, None, None), None),
        ("5. März 2024, 17 Uhr", Day(2024, 3, 5), TimeOfDay(17, 0)),
        ("Tuesday, March 5, 2024 at 5:45 pm", Day(2024, 3, 5, 1), TimeOfDay(17, 45)),
        ("viernes 8 de marzo", Day(None, 3, 8, 4), None),
        ("5.3.", Day(None, 3, 5), None),
        ("3/5", Day(None, 3, 5), None),
        ("the 5th", Day(None, None, 5), None),
        ("2024年3月5日 17:45", Day(2024, 3, 5), TimeOfDay(17, 45)),
        ("2024年3月5日(火)午後5時45分", Day(2024, 3, 5, 1), TimeOfDay(17, 45)),
        ("ma\u0301rz 2024", Day(2024, 3, None), None),
    ],
)
def test_a_whole_string(text: str, day: Day | None, time: TimeOfDay | None) -> None:
    moment = value(text)
    assert (day in moment.dates) if day else not moment.dates
    assert (time in moment.times) if time else not moment.times
    assert text[moment.start : moment.end] == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "5",
        "17",
        "hello",
        "5 apples",
        "March 5 and more",
        "12.50",
        "1.2.3.4",
        "2024-13-45",
        "25:61",
        "may",
        "x" * 200,
    ],
)
def test_other_strings_give_none(text: str) -> None:
    assert read_moment(text) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2024-03-05", "March 5", True),
        ("2024-03-05", "5. März 2024", True),
        ("2024-03-05", "05/03/2024", True),
        ("2024-05-03", "05/03/2024", True),
        ("2024-03-05", "March 6", False),
        ("2024-03-05", "March 5, 2023", False),
        ("2024-03-05", "March 2024", False),
        ("2024-03-05", "2024", False),
        ("2024-03-05", "Tuesday", False),
        ("2024-03-05", "the 5th", False),
        ("2024-03", "March 5, 2024", True),
        ("2024-03", "April 2024", False),
        ("2024", "March 5, 2024", True),
        ("March 5", "2024-03-05", True),
        ("Tuesday", "2024-03-05", True),
        ("Friday", "2024-03-05", False),
        ("2024-03-05", "令和6年3月5日", True),
    ],
)
def test_same_date(one: str, other: str, same: bool) -> None:
    assert same_date(value(one), value(other)) is same


def test_a_bare_day_agrees_loosely() -> None:
    assert same_date(value("2024-03-05"), value("the 5th"), loosely=True)
    assert not same_date(value("2024-03-06"), value("the 5th"), loosely=True)


def test_a_weekday_alone() -> None:
    assert weekday_only(value("2024-03-05"), value("Tuesday"))
    assert weekday_only(value("Tuesday"), value("martes"))
    assert not weekday_only(value("2024-03-06"), value("Tuesday"))
    assert not weekday_only(value("2024-03-05"), value("Tuesday, March 5"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("17:45", "5:45 pm", True),
        ("17:45", "5:45", True),
        ("17:45", "quarter to six", True),
        ("5:45 am", "5:45 pm", False),
        ("17:45", "5:45 am", False),
        ("17:45:00", "17:45", True),
        ("17:45:00", "17:45:30", False),
        ("17:45", "17:46", False),
        ("00:00", "midnight", True),
        ("12:00", "noon", True),
        ("2024-03-05T17:45:00", "下午5点45分", True),
    ],
)
def test_same_time(one: str, other: str, same: bool) -> None:
    assert same_time(value(one), value(other)) is same


def test_a_relative_date_without_today_has_no_date() -> None:
    (tomorrow,) = moments("See you tomorrow.")
    assert tomorrow.relative
    assert not tomorrow.dates
    (friday,) = moments("See you next Friday.")
    assert friday.dates == (Day(None, None, None, 4),)
