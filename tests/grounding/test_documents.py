"""The index of a text is computed once and cached, up to a number of texts and characters."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import pytest

from trueup import Contract
from trueup.grounding import documents
from trueup.grounding.documents import IndexedText, text_of
from trueup.grounding.moments.find import moments
from trueup.grounding.quantities.find import quantities

SCHEMA = {"type": "object"}
REPLY = '{"total": 1234.5, "date": "2024-03-05", "guests": 4, "absent": 77, "place": "Madrid"}'


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that the numbers or the dates of a text are read."""
    seen: list[str] = []

    def counted(name: str, real: Any) -> Any:
        def read(text: str, *more: Any) -> Any:
            seen.append(name)
            return real(text, *more)

        return read

    monkeypatch.setattr(documents, "quantities", counted("quantities", quantities))
    monkeypatch.setattr(documents, "moments", counted("moments", moments))
    monkeypatch.setattr(documents, "_kept", documents._Kept())
    return seen


SOURCE = "On 5 March 2024, four guests from Madrid paid 1,234.50 EUR for 4 rooms."


@pytest.mark.spec("E7")
def test_a_source_of_many_units_is_read_once(readings: list[str]) -> None:
    one, other = Contract(SCHEMA, grounded=True), Contract({"type": ["object", "array"]}, grounded=True)
    for unit in range(20):
        source = "".join(SOURCE)  # an equal string, but another object
        (one if unit % 2 else other).check(REPLY, {"source": source, "input": {"unit_id": str(unit)}})
    assert sorted(readings) == ["moments", "quantities"]


@pytest.mark.spec("E7")
def test_days_do_not_matter_without_relative_dates(readings: list[str]) -> None:
    contract = Contract(SCHEMA, grounded=True)
    for day in range(1, 29):
        contract.check(REPLY, {"source": SOURCE, "today": date(2024, 3, day)})
        contract.check(REPLY, {"source": SOURCE})
    assert sorted(readings) == ["moments", "quantities"]


@pytest.mark.spec("E7")
def test_relative_dates_are_read_once_for_each_of_a_few_days(readings: list[str]) -> None:
    text = IndexedText("See you next Friday.")
    days = [date(2024, 3, 5), None, date(2024, 6, 5)]
    found = [text.moments(day)[0].dates for day in days * 4]
    assert len({str(dates) for dates in found}) == 3
    assert len(readings) == 3
    for day in range(1, 31):
        text.moments(date(2024, 4, day))
    assert len(text._by_day) <= documents._MOST_DAYS


@pytest.mark.spec("E7")
def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MOST_CHARACTERS", 1_000)
    kept = documents._Kept()
    monkeypatch.setattr(documents, "_kept", kept)
    for number in range(documents._MOST_TEXTS * 2):
        text_of(f"{number}")
    assert len(kept._texts) <= documents._MOST_TEXTS
    for number in range(50):
        text_of(f"{number} " * 100)
        assert sum(map(len, kept._texts)) == kept._size <= 1_000
    large = text_of("x" * 1_001)
    assert large.text not in kept._texts
    assert text_of("x" * 1_001) is not large
    assert kept._size <= 1_000


@pytest.mark.spec("E7")
def test_threads_share_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract(SCHEMA, grounded=True)
    sources = [f"{SOURCE} Number {number} of all." for number in range(40)]

    def judge(number: int) -> Any:
        verdict = contract.check(REPLY, {"source": sources[number % len(sources)], "today": "2024-03-05"})
        return verdict.findings, verdict.evidence

    alone = [judge(number) for number in range(len(sources))]
    with ThreadPoolExecutor(8) as pool:
        monkeypatch.setattr(documents, "_kept", documents._Kept())
        together = list(pool.map(judge, range(10 * len(sources))))
    assert together == alone * 10


def test_a_unit_is_named_apart_from_a_number() -> None:
    assert IndexedText("Weight (kg) | 12").names("kg")
    assert not IndexedText("12 kg").names("kg")
    assert IndexedText("Hora: 14.15 h").names("h"), "one of two names is not next to a number"
    assert IndexedText("Price in € | 12").names("EUR")
    assert not IndexedText("12 €").names("EUR")
