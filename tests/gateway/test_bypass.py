"""Nothing that was not judged reaches a client: a marker in any field of any protocol, whole or streamed, stays behind."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.gateway.planting import MARK, PATHS, Plant, Planted, plants, sse, streamed, unstreamed_reply, written
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.protocols.fields import Fate, JudgedTexts
from trueup.gateway.running import running

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
LOOK = {"name": "look", "parameters": {"properties": {"n": {"type": "integer"}}, "additionalProperties": False}}
GOOD = '{"name": "Ada", "age": 36}'
FALLBACK = "Which service would you like to book with us today?"
WORDS = "Which service would you like today? We have cuts and colour. Tell me what you need."
ROUTES = {
    "schema": Contract(PERSON, name="schema"),
    "tools": Contract(PERSON, tools=[LOOK], name="tools"),
    "states": Contract(states={"start": "S", "S": {"forbid": [{"terms": ["zqx"], "why": "w"}], "fallback": FALLBACK}}, name="states"),
}  # fmt: skip
ONCE = Policy(otherwise="failed", repairs=0, retries=0, regenerations=0, backoff=0.001, timeout=20, deadline=60)
TWICE = Policy(otherwise="failed", repairs=1, retries=0, regenerations=1, backoff=0.001, timeout=20, deadline=60)

DEGRADED = Policy(otherwise="text", repairs=0, retries=0, regenerations=0, backoff=0.001, timeout=20, deadline=60)


@pytest.fixture(scope="module")
def gateway() -> Iterator[tuple[httpx.Client, Planted]]:
    with Planted() as upstream:
        up = {
            "main": Upstream("main", upstream.url, private=True),
            "also": Upstream("also", upstream.url, "anthropic", private=True),
        }
        routes = tuple(
            Route(f"{name}-{often}", (), contract, policy=policy)
            for name, contract in ROUTES.items()
            for often, policy in (("once", ONCE), ("twice", TWICE), ("degraded", DEGRADED))
        )
        with running(Config(up, routes)) as run, httpx.Client(base_url=run.url, timeout=60) as client:
            yield client, upstream


def ask(client: httpx.Client, route: str, protocol: str, *, stream: bool, **headers: str) -> httpx.Response:
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "stream": stream}
    body |= {"input": "x"} if protocol == "responses" else {"messages": [{"role": "user", "content": "x"}]}
    return client.post(f"/{route}{PATHS[protocol]}", json=body, headers=headers)


def leaked(response: httpx.Response) -> bool:
    seen = f"{response.headers} {response.text}".lower()
    return MARK in seen or "zqx" in seen


def tried(plant: Plant, response: httpx.Response) -> str:
    return f"{plant.name}: {response.status_code} {response.headers} {response.text[:2000]}"


def bad(protocol: str, *, stream: bool) -> bytes:
    """A reply that no contract here takes."""
    text = "zqx " * 20
    return sse(streamed(protocol, text)) if stream else written(unstreamed_reply(protocol, text))


EVERY = [(protocol, stream) for protocol in PATHS for stream in (False, True)]
FEW = EVERY[:-1]  # without the streams of responses, which are always rewritten from the whole reply
NAMES = {pair: f"{pair[0]}-{'stream' if pair[1] else 'whole'}" for pair in EVERY}
TRIED = [
    *(("schema", *pair, (MARK,) if pair[1] else (MARK, [MARK], {"zqx": MARK})) for pair in EVERY),
    *(("states", *pair, (MARK,)) for pair in EVERY if pair[1]),
    *(("tools", *pair, (MARK,)) for pair in EVERY if not pair[1]),
]

few = pytest.mark.parametrize(("protocol", "stream"), FEW, ids=[NAMES[pair] for pair in FEW])


@pytest.mark.spec("X41")
@pytest.mark.parametrize(
    ("contract", "protocol", "stream", "values"), TRIED, ids=[f"{c}-{NAMES[p, s]}" for c, p, s, _ in TRIED]
)
def test_a_marker_next_to_valid_content_never_reaches_the_client(
    gateway: tuple[httpx.Client, Planted], contract: str, protocol: str, stream: bool, values: tuple[Any, ...]
) -> None:
    client, upstream = gateway
    text = WORDS if contract == "states" else GOOD
    given = lost = 0
    for plant in plants(protocol, text, values, stream=stream):
        upstream.replies = [plant.body]
        response = ask(client, f"{contract}-once", protocol, stream=stream)
        assert not leaked(response), tried(plant, response)
        assert response.status_code in (200, 422, 502), tried(plant, response)
        given += response.status_code == 200
        lost += "x-trueup-dropped" in response.headers
        if plant.rule in (Fate.NUMBER, Fate.FLAG, Fate.NAME, Fate.OWN) and not stream and "call" not in plant.name:
            assert response.status_code == 200, tried(plant, response)
    assert given > 20, "most plants leave the reply as valid as it was"
    assert stream or lost > 20, "what is dropped is reported"


@few
def test_a_marker_in_a_repaired_reply_never_reaches_the_client(
    gateway: tuple[httpx.Client, Planted], protocol: str, stream: bool
) -> None:
    client, upstream = gateway
    repaired = 0
    for plant in plants(protocol, GOOD, stream=stream, values=(MARK,)):
        upstream.replies = [bad(protocol, stream=stream), plant.body]
        response = ask(
            client, "schema-twice", protocol, stream=stream, **{"x-trueup-include": "1", "x-trueup-progress": "1"}
        )
        assert not leaked(response), tried(plant, response)
        repaired += '"outcome":"repaired"' in response.text
    assert repaired > 20


@few
def test_a_marker_in_a_refused_reply_never_reaches_the_client(
    gateway: tuple[httpx.Client, Planted], protocol: str, stream: bool
) -> None:
    client, upstream = gateway
    refused = 0
    for plant in plants(protocol, '{"name": "zqx", "zqx": 1}', stream=stream, values=(MARK,)):
        upstream.replies = [plant.body]
        response = ask(client, "schema-once", protocol, stream=stream, **{"x-trueup-include": "1"})
        assert not leaked(response), tried(plant, response)
        refused += "contract_violation" in response.text
    assert refused > 20


@pytest.mark.spec("C10", "C11")
@few
def test_a_marker_next_to_a_fallback_never_reaches_the_client(
    gateway: tuple[httpx.Client, Planted], protocol: str, stream: bool
) -> None:
    client, upstream = gateway
    fallen = 0
    for plant in plants(protocol, "zqx, said the model at once. And more.", stream=stream, values=(MARK,)):
        upstream.replies = [plant.body]
        response = ask(client, "states-twice", protocol, stream=stream, **{"x-trueup-include": "1"})
        assert not leaked(response), tried(plant, response)
        fallen += FALLBACK in response.text
    assert fallen > 20


@few
def test_a_marker_next_to_a_degraded_reply_never_reaches_the_client(
    gateway: tuple[httpx.Client, Planted], protocol: str, stream: bool
) -> None:
    client, upstream = gateway
    degraded = 0
    for plant in plants(protocol, '{"name": "Ada", "age": "many"}', stream=stream, values=(MARK,)):
        # The route asks for the text, whatever it is; a thought that arrives in a block of text is read as part of it.
        if (
            plant.rule is Fate.JUDGED
            or isinstance(plant.rule, JudgedTexts)
            or plant.name.endswith("thinking_delta.thinking")
        ):
            continue
        upstream.replies = [plant.body]
        response = ask(client, "schema-degraded", protocol, stream=stream, **{"x-trueup-include": "1"})
        assert not leaked(response), tried(plant, response)
        degraded += '"outcome":"degraded"' in response.text
    assert degraded > 20
