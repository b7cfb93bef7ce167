"""The repair loop: the messages to the model, their number, and the user's view of it; against a real server on loopback."""

import json
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.acceptance.self_repair.assistant import CONTRACT, OFF, POLICY, STRICT, Progress, ask, progress
from trueup import Contract, Policy
from trueup.ask.answer import Answer
from trueup.testing.script import Call, Fail, Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import Event, Finished, SteppedDown
from trueup.watch.log import log_events

GOOD = '{"content": "Hello", "needsMoreWork": false}'
FAULTY = '{"toolCalls": [{"name": "speak"}]}'  # no arguments
PROSE = "I would rather tell you in my own words."
QUICK = replace(POLICY, models=("m",), backoff=0.001, backoff_cap=0.002)


def ask_once(script: Sequence[Any], policy: Policy = QUICK, **options: Any) -> tuple[Answer, list[dict[str, Any]]]:
    """The result of a turn, and the provider's requests."""
    then = options.pop("then", None)
    reject = options.pop("reject", ())
    with ScriptedServer(script, then=then, reject=reject) as server:
        answer = ask(server.url, [{"role": "user", "content": "Say hello."}], policy, **options)
        return answer, [exchange.request.fields for exchange in server.exchanges]


def prompt(request: dict[str, Any]) -> str:
    last: str = request["messages"][-1]["content"]
    return last


# -- the prompt ------------------------------------------------------------------------------


@pytest.mark.spec("A6")
def test_the_prompt_has_the_errors_the_reply_the_form_and_the_attempt() -> None:
    answer, requests = ask_once([FAULTY, GOOD])
    assert answer.outcome == "repaired"
    text = prompt(requests[1])
    assert '[V002 $.toolCalls[0].arguments] Field "toolCalls.0.arguments": Required field is missing' in text
    assert FAULTY in text
    assert '{"toolCalls": [{"name": "<text>", "arguments": {…}}, …]' in text
    assert '"content": "<text>"' in text
    assert '- speak {"text": "<text>"}' in text
    assert "correction 1 of 2" in text
    assert "//" not in text  # Different: the document shows a form with comments, and forbids comments below it
    for rule in ("double quotes", "leave out comments", "nothing before or after it"):
        assert rule in text


@pytest.mark.spec("A6")
def test_a_reply_that_does_not_parse_is_quoted_with_what_is_wrong() -> None:
    broken = '{"bad": json}'
    _, requests = ask_once([broken, GOOD])
    assert broken in prompt(requests[1])
    assert "[V008 $]" in prompt(requests[1])


@pytest.mark.spec("A6")
def test_the_reply_is_quoted_up_to_2000_characters() -> None:
    long = '{"toolCalls": [{"name": "speak"}], "content": "' + "x" * 5000 + '"}'
    _, requests = ask_once([long, GOOD])
    text = prompt(requests[1])
    assert long[:2000] in text
    assert long[:2001] not in text
    assert f"[cut here: {len(long) - 2000:,} more characters]" in text
    _, requests = ask_once([long, GOOD], replace(QUICK, quote=100))
    assert long[:101] not in prompt(requests[1])


@pytest.mark.spec("A6")
@pytest.mark.parametrize(("length", "cut"), [(1999, False), (2000, False), (2001, True)])
def test_2000_characters_are_quoted_whole(length: int, cut: bool) -> None:
    reply = "a" * length
    _, requests = ask_once([reply, GOOD])
    assert reply[:2000] in prompt(requests[1])
    assert ("1 more characters" in prompt(requests[1])) == cut
    assert ("a" * 2001 in prompt(requests[1])) == (not cut and length > 2000)


@pytest.mark.spec("A6")
def test_each_error_has_a_line_and_the_attempt_its_number() -> None:
    two = '{"toolCalls": [{"name": {"a": 1}}]}'
    _, requests = ask_once([two, '{"toolCalls": [{"name": "speak"}]}', GOOD], replace(QUICK, repairs=5))
    told = [line for line in prompt(requests[1]).splitlines() if line.startswith("- [V")]
    assert [line.split("]")[0] for line in told] == ["- [V002 $.toolCalls[0", "- [V001 $.toolCalls[0"]
    assert "correction 1 of 5" in prompt(requests[1])  # the number that is configured
    assert "correction 2 of 5" in prompt(requests[2])


HINTS = {
    "the XML wrapper": ("<function_calls>{}</function_calls>", "Do not wrap the reply in tags."),
    "a code block": ("```json\n{}\n```", "Do not put the reply into a Markdown code fence."),
    "names without quotes": ('{{toolCalls: [{{"name": "speak"}}]}}', "Put every name in double quotes."),
    "a trailing comma": ('{{"toolCalls": [{{"name": "speak"}},]}}', "No comma after the last member"),
    "single quotes": ("{{'toolCalls': [{{'name': 'speak'}}]}}", "Use double quotes"),
    "a raw line break": ('{{"toolCalls": [{{"name": "speak"}}], "content": "a\nb"}}', "Write a line break inside a text as \\n."),
}  # fmt: skip


@pytest.mark.spec("A5")
@pytest.mark.parametrize(("form", "hint"), HINTS.values(), ids=HINTS.keys())
def test_each_defect_that_was_seen_gets_a_hint_and_no_other(form: str, hint: str) -> None:
    _, requests = ask_once([form.format(FAULTY), GOOD])
    text = prompt(requests[1])
    assert hint in text
    others = {other for _, other in HINTS.values()} - {hint}
    assert not [other for other in others if other in text]


@pytest.mark.spec("A5")
def test_each_of_several_defects_gets_a_hint() -> None:
    _, requests = ask_once(["<FUNCTION_CALLS>```json\n{'toolCalls': [{name: 'speak',}]}\n```</FUNCTION_CALLS>", GOOD])
    for defect in ("the XML wrapper", "a code block", "names without quotes", "a trailing comma", "single quotes"):
        assert HINTS[defect][1] in prompt(requests[1])


@pytest.mark.spec("A5")
def test_words_in_the_reply_are_not_defects() -> None:
    # Different: the document searches the reply for words such as "newline" and "function_calls", and hints at things that are not there.
    talk = {"toolCalls": [{"name": "speak"}], "content": "a newline, a single quote, function_calls, ```json"}
    _, requests = ask_once([talk, GOOD])
    assert not [hint for _, hint in HINTS.values() if hint in prompt(requests[1])]


FAULTY_CALLS = {
    "an envelope": ('{"toolCalls": [{"name": "speak", "arguments": {}}]}', "$.toolCalls[0].arguments.text"),
    "the second call of it": (
        '{"toolCalls": [{"name": "speak", "arguments": {"text": "a"}}, {"name": "open_file", "arguments": {"line": 0, "path": "x"}}]}',
        "$.toolCalls[1].arguments.line",
    ),
    "an envelope in tags": (
        '<function_calls>{"toolCalls": [{"name": "speak", "arguments": {}}]}</function_calls>',
        "$.toolCalls[0].arguments.text",
    ),
    "a call in tags": ('<tool_call>{"name": "speak", "arguments": {}}</tool_call>', "speak $.text"),
    "a call in parameter tags": ('<function_calls><invoke name="speak"></invoke></function_calls>', "speak $.text"),
    "a bare call": ('{"name": "speak", "arguments": {}}', "speak $.text"),
    "Python": ("speak()", "speak $.text"),
    "ReAct": ("Action: speak\nAction Input: {}", "speak $.text"),
    "two of one name": ('[{"name": "speak", "arguments": {"text": "a"}}, {"name": "speak", "arguments": {}}]', "speak #2 $.text"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "path"), FAULTY_CALLS.values(), ids=FAULTY_CALLS.keys())
@pytest.mark.parametrize("inside", [True, False], ids=["envelope", "text"])
def test_the_prompt_for_a_faulty_call_refers_to_the_models_text(reply: str, path: str, inside: bool) -> None:
    contract = CONTRACT if inside else Contract(tools=CONTRACT.tools)
    if not inside and path.startswith("$.toolCalls"):
        path = path.replace("$.toolCalls[0].arguments.", "speak $.").replace(
            "$.toolCalls[1].arguments.", "open_file $."
        )
    with ScriptedServer([reply, reply]) as server:
        contract.ask(server.url, "Say hello.", Policy(models=("m",), repairs=1))
        text = prompt(server.requests[1].fields)
    assert f" {path}]" in text
    assert "$.calls" not in text
    assert ".args" not in text
    assert '{"content": "<text>"}' not in text
    assert "(…)" not in text
    name = "open_file" if "open_file" in path or "[1]" in path else "speak"
    assert f"- {name} {{" in text  # what its arguments are
    assert ('"toolCalls": [{"name": "<text>", "arguments": {…}}, …]' in text) == inside
    assert ("Do not wrap the reply in tags." in text) == reply.startswith("<")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("{}", ["V008 $"]),
        ('{"toolCalls": {"name": "speak"}}', ["V001 $.toolCalls"]),  # and not: add "content"
        ('{"needsMoreWork": 1}', ["V001 $.needsMoreWork", "V008 $"]),
    ],
)
def test_a_fault_is_reported_once_and_the_form_lists_the_required_parts(reply: str, told: list[str]) -> None:
    _, requests = ask_once([reply, GOOD])
    text = prompt(requests[1])
    assert [line[3:].split("]")[0] for line in text.splitlines() if line.startswith("- [")] == told
    assert "- content | toolCalls: at least one of these is needed" in text
    assert "- content: may be left out. What to say to the user." in text


@pytest.mark.parametrize("language", ["en", "es"])
def test_in_every_language_the_field_is_the_one_that_the_model_wrote(language: str) -> None:
    _, requests = ask_once(
        ['{"toolCalls": [{"name": "speak", "arguments": {}}]}', GOOD], replace(QUICK, language=language)
    )
    line = next(line for line in prompt(requests[1]).splitlines() if line.startswith("- [V002"))
    assert line.startswith("- [V002 $.toolCalls[0].arguments.text] ")
    assert '"text": ' in line
    assert "args" not in line


def test_where_a_call_is_required_the_form_does_not_say_that_calls_may_be_left_out() -> None:
    contract = Contract.envelope(CONTRACT.tools, calls={"required": True})
    with ScriptedServer([GOOD, GOOD]) as server:
        contract.ask(server.url, "Say hello.", Policy(models=("m",), repairs=1))
        text = prompt(server.requests[1].fields)
    assert "[T019 $] The reply calls no tool." in text
    assert "- toolCalls: items ≥ 1. The tools to call, in order." in text


def test_a_native_call_is_answered_with_its_name_and_the_path_in_its_arguments() -> None:
    contract = Contract(tools=CONTRACT.tools)
    with ScriptedServer([Say(None, (Call("speak", {}),)), "Hello."]) as server:
        contract.ask(server.url, "Say hello.", Policy(models=("m",)))
        *_, called, result = server.requests[1].fields["messages"]
    assert called["tool_calls"][0]["function"]["name"] == "speak"
    assert '[V002 speak $.text] Field "text": Required field is missing' in result["content"]
    assert "$.calls" not in result["content"]


def test_where_the_model_was_asked_to_write_calls_in_tags_they_are_not_a_defect() -> None:
    seen: list[Any] = []

    def model(messages: Any) -> str:  # takes no tools: they are explained in words, with tags to write a call in
        seen.append(messages)
        return '<tool_call>{"name": "speak", "arguments": {}}</tool_call>'

    Contract(tools=CONTRACT.tools).ask(model, "Say hello.", Policy(repairs=1))
    assert "<tool_call>" in seen[0][0]["content"]
    assert "Do not wrap" not in seen[1][-1]["content"]


# -- the loop --------------------------------------------------------------------------------


@pytest.mark.spec("A7")
def test_a_wrapped_reply_needs_no_repair() -> None:
    answer, requests = ask_once([f"<function_calls>{GOOD}</function_calls>"])
    assert answer.outcome == "accepted"
    assert len(requests) == 1  # the document spends a call on it


@pytest.mark.spec("A7")
def test_malformed_json_is_repaired_on_the_first_attempt_at_temperature_0() -> None:
    script = [PROSE, '{"toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}]}']
    answer, requests = ask_once(script, replace(QUICK, temperature=0.8))
    assert answer.outcome == "repaired"
    assert answer.calls[0].args == {"text": "Hello"}
    assert [request["temperature"] for request in requests] == [0.8, 0.0]
    assert [message["role"] for message in requests[1]["messages"]].count("user") == 1
    _, requests = ask_once(script, replace(QUICK, temperature=0.8, repair_temperature=None))
    assert "temperature" not in requests[1]


@pytest.mark.spec("A7")
def test_each_attempt_is_judged_again_and_after_two_repairs_the_user_gets_the_text() -> None:
    answer, requests = ask_once([FAULTY, '{"content": {"a": 1}}', PROSE], then=PROSE)
    assert len(requests) == 3
    assert "correction 2 of 2" in prompt(requests[2])
    assert answer.outcome == "degraded"
    assert not answer.ok
    assert answer.text == PROSE
    assert answer.data == {"content": PROSE}  # in the shape that the assistant reads
    assert answer.stopped is not None
    assert answer.stopped.code == "A004"


@pytest.mark.parametrize(
    ("reply", "value", "refused"),
    [
        (
            '{"toolCalls": [{"name": "launch", "arguments": {}}], "content": "On it.", "needsMoreWork": true}',
            {"content": "On it.", "needsMoreWork": True},
            ["launch"],
        ),
        (
            '{"toolCalls": [{"name": "speak", "arguments": {"text": "a"}}, {"name": "speak", "arguments": {}}], "content": "Hi"}',
            {"content": "Hi", "toolCalls": [{"name": "speak", "arguments": {"text": "a"}}]},
            ["speak"],
        ),
        ('{"toolCalls": [{"name": "speak"}], "content": "Hi"}', {"content": "Hi"}, []),
        ('{"needsMoreWork": "perhaps", "content": "Hi"}', {"content": "Hi"}, []),
    ],
)
def test_a_partly_valid_reply_gives_its_valid_part(reply: str, value: dict[str, Any], refused: list[str]) -> None:
    answer, _ = ask_once([], then=reply)
    assert answer.outcome == "degraded"
    assert answer.data == value
    assert answer.text == value["content"]
    assert [call.args for call in answer.calls] == [call["arguments"] for call in value.get("toolCalls", ())]
    assert [refusal.call.name for refusal in answer.verdict.refused] == refused
    assert answer.findings.errors  # and says what is wrong with the rest


def test_a_stream_ends_with_the_part_too() -> None:
    with ScriptedServer([], then=PROSE) as server:
        stream = CONTRACT.ask_stream(server.url, "Say hello.", QUICK)
        parts = list(stream)
    assert [part.value for part in parts] == [{"content": PROSE}]
    assert stream.answer.outcome == "degraded"


@pytest.mark.parametrize("policy", [STRICT, Policy(), Policy(repairs=0)])
def test_other_policies_never_give_text_in_place_of_a_value(policy: Policy) -> None:
    answer, requests = ask_once([], replace(policy, models=("m",)), then=PROSE)
    assert answer.outcome == "failed"
    assert answer.text == ""
    assert len(requests) == 1 + policy.repairs


SALON = Contract.envelope(
    CONTRACT.tools,
    calls={"claims": {"speak": ["I have said it"]}},
    states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "too early"}]}},
)


@pytest.mark.parametrize(
    "reply",
    [
        "Ana is free at ten.",  # a rule of the state
        '{"content": "Ana is free.", "toolCalls": [{"name": "speak"}]}',
        '{"content": "An\\u0061 is free.", "toolCalls": [{"name": "speak"}]}',  # seen only once it is read
        '{"content": "I have said it.", "toolCalls": [{"name": "speak", "arguments": {}}]}',  # it has not: the call was refused
        "<think>They want Ana.</think>",  # reasoning is not for the user
        '{"toolCalls": [{"name": "speak"}]}',  # nothing is left
        '{"toolCalls": [{"name": "open_file", "arguments": {"path": "notes/an',  # it ends inside an argument
        '{"content": "You can have the service at',  # or inside a sentence
        '<tool_call>{"name": "launch", "arguments": {"at": "ten"}}</tool_call>',  # a call of an unknown tool is not words
    ],
)
def test_forbidden_text_is_not_given_as_text_either(reply: str) -> None:
    with ScriptedServer([], then=reply) as server:
        answer = SALON.ask(server.url, "Hello", QUICK, context={"state": "ASKING"})
    assert answer.outcome == "failed"
    assert (answer.text, answer.data, answer.calls) == ("", None, ())


def test_text_that_a_state_allows_is_given_with_every_field() -> None:
    reply = '{"content": "Which service?", "toolCalls": [{"name": "speak"}], "needsMoreWork": true}'
    with ScriptedServer([], then=reply) as server:
        answer = SALON.ask(server.url, "Hello", QUICK, context={"state": "ASKING"})
    assert answer.data == {"content": "Which service?", "needsMoreWork": True}


def test_a_reply_over_the_limit_is_not_given_as_text_either() -> None:
    small = Contract.envelope(CONTRACT.tools, max_size=50)
    with ScriptedServer([], then=PROSE * 3) as server:
        assert small.ask(server.url, "Hello", QUICK).outcome == "failed"


def test_a_reply_that_was_cut_off_is_not_given_as_text_either() -> None:
    answer, _ = ask_once([], then=Say(PROSE[:20], finish="length"))
    assert answer.outcome == "failed"


def test_the_configuration_of_the_document() -> None:
    assert Policy().repairs == 2
    assert (Policy().retries, Policy().backoff, Policy().backoff_cap) == (3, 1.0, 30.0)
    assert Policy().repair_temperature == 0.0
    assert Policy().modes == ("json_schema", "json_object", "text")
    answer, requests = ask_once([], replace(OFF, models=("m",)), then=FAULTY)  # the repair loop switched off
    assert len(requests) == 1
    assert answer.repairs == 0


# -- retries, modes, progress ----------------------------------------------------------------


@pytest.mark.spec("A8")
def test_too_many_requests_are_waited_for_as_long_as_the_caller_allows() -> None:
    seen: list[Progress] = []
    answer, requests = ask_once([*[Fail(429)] * 30, GOOD], on_event=progress(seen.append))
    assert answer.outcome == "accepted"
    assert len(requests) == 31  # more than any count of retries or attempts
    assert [(wait.attempt, wait.limit, wait.reason, wait.is_repair) for wait in seen] == [
        (n, None, "rate", False) for n in range(1, 31)
    ]
    answer, _ = ask_once([], replace(QUICK, deadline=0.05), then=Fail(429))
    assert answer.stopped is not None
    assert answer.stopped.data["budget"] == "deadline"


@pytest.mark.spec("A8")
def test_the_caller_may_cancel_a_wait_after_too_many_requests() -> None:
    cancel = threading.Event()
    waits = 0

    def listen(event: Event) -> None:
        nonlocal waits
        waits += event.event == "waiting"
        if waits == 20:
            cancel.set()

    answer, requests = ask_once([], then=Fail(429), on_event=listen, cancel=cancel)
    assert answer.outcome == "failed"
    assert answer.reason == "cancelled"
    assert len(requests) == 20


@pytest.mark.spec("A8")
def test_other_failures_are_retried_three_times() -> None:
    _, requests = ask_once([], then=Fail(500))
    assert len(requests) == 4
    _, requests = ask_once([], then=Fail(400))
    assert len(requests) == 1


@pytest.mark.spec("A10")
def test_retries_and_repairs_are_reported_separately_as_they_happen() -> None:
    seen: list[Progress] = []
    ask_once([Fail(503), FAULTY, Fail(429), GOOD], on_event=progress(seen.append))
    assert [(p.is_repair, p.attempt, p.limit, p.reason) for p in seen] == [
        (False, 1, 3, "transient"),
        (True, 1, 2, "format"),
        (False, 1, None, "rate"),
    ]
    assert all(p.delay > 0 for p in seen if not p.is_repair)
    assert len({p.started for p in seen}) == 1


@pytest.mark.spec("A9")
def test_the_ladder_of_modes_steps_down_and_each_rung_is_repaired() -> None:
    steps: list[tuple[str, str]] = []

    def listen(event: Event) -> None:
        if isinstance(event, SteppedDown):
            steps.append((event.before, event.after))

    policy = replace(QUICK, models=("ladder",))
    answer, requests = ask_once([FAULTY, GOOD], policy, reject={"json_schema", "json_object"}, on_event=listen)
    assert steps == [("json_schema", "json_object"), ("json_object", "text")]
    assert answer.outcome == "repaired"
    assert [request.get("response_format", {}).get("type") for request in requests] == [
        "json_schema", "json_object", None, None,
    ]  # fmt: skip


@pytest.mark.spec("A9")
def test_prose_in_place_of_a_value_steps_down_a_mode_with_each_repair() -> None:
    answer, requests = ask_once([PROSE, PROSE, GOOD], replace(QUICK, models=("prose",)))
    assert answer.repairs == 2
    assert [request.get("response_format", {}).get("type") for request in requests] == [
        "json_schema",
        "json_object",
        None,
    ]


@pytest.mark.spec("A10")
def test_each_refused_reply_and_each_repair_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    # Different: refusals are logged with their codes, without the reply; the document logs both, and only when debugging.
    caplog.set_level(logging.INFO, "trueup")
    ask_once([FAULTY, GOOD], on_event=log_events())
    told = [record.getMessage() for record in caplog.records]
    assert [line for line in told if line.startswith("judged") and 'codes="V002"' in line]
    assert [line for line in told if line.startswith("repairing") and "nth=1 most=2" in line]
    assert FAULTY not in "".join(told)


# -- giving up -------------------------------------------------------------------------------


def given_up(then: Any, **policy: Any) -> Finished:
    seen: list[Event] = []
    ask_once([], replace(QUICK, **policy), then=then, on_event=seen.append)
    assert isinstance(seen[-1], Finished)
    return seen[-1]


@pytest.mark.spec("A10")
def test_the_event_of_giving_up_carries_the_raw_reply() -> None:
    assert given_up(PROSE).raw == PROSE
    assert given_up(PROSE, otherwise="failed").raw == PROSE
    assert given_up(PROSE, fallback={"content": "Sorry."}).raw == PROSE
    assert "raw" in given_up(PROSE).to_dict()
    assert given_up(GOOD).raw == ""  # nothing was given up


def test_the_raw_reply_is_shortened_and_redacted_as_configured() -> None:
    key = "sk-abcdefghijklmnopqrstuvwx"
    assert given_up(f"My key is {key}.").raw == "My key is [redacted]."
    assert given_up("x" * 9000).raw == "x" * 1999 + "…"
    assert given_up("x" * 9000, raw=10).raw == "x" * 9 + "…"
    assert given_up(PROSE, raw=0).raw == ""
    assert key[:8] not in given_up(f"My key is {key}.", raw=20).raw  # cut only once it is redacted
    mail = json.dumps({"toolCalls": [{"name": "speak", "arguments": {"email": "ada@example.org"}}]})
    assert "ada@" not in given_up(mail, redaction={"fields": ["email"]}).raw
    assert "ada@" in given_up(mail).raw
    with pytest.raises(ValueError, match="redaction"):
        Policy(redaction={"bodies": "some"})


def test_the_event_of_giving_up_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    ask_once([], then=PROSE, on_event=log_events())
    loud = [record for record in caplog.records if record.levelno >= logging.WARNING]  # the default log
    assert PROSE in loud[-1].getMessage()
    assert loud[-1].getMessage().startswith("finished")
    assert "A004" in ask_once([], then=PROSE)[0].findings.errors[-1].code
    caplog.clear()
    ask_once([FAULTY, GOOD], on_event=log_events())  # a repair that helped is not worth a warning
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING and r.getMessage().startswith("finished")]
