"""Aliases and fallbacks: which upstream gets a request, when the next one is asked, and with how many calls."""

import asyncio
import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import msgspec
import openai
import pytest

from tests.gateway.conftest import GOOD, PERSON
from tests.gateway.mutations import ODD, places
from tests.gateway.test_fuzz_requests import play, upstream
from tests.gateway.test_threats_clients import line_to
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Config, Limits, Route, Spare, Upstream
from trueup.gateway.replies.naming import renamed
from trueup.gateway.replies.retrying import FLOOR, RetryBudget
from trueup.gateway.replies.rungs import rungs_of
from trueup.gateway.running import running
from trueup.gateway.settings import load_config, read_config
from trueup.store.open import open_store
from trueup.testing.script import Call, Cut, Fail, Hang, Raw, Reset, Say, Slow
from trueup.testing.server import ScriptedServer

ROOT = Path(__file__).parents[2]
CONTRACT = Contract(PERSON, name="person")
QUICK = Policy(otherwise="failed", backoff=0.01, backoff_cap=0.02, deadline=120, timeout=60, retries=2)
UNGUARDED = msgspec.structs.replace(QUICK, breaker=0)
SALON = "¿Qué servicio te gustaría reservar hoy? Tenemos corte y color."
CLINIC = "What brings you in today? Tell me a little about the reason for your visit."
ADA = Say(GOOD, piece=100)
SOON = 0.3  # seconds that a first upstream has in tests in which it hangs


class Pair:
    """A gateway before two scripted upstreams, the second of which is the spare."""

    def __init__(self, url: str, first: ScriptedServer, spare: ScriptedServer) -> None:
        self.http = httpx.Client(base_url=url, timeout=60, verify=False)
        self.url, self.first, self.spare = url, first, spare

    def ask(self, path: str = "/v1/chat/completions", **more: Any) -> httpx.Response:
        said = {"input": "Who?"} if path.endswith("responses") else {"messages": [{"role": "user", "content": "Who?"}]}
        return self.http.post(path, json={"model": "m", **said, **more})

    @property
    def calls(self) -> tuple[int, int]:
        return len(self.first.requests), len(self.spare.requests)


@pytest.fixture
def sdk() -> Iterator[Callable[..., Any]]:
    """Makes clients of an SDK, and closes them in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda kind, url, **more: stack.enter_context(kind(base_url=url, api_key="any", **more))


def _script(steps: Any) -> dict[str, Any]:
    return {"script": steps} if isinstance(steps, list) or callable(steps) else {"then": steps}


@contextlib.contextmanager
def pair(
    first: Any, spare: Any = ADA, *, contract: Contract | None = CONTRACT, speaks: Any = "openai", policy: Policy = QUICK,
    seconds: float = 120, share: float | None = None, limits: Limits | None = None, alone: bool = False,
) -> Iterator[Pair]:  # fmt: skip
    with ScriptedServer(**_script(first)) as one, ScriptedServer(**_script(spare)) as two:
        upstreams = {
            "one": Upstream("one", one.url, private=True),
            "two": Upstream("two", two.url, speaks, private=True),
        }
        spares = () if alone else (Spare("two", "spare-model"),)
        policy = msgspec.structs.replace(policy, deadline=seconds)
        route = Route("all", ("*",), contract, "one", policy, share=share, fallback=spares)
        with running(Config(upstreams, (route,), limits=limits or Limits(total_seconds=seconds))) as gateway:
            found = Pair(gateway.url, one, two)
            with found.http:
                yield found


# -- aliases --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"model":"a","seed":1.50}', b'{"model":"large","seed":1.50}'),
        (b'{"x": "say \\"model\\": \\"a\\"",\n "model" : "a" }', b'{"x": "say \\"model\\": \\"a\\"",\n "model" : "large" }'),
        (b'{"tools":[{"model":"a"}],"model":"a"}', b'{"tools":[{"model":"a"}],"model":"large"}'),
        (b'{"model":"first","model":"last"}', b'{"model":"large"}'),
        (b'{"mod\\u0065l":"a","x":{"model":"a"}}', b'{"model":"large","x":{"model":"a"}}'),
        (b'{"model":"a\\u0062"}', b'{"model":"large"}'),
        (b'{"model":5}', b'{"model":"large"}'),
        (b'{"messages":[]}', b'{"messages":[],"model":"large"}'),
    ],
)  # fmt: skip
def test_an_alias_changes_the_model_and_nothing_else(raw: bytes, expected: bytes) -> None:
    assert renamed(raw, "large") == expected


@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_an_upstream_gets_the_model_of_the_alias_and_every_other_byte_unchanged(contract: Contract | None) -> None:
    with ScriptedServer(then=GOOD, models=["real-1"]) as server:
        route = Route("r", ("nice-*",), contract, "main", Policy(modes=("text",), instruct="never"), model="real-1")
        with running(Config({"main": Upstream("main", server.url, private=True)}, (route,))) as gateway:
            sent = b'{"model" : "nice-7",  "seed": 1.50, "messages": [{"role": "user", "content": "Who?"}]}'
            got = httpx.post(f"{gateway.url}/v1/chat/completions", content=sent)
            assert got.status_code == 200
            assert server.requests[-1].body == sent.replace(b"nice-7", b"real-1")
            assert httpx.post(f"{gateway.url}/v1/chat/completions", json={"model": "other"}).status_code in (400, 404)


def test_the_example_works_with_upstreams_that_accept_only_their_own_models(
    tmp_path: Path, sdk: Callable[..., Any]
) -> None:
    text = (ROOT / "examples" / "gateway.yaml").read_text("utf-8").replace("contracts/", f"{ROOT}/examples/contracts/")
    key = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic"}
    script = {"gpt-4o-mini": [SALON, SALON, SALON, Fail(529), Fail(529), Fail(529)], "gpt-4o": [CLINIC] * 2}
    with (
        ScriptedServer(script, models=["gpt-4o-mini", "gpt-4o"], key="sk-openai") as one,
        ScriptedServer(then=SALON, models=["claude-haiku-4-5"], key="sk-anthropic") as two,
    ):
        text = text.replace("https://api.openai.com", one.url).replace("https://api.anthropic.com", two.url)
        text = text.replace('"}, key', '"}').replace("key: $OPENAI", "private: true, key: $OPENAI")
        text = text.replace("key: $ANTHROPIC", "private: true, key: $ANTHROPIC")
        text = text.replace("store: verdicts.db", f"store: {tmp_path / 'verdicts.db'}")
        (tmp_path / "gateway.yaml").write_text(text, "utf-8")
        with running(load_config(tmp_path / "gateway.yaml", key)) as gateway:
            state = {"x-trueup-state": "SERVICE_SELECTION"}
            chat = sdk(openai.OpenAI, f"{gateway.url}/v1", default_headers=state)
            claude = sdk(anthropic.Anthropic, gateway.url, default_headers=state)
            words = [{"role": "user", "content": "Hola"}]
            for _ in range(2):  # OpenAI answers, then Anthropic does
                said = chat.chat.completions.create(model="salon-1", messages=words)
                assert said.choices[0].message.content == SALON
                assert chat.responses.create(model="salon-1", input="Hola").output_text == SALON
                message = claude.messages.create(model="salon-1", max_tokens=100, messages=words)
                assert message.content[0].text == SALON
            chat = sdk(openai.OpenAI, f"{gateway.url}/clinic/v1")
            assert chat.chat.completions.create(model="clinic", messages=words).choices[0].message.content == CLINIC
        asked = {(request.path, request.json["model"]) for request in (*one.requests, *two.requests)}
        assert asked == {
            ("/v1/chat/completions", "gpt-4o-mini"), ("/v1/responses", "gpt-4o-mini"), ("/v1/chat/completions", "gpt-4o"),
            ("/v1/messages", "claude-haiku-4-5"),
        }  # fmt: skip
        assert len(two.requests) == 3


# -- what makes the next upstream be asked -----------------------------------------------------


FAILS = [
    Fail(429), Fail(429, retry_after=60), Fail(500), Fail(503), Fail(401), Reset(), Raw(b"<html>", 502, "text/html"),
]  # fmt: skip


@pytest.mark.parametrize("speaks", ["openai", "anthropic"])
@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_an_upstream_that_cannot_answer_is_skipped_immediately(contract: Contract | None, speaks: str) -> None:
    present: list[Any] = []
    with pair(lambda _: present[-1], contract=contract, speaks=speaks, policy=UNGUARDED) as both:
        for fails in FAILS:
            present.append(fails)
            for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
                more = {"max_tokens": 50} if path == "/v1/messages" else {}
                for stream in (False, True):
                    before = both.calls
                    got = both.ask(path, stream=stream, **more)
                    assert got.status_code == 200, got.text
                    assert "Ada" in got.text
                    assert got.headers["x-trueup-upstream"] == "two"
                    assert both.spare.requests[-1].json["model"] == "spare-model"
                    assert both.calls == (before[0] + 1, before[1] + 1), fails


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("contract", [CONTRACT, None])
@pytest.mark.parametrize("fails", [Hang(), Hang(GOOD, after=0.0)], ids=["silent", "head only"])
def test_an_upstream_that_hangs_leaves_time_for_the_fallback(
    fails: Any, contract: Contract | None, stream: bool
) -> None:
    with pair(fails, contract=contract, seconds=30, share=SOON / 30) as both:
        got = both.ask(stream=stream)
        assert got.status_code == 200
        assert "Ada" in got.text
        assert both.calls == (1, 1)


def test_a_stream_that_breaks_is_retried_elsewhere_only_before_its_first_word() -> None:
    with pair(Cut(GOOD, events=1), contract=None) as both:
        got = both.ask(stream=True)
        assert got.headers.get("x-trueup-upstream") is None, "its first event has been passed on"
        assert "Ada" not in got.text
        assert both.calls == (1, 0)
    with pair(Cut("A whole sentence is said here. And then another one follows it.", events=1)) as both:
        got = both.ask(stream=True)
        assert "Ada" in got.text
        assert both.calls == (1, 1)


@pytest.mark.parametrize("contract", [CONTRACT, None], ids=["judged", "passed"])
def test_a_stream_that_has_started_may_use_the_time_reserved_for_fallbacks(
    contract: Contract | None,
) -> None:
    slow = Slow(Say(GOOD, piece=2), every=0.1)  # more than its share, which is for the first word
    with pair(slow, contract=contract, seconds=60, share=1 / 60) as both:
        got = both.ask(stream=True)
        assert "[DONE]" in got.text
        assert '"error"' not in got.text


EVENTS = "text/event-stream"
NO_REPLY = {
    "nothing": Raw(b"", content_type=EVENTS),
    "a sign of life": Raw(b": ping\n\n", content_type=EVENTS),
    "an error of Anthropic's": Raw(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n', content_type=EVENTS),
    "an error of OpenAI's": Raw(b': ping\n\ndata: {"error":{"message":"busy","type":"server_error"}}\n\n', content_type=EVENTS),
    "half an event": Raw(b'data: {"choi', content_type=EVENTS),
    "a page": Raw(b"<html>Sign in to this network</html>", content_type="text/html"),
    "no body": Raw(b""),
    "an error": Raw(b'{"error": {"message": "busy", "type": "server_error"}}'),
    "a list": Raw(b"[]"),
}  # fmt: skip


@pytest.mark.parametrize("contract", [CONTRACT, None], ids=["judged", "passed"])
def test_an_answer_without_a_reply_is_skipped(contract: Contract | None) -> None:
    present: list[Any] = []
    with pair(lambda _: present[-1], contract=contract, policy=UNGUARDED) as both:
        for name, step in NO_REPLY.items():
            present.append(step)
            got = both.ask(stream=step.content_type == EVENTS)
            assert (got.status_code, got.headers.get("x-trueup-upstream")) == (200, "two"), name
            assert "Ada" in got.text
    with pair(lambda _: present[-1], lambda _: present[-1], contract=contract, policy=UNGUARDED) as both:
        for name, step in NO_REPLY.items():
            present.append(step)
            got = both.ask(stream=step.content_type == EVENTS)
            assert got.status_code >= 400, (name, got.text)
            assert got.json()["error"]["message"], name


@pytest.mark.spec("X36")
def test_a_stream_without_an_end_is_broken_for_the_client_even_with_a_fallback() -> None:
    with pair(Cut(Say("Hello there my friend", piece=4), events=3, silent=True), contract=None) as both:
        got = both.ask(stream=True)
        assert "the answer was cut off" in got.text
        assert both.calls == (1, 0)


@pytest.mark.parametrize("contract", [CONTRACT, None], ids=["judged", "passed"])
@pytest.mark.parametrize("after", ["-5", "nan", "1e300", "soon", "Wed, 21 Oct 99999999999999999999999 07:28:00 GMT"])
def test_an_invalid_retry_after_is_not_a_server_error_and_not_passed_on(after: str, contract: Contract | None) -> None:
    for alone in (True, False):
        odd = Fail(429, retry_after=after)
        with pair(odd, odd, contract=contract, alone=alone, policy=UNGUARDED) as both:
            got = both.ask()
            assert got.status_code == 429
            assert got.headers.get("retry-after", "0").isdigit()
            assert len(got.headers.get("retry-after", "")) < 9


def test_a_retry_after_date_becomes_a_number_of_seconds() -> None:
    for alone in (True, False):
        past = Fail(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
        with pair(past, past, contract=None, alone=alone) as both:
            assert both.ask().headers["retry-after"] == "0"


def test_a_client_error_is_not_retried_elsewhere() -> None:
    with pair(Fail(400, "messages[0] is odd"), contract=None) as both:
        got = both.ask()
        assert (got.status_code, both.calls) == (400, (1, 0))


def test_a_reply_that_breaks_the_contract_is_repaired_and_then_requested_elsewhere() -> None:
    with pair("no json", speaks="anthropic") as both:
        got = both.ask()
        assert (got.status_code, got.headers["x-trueup-outcome"]) == (200, "accepted")
        assert both.calls == (3, 1)


def test_without_any_answer_the_client_gets_the_error_of_the_last_one() -> None:
    for contract in (CONTRACT, None):
        with pair(Fail(500), Fail(503, "come back", retry_after=1.2), contract=contract) as both:
            got = both.ask()
            assert got.status_code == 503
            assert ("come back" if contract is None else "status 503") in got.json()["error"]["message"]
            assert got.headers["x-should-retry"] == "false"
            assert got.headers["retry-after"] == "2"


# -- the circuit breaker -------------------------------------------------------------------------


@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_a_breaker_stops_requests_to_a_failing_upstream_and_lets_one_through_later(contract: Contract | None) -> None:
    policy = msgspec.structs.replace(QUICK, breaker=3, cooldown=0.3)
    with pair([Fail(500)] * 4 + [GOOD] * 4, contract=contract, policy=policy) as both:
        for _ in range(6):
            assert both.ask().status_code == 200
        assert both.calls == (3, 6), "the breaker opened after three failures"
        assert 'trueup_breaker_open{upstream="one"} 1' in both.http.get("/metrics").text
        wait_for(lambda: both.ask().status_code == 200 and both.calls[0] == 4)
        spare = both.calls[1]
        assert both.ask().headers["x-trueup-upstream"] == "two", "the one that tried it failed"
        wait_for(lambda: "x-trueup-upstream" not in both.ask().headers)
        assert "x-trueup-upstream" not in both.ask().headers
        assert both.calls[1] > spare
        assert 'trueup_breaker_open{upstream="one"} 0' in both.http.get("/metrics").text


def test_models_of_one_upstream_on_one_route_have_separate_breakers() -> None:
    policy = msgspec.structs.replace(QUICK, breaker=2, models=("large",))
    with ScriptedServer({"small": [Fail(503)] * 2, "large": [GOOD] * 5}) as server:
        route = Route("r", ("small",), CONTRACT, "main", policy)
        with running(Config({"main": Upstream("main", server.url, private=True)}, (route,))) as gateway:
            body = {"model": "small", "messages": [{"role": "user", "content": "Who?"}]}
            got = [httpx.post(f"{gateway.url}/v1/chat/completions", json=body).status_code for _ in range(5)]
        assert got == [200] * 5
        assert [request.json["model"] for request in server.requests].count("small") == 2


def test_a_reply_of_the_fallback_is_charged_once(tmp_path: Path) -> None:
    with (
        ScriptedServer(then=Fail(500)) as one,
        ScriptedServer(then=ADA) as two,
        open_store(tmp_path / "store.db") as store,
    ):
        upstreams = {
            "one": Upstream("one", one.url, private=True),
            "two": Upstream("two", two.url, "anthropic", private=True),
        }
        spare = (Spare("two", "spare-model"),)
        routes = (
            Route("judged", (), CONTRACT, "one", UNGUARDED, fallback=spare),
            Route("passed", (), None, "one", fallback=spare),
        )
        store.quota.set_limit("acme", 100, period="total")
        with running(Config(upstreams, routes, quota=True), store) as gateway:
            for name in ("judged", "passed"):
                for stream in (False, True):
                    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Who?"}]}
                    got = httpx.post(
                        f"{gateway.url}/{name}/v1/chat/completions", json=body, headers={"x-trueup-tenant": "acme"}
                    )
                    assert got.status_code == 200, got.text
        assert {row.used for row in store.quota.standings("acme") if row.unit == "replies"} == {4}
        assert len(two.requests) == 4


def test_tenants_with_their_own_upstreams_fall_back_only_to_these() -> None:
    with ScriptedServer(then=Fail(500)) as down, ScriptedServer(then=GOOD) as up, ScriptedServer(then=GOOD) as other:
        upstreams = {
            "main": Upstream("main", down.url, private=True), "acme": Upstream("acme", up.url, tenant="acme", private=True),
            "bolt": Upstream("bolt", other.url, tenant="bolt", private=True),
        }  # fmt: skip
        spares = (Spare("acme"), Spare("bolt"))
        routes = tuple(
            Route(name, (), contract, "main", UNGUARDED, fallback=spares)
            for name, contract in (("a", CONTRACT), ("b", None))
        )
        with running(Config(upstreams, routes)) as gateway:
            for tenant, expected in (("acme", "acme"), ("bolt", "bolt"), ("acme", "acme"), ("none", None)):
                for route in ("a", "b"):
                    body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
                    got = httpx.post(
                        f"{gateway.url}/{route}/v1/chat/completions", json=body, headers={"x-trueup-tenant": tenant}
                    )
                    assert got.headers.get("x-trueup-upstream") == expected, (tenant, got.text)
                    assert (got.status_code == 200) == (expected is not None)


def test_an_unknown_model_does_not_open_the_breaker_of_its_upstream() -> None:
    policy = msgspec.structs.replace(QUICK, breaker=2)
    with pair(Fail(404, "no such model"), contract=None, policy=policy) as both:
        for _ in range(4):
            both.ask()
        assert both.calls[0] == 4


# -- how many calls ------------------------------------------------------------------------------

# The failure, and the upstream calls for one call of an SDK with default retries: alone, and with a failing spare.
COUNTS = [
    (Fail(500), 3, 4), (Fail(503, retry_after=0.01), 3, 4), (Fail(429), 3, 4), (Fail(429, retry_after=0.01), 3, 4),
    (Reset(), 3, 4), ("no json", 3, 6), (Fail(400, "bad"), 1, 2), (Fail(401), 1, 2), ("", 3, 4),
]  # fmt: skip


@pytest.mark.spec("X37")
@pytest.mark.parametrize("alone", [True, False])
def test_one_call_of_an_sdk_causes_few_calls_of_the_upstreams(alone: bool, sdk: Callable[..., Any]) -> None:
    present: list[Any] = []

    def script(_: Any) -> Any:
        return present[-1]

    with pair(script, script, alone=alone, policy=UNGUARDED, limits=Limits(retry_budget=100)) as found:
        client = sdk(openai.OpenAI, f"{found.url}/v1")
        for fails, single, both in COUNTS:
            present.append(fails)
            before = sum(found.calls)
            with pytest.raises(openai.APIStatusError) as raised:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Who?"}])
            assert sum(found.calls) - before == (single if alone else both), fails
            assert raised.value.response.headers["x-should-retry"] == "false", fails


@pytest.mark.spec("X37")
@pytest.mark.parametrize(("alone", "expected"), [(True, (2, 0)), (False, (1, 1))])
def test_upstreams_that_hang_are_called_as_often_as_there_is_time(alone: bool, expected: tuple[int, int]) -> None:
    policy = msgspec.structs.replace(QUICK, timeout=0.8)  # two thirds of the deadline, as by default
    with pair(Hang(), Hang(), alone=alone, policy=policy, seconds=1.2) as found:
        got = found.ask()
        assert (got.status_code, got.headers["x-should-retry"], found.calls) == (504, "false", expected)


@pytest.mark.spec("X37")
def test_the_same_applies_to_anthropics_sdk_and_to_passed_requests(sdk: Callable[..., Any]) -> None:
    with pair(Fail(500), Fail(500), contract=None, speaks="anthropic") as found:
        client = sdk(anthropic.Anthropic, found.url)
        with pytest.raises(anthropic.APIStatusError):
            client.messages.create(model="m", max_tokens=50, messages=[{"role": "user", "content": "Who?"}])
        assert found.calls == (1, 1)


@pytest.mark.spec("X37")
def test_an_error_that_may_pass_is_left_to_the_client_with_a_whole_number_of_seconds() -> None:
    for contract in (CONTRACT, None):
        with pair(Fail(429, retry_after=20.4), contract=contract, alone=True) as found:
            got = found.ask()
            assert (got.status_code, found.calls[0]) == (429, 1), "a long wait is not waited for here"
            assert got.headers["retry-after"] == "21"
            assert "x-should-retry" not in got.headers
        with pair(Fail(500), Fail(429, retry_after=20.4), contract=contract) as found:
            got = found.ask()
            assert (got.status_code, got.headers["retry-after"], found.calls) == (429, "21", (1, 1))
            assert got.headers["x-should-retry"] == "false", "the gateway has tried all there is"


@pytest.mark.spec("X37")
def test_waits_have_jitter_and_respect_retry_after() -> None:
    with pair([Fail(429, retry_after=0.05), Fail(429, retry_after=0.05), GOOD] * 2, alone=True) as found:
        waits = []
        for _ in range(2):
            got = found.http.post(
                "/v1/chat/completions",
                json={"model": "m", "messages": [{"role": "user", "content": "Who?"}]},
                headers={"x-trueup-progress": "1"},
            )
            waits += [row["delay"] for row in json.loads(got.headers["x-trueup-progress"]) if row["event"] == "waiting"]
        assert len(waits) == 4
        assert min(waits) >= 0.05
        assert len(set(waits)) > 1


@pytest.mark.spec("X37")
def test_a_conversation_does_not_grow_with_the_attempts() -> None:
    policy = msgspec.structs.replace(QUICK, repairs=9, attempts=6, same_fault=9)
    wrong = [json.dumps({"name": "Ada", f"x{n}": "no age " * 2000}) for n in range(6)]
    with pair(wrong, alone=True, policy=policy) as found:
        assert found.ask().status_code == 422
        sizes = [len(request.body) for request in found.first.requests]
        assert len(sizes) == 6
        assert max(sizes) < sizes[0] + policy.quote + 2000, (
            "each repair quotes one reply, cut short, and not all of them"
        )


@pytest.mark.spec("X37")
def test_all_requests_of_a_worker_share_a_budget_of_retries() -> None:
    limits = Limits(retry_budget=0.1)
    with pair(Fail(500), alone=True, limits=limits, policy=msgspec.structs.replace(QUICK, breaker=0)) as found:
        got = [found.ask() for _ in range(40)]
        assert found.calls[0] <= 40 + FLOOR + 0.1 * 40 + 1
        assert found.calls[0] >= 40 + FLOOR
        assert got[-1].headers["x-should-retry"] == "false"


@pytest.mark.spec("X37")
def test_a_retry_budget_forgets_old_retries() -> None:
    now = [0.0]
    budget = RetryBudget(0.5, floor=0, now=lambda: now[0])
    for _ in range(4):
        budget.count(now[0])
    for _ in range(2):
        assert budget.allows()
        budget.take()
    assert not budget.allows()
    now[0] = 31.0
    assert not budget.allows(), "the window before counts too"
    budget.count(now[0])
    budget.count(now[0])
    assert budget.allows()
    now[0] = 500.0
    assert not budget.allows(), "and so do the requests in it, and nothing older"


# -- what is left of a request and a reply in another protocol ------------------------------------


def test_a_request_that_cannot_be_translated_is_refused_or_sent_elsewhere() -> None:
    hosted = [{"type": "web_search_preview"}]
    for contract in (CONTRACT, None):
        with pair(GOOD, contract=contract, speaks="anthropic") as both:
            assert both.ask("/v1/responses", tools=hosted).status_code == 200
        with pair(Fail(500), contract=contract, speaks="anthropic") as both:
            got = both.ask("/v1/responses", tools=hosted)
            assert both.calls[1] == 0
            assert got.status_code == (500 if contract is None else 502), "the error of the one that was asked"
            assert ("scripted failure" if contract is None else "failed with status 500") in got.text
    with pair(GOOD, contract=CONTRACT) as both:
        got = both.ask("/v1/messages", max_tokens=9, tools=[{"type": "web_search_20250305", "name": "web_search"}])
        assert got.status_code == 400
        assert "tools[0]" in got.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_calls_cross_protocols_in_both_directions(stream: bool, sdk: Callable[..., Any]) -> None:
    reply = Say("One moment.", (Call("look", {"day": 3}, "call_1"),), usage=(11, 7))
    parameters = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
    words: list[Any] = [{"role": "user", "content": "When?"}]
    with pair(Fail(500), reply, contract=None, speaks="anthropic") as both:
        chat = sdk(openai.OpenAI, f"{both.url}/v1")
        tool: Any = {"type": "function", "function": {"name": "look", "parameters": parameters}}
        if stream:
            with chat.chat.completions.stream(
                model="m", messages=words, tools=[tool], stream_options={"include_usage": True}
            ) as events:
                said = events.get_final_completion()
        else:
            said = chat.chat.completions.create(model="m", messages=words, tools=[tool])
        message = said.choices[0].message
        assert (message.content, said.choices[0].finish_reason) == ("One moment.", "tool_calls")
        assert json.loads(message.tool_calls[0].function.arguments) == {"day": 3}
        assert said.usage is not None
        assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (11, 7)
        sent = both.spare.requests[-1].json
        assert sent["tools"] == [{"name": "look", "input_schema": parameters}]
        assert sent.get("stream") in (None, False)
    with pair(reply, contract=None) as both:
        claude = sdk(anthropic.Anthropic, both.url)
        own: Any = {"name": "look", "input_schema": parameters}
        if stream:
            with claude.messages.stream(model="m", max_tokens=99, messages=words, tools=[own]) as events:
                got = events.get_final_message()
        else:
            got = claude.messages.create(model="m", max_tokens=99, messages=words, tools=[own])
        assert [block.type for block in got.content] == ["text", "tool_use"]
        assert (got.content[1].input, got.stop_reason) == ({"day": 3}, "tool_use")
        assert both.first.requests[-1].json["tools"][0]["function"]["name"] == "look"


def test_the_finish_reason_is_translated_to_the_clients_protocol() -> None:
    cut = Say("It was a dark and", finish="length")
    with pair(cut, cut, contract=None, speaks="anthropic") as both:
        assert both.ask("/v1/messages", max_tokens=9).json()["stop_reason"] == "max_tokens"
    with pair(Fail(500), cut, contract=None, speaks="anthropic") as both:
        assert both.ask().json()["choices"][0]["finish_reason"] == "length"
        got = both.ask("/v1/responses").json()
        assert (got["status"], got["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_a_parameter_that_the_upstream_rejects_is_left_out_from_then_on() -> None:
    with ScriptedServer(then=GOOD, reject=["max_tokens"]) as server:
        route = Route("r", ("*",), None, "main")
        with running(Config({"main": Upstream("main", server.url, private=True)}, (route,))) as gateway:
            body = {"model": "m", "max_tokens": 77, "messages": [{"role": "user", "content": "Who?"}]}
            for _ in range(2):
                assert httpx.post(f"{gateway.url}/v1/messages", json=body).status_code == 200
        assert [request.json.get("max_completion_tokens") for request in server.requests] == [None, 77, 77]


# -- the file --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ("fallback: [{model: x}]", "a fallback names an upstream"),
        ("fallback: [{upstream: on}]", "there is no upstream 'on' in this file. Did you mean 'one'?"),
        ("fallback: [{upstream: two, sharre: 0.4}]", "unknown key 'sharre'. Did you mean 'share'?"),
        ("fallback: {upstream: two}", "fallback must be a list"), ("fallback: [two]", "mapping of names to values"),
        ("fallback: [{upstream: two, share: 1.5}]", "share must be a number above 0 and below 1; got 1.5"),
        ("share: 0.7, fallback: [{upstream: two, share: 0.4}]", "the shares add up to 1.1"),
        ("fallback: [{upstream: two, share: 0.5}, {upstream: one, share: 0.5}]", "the shares add up to 1"),
        ("model: 5", "model is a text"),
    ],
)  # fmt: skip
def test_faults_of_a_fallback_are_reported_with_their_position(tmp_path: Path, route: str, said: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        'upstreams: {one: {url: "https://a.example"}, two: {url: "https://b.example", protocol: anthropic}}\n'
        f"routes: [{{name: r, upstream: one, {route}}}]\n"
    )
    _, faults = read_config(file, {})
    assert said in " ".join(f"{fault.message}. {fault.hint}" for fault in faults)
    assert all(fault.line == 2 and fault.column > 1 for fault in faults)


def test_a_route_has_rungs_in_order_with_shares_of_the_time(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        'upstreams: {one: {url: "https://a.example"}, two: {url: "https://b.example", protocol: anthropic}}\n'
        "routes:\n"
        "  - {name: r, models: x, upstream: one, model: a, policy: {models: [b]}, fallback: [{upstream: two, model: c, share: 0.5}]}\n"
        "limits: {retry_budget: 0}\n"
    )
    config, faults = read_config(file, {})
    assert faults == []
    assert config is not None
    rungs = rungs_of(config, config.routes[0], "x", "openai")
    assert [(rung.upstream.name, rung.model, rung.share) for rung in rungs] == [
        ("one", "a", 0.25), ("one", "b", 0.25), ("two", "c", 0.5),
    ]  # fmt: skip
    assert config.limits.retry_budget == 0
    assert (config.routes[0].policy.attempts, config.routes[0].policy.retries) == (6, 2)


@pytest.mark.spec("X37")
@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_no_damaged_request_causes_a_server_error_in_translation(contract: Contract | None) -> None:
    async def played() -> list[str]:
        server = await asyncio.start_server(upstream, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        both = {
            "one": Upstream("one", url, responses=False, private=True),
            "two": Upstream("two", url, "anthropic", private=True),
        }
        routes = (Route("r", ("m",), contract, "two", model="x"), Route("s", ("*",), contract, "one"))
        with running(Config(both, routes)) as gateway:
            _, faults = await play(int(gateway.url.rpartition(":")[2]), 20261117, 400)
        server.close()
        await server.wait_closed()
        return faults

    assert asyncio.run(played()) == []


def test_no_damaged_reply_causes_a_server_error_in_translation() -> None:
    good = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": GOOD}, {"type": "tool_use", "id": "c", "name": "look", "input": {"a": 1}}],
        "usage": {"input_tokens": 5, "output_tokens": 5},
    }  # fmt: skip
    dice = random.Random(20261117)

    def reply(_: Any) -> Any:
        body = copy.deepcopy(good)
        for _ in range(dice.choice((1, 1, 2, 3))):
            holder, key = dice.choice(places(body))
            holder[key] = copy.deepcopy(dice.choice(ODD))
        text = json.dumps(body).encode("utf-8", "surrogatepass")
        return Raw(text[: dice.choice((None, None, None, 50))], dice.choice((*[200] * 9, 400, 429, 503)))

    with ScriptedServer(reply) as server:
        routes = (Route("r", ("*",), None, "two"), Route("judged", (), CONTRACT, "two", UNGUARDED))
        config = Config(
            {"two": Upstream("two", server.url, "anthropic", private=True)}, routes, limits=Limits(retry_budget=100)
        )
        with running(config) as gateway, httpx.Client(base_url=gateway.url, timeout=60) as client:
            for turn in range(300):
                base = "" if turn % 3 else "/judged"
                path, said = (
                    ("chat/completions", {"messages": [{"role": "user", "content": "Who?"}]}),
                    ("responses", {"input": "Who?"}),
                )[turn % 2]
                got = client.post(f"{base}/v1/{path}", json={"model": "m", "stream": turn % 5 == 0, **said})
                assert got.status_code in (200, 400, 422, 429, 502, 503), (got.text, server.requests[-1])
                assert "the gateway failed" not in got.text
                if got.status_code != 200:
                    assert got.json()["error"]["message"]


@pytest.mark.spec("Q11", "X40")
def test_a_client_that_leaves_during_a_translated_fallback_stream_is_charged(tmp_path: Path) -> None:
    long = json.dumps({"name": "Ada" * 3_000_000, "age": 36})  # more than a connection takes that nobody reads
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Who?"}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n"
    with ScriptedServer(then=Fail(500)) as one, ScriptedServer([Say(long, piece=10_000_000)]) as two:
        upstreams = {
            "one": Upstream("one", one.url, private=True),
            "two": Upstream("two", two.url, "anthropic", private=True),
        }
        route = Route("all", ("*",), CONTRACT, "one", QUICK, fallback=(Spare("two", "spare-model"),))
        config = Config(upstreams, (route,), quota=True, limits=Limits(replay=20_000_000))
        with open_store(tmp_path / "s.db") as store, running(config, store) as gateway:
            with line_to(gateway.url) as line:
                line.sendall(head % len(body) + body)
                seen = b""
                while b"AdaAda" not in seen:
                    seen += line.recv(1000)
            wait_for(lambda: gateway.gateway.metrics.active == 0)
            assert [(each.used, each.held) for each in store.quota.standings("") if each.unit == "replies"][:1] == [
                (1, 0)
            ]
            again = httpx.post(
                f"{gateway.url}/v1/chat/completions", content=body, headers={"idempotency-key": "k"}, timeout=60
            )
            assert (again.headers["x-trueup-replayed"], "[DONE]" in again.text) == ("true", True)
            assert (again.text.count("Ada") >= 3_000_000, len(two.requests), store.quota.audit()) == (True, 1, [])
