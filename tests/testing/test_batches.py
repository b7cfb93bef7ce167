"""Provider batches over the real SDKs: uploads, polling, output and error files, and faults in them."""

import json
from collections.abc import Sequence
from typing import Any

import anthropic
import openai
import pytest

from trueup.testing.batches import Batch
from trueup.testing.script import Fail, Say, Slow
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

IDS = [f"unit-{n}" for n in range(8)]


def say_id(request: Request) -> Any:
    if request.custom_id == "unit-1":
        return Fail(500, "the model tripped")
    return Slow(Say(f"reply to {request.custom_id}"), first=60)  # a batch cannot be delivered slowly


def line_of(ident: str, url: str = "/v1/chat/completions") -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": ident}]}
    return {"custom_id": ident, "method": "POST", "url": url, "body": body}


def submit(client: openai.OpenAI, lines: Sequence[Any]) -> openai.types.Batch:
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    upload = client.files.create(file=("input.jsonl", data), purpose="batch")
    assert upload.bytes == len(data)
    assert client.files.content(upload.id).content == data
    return client.batches.create(
        input_file_id=upload.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"run": "7"}
    )


def finished(client: openai.OpenAI, batch: openai.types.Batch) -> openai.types.Batch:
    for _ in range(10):
        batch = client.batches.retrieve(batch.id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            break
    return batch


def rows(client: openai.OpenAI, ident: str | None) -> list[dict[str, Any]]:
    assert ident is not None
    return [json.loads(line) for line in client.files.content(ident).text.splitlines()]


def test_a_batch_of_openai() -> None:
    with ScriptedServer(say_id) as server, openai.OpenAI(base_url=server.url, api_key="none") as client:
        batch = submit(client, [line_of(ident) for ident in IDS])
        assert batch.status == "validating"
        assert client.batches.retrieve(batch.id).status == "in_progress"
        batch = finished(client, batch)
        assert (batch.status, batch.metadata) == ("completed", {"run": "7"})
        assert batch.request_counts is not None
        assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (8, 7, 1)
        good = rows(client, batch.output_file_id)
        assert {r["custom_id"]: r["response"]["body"]["choices"][0]["message"]["content"] for r in good} == {
            ident: f"reply to {ident}" for ident in IDS if ident != "unit-1"
        }
        assert [r["custom_id"] for r in good] != sorted(r["custom_id"] for r in good), "the order tells nothing"
        (bad,) = rows(client, batch.error_file_id)
        assert (bad["custom_id"], bad["response"]["status_code"]) == ("unit-1", 500)
        assert [b.id for b in client.batches.list()] == [batch.id]
        client.files.delete(batch.input_file_id)
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(batch.input_file_id)


def test_faults_of_a_batch() -> None:
    plan = Batch(polls=0, expired=["unit-2"], missing=["unit-3"], repeated=["unit-4"], garbled=["unit-5"])
    with ScriptedServer(say_id, batches=[plan]) as server, openai.OpenAI(base_url=server.url, api_key="none") as client:
        batch = finished(client, submit(client, [line_of(ident) for ident in IDS]))
        assert batch.output_file_id is not None
        lines = client.files.content(batch.output_file_id).text.splitlines()
        good = []
        for line in lines:
            try:
                good.append(json.loads(line)["custom_id"])
            except json.JSONDecodeError:
                assert "unit-5" in line
        assert sorted(good) == ["unit-0", "unit-4", "unit-4", "unit-6", "unit-7"]
        assert len(lines) == 6
        bad = {row["custom_id"]: row["error"] for row in rows(client, batch.error_file_id)}
        assert set(bad) == {"unit-1", "unit-2"}
        assert bad["unit-2"]["code"] == "batch_expired"


def test_a_batch_that_expires_completely() -> None:
    plans = [Batch(status="expired"), Batch(status="failed", message="quota")]
    with ScriptedServer(say_id, batches=plans) as server, openai.OpenAI(base_url=server.url, api_key="none") as client:
        batch = finished(client, submit(client, [line_of(ident) for ident in IDS]))
        assert (batch.status, batch.output_file_id) == ("expired", None)
        assert len(rows(client, batch.error_file_id)) == len(IDS)
        batch = finished(client, submit(client, [line_of(ident) for ident in IDS]))
        assert batch.status == "failed"
        assert batch.errors is not None
        assert batch.errors.data is not None
        assert batch.errors.data[0].message == "quota"


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([line_of("a"), line_of("a")], "duplicate_custom_id"),
        ([line_of("a"), "{no json"], "invalid_json_line"),
        ([line_of("a", "/v1/responses")], "mismatched_endpoint"),
        ([{"custom_id": "a"}], "missing_required_parameter"),
        ([""], "empty_file"),
    ],
)
def test_an_input_file_is_validated_like_the_provider_does(lines: list[Any], code: str) -> None:
    with ScriptedServer(say_id) as server, openai.OpenAI(base_url=server.url, api_key="none") as client:
        batch = finished(client, submit(client, lines))
        assert batch.status == "failed"
        assert batch.errors is not None
        assert batch.errors.data is not None
        assert batch.errors.data[0].code == code


def test_cancelling_and_unknown_batches() -> None:
    with ScriptedServer(say_id) as server, openai.OpenAI(base_url=server.url, api_key="none") as client:
        batch = submit(client, [line_of("a")])
        assert client.batches.cancel(batch.id).status == "cancelling"
        assert finished(client, batch).status == "cancelled"
        with pytest.raises(openai.NotFoundError):
            client.batches.retrieve("batch_none")
        with pytest.raises(openai.BadRequestError, match="No such File"):
            client.batches.create(input_file_id="x", endpoint="/v1/responses", completion_window="24h")


def entries() -> list[Any]:
    params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    return [{"custom_id": ident, "params": params} for ident in IDS]


def test_a_batch_of_anthropic() -> None:
    plan = Batch(expired=["unit-2"], missing=["unit-3"])
    with (
        ScriptedServer(say_id, batches=[plan]) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none") as client,
    ):
        batch = client.messages.batches.create(requests=entries())
        assert batch.processing_status == "in_progress"
        batch = client.messages.batches.retrieve(batch.id)
        assert batch.processing_status == "in_progress"
        batch = client.messages.batches.retrieve(batch.id)
        assert batch.processing_status == "ended"
        counts = batch.request_counts
        assert (counts.succeeded, counts.errored, counts.expired, counts.processing) == (5, 1, 1, 0)
        results = {row.custom_id: row.result for row in client.messages.batches.results(batch.id)}
        assert set(results) == set(IDS) - {"unit-3"}
        assert {ident: result.type for ident, result in results.items() if result.type != "succeeded"} == {
            "unit-1": "errored",
            "unit-2": "expired",
        }
        first = results["unit-0"]
        assert first.type == "succeeded"
        assert first.message.content[0].text == "reply to unit-0"  # type: ignore[union-attr]
        assert [b.id for b in client.messages.batches.list()] == [batch.id]
        client.messages.batches.delete(batch.id)
        with pytest.raises(anthropic.NotFoundError):
            client.messages.batches.retrieve(batch.id)


def test_cancelling_a_batch_of_anthropic() -> None:
    with ScriptedServer(say_id) as server, anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        batch = client.messages.batches.create(requests=entries())
        assert client.messages.batches.cancel(batch.id).processing_status == "canceling"
        assert client.messages.batches.retrieve(batch.id).request_counts.canceled == len(IDS)
        assert {row.result.type for row in client.messages.batches.results(batch.id)} == {"canceled"}
        with pytest.raises(anthropic.BadRequestError, match="unique"):
            client.messages.batches.create(requests=entries()[:1] * 2)
        with pytest.raises(anthropic.BadRequestError, match="at least 1"):
            client.messages.batches.create(requests=[])
