"""Reply rules: each sentence of Q1 to Q11, with the reasons given there."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract, Reply
from trueup.checks.reply import BadReplyRules, compile_reply, measure
from trueup.verdict.bugs import bug_of
from trueup.verdict.reply import Turn

METRICS = {
    "assistant_messages",
    "total_text_length",
    "has_tool_outputs",
    "empty_messages",
    "tool_calls_without_text",
}


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def invoked(state: str, number: int = 1) -> list[dict[str, Any]]:
    """The older shape of the AI SDK: a call, or a call with its result."""
    call = {"toolCallId": f"c{number}", "toolName": "createDocument", "state": state, "args": {}}
    return [call | ({"result": "doc-123"} if state == "result" else {})]


def calling(content: Any = "") -> dict[str, Any]:
    return said(content, tool_calls=[{"id": "c1", "function": {"name": "search", "arguments": "{}"}}])


OUTPUT = {"role": "tool", "tool_call_id": "c1", "content": "3 hits"}


def reason(reply: Any, spec: Any = True, environ: dict[str, str] | None = None) -> str:  # noqa: FBT002 - True is a value of `reply:`
    """The reason why a reply is refused; empty if it passes."""
    if not isinstance(reply, str | Reply):
        reply = Contract().check(reply).reply
    rules = compile_reply(spec, environ or {})
    found, metrics = rules.check(Reply(text=reply) if isinstance(reply, str) else reply, {})
    assert set(metrics) == METRICS
    assert len(found) <= 1
    return found[0].message if found else ""


@pytest.mark.spec("Q1")
def test_the_precedence_is_fixed_and_the_first_broken_rule_gives_the_reason() -> None:
    steps = [
        ([{"role": "user", "content": "Hi"}], "No assistant message"),
        ([said("")], "Empty response"),
        ([calling("")], "Tool calls without text"),
        ([calling(" \n ")], "Tool calls without text"),
        ([said("  \n")], "Whitespace-only content"),
        ([calling("Yes"), OUTPUT, said("")], "Tool calls without text"),
        ([said("Yes")], "Insufficient text (3 chars)"),
        ([said("Yes, I can help with that.")], ""),
    ]
    assert [reason(messages) for messages, _ in steps] == [why for _, why in steps]


@pytest.mark.spec("Q1")
def test_reasons_have_their_codes() -> None:
    cases: list[tuple[Any, str]] = [
        ([{"role": "user", "content": "Hi"}], "Q001"),
        ("", "Q002"),
        (calling(""), "Q003"),
        ("  ", "Q004"),
        ([calling("Let me look that up."), OUTPUT], "Q005"),
        ("Yes", "Q006"),
    ]
    contract = Contract(reply=True)
    for reply, code in cases:
        assert code in {found.code for found in contract.check(reply).findings}


@pytest.mark.spec("Q2")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Yes", "Insufficient text (3 chars)"),
        ("0123456789", ""),
        ("012345678", "Insufficient text (9 chars)"),
        ("  012345678  ", "Insufficient text (9 chars)"),
        ("Let me he", "Insufficient text (9 chars)"),
        ("!@#$%^&*()", ""),
        ("```\nconst x = 1;\n```", ""),
        ("I understand.", ""),
        ("OK", "Insufficient text (2 chars)"),
        ("ñandú ñandú", ""),
        ("👍" * 10, ""),
    ],
)
def test_ten_characters_are_enough_after_trimming(text: str, why: str) -> None:
    assert reason(text) == why


@pytest.mark.spec("Q2")
def test_text_is_summed_over_all_assistant_messages() -> None:
    assert reason([said("Let me help"), said("with that.")]) == ""
    assert reason([said("Let"), said(" me "), said("help")]) == "Insufficient text (9 chars)"
    assert reason([said("Let "), {"role": "user", "content": "Well?"}, said("me")]) == "Insufficient text (2 chars)"


@pytest.mark.spec("Q3")
def test_text_before_a_tool_output_does_not_explain_it() -> None:
    before = "I will look that up for you right away."
    assert reason([calling(before), OUTPUT]) == "Tool calls without text"
    assert reason([calling(before), OUTPUT, said("It rains.")]) == "Tool calls without text"
    assert reason([calling(before), OUTPUT, said("It rains all day.")]) == ""
    assert reason([calling(), OUTPUT, said("It "), said("rains all day.")]) == ""


@pytest.mark.spec("Q3")
def test_only_text_after_the_last_output_counts() -> None:
    long = "The first result is here."
    assert reason([calling(), OUTPUT, said(long), calling(), OUTPUT]) == "Tool calls without text"
    assert reason([calling(), OUTPUT, said(long), calling(), OUTPUT, said(long)]) == ""


@pytest.mark.spec("Q3")
def test_text_in_the_same_message_as_the_output_counts_as_after() -> None:
    assert reason([said("I have created the document.", toolInvocations=invoked("result"))]) == ""
    first = said("I'll create that document for you.", toolInvocations=invoked("call"))
    assert reason([first, said("Done! I've created the document.", toolInvocations=invoked("result"))]) == ""
    assert reason([first, said("", toolInvocations=invoked("result"))]) == "Tool calls without text"


@pytest.mark.spec("Q3")
def test_lenient_accepts_any_text_after_the_output() -> None:
    messages = [calling(), OUTPUT, said("Done!")]
    assert reason(messages) == "Tool calls without text"
    for spec in ({"lenient": True}, {"tool_explanation": "lenient"}):
        assert reason(messages, spec) == ""
        assert reason([calling("I look it up."), OUTPUT, said(" ")], spec) == "Tool calls without text"
        assert reason("Done!", spec) == "Insufficient text (5 chars)"


@pytest.mark.spec("Q4")
def test_calls_alone_never_pass() -> None:
    call = {"type": "tool-search", "toolCallId": "c1", "input": {}}
    for reply in (
        [calling()],
        [calling(), calling()],
        [said("", toolInvocations=invoked("call"))],
        [said("", toolInvocations=invoked("result"))],
        [{"role": "assistant", "parts": [call | {"state": "input-available"}]}],
        [{"role": "assistant", "parts": [call | {"state": "output-available", "output": "x"}]}],
    ):
        assert reason(reply) == "Tool calls without text"


@pytest.mark.spec("Q4")
def test_a_call_that_leaked_into_the_text_does_not_count_as_text() -> None:
    contract = Contract(tools=[{"name": "search"}], reply=True)
    leaked = '<tool_call>{"name": "search", "arguments": {"query": "a long enough text"}}</tool_call>'
    assert [found.message for found in contract.check(leaked).findings.errors] == ["Tool calls without text"]
    assert contract.check(f"Let me look that up for you. {leaked}").ok


@pytest.mark.spec("Q5")
@pytest.mark.parametrize("messages", [[said("")], [said(None)], [said(""), said("")], [said([])]])
def test_a_reply_of_empty_messages_is_refused(messages: list[Any]) -> None:
    assert reason(messages) == "Empty response"
    assert reason("") == "Empty response"


@pytest.mark.spec("Q6")
@pytest.mark.parametrize("text", [" ", "\n\n\n", "\t\t", "\u00a0\u2003", "\u200b" * 20, "\ufeff", " \u2060 "])
def test_a_reply_of_whitespace_is_refused(text: str) -> None:
    assert reason(text) == "Whitespace-only content"


@pytest.mark.spec("Q7")
def test_metrics_come_with_every_result() -> None:
    contract = Contract(reply=True)
    for reply in ("", "Yes", "A fine and full answer.", [{"role": "user", "content": "x"}], {"no": "reply"}, b"\xff"):
        assert set(contract.check(reply).metrics) >= METRICS
    verdict = contract.check([said(""), calling("I look. "), OUTPUT, calling("")])
    assert {key: verdict.metrics[key] for key in METRICS} == {
        "assistant_messages": 3,
        "total_text_length": 7,
        "has_tool_outputs": True,
        "empty_messages": 1,
        "tool_calls_without_text": 2,  # one was answered and never explained, one has no text
    }
    assert verdict.to_dict()["metrics"]["assistant_messages"] == 3


SWITCHES: dict[str, tuple[Any, str, str]] = {
    "no_message": ([{"role": "user", "content": "Hi"}], "VALIDATE_NO_MESSAGE", ""),
    "no_empty": ([said("")], "VALIDATE_NO_EMPTY", "Insufficient text (0 chars)"),
    "no_tool_only": ([calling("")], "VALIDATE_NO_TOOL_ONLY", "Insufficient text (0 chars)"),
    "no_whitespace": ([said("  ")], "VALIDATE_NO_WHITESPACE", "Insufficient text (0 chars)"),
    "tool_explanation": ([calling("I look it up."), OUTPUT], "VALIDATE_TOOL_EXPLANATION", ""),
    "min_text": ([said("Yes")], "VALIDATE_MIN_TEXT", ""),
}


@pytest.mark.spec("Q8")
@pytest.mark.parametrize("rule", SWITCHES)
def test_each_rule_can_be_switched_off_in_the_contract_and_by_the_environment(rule: str) -> None:
    messages, variable, then = SWITCHES[rule]
    assert reason(messages)
    assert reason(messages, {rule: False}) == then
    for word in ("false", "0", "no", "OFF"):
        assert reason(messages, True, {variable: word}) == then
    for word in ("true", "1", "yes", "On"):
        assert reason(messages, {rule: False}, {variable: word}) == reason(messages)
    assert reason(messages, False) == ""


@pytest.mark.spec("Q8")
def test_every_threshold_can_be_set() -> None:
    assert reason("Yes", {"min_text": 3}) == ""
    assert reason("I understand.", {"min_text": 20}) == "Insufficient text (13 chars)"
    assert reason("I understand.", True, {"MIN_VALIDATION_TEXT_LENGTH": "20"}) == "Insufficient text (13 chars)"
    assert reason("Yes", {"min_text": 20}, {"MIN_VALIDATION_TEXT_LENGTH": "3"}) == ""
    messages = [calling(), OUTPUT, said("Done!")]
    assert reason(messages, {"min_explanation": 5}) == ""
    assert reason(messages, True, {"MIN_VALIDATION_TEXT_LENGTH": "5"}) == ""


@pytest.mark.spec("Q8")
def test_unset_means_on_and_the_real_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Contract(reply=True).check("Yes").ok
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "3")
    assert Contract(reply=True).check("Yes").ok


@pytest.mark.spec("Q8")
@pytest.mark.parametrize(
    ("spec", "environ", "said"),
    [
        ({"min_txt": 3}, {}, "reply.min_txt"),
        ({"min_text": "many"}, {}, "reply.min_text"),
        ({"min_text": -1}, {}, "reply.min_text"),
        ({"no_empty": "no"}, {}, "reply.no_empty"),
        ("yes", {}, "reply:"),
        (True, {"VALIDATE_MIN_TEXT": "maybe"}, "VALIDATE_MIN_TEXT"),
        (True, {"MIN_VALIDATION_TEXT_LENGTH": "ten"}, "MIN_VALIDATION_TEXT_LENGTH"),
        ({"rules": [{"name": "x"}]}, {}, "reply.rules[0]"),
        ({"rules": [{"name": "x", "expr": "1 +"}]}, {}, "reply.rules[0].expr"),
        ({"rules": [{"name": "x", "expr": "txt == 1"}]}, {}, "'txt'"),
        ({"rules": [{"name": "x", "expr": "1"}, {"name": "x", "expr": "1"}]}, {}, "two rules"),
        ({"rules": [{"name": "x", "check": 5}]}, {}, "reply.rules[0].check"),
    ],
)
def test_a_mistake_is_refused_with_its_place(spec: Any, environ: dict[str, str], said: str) -> None:
    with pytest.raises(BadReplyRules) as caught:
        compile_reply(spec, environ)
    assert said in str(caught.value)


GREETING = {
    "name": "greeting",
    "expr": 'not first or any([word in text.lower() for word in ["hello", "hi", "hey"]])',
    "reason": "Missing greeting",
}


@pytest.mark.spec("Q9")
def test_a_custom_rule_as_an_expression() -> None:
    contract = Contract(reply={"rules": [GREETING]})
    verdict = contract.check("The answer is 42.")
    assert [(found.code, found.message) for found in verdict.findings] == [("Q007", "Missing greeting")]
    assert contract.check("Hello! The answer is 42.").ok
    assert contract.check("The answer is 42.", {"history": [{"role": "assistant", "content": "Hello!"}]}).ok


@pytest.mark.spec("Q9")
def test_a_custom_rule_as_a_function() -> None:
    def no_shouting(reply: Reply, context: Any) -> bool:
        return not reply.text.isupper()

    def polite(reply: Reply, context: Any) -> str | None:
        return None if "please" in reply.text else f"Impolite in {context['state']}"

    contract = Contract(reply={"rules": [no_shouting, {"name": "polite", "check": polite}]})
    assert contract.check("Sit down, please.", {"state": "S"}).ok
    assert contract.check("SIT DOWN, please.".upper(), {"state": "S"}).findings[0].data["rule"] == "no_shouting"
    assert contract.check("Sit down now.", {"state": "S"}).findings[0].message == "Impolite in S"


@pytest.mark.spec("Q9")
def test_a_custom_rule_has_its_own_switch_and_comes_after_the_fixed_ones() -> None:
    assert reason("The answer is 42.", {"rules": [GREETING | {"on": False}]}) == ""
    assert reason("The answer is 42.", {"rules": [GREETING]}, {"VALIDATE_GREETING": "false"}) == ""
    assert reason("The answer is 42.", {"rules": [GREETING | {"on": False}]}, {"VALIDATE_GREETING": "true"})
    assert reason("Yes", {"rules": [GREETING]}) == "Insufficient text (3 chars)"


@pytest.mark.spec("Q9")
def test_a_bug_in_a_function_is_raised_and_an_expression_that_fails_refuses() -> None:
    def broken(reply: Reply, context: Any) -> bool:
        return bool(context["nothing"])

    with pytest.raises(KeyError, match="nothing") as caught:
        reason("A fine and full answer.", {"rules": [broken]})
    bug = bug_of(caught.value)
    assert bug is not None
    assert bug.what == "the reply rule 'broken'"
    assert bug.place == f"tests/checks/test_reply.py:{broken.__code__.co_firstlineno + 1}"
    expression = {"name": "x", "expr": "data.missing > 1"}
    assert "cannot be evaluated" in reason("A fine and full answer.", {"rules": [expression]})


@pytest.mark.spec("Q9")
def test_a_function_refuses_by_raising_a_value_error_or_failing_an_assertion() -> None:
    def polite(reply: Reply, context: Any) -> None:
        if "please" not in reply.text:
            raise ValueError("says no please")
        if "now" in reply.text:
            raise AssertionError

    rule = {"name": "polite", "check": polite, "reason": "Impolite"}
    assert reason("Sit down, all of you.", {"rules": [rule]}) == "says no please"
    assert reason("Sit down now, please.", {"rules": [rule]}) == "Impolite"
    assert reason("Sit down, please.", {"rules": [rule]}) == ""


@pytest.mark.spec("Q10")
def test_all_shapes_of_a_message_are_judged_alike() -> None:
    good, short = "It rains in Oslo all day.", "Yes"
    for text, why in ((good, ""), (short, "Insufficient text (3 chars)")):
        output = {"type": "tool-search", "toolCallId": "c1", "state": "output-available", "input": {}, "output": 1}
        shapes: list[Any] = [
            text,
            said(text),
            [{"role": "user", "content": "Hi"}, said(text)],
            {"role": "assistant", "parts": [{"type": "text", "text": text}]},
            said(text, toolInvocations=[]),
            {"choices": [{"message": said(text), "finish_reason": "stop"}], "object": "chat.completion"},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
            },
            {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]},
        ]
        assert [reason(shape) for shape in shapes] == [why] * len(shapes)
        after = "" if text is good else "Tool calls without text"
        assert reason({"role": "assistant", "parts": [output, {"type": "text", "text": text}]}) == after
        assert reason([said(text, toolInvocations=invoked("result"))]) == after


@pytest.mark.spec("Q11")
def test_an_interrupted_stream_is_judged_on_what_arrived() -> None:
    def chunk(text: str) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}

    contract = Contract(reply=True)
    verdict = contract.check([chunk("Let me"), chunk(" he")])
    assert [(found.code, found.level) for found in verdict.findings] == [("Q006", "error"), ("R003", "warning")]
    assert verdict.metrics["total_text_length"] == 9
    longer = contract.check([chunk("Let me"), chunk(" help you with that")])
    assert longer.ok
    assert [(found.code, found.level) for found in longer.findings] == [("R003", "warning")]


SENT = "Let me help you with that"
BROKEN_OFF: dict[str, Any] = {
    "events": f'data: {{"choices":[{{"index":0,"delta":{{"content":"{SENT}"}}}}]}}\n\n',
    "torn event": f'data: {{"choices":[{{"index":0,"delta":{{"content":"{SENT}"}}}}]}}\n\ndata: {{"choices":[{{"ind',
    "bytes": f'data: {{"choices":[{{"index":0,"delta":{{"content":"{SENT}"}}}}]}}\n\n'.encode(),
    "json lines": json.dumps(
        {"model": "m", "created_at": "2026-01-01", "message": {"role": "assistant", "content": SENT}, "done": False}
    ) + '\n{"model": "m", "crea',
    "ollama": {"message": {"role": "assistant", "content": SENT}, "done": False},
    "anthropic": [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SENT}},
    ],
    "data lines": f'f:{{"messageId":"m"}}\n0:"{SENT}"\n',
    "error event": [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": SENT}}]},
        {"error": {"message": "Overloaded", "type": "overloaded_error"}},
    ],
}  # fmt: skip


@pytest.mark.spec("Q11")
@pytest.mark.parametrize("kind", BROKEN_OFF)
def test_every_kind_of_interruption_is_reported_and_judged_on_what_arrived(kind: str) -> None:
    source = BROKEN_OFF[kind]
    verdict = Contract(reply=True).check(source)
    assert (verdict.ok, verdict.reason, verdict.reply.text) == (True, "Sufficient text content", SENT)
    assert [(found.code, found.level) for found in verdict.findings] in ([("R003", "warning")], [("R002", "warning")])
    assert not Contract(reply=True, strict=True).check(source).ok
    for contract in (Contract(), Contract(True), Contract(True, reply=True)):
        assert not contract.check(source).ok, "a value, or a reply that nothing else judges, is refused"


@pytest.mark.spec("Q11")
def test_a_call_that_may_be_cut_off_is_never_run() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "search", "arguments": '{"query": "Os'}}
    chunks = [{"choices": [{"index": 0, "delta": {"content": "I will look that up for you.", "tool_calls": [call]}}]}]
    judged = Contract(tools=[{"name": "search"}], reply=True).check(chunks)
    assert (judged.ok, judged.calls, judged.errors[0].code) == (False, (), "R003")
    assert Contract(reply=True).check(chunks).ok, "where calls are not judged, the text is"


def test_a_withheld_reply_is_refused() -> None:
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "This is how you build"}}]},
        {"error": {"message": "filtered", "code": "content_filter"}},
    ]
    assert not Contract(reply=True).check(chunks).ok


@pytest.mark.spec("Q11")
@given(
    st.text(max_size=30),
    st.lists(
        st.builds(
            Turn,
            st.sampled_from(["assistant", "tool"]),
            st.text(max_size=12),
            st.integers(0, 2),
            st.integers(0, 2),
            st.text(max_size=12),
        ),
        max_size=4,
    ),
)
def test_the_same_reply_always_gets_the_same_verdict(text: str, turns: list[Turn]) -> None:
    reply = Reply(text=text, turns=tuple(turns) or None)
    rules = compile_reply(True, {})
    assert rules.check(reply, {}) == rules.check(reply, {}) == compile_reply(True, {}).check(reply, {"state": "x"})


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_a_reply_passes_exactly_when_its_trimmed_texts_are_long_enough(texts: list[str]) -> None:
    turns = tuple(Turn(text=text) for text in texts)
    passes = not compile_reply(True, {}).check(Reply(turns=turns), {})[0]
    assert passes == (measure(turns)["total_text_length"] >= 10)


def test_a_provider_that_failed_is_not_also_called_empty() -> None:
    verdict = Contract(reply=True).check({"error": {"message": "Overloaded", "type": "overloaded_error"}})
    assert {found.code for found in verdict.findings} == {"R002"}
    assert verdict.metrics["assistant_messages"] == 0


def test_a_refusal_counts_as_text() -> None:
    assert reason(said(None, refusal="I cannot help with that.")) == ""


def test_the_order_of_options_does_not_matter() -> None:
    options = {"min_text": 4, "no_empty": False, "lenient": True}
    for order in itertools.permutations(options.items()):
        assert compile_reply(dict(order), {}).settings == compile_reply(options, {}).settings


@pytest.mark.spec("Q1")
@pytest.mark.parametrize("nothing", [[], (), [{"role": "user", "content": "hello?"}]])
def test_messages_without_one_from_the_model_have_no_assistant_message(nothing: Any) -> None:
    verdict = Contract(reply=True).check(nothing)
    assert [(found.code, found.level) for found in verdict.findings] == [("Q001", "error"), ("R004", "warning")]
    assert verdict.reason == "No assistant message"
    assert verdict.metrics["assistant_messages"] == 0


@pytest.mark.parametrize("nothing", [None, 5, {"error": {"message": "Overloaded", "code": 503}}])
def test_other_values_count_as_no_message(nothing: Any) -> None:
    verdict = Contract(reply=True).check(nothing)
    assert [found.code[0] for found in verdict.findings] == ["R"]
    assert set(verdict.metrics.values()) == {0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<think>She wants to know the capital of Norway.</think>", "Empty response"),
        ("<think>She wants to know the capital of Nor", "Empty response"),
        ("\n<thinking>\nHm.\n</thinking>\n<think>Again.</think>\n  ", "Empty response"),
        ("<think>She wants to know the capital.</think>\n\nOslo", "Insufficient text (4 chars)"),
        ("<think>She wants to know.</think>It is Oslo.", ""),
        ("◁think▷She wants to know.◁/think▷It is Oslo.", ""),
        ("The <think> tag is for reasoning.", ""),
        ("<b>It is Oslo.</b>", ""),
    ],
)
def test_opening_reasoning_is_not_for_the_user(text: str, why: str) -> None:
    assert reason(text) == why
    assert reason(said(text)) == why


def test_a_rule_judges_the_visible_text() -> None:
    contract = Contract(reply={"rules": [{"name": "greets", "expr": "text.startswith('Hello')"}]})
    assert contract.check("<think>Greet her.</think>\nHello, how are you?").ok


@pytest.mark.parametrize("unseen", ["\0", "\x7f\x9f", "\U000e0061", "\U000e0100", "\u206f\u2066", "\u115f\ufe01"])
@pytest.mark.spec("Q6")
def test_invisible_characters_are_whitespace(unseen: str) -> None:
    assert reason(unseen * 12) == "Whitespace-only content"
    assert reason(f"{unseen}Yes{unseen}") == "Insufficient text (3 chars)"


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ({"min_texts": 5}, "'min_text'"),
        ({"rules": [{"nmae": "a", "expr": "first"}]}, "'name'"),
        ({"rules": [{"name": "a", "expr": "frist"}]}, "'first'"),
    ],
)
def test_a_misspelt_word_of_the_rules_gets_a_suggestion(spec: Any, meant: str) -> None:
    with pytest.raises(BadReplyRules, match=f"did you mean {meant}"):
        Contract(reply=spec)


@pytest.mark.spec("Q8")
def test_an_empty_variable_is_an_unset_one() -> None:
    empty = {"MIN_VALIDATION_TEXT_LENGTH": "", "VALIDATE_MIN_TEXT": " ", "VALIDATE_GREETING": ""}
    assert reason("Yes", True, empty) == "Insufficient text (3 chars)"
    assert reason("The answer is 42.", {"rules": [GREETING]}, empty) == "Missing greeting"


async def later(reply: Reply, context: Any) -> bool:
    return False


class Scalar:
    """A number as numpy and torch return it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        if self.value == [1, 2]:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.value


@pytest.mark.spec("Q9")
def test_a_rule_may_answer_with_the_scalars_of_a_model() -> None:
    def scored(reply: Reply, context: Any) -> dict[str, Any]:
        score = len(reply.text) / 20
        return {"ok": Scalar(score > 0.7), "metrics": {"score": Scalar(score)}}

    contract = Contract(reply={"rules": [scored]})
    assert contract.check("A fine and full answer.").metrics["score"] == 1.15
    assert not contract.check("Not so much").ok
    plain = Contract(reply={"rules": [lambda reply, context: Scalar(False)]})
    assert not plain.check("A fine and full answer.").ok


def leave(reply: Reply, context: Any) -> bool:
    raise SystemExit(3)


@pytest.mark.spec("Q9")
@pytest.mark.parametrize(
    "function",
    [
        lambda r, c: 0,
        lambda r, c: [],
        later,
        leave,
        lambda r, c: {"isValid": True},
        lambda r, c: {"metrics": {"total_text_length": 3}},
        lambda r, c: {"metrics": {"score": float("nan")}},
        lambda r, c: {"metrics": {"score": [1]}},
        lambda r, c: {"metrics": {3: 1}},
        lambda r, c: {"metrics": [1]},
        lambda r, c: {"ok": "false"},
        lambda r, c: {"ok": None},
        lambda r, c: {"reason": "Too rude"},
        lambda r, c: Scalar([1, 2]),
    ],
    ids=[
        "0",
        "list",
        "async",
        "exit",
        "key",
        "taken",
        "nan",
        "no-number",
        "no-name",
        "no-mapping",
        "ok-text",
        "ok-none",
        "no-ok",
        "array",
    ],
)
def test_a_rule_that_gives_no_answer_has_a_bug(function: Any) -> None:
    with pytest.raises((TypeError, ValueError, SystemExit)) as caught:
        reason("Hello there, my friend", {"rules": [{"name": "own", "check": function}]})
    bug = bug_of(caught.value)
    assert bug is not None
    assert bug.what == "the reply rule 'own'"
    assert bug.place.startswith("tests/checks/test_reply.py:")


@pytest.mark.spec("Q9")
def test_a_function_may_add_metrics_and_give_a_reason_to_pass() -> None:
    def scored(reply: Reply, context: Any) -> dict[str, Any]:
        return {"ok": len(reply.text) > 12, "reason": f"Score {len(reply.text)}", "metrics": {"score": len(reply.text)}}

    contract = Contract(reply={"rules": [scored, {"name": "silent", "check": lambda reply, context: True}]})
    passed, refused = contract.check("A fine and full answer."), contract.check("Not so much")
    assert (passed.reason, passed.metrics["score"]) == ("Score 23", 23)
    assert (refused.reason, refused.metrics["score"]) == ("Score 11", 11)
    assert (
        not Contract(reply={"rules": [{"name": "x", "check": lambda r, c: {"ok": False}, "reason": "No"}]})
        .check("A fine answer.")
        .ok
    )


@pytest.mark.spec("Q7")
@given(
    st.lists(
        st.builds(
            lambda role, before, calls, outputs, after: Turn(role, before + after, calls, outputs, after),
            st.sampled_from(["assistant", "tool"]),
            st.sampled_from(["", " ", "Done!", "It rains all day."]),
            st.integers(0, 2),
            st.integers(0, 2),
            st.sampled_from(["", "Done!", "It rains all day."]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_calls_without_text_are_counted_if_they_are_the_reason(turns: list[Turn]) -> None:
    rules = compile_reply({"no_message": False}, {})
    found, metrics = rules.check(Reply(turns=tuple(turns)), {})
    count = metrics["tool_calls_without_text"]
    if found and found[0].message == "Tool calls without text":
        assert count > 0
    acts = sum(max(turn.calls, 0) + turn.outputs for turn in turns)
    assert 0 <= count <= acts
    if turns[-1].role == "assistant" and turns[-1].text == "It rains all day." and not turns[-1].outputs:
        assert count == 0, "a last message that says enough explains everything before it"


def test_a_reply_that_passes_has_a_reason() -> None:
    contract = Contract(reply=True)
    assert contract.check("I understand.").reason == "Sufficient text content"
    assert contract.check([calling(), OUTPUT, said("It rains all day.")]).reason == "Tool outputs with explanation"
    assert Contract(reply=False).check("Yes").reason == "No rule refuses the reply"
    assert Contract(True).check("[1]").reason == ""
    assert Contract(reply=True, checks=[lambda verdict, context: []]).check("I understand.").reason


@pytest.mark.spec("Q8")
def test_switches_are_read_for_each_check_if_the_contract_says_so() -> None:
    environ = {"VALIDATE_GREETING": "false"}
    rules = compile_reply({"environment": "check", "rules": [GREETING, no_shouting]}, environ)

    def why(text: str) -> str:
        found, _ = rules.check(Reply(text=text), {})
        return found[0].message if found else ""

    assert why("THE ANSWER IS 42.") == "The rule 'no_shouting' refuses the reply"
    environ |= {"VALIDATE_NO_SHOUTING": "false"}
    assert why("THE ANSWER IS 42.") == ""
    environ |= {"VALIDATE_GREETING": "true"}
    assert why("THE ANSWER IS 42.") == "Missing greeting"
    environ |= {"VALIDATE_MIN_TEXT": "maybe"}
    assert "VALIDATE_MIN_TEXT: takes true or false" in why("Hello, THE ANSWER IS 42.")
    del environ["VALIDATE_MIN_TEXT"]
    assert why("Hello, THE ANSWER IS 42.") == ""


def no_shouting(reply: Reply, context: Any) -> bool:
    return not reply.text.isupper()
