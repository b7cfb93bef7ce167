"""Gemini: REST and SDK names, thoughts, blocked prompts, malformed calls."""

from typing import Any

import pytest

from trueup import Contract
from trueup.read.reader import read


def answer(*parts: dict[str, Any], finish: Any = "STOP", **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"index": 0, "content": content, "finishReason": finish, **more}], "modelVersion": "tiny-4"}


@pytest.mark.spec("T2")
def test_text_thoughts_and_calls_are_read() -> None:
    source = answer(
        {"text": "Thinking ", "thought": True},
        {"text": "hard.", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "It is "},
        {"text": "cold."},
        {"functionCall": {"name": "forecast", "args": {"city": "Oslo"}}},
        {"functionCall": {"id": "fc2", "name": "clock"}},
    )
    source["usageMetadata"] = {
        "promptTokenCount": 9,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 16,
    }
    reply = read(source).reply
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == (
        "It is cold.",
        "Thinking hard.",
        "tool",
        "tiny-4",
    )
    assert [(c.name, c.id, c.args) for c in reply.calls] == [("forecast", "", {"city": "Oslo"}), ("clock", "fc2", {})]
    assert reply.usage == {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16, "reasoning_tokens": 4}


def test_the_field_names_of_the_sdk_are_read() -> None:
    source = {
        "candidates": [
            {
                "finish_reason": "MAX_TOKENS",
                "content": {"role": "model", "parts": [{"text": "Hal", "function_call": None, "thought": None}]},
            }
        ],
        "prompt_feedback": None,
        "usage_metadata": {"prompt_token_count": 2, "candidates_token_count": 1},
        "model_version": "tiny-4",
    }
    reply = read(source).reply
    assert (reply.text, reply.finish, reply.model) == ("Hal", "length", "tiny-4")
    assert reply.usage == {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("SAFETY", "filter"),
        ("RECITATION", "filter"),
        ("BLOCKLIST", "filter"),
        ("PROHIBITED_CONTENT", "filter"),
        ("SPII", "filter"),
        ("IMAGE_SAFETY", "filter"),
        ("UNEXPECTED_TOOL_CALL", "malformed_tool"),
        ("TOO_MANY_TOOL_CALLS", "malformed_tool"),
        ("OTHER", "error"),
        (2, "length"),
        ("FinishReason.STOP", "stop"),
        ("SOMETHING_NEW", "unknown"),
    ],
)
def test_endings_are_read(reason: Any, finish: str) -> None:
    assert read(answer(finish=reason)).reply.finish == finish


def test_a_malformed_call_keeps_its_text() -> None:
    source = {
        "candidates": [
            {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "call: forecast(city=", "content": {}}
        ]
    }
    reply = read(source).reply
    assert (reply.finish, reply.text, reply.calls) == ("malformed_tool", "call: forecast(city=", ())


@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "JAILBREAK"])
def test_a_blocked_prompt_is_reported(reason: str) -> None:
    reading = read({"promptFeedback": {"blockReason": reason, "safetyRatings": []}})
    assert (reading.reply.finish, reading.reply.text, reading.findings) == ("filter", "", ())


def test_no_candidates_without_a_reason_is_no_answer() -> None:
    assert [f.code for f in read({"candidates": [], "usageMetadata": {}}).findings] == ["R004"]


def test_code_that_gemini_ran_is_an_output() -> None:
    reply = read(
        answer(
            {"text": "Let me compute."},
            {"executableCode": {"language": "PYTHON", "code": "print(4)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4"}},
            {"text": "Four."},
        )
    ).reply
    assert reply.text == "Let me compute.\n\nFour."
    assert (reply.messages[0].outputs, reply.messages[0].after) == (1, "Four.")


def test_content_without_parts_is_read() -> None:
    source = {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
    assert read(source).reply.text == ""


def fragments(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [answer({"functionCall": call}, finish=None) for call in calls]


def text_at(path: str, text: str, *, more: bool = True) -> dict[str, Any]:
    return {"partialArgs": [{"jsonPath": path, "stringValue": text, "willContinue": more}], "willContinue": True}


@pytest.mark.spec("T2")
def test_arguments_that_vertex_streams_in_fragments_are_one_call() -> None:
    chunks = [
        *fragments(
            {"id": "fc1", "name": "plan", "willContinue": True},
            text_at("$.stops[0].city", "Os"),
            text_at("$.stops[0].city", "lo", more=False),
            text_at("$['to.day']", "x", more=False),
            {
                "partialArgs": [
                    {"jsonPath": "$.stops[0].days", "numberValue": 3},
                    {"jsonPath": "$.stops[0].rain", "boolValue": False},
                    {"jsonPath": "$.stops[1]", "nullValue": "NULL_VALUE"},
                ],
                "willContinue": True,
            },
            {},
        ),
        answer({"functionCall": {"name": "clock", "args": {"zone": "CET"}}}, {"functionCall": {"name": "stop"}}),
    ]
    calls = read(chunks).reply.calls
    assert [(c.name, c.id, c.args) for c in calls] == [
        ("plan", "fc1", {"stops": [{"city": "Oslo", "days": 3, "rain": False}, None], "to.day": "x"}),
        ("clock", "", {"zone": "CET"}),
        ("stop", "", {}),
    ]


@pytest.mark.spec("T4")
@pytest.mark.parametrize(
    "path", ["", "stops", "$", "$.", "$[0]", "$.a[7]", "$.a[*]", "$..a", "$.a[-1]", "$" + ".a" * 101, 5, None]
)
def test_a_fragment_with_an_invalid_path_is_ignored(path: Any) -> None:
    pieces = [{"jsonPath": "$.b", "stringValue": "x"}, {"jsonPath": path, "stringValue": "y"}]
    (call,) = read(answer({"functionCall": {"name": "plan", "partialArgs": pieces}})).reply.calls
    assert call.args is None
    assert call.parse_error


@pytest.mark.spec("T4")
def test_an_unfinished_call_in_fragments_is_cut_off() -> None:
    contract = Contract(tools=[{"name": "plan", "parameters": {}}])
    verdict = contract.check([*fragments({"name": "plan", "willContinue": True}, text_at("$.city", "Os")), answer()])
    assert [f.code for f in verdict.findings] == ["T006"]
    again = [*fragments({"name": "plan", "willContinue": True}), answer({"functionCall": {"name": "plan"}})]
    assert [(c.name, c.args) for c in read(again).reply.calls] == [("plan", None), ("plan", {})]
