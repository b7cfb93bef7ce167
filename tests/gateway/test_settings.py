"""The gateway's file: it becomes a configuration, and mistakes are reported with their place."""

from pathlib import Path

import pytest

from trueup.contract.files.faults import ContractError
from trueup.gateway.settings import load_config, read_config

GOOD = """
listen: 0.0.0.0:9000
server: granian
workers: 3
store: $STORE
quota: true
upstreams:
  main: {url: "https://models.example/v1/", key: $MAIN_KEY, headers: {x-org: "$ORG"}}
  claude: {url: "https://claude.example", protocol: anthropic, private: true}
models: {"claude-*": claude, "*": main}
contracts: {person: person.yaml}
routes:
  - {name: strict, models: [strict-*, exact], contract: person, policy: {repairs: 1, models: [small], prices: {"*": {input: 1, output: 2}}}, hold: whole}
  - {models: "open-*", upstream: main}
clients: [{key: $CLIENT, tenant: acme}]
limits: {request: 1000, total_seconds: 60}
redaction: {fields: [email], bodies: refused}
retention: {replies: 7}
keep_context: 5000
"""
ENVIRON = {"STORE": "s.db", "MAIN_KEY": "sk-1", "ORG": "o-1", "CLIENT": "c-1"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "person.yaml").write_text("schema: {type: object, required: [age]}\n")
    return tmp_path / "gateway.yaml"


def test_a_file_with_every_option_is_read(file: Path) -> None:
    file.write_text(GOOD)
    config = load_config(file, ENVIRON)
    assert (config.host, config.port, config.server, config.workers) == ("0.0.0.0", 9000, "granian", 3)
    main = config.upstreams["main"]
    assert (main.url, main.key, main.headers) == ("https://models.example", "sk-1", {"x-org": "o-1"})
    assert config.upstreams["claude"].private
    strict, other = config.routes
    assert strict.contract is config.contracts["person"]
    assert (strict.contract.name, strict.policy.repairs, strict.policy.otherwise, strict.hold) == (
        "person",
        1,
        "failed",
        "whole",
    )
    assert other.name == "route-2"
    assert config.route_for("exact") is strict
    assert config.route_for("open-9") is other
    assert config.route_for("none") is None
    assert config.upstream_for("claude-3", "anthropic", None) is config.upstreams["claude"]
    assert config.upstream_for("gpt", "openai", None) is main
    assert config.clients[0].tenant == "acme"
    assert (config.limits.request, config.limits.reply) == (1000, 20_000_000)
    assert (config.redaction.bodies, config.retention.replies, config.keep_context) == ("refused", 7, 5000)
    assert set(config.secrets()) >= {"sk-1", "c-1"}


@pytest.mark.spec("X25")
def test_no_repr_or_fault_contains_a_key(file: Path) -> None:
    file.write_text(GOOD)
    assert "sk-1" not in repr(load_config(file, ENVIRON))
    assert "c-1" not in repr(load_config(file, ENVIRON))
    file.write_text(GOOD.replace("$MAIN_KEY", "[sk-literal]"))
    _, faults = read_config(file, ENVIRON)
    assert faults
    assert "sk-literal" not in "".join(map(str, faults))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("upstreams:", "upstream:"),
            ["N005 unknown key 'upstream'", "N006 upstreams must name at least one provider"],
        ),
        (('"https://models.example/v1/"', "models.example"), ["N006 url must be an address that starts with http"]),
        (("$MAIN_KEY", "$NOT_SET"), ["8:45: N006 the key is in $NOT_SET, which is not set"]),
        (
            ("contract: person", "contract: persn"),
            ["N006 there is no contract 'persn' in this file. Did you mean 'person'?"],
        ),
        (("person.yaml", "gone.yaml"), ["N021 the contract 'gone.yaml' cannot be used", "N001 there is no such file"]),
        (("workers: 3", "workers: many"), ["4:1: N006 workers must be a whole number"]),
        (("quota: true", "quota: often"), ["N006 quota must be true or false"]),
        (("store: $STORE", ""), ["N006 quota needs a store"]),
        (("hold: whole", "hold: later"), ["N006 hold must be one of auto, sentence, field, whole; got 'later'"]),
        (("repairs: 1", "repairs: -1"), ["N006 repairs must be a whole number, 0 or more"]),
        (("repairs: 1", "repair_count: 1"), ["N005 unknown key 'repair_count'"]),
        (("repairs: 1", "fallback: {old: 1}"), ["N017 the policy's fallback does not satisfy the contract"]),
        (("name: strict", "name: v1"), ["N006 a route cannot be called 'v1' here"]),
        (("request: 1000", "request: lots"), ["N006 request must be a whole number; got 'lots'"]),
        (("tenant: acme", "user: x"), ["N006 tenant is missing"]),
        (("listen: 0.0.0.0:9000", "listen: nowhere"), ["N006 listen must be an address and a port"]),
        (("bodies: refused", "bodies: some"), ["N006 bodies must be one of all, refused, none; got 'some'"]),
        (("bodies: refused", "patterns: ['(']"), ["N006 redaction pattern '(' cannot be used: missing )"]),
        (("replies: 7", "replies: soon"), ["N006 replies must be a number or null; got 'soon'"]),
        (("keep_context: 5000", "keep_context: yes please"), ["keep_context must be true, false or a number of bytes"]),
        (("keep_context: 5000", "keep_context: -1"), ["keep_context must be true, false or a number of bytes"]),
        (("replies: 7", "replies: -7"), ["N006 replies must be a number of days, 0 or more, or null"]),
        (("repairs: 1", "repairs: -1"), ["13:74: N006 repairs must be"]),
        (
            ("workers: 3", "endpoints: [embedings]"),
            ["each item of endpoints must be one of", "Did you mean 'embeddings'?"],
        ),
        (("workers: 3", "logs: {format: xml}"), ["4:8: N006 format must be one of json, text; got 'xml'"]),
        (("name: strict", "name: route-2"), ["N006 another route is called 'route-2'. Give each its own name."]),
        (("routes:", "routes: 5\nroutes2:"), ["N006 routes must be a list"]),
        (("listen:", "listen: [\nx:"), ["N002 "]),
        (('"https://models.example/v1/"', '"http://["'), ["N006 url must be an address that starts with http"]),
        (('"https://models.example/v1/"', '"https://m:99999"'), ["N006 url must be an address that starts with http"]),
        (('"https://models.example/v1/"', "/"), ["N006 url must be an address that starts with http"]),
        (("$MAIN_KEY", '"sk-1\\n"'), ["N006 the key contains a line break", "Remove the line break at its end."]),
        (("$ORG", "a\\0b"), ["N006 the header contains a line break, or another character"]),
        (('"*": main', '"*": [main]'), ["N006 there is no upstream ['main'] in this file"]),
        (('"*": main', '"*": null'), ["N006 there is no upstream '' in this file"]),
        (('models: "open-*", ', ""), ["N006 no request can reach this route: it has neither `models` nor a `name`"]),
        (("models: [small]", "models: [1]"), ["N006 models must be a list of names"]),
        (("workers: 3", "workers: 100000"), ["N006 workers must be a whole number from 1 to 256"]),
        (("total_seconds: 60", "total_seconds: 0"), ["N006 total_seconds must be a number above 0; got 0.0"]),
        (("request: 1000", "request: -1"), ["N006 request must be a number above 0; got -1"]),
        (
            ("clients: [{key: $CLIENT, tenant: acme}", "clients: [{key: $CLIENT, tenant: a}, {key: c-1, tenant: b}"),
            ["N006 another client has the same key"],
        ),
    ],
)
def test_faults_are_reported_at_their_position(file: Path, change: tuple[str, str], said: list[str]) -> None:
    file.write_text(GOOD.replace(*change, 1))
    config, faults = read_config(file, ENVIRON)
    assert config is None
    lines = [str(found) for found in faults]
    for words in said:
        assert any(words in line for line in lines), lines
    assert all(line.partition(":")[0].endswith((".yaml",)) for line in lines)
    with pytest.raises(ContractError):
        load_config(file, ENVIRON)


def test_a_contract_that_cannot_be_used_is_reported_once(file: Path) -> None:
    file.write_text(GOOD.replace("person.yaml", "gone.yaml", 1))
    _, faults = read_config(file, ENVIRON)
    assert [found.code for found in faults] == ["N021", "N001"], "its route names a contract of the file"


def test_a_route_that_no_model_reaches_is_a_warning(file: Path) -> None:
    shadowed = "  - {name: last, models: [open-1, free, exact, 'strict-[ab]', 'strict-?']}\nclients"
    file.write_text(GOOD.replace("clients", shadowed, 1))
    config, faults = read_config(file, ENVIRON)
    assert config is not None
    said = [str(found) for found in faults if found.code == "N053"]
    assert len(said) == 3
    assert "no model reaches this route by 'open-1': the route 'route-2' above takes it. Move this route up" in said[1]
