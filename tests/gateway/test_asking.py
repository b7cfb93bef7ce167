"""Replies under a contract: fixed, repaired, regenerated, replaced or refused, in the client's own protocol."""

import json
from pathlib import Path

import pytest

from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK, Open
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Config, Route, Upstream
from trueup.store.open import open_store
from trueup.testing.script import Call, Cut, Fail, Raw, Reset, Say

SALON = Contract.load(Path(__file__).parents[2] / "examples" / "contracts" / "salon.yaml")
LATER = {"x-trueup-state": "SERVICE_SELECTION"}


def content(response: object) -> str:
    return str(response.json()["choices"][0]["message"]["content"])  # type: ignore[attr-defined]


def test_a_valid_reply_is_passed_through_unchanged(desk: Open) -> None:
    right = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m-1", "usage": {"total_tokens": 3},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}],
    }  # fmt: skip
    with desk([Raw(json.dumps(right)), Raw(json.dumps({**right, "new_field": {"lost": [1]}}))], PERSON) as d:
        response = d.chat()
        assert list(response.json().items()) == list(right.items())
        assert response.headers["x-trueup-outcome"] == "accepted"
        assert response.headers["x-trueup-attempts"] == "1"
        assert float(response.headers["x-trueup-overhead-ms"]) > 0
        assert len(response.headers["x-trueup-verdict"]) == 32
        assert "x-trueup-dropped" not in response.headers
        response = d.chat()
        assert (response.json()["usage"], response.json()["choices"][0]["message"]["content"]) == (right["usage"], GOOD)
        assert "new_field" not in response.text
        assert response.headers["x-trueup-dropped"] == "*"


def test_repairable_parts_are_repaired_and_the_rest_of_the_reply_stays(desk: Open) -> None:
    with desk(['```json\n{"name": "Ada", "age": "36",}\n```'], PERSON) as d:
        response = d.chat()
        assert content(response) == '{"name":"Ada","age":36}'
        assert response.json()["usage"]["total_tokens"] > 0
        assert "trueup" not in response.json()


def test_findings_and_fixes_are_sent_on_request(desk: Open) -> None:
    with desk(['{"name": "Ada", "age": 36,}', GOOD], PERSON) as d:
        told = d.chat(headers={"x-trueup-include": "1"}).json()["trueup"]
        assert (told["outcome"], told["attempts"], [fix["code"] for fix in told["fixes"]]) == ("accepted", 1, ["S001"])
        assert (told["fixes"][0]["name"], told["certainty"], told["confidence"]) == ("trailing-comma", 1.0, 1.0)
        told = d.chat(trueup={"include": True}).json()["trueup"]
        assert told["fixes"] == []
        assert "trueup" not in d.upstream.requests[-1].json


@pytest.mark.spec("A7", "X43")
def test_an_invalid_reply_is_repaired_before_the_client_sees_it(desk: Open) -> None:
    with desk(['{"name": "Ada"}', GOOD, GOOD], PERSON) as d:
        response = d.chat(temperature=0.9, custom_field="kept")
        assert json.loads(content(response)) == {"name": "Ada", "age": 36}
        assert response.headers["x-trueup-outcome"] == "repaired"
        assert response.headers["x-trueup-attempts"] == "2"
        first, second = d.upstream.requests
        assert first.json["temperature"] == 0.9
        assert second.json["temperature"] == 0
        assert second.json["custom_field"] == "kept"
        assert '{"name": "Ada"}' in second.json["messages"][-1]["content"]
        both, one = response.json()["usage"], d.chat(temperature=0.9).json()["usage"]
        assert both["completion_tokens"] > one["completion_tokens"], "both attempts are told"


@pytest.mark.spec("X41")
def test_an_unobtainable_reply_is_a_protocol_error_and_its_text_is_withheld(desk: Open) -> None:
    secret = "the useful but invalid answer " * 20
    with desk([], PERSON, then=secret) as d:
        response = d.chat()
        assert response.status_code == 422
        error = response.json()["error"]
        assert (error["type"], error["code"]) == ("contract_violation", "contract_violation")
        assert error["findings"][0]["code"] == "P001"
        assert error["trueup"]["attempts"] == 3
        assert secret[:60] not in response.text
        assert len(d.upstream.requests) == 3
        response = d.message()
        assert response.status_code == 422
        assert response.json()["type"] == "error"
        assert response.json()["error"]["findings"][0]["code"] == "P001"
        assert secret[:60] not in response.text


@pytest.mark.spec("C9", "C10", "C11")
def test_a_reply_of_another_state_is_requested_again_with_the_hint_and_then_replaced(desk: Open) -> None:
    bad = "Te recomiendo a Ana para ese servicio, es estupenda."
    good = "¿Qué servicio te gustaría reservar hoy? Tenemos corte y color."
    with desk([bad, good, bad, bad], SALON) as d:
        response = d.chat(headers=LATER)
        assert content(response) == good
        assert response.headers["x-trueup-outcome"] == "regenerated"
        hint = d.upstream.requests[1].json["messages"][0]
        assert hint["role"] == "system"
        assert "No nombres estilistas" in hint["content"]
        assert d.upstream.requests[1].json["temperature"] == 0.3
        response = d.chat(trueup={"state": "SERVICE_SELECTION"})
        assert response.headers["x-trueup-outcome"] == "fallback"
        assert content(response) == SALON.fallback({"state": "SERVICE_SELECTION"})
        said = d.chat(headers={"x-trueup-context": "not json"})
        assert said.status_code == 400


def test_the_context_can_be_a_header(desk: Open) -> None:
    reply = "Un corte para María. ¿Qué más te gustaría reservar?"
    with desk([reply, reply], SALON, policy=Policy(otherwise="failed", regenerations=0)) as d:
        known = json.dumps({"state": "SERVICE_SELECTION", "data": {"first_name": "María"}})
        assert content(d.chat(headers={"x-trueup-context": known})) == reply
        assert content(d.chat(headers=LATER)) != reply


def test_calls_are_judged_and_repaired(desk: Open) -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "book",
                "parameters": {
                    "type": "object",
                    "properties": {"day": {"type": "integer"}},
                    "required": ["day"],
                    "additionalProperties": False,
                },
            },
        }
    ]
    contract = Contract(tools=tools, name="booking")
    leaked = '<tool_call>{"name": "book", "arguments": {"day": 3}}</tool_call>'
    with desk(
        [Say(None, (Call("book", {"day": "3"}),)), leaked, Say(None, (Call("bok", {"day": 3}),))],
        contract,
        then="I cannot.",
    ) as d:
        message = d.chat(tools=tools).json()["choices"][0]["message"]
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"day": 3}
        choice = d.chat(tools=tools).json()["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "book"
        assert choice["message"]["content"] is None
        response = d.chat(tools=tools)
        assert d.upstream.requests[-1].json["messages"][-1]["role"] == "tool"
        assert response.status_code == 200


def test_a_context_gives_each_call_its_position(desk: Open) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "book")]
    contract = Contract(tools=tools, order={"level": "error"}, name="booking")
    with desk([Say(None, (Call("book", {}),)), Say(None, (Call("look", {}),))], contract) as d:
        response = d.chat(tools=tools, trueup={"expected_sequence": ["look", "book"]})
        assert response.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"
        assert "position 0" in json.dumps(d.upstream.requests[1].json["messages"])
        assert d.chat(tools=tools, trueup={"expected_sequence": "look"}).status_code == 400


@pytest.mark.spec("A8", "X36")
def test_connection_failures_are_retried(desk: Open) -> None:
    script = [Fail(500), Reset(), Cut("half a rep", events=-1), GOOD]
    with desk(script, PERSON) as d:
        response = d.chat()
        assert response.status_code == 200
        assert json.loads(content(response)) == {"name": "Ada", "age": 36}
        assert response.headers["x-trueup-attempts"] == "4"


def test_a_refusal_of_the_upstream_is_reported_in_its_own_words(desk: Open) -> None:
    with desk([Fail(404, "no such model")], PERSON) as d:
        response = d.chat()
        assert response.status_code == 404
        assert "no such model" in response.json()["error"]["message"]


@pytest.mark.spec("X25")
def test_our_key_is_in_no_answer_and_not_in_the_store(desk: Open, tmp_path: Path) -> None:
    leak = Raw(
        json.dumps({"error": {"message": f"bad key {KEY}", "type": "invalid_request_error"}}).encode(), status=401
    )
    script = [leak, leak, Fail(400, f"your key {KEY} is wrong"), f"my key is {KEY}"]
    with desk(script, PERSON, then=f'{{"name": "{KEY}"}}') as d:
        for response in (d.chat(), d.message(), d.chat(), d.chat()):
            assert response.status_code >= 400
            assert KEY not in response.text
            assert KEY not in str(response.headers)
    with open_store(tmp_path / "s.db") as store:
        assert store.quota.audit() == []


@pytest.mark.spec("A9")
def test_a_refused_mode_is_stepped_down_and_the_next_model_is_asked(desk: Open) -> None:
    policy = Policy(otherwise="failed", models=("second",), repairs=0, backoff=0.01)
    with desk({"m": ["no"], "second": [GOOD]}, PERSON, reject={"json_schema"}, policy=policy) as d:
        response = d.chat()
        assert json.loads(content(response))["name"] == "Ada"
        kinds = [request.json.get("response_format", {}).get("type") for request in d.upstream.requests]
        assert kinds[:2] == ["json_schema", "json_object"]
        assert d.upstream.requests[-1].json["model"] == "second"


def test_the_clients_own_format_is_not_changed(desk: Open) -> None:
    with desk([GOOD], PERSON) as d:
        own = {"type": "json_object"}
        d.chat(response_format=own)
        sent = d.upstream.requests[-1].json
        assert sent["response_format"] == own
        assert len(sent["messages"]) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"model": "m"}', "'messages' must be a list"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "'model' must be"),
        (b'{"model": "m", "messages": [1], "n": 3}', "'n' must be 1"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "trueup": 5}', "'trueup' must be an object"),
        (b"[" * 100_000, "not a JSON object"),
    ],
)
def test_an_invalid_request_is_refused(desk: Open, body: bytes, message: str) -> None:
    with desk([], Contract(PERSON), config=lambda url: Config(
        {"main": Upstream("main", url, private=True)}, (Route("all", ("*", ""), Contract(PERSON), policy=QUICK),)
    )) as d:  # fmt: skip
        response = d.http.post("/v1/chat/completions", content=body)
        assert response.status_code == 400
        assert message in response.json()["error"]["message"]
        assert d.upstream.requests == []


def test_contracts_are_chosen_by_route_model_and_header_and_cannot_be_bypassed(desk: Open) -> None:
    def config(url: str) -> Config:
        person = Contract(PERSON, name="person")
        return Config(
            {"main": Upstream("main", url, private=True)},
            (Route("strict", ("strict-*",), person, policy=QUICK), Route("open", ("open-*",))),
            contracts={"person": person},
        )

    with desk([], then="just words", config=config) as d:
        assert d.chat(model="open-1").status_code == 200
        assert d.chat(model="strict-1").status_code == 422
        assert d.chat(model="strict-1", headers={"x-trueup-contract": ""}).status_code == 422
        assert d.chat(model="open-1", headers={"x-trueup-contract": "person"}).status_code == 422
        assert d.chat(model="open-1", trueup={"contract": "person"}).status_code == 422
        assert d.chat(model="open-1", headers={"x-trueup-contract": "other"}).status_code == 400
        body = {"model": "any", "messages": [{"role": "user", "content": "x"}]}
        assert d.http.post("/strict/v1/chat/completions", json=body).status_code == 422
        assert d.http.post("/nowhere/v1/chat/completions", json=body).status_code == 404


TOOLS = [{"name": "look", "description": "Look around", "parameters": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize(
    ("path", "tool", "given", "sent"),
    [
        ("/v1/chat/completions", {"type": "function", "function": TOOLS[0]}, None, "required"),
        ("/v1/chat/completions", {"type": "function", "function": TOOLS[0]}, "auto", "required"),
        ("/v1/chat/completions", {"type": "function", "function": TOOLS[0]}, "none", "none"),
        ("/v1/messages", {"name": "look", "input_schema": {"type": "object"}}, None, {"type": "any"}),
        ("/v1/messages", {"name": "look", "input_schema": {"type": "object"}}, {"type": "auto", "disable_parallel_tool_use": True},
         {"type": "any", "disable_parallel_tool_use": True}),
        ("/v1/messages", {"name": "look", "input_schema": {"type": "object"}}, {"type": "tool", "name": "look"},
         {"type": "tool", "name": "look"}),
    ],
)  # fmt: skip
def test_a_call_that_the_contract_requires_is_required_of_the_upstream(
    desk: Open, path: str, tool: object, given: object, sent: object
) -> None:
    contract = Contract(tools=TOOLS, calls={"required": True}, name="looking")
    with desk([Call("look", {})], contract) as d:
        body = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Look."}], "tools": [tool]}
        answer = d.http.post(path, json=body if given is None else {**body, "tool_choice": given})
        assert answer.status_code == 200, answer.text
        assert d.upstream.requests[0].json["tool_choice"] == sent


def test_under_a_contract_a_server_error_is_not_quoted_because_it_may_quote_the_model(
    desk: Open, tmp_path: Path
) -> None:
    said = "error parsing tool call: raw='words that nobody judged'"
    once = Policy(otherwise="failed", retries=0, breaker=0)
    pages = [Fail(500, said), Raw(said, 500, "text/plain"), Fail(503, said), Raw(f'{{"error": "{said}"}}', 502)]
    script = [page for page in pages for _ in range(2)]
    with open_store(tmp_path / "v.db") as store, desk(script, PERSON, policy=once, store=store) as d:
        for at in range(len(script)):
            got = d.chat(stream=bool(at % 2))
            assert got.status_code in (502, 503)
            assert "nobody judged" not in got.text
            assert "the upstream failed with status 50" in got.json()["error"]["message"]
        store.flush()
        kept = store.get(got.headers["x-trueup-verdict"])
        assert "nobody judged" in str(kept.body)
