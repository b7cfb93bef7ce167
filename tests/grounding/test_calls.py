"""Arguments of tool calls: looked up if the contract asks for it. A call with an invented argument is refused."""

from typing import Any

from trueup import Contract

TOOL = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}, "sort": {"enum": ["price", "stars"]}},
    },
}
HISTORY = [{"role": "user", "content": "Book me two nights in Oslo."}]


def check(arguments: str, **settings: Any) -> Any:
    contract = Contract(tools=[TOOL], grounded={"calls": True, **settings})
    reply = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "book", "arguments": arguments}}]}
    return contract.check(reply, {"history": HISTORY})


def test_arguments_from_the_conversation_pass() -> None:
    verdict = check('{"city": "Oslo", "nights": 2, "sort": "price"}')
    assert verdict.ok
    grades = {path: evidence.grade for path, evidence in verdict.evidence.items()}
    assert grades == {
        "$.calls[0].args.city": "exact", "$.calls[0].args.nights": "normalized", "$.calls[0].args.sort": "not checkable",
    }  # fmt: skip


def test_a_call_with_an_invented_argument_is_refused() -> None:
    verdict = check('{"city": "Bergen", "nights": 2}')
    assert [(found.code, found.path) for found in verdict.findings] == [("E001", "$.calls[0].args.city")]
    assert verdict.calls == ()
    assert [refusal.call.name for refusal in verdict.refused] == ["book"]


def test_arguments_are_left_alone_by_default() -> None:
    contract = Contract(tools=[TOOL], grounded=True)
    reply = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "book", "arguments": '{"city": "Bergen"}'}}],
    }
    assert contract.check(reply, {"history": HISTORY}).ok
