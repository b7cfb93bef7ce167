"""Rates by model over time, and the warning when a model must be asked again too often."""

import itertools
import logging

import pytest

from tests.store.conftest import Hand
from trueup import Contract
from trueup.store.alarm import Alarm
from trueup.store.open import open_store
from trueup.store.stats import recent, warnings
from trueup.store.store import Store

CONTRACT = Contract({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
GOOD, BAD, EMPTY = CONTRACT.check('{"age": 1}'), CONTRACT.check('{"age": "old"}'), CONTRACT.check("")


@pytest.mark.spec("Q14")
def test_failure_rate_and_reasons_are_counted_by_model_over_time(opened: Store, clock: Hand) -> None:
    for hour in range(3):
        for n in range(10):
            failed = n < hour  # 0, 1, 2 of ten
            opened.record_verdict(
                BAD if failed else GOOD, model="m", attempts=3 if failed else 1, outcome="failed" if failed else "",
                cost=5,
            )  # fmt: skip
        opened.record_verdict(EMPTY, model="other")
        clock.go(3600)
    whole = {rate.model: rate for rate in opened.stats()}
    assert (whole["m"].asked, whole["m"].failed, whole["m"].retried) == (30, 3, 3)
    assert whole["m"].failure_rate == whole["m"].retry_rate == pytest.approx(0.1)
    assert whole["m"].mean_attempts == pytest.approx(1.2)
    assert whole["m"].reasons == {BAD.errors[0].code: 3}
    assert whole["m"].outcomes == {"accepted": 27, "failed": 3}
    assert whole["m"].cost == 150
    assert whole["other"].reasons == {EMPTY.errors[0].code: 3}
    hours = [(rate.at, rate.failed) for rate in opened.stats(by="hour", model="m")]
    assert [failed for _, failed in hours] == [0, 1, 2]
    assert [b - a for (a, _), (b, _) in itertools.pairwise(hours)] == [3600, 3600]
    assert opened.stats(model="m", since=clock.micros / 1e6 - 3600)[0].failed == 2
    assert opened.stats(model="nobody") == []
    assert whole["m"].to_dict()["failure_rate"] == 0.1
    with pytest.raises(ValueError, match="by must be hour"):
        opened.stats(by="week")


def test_attempts_before_the_last_count_as_judged_and_not_as_requests(opened: Store) -> None:
    opened.record_verdict(BAD, model="m", request="r", attempt=1, final=False)
    opened.record_verdict(GOOD, model="m", request="r", attempt=2, attempts=2, outcome="repaired")
    rate = opened.stats()[0]
    assert (rate.asked, rate.failed, rate.retried, rate.attempts) == (1, 0, 1, 2)
    assert rate.codes == dict.fromkeys({f.code for f in BAD.errors}, 1)
    assert [s.attempt for s in opened.verdicts(request="r")] == [1, 2]


def test_the_latest_requests_are_counted_by_outcome_and_model(opened: Store, clock: Hand) -> None:
    opened.record_verdict(GOOD, model="old")
    clock.go(7200)
    since = clock.micros / 1e6 - 3600
    opened.record_verdict(BAD, model="m", request="r", attempt=1, final=False, tenant="acme")
    opened.record_verdict(GOOD, model="m", request="r", attempt=2, attempts=2, outcome="repaired", tenant="acme")
    opened.record_verdict(GOOD, model="m\x00😀", tenant="a\x00b")
    opened.record_verdict(
        BAD, model="m", request="s", outcome="refused", tenant="acme"
    )  # its last attempt is under way
    found = opened.read(lambda session: recent(session, since))
    assert (found.requests, found.is_cut) == (2, False)
    assert found.outcomes == (("accepted", 1), ("repaired", 1))
    assert found.models == (("m", 1, 1), ("m\x00😀", 1, 0))
    assert opened.read(lambda session: recent(session, since, "a\x00b")).models == (("m\x00😀", 1, 0),)
    assert opened.read(lambda session: recent(session, since, "nobody")).requests == 0
    assert opened.read(lambda session: recent(session, 0, most=1)).is_cut


@pytest.mark.spec("Q14")
def test_a_retry_rate_over_a_fifth_is_reported_once_and_again_after_it_fell(opened: Store) -> None:
    said: list[str] = []
    opened.alarm.tell, opened.alarm.window = said.append, 40
    for n in range(40):
        opened.record_verdict(GOOD, model="m", attempts=2 if n % 5 == 4 else 1, wait=False)
    opened.flush()
    assert said == [], "exactly a fifth is not over it"
    opened.record_verdict(GOOD, model="m", attempts=2)
    opened.record_verdict(GOOD, model="m", attempts=2)
    assert len(said) == 1
    assert said[0].startswith("model 'm' is asked again for 22% of its last 40 requests")
    assert opened.alarm.raised() == ["m"]
    for attempts in (1,) * 40 + (2,) * 40:
        opened.record_verdict(GOOD, model="m", attempts=attempts, wait=False)
    opened.flush()
    assert len(said) == 2
    few = [rate for rate in opened.stats() if rate.model == "m"]
    assert len(warnings(few)) == 1
    assert warnings(few, least=1000) == []


def test_the_warning_goes_to_the_log_on_one_line(tmp_path: object, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, "trueup.store"),
        open_store(f"{tmp_path}/s.db", alarm=Alarm(least=3)) as store,
    ):
        for _ in range(3):
            store.record_verdict(GOOD, model="m\nforged: all is well", attempts=2)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert "\n" not in lines[0]


def test_model_names_from_clients_cannot_fill_the_memory() -> None:
    from trueup.store.records import Note

    alarm = Alarm()
    alarm.note(Note(str(n), GOOD, model=f"m{n}") for n in range(5000))
    assert len(alarm._last) <= 1000
