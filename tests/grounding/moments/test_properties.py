"""Any date or time, in each form of each language, is found at its place with its value and not a neighbouring one."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.grounding.languages import SPACED
from trueup.grounding.moments.find import Day, Moment, TimeOfDay, moments
from trueup.grounding.moments.read import read_moment
from trueup.grounding.moments.same import same_date, same_time
from trueup.grounding.moments.words import load

NAMED = {
    "en": ["{month} {day}, {year}", "{day} {month} {year}", "{day}th of {month} {year}", "{month} {day}"],
    "es": ["{day} de {month} de {year}", "{day} {month} {year}", "{day} de {month}"],
    "de": ["{day}. {month} {year}", "{day}. {month}"],
    "fr": ["{day} {month} {year}", "{day} {month}"],
    "it": ["{day} {month} {year}", "{day} {month}"],
    "pt": ["{day} de {month} de {year}", "{day} de {month}"],
    "nl": ["{day} {month} {year}", "{day} {month}"],
}
DIGITS = [
    "{year}-{mm}-{dd}", "{year}/{month}/{day}", "{year}{mm}{dd}", "{dd}.{mm}.{year}", "{dd}/{mm}/{year}", "{day}-{month}-{year}",
    "{year}年{month}月{day}日", "{month}月{day}日", "{year}년 {month}월 {day}일",
]  # fmt: skip
CLOCKS = [
    "{h24}:{mm}", "{h12}:{mm} {ap}", "{h12}.{mm}{ap}", "{h24}.{mm} Uhr", "{h24}h{mm}", "{h24} Uhr {mm}", "{h24}:{mm} uur",
    "{zh}{h12}点{minute}分", "{ja}{h12}時{minute}分", "{h24}時{minute}分", "{ko} {h12}시 {minute}분", "{h12}:{mm} {es}",
]  # fmt: skip
SAYS_PART = {"{ap}", "{zh}", "{ja}", "{ko}", "{es}", "{h24}"}
dates = st.dates(date(1950, 1, 1), date(2060, 12, 31))


def iso(day: date) -> Moment:
    moment = read_moment(day.isoformat())
    assert moment is not None
    return moment


def clock(at: datetime) -> Moment:
    return Moment(0, 1, (), (TimeOfDay(at.hour, at.minute),))


def the_only(text: str, written: str) -> Moment:
    found = moments(text)
    assert [text[moment.start : moment.end] for moment in found] == [written]
    return found[0]


def is_itself(moment: Moment, day: date, *, ambiguous: bool) -> None:
    assert same_date(iso(day), moment)
    others = {day + timedelta(days=1), day - timedelta(days=1)} | {day.replace(day=1, month=day.month % 12 + 1)}
    for other in others:
        swapped = ambiguous and (other.month, other.day) == (day.day, day.month)
        assert swapped or not same_date(iso(other), moment) or (other.month, other.day) == (day.month, day.day)


@pytest.mark.parametrize("language", SPACED)
@given(day=dates, data=st.data())
def test_dates_with_the_name_of_a_month(language: str, day: date, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(NAMED[language]))
    name = data.draw(st.sampled_from(load(language)["months"][day.month - 1].split("|")))
    name = data.draw(st.sampled_from([name.capitalize(), name.upper()]))
    written = form.format(day=day.day, month=name, year=day.year)
    is_itself(the_only(f"({written})", written), day, ambiguous=False)


@given(day=dates, form=st.sampled_from(DIGITS))
def test_dates_in_digits(day: date, form: str) -> None:
    written = form.format(day=day.day, month=day.month, year=day.year, dd=f"{day.day:02}", mm=f"{day.month:02}")
    is_itself(the_only(f"x: {written}, y", written), day, ambiguous=form[:4] in ("{dd}", "{day") or "{dd}/" in form)


@given(day=dates, language=st.sampled_from(SPACED))
def test_weekdays_by_name(day: date, language: str) -> None:
    name = load(language)["weekdays"][day.weekday()].split("|")[0]
    assert the_only(f"({name})", name).dates == (Day(None, None, None, day.weekday()),) or language == "pt"


@given(at=st.datetimes(datetime(2024, 1, 2), datetime(2024, 1, 3)), form=st.sampled_from(CLOCKS))  # noqa: DTZ001
def test_times(at: datetime, form: str) -> None:
    morning = at.hour < 12
    names = {"ap": "am" if morning else "pm", "zh": "上午" if morning else "下午", "ja": "午前" if morning else "午後"}
    names |= {"ko": "오전" if morning else "오후", "es": "a.m." if morning else "p.m."}
    if form.startswith("{zh}") and at.hour >= 19:
        names["zh"] = "晚上"
    h12 = at.hour % 12 or 12
    written = form.format(h24=at.hour, h12=h12, minute=at.minute, mm=f"{at.minute:02}", **names)
    moment = the_only(f"<{written}>" if form[0] != "{" else f"x {written} x", written)
    assert same_time(clock(at), moment)
    for minutes in (1, -1, 60, -60):
        assert not same_time(clock(at + timedelta(minutes=minutes)), moment)
    if "{h12}" in form:
        assert not same_time(clock(at + timedelta(hours=12)), moment)


@given(st.text(alphabet=st.sampled_from("0123456789 ./:-,'年月日時点分半下午周一二三十hmpar tuesdywn")))
def test_any_text_is_read(text: str) -> None:
    end = 0
    for moment in moments(text, date(2024, 3, 5)):
        assert end <= moment.start < moment.end <= len(text)
        assert moment.dates or moment.times or moment.relative
        end = moment.end
    read_moment(text)


@given(st.text())
def test_any_text_at_all(text: str) -> None:
    assert moments(text) == sorted(moments(text))
    read_moment(text)
