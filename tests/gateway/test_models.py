"""`GET /v1/models` lists what clients can ask for: the names of routes, and the models of the upstreams."""

import logging
from collections.abc import Iterator

import httpx
import pytest
from anthropic import Anthropic
from openai import OpenAI

from trueup import Contract
from trueup.gateway.config import Caller, Config, Limits, Route, Upstream
from trueup.gateway.running import Running, running
from trueup.testing.server import ScriptedServer

ANY = Contract({"type": "object"}, name="any")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Running]:
    """Two upstreams of OpenAI's kind, one of Anthropic's, and routes with names and patterns."""
    with (
        ScriptedServer(models=["gpt-1", "salon-9"]) as one,
        ScriptedServer(models=["mini-1", "gpt-1"]) as two,
        ScriptedServer(models=["claude-1"]) as three,
    ):
        upstreams = {
            "one": Upstream("one", one.url, private=True),
            "two": Upstream("two", two.url, private=True),
            "three": Upstream("three", three.url, "anthropic", private=True),
        }
        routes = (
            Route("salon", ("salon-*", "salon"), ANY, upstream="one"),
            Route("clinic", ("clinic",), ANY, upstream="two"),
            Route("words", ("poet",), upstream="three"),
        )
        with running(Config(upstreams, routes, models={"mini-*": "two", "exact": "two"})) as found:
            yield found


def listed(url: str, **headers: str) -> list[str]:
    return [row["id"] for row in httpx.get(url, headers=headers).json()["data"]]


def test_openais_client_gets_the_names_of_routes_and_the_models_of_upstreams(gateway: Running) -> None:
    client = OpenAI(base_url=gateway.url + "/v1", api_key="any")
    rows = {row.id: row for row in client.models.list()}
    assert list(rows) == ["salon", "clinic", "poet", "exact", "gpt-1", "salon-9", "mini-1"]
    assert (rows["salon"].owned_by, rows["gpt-1"].owned_by) == ("trueup", "scripted")
    assert [client.models.retrieve(name).id for name in ("clinic", "gpt-1")] == ["clinic", "gpt-1"]


def test_anthropics_client_gets_them_in_its_own_shape(gateway: Running) -> None:
    client = Anthropic(base_url=gateway.url, api_key="any")
    rows = list(client.models.list())
    assert [row.id for row in rows] == ["salon", "clinic", "poet", "salon-9", "claude-1"]  # routes translate
    assert {row.type for row in rows} == {"model"}
    assert client.models.retrieve("poet").display_name == "poet"


def test_a_route_lists_its_own_models(gateway: Running) -> None:
    assert listed(f"{gateway.url}/salon/v1/models") == ["salon", "salon-9"]
    assert listed(f"{gateway.url}/clinic/v1/models") == ["clinic"]
    for path, status in (
        ("salon/v1/models/salon-9", 200),
        ("salon/v1/models/gpt-1", 404),
        ("clinic/v1/models/clinic", 200),
    ):
        assert httpx.get(f"{gateway.url}/{path}").status_code == status
    for path in ("nobody/v1/models", "nobody/v1/models/salon"):
        assert httpx.get(f"{gateway.url}/{path}").status_code == 404


def test_an_unknown_name_is_not_found(gateway: Running) -> None:
    for headers in ({}, {"anthropic-version": "2023-06-01"}):
        answer = httpx.get(f"{gateway.url}/v1/models/nothing", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_the_names_of_routes_are_listed_while_the_upstream_is_down(caplog: pytest.LogCaptureFixture) -> None:
    upstreams = {"main": Upstream("main", NOWHERE, key="sk-canary-0123456789", private=True)}
    config = Config(upstreams, (Route("salon", ("salon",), ANY),), limits=Limits(total_seconds=5))
    with running(config) as found, caplog.at_level(logging.WARNING, "trueup.gateway"):
        answer = httpx.get(f"{found.url}/v1/models")
        assert [row["id"] for row in answer.json()["data"]] == ["salon"]
        assert answer.headers["x-trueup-incomplete"] == "main"
        assert httpx.get(f"{found.url}/v1/models/salon").json()["id"] == "salon"
        assert httpx.get(f"{found.url}/v1/models/other").status_code == 502
    assert "upstream 'main': no connection" in caplog.text
    assert "canary" not in caplog.text


def test_without_route_names_a_failure_is_an_error() -> None:
    with (
        ScriptedServer(key="right") as model,
        running(Config({"main": Upstream("main", model.url, key="no", private=True)})) as found,
    ):
        answer = httpx.get(f"{found.url}/v1/models")
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_failed")
        assert "status 401" in answer.json()["error"]["message"]


def test_a_key_lists_only_its_own_models() -> None:
    clients = (Caller("all", "acme"), Caller("one", "acme", models=("b*",)), Caller("two", "acme", routes=("a",)))
    routes = (Route("a", ("alpha",)), Route("b", ("beta",)))
    with ScriptedServer(models=["big"]) as model:
        config = Config({"main": Upstream("main", model.url, private=True)}, routes, clients=clients)
        with running(config) as found:
            url = f"{found.url}/v1/models"
            assert httpx.get(url).status_code == 401
            names = {key: listed(url, authorization=f"Bearer {key}") for key in ("all", "one", "two")}
            assert names == {"all": ["alpha", "beta", "big"], "one": ["beta", "big"], "two": ["alpha"]}
            assert httpx.get(f"{url}/beta", headers={"authorization": "Bearer two"}).status_code == 404


def test_a_tenant_does_not_see_models_of_another_tenants_upstream() -> None:
    with ScriptedServer(models=["big"]) as model, ScriptedServer(models=["own-1"]) as own:
        upstreams = {
            "main": Upstream("main", model.url, private=True),
            "acme": Upstream("acme", own.url, tenant="acme", private=True),
        }
        with running(Config(upstreams, (Route("acme", ("own-*",), upstream="acme"),))) as found:
            url = f"{found.url}/v1/models"
            assert listed(url, **{"x-trueup-tenant": "acme"}) == ["big", "own-1"]
            assert listed(url, **{"x-trueup-tenant": "beta"}) == listed(url) == ["big"]
            assert httpx.get(f"{url}/own-1").status_code == 404
