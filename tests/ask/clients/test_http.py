"""Plain HTTP: redirects are not followed, bodies are limited, slow replies time out, and the key is sent only to the server."""

import asyncio
from typing import Any

import pytest

from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.clients.http import Http, completions_url
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.testing.script import Bomb, Fail, Hang, Redirect, Say, Slow, Zipped
from trueup.testing.server import ScriptedServer

CONTRACT = Contract(SCHEMA)


def run(client: Http, policy: Policy, *, is_async: bool) -> Any:
    if not is_async:
        try:
            return ask(CONTRACT, client, "Who?", policy, wait=lambda _: False, memory=Memory())
        finally:
            client.close()

    async def no_wait(_: float) -> None:
        return None

    return asyncio.run(aask(CONTRACT, client, "Who?", policy, wait=no_wait, memory=Memory()))


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@both
def test_a_redirect_is_not_followed(is_async: bool) -> None:
    with ScriptedServer(then=GOOD) as sink, ScriptedServer([Redirect(f"{sink.url}/v1/chat/completions")]) as server:
        answer = run(Http(server.url, key="secret"), Policy(), is_async=is_async)
    assert (answer.outcome, answer.reason) == ("failed", "rejected")
    assert sink.requests == []


@both
def test_an_endless_body_is_cut(is_async: bool) -> None:
    with ScriptedServer([Bomb(200)]) as server:
        answer = run(Http(server.url, max_bytes=1_000_000), Policy(), is_async=is_async)
    assert (answer.outcome, answer.attempts[0].failure.code) == ("failed", "too_large")


@both
def test_a_slow_reply_does_not_exceed_the_timeout(is_async: bool) -> None:
    drip = Slow(Say(GOOD), every=0.1, size=1)  # it never pauses for long: only a limit for the whole reply ends it
    with ScriptedServer([drip, GOOD]) as server:
        answer = run(Http(server.url), Policy(timeout=2), is_async=is_async)
    assert answer.outcome == "accepted"
    assert answer.attempts[0].failure.code == "timeout"


@both
def test_silence_is_a_failure(is_async: bool) -> None:
    with ScriptedServer([Hang(), GOOD]) as server:
        answer = run(Http(server.url), Policy(timeout=2), is_async=is_async)
    assert answer.outcome == "accepted"
    assert answer.attempts[0].failure is not None


@both
def test_compressed_bodies_and_keys(is_async: bool) -> None:
    with ScriptedServer([Zipped(GOOD)], key="k-1") as server:
        answer = run(Http(f"{server.url}/v1", key="k-1", headers={"x-team": "blue"}), Policy(), is_async=is_async)
    assert answer.outcome == "accepted"
    assert server.requests[0].headers["x-team"] == "blue"
    assert "k-1" not in str(answer.to_dict())


@both
def test_a_key_that_the_server_repeats_is_not_shown(is_async: bool) -> None:
    with ScriptedServer([Fail(401, "the key own-key-1234 is wrong")]) as server:
        answer = run(Http(f"{server.url}/v1", key="own-key-1234"), Policy(), is_async=is_async)
    assert "own-key-1234" not in str(answer.to_dict())
    assert "the key [key] is wrong" in answer.verdict.findings[0].message
    assert server.requests[0].headers["authorization"] == "Bearer own-key-1234"


def test_no_key_is_sent_that_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    with ScriptedServer([GOOD]) as server:
        CONTRACT.ask(server.url, "Who?")
    assert "authorization" not in server.requests[0].headers


def test_the_url_of_completions() -> None:
    assert (
        completions_url("https://x.org/openai/v1/chat/completions?v=1")
        == "https://x.org/openai/v1/chat/completions?v=1"
    )
    with pytest.raises(ValueError, match="must start with http"):
        completions_url("ftp://x")
