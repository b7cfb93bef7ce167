"""A watched contract judges as before; each check is one event, whatever the subscribers do."""

import logging

import msgspec
import pytest

from trueup import Contract
from trueup.verdict.events import Checked, Event
from trueup.watch.observe import observed, publish

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.spec("C13")
def test_each_check_is_one_event() -> None:
    events: list[Event] = []
    contract = Contract(SCHEMA, name="people")
    watched = observed(contract, events.append)
    verdict = watched.check('```json\n{"age": "old"}\n```', {"state": "IDLE"}, regenerations=2)
    (event,) = events
    assert isinstance(event, Checked)
    assert verdict == contract.check('```json\n{"age": "old"}\n```')
    assert (event.contract, event.state, event.ok, event.result, event.regenerations) == ("people", "IDLE", False, "refused", 2)  # fmt: skip
    assert [violation.code for violation in event.violations] == ["V001"]
    assert event.fixes == 2
    assert event.seconds > 0
    assert event.at > 1_600_000_000


@pytest.mark.spec("C13")
def test_the_text_is_cut_at_200_characters() -> None:
    events: list[Event] = []
    observed(Contract(), events.append).check("ñ" * 1000)
    assert isinstance(events[0], Checked)
    assert events[0].text == "ñ" * 199 + "…"


def test_an_event_is_frozen_and_json() -> None:
    event = Checked(state="A")
    with pytest.raises(AttributeError):
        event.state = "B"  # type: ignore[misc]
    assert msgspec.json.decode(msgspec.json.encode(event), type=Checked) == event
    assert event.to_dict()["event"] == "checked"


def test_a_subscriber_that_fails_is_reported_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []

    def fails(event: Event) -> None:
        raise RuntimeError("disk\nfull")

    with caplog.at_level(logging.ERROR, "trueup.watch"):
        verdict = observed(Contract(True), fails, events.append).check("{}")
    assert verdict.ok
    assert len(events) == 1
    assert caplog.messages == ["a subscriber failed: RuntimeError: disk\\nfull"]


def test_publishing_to_nobody_is_fine() -> None:
    publish(Checked(), ())
    assert observed(Contract(True)).check("{}").ok
