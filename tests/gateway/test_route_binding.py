"""A model that a route binds to a contract stays bound, whatever the path, the spelling or the body of a request says."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import PERSON
from tests.gateway.provider import Answer, Asked, Provider, provider
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Caller, Config, Route, Spare, Upstream
from trueup.gateway.running import Running, running

MARKER = "words that nobody judged"
CHAT = "/v1/chat/completions"
HTTP = httpx.Client(timeout=60)
ONCE = Policy(otherwise="failed", repairs=0, regenerations=0)
TALK = [{"role": "user", "content": "Who?"}]


def answer(asked: Asked) -> Answer:
    """The marker in the protocol of the path; streamed wherever `stream` is somehow true."""
    try:
        body = json.loads(asked.body)
    except ValueError:
        body = {}
    if "messages" in asked.path and "chat" not in asked.path:
        said: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": MARKER}],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
    elif "responses" in asked.path:
        content = [{"type": "output_text", "text": MARKER, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        said = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "status": "completed",
            "output": [item],
        }
    else:
        message = {"role": "assistant", "content": MARKER}
        choice = {"index": 0, "finish_reason": "stop"}
        said = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        if body.get("stream"):
            said = {**said, "object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
            return Answer(b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(said).encode(), "text/event-stream")
        said["choices"] = [{**choice, "message": message}]
    return Answer(json.dumps(said).encode())


@pytest.fixture(scope="module")
def upstream() -> Iterator[Provider]:
    with provider(answer) as found:
        yield found


@pytest.fixture(scope="module")
def gateway(upstream: Provider) -> Iterator[Running]:
    person = Contract(PERSON, name="person")
    short = Contract({"type": "string", "maxLength": 20}, name="short")
    upstreams = {
        "main": Upstream("main", upstream.url, private=True),
        "also": Upstream("also", upstream.url, "anthropic", private=True),
    }
    routes = (
        Route("strict", ("gpt-*",), person, policy=ONCE),
        Route("salon", ("salon-*",), person, policy=ONCE, model="mini-1", fallback=(Spare("also", "haiku-1"),)),
        Route("screened", ("ask-*",), request=short),
        Route("free", ("free-*", "mini-2")),
        Route("open"),
        Route("own", (), Contract({"type": "string"}, name="own"), policy=ONCE),
    )
    with running(Config(upstreams, routes, endpoints=("completions", "embeddings", "images", "batches"))) as found:
        yield found


def post(gateway: Running, path: str, body: bytes | dict[str, Any], **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HTTP.post(gateway.url + path, content=content, headers=headers)


def bodies(model: str) -> list[tuple[str, dict[str, Any]]]:
    """A request for a model in each protocol."""
    return [
        (CHAT, {"model": model, "messages": TALK}),
        (CHAT, {"model": model, "messages": TALK, "stream": True}),
        ("/v1/messages", {"model": model, "messages": TALK, "max_tokens": 9}),
        ("/v1/responses", {"model": model, "input": "Who?"}),
    ]


@pytest.mark.parametrize("prefix", ["/free", "/open", "/screened"])
@pytest.mark.parametrize("model", ["gpt-1", "salon-1", "GPT-1", " gpt-1", "mini-1", "haiku-1"])
def test_the_path_of_another_route_does_not_bypass_a_contract(
    gateway: Running, upstream: Provider, prefix: str, model: str
) -> None:
    before = len(upstream.asked)
    for path, body in bodies(model):
        got = post(gateway, prefix + path, body)
        assert (got.status_code, got.json()["error"]["code"]) == (403, "contract_bound"), path
        assert got.headers["x-should-retry"] == "false"
    assert len(upstream.asked) == before


def test_a_contract_for_requests_is_not_bypassed_either(gateway: Running, upstream: Provider) -> None:
    before = len(upstream.asked)
    for prefix in ("/free", "/open", "/strict"):
        for path, body in bodies("ask-1"):
            got = post(gateway, prefix + path, body)
            assert (got.status_code, got.json()["error"]["code"]) == (403, "contract_bound"), (prefix, path)
    assert len(upstream.asked) == before


def test_a_route_with_its_own_contract_keeps_it(gateway: Running) -> None:
    got = post(gateway, f"/own{CHAT}", {"model": "gpt-1", "messages": TALK})
    assert (got.status_code, got.headers["x-trueup-outcome"]) == (200, "accepted")
    got = post(gateway, f"/strict{CHAT}", {"model": "salon-1", "messages": TALK})
    assert got.status_code == 422


@pytest.mark.parametrize("model", ["GPT-1", "Gpt-1", " gpt-1", "gpt-1 ", "gpt-1\n", "\tSALON-x"])
def test_another_spelling_of_a_model_is_bound_too(gateway: Running, model: str) -> None:
    for path, body in bodies(model):
        got = post(gateway, path, body)
        assert got.status_code == 422, (path, got.text)
        assert MARKER not in got.text


@pytest.mark.parametrize("model", ["mini-1", "MINI-1", "haiku-1"])
def test_the_model_of_an_alias_is_bound_unless_a_route_names_it(
    gateway: Running, upstream: Provider, model: str
) -> None:
    before = len(upstream.asked)
    for path, body in [*bodies(model), ("/v1/completions", {"model": model, "prompt": "Who?"})]:
        got = post(gateway, path, body)
        assert (got.status_code, got.json()["error"]["code"]) == (403, "contract_bound"), path
    assert len(upstream.asked) == before
    assert post(gateway, CHAT, {"model": "mini-2", "messages": TALK}).status_code == 200


@pytest.mark.parametrize(
    "names",
    [
        b'"model": "gpt-1", "model": "free-1"',
        b'"model": "free-1", "model": "gpt-1"',
        b'"mod\\u0065l": "gpt-1", "model": "free-1"',
        b'"model": "gpt-1", "mode\\u006C": "free-1"',
        b'"Model": "gpt-1", "model": "free-1"',
        b'"model": "free-1", "MODEL": "gpt-1"',
        b'"model": "free-1", "\\u004dodel": "gpt-1"',
    ],
)
@pytest.mark.parametrize("path", ["", "/free", "/strict", "/salon"])
def test_a_body_that_names_two_models_is_refused(gateway: Running, upstream: Provider, path: str, names: bytes) -> None:
    before = len(upstream.asked)
    for place in (CHAT, "/v1/messages", "/v1/responses", "/v1/completions", "/v1/embeddings"):
        got = post(gateway, path + place, b'{%s, "messages": [], "input": "x", "prompt": "x"}' % names)
        assert (got.status_code, got.json()["error"]["code"]) == (400, "two_models"), got.text
    assert len(upstream.asked) == before


def test_the_word_model_elsewhere_in_a_body_is_not_a_second_model(gateway: Running, upstream: Provider) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"model": {"enum": ["model"]}}}}}
    body = json.dumps({"model": "free-1", "messages": TALK, "tools": [tool], "user": "m\u006f"}).encode()
    assert post(gateway, CHAT, body).status_code == 200
    assert upstream.asked[-1].body == body
    escaped = b'{"model": "free-1", "messages": [{"role": "user", "content": "\\u006d"}]}'
    assert post(gateway, CHAT, escaped).status_code == 200


@pytest.mark.parametrize("model", [None, "", " ", 5, ["gpt-1"], {"id": "gpt-1"}])
def test_a_request_without_a_model_is_not_passed_to_a_model_that_may_be_bound(
    gateway: Running, upstream: Provider, model: Any
) -> None:
    before = len(upstream.asked)
    for prefix in ("", "/free", "/open", "/strict"):
        for path, body in bodies(model):
            got = post(gateway, prefix + path, body)
            assert (got.status_code, got.json()["error"]["code"]) == (400, "missing_required_parameter"), got.text
            del body["model"]
            assert post(gateway, prefix + path, body).status_code == 400
    form = b'--b\r\nContent-Disposition: form-data; name="image"\r\n\r\nx\r\n--b--\r\n'
    multipart = {"content-type": "multipart/form-data; boundary=b"}
    for path, sent, headers in (
        ("/v1/completions", json.dumps({"model": model, "prompt": "Who?"}).encode(), {}),
        ("/v1/messages/batches", json.dumps({"requests": [{"params": {"model": model}}]}).encode(), {}),
        ("/v1/images/edits", form, multipart),
    ):
        assert post(gateway, path, sent, **headers).status_code == 400, path
    assert len(upstream.asked) == before


@pytest.mark.parametrize("value", [1, "true", "1", [True], 1.0])
@pytest.mark.parametrize("name", ["stream", "background"])
def test_a_switch_that_is_neither_true_nor_false_is_refused_under_a_contract(
    gateway: Running, upstream: Provider, name: str, value: Any
) -> None:
    before = len(upstream.asked)
    for path, body in bodies("gpt-1"):
        if name == "background" and path != "/v1/responses":
            continue
        got = post(gateway, path, {**body, name: value})
        assert got.status_code == 400, got.text
        assert name in got.json()["error"]["message"]
    assert len(upstream.asked) == before


def test_a_reply_that_is_streamed_without_being_requested_is_judged(gateway: Running) -> None:
    got = post(
        gateway,
        CHAT,
        b'{"model": "gpt-1", "messages": [{"role": "user", "content": "x"}], "stream": true, "stream": false}',
    )
    assert got.status_code == 422
    assert MARKER not in got.text


@pytest.mark.parametrize(
    "path",
    [
        f"/{CHAT}", f"{CHAT}/", "/v1/./chat/completions", "/v1/chat%2fcompletions", "/%76%31/chat/completions",
        f"{CHAT}?model=free-1", f"{CHAT}%3Fx", "/strict/../open/v1/chat/completions", f"/open%2f..{CHAT}", "/V1/chat/completions",
        f"/free%2Fopen{CHAT}", f"/free/{CHAT}", f"{CHAT};x", f"/v1{CHAT}",
    ],
)  # fmt: skip
def test_no_spelling_of_a_path_bypasses_a_contract(gateway: Running, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(gateway.url.rpartition(":")[2]), timeout=60)
    try:
        for method in ("POST", "PUT", "GET", "post"):
            connection.request(method, path, json.dumps({"model": "gpt-1", "messages": TALK}))
            got = connection.getresponse()
            assert MARKER not in got.read().decode()
            assert got.status >= 400
    finally:
        connection.close()


def test_a_body_with_two_models_does_not_extend_a_key(upstream: Provider) -> None:
    clients = (Caller("sk-a", "acme", models=("cheap-*",)),)
    upstreams = {"main": Upstream("main", upstream.url, private=True)}
    with running(Config(upstreams, clients=clients)) as found:
        before = len(upstream.asked)
        for names in (b'"model": "dear-1", "model": "cheap-1"', b'"Model": "dear-1", "model": "cheap-1"'):
            got = post(found, CHAT, b'{%s, "messages": []}' % names, authorization="Bearer sk-a")
            assert (got.status_code, got.json()["error"]["code"]) == (400, "two_models"), got.text
        assert len(upstream.asked) == before
        assert post(found, CHAT, {"model": "cheap-1"}, authorization="Bearer sk-a").status_code == 200


def test_without_contracts_a_body_is_sent_unchanged(upstream: Provider) -> None:
    upstreams = {"main": Upstream("main", upstream.url, private=True)}
    with running(Config(upstreams)) as found:
        body = b'{"model": "a", "model": "b", "Model": 5, "seed": 123456789012345678901234567890}'
        assert post(found, CHAT, body).status_code == 200
        assert upstream.asked[-1].body == body


@pytest.fixture
def tenants(upstream: Provider) -> Iterator[Running]:
    """An upstream that is for one tenant; the headers of a proxy say whose a request is."""
    with running(Config({"main": Upstream("main", upstream.url, private=True, tenant="acme")})) as found:
        yield found


def test_the_header_of_a_proxy_takes_precedence_over_the_body(tenants: Running) -> None:
    body = {"model": "m", "trueup": {"tenant": "acme"}}
    assert post(tenants, CHAT, body).status_code == 200  # nobody else has said whose it is
    for header in ("", "evil"):
        got = post(tenants, CHAT, body, **{"x-trueup-tenant": header})
        assert (got.status_code, got.json()["error"]["code"]) == (403, "tenant_not_allowed"), header


def test_a_repeated_header_of_ours_must_have_equal_values(tenants: Running, upstream: Provider) -> None:
    before = len(upstream.asked)
    for one, other in (("acme", "evil"), ("evil", "acme"), ("acme", "")):
        headers = [("x-trueup-tenant", one), ("X-Trueup-Tenant", other)]
        got = HTTP.post(tenants.url + CHAT, json={"model": "m"}, headers=headers)
        assert (got.status_code, got.json()["error"]["code"]) == (400, "two_values"), got.text
        assert "x-trueup-tenant" in got.json()["error"]["message"]
    assert len(upstream.asked) == before
    same = [("x-trueup-tenant", "acme"), ("x-trueup-tenant", "acme"), ("accept", "a/b"), ("accept", "c/d")]
    assert HTTP.post(tenants.url + CHAT, json={"model": "m"}, headers=same).status_code == 200
