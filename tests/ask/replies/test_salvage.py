"""The parts of a refused reply that may be given, and those that may not."""

from typing import Any

import pytest

from trueup import Contract
from trueup.ask.replies.salvage import salvage

SPEAK = {
    "name": "speak",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
ENVELOPE = Contract.envelope([SPEAK])
TOOLS = Contract(tools=[SPEAK])
PERSON = Contract({"type": "object", "required": ["name"]})


def part(contract: Contract, reply: Any, context: Any = None) -> tuple[str, Any, int] | None:
    verdict = salvage(contract, contract.check(reply, context or {}), context or {})
    return None if verdict is None else (verdict.reply.text, verdict.data, len(verdict.calls))


@pytest.mark.parametrize(
    ("contract", "reply", "given"),
    [
        (PERSON, "Ada wrote it.", ("Ada wrote it.", None, 0)),
        (PERSON, '{"age": 36}', ('{"age": 36}', {"age": 36}, 0)),  # the best reading
        (PERSON, "<think>Who?</think>Ada wrote it.", ("Ada wrote it.", None, 0)),
        (ENVELOPE, "Hello.", ("Hello.", {"content": "Hello."}, 0)),
        (ENVELOPE, '{"content": "Hi", "toolCalls": [{"name": "speak"}]}', ("Hi", {"content": "Hi"}, 0)),
        (TOOLS, 'Hi. <tool_call>{"name": "speak", "arguments": {}}</tool_call>', ("Hi.", None, 0)),
        (ENVELOPE, "<think>Only thoughts.</think>", None),
        (ENVELOPE, "", None),
        (TOOLS, '<tool_call>{"name": "speak", "arguments": {}}</tool_call>', None),
        (PERSON, {"error": {"message": "overloaded"}}, None),
        # text that is written as a call is removed, whether the tool exists or not
        (ENVELOPE, 'Hi. <tool_call>{"name": "launch", "arguments": {"n": 1}}</tool_call> Bye.', ("Hi. Bye.", {"content": "Hi. Bye."}, 0)),
        (ENVELOPE, '<function_calls><invoke name="launch"><parameter name="n">1</parameter></invoke></function_calls>', None),
        (ENVELOPE, '{"content": "Hi <tool_call>{\\"name\\": \\"launch\\", \\"arguments\\": {}}</tool_call>", "toolCalls": [{"name": "speak"}]}', ("Hi", {"content": "Hi"}, 0)),
        # incomplete replies
        (ENVELOPE, '{"toolCalls": [{"name": "speak", "arguments": {"text": "Delete a', None),
        (ENVELOPE, '{"content": "I will tell you that the', None),
    ],
)  # fmt: skip
def test_the_valid_part_is_given(contract: Contract, reply: Any, given: Any) -> None:
    assert part(contract, reply) == given


def test_native_calls_that_passed_stay_and_refused_ones_are_reported() -> None:
    calls = [
        {"id": str(n), "function": {"name": "speak", "arguments": arguments}}
        for n, arguments in enumerate(['{"text": "a"}', "{}"])
    ]
    verdict = TOOLS.check({"role": "assistant", "content": "Hi.", "tool_calls": calls})
    kept = salvage(TOOLS, verdict, {})
    assert kept is not None
    assert (kept.reply.text, [call.args for call in kept.calls]) == ("Hi.", [{"text": "a"}])
    assert [refusal.call.id for refusal in kept.refused] == ["1"]
    assert kept.errors == verdict.errors


@pytest.mark.parametrize(
    ("options", "context"),
    [
        ({"states": {"S": {"forbid": [{"terms": ["Ana"]}]}}}, {"state": "S"}),
        ({"states": {"S": {"forbid": [{"terms": ["never"]}]}}}, {"state": "unknown"}),
        ({"checks": [lambda verdict, context: ["no names"] if "Ana" in verdict.reply.text else []]}, {}),
        ({"reply": {"min_text": 100}}, {}),
        ({"max_size": 5}, {}),
    ],
    ids=["state", "unknown state", "custom check", "worth", "size"],
)
def test_a_reply_with_faults_beyond_form_is_not_given(options: dict[str, Any], context: Any) -> None:
    contract = Contract({"type": "object", "required": ["name"]}, **options)
    assert part(contract, "Ana is free.", context) is None
