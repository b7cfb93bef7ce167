"""A watched contract judges as before; each check is one event, whatever the subscribers do."""

import asyncio
import logging
from collections.abc import Iterator

import msgspec
import pytest

from trueup import Contract
from trueup.verdict.events import Checked, Event
from trueup.watch.log import log_events
from trueup.watch.observe import Observed, observed, publish

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
def test_the_text_is_shortened_to_200_characters() -> None:
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


def test_a_subscriber_that_fails_is_reported_and_the_others_still_get_the_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
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


SALON = {
    "SLOT_SELECTION": {
        "forbid": [{"terms": ["confirmada"], "why": "confirma"}],
        "fallback": "¿Qué hora prefieres?",
        "hint": "No confirmes.",
    }
}


@pytest.mark.spec("C13", "C10")
def test_each_check_of_an_ask_is_logged_with_its_regenerations(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    also: list[Event] = []
    watched = observed(Contract(states=SALON, name="salon"), events.append, log_events())
    replies = ["Tu cita está confirmada.", "Queda confirmada."]
    with caplog.at_level(logging.INFO, "trueup"):
        answer = watched.ask(
            lambda messages: replies.pop(0), "hola", context={"state": "SLOT_SELECTION"}, on_event=also.append
        )
    checks = [event for event in events if isinstance(event, Checked)]
    assert [(c.state, c.ok, c.regenerations) for c in checks[:2]] == [
        ("SLOT_SELECTION", False, 0),
        ("SLOT_SELECTION", False, 1),
    ]
    assert answer.outcome == "fallback"
    assert [type(e) for e in events if not isinstance(e, Checked)] == [type(e) for e in also]
    logged = [(record.levelname, record.getMessage().split()[0]) for record in caplog.records]
    assert logged.count(("ERROR", "checked")) == 2
    assert ("WARNING", "fell_back") in logged
    assert watched.ask(lambda messages: "¿A las 10?", "hola", context={"state": "SLOT_SELECTION"}).outcome == "accepted"
    assert [event for event in events if isinstance(event, Checked)][-1].regenerations == 0


async def _ask(watched: Observed) -> str:
    async def reply(messages: object) -> str:
        return "¿A las 10?"

    return str((await watched.aask(reply, "hola", context={"state": "SLOT_SELECTION"})).outcome)


def test_asking_asynchronously_is_observed_too() -> None:
    events: list[Event] = []
    assert asyncio.run(_ask(observed(Contract(states=SALON), events.append))) == "accepted"
    assert {event.event for event in events} >= {"sent", "checked", "finished"}


def test_everything_else_is_passed_to_the_contract() -> None:
    watched = observed(Contract(states=SALON, name="salon"))
    assert watched.fallback({"state": "SLOT_SELECTION"}) == "¿Qué hora prefieres?"
    assert watched.name == "salon"
    with pytest.raises(AttributeError):
        _ = watched.nothing


@pytest.mark.spec("C13", "A10")
def test_a_stream_is_observed_once_for_each_whole_reply() -> None:
    here = {"state": "SLOT_SELECTION"}
    replies = ["Hola. Tu cita está confirmada. Adiós.", "Tengo dos horas. ¿A las 10? ¿O a las 11?"]
    events: list[Event] = []
    watched = observed(Contract(states=SALON, name="salon"), events.append)

    def pieces(messages: object) -> Iterator[str]:
        yield from replies.pop(0).partition(" ")

    asked = watched.ask_stream(pieces, "hola", context=here)
    shown = [part.text for part in asked]
    assert (asked.answer.outcome, "confirmada" in "".join(shown)) == ("regenerated", False)
    names = [event.event for event in events]
    assert (names.count("checked"), names.count("sent"), names.count("aborted"), names[-1]) == (1, 2, 1, "finished")
    (check,) = (event for event in events if isinstance(event, Checked))
    assert (check.ok, check.state, check.regenerations) == (True, "SLOT_SELECTION", 1)

    async def read() -> str:
        one = watched.aask_stream(pieces, "hola", context=here)
        async for _ in one:
            pass
        return one.answer.outcome

    events.clear()
    replies.append("¿A las 10?")
    assert asyncio.run(read()) == "accepted"
    assert [event.event for event in events].count("checked") == 1


@pytest.mark.spec("C13")
def test_the_verdicts_of_a_stream_and_of_a_value_are_reported() -> None:
    events: list[Event] = []
    watched = observed(Contract(SCHEMA, name="people"), events.append)
    stream = watched.stream()
    stream.feed('{"age": ')
    stream.feed("36}")
    assert (stream.finish().data, [event.event for event in events]) == ({"age": 36}, ["checked"])
    assert not watched.check_value({"age": "old"}, {"state": "IDLE"}).ok
    last = events[-1]
    assert isinstance(last, Checked)
    assert (len(events), last.ok, last.state) == (2, False, "IDLE")


def test_the_old_form_of_stream_warns_at_its_call() -> None:
    contract = observed(Contract(True))
    with pytest.warns(DeprecationWarning, match=r"use stream\(context=…\)") as seen:
        contract.stream({"state": "IDLE"})
    assert [warning.filename for warning in seen] == [__file__]
