"""Other endpoints of providers, passed through: with the providers' own clients, metered, and no way around a contract."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.gateway.conftest import KEY, PERSON
from tests.gateway.provider import Answer, Asked, Provider, json_answer, provider
from tests.gateway.test_charging import used
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Caller, Config, Limits, Logs, Route, Upstream
from trueup.gateway.passing.endpoints import ENDPOINTS, GROUPS
from trueup.gateway.running import Running, running
from trueup.gateway.settings import read_config
from trueup.store.open import open_store
from trueup.store.store import Store

BINARY = bytes(range(256)) * 2000
PERSON_CONTRACT = Contract(PERSON, name="person")


def answer(asked: Asked) -> Answer:
    path = asked.path.partition("?")[0].removeprefix("/v1/")
    if "boom" in asked.path or b"boom" in asked.body[:300]:
        return Answer(
            json.dumps({"error": {"message": f"no: {KEY}"}}).encode(), status=429, headers=(("retry-after", "7"),)
        )
    match path.split("/"):
        case ["embeddings"]:
            return json_answer(
                object="list",
                model="e",
                data=[{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}],
                usage={"prompt_tokens": 1, "total_tokens": 1},
            )
        case ["moderations"]:
            return json_answer(id="m", model="m", results=[])
        case ["completions"]:
            return json_answer(
                id="c",
                object="text_completion",
                created=0,
                model="m",
                choices=[{"text": "hi", "index": 0, "finish_reason": "stop"}],
            )
        case ["images", _]:
            return json_answer(created=0, data=[{"b64_json": "aGk="}])
        case ["audio", "speech"]:
            return Answer(BINARY, "audio/mpeg")
        case ["audio", _]:
            return json_answer(text="spoken words")
        case ["files"] if asked.method == "GET":
            return json_answer(object="list", data=[], has_more=False)
        case ["files", _, "content"]:
            return Answer(BINARY, "text/html")
        case ["files", *_]:
            return json_answer(
                id="file-1",
                object="file",
                bytes=1,
                created_at=0,
                filename="f",
                purpose="batch",
                status="processed",
                deleted=True,
            )
        case ["messages", "count_tokens"]:
            return json_answer(input_tokens=7)
        case ["responses", "input_tokens"]:
            return json_answer(object="response.input_tokens", input_tokens=7)
        case ["batches"] | ["messages", "batches"] if asked.method == "GET":
            return json_answer(object="list", data=[], has_more=False)
        case [*_, "results"]:
            return Answer(b'{"custom_id": "a"}\n', "application/x-jsonl")
    return json_answer(id="x-1", object="thing", status="completed", output=[], created_at=0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("store") / "verdicts.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def upstream() -> Iterator[Provider]:
    with provider(answer) as found:
        yield found


def config_for(url: str, **options: Any) -> Config:
    upstreams = {
        "main": Upstream("main", url, key=KEY, tenant="*", private=True),
        "also": Upstream("also", url, "anthropic", key=KEY, tenant="*", private=True),
    }
    routes = (
        Route("bound", ("bound", "bound-*"), PERSON_CONTRACT),
        Route("asked", ("asked",), request=Contract(reply=True, name="asked")),
        Route("alias", ("alias",), model="real-1"),
        Route("free", ("free",), quota=False),
    )
    return Config(upstreams, routes, **{"endpoints": GROUPS, **options})


@pytest.fixture(scope="module")
def gateway(upstream: Provider) -> Iterator[Running]:
    with running(config_for(upstream.url)) as found:
        yield found


@pytest.fixture
def client(gateway: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gateway.url + "/v1", api_key="client-key", max_retries=0) as made:
        yield made


@pytest.fixture
def claude(gateway: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-key", max_retries=0) as made:
        yield made


def test_openais_client_reaches_each_endpoint(client: openai.OpenAI, upstream: Provider) -> None:
    assert client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [0.5, 1.0]
    assert client.moderations.create(input="x").results == []
    assert client.completions.create(model="m", prompt="x").choices[0].text == "hi"
    assert client.images.generate(model="i", prompt="x").data[0].b64_json == "aGk="  # type: ignore[index]
    assert client.images.edit(model="i", image=b"png", prompt="x").created == 0
    assert client.audio.speech.create(model="a", voice="alloy", input="x").content == BINARY
    assert client.audio.transcriptions.create(model="a", file=("a.wav", BINARY)).text == "spoken words"
    form = upstream.asked[-1]
    assert BINARY in form.body
    assert form.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert client.audio.translations.create(model="a", file=("a.wav", b"x")).text == "spoken words"
    assert client.files.create(file=("f.jsonl", BINARY), purpose="batch").id == "file-1"
    assert BINARY in upstream.asked[-1].body
    assert list(client.files.list(purpose="batch", limit=3)) == []
    assert upstream.asked[-1].path == "/v1/files?limit=3&purpose=batch"
    assert client.files.retrieve("file-1").id == "file-1"
    assert client.files.content("file-1").content == BINARY
    assert client.files.delete("file-1").deleted
    assert upstream.asked[-1].method == "DELETE"
    made = client.batches.create(input_file_id="file-1", endpoint="/v1/embeddings", completion_window="24h")
    assert made.id == client.batches.retrieve("x-1").id == client.batches.cancel("x-1").id
    assert list(client.batches.list(limit=1)) == []
    assert client.responses.retrieve("x-1").id == "x-1"
    client.responses.delete("x-1")
    assert client.responses.input_tokens.count(model="m", input="x").input_tokens == 7
    assert {asked.headers["authorization"] for asked in upstream.asked} == {f"Bearer {KEY}"}
    assert not any("client-key" in str(asked) for asked in upstream.asked)


def test_anthropics_client_reaches_each_endpoint(claude: anthropic.Anthropic, upstream: Provider) -> None:
    messages: Any = [{"role": "user", "content": "x"}]
    assert claude.messages.count_tokens(model="m", messages=messages).input_tokens == 7
    request: Any = {"custom_id": "a", "params": {"model": "m", "max_tokens": 5, "messages": messages}}
    assert claude.messages.batches.create(requests=[request]).id == "x-1"
    assert list(claude.messages.batches.list(limit=2)) == []
    assert claude.messages.batches.retrieve("x-1").id == claude.messages.batches.cancel("x-1").id
    assert claude.messages.batches.delete("x-1").id == "x-1"
    assert [asked.headers["x-api-key"] for asked in upstream.asked[-5:]] == [KEY] * 5
    assert claude.beta.files.list(betas=["files-api-2025-04-14"]).data == []
    assert upstream.asked[-1].path.startswith("/v1/files")
    assert upstream.asked[-1].headers["anthropic-beta"].startswith("files-api")


def test_an_answer_is_inert_in_a_browser_and_reports_its_outcome(gateway: Running) -> None:
    got = httpx.get(f"{gateway.url}/v1/files/f/content")
    assert got.content == BINARY
    assert got.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert (got.headers["x-trueup-outcome"], got.headers["x-trueup-attempts"]) == ("passed", "1")


def test_an_error_of_the_upstream_passes_without_our_key(gateway: Running) -> None:
    for method, path, body in (
        ("POST", "embeddings", b'{"model": "boom"}'),
        ("GET", "files/boom", None),
        ("DELETE", "responses/boom", None),
    ):
        got = httpx.request(method, f"{gateway.url}/v1/{path}", content=body)
        assert (got.status_code, got.headers["retry-after"]) == (429, "7")
        assert KEY not in got.text


@pytest.mark.spec("X25")
def test_our_key_is_removed_from_an_answer_however_it_is_split() -> None:
    echoed = f"key={KEY};".encode() * 20_000
    with provider(lambda asked: Answer(echoed, "text/plain")) as model, running(config_for(model.url)) as found:
        got = httpx.get(f"{found.url}/v1/files/f/content")
        assert got.content == b"key=[key];" * 20_000


def one_of_each() -> Iterator[tuple[str, str, bytes | None, dict[str, str]]]:
    """A request to each endpoint that names the model that it can name."""
    for each in ENDPOINTS:
        headers = {"anthropic-version": "2023-06-01"} if each.speaks == "anthropic" else {}
        body = None
        if each.many:
            body = b'{"requests": [{"params": {"model": "m"}}, {"params": {"model": "MODEL"}}]}'
        elif each.carries == "json":
            body = b'{"model": "MODEL"}'
        elif each.carries != "nothing":
            body = form(("model", b"MODEL"), ("file", b"x"))
            headers["content-type"] = "multipart/form-data; boundary=b"
        yield each.method, each.path.replace("*", "x-1"), body, headers


def form(*fields: tuple[str, bytes]) -> bytes:
    parts = [
        b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in fields
    ]
    return b"".join([*parts, b"--b--\r\n"])


@pytest.mark.spec("X27")
def test_no_endpoint_bypasses_a_contract(gateway: Running, upstream: Provider) -> None:
    before = len(upstream.asked)
    with httpx.Client(base_url=gateway.url) as http:
        for method, path, body, headers in one_of_each():
            kinds = [each for each in ENDPOINTS if (each.method, each.path.replace("*", "x-1")) == (method, path)]
            (each,) = kinds
            for prefix, model in (("", b"bound-7"), ("/bound", b"any"), ("/free", b"bound-7")):
                if prefix != "/bound" and each.carries in ("nothing", "upload"):
                    continue  # it names no model: off by default, see below
                sent = body and body.replace(b"MODEL", model)
                got = http.request(method, f"{prefix}/v1/{path}", content=sent, headers=headers)
                if each.generates:
                    assert (got.status_code, got.json()["error"]["code"]) == (403, "contract_bound"), (method, path)
                else:
                    assert got.status_code == 200, (method, path)
            for prefix, model in (("", b"asked"), ("/asked", b"any"), ("/free", b"asked")):
                if prefix == "/asked" or each.carries not in ("nothing", "upload"):
                    sent = body and body.replace(b"MODEL", model)
                    got = http.request(method, f"{prefix}/v1/{path}", content=sent, headers=headers)
                    assert (got.status_code, got.json()["error"]["code"]) == (403, "contract_bound"), (method, path)
            got = http.request(method, f"/v1/{path}", content=body, headers={**headers, "x-trueup-contract": "person"})
            assert (got.status_code, got.json()["error"]["code"]) == (400, "not_judged")
    quiet = ("embeddings", "moderations", "count_tokens", "input_tokens")
    sent = [asked for asked in upstream.asked[before:] if not asked.path.endswith(quiet)]
    assert not any(model in asked.body for asked in sent for model in (b"bound-7", b"asked"))
    assert not any(b"asked" in asked.body for asked in upstream.asked[before:])


def test_endpoints_that_can_return_text_are_off_by_default(upstream: Provider) -> None:
    before = len(upstream.asked)
    made = Config(
        {
            "main": Upstream("main", upstream.url, private=True),
            "also": Upstream("also", upstream.url, "anthropic", private=True),
        }
    )
    with running(made) as found, httpx.Client(base_url=found.url) as http:
        for method, path, body, headers in one_of_each():
            got = http.request(method, f"/v1/{path}", content=body, headers=headers)
            on = path in ("embeddings", "moderations", "messages/count_tokens", "responses/input_tokens")
            assert got.status_code == (200 if on else 404), path
            if not on:
                assert got.json()["error"]["code"] == "endpoint_off"
    assert len(upstream.asked) == before + 4


ODD_FORMS = [
    form(("model", b"free"), ("model", b"bound")),
    form(("model", b"free"), ("Model", b"bound")),
    form(("file", b'x\n--b\nContent-Disposition: form-data; name="model"\n\nbound\n'), ("model", b"free")),
    form(("file", b'x\r--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nbound'), ("model", b"free")),
    form(("model", b"free")).replace(b'name="model"', b"name=model"),
    form(("model", b"free")).replace(b'name="model"', b'name="x"; name="model"'),
    form(("model", b"free")).replace(b'name="model"', b'name="mod\\el"'),
    form(("model", b"ZnJlZQ==")).replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1),
    form(("model", b"free")).replace(b"\r\n\r\n", b"\r\nX-Odd: 1\r\n\r\n", 1),
    form(("model", b"free")).replace(b"\r\n", b"\n"),
    b"preamble\r\n" + form(("model", b"free")),
    form(("model", b"free")) + b"epilogue",
    form(("model", b"free")).removesuffix(b"--\r\n"),
    form(("model", b"\xff")),
    b"",
    b"--b--",
]  # fmt: skip


def test_an_ambiguous_form_is_refused(gateway: Running, upstream: Provider) -> None:
    before = len(upstream.asked)
    url, kind = f"{gateway.url}/v1/audio/transcriptions", "multipart/form-data; boundary=b"
    for body in ODD_FORMS[:-1]:
        got = httpx.post(url, content=body, headers={"content-type": kind})
        assert (got.status_code, got.json()["error"]["code"]) == (400, "invalid_form"), body
    for odd in (
        "",
        "text/plain",
        "multipart/form-data",
        kind + "; boundary=c",
        "multipart/form-data; charset=x; boundary=b",
    ):
        got = httpx.post(url, content=form(("model", b"m")), headers={"content-type": odd})
        assert (got.status_code, got.json()["error"]["code"]) == (400, "invalid_content_type"), odd
    assert len(upstream.asked) == before


def test_a_repeated_key_is_sent_once_with_the_checked_value(gateway: Running, upstream: Provider) -> None:
    httpx.post(f"{gateway.url}/v1/completions", content=b'{"model": "m", "prompt": "first", "prompt": "x"}')
    assert json.loads(upstream.asked[-1].body) == {"model": "m", "prompt": "x"}
    assert b"first" not in upstream.asked[-1].body


def test_the_upstream_gets_the_model_of_an_alias(client: openai.OpenAI, upstream: Provider) -> None:
    client.embeddings.create(model="alias", input="x")
    assert json.loads(upstream.asked[-1].body)["model"] == "real-1"
    client.audio.transcriptions.create(model="alias", file=("a.wav", BINARY), prompt="p")
    assert b'name="model"\r\n\r\nreal-1\r\n' in upstream.asked[-1].body
    assert b"alias" not in upstream.asked[-1].body
    assert BINARY in upstream.asked[-1].body


@pytest.mark.spec("X27")
def test_a_path_or_a_query_reaches_no_other_address(gateway: Running, upstream: Provider) -> None:
    before = len(upstream.asked)
    host = gateway.url.removeprefix("http://").split(":")
    import socket

    for path in (
        "/v1/files/../keys", "/v1/files/%2e%2e/keys", "/v1/files/..%2fkeys", "/v1/files/a%3Fb", "/v1/files/a%0d%0ax", "/v1/files/.",
        "/v1/files//content", "/v1/files/a/b/c", "/v1/files/" + "a" * 300, "/v1/batches/a%20b", "//v1/files", "/v1/organization/keys",
    ):  # fmt: skip
        with socket.create_connection((host[0], int(host[1]))) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n".encode())
            assert line.recv(4096).startswith(b"HTTP/1.1 404"), path
    for query, code in (
        ("purpose=a&key=1", "unknown_parameter"),
        ("purpose", "invalid_value"),
        ("limit=" + "1" * 3000, "invalid_value"),
    ):
        got = httpx.get(f"{gateway.url}/v1/files?{query}")
        assert (got.status_code, got.json()["error"]["code"]) == (400, code)
    assert len(upstream.asked) == before
    httpx.get(f"{gateway.url}/v1/files?after=a%26key%3D1%23%0d%0a")
    assert upstream.asked[-1].path == "/v1/files?after=a%26key%3D1%23%0D%0A"


def test_a_batch_must_name_the_models_of_its_requests(gateway: Running) -> None:
    for body in (
        {},
        {"requests": {}},
        {"requests": [5]},
        {"requests": [{"params": 5}]},
        {"requests": [{"params": {"model": 5}}]},
    ):
        got = httpx.post(f"{gateway.url}/v1/messages/batches", json=body)
        assert (got.status_code, got.json()["error"]["code"]) == (400, "invalid_value"), body


def test_a_wrong_method_is_refused_with_the_allowed_ones(gateway: Running) -> None:
    got = httpx.put(f"{gateway.url}/v1/files/x")
    assert (got.status_code, got.headers["allow"]) == (405, "GET, DELETE")
    assert httpx.get(f"{gateway.url}/v1/embeddings").headers["allow"] == "POST"


def test_an_invalid_body_is_refused(gateway: Running) -> None:
    url = f"{gateway.url}/v1/embeddings"
    for body, code in (
        (b"\xff", "invalid_json"),
        (b"[]", "invalid_json"),
        (b'{"model": 5}', "invalid_value"),
        (b'{"trueup": 5}', "invalid_value"),
    ):
        got = httpx.post(url, content=body)
        assert (got.status_code, got.json()["error"]["code"]) == (400, code)
    assert httpx.post(f"{gateway.url}/nobody/v1/embeddings", content=b"{}").status_code == 404


def bearer(tenant: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-of-{tenant}"}


@pytest.mark.spec("X38")
def test_a_tenant_reaches_only_the_objects_of_its_own_upstream(upstream: Provider) -> None:
    upstreams = {
        "open": Upstream("open", upstream.url, key="sk-open-0000000000", private=True),
        "acme": Upstream("acme", upstream.url, key="sk-acme-0000000000", tenant="acme", private=True),
        "beta": Upstream("beta", upstream.url, key="sk-beta-0000000000", tenant="beta", private=True),
    }
    routes = (Route("acme", ("a-*",), upstream="acme"), Route("beta", ("b-*",), upstream="beta"))
    clients = tuple(Caller(f"key-of-{tenant}", tenant) for tenant in ("acme", "beta", "gamma"))
    with running(Config(upstreams, routes, clients=clients, endpoints=GROUPS)) as found:
        url = found.url
        with httpx.Client(base_url=url) as http:
            for tenant in ("acme", "beta"):
                for path in ("/v1/files/f/content", f"/{tenant}/v1/files", "/v1/responses/r", "/v1/batches"):
                    assert http.get(path, headers=bearer(tenant)).status_code == 200
                    assert upstream.asked[-1].headers["authorization"] == f"Bearer sk-{tenant}-0000000000"
            refused = [
                http.get("/v1/files", headers=bearer("gamma")),
                http.get("/beta/v1/files/f/content", headers=bearer("acme")),
                http.post("/v1/embeddings", json={"model": "b-1"}, headers=bearer("acme")),
                http.post("/v1/chat/completions", json={"model": "b-1", "messages": []}, headers=bearer("acme")),
                http.post("/v1/responses", json={"model": "b-1", "input": "x"}, headers=bearer("gamma")),
            ]
            assert {(got.status_code, got.json()["error"]["code"]) for got in refused} == {(403, "tenant_not_allowed")}
            assert http.post("/v1/embeddings", json={"model": "e"}, headers=bearer("gamma")).status_code == 200
            assert http.get("/v1/files").status_code == 401


def test_a_key_for_some_models_or_routes_reaches_no_other(upstream: Provider) -> None:
    clients = (Caller("key-of-models", "t", models=("e-*",)), Caller("key-of-routes", "t", routes=("free",)))
    with running(config_for(upstream.url, clients=clients)) as found, httpx.Client(base_url=found.url) as http:
        ask = lambda path, model, who: http.post(path, json={"model": model}, headers=bearer(who)).status_code  # noqa: E731
        assert ask("/v1/embeddings", "e-1", "models") == 200
        assert ask("/v1/embeddings", "f-1", "models") == 403
        assert ask("/v1/batches", "", "models") == 403
        assert http.get("/v1/files", headers=bearer("models")).status_code == 403
        assert ask("/v1/embeddings", "free", "routes") == 200
        assert ask("/v1/embeddings", "e-1", "routes") == 403
        assert http.get("/v1/files", headers=bearer("routes")).status_code == 403


@pytest.mark.spec("Q14")
def test_each_reply_to_a_post_is_charged_once_and_no_error_is(upstream: Provider, store: Store) -> None:
    store.quota.set_limit("acme", 4)
    with running(config_for(upstream.url, quota=True), store) as found:
        url = found.url
        with httpx.Client(base_url=url, headers={"x-trueup-tenant": "acme"}) as http:
            assert http.post("/v1/embeddings", json={"model": "e"}).status_code == 200
            assert http.post("/v1/embeddings", json={"model": "boom"}).status_code == 429
            assert http.get("/v1/files/f/content").status_code == 200
            assert http.post("/v1/embeddings", json={"model": "free"}).status_code == 200
            assert used(store, "acme") == (1, 0)
            sent: dict[str, Any] = {"headers": {"idempotency-key": "k"}, "json": {"model": "e"}}
            first, again = (http.post("/v1/embeddings", **sent) for _ in range(2))
            assert (first.content, again.headers["x-trueup-replayed"]) == (again.content, "true")
            assert http.post("/v1/moderations", **sent).status_code == 409  # another request with the same key
            assert http.post("/v1/files", files={"file": b"x"}).status_code == 200
            assert http.post("/v1/completions", json={"model": "m"}).status_code == 200
            assert used(store, "acme") == (4, 0)
            full = http.post("/v1/messages/count_tokens", json={"model": "m"})
            assert (full.status_code, full.json()["error"]["code"]) == (429, "insufficient_quota")
            page = http.get("/metrics").text
            assert 'trueup_endpoints_total{endpoint="embeddings",status="200"} 3' in page
            assert 'trueup_endpoints_total{endpoint="embeddings",status="429"} 1' in page
            assert 'trueup_requests_total{route="free",model="free",outcome="passed",status="200"} 1' in page
            assert 'trueup_endpoints_total{endpoint="count_tokens",status="429"} 1' in page
            assert 'trueup_attempts_total{model="boom"} 1' in page
            assert 'trueup_failures_total{model="boom",reason="429"} 1' in page
            assert store.quota.audit() == []


@pytest.mark.spec("X36", "X33", "X28")
def test_an_answer_that_is_interrupted_too_large_or_redirected_is_never_complete(store: Store) -> None:
    answers = {
        "cut": Answer(BINARY, "audio/mpeg", cut=100_000), "early": Answer(BINARY, cut=0), "large": Answer(BINARY * 3, "audio/mpeg"),
        "elsewhere": Answer(b"", status=302, headers=(("location", "http://127.0.0.1:9/"),)),
    }  # fmt: skip
    with provider(lambda asked: answers[json.loads(asked.body)["model"]]) as model:
        made = config_for(model.url, quota=True, limits=Limits(file=600_000))
        store.quota.set_limit("cut", 100)
        with (
            running(made, store) as found,
            httpx.Client(base_url=found.url, headers={"x-trueup-tenant": "cut"}) as http,
        ):
            for name in ("cut", "large"):
                with pytest.raises(httpx.RemoteProtocolError):
                    http.post("/v1/audio/speech", json={"model": name})
            for name, code in (("early", "upstream_failed"), ("elsewhere", "upstream_redirects")):
                got = http.post("/v1/audio/speech", json={"model": name})
                assert (got.status_code, got.json()["error"]["code"]) == (502, code)
            asked = len(model.asked)
            assert http.post("/v1/files", files={"file": BINARY * 2}).status_code == 413

            def endless() -> Iterator[bytes]:
                yield b"--b\r\n"
                while True:
                    yield BINARY

            headers = {"content-type": "multipart/form-data; boundary=b"}
            with pytest.raises(httpx.HTTPError):
                http.post("/v1/files", content=endless(), headers=headers).raise_for_status()
            assert len(model.asked) == asked
            wait_for(lambda: found.gateway.metrics.active == 0)
            assert used(store, "cut")[1] == 0


def test_an_upload_that_is_answered_early_or_abandoned_leaves_nothing_behind(store: Store) -> None:
    """The upstream refuses a file before it has come; then a client leaves in the middle of one."""
    import socket
    import threading

    store.quota.set_limit("early", 100)
    listener = socket.create_server(("127.0.0.1", 0))
    seen: list[bytes] = []

    def upstream() -> None:
        line, _ = listener.accept()
        with line:
            line.recv(65_536)
            line.sendall(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno")
            while line.recv(65_536):
                pass
        line, _ = listener.accept()
        with line:
            while piece := line.recv(65_536):
                seen.append(piece)

    thread = threading.Thread(target=upstream, daemon=True)
    thread.start()
    made = config_for(f"http://127.0.0.1:{listener.getsockname()[1]}", quota=True)
    with listener, running(made, store) as found:
        headers = {"x-trueup-tenant": "early"}
        got = httpx.post(f"{found.url}/v1/files", files={"file": BINARY * 20}, headers=headers, timeout=60)
        assert (got.status_code, got.content) == (401, b"no")
        host, port = found.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(
                b"POST /v1/files HTTP/1.1\r\nHost: g\r\nx-trueup-tenant: early\r\nContent-Length: 1000000\r\n"
                b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n" + BINARY[:1000]
            )
            wait_for(lambda: BINARY[:1000] in b"".join(seen))
        thread.join(60)
        assert not thread.is_alive()  # the upstream's connection was cut as well
        wait_for(lambda: found.gateway.metrics.active == 0)
        assert used(store, "early") == (0, 0)


def test_the_access_log_has_the_path_the_route_and_the_model(upstream: Provider, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    with running(config_for(upstream.url, logs=Logs(access=str(path)))) as found:
        httpx.post(f"{found.url}/v1/embeddings", json={"model": "alias", "input": "secret words"})
        httpx.get(f"{found.url}/v1/files/f/content")
        httpx.put(f"{found.url}/v1/files")
        rows = wait_for(lambda: _rows(path, 3))
    assert [
        (row["method"], row["path"], row.get("route"), row.get("model"), row["outcome"], row["status"]) for row in rows
    ] == [
        ("POST", "/v1/embeddings", "alias", "alias", "passed", 200),
        ("GET", "/v1/files/f/content", None, None, "passed", 200),
        ("PUT", "/v1/files", None, None, "page", 405),
    ]
    assert rows[1]["bytes"] == len(BINARY)
    assert "secret words" not in path.read_text()


def _rows(path: Path, n: int) -> list[Any]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines] if len(lines) >= n else []


def test_the_file_turns_endpoints_on(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"

    def read(endpoints: str, tenant: str = "") -> tuple[Any, list[str]]:
        of = f", tenant: {tenant}" if tenant else ""
        file.write_text(f"upstreams: {{main: {{url: 'http://127.0.0.1:9', private: true{of}}}}}\n{endpoints}\n")
        found, faults = read_config(file)
        return found, [f"{fault.line}:{fault.column}:{fault.code}" for fault in faults]

    assert read("")[0].endpoints == ("embeddings", "moderations", "count_tokens")
    assert read("endpoints: []")[0].endpoints == ()
    assert read("endpoints: [audio, images]")[0].endpoints == ("audio", "images")
    assert read("endpoints: [audio, imagess]")[1] == ["2:20:N006"]
    assert read("endpoints: [files]")[1] == ["2:13:N006"]
    made, faults = read("endpoints: [files, batches, responses]", "acme")
    assert faults == []
    assert made.upstreams["main"].tenant == "acme"
