"""Keys of clients: hashed, expiring, rotating, for some routes and models only, and with limits in the file."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GOOD, PERSON
from trueup import Contract
from trueup.gateway.config import Allowance, Caller, Config, Route, Upstream
from trueup.gateway.file import clients
from trueup.gateway.keys import RateLimiter, hash_of, limits_of, new_key, set_limits
from trueup.gateway.pages.openapi import document
from trueup.gateway.running import Running, running
from trueup.gateway.settings import load_config, read_config
from trueup.store.open import open_store
from trueup.testing.server import ScriptedServer

KEY, OLD, NEW, GONE, BOUND, SLOW = (new_key() for _ in range(6))
CALLERS = (
    Caller(KEY, "acme"),
    Caller("", "acme", name="ci", hash=hash_of(NEW), expires=253_402_214_400.0),
    Caller("", "acme", name="ci", hash=hash_of(OLD).upper().replace("SHA256", "sha256")),
    Caller("", "acme", name="ci-2019", hash=hash_of(GONE), expires=1_577_836_800.0),
    Caller("", "acme", name="bound", hash=hash_of(BOUND), routes=("strict",), models=("small-*",)),
    Caller("", "slow", name="slow", hash=hash_of(SLOW), per_minute=2),
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Running]:
    """One gateway for all tests that only look at who is let in."""
    with ScriptedServer([], then=GOOD) as upstream:
        config = Config(
            {
                "main": Upstream("main", upstream.url, private=True),
                "also": Upstream("also", upstream.url, "anthropic", private=True),
            },
            (Route("strict", ("small-*", "large-*"), Contract(PERSON)), Route("open", ("open-*",))),
            clients=CALLERS,
        )
        with running(config) as found:
            yield found


def ask(
    gateway: Running, headers: dict[str, str], model: str = "small-1", path: str = "/v1/chat/completions"
) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": "Who?"}], "max_tokens": 9}
    return httpx.post(f"{gateway.url}{path}", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "BeArEr", "Bearer  "])
def test_the_name_of_the_scheme_is_case_insensitive(gateway: Running, scheme: str) -> None:
    assert ask(gateway, {"authorization": f"{scheme} {KEY}"}).status_code == 200


@pytest.mark.parametrize("header", ["x-api-key", "X-API-KEY", "api-key", "Api-Key"])
def test_a_key_is_accepted_in_the_headers_of_other_providers_clients(gateway: Running, header: str) -> None:
    assert ask(gateway, {header: KEY}).status_code == 200
    assert ask(gateway, {header: KEY}, path="/v1/messages").status_code == 200


def test_the_sdks_can_sign_in_and_distinguish_refusals(gateway: Running) -> None:
    import anthropic
    import openai

    said: list[Any] = [{"role": "user", "content": "Who?"}]
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=NEW) as client:
        assert client.chat.completions.create(model="small-1", messages=said).choices[0].message.content == GOOD
    with anthropic.Anthropic(base_url=gateway.url, api_key=NEW) as claude:
        assert claude.messages.create(model="small-1", max_tokens=9, messages=said).content[0].text == GOOD  # type: ignore[union-attr]
    for key, refusal in ((GONE, openai.AuthenticationError), (BOUND, openai.PermissionDeniedError)):
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key) as other, pytest.raises(refusal):
            other.chat.completions.create(model="open-1", messages=said)


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer"}, {"authorization": f"Basic {KEY}"}, {"authorization": f"Bearer {KEY}x"},
     {"authorization": f"Bearer {hash_of(NEW)}"}, {"x-api-key": "", "api-key": ""}, {"api-key": KEY[:-1]}],
)  # fmt: skip
def test_clients_without_a_valid_key_are_refused(gateway: Running, headers: dict[str, str]) -> None:
    answer = ask(gateway, headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert KEY[:-1] not in answer.text


def test_both_keys_of_a_rotation_work(gateway: Running) -> None:
    assert [ask(gateway, {"authorization": f"Bearer {key}"}).status_code for key in (NEW, OLD)] == [200, 200]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/check"])
def test_an_expired_key_is_refused_and_the_log_names_it(
    gateway: Running, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.gateway.door.keyring._told.clear()  # type: ignore[attr-defined]
    with caplog.at_level(logging.INFO):
        answers = [ask(gateway, {"authorization": f"Bearer {GONE}"}, path=path) for _ in range(3)]
    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "expired_api_key")
        assert GONE not in answer.text
    said = [record.getMessage() for record in caplog.records if record.name == "trueup.gateway"]
    assert said == ["an expired key was used: 'ci-2019' of tenant 'acme'"]
    assert GONE not in caplog.text
    assert hash_of(GONE)[7:] not in caplog.text


@pytest.mark.parametrize(
    ("path", "model", "status", "code"),
    [
        ("/v1/chat/completions", "small-1", 200, None),
        ("/strict/v1/chat/completions", "small-1", 200, None),
        ("/v1/chat/completions", "large-1", 403, "model_not_allowed"),
        ("/v1/chat/completions", "open-1", 403, "route_not_allowed"),
        ("/open/v1/chat/completions", "small-1", 403, "route_not_allowed"),
        ("/v1/messages", "gpt", 403, "route_not_allowed"),
    ],
)
def test_a_key_may_be_for_some_routes_and_models_only(
    gateway: Running, path: str, model: str, status: int, code: str | None
) -> None:
    answer = ask(gateway, {"x-api-key": BOUND}, model, path)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)


def test_checks_are_limited_to_the_routes_of_the_key(gateway: Running) -> None:
    def check(path: str) -> int:
        return httpx.post(gateway.url + path, json={"reply": GOOD}, headers={"x-api-key": BOUND}).status_code

    assert (check("/strict/v1/check"), check("/v1/check")) == (200, 403)


def test_requests_over_the_rate_limit_get_429_and_a_whole_number_of_seconds_to_wait(gateway: Running) -> None:
    answers = [ask(gateway, {"x-api-key": SLOW}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].json()["error"]["code"] == "rate_limit_exceeded"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert ask(gateway, {"x-api-key": KEY}).status_code == 200


def test_a_rate_applies_to_every_minute() -> None:
    rate = RateLimiter(2)
    assert [rate.wait(at) for at in (0.0, 59.0, 59.5, 60.0, 61.0, 119.0)] == [0, 0, 0.5, 0, 58.0, 0]


# -- the file ------------------------------------------------------------------------------------

FILE = """
upstreams: {main: {url: "https://models.example", private: true}}
store: s.db
quota: true
routes: [{name: strict, models: "small-*"}]
clients:
%s
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[Config | None, list[str]]]:
    def read(entries: str, **environ: str) -> tuple[Config | None, list[str]]:
        file = tmp_path / "gateway.yaml"
        file.write_text(FILE % entries)
        config, faults = read_config(file, environ)
        return config, [str(fault).partition("gateway.yaml:")[2] for fault in faults]

    return read


def test_an_entry_with_every_option_is_read(read: Callable[..., tuple[Config, list[str]]]) -> None:
    config, faults = read(
        f"""  - name: web
    tenant: acme
    user: ada
    routes: strict
    models: [small-*]
    limits: {{replies: [1000 per day, 20000 in total], cost: 2.5 per hour, requests_per_minute: 60}}
    keys:
      - {{hash: "{hash_of(NEW)}"}}
      - {{key: $OLD, name: web-old, expires: 9999-12-31}}
""",
        OLD=OLD,
    )
    assert faults == []
    new, old = config.clients
    assert (new.key, new.hash, new.name, old.key, old.name) == ("", hash_of(NEW), "web", OLD, "web-old")
    assert (new.expires, old.expires) == (None, 253_402_214_400.0)
    for each in (new, old):
        assert (each.tenant, each.user, each.routes, each.models) == ("acme", "ada", ("strict",), ("small-*",))
        assert (each.per_minute, each.client) == (60, "acme/web")
        assert each.limits == (
            Allowance("replies", "day", 1000), Allowance("replies", "total", 20_000), Allowance("cost", "hour", 2_500_000),
        )  # fmt: skip
    assert [limit[:3] for limit in limits_of(config.clients)] == [("acme", "user", "ada")] * 3


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("  - {tenant: acme}", "7:5: N006 key is missing. `trueup keys new` makes one."),
        ("  - {tenant: acme, key: ''}", "7:20: N006 key is missing"),
        ("  - {tenant: acme, key: $A, hash: $B}", "7:20: N006 a client has a key or a hash of it, not both"),
        ("  - {tenant: acme, hash: canary-1}", "7:20: N006 hash must be `sha256:` and 64 hexadecimal digits"),
        ("  - {tenant: acme, hash: $B, expires: soon}", "7:30: N006 expires must be a day or a moment"),
        ("  - {tenant: acme, hash: $B, expires: 2027-02-30}", "7:30: N006 expires must be a day or a moment"),
        ("  - {tenant: acme, hash: $B, routes: [strit]}", "7:30: N006 there is no route 'strit' in this file. Did you mean"),
        ("  - {tenant: acme, hash: $B, routes: []}", "7:30: N006 routes must be a list of names. Leave it out"),
        ("  - {tenant: acme, hash: $B, limits: {replies: 5}}", "7:39: N006 replies must be an amount and a period"),
        ("  - {tenant: acme, hash: $B, limits: {replies: 1.5 per day}}", "7:39: N006 replies must be an amount and a period"),
        ("  - {tenant: acme, hash: $B, limits: {replies: 5 per week}}", "7:39: N006 replies must be an amount and a period"),
        ("  - {tenant: acme, hash: $B, limits: {requests_per_minute: 0}}", "7:39: N006 requests_per_minute must be a whole number"),
        ("  - {tenant: acme, hash: $B, limits: {tokens: 5 per day}}", "7:39: N005 unknown key 'tokens'"),
        ("  - {tenant: acme, keys: []}", "7:20: N006 keys must be a list of keys or hashes"),
        ("  - {tenant: acme, hash: $B, keys: [{hash: $C}]}", "7:20: N006 an entry with `keys` cannot also have `hash`"),
        ("  - {tenant: acme, hash: $B}\n  - {tenant: other, keys: [{key: $A}]}", "8:29: N006 another client has the same key"),
        (
            "  - {tenant: acme, hash: $B, limits: {replies: 5 per day}}\n  - {tenant: acme, hash: $C, limits: {replies: 6 per day}}",
            "8:30: N006 another entry of the same client, user or tenant has a different limit",
        ),
        (
            "  - {name: web, tenant: acme, hash: $B, limits: {requests_per_minute: 5}}\n  - {name: web, tenant: acme, hash: $C}",
            "8:5: N006 another entry of the same client, user or tenant has a different limit",
        ),
        ("  - {tenant: '*', hash: $B}", "7:6: N006 a tenant cannot be called `*`, which stands for all of them. Give a name."),
        ("  - {tenant: acme, key: $E}", "7:20: N006 the key contains a line break"),
    ],
)  # fmt: skip
def test_a_faulty_entry_is_refused_with_its_position(
    read: Callable[..., tuple[Config, list[str]]], entry: str, said: str
) -> None:
    config, faults = read(entry, A="canary-1", B=hash_of("canary-1"), C=hash_of("canary-2"), E="canary-1\n")
    assert config is None
    assert any(fault.startswith(said) for fault in faults), faults
    assert "canary" not in str(faults)
    assert hash_of("canary-1")[7:] not in str(faults)


@pytest.mark.parametrize("value", ["[]", "", "null"])
def test_an_empty_list_of_clients_lets_nobody_in(tmp_path: Path, value: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(FILE.partition("clients:")[0] + f"clients: {value}\n")
    config, faults = read_config(file, {})
    assert config is None
    assert [str(fault).partition("yaml:")[2] for fault in faults] == [
        "6:1: N006 clients is empty, and without clients everyone has access. Add a client, or leave `clients` out."
    ]


def test_limits_without_quota_are_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(FILE.replace("quota: true\n", "") % "  - {tenant: a, key: k, limits: {replies: 5 per day}}")
    assert "limits of replies and cost need quota" in str(read_config(file, {})[1])


@pytest.mark.parametrize(
    ("expires", "said"),
    [
        ("2027-01-31", "the key 'ci' expires in 13 d"),
        ("2027-01-17T06:00:00+02:00", "the key 'ci' expires in less than a day"),
        ("2027-01-17T02:00:00", "the key 'ci' has expired"),
        ("2027-02-01", ""),
    ],
)
def test_a_key_that_expires_soon_is_a_warning(
    read: Callable[..., tuple[Config, list[str]]], expires: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "now", lambda: 1_800_151_200.0)  # 2027-01-17 02:00 UTC
    config, faults = read(f'  - {{name: ci, tenant: acme, key: tu-1, expires: "{expires}"}}')
    assert config is not None
    assert [fault.split("N050 ")[1].split(". ")[0] for fault in faults] == ([said] if said else [])


# -- limits reach the store ----------------------------------------------------------------------


def test_limits_in_the_file_apply_without_a_command(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = new_key()
    with ScriptedServer([], then=GOOD) as upstream:
        (tmp_path / "person.yaml").write_text("schema: {type: object, required: [age]}\n")
        file = tmp_path / "gateway.yaml"
        entry = "  - {tenant: acme, hash: $HASH, limits: {replies: %d per month}}"
        text = FILE.replace("https://models.example", upstream.url).replace("s.db", str(tmp_path / "s.db"))
        text = text.replace('models: "small-*"', 'models: "*", contract: person').replace(
            "routes:", "contracts: {person: person.yaml}\nroutes:"
        )
        file.write_text(text % entry % 2)
        with running(load_config(file, {"HASH": hash_of(key)})) as gateway:
            answers = [ask(gateway, {"x-api-key": key}).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        file.write_text(text % entry % 3)
        with running(load_config(file, {"HASH": hash_of(key)})) as gateway:
            assert [ask(gateway, {"x-api-key": key}).status_code for _ in range(2)] == [200, 429]
    assert "the limit of acme (replies, month) was 2 and is now 3" in caplog.text
    assert key not in caplog.text


def test_an_existing_limit_is_not_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    callers = [Caller("k", "acme", "ada", limits=(Allowance("cost", "day", 5),))]
    with open_store(tmp_path / "s.db") as store:
        store.quota.set_limit("acme", 9, period="day")
        for _ in range(2):
            set_limits(store.quota, callers)
        assert [tuple(limit) for limit in store.quota.limits()] == [
            ("acme", "tenant", "", "replies", "day", 9),
            ("acme", "user", "ada", "cost", "day", 5),
        ]
    assert caplog.text == ""


def test_the_description_names_every_place_for_a_key_and_every_refusal() -> None:
    described = document()
    assert {each.get("name", "authorization") for each in described["components"]["securitySchemes"].values()} == {
        "authorization", "x-api-key", "api-key",
    }  # fmt: skip
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/check"):
        assert {"401", "403", "429"} <= set(described["paths"][path]["post"]["responses"])
