"""The list of fields: the page has it, real shapes are on it, errors quote nothing, and whole and streamed replies say the same."""

import json
from typing import Any

import pytest

from tests.gateway.conftest import PERSON, Open
from tools import client_fields
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.protocols.field_filter import clean, keep
from trueup.gateway.protocols.fields import CHAT, CHUNK, MESSAGE, MESSAGE_EVENTS, RESPONSE
from trueup.store.open import open_store
from trueup.testing.script import Call, Raw, Say

ONCE = Policy(otherwise="failed", repairs=0, retries=0, regenerations=0, backoff=0.01)
CLOSED = {**PERSON, "additionalProperties": False}


def test_the_page_has_the_list() -> None:
    page = client_fields.PAGE.read_text()
    assert client_fields.filled(page) == page, "run: python -m tools.client_fields"
    assert "`choices[0].message.reasoning_content`" in page


# Fields that providers and servers send, with values of their kind.
SHAPES: list[tuple[Any, Any]] = [
    (CHAT, {
        "id": "gen-1", "object": "chat.completion", "created": 1, "model": "a/b-1.5", "provider": "Some One", "service_tier": "default",
        "system_fingerprint": "fp_1", "request_id": "r1", "metadata": {"weight_version": "default"}, "x_groq": {"id": "req_1", "seed": 1},
        "prompt_filter_results": [{"prompt_index": 0}], "kv_transfer_params": None, "prompt_logprobs": None, "prompt_token_ids": None,
        "usage_breakdown": None, "time_info": {"queue_time": 0.1, "created": 1.5}, "metrics": None, "prompt": [], "prompt_text": None,
        "usage": {
            "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "queue_time": 0.1, "prompt_cache_hit_tokens": 0, "cost": 0.1,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0, "cache_write_tokens": 1, "video_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "accepted_prediction_tokens": 0, "image_tokens": 0},
            "cost_details": {"upstream_inference_cost": 0.1}, "is_byok": False, "num_cached_tokens": 0,
            "server_tool_use_details": {"web_search_requests": 1},
        },
        "choices": [{
            "index": 0, "finish_reason": "stop", "native_finish_reason": "completed", "logprobs": None, "stop_reason": None, "seed": 7,
            "content_filter_results": {"hate": {"filtered": False}}, "token_ids": None, "routed_experts": None,
            "message": {
                "role": "assistant", "content": "x", "refusal": None, "annotations": [{"type": "url_citation"}], "audio": {"transcript": ""},
                "reasoning": "x", "reasoning_content": "x", "reasoning_details": [{"text": "x"}], "function_call": None,
                "tool_calls": [{"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"}}],
            },
        }],
    }),
    (CHUNK, {
        "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "obfuscation": "x", "sla_metrics": {"ttft_ms": 1}, "usage": None,
        "choices": [{"index": 0, "finish_reason": None, "delta": {"role": "assistant", "content": "x", "channel": "analysis", "refusal": None}}],
    }),
    (MESSAGE, {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
        "stop_details": None, "container": {"id": "c"}, "content": [{"type": "text", "text": "x", "citations": None}, {"type": "thinking", "thinking": "x"}],
        "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 0}, "inference_geo": "global",
                  "service_tier": "standard", "server_tool_use": {"web_search_requests": 0}, "cache_read_input_tokens": 0,
                  "output_tokens_details": {"thinking_tokens": 0}},
    }),
    (MESSAGE_EVENTS["message_delta"], {
        "type": "message_delta", "usage": {"output_tokens": 1, "iterations": [{"type": "message"}]},
        "delta": {"stop_reason": "end_turn", "stop_sequence": None, "stop_details": None, "container": {"id": "c"}},
    }),
    (RESPONSE, {
        "id": "resp_1", "object": "response", "status": "completed", "created_at": 1, "completed_at": 2, "error": None, "incomplete_details": None,
        "model": "m", "instructions": "x", "metadata": {}, "text": {"format": {"type": "text"}}, "tools": [], "tool_choice": "auto", "top_p": 1.0,
        "temperature": 1.0, "truncation": "disabled", "store": True, "background": False, "billing": {"payer": "x"}, "user": None,
        "reasoning": {"effort": None}, "service_tier": "default", "parallel_tool_calls": True, "max_output_tokens": None, "moderation": None,
        "tool_usage": {}, "content_filters": None, "previous_response_id": None, "prompt_cache_key": None, "safety_identifier": None,
        "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "phase": "final_answer", "content": []},
                   {"type": "reasoning", "id": "r", "summary": [], "content": [], "encrypted_content": "x", "status": "completed"},
                   {"type": "function_call", "id": "f", "call_id": "c", "name": "n", "arguments": "{}", "status": "completed", "namespace": "x"}],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0}},
    }),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "body"), SHAPES)
def test_fields_of_real_providers_are_on_the_list(rules: Any, body: Any) -> None:
    dropped: set[str] = set()
    keep(rules, body, dropped, {})
    assert not [place for place in dropped if place.endswith("*")]
    keep(rules, {**body, "invented": "x"}, dropped, {})
    assert "*" in dropped


@pytest.mark.parametrize(("rules", "body"), SHAPES)
def test_a_clean_reply_loses_nothing(rules: Any, body: Any) -> None:
    is_clean = clean(rules)
    for name in (*body, "invented"):
        for value in ("two words", None, 1, True, [], {}, ["x"], {"x": 1}, "name-1"):
            alone = {name: value}
            dropped: set[str] = set()
            keep(rules, alone, dropped, {})
            assert not (is_clean(alone) and dropped), alone


@pytest.mark.spec("X41")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "said",
    [
        "the zebra said no", '{"name": "zebra", "age": "zebra"}', '{"name": "Ada", "age": 3, "zebra": {"zebra": "zebra"}}',
        Say("zebra", (Call("zebra", {"zebra": "zebra"}),)), Say(None, (Call("look", {"zebra": "zebra"}),)),
        Say(None, (Call("look", {"n": "zebra"}),)),
    ],
)  # fmt: skip
def test_an_error_does_not_quote_the_reply(desk: Open, tmp_path: Any, said: Any, protocol: str, stream: bool) -> None:
    look = {"name": "look", "parameters": {"properties": {"n": {"type": "integer"}}, "additionalProperties": False}}
    contract = Contract(CLOSED, tools=[look], name="person")
    with (
        open_store(tmp_path / "s.db") as store,
        desk([said], contract, policy=ONCE, protocol=protocol, store=store, hold="whole") as d,
    ):
        ask = d.chat if protocol == "openai" else d.message
        response = ask(stream=stream, headers={"x-trueup-include": "1"})
        error = (
            json.loads(response.text.rpartition("data: ")[2])["error"]
            if stream and response.status_code == 200
            else response.json()["error"]
        )
        assert "zebra" not in f"{response.headers} {response.text}"
        assert error["findings"], error
        for found in error["findings"]:
            assert set(found) == {"code", "name", "level", "path", "message"}
            assert found["path"].startswith("$")
        assert error["findings"][0]["code"] in error["message"]
        store.flush()
        kept = [found.message for summary in store.verdicts() for found in store.get(summary.id).verdict.findings]
    told = {found["message"] for found in error["findings"]}
    assert any(message not in told for message in kept), "the store has the whole messages"


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "said", ["<think>zebra</think>Hello there, how are you today?", "Hello there, how are you today?<|im_end|>"]
)
def test_whole_and_streamed_replies_say_the_same(desk: Open, said: str, protocol: str) -> None:
    with desk([said, said], Contract(reply=True), protocol=protocol) as d:
        ask = d.chat if protocol == "openai" else d.message
        whole, streamed = ask().json(), ask(stream=True).text
        text = whole["choices"][0]["message"]["content"] if protocol == "openai" else whole["content"][0]["text"]
        assert text == "Hello there, how are you today?"
        assert "zebra" not in streamed
        assert "im_end" not in streamed
        assert "Hello there" in streamed


def test_calls_that_the_client_offers_are_sent_under_a_contract_without_tools(desk: Open) -> None:
    words = "I am going to look that up for you now, one moment please."
    offered = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    with desk(
        [Say(words, (Call("look", {"n": 1}),)), Say(words, (Call("other", {}),))], Contract(reply=True), policy=ONCE
    ) as d:
        made = d.chat(tools=offered).json()["choices"][0]
        assert [call["function"]["name"] for call in made["message"]["tool_calls"]] == ["look"]
        assert (made["finish_reason"], made["message"]["content"]) == ("tool_calls", words)
        refused = d.chat(tools=offered)
        assert (refused.status_code, refused.json()["error"]["findings"][0]["code"]) == (422, "T001")


def test_other_fields_next_to_calls_are_judged_by_the_states(desk: Open) -> None:
    look = {"name": "look", "parameters": {"type": "object"}}
    contract = Contract(
        tools=[look], states={"start": "S", "S": {"forbid": [{"terms": ["zebra"]}], "fallback": "Hello."}}
    )
    calls = [{"name": "look", "arguments": {}}]
    tools = [{"type": "function", "function": look}]
    good = json.dumps({"toolCalls": calls, "content": "Looking.", "note": "fine", "needsMoreWork": True})
    with desk([good, good.replace("fine", "a zebra")], contract, policy=ONCE) as d:
        assert d.chat(tools=tools).json()["trueup"]["fields"] == {"note": "fine", "needsMoreWork": True}
        response = d.chat(tools=tools)
        assert "zebra" not in response.text


def test_an_error_inside_a_reply_is_not_quoted(desk: Open) -> None:
    inside = {"error": {"message": "zebra", "code": "zebra"}}
    with desk([Raw(json.dumps(inside)), Raw(json.dumps(inside), status=400)], PERSON, policy=ONCE) as d:
        assert "zebra" not in d.chat().text
        assert "zebra" in d.chat().text, "an HTTP error is about the request"
