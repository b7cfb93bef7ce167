"""Grounding at the gateway: the conversation is the source, a refusal quotes nothing, and a bad source is a bad request."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Open
from trueup import Contract
from trueup.store.open import open_store

INVOICE = "Invoice 2024-118 of Harbourside. Total: GBP 1,178.00, payable within thirty days."
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "total": {"type": "number"}},
    "required": ["number", "total"],
}
GOOD = {"number": "2024-118", "total": 1178}
BAD = {**GOOD, "total": 1187}
CONTRACT = Contract(SCHEMA, grounded=True, name="invoice")
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": INVOICE}]}
DOCUMENT = {"type": "document", "title": "i", "source": {"type": "text", "media_type": "text/plain", "data": INVOICE}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": INVOICE}]}),
        (
            "/v1/chat/completions",
            {
                "messages": [
                    {"role": "user", "content": "Read."},
                    CALLED,
                    {"role": "tool", "tool_call_id": "1", "content": json.dumps({"text": INVOICE})},
                ],
                "tools": [TOOL],
            },
        ),
        ("/v1/responses", {"input": INVOICE}),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": INVOICE}]}]}),
        ("/v1/messages", {"max_tokens": 99, "messages": [{"role": "user", "content": INVOICE}]}),
        (
            "/v1/messages",
            {
                "max_tokens": 99,
                "messages": [{"role": "user", "content": "Read."}, USED, {"role": "user", "content": [RESULT]}],
                "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            },
        ),
    ],
)
def test_the_conversation_is_the_source(desk: Open, path: str, body: dict[str, Any], stream: bool) -> None:
    with desk([BAD, GOOD], CONTRACT) as d:
        answer = d.http.post(path, json={"model": "m", "stream": stream, **body})
        assert answer.status_code == 200
        assert "1178" in answer.text
        assert "1187" not in answer.text
        assert len(d.upstream.requests) == 2
        assert "GBP 1,178.00" in str(d.upstream.requests[1].messages[-1])


def test_a_document_in_a_message_is_a_source(desk: Open) -> None:
    with desk([GOOD], CONTRACT) as d:
        asked = [{"role": "user", "content": [DOCUMENT, {"type": "text", "text": "Extract."}]}]
        assert d.http.post("/v1/messages", json={"model": "m", "max_tokens": 99, "messages": asked}).status_code == 200


def test_a_refusal_quotes_neither_the_reply_nor_the_source(desk: Open, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store, desk([], CONTRACT, then=BAD, store=store) as d:
        answer = d.chat(INVOICE)
        assert answer.status_code == 422
        assert [each["code"] for each in answer.json()["error"]["findings"]] == ["E001", "A004"]
        assert not [word for word in ("1,178", "1178", "1187", "Harbourside") if word in answer.text]
        store.flush()
        kept = [found for found in store.verdicts() if not found.ok]
        assert kept
        assert not [found for found in kept if "1,178" in json.dumps(found.body)]


def test_the_context_may_contain_a_source(desk: Open) -> None:
    with desk([BAD, GOOD], CONTRACT) as d:
        answer = d.chat("Read it.", {"x-trueup-context": json.dumps({"source": {"mail": INVOICE}})})
        assert (answer.status_code, len(d.upstream.requests)) == (200, 2)


def test_a_check_returns_the_evidence(desk: Open) -> None:
    with desk([], CONTRACT) as d:
        body = {"reply": json.dumps(BAD), "context": {"source": {"mail": INVOICE}}}
        verdict = d.http.post("/v1/check", json=body).json()
        assert verdict["evidence"] == CONTRACT.check(body["reply"], {"source": {"mail": INVOICE}}).to_dict()["evidence"]
        assert verdict["evidence"]["$.number"]["places"][0] == {"document": "mail", "span": [8, 16], "text": "2024-118"}


@pytest.mark.parametrize(
    ("context", "said"),
    [({"source": 5}, "source is a text"), ({"source": INVOICE, "today": "soon"}, "today is a date")],
)
def test_a_source_that_cannot_be_used_is_a_bad_request(desk: Open, context: Any, said: str) -> None:
    with desk([], CONTRACT) as d:
        checked = d.http.post("/v1/check", json={"reply": json.dumps(GOOD), "context": context})
        asked = d.chat(INVOICE, {"x-trueup-context": json.dumps(context)})
        for answer in (checked, asked):
            assert answer.status_code == 400
            assert said in answer.json()["error"]["message"]
        assert d.upstream.requests == []


def test_a_source_counts_as_context(desk: Open) -> None:
    with desk([], CONTRACT) as d:
        body = {"reply": json.dumps(GOOD), "context": {"source": INVOICE * 100_000}}
        answer = d.http.post("/v1/check", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_too_large")
