"""Every rule, example, edge case, reason, metric and threshold of the validation rules, run through the author's module."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.chat_quota.validate_response import CONTRACT, result_of, validate_response_enhanced
from trueup import Contract, Reply
from trueup.contract.lint.run import lint_contract

METRICS = {"assistantMessageCount", "totalTextLength", "hasToolOutputs", "emptyMessages", "toolCallsWithoutText"}
HELLO = {"role": "user", "content": "Hello"}
CREATE = {"role": "user", "content": "Create a document"}


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIN_TEXT", "TOOL_EXPLANATION", "NO_TOOL_ONLY", "NO_EMPTY", "NO_WHITESPACE", "GREETING"):
        monkeypatch.delenv(f"VALIDATE_{name}", raising=False)
    monkeypatch.delenv("MIN_VALIDATION_TEXT_LENGTH", raising=False)


def assistant_message(content: Any, *states: str) -> dict[str, Any]:
    """An assistant message, with a tool invocation in each of these states."""
    message = {"role": "assistant", "content": content}
    names = ("createDocument", "updateDocument")
    calls = [{"toolName": name, "state": state} for name, state in zip(names, states, strict=False)]
    return {**message, "toolInvocations": calls} if calls else message


def outcome(*messages: dict[str, Any]) -> tuple[bool, str]:
    result = validate_response_enhanced(list(messages))
    assert set(result["metrics"]) == METRICS
    return result["isValid"], result["reason"]


def test_the_contract_is_sound() -> None:
    assert not lint_contract(Path(__file__).with_name("quota.yaml"), {}).faults


# -- the five rules, with their valid and invalid examples ---------------------------------------------------------------


# Lengths are counted here: "Here's the solution..." has 22 characters, not the 20 that the document names.
@pytest.mark.parametrize(
    ("text", "length"), [("Here's the solution...", 22), ("I understand.", 13), ("Let me help.", 12)]
)
def test_rule_1_valid(text: str, length: int) -> None:
    assert outcome(assistant_message(text)) == (True, "Sufficient text content")
    assert validate_response_enhanced([assistant_message(text)])["metrics"]["totalTextLength"] == length


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "Empty response"), ("OK", "Insufficient text (2 chars)"), ("   ", "Whitespace-only content")],
)
def test_rule_1_invalid(text: str, reason: str) -> None:
    assert outcome(assistant_message(text)) == (False, reason)


def test_rule_1_allows_short_but_meaningful_responses() -> None:
    assert outcome(assistant_message("Yes, I can help with that.")) == (True, "Sufficient text content")


CREATED = {"toolName": "createDocument", "state": "result", "result": "Document created with ID doc-123"}


def test_rule_2_valid() -> None:
    text = (
        "I've created a new document for you with the content you requested.\n"
        "You can now edit it using the editor on the right."
    )
    silent = {"role": "assistant", "content": "", "toolInvocations": [CREATED]}
    assert outcome(silent, assistant_message(text)) == (True, "Tool outputs with explanation")
    assert outcome({**silent, "content": text}) == (True, "Tool outputs with explanation")


def test_rule_2_invalid() -> None:
    silent = {"role": "assistant", "content": "", "toolInvocations": [CREATED]}
    assert outcome(silent) == (False, "Tool calls without text")
    # text before the output explains nothing; the metric says so as well
    result = validate_response_enhanced(
        [assistant_message("I'll create that document for you.", "call"), assistant_message("", "result")]
    )
    assert (result["isValid"], result["reason"]) == (False, "Tool calls without text")
    assert result["metrics"]["toolCallsWithoutText"] == 1


def test_rule_3_invalid() -> None:
    update = {"role": "assistant", "toolInvocations": [{"toolName": "updateDocument", "state": "call"}]}
    result = validate_response_enhanced([assistant_message("", "call"), update])
    assert (result["isValid"], result["reason"]) == (False, "Tool calls without text")
    assert result["metrics"]["toolCallsWithoutText"] == 2


def test_rule_3_valid() -> None:
    messages = [
        assistant_message("I'll create a document for you."),
        assistant_message("", "call"),
        assistant_message("Done! I've created the document."),
    ]
    result = validate_response_enhanced(messages)
    assert (result["isValid"], result["metrics"]["toolCallsWithoutText"]) == (True, 0)


def test_rule_4() -> None:
    result = validate_response_enhanced([assistant_message(""), assistant_message(None)])
    assert (result["isValid"], result["reason"], result["metrics"]["emptyMessages"]) == (False, "Empty response", 2)


@pytest.mark.parametrize("text", [" ", "\n\n\n", "\t\t"])
def test_rule_5(text: str) -> None:
    assert outcome(assistant_message(text)) == (False, "Whitespace-only content")
    assert outcome(assistant_message(text), assistant_message(text)) == (False, "Whitespace-only content")


# -- edge cases ----------------------------------------------------------------------------------------------------------


def test_edge_case_1_several_messages_count_together() -> None:
    result = validate_response_enhanced([assistant_message("Let me help"), assistant_message("with that.")])
    assert (result["isValid"], result["metrics"]["totalTextLength"]) == (True, 21)


# The document calls "Done!" after a tool enough, and asks for ten characters after an output. Both hold: a call without an
# output needs no text after it; with an output, five characters are too few, unless the contract says `lenient`.
def test_edge_case_2_mixed_content() -> None:
    before, after = assistant_message("I'll create a document"), assistant_message("Done!")
    assert outcome(before, assistant_message("", "call"), after) == (True, "Sufficient text content")
    assert outcome(before, assistant_message("", "result"), after) == (False, "Tool calls without text")
    lenient = Contract(reply={"lenient": True})
    result = validate_response_enhanced([before, assistant_message("", "result"), after], lenient)
    assert (result["isValid"], result["reason"]) == (True, "Tool outputs with explanation")
    assert result["metrics"]["toolCallsWithoutText"] == 0


def chunk(text: str) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}


@pytest.mark.spec("Q11")
def test_edge_case_3_an_interrupted_stream_is_judged_by_the_part_that_arrived() -> None:
    short = CONTRACT.check([chunk("Let me"), chunk(" he")])
    assert (short.ok, short.reason) == (False, "Insufficient text (9 chars)")
    long = CONTRACT.check([chunk("Let me"), chunk(" help you with that")])
    assert (long.ok, long.reason) == (True, "Sufficient text content")
    assert [(found.code, found.level) for found in long.findings] == [("R003", "warning")], "it is not silent"
    assert CONTRACT.check([chunk("I"), chunk(" think")]).reason == "Insufficient text (7 chars)"
    assert CONTRACT.check([chunk("")]).reason == "Empty response"
    body = b"".join(b"data: %s\n\n" % json.dumps(chunk(text)).encode() for text in ("Let me", " help you"))
    for cut in (b"", b"data: {", 'data: {"choices": [{"delta": {"content": "\u00e9'.encode()[:-1]):
        verdict = CONTRACT.check(body + cut)  # between two events, inside one, inside a character
        assert (verdict.ok, verdict.reply.text, verdict.warnings[0].code) == (True, "Let me help you", "R003")
    assert CONTRACT.check(b"data: [DONE]\n\n").reason == "Empty response", "a stream with nothing in it is not a text"


def test_edge_case_4_special_characters_count() -> None:
    assert outcome(assistant_message("!@#$%^&*()")) == (True, "Sufficient text content")


def test_edge_case_5_code_counts() -> None:
    assert outcome(assistant_message("```\nconst x = 1;\n```")) == (True, "Sufficient text content")


# -- variants of the rules -----------------------------------------------------------------------------------------------


# Without any message of the model the document's code says "Empty response" or "Missing greeting"; here it has its own reason.
VARIANTS: list[tuple[list[dict[str, Any]], bool, str, dict[str, Any]]] = [
    ([], False, "No assistant message", {"assistantMessageCount": 0}),
    ([HELLO], False, "No assistant message", {"assistantMessageCount": 0}),
    ([assistant_message("Hello there!")], True, "Sufficient text content", {}),
    ([assistant_message("Hi")], False, "Insufficient text (2 chars)", {}),
    ([assistant_message("Sí")], False, "Insufficient text (2 chars)", {}),
    ([assistant_message("123456789")], False, "Insufficient text (9 chars)", {}),
    ([assistant_message("1234567890")], True, "Sufficient text content", {}),
    ([assistant_message("No.")], False, "Insufficient text (3 chars)", {}),
    ([assistant_message("Claro, te ayudo.")], True, "Sufficient text content", {}),
    ([assistant_message("Okay"), assistant_message("Sure")], False, "Insufficient text (8 chars)", {"assistantMessageCount": 2}),
    ([assistant_message("Okay,"), assistant_message("sure.")], True, "Sufficient text content", {"totalTextLength": 10}),
    ([{"role": "user", "content": "Please write me a very long poem"}, assistant_message("No")], False, "Insufficient text (2 chars)", {}),
    ([assistant_message(""), assistant_message("")], False, "Empty response", {"emptyMessages": 2, "assistantMessageCount": 2}),
    ([assistant_message(None), assistant_message("Here is your answer.")], True, "Sufficient text content", {"totalTextLength": 20}),
    ([{"role": "assistant", "toolInvocations": []}], False, "Empty response", {"emptyMessages": 1}),
    ([assistant_message(""), assistant_message("Here is your answer.")], True, "Sufficient text content", {"emptyMessages": 1}),
    ([assistant_message(" \n\t \n ")], False, "Whitespace-only content", {"totalTextLength": 0}),
    # raw lengths would let twelve blanks pass; the rule against whitespace says otherwise
    ([assistant_message(" " * 12)], False, "Whitespace-only content", {}),
    ([assistant_message("   ", "result")], False, "Tool calls without text", {"toolCallsWithoutText": 1}),
    ([assistant_message("", "result"), assistant_message("It is sunny in Lisbon today.")], True, "Tool outputs with explanation", {"hasToolOutputs": True}),
    ([assistant_message("", "result"), assistant_message("Sunny.")], False, "Tool calls without text", {"toolCallsWithoutText": 1}),
    # a long text before the tool does not help, though it would be long enough alone
    ([assistant_message("Let me look that up for you now."), assistant_message("", "result")], False, "Tool calls without text", {}),
    ([assistant_message("I'm checking the weather.", "call")], True, "Sufficient text content", {"hasToolOutputs": False}),
    ([assistant_message("¿¡!?…—–«»·")], True, "Sufficient text content", {"totalTextLength": 10}),
    ([assistant_message("?!?!")], False, "Insufficient text (4 chars)", {}),
    ([assistant_message("print('hola')")], True, "Sufficient text content", {"totalTextLength": 13}),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "valid", "reason", "metrics"), VARIANTS, ids=range(len(VARIANTS)))
def test_variants(messages: list[dict[str, Any]], valid: bool, reason: str, metrics: dict[str, Any]) -> None:
    result = validate_response_enhanced(messages)
    assert (result["isValid"], result["reason"]) == (valid, reason)
    assert set(result["metrics"]) == METRICS
    assert {name: result["metrics"][name] for name in metrics} == metrics


# -- the five validation examples ----------------------------------------------------------------------------------------


# The document counts one character too many in example 1 and one too few in example 4.
EXAMPLES: list[tuple[list[dict[str, Any]], bool, str, dict[str, Any]]] = [
    (
        [HELLO, assistant_message("Hi! How can I help you today?")],
        True,
        "Sufficient text content",
        {"totalTextLength": 29},
    ),
    ([HELLO, assistant_message("")], False, "Empty response", {"totalTextLength": 0, "emptyMessages": 1}),
    (
        [CREATE, assistant_message("", "result")],
        False,
        "Tool calls without text",
        {"hasToolOutputs": True, "totalTextLength": 0, "toolCallsWithoutText": 1},
    ),
    (
        [
            CREATE,
            assistant_message("I'll create that document for you.", "call"),
            assistant_message("Done! I've created the document.", "result"),
        ],
        True,
        "Tool outputs with explanation",
        {"hasToolOutputs": True, "assistantMessageCount": 2, "totalTextLength": 34 + 32, "toolCallsWithoutText": 0},
    ),
    (
        [{"role": "user", "content": "Can you help?"}, assistant_message("Yes")],
        False,
        "Insufficient text (3 chars)",
        {"totalTextLength": 3},
    ),
]


@pytest.mark.parametrize(("messages", "valid", "reason", "metrics"), EXAMPLES, ids=["1", "2", "3", "4", "5"])
def test_examples(messages: list[dict[str, Any]], valid: bool, reason: str, metrics: dict[str, Any]) -> None:
    result = validate_response_enhanced(messages)
    assert (result["isValid"], result["reason"]) == (valid, reason)
    assert {name: result["metrics"][name] for name in metrics} == metrics


def test_a_call_and_its_result_in_a_later_message_are_one_call() -> None:
    assert [call.answered for call in CONTRACT.check(EXAMPLES[3][0]).reply.calls] == [True]


# -- thresholds, switches, custom rules ----------------------------------------------------------------------------------


def test_the_threshold_is_tuned_by_the_environment_while_the_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Let me help."
    assert outcome(assistant_message(text))[0]
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "15")
    assert outcome(assistant_message(text)) == (False, "Insufficient text (12 chars)")
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "3")
    assert outcome(assistant_message("Yes")) == (True, "Sufficient text content")
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "many")
    verdict = CONTRACT.check("A fine and full answer.")
    assert [found.code for found in verdict.errors] == ["N022"], "no reply passes under rules that cannot be read"
    assert "MIN_VALIDATION_TEXT_LENGTH" in verdict.reason


# parseInt reads "15px" as 15 and "many" as not a number, which silently refuses every reply. Here both are refused by name.
@pytest.mark.parametrize(("value", "passes"), [("", 10), ("10", 10), (" 15 ", 15), ("015", 15), ("0", 1)])
def test_the_values_of_the_threshold(value: str, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", value)
    assert outcome(assistant_message("x" * passes))[0]
    assert not outcome(assistant_message("x" * (passes - 1)))[0]


def test_by_default_the_environment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract(reply=True)
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "3")
    assert not contract.check("Yes").ok
    with pytest.raises(ValueError, match=r"reply\.environment: takes load or check"):
        Contract(reply={"environment": "always"})


# Unset switches are on here, and off in the document, where a deployment without variables validates nothing.
SWITCHES = {
    "VALIDATE_MIN_TEXT": ([assistant_message("Yes")], "No rule refuses the reply"),
    "VALIDATE_TOOL_EXPLANATION": (
        [assistant_message("I look it up.", "call"), assistant_message("", "result")],
        "Sufficient text content",
    ),
    "VALIDATE_NO_TOOL_ONLY": ([assistant_message("", "call")], "Insufficient text (0 chars)"),
    "VALIDATE_NO_EMPTY": ([assistant_message("")], "Insufficient text (0 chars)"),
    "VALIDATE_NO_WHITESPACE": ([assistant_message("  ")], "Insufficient text (0 chars)"),
}


@pytest.mark.parametrize("variable", SWITCHES)
def test_each_rule_has_its_switch_and_is_asked_for_each_check(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    messages, then = SWITCHES[variable]
    before = validate_response_enhanced(messages)
    assert not before["isValid"]
    monkeypatch.setenv(variable, "false")
    assert validate_response_enhanced(messages)["reason"] == then
    monkeypatch.setenv(variable, "true")
    assert validate_response_enhanced(messages) == before


# Each rule alone: all others are off, and it refuses its own example and nothing else.
ALONE = {
    "VALIDATE_MIN_TEXT": ("Insufficient text (2 chars)", [assistant_message("OK")]),
    "VALIDATE_TOOL_EXPLANATION": (
        "Tool calls without text",
        [assistant_message("I look it up.", "call"), assistant_message("", "result")],
    ),
    "VALIDATE_NO_TOOL_ONLY": ("Tool calls without text", [assistant_message("", "call")]),
    "VALIDATE_NO_EMPTY": ("Empty response", [assistant_message("")]),
    "VALIDATE_NO_WHITESPACE": ("Whitespace-only content", [assistant_message("  ")]),
}


@pytest.mark.parametrize("variable", ALONE)
def test_each_rule_alone(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ALONE:
        monkeypatch.setenv(name, "true" if name == variable else "false")
    reasons = {name: validate_response_enhanced(messages)["reason"] for name, (_, messages) in ALONE.items()}
    assert reasons.pop(variable) == ALONE[variable][0]
    if variable != "VALIDATE_MIN_TEXT":  # empty texts are short as well
        assert set(reasons.values()) == {"No rule refuses the reply"}


def test_exceptions_for_specific_cases_are_a_rule() -> None:
    rule = {"name": "length", "expr": "length >= 10 or text in ['Yes.', 'No.']", "reason": "Insufficient text"}
    contract = Contract(reply={"min_text": False, "rules": [rule]})
    assert [contract.check(text).ok for text in ("Yes.", "Maybe", "It depends on the weather.")] == [True, False, True]


def test_the_first_response_must_greet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALIDATE_GREETING", "true")
    answer = assistant_message("The answer is forty-two.")
    assert outcome(HELLO, answer) == (False, "Missing greeting")
    assert outcome(HELLO, assistant_message("Hello! The answer is forty-two."))[0]
    # a later response need not: the messages that were given say that one went before
    assert outcome(HELLO, assistant_message("Hi there!"), {"role": "user", "content": "And?"}, answer)[0]


def test_a_rule_can_read_the_users_question() -> None:
    rule = {"name": "on_topic", "expr": "'document' not in question or 'document' in text", "reason": "Off topic"}
    contract = Contract(reply={"rules": [rule]})
    assert contract.check([CREATE, assistant_message("I have made you a sandwich.")]).reason == "Off topic"
    assert contract.check([CREATE, assistant_message("Your document is ready.")]).ok
    assert contract.check([HELLO, assistant_message("I have made you a sandwich.")]).ok
    parts = {"role": "user", "parts": [{"type": "text", "text": "Create a document"}]}
    assert contract.check([parts, assistant_message("I have made you a sandwich.")]).reason == "Off topic"
    assert contract.check("I have made you a sandwich.", {"history": [CREATE]}).reason == "Off topic"
    assert contract.check([CREATE, assistant_message("I have made you a sandwich.")], {"question": "Lunch?"}).ok, (
        "the caller wins"
    )


def test_a_function_may_answer_in_the_shape_of_a_validation_result() -> None:
    def greeting(reply: Reply, context: dict[str, Any]) -> dict[str, Any]:
        greets = any(word in reply.text.lower() for word in ("hello", "hi", "hey", "greetings"))
        return {"ok": greets, "reason": "Has greeting" if greets else "Missing greeting", "metrics": {"greets": greets}}

    contract = Contract(reply={"rules": [greeting]})
    assert result_of(contract.check("Hello, how can I help?"))["reason"] == "Has greeting"
    refused = result_of(contract.check("How can I be of use?"))
    assert (refused["isValid"], refused["reason"], refused["metrics"]["greets"]) == (False, "Missing greeting", False)


# The document's own function: only the first message of the model is looked at, and "hi" counts inside other words.
@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["Hey, what's up?"], "Has greeting"),
        (["This is your report."], "Has greeting"),
        (["GREETINGS, traveller."], "Has greeting"),
        (["Good morning.", "Hello!"], "Missing greeting"),
        (["The answer is forty-two."], "Missing greeting"),
    ],
)
def test_the_greeting_function(texts: list[str], reason: str) -> None:
    def greeting(reply: Reply, context: dict[str, Any]) -> dict[str, Any]:
        first = reply.messages[0].text.lower()
        greets = any(word in first for word in ("hello", "hi", "hey", "greetings"))
        return {"ok": greets, "reason": "Has greeting" if greets else "Missing greeting"}

    result = validate_response_enhanced(
        [assistant_message(text) for text in texts], Contract(reply={"rules": [greeting]})
    )
    assert (result["isValid"], result["reason"]) == (reason == "Has greeting", reason)
    assert set(result["metrics"]) == METRICS


# -- "same response validated differently" -------------------------------------------------------------------------------


def test_validation_is_deterministic() -> None:
    for messages, *_ in EXAMPLES:
        assert validate_response_enhanced(messages) == validate_response_enhanced(messages)


def test_threads_do_not_change_the_verdicts() -> None:
    expected = [validate_response_enhanced(messages) for messages, *_ in EXAMPLES] * 50
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(validate_response_enhanced, [messages for messages, *_ in EXAMPLES] * 50)) == expected
