"""A contract for requests: the user's messages are judged before anything is asked, wherever they may contain text."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from openai import BadRequestError, OpenAI

from tests.gateway.conftest import GOOD, PERSON, QUICK, Desk, Open
from tests.growth import assert_linear
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Config, Logs, Route, Upstream
from trueup.gateway.door.incoming import admit
from trueup.gateway.settings import read_config
from trueup.gateway.watching.metrics import Metrics
from trueup.store.open import open_store
from trueup.store.store import Store

CARD = "4111111111111111"
FORBIDS = {"start": "ANY", "ANY": {"forbid": [{"pattern": r"\b\d{16}\b", "why": "holds a card number"}]}}
QUESTION = Contract(states=FORBIDS, name="question")
JSON_ONLY = Contract(PERSON, accept="none", name="json-only")
TALK = Contract(
    {"type": "string", "maxLength": 40},
    rules=[{"name": "short_talk", "expr": "len(messages) <= 3", "error": "the conversation is too long"}],
    input=["messages"],
    name="talk",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("store") / "verdicts.db") as opened:
        yield opened


def config(url: str) -> Config:
    upstreams = {
        "main": Upstream("main", url, private=True),
        "other": Upstream("other", url, "anthropic", private=True),
    }
    judged = {"contract": Contract(PERSON, name="person"), "policy": QUICK}
    routes = (
        Route("passed", ("m",), request=QUESTION),
        Route("judged", ("judged",), request=QUESTION, **judged),  # type: ignore[arg-type]
        Route("state", ("state",), Contract(states={"HERE": {}}, name="here"), state="HERE", request=QUESTION),
        Route("json", ("json",), request=JSON_ONLY),
        Route("talk", ("talk",), request=TALK),
        Route("free", ("free",)),
    )
    return Config(upstreams, routes, quota=True)


@pytest.fixture
def open_desk(desk: Open, store: Store) -> Iterator[Desk]:
    store.quota.set_limit("acme", 1000)
    with desk([], then=GOOD, store=store, config=config) as opened:
        yield opened


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


# Every place of a request, in each protocol, that may contain a user's text.
PLACES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {"messages": [user(CARD)]}),
    ("/v1/chat/completions", {"messages": [user(CARD), {"role": "assistant", "content": "ok"}, user("and now?")]}),
    ("/v1/chat/completions", {"messages": [user([{"type": "text", "text": "a"}, {"type": "text", "text": CARD}])]}),
    ("/v1/chat/completions", {"messages": [{"role": "somebody", "content": CARD}]}),
    ("/v1/chat/completions", {"messages": [{"role": "User", "content": CARD}]}),
    ("/v1/messages", {"messages": [user([{"type": "text", "text": CARD}])]}),
    ("/v1/messages", {"messages": [user([{"type": "tool_result", "tool_use_id": "a", "content": "1"}, {"type": "text", "text": CARD}])]}),
    ("/v1/messages", {"messages": [user([{"type": "document", "title": CARD, "source": {"type": "text", "data": "x"}}])]}),
    ("/v1/messages", {"messages": [user([{"type": "document", "source": {"type": "text", "data": CARD}}])]}),
    ("/v1/messages", {"messages": [user([{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": CARD}]}}])]}),
    ("/v1/responses", {"input": CARD}),
    ("/v1/responses", {"input": [user([{"type": "input_text", "text": CARD}])]}),
    ("/v1/responses", {"input": [{"type": "message", **user(CARD)}]}),
    ("/v1/responses", {"input": "x", "prompt": {"id": "p", "variables": {"name": CARD}}}),
    # Fields that belong to another protocol hide nothing.
    ("/v1/responses", {"input": CARD, "messages": [user("hello")]}),
    ("/v1/chat/completions", {"messages": [{**user(CARD), "type": "tool_result"}]}),
    ("/v1/chat/completions", {"messages": [user([{"type": "tool_result", "content": CARD}])]}),
    ("/v1/chat/completions", {"messages": [user([{"type": ["text"], "text": CARD}])]}),
    ("/v1/messages", {"messages": [{**user(CARD), "type": "reasoning"}]}),
    ("/v1/messages", {"messages": [user([{"type": "reasoning", "text": CARD}])]}),
    ("/v1/responses", {"input": [{"type": "function_call_output", "call_id": "a", **user(CARD)}]}),
    ("/v1/responses", {"input": [user([{"type": "tool_result", "text": CARD}])]}),
    ("/v1/responses", {"input": "x", "prompt": {"id": "p", "variables": {"name": {"type": "input_text", "text": CARD}}}}),
]  # fmt: skip


@pytest.mark.parametrize("model", ["m", "judged", "state"])
def test_a_text_of_the_user_is_judged_at_any_position(open_desk: Desk, store: Store, model: str) -> None:
    for path, body in PLACES:
        whole = {"model": model, "max_tokens": 5, **body}
        answer = open_desk.http.post(path, json=whole, headers={"x-trueup-tenant": "acme", "x-should": "not"})
        assert answer.status_code == 400, whole
        error = answer.json()["error"]
        assert error["code"] == "request_refused"
        assert [found["code"] for found in error["findings"]] == ["D001"]
        assert answer.headers["x-should-retry"] == "false"
    assert open_desk.upstream.requests == []
    assert all(row.used == 0 and row.held == 0 for row in store.quota.standings("acme"))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [user("hello")], "Messages": [user(CARD)]}),
        ("/v1/chat/completions", {"messages": [user("hello")], "me\u017f\u017fages": [user(CARD)]}),
        ("/v1/chat/completions", {"messages": [{**user("hello"), "Content": CARD}]}),
        ("/v1/chat/completions", {"messages": [{"role": "assistant", "Role": "user", "content": CARD}]}),
        ("/v1/chat/completions", {"messages": [user([{"type": "text", "text": "hello", "TEXT": CARD}])]}),
        ("/v1/messages", {"messages": [user([{"type": "tool_result", "Type": "text", "text": CARD}])]}),
        ("/v1/responses", {"input": "hello", "INPUT": CARD}),
        ("/v1/responses", {"input": "hello", "prompt": {"id": "p", "Variables": {"name": CARD}}}),
    ],
)
def test_a_key_in_another_spelling_is_refused_because_some_upstreams_read_it(
    open_desk: Desk, path: str, body: dict[str, Any]
) -> None:
    answer = open_desk.http.post(path, json={"model": "m", "max_tokens": 5, **body})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_value"), answer.text
    assert open_desk.upstream.requests == []


def test_names_that_clients_choose_may_have_capitals(open_desk: Desk) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"Content": {}, "Role": {}}}}}
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"Content": 1}'}}
    talk = [user("hello"), {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert open_desk.chat(tools=[tool], messages=talk).status_code == 200
    prompt = {"id": "p", "variables": {"Name": "Ada", "Text": "x"}}
    sent = {"model": "m", "input": "hello", "prompt": prompt}
    assert open_desk.http.post("/v1/responses", json=sent).status_code == 200


def test_text_that_the_user_did_not_write_is_not_judged(open_desk: Desk) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": CARD}}
    output = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": CARD}]}
    fine: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {"messages": [{"role": "system", "content": CARD}, user("hello")]}),
        ("/v1/chat/completions", {"messages": [{"role": "assistant", "content": CARD}, user("hello")]}),
        ("/v1/chat/completions", {"messages": [{"role": "tool", "tool_call_id": "a", "content": CARD}, user("hello")]}),
        ("/v1/messages", {"system": CARD, "messages": [user([image, output])]}),
        ("/v1/responses", {"instructions": CARD, "input": [{"type": "function_call_output", "call_id": "a", "output": CARD}]}),
        ("/v1/responses", {"input": [{"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": CARD}]}, user("x")]}),
    ]  # fmt: skip
    for path, body in fine:
        assert open_desk.http.post(path, json={"model": "m", "max_tokens": 5, **body}).status_code == 200, body
    assert open_desk.chat(CARD, model="free").status_code == 200


def test_a_refusal_is_stored_with_its_text_and_feedback_finds_it(open_desk: Desk, store: Store) -> None:
    answer = open_desk.chat(f"my card is {CARD}", headers={"x-trueup-tenant": "acme", "x-trueup-user": "ada"})
    store.flush()
    stored = store.get(answer.headers["x-trueup-verdict"])
    assert (stored.outcome, stored.contract, stored.model, stored.tenant, stored.user) == (
        "request_refused", "question", "m", "acme", "ada",
    )  # fmt: skip
    assert stored.verdict is not None
    assert stored.verdict.reply.text == f"my card is {CARD}"
    assert not stored.ok
    assert 'route="passed",model="m",outcome="refused",status="400"' in open_desk.http.get("/metrics").text


def test_a_refusal_is_in_the_verdict_log(desk: Open, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.log"
    with desk([], config=lambda url: replace(config(url), quota=False, logs=Logs(verdicts=str(path)))) as d:
        d.chat(f"my card is {CARD}")
        wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    row = json.loads(path.read_text())
    assert (row["outcome"], row["contract"], row["model"]) == ("request_refused", "question", "m")
    assert row["violations"][0]["code"] == "D001"


def test_a_message_may_have_to_be_json_and_rules_see_the_conversation(open_desk: Desk) -> None:
    assert open_desk.chat('{"name": "Ada", "age": 36}', model="json").status_code == 200
    refused = open_desk.chat('{"name": "Ada"}', model="json").json()["error"]
    assert [(found["code"], found["path"]) for found in refused["findings"]] == [("V002", "$.age")]
    assert refused["message_index"] == 0
    assert open_desk.chat("no json", model="json").status_code == 400
    assert open_desk.chat("hello", model="talk").status_code == 200
    assert open_desk.chat("x" * 50, model="talk").json()["error"]["findings"][0]["code"] == "V007"
    long = [user("hi"), {"role": "assistant", "content": "yes?"}] * 2
    answer = open_desk.chat(model="talk", messages=[*long, user("hi")]).json()["error"]
    assert answer["message"] == "the request was refused: B005 the conversation is too long"


def test_the_judged_request_is_the_one_that_is_sent(open_desk: Desk) -> None:
    twice = (
        json.dumps({"model": "m", "messages": [user(CARD)]})[:-1] + ', "messages": [{"role": "user", "content": "hi"}]}'
    )
    assert open_desk.http.post("/v1/chat/completions", content=twice).status_code == 200
    assert CARD.encode() not in open_desk.upstream.requests[-1].body


def test_a_client_gets_an_error_of_its_protocol_and_a_stream_gets_no_events(open_desk: Desk) -> None:
    client = OpenAI(base_url=open_desk.url + "/v1", api_key="any")
    for stream in (False, True):
        with pytest.raises(BadRequestError) as caught:
            client.chat.completions.create(model="judged", messages=[{"role": "user", "content": CARD}], stream=stream)
        assert caught.value.code == "request_refused"
    wrong = open_desk.http.post(
        "/v1/chat/completions", json={"model": "m", "messages": {"role": "user", "content": CARD}}
    )
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "invalid_value")


def test_a_bug_in_the_contract_refuses_the_request(desk: Open) -> None:
    def check(verdict: Any, context: Any) -> Any:
        raise KeyError("oops")

    broken = Contract(checks=[check], name="broken")
    made = lambda url: Config({"main": Upstream("main", url, private=True)}, (Route("all", ("*",), request=broken),))  # noqa: E731
    with desk([], config=made) as d:
        answer = d.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "contract_bug")
        assert d.upstream.requests == []


@pytest.mark.growth
@pytest.mark.parametrize("contract", [QUESTION, Contract(reply=True, checks=[lambda verdict, context: []], name="own")])
def test_many_messages_take_linear_time(contract: Contract) -> None:
    def make(n: int) -> Any:
        messages = [user("How do I get to the station from here, please?")] * n
        known = {"context": {}, "extended": False, "body": lambda: {"messages": messages}}
        return SimpleNamespace(**known, protocol=SimpleNamespace(path="/v1/chat/completions"))

    assert_linear(lambda asked: asyncio.run(admit(cast("Any", None), asked, contract, None, Metrics())), make, 4000)


def test_a_file_names_the_contract_and_lint_checks_it(tmp_path: Path) -> None:
    (tmp_path / "question.yaml").write_text("schema: {type: string, maxLength: 100}\n")
    (tmp_path / "nowhere.yaml").write_text("states: {HERE: {forbid: [{terms: [x], why: y}]}}\n")
    start = "upstreams: {main: {url: 'http://127.0.0.1:9', private: true}}\ncontracts: {question: question.yaml, nowhere: nowhere.yaml}\n"
    file = tmp_path / "gateway.yaml"

    def read(route: str) -> tuple[Any, list[str]]:
        file.write_text(f"{start}routes:\n  - {{name: all, models: '*', {route}}}\n")
        found, faults = read_config(file)
        return found, [f"{fault.line}:{fault.code}" for fault in faults]

    made, faults = read("request: question")
    assert faults == []
    assert made.routes[0].request.name == "question"
    assert read("request: qestion")[1] == ["4:N006"]
    assert read("request: nowhere")[1] == ["4:N018"]
    assert read("request: nowhere, state: HERE")[1] == []
