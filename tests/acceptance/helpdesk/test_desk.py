"""The whole desk: a real server on the loopback, the application's log, and the criteria of success."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.helpdesk.desk import Desk
from trueup import Policy, execute
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

ASKED = [{"role": "user", "content": "My internet is down."}]
ONCE = Policy(repairs=0, regenerations=0, otherwise="failed")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING, "techtime.llm"):  # Python's own default
        yield caplog


def records(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage().split()[0]) for record in log.records]


def chat(script: list[Any], policy: Policy | None = None, messages: Any = None, **options: Any) -> Any:
    with ScriptedServer(script) as model:
        return asyncio.run(Desk(model.url, **options).chat(messages or ASKED, policy))


def test_a_good_reply_logs_no_warning(log: pytest.LogCaptureFixture) -> None:
    answer = chat([Say(None, (Call("check_adapter_status", {}),))])
    assert answer.outcome == "accepted"
    assert [call.name for call in answer.verdict.calls] == ["check_adapter_status"]
    assert records(log) == []


def test_warnings_are_logged_as_warnings_and_the_reply_is_used(log: pytest.LogCaptureFixture) -> None:
    answer = chat(["I ran check_network_status to diagnose"])
    assert answer.outcome == "accepted"
    assert records(log) == [("WARNING", "checked")]
    assert "check_network_status" in log.records[0].getMessage()


def test_a_sequence_out_of_order_is_logged_as_a_warning(log: pytest.LogCaptureFixture) -> None:
    answer = chat([Say(None, (Call("ping_gateway", {}), Call("check_adapter_status", {})))])
    assert answer.outcome == "accepted"
    assert records(log) == [("WARNING", "checked")]
    assert "T007" in log.records[0].getMessage()


def test_a_refusal_is_logged_as_an_error(log: pytest.LogCaptureFixture) -> None:
    answer = chat([Say(None, (Call("nonexistent_tool", {}),))], ONCE)
    assert not answer.ok
    assert ("ERROR", "checked") in records(log)
    assert all(level == "ERROR" for level, _ in records(log))
    assert "nonexistent_tool" in log.text


def test_a_refused_call_is_sent_back_and_the_model_corrects_it(log: pytest.LogCaptureFixture) -> None:
    script = [Say(None, (Call("check_adaptor_status", {}),)), Say(None, (Call("check_adapter_status", {}),))]
    with ScriptedServer(script) as model:
        answer = asyncio.run(Desk(model.url).chat(ASKED))
        told = json.dumps(model.requests[1].json["messages"])
    assert answer.outcome == "repaired"
    assert "check_adapter_status" in told  # the suggestion reaches the model
    assert [call.name for call in answer.verdict.calls] == ["check_adapter_status"]
    assert ("ERROR", "checked") in records(log)


def test_strict_mode_refuses_replies_that_otherwise_give_warnings(log: pytest.LogCaptureFixture) -> None:
    answer = chat(["I ran check_network_status to diagnose"], ONCE, strict=True)
    assert not answer.ok
    assert ("ERROR", "checked") in records(log)


def test_calls_of_the_conversation_count_for_the_order(log: pytest.LogCaptureFixture) -> None:
    before = [
        *ASKED,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ping_dns", "arguments": '{"server": "a"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "no answer"},
    ]  # fmt: skip
    answer = chat([Say(None, (Call("get_ip_config", {}),))], None, before)
    assert [found.code for found in answer.verdict.warnings] == ["T007"]
    assert records(log) == [("WARNING", "checked")]


def test_only_calls_that_passed_are_run() -> None:
    def check_adapter_status() -> str:
        return "up"

    answer = chat([Say(None, (Call("check_adapter_status", {}), Call("nonexistent_tool", {})))], ONCE)
    execution = execute(answer.verdict, [check_adapter_status])
    assert [done.value for done in execution.done] == ["up"]
    assert len(execution.messages) == 2
    assert "nonexistent_tool" in json.dumps(execution.messages[1])


# -- criteria of success --------------------------------------------------------------------------------

CRITERIA: dict[str, tuple[Any, str]] = {
    "invalid tool names are caught": (Say(None, (Call("nonexistent_tool", {}),)), "T001"),
    "invalid arguments are detected": (Say(None, (Call("ping_dns", {}),)), "V002"),
    "out-of-sequence calls generate warnings": (
        Say(None, (Call("ping_gateway", {}), Call("check_adapter_status", {}))), "T007",
    ),
    "hallucinated tool names in content are flagged": ("Based on get_wifi_signal results, move closer.", "T011"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "code"), CRITERIA.values(), ids=CRITERIA)
def test_criterion(said: Any, code: str) -> None:
    assert code in [found.code for found in chat([said], ONCE).verdict.findings]


@pytest.mark.parametrize("text", ["{'server': 'a'}", '{"server": "a",}', '"server": "a"'])
def test_criterion_json_repair_works_for_common_issues(text: str) -> None:
    answer = chat([Say(None, (Call("ping_dns", text),))], ONCE)
    assert answer.ok
    assert answer.verdict.calls[0].args == {"server": "a"}
