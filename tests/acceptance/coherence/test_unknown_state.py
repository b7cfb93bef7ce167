"""A state that is missing, misspelled or under the wrong key never switches the rules off, wherever replies are judged."""

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.acceptance.coherence.bot import CONTRACT, BookingState
from trueup import Answer, Contract, Policy
from trueup.ask.conversation import Conversation
from trueup.ask.report import Report
from trueup.verdict.events import Event
from trueup.watch.log import log_events
from trueup.watch.observe import observed

FORBIDDEN = "Las estilistas disponibles son: 1. Ana, 2. María"
KNOWN = "IDLE, SERVICE_SELECTION, STYLIST_SELECTION, SLOT_SELECTION, CUSTOMER_DATA, CONFIRMATION and BOOKED"
STATES: dict[str, Any] = {
    "ASKING": {"forbid": [{"terms": ["Ana"], "why": "names a stylist"}], "fallback": "Which service?"},
    "BOOKED": {},
}
STARTED = Contract(states={"start": "ASKING", **STATES}, name="started")
BARE = Contract(states=STATES, name="bare")
# Contexts that a program may pass by mistake, each with its code.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "D006"),
    ({"state": None}, "D006"),
    ({"state": ""}, "D006"),
    ({"State": "SERVICE_SELECTION"}, "D006"),
    ({"fsm_state": "SERVICE_SELECTION"}, "D006"),
    ({"estado": "SERVICE_SELECTION"}, "D006"),
    ({"stage": BookingState.SERVICE_SELECTION}, "D006"),
    ({"fsm": SimpleNamespace(state="SERVICE_SELECTION")}, "D006"),
    ({"data": {"state": "SERVICE_SELECTION"}}, "D006"),
    ({"state": "SERVICE_SELECTON"}, "D004"),
    ({"state": SimpleNamespace(step=3)}, "D004"),
]


@pytest.mark.parametrize(("context", "code"), WRONG)
def test_a_reply_without_a_known_state_is_refused_with_the_known_ones(context: dict[str, Any], code: str) -> None:
    for text in (FORBIDDEN, "¿Qué servicio te gustaría?"):
        verdict = CONTRACT.check(text, context)
        assert not verdict.ok
        assert [found.code for found in verdict.errors] == [code]
        assert KNOWN in verdict.errors[0].message
        assert verdict.errors[0].data["states"] == [state.name for state in BookingState]


def test_a_message_names_the_nearest_state_and_the_key_that_was_found() -> None:
    (misspelled,) = CONTRACT.check("Hola", {"state": "SERVICE_SELECTON"}).errors
    assert misspelled.message.startswith("Unknown state 'SERVICE_SELECTON' (did you mean 'SERVICE_SELECTION'?); this")
    (wrong,) = CONTRACT.check("Hola", {"fsm_state": "SLOT_SELECTION"}).errors
    assert wrong.message.startswith("The context names no state: it has 'fsm_state' instead of 'state'; this")
    assert (wrong.data["key"], wrong.hint) == ("fsm_state", "Rename 'fsm_state' to 'state'.")
    (nested,) = CONTRACT.check("Hola", {"data": {"state": "SLOT_SELECTION"}}).errors
    assert nested.data["key"] == "data.state"


def test_without_a_state_the_declared_start_is_used_and_reported() -> None:
    verdict = STARTED.check("Ana is free.")
    assert [(found.code, found.level) for found in verdict.findings] == [("D001", "error"), ("D007", "warning")]
    fine = STARTED.check("Which service?")
    assert fine.ok
    assert [found.message for found in fine.findings] == [
        "The context names no state; the reply was judged in the start state 'ASKING'"
    ]
    assert STARTED.fallback() == "Which service?"
    # A state that was given wrongly is not the start.
    assert [found.code for found in STARTED.check("Which service?", {"State": "BOOKED"}).findings] == ["D006"]
    assert [found.code for found in STARTED.check("Which service?", {"state": "BOOKD"}).findings] == ["D004"]


def test_rules_for_every_state_need_no_state() -> None:
    contract = Contract(states={"always": {"forbid": [{"terms": ["gratis"]}]}, "claims": {"book": ["he reservado"]}})
    for context in ({}, {"state": "ANYWHERE"}, {"fsm_state": "X"}):
        assert contract.check("Hola", context).findings == ()
        assert [found.code for found in contract.check("Es gratis.", context).findings] == ["D001"]


def test_calls_are_refused_unless_every_state_permits_them() -> None:
    call = {"id": "c1", "function": {"name": "book", "arguments": "{}"}}
    verdict = CONTRACT.check({"role": "assistant", "content": "", "tool_calls": [call]}, {"state": "BOOKD"})
    assert (verdict.calls, [refusal.call.name for refusal in verdict.refused]) == ((), ["book"])


@pytest.mark.parametrize(("context", "code"), WRONG)
def test_a_stream_reports_an_unknown_state_immediately(context: dict[str, Any], code: str) -> None:
    stream = CONTRACT.stream(context=context)
    assert [found.code for found in stream.findings] == [code]
    stream.feed("Hola.")
    assert [found.code for found in stream.finish().errors] == [code]


def test_a_value_is_judged_in_the_same_way() -> None:
    contract = Contract({"type": "object"}, states=STATES)
    assert [found.code for found in contract.check_value({"a": 1}).errors] == ["D006"]
    assert [found.code for found in contract.check_value({"a": 1}, {"state": "BOOKD"}).errors] == ["D004"]
    assert contract.check_value({"a": 1}, {"state": "BOOKED"}).ok


def test_without_a_state_a_stream_is_judged_by_the_start() -> None:
    stream = STARTED.stream()
    stream.feed("Hello. Ana is free. ")
    assert [found.code for found in stream.findings] == ["D001"]


@pytest.mark.parametrize("context", [{}, {"state": "BOOKD"}, {"State": "BOOKED"}])
def test_no_model_is_asked_if_no_reply_could_be_accepted(context: dict[str, Any]) -> None:
    def model(messages: list[Any]) -> str:
        raise AssertionError("the model was asked")

    async def streamed() -> Answer:
        parts = BARE.aask_stream(model, "Hello", context=context)
        assert [part async for part in parts] == []
        return parts.answer

    with BARE.ask_stream(model, "Hello", context=context) as parts:
        assert list(parts) == []
    told: list[Event] = []
    for answer in (
        BARE.ask(model, "Hello", context=context, on_event=told.append),
        asyncio.run(BARE.aask(model, "Hello", context=context)),
        parts.answer,
        asyncio.run(streamed()),
    ):
        assert (answer.outcome, answer.reason, answer.text, answer.attempts) == ("failed", "context", "", ())
        assert {found.code for found in answer.findings.errors} <= {"D004", "D006"}
        assert answer.findings
        assert answer.next_messages == [{"role": "user", "content": "Hello"}]
    judged, finished = told
    assert (judged.event, judged.codes) == ("judged", tuple(found.code for found in answer.findings))  # type: ignore[attr-defined]
    assert (finished.event, finished.outcome, finished.attempt) == ("finished", "failed", 0)  # type: ignore[attr-defined]
    report = Report()
    for event in told:
        report(event)
    (row,) = report.rows.values()
    assert (row.asks, row.parsed, row.valid) == (1, 0, 0)


def test_a_turn_of_a_conversation_without_a_state_leaves_no_trace() -> None:
    talk = Conversation(BARE, lambda messages: "Which service?")
    assert talk.ask("Hello").outcome == "failed"
    assert talk.messages == []
    talk.state = "ASKING"
    assert talk.ask("Hello").text == "Which service?"


def test_asking_falls_back_on_a_text_for_an_unknown_state() -> None:
    answer = BARE.ask(lambda messages: "Ana is free.", "Hello", Policy(fallback="How can I help?"))
    assert (answer.outcome, answer.reason, answer.text) == ("fallback", "context", "How can I help?")
    assert [(found.code, found.level) for found in answer.verdict.findings] == [("D006", "warning")]
    assert CONTRACT.ask(lambda messages: FORBIDDEN, "Hola").text == "¿En qué puedo ayudarte con tu cita?"


def test_an_unknown_state_is_logged_as_a_warning_or_error(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("salon.unknown")
    with caplog.at_level(logging.WARNING, log.name):
        observed(CONTRACT, log_events(log)).check("Hola", {"state": "SERVICE_SELECTON"})
        observed(STARTED, log_events(log)).check("Which service?")
    assert [record.levelno >= logging.WARNING for record in caplog.records] == [True, True]
    first, second = (record.__dict__["trueup"] for record in caplog.records)
    assert (first["ok"], first["state"]) == (False, "SERVICE_SELECTON")
    assert "D004" in first["violations"]
    assert (second["ok"], second["state"]) == (True, "ASKING")
    assert "D007" in second["warnings"]


def test_a_batch_takes_the_state_from_the_units_own_field(tmp_path: Path) -> None:
    units = [
        {"unit_id": "known", "input": {"state": "ASKING"}, "raw_response": "Which service?"},
        {"unit_id": "broken", "input": {"state": "ASKING"}, "raw_response": "Ana is free."},
        {"unit_id": "misspelled", "input": {"state": "ASKNG"}, "raw_response": "Which service?"},
        {"unit_id": "missing", "input": {}, "raw_response": "Which service?"},
    ]
    (tmp_path / "units.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units))
    (tmp_path / "contract.json").write_text(json.dumps({"states": STATES}))
    command = [sys.executable, "-m", "trueup", "sift", "units.jsonl", "-c", "contract.json", "-o", "out", "-w", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    kept = [json.loads(line) for line in (tmp_path / "out" / "validated.jsonl").read_text("utf-8").splitlines()]
    lost = [json.loads(line) for line in (tmp_path / "out" / "failures.jsonl").read_text("utf-8").splitlines()]
    assert [unit["unit_id"] for unit in kept] == ["known"]
    codes = {unit["unit_id"]: [error["code"] for error in unit["errors"]] for unit in lost}
    assert codes == {"broken": ["D001"], "misspelled": ["D004"], "missing": ["D006"]}
