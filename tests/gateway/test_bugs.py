"""A bug in the contract at the gateway: one call upstream, status 500, nothing charged, the line in the log."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import httpx
import openai
import pydantic
import pytest

from tests.gateway.conftest import Open
from tests.gateway.test_charging import used
from tests.gateway.test_checking import config, post
from tests.gateway.test_streaming import deltas, text_of
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.contract.plugins import check
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.running import running
from trueup.store.open import open_store
from trueup.store.store import Store

TEXT = "A fine and full answer, with a sentence to begin with. There is more to say."
CANARY = "sk-canary-of-the-check"


@check("BUG005", "raises", "Raises.")
def raises(verdict: Any, context: Any) -> Any:
    raise KeyError(CANARY)


@check("BUG006", "times-out", "Asks a service.")
def times_out(verdict: Any, context: Any) -> Any:
    raise TimeoutError(CANARY)


@check("BUG007", "unreachable", "Asks a service.")
def unreachable(verdict: Any, context: Any) -> Any:
    raise ConnectionResetError(CANARY)


@check("BUG008", "leaves", "Leaves.")
def leaves(verdict: Any, context: Any) -> Any:
    sys.exit(CANARY)


@check("BUG009", "waits", "Waits.")
async def waits(verdict: Any, context: Any) -> Any:
    await asyncio.sleep(0)
    raise KeyError(CANARY)


BROKEN = pytest.mark.parametrize("broken", [raises, times_out, unreachable, leaves, waits], ids=lambda c: c.name)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def assert_bug(answer: httpx.Response, broken: Any) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (500, "contract_bug", "server_error")
    assert f"X001 The check {broken.name!r} raised" in error["message"]
    assert "tests/gateway/test_bugs.py:" in error["message"]
    assert [found["code"] for found in error["findings"]] == ["X001"]
    assert answer.headers["x-should-retry"] == "false"
    assert CANARY not in answer.text


@BROKEN
@pytest.mark.parametrize("stream", [False, True])
def test_a_request_fails_after_one_call_and_is_not_charged(
    desk: Open, store: Store, broken: Any, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    contract = Contract(checks=[broken], name="broken")
    policy = Policy(backoff=0.01, retries=2, repairs=2)  # a degraded answer would be given
    caplog.set_level(logging.INFO, "trueup.gateway")
    with desk([TEXT], contract, then=TEXT, store=store, quota=True, policy=policy) as d:
        answer = d.chat(stream=stream)
        if stream:  # its head has been sent
            error = deltas(answer)[-1]["error"]
            assert (error["code"], error["findings"][0]["code"]) == ("contract_bug", "X001")
            assert text_of(answer) == ""
        else:
            assert_bug(answer, broken)
            assert answer.headers["x-trueup-attempts"] == "1"
        assert len(d.upstream.requests) == 1
        store.flush()
        assert wait_for(lambda: used(store) == (0, 0)), "a stream has ended before its quota is settled"
        assert store.quota.audit() == []
        (kept,) = store.verdicts()
        assert (kept.ok, kept.outcome) == (False, "failed")
        assert 'code="X001"' in d.http.get("/metrics").text
    assert "tests/gateway/test_bugs.py:" in caplog.text
    assert CANARY not in caplog.text


@BROKEN
def test_a_bug_gives_no_verdict_at_the_check_endpoint(store: Store, broken: Any) -> None:
    contract = Contract(checks=[broken], name="broken")
    made = config(contracts={"broken": contract}, routes=())
    with running(made, store) as gateway, httpx.Client(base_url=gateway.url, timeout=60) as http:
        assert_bug(post(http, contract="broken", reply=TEXT), broken)
        assert http.get("/healthz").json() == {"status": "ok"}
        assert 'code="X001"' in http.get("/metrics").text


def test_the_openai_client_does_not_retry(desk: Open) -> None:
    with desk([TEXT], Contract(checks=[raises]), then=TEXT) as d:
        client = openai.OpenAI(base_url=f"{d.url}/v1", api_key="k", max_retries=3)
        with pytest.raises(openai.InternalServerError, match="contract_bug"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Who?"}])
        assert len(d.upstream.requests) == 1


def test_a_stream_that_has_started_ends_with_the_error(desk: Open) -> None:
    def whole(verdict: Any, context: Any) -> None:
        if "more to say" in verdict.reply.text:
            raise KeyError(CANARY)

    def by_sentence(url: str) -> Config:
        return Config(
            {"main": Upstream("main", url, private=True)},
            (Route("chat", ("*",), Contract(checks=[whole]), hold="sentence"),),
        )

    with desk([TEXT], then=TEXT, config=by_sentence) as d:
        answer = d.chat(stream=True)
        assert text_of(answer).strip() == "A fine and full answer, with a sentence to begin with."
        assert deltas(answer)[-1]["error"]["code"] == "contract_bug"
        assert CANARY not in answer.text
        assert len(d.upstream.requests) == 1


def test_a_fallback_with_the_bug_is_not_a_client_error(desk: Open) -> None:
    policy = Policy(fallback="Sorry, not now.", prices={})
    with desk([TEXT], Contract(checks=[raises]), then=TEXT, policy=policy) as d:
        answer = d.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "contract_bug")
        assert not d.upstream.requests


def test_a_validator_of_a_type_counts_as_contract_code(desk: Open) -> None:
    class Person(pydantic.BaseModel):
        name: str
        age: int

        @pydantic.model_validator(mode="before")
        @classmethod
        def grown(cls, data: Any) -> Any:
            return data if data["age"] else data["name"]["first"]

    good, bad = '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 0}'
    with desk([good, bad], Contract(Person), then=good) as d:
        assert d.chat(stream=True).text.endswith("data: [DONE]\n\n"), "a part of an object is no object"
        answer = deltas(d.chat(stream=True))[-1]
        assert answer["error"]["code"] == "contract_bug"
        assert "The type " in answer["error"]["message"]
        assert len(d.upstream.requests) == 2
