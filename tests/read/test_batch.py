"""Lines of batch outputs, and the traps in them."""

import json
from typing import Any

import pytest

from trueup.read.reader import read, read_line

CHAT = {"object": "chat.completion", "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
MESSAGE = {"type": "message", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}
GEMINI = {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]}
CONVERSE = {"output": {"message": {"content": [{"text": "Yes."}]}}, "stopReason": "end_turn"}
INVOKED = {"outputs": [{"text": "Yes.", "stop_reason": "stop"}]}


def openai(status: int | None, body: Any, error: Any = None, **more: Any) -> dict[str, Any]:
    response = None if status is None else {"status_code": status, "request_id": "req", "body": body}
    return {"id": "batch_req_1", "custom_id": "u-1", "response": response, "error": error, **more}


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (openai(200, CHAT), "u-1"),
        ({"custom_id": "u-1", "result": {"type": "succeeded", "message": MESSAGE}}, "u-1"),
        ({"key": "u-1", "response": GEMINI}, "u-1"),
        ({"response": GEMINI, "metadata": {"key": "u-1"}}, "u-1"),
        ({"status": "", "request": {"contents": []}, "response": GEMINI, "key": "u-1"}, "u-1"),
        ({"recordId": "u-1", "modelInput": {}, "modelOutput": CONVERSE}, "u-1"),
        ({"recordId": "u-1", "modelInput": {}, "modelOutput": MESSAGE}, "u-1"),
        ({"recordId": "u-1", "modelInput": {}, "modelOutput": INVOKED}, "u-1"),
        ({"custom_id": "u-1", "response": {"status_code": 200, "body": CHAT}, "error": None}, "u-1"),
        ({"custom_id": "u-1", "response": {"status_code": 200, "body": json.dumps(CHAT)}}, "u-1"),
        ({"id": "batch_req_1", "response": {"status_code": 200, "body": CHAT}, "error": None}, ""),
        ({"custom_id": 7, "response": {"status_code": 200, "body": CHAT}}, "7"),
    ],
)
def test_lines_with_a_reply_are_read(line: dict[str, Any], key: str) -> None:
    for reading in (read(line), read_line(json.dumps(line)), read_line(json.dumps(line).encode())):
        assert reading.findings == ()
        assert (reading.key, reading.reply.text, reading.reply.finish) == (key, "Yes.", "stop")


@pytest.mark.parametrize(
    ("line", "status", "code", "message", "retryable"),
    [
        (
            openai(400, {"error": {"message": "Bad", "type": "invalid_request_error"}}),
            400,
            "invalid_request_error",
            "Bad",
            False,
        ),
        (
            openai(429, {"error": {"message": "Slow", "code": "rate_limit_exceeded"}}),
            429,
            "rate_limit_exceeded",
            "Slow",
            True,
        ),
        (openai(500, None), 500, "", "", True),
        (openai(None, None, {"code": "batch_expired", "message": "Late"}), None, "batch_expired", "Late", True),
        (openai(None, None, {"code": "batch_cancelled", "message": "Off"}), None, "batch_cancelled", "Off", True),
        (openai(400, None, {"message": "no body here", "code": 400}), 400, "", "no body here", False),
        (openai(None, None, "just words"), None, "", "just words", False),
        (openai(None, None), None, "empty_line", "the line contains neither a response nor an error", False),
        (openai(200, None), 200, "empty_line", "the line contains neither a response nor an error", False),
        (
            {
                "custom_id": "u-1",
                "result": {
                    "type": "errored",
                    "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "Bad"}},
                },
            },
            None,
            "invalid_request_error",
            "Bad",
            False,
        ),
        (
            {
                "custom_id": "u-1",
                "result": {"type": "errored", "error": {"error": {"type": "overloaded_error", "message": "Busy"}}},
            },
            None,
            "overloaded_error",
            "Busy",
            True,
        ),
        ({"custom_id": "u-1", "result": {"type": "expired"}}, None, "expired", "the request is expired", True),
        ({"custom_id": "u-1", "result": {"type": "canceled"}}, None, "canceled", "the request is canceled", True),
        (
            {"key": "u-1", "error": {"code": 3, "message": "Bad", "status": "INVALID_ARGUMENT"}},
            400,
            "INVALID_ARGUMENT",
            "Bad",
            False,
        ),
        ({"key": "u-1", "error": {"code": 14, "message": "Away"}}, 503, "", "Away", True),
        (
            {"recordId": "u-1", "modelInput": {}, "error": {"errorCode": 400, "errorMessage": "bad request"}},
            400,
            "",
            "bad request",
            False,
        ),
        (
            {"status": "Too many", "request": {}, "response": {}, "key": "u-1"},
            None,
            "",
            "Too many",
            False,
        ),
    ],
)
def test_failed_lines_are_failures(
    line: dict[str, Any], status: int | None, code: str, message: str, retryable: bool
) -> None:
    reading = read(line)
    (found,) = reading.findings
    assert found.code == "R002"
    assert found.data == {"status": status, "code": code, "message": message, "retryable": retryable}
    assert (reading.key, reading.reply.finish, reading.reply.text) == ("u-1", "error", "")


def test_an_error_takes_precedence_over_a_body() -> None:
    assert read(openai(200, CHAT, {"code": "x", "message": "No"})).findings[0].code == "R002"


def test_a_body_that_is_not_a_reply_is_reported() -> None:
    reading = read(openai(200, {"object": "list", "data": [{"embedding": [0.5]}]}))
    assert (reading.key, [f.code for f in reading.findings]) == ("u-1", ["R001"])
    reading = read(openai(200, {"error": {"message": "Bad"}}))
    assert [f.code for f in reading.findings] == ["R002"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"custom_id": "u-9", "response": {"body": {"choices": [', "u-9"),
        ('{"key":"u-9","response":{"candidates":[{"content"', "u-9"),
        ('{"recordId" : "u-9", oops', "u-9"),
        ("<html>502</html>", ""),
        ("[1, 2]", ""),
        ("null", ""),
        ("", ""),
    ],
)
def test_lines_that_are_not_json_keep_their_key(line: str, key: str) -> None:
    for source in (line, line.encode()):
        reading = read_line(source)
        assert (reading.key, [f.code for f in reading.findings]) == (key, ["R001"])
        assert reading.reply.raw == source


def test_a_line_that_is_not_utf8_is_reported() -> None:
    reading = read_line(b'{"custom_id": "u-9", "response": "\xff')
    assert (reading.key, [f.code for f in reading.findings]) == ("u-9", ["R001"])


def test_a_dict_with_a_key_is_not_a_batch_line() -> None:
    assert read({"key": "value"}).findings[0].code == "R001"
