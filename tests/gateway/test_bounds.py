"""Requests with parts that are too large or of the wrong kind: each is refused with the place and not stored."""

from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GOOD, PERSON, Open
from trueup import Contract
from trueup.gateway.config import Limits
from trueup.store.open import open_store

LONG = "m" * 300
STATES = Contract(states={"OPEN": {}}, name="open")
ASK = [{"role": "user", "content": "Who?"}]
NAMES: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    ("model", "/v1/chat/completions", {"model": LONG, "messages": ASK}, {}),
    ("model", "/v1/messages", {"model": LONG, "max_tokens": 9, "messages": ASK}, {}),
    ("model", "/v1/responses", {"model": LONG, "input": "Who?"}, {}),
    ("user", "/v1/chat/completions", {"model": "m", "messages": ASK, "user": LONG}, {}),
    ("metadata.user_id", "/v1/messages", {"model": "m", "messages": ASK, "metadata": {"user_id": LONG}}, {}),
    ("user", "/v1/responses", {"model": "m", "input": "Who?", "user": LONG}, {}),
    ("state", "/v1/chat/completions", {"model": "m", "messages": ASK, "trueup": {"state": LONG}}, {}),
    ("state", "/v1/chat/completions", {"model": "m", "messages": ASK}, {"x-trueup-state": LONG}),
    ("tenant", "/v1/chat/completions", {"model": "m", "messages": ASK}, {"x-trueup-tenant": LONG}),
    ("user", "/v1/chat/completions", {"model": "m", "messages": ASK}, {"x-trueup-user": LONG}),
    ("idempotency-key", "/v1/chat/completions", {"model": "m", "messages": ASK}, {"idempotency-key": LONG}),
    ("model", "/v1/check", {"reply": "x", "model": LONG}, {}),
]  # fmt: skip
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("messages[0].content", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": 5}]}),
    ("messages[1]", "/v1/chat/completions", {"model": "m", "messages": [*ASK, {"role": ["user"]}]}),
    ("messages[0]", "/v1/messages", {"model": "m", "messages": ["Who?"]}),
    ("system", "/v1/messages", {"model": "m", "messages": ASK, "system": 5}),
    ("system", "/v1/messages", {"model": "m", "messages": ASK, "system": [5]}),
    ("input[0]", "/v1/responses", {"model": "m", "input": [{"type": []}]}),
    ("user", "/v1/chat/completions", {"model": "m", "messages": ASK, "user": ["ada"]}),
]


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 400, answer.text[:300]
    message: str = answer.json()["error"]["message"]
    return message


def test_a_name_that_is_too_long_is_refused_with_its_position_and_never_stored(desk: Open, tmp_path: Any) -> None:
    with open_store(tmp_path / "v.db") as store, desk([], STATES, store=store, quota=True) as d:
        for place, path, body, headers in NAMES:
            said = refusal(d.http.post(path, json=body, headers=headers))
            assert f"'{place}' must be a string of at most 256 characters" in said
        store.flush()
        assert list(store.verdicts()) == []
        assert store.quota.standings() == []
        assert d.upstream.exchanges == []


def test_a_name_at_the_limit_is_accepted(desk: Open) -> None:
    with desk([GOOD], PERSON) as d:
        assert d.chat(model="m" * 256, user="u" * 256).status_code == 200


def test_a_part_of_the_wrong_kind_is_refused_with_its_position(desk: Open) -> None:
    with desk([], PERSON) as d:
        for place, path, body in KINDS:
            assert f"'{place}'" in refusal(d.http.post(path, json=body))


def test_a_long_model_is_refused_without_a_contract_too(desk: Open) -> None:
    with desk([]) as d:
        assert "'model' must be" in refusal(d.chat(model=LONG))


def test_a_context_has_its_own_size_limit_and_a_history_does_not_count(desk: Open) -> None:
    with desk([], PERSON, then=GOOD, limits=Limits(context=100)) as d:
        said = d.chat(trueup={"data": {"notes": "x" * 100}})
        assert "'trueup' has more than 100 bytes" in refusal(said)
        assert said.json()["error"]["code"] == "context_too_large"
        header = {"x-trueup-context": '{"data": {"notes": "' + "x" * 100 + '"}}'}
        assert "'x-trueup-context' has more than 100 bytes" in refusal(d.chat(headers=header))
        check = {"reply": GOOD, "context": {"data": {"notes": "x" * 100}}}
        assert "'context' has more than 100 bytes" in refusal(d.http.post("/v1/check", json=check))
        assert d.chat(trueup={"history": [{"role": "user", "content": "x" * 200}]}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/check"])
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_bytes_that_are_not_utf8_are_a_client_error(desk: Open, path: str, contract: Any) -> None:
    with desk([], contract, then=GOOD) as d:
        bodies = [b'{"model": "\xff", "messages": []}', b'{"trueup": {}, "reply": "\xc3", "model": "m"}']
        assert ["not a JSON object" in refusal(d.http.post(path, content=body)) for body in bodies] == [True, True]
