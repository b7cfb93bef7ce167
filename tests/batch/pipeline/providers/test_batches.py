"""Provider batches, against scripted endpoints of the real protocols: matched by custom id, with faulty lines."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import (
    GOOD,
    BreakingDisk,
    Crash,
    Ran,
    asking,
    assert_whole,
    go,
    lines,
    results,
    run_pipeline,
    start,
    timeless,
    write_pipeline,
)
from trueup.batch.pipeline.providers.batch_requests import sorted_out
from trueup.batch.pipeline.providers.http import HttpSession
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.running.run import PipelineOptions
from trueup.testing.batches import Batch
from trueup.testing.script import Fail, Say
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

OPTIONS = PipelineOptions(batch=True, poll=0.002)
ITEMS = [{"id": f"unit {n:02d}"} for n in range(12)]


def answer(request: Request) -> Any:
    """The model's replies: wrong the first time for every third unit, right after a correction is requested."""
    said = json.dumps(request.fields.get("messages"))
    number = int(said.split("unit_")[1][:2])
    if number % 3 == 0 and "not valid" not in said:
        return Say('{"reply": 5}', usage=(50, 5))
    return Say(json.dumps({"answer": f"number {number}"}), usage=(60, 7))


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "secret")


def write(folder: Path, url: str, provider: str = "openai", size: int = 5, **api: Any) -> Path:
    base = url if provider == "anthropic" else f"{url}/v1"
    settings = {"provider": provider, "model": "m", "base_url": base, "prices": {"m": {"input": 2.0, "output": 4.0}}}
    return write_pipeline(folder, [asking("ask")], ITEMS, (), api={**settings, **api}, chunk_size=size)


def served(
    tmp_path: Path, batches: Sequence[Batch], provider: str = "openai", script: Any = answer, **api: Any
) -> tuple[Ran, ScriptedServer]:
    server = ScriptedServer(script, batches=batches)
    with server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url, provider, **api), tmp_path / "run", OPTIONS)
    assert_whole(ran.path)
    return ran, server


def created(server: ScriptedServer) -> int:
    """How many batches were made."""
    return sum(r.method == "POST" and r.path.endswith("/batches") for r in server.requests)


@pytest.mark.spec("B17")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "url"])
def test_batches_give_the_same_results_as_realtime_calls(tmp_path: Path, provider: str) -> None:
    ran, server = served(tmp_path, (), provider)
    with ScriptedServer(answer) as other:
        live = run_pipeline(write(tmp_path / "live", other.url, provider), tmp_path / "live_run")
    assert timeless(ran.valid) == timeless(live.valid)
    assert len(ran.valid) == 12
    assert ran.money.calls == live.money.calls == 16
    assert ran.money.usd == pytest.approx(live.money.usd / 2)
    assert created(server) == 5  # three chunks, and a second round for the two that need one


@pytest.mark.spec("B17")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "fault",
    [Batch(expired=2), Batch(missing=2), Batch(repeated=3), Batch(garbled=2), Batch(status="expired"), Batch(polls=5)],
    ids=["expired", "missing", "repeated", "garbled", "all-expired", "slow"],
)
def test_faults_in_a_batch_affect_only_their_own_lines(tmp_path: Path, fault: Batch, provider: str) -> None:
    ran, server = served(tmp_path, [fault, fault, Batch()], provider)
    assert len(ran.valid) == 12
    assert not ran.failed
    # Answered requests are not sent again: a second round only has the ones without an answer.
    assert len(results(ran.path)) == 16 == ran.money.calls
    names = [row["custom_id"] for row in results(ran.path)]
    assert len(set(names)) == len(names)
    if fault.repeated or fault.polls > 1:
        assert created(server) == 5


@pytest.mark.spec("B17")
@pytest.mark.parametrize(
    ("fault", "why"), [(Batch(expired=2), "expired"), (Batch(missing=2), "no answer")], ids=["expired", "missing"]
)
def test_requests_that_are_sent_again_are_in_the_log_and_the_summary(tmp_path: Path, fault: Batch, why: str) -> None:
    ran, _ = served(tmp_path, [fault, Batch()], size=20)
    (row,) = RunDir.look(ran.path).state.step_rows()
    assert row["resent"] == {why: 2}
    log = (ran.path / "RUN_LOG.txt").read_text("utf-8")
    assert log.count("are sent again") == 1
    assert "2 of 12 requests of batch " in log
    assert f"are sent again: 2 {why}" in log


def test_a_request_that_never_returns_fails_after_its_attempts(tmp_path: Path) -> None:
    ran, server = served(tmp_path, [Batch(missing=12)] * 20, size=20)
    assert not ran.valid
    assert {record["failure_stage"] for record in ran.failed} == {"pipeline_internal"}
    assert {record["errors"][0]["code"] for record in ran.failed} == {"R002"}
    assert {record["tries"]["transport"] for record in ran.failed} == {1}
    assert RunDir.look(ran.path).state.step_rows()[0]["resent"] == {
        "no answer": 24
    }  # twice each; the third was the last
    assert created(server) == 3  # exactly `max_attempts` calls
    assert ran.money.calls == 0


def test_error_lines_are_distinguished(tmp_path: Path) -> None:
    """A rate limit passes the next time, a bad request does not."""
    seen: set[str] = set()

    def script(request: Request) -> Any:
        said = json.dumps(request.fields["messages"])
        if "unit_01" in said:
            return Fail(400, "the prompt is too long", "context_length_exceeded")
        if "unit_02" in said and said not in seen:
            seen.add(said)
            return Fail(429, "slow down", "rate_limit_exceeded")
        return Say(GOOD)

    ran, _ = served(tmp_path, (), script=script)
    assert ran.ids[1] == ["unit_01"]
    assert "too long" in ran.failed[0]["errors"][0]["message"]
    assert "unit_02" in ran.ids[0]


def test_a_batch_that_the_provider_refuses_stops_the_run_with_its_reason(tmp_path: Path) -> None:
    with ScriptedServer(answer, batches=[Batch(status="failed", message="line 3 is too long")]) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run", OPTIONS)
        assert ran.result.status == "paused"
        assert ran.result.code == 3
        assert "line 3 is too long" in ran.result.reason
        again = go(ran.path, OPTIONS)  # the next start sends it again
    assert len(again.valid) == 12


def test_an_answer_without_the_name_of_the_batch_is_reported_and_the_batch_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = HttpSession.json

    async def nameless(self: HttpSession, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        found = await real(self, method, path, body, **more)
        return {"object": "batch"} if (method, path) == ("POST", "/batches") else found

    with ScriptedServer(answer) as server:
        with monkeypatch.context() as patch:
            patch.setattr(HttpSession, "json", nameless)
            ran = run_pipeline(write(tmp_path / "pipeline", server.url, size=12), tmp_path / "run", OPTIONS)
        assert ran.result.status == "paused"
        assert "has no 'id': {'object': 'batch'}" in ran.result.reason
        assert created(server) == 1
        again = go(ran.path, OPTIONS)
        assert created(server) == 2  # the second round, for refused replies; the first was found
    assert len(again.valid) == 12


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_batch_is_not_sent_twice_when_the_answer_to_sending_it_is_lost(tmp_path: Path, provider: str) -> None:
    """The intent is recorded, the id is not: the provider is asked whether it has the batch."""
    with ScriptedServer(answer) as server:
        pipeline = write(tmp_path / "pipeline", server.url, provider, size=12)
        path = start(pipeline, tmp_path / "run")
        for at in range(1, 60):
            before = created(server)
            try:
                go(path, OPTIONS, disk=BreakingDisk(at, at))
            except Crash:
                if created(server) > before:
                    break
        sent = created(server)
        ran = go(path, OPTIONS)
        assert_whole(path)
        assert created(server) == sent + 1  # the second round, for refused replies; the first was found
    assert len(ran.valid) == 12


@pytest.mark.spec("B17", "B18")
def test_batches_survive_a_crash_at_any_point(tmp_path: Path) -> None:
    for seed in range(10):
        chance = random.Random(seed)
        with ScriptedServer(answer, batches=[Batch(polls=0, expired=1, repeated=2), Batch(missing=1)]) as server:
            path = start(write(tmp_path / f"pipeline{seed}", server.url), tmp_path / f"run{seed}")
            for death in range(100):
                try:
                    ran = go(path, OPTIONS, disk=BreakingDisk(chance.randint(1, 60), death))
                    break
                except Crash:
                    continue
            assert_whole(path)
            assert len(ran.valid) == 12
            assert ran.money.calls == 16 == len(results(path))


def test_a_batch_of_another_run_is_not_mistaken_for_ours(tmp_path: Path) -> None:
    """Anthropic stores no key: after a crash between the intent and the id, any batch of the same size may be ours."""
    with ScriptedServer(answer, batches=[Batch(polls=3), Batch(polls=3)]) as server:
        pipeline = write(tmp_path / "pipeline", server.url, "anthropic", size=12)
        other = start(pipeline, tmp_path / "other")
        assert go(other, OPTIONS._replace(timeout=0.001, poll=600)).result.status == "paused"
        assert created(server) == 1
        path = start(pipeline, tmp_path / "run")
        run = OwnedRun.open(path)
        run.commit(
            "intent", chunk="chunk_000", step="ask", round=0, key=f"tu-{0:016x}", requests=12, provider="anthropic"
        )
        run.close()
        ran = go(path, OPTIONS)
        theirs = go(other, OPTIONS)
    assert "belongs to another run; looking again" in (path / "RUN_LOG.txt").read_text("utf-8")
    assert len(ran.valid) == len(theirs.valid) == 12
    for each in (path, other):
        rows = [row for file in (each / "chunks").glob("*/*_results.jsonl") for row in lines(file)]
        assert not any("transport" in row for row in rows), "nothing is counted against a unit"
        assert_whole(each)


def test_batches_in_progress_are_waited_for_unless_they_may_be_left_behind(tmp_path: Path) -> None:
    said = "3 of its batches, with 12 requests, were sent and not collected; "
    with ScriptedServer(answer, batches=[Batch(polls=3)] * 3) as server:
        path = start(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        ran = go(path, PipelineOptions(batch=True, timeout=0.001, poll=60))
        assert (ran.result.status, ran.result.code) == ("paused", 3)
        assert created(server) == 3
        ran = go(path, PipelineOptions(poll=0.002))
        assert created(server) == 3 + 2  # the second round of two chunks, for refused replies
    assert len(ran.valid) == 12
    assert f"{said}the run waits for them" in (path / "RUN_LOG.txt").read_text("utf-8")
    assert_whole(path)


def test_batches_may_be_left_behind(tmp_path: Path) -> None:
    with ScriptedServer(answer, batches=[Batch(polls=1_000_000)] * 3) as server:
        path = start(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        go(path, OPTIONS._replace(timeout=0.001))
        ran = go(path, PipelineOptions(batch=False))
        assert created(server) == 3
    assert len(ran.valid) == 12
    assert "they are abandoned, and all their requests are sent again" in (path / "RUN_LOG.txt").read_text("utf-8")
    assert_whole(path)


def test_no_more_batches_than_allowed_are_in_progress(tmp_path: Path) -> None:
    most = 0
    open_now: set[str] = set()

    def script(request: Request) -> Any:
        return Say(GOOD)

    with ScriptedServer(script, batches=[Batch(polls=3)] * 12) as server:
        pipeline = write(tmp_path / "pipeline", server.url, size=1, max_inflight_batches=2)
        ran = run_pipeline(pipeline, tmp_path / "run", OPTIONS)
        for exchange in server.exchanges:
            request = exchange.request
            if request.method == "POST" and request.path.endswith("/batches"):
                open_now.add(str(len(open_now)))
            elif "/content" in request.path and open_now:
                open_now.pop()
            most = max(most, len(open_now))
    assert len(ran.valid) == 12
    assert most <= 2


def test_the_cost_cap_stops_before_a_batch_that_may_not_fit(tmp_path: Path) -> None:
    with ScriptedServer(answer) as server:
        pipeline = write(tmp_path / "pipeline", server.url, realtime={"cost_cap_usd": 0.0000001})
        ran = run_pipeline(pipeline, tmp_path / "run", OPTIONS)
        assert not created(server)
    assert ran.result.code == 3
    assert "cost cap" in ran.result.reason


@pytest.mark.spec("B17")
def test_the_cost_cap_counts_batches_in_progress(tmp_path: Path) -> None:
    """Each batch may cost 0.000212: four fit below the cap, even if more could run at the same time."""
    with ScriptedServer(lambda _: Say(GOOD, usage=(12, 100)), batches=[Batch(polls=3)] * 12) as server:
        pipeline = write(tmp_path / "pipeline", server.url, size=1, max_tokens=100)
        path = start(pipeline, tmp_path / "run")
        ran = go(path, OPTIONS._replace(max_cost=0.001))
        assert created(server) == 4
        assert (ran.result.code, ran.money.calls) == (3, 4)
        assert "$0.0008 spent, 0 calls under way" in ran.result.reason
        again = go(path, OPTIONS._replace(max_cost=1.0))
    assert len(again.valid) == 12
    assert_whole(path)


@pytest.mark.spec("B17", "B18")
def test_batches_that_a_killed_process_sent_count_against_the_cap_and_are_collected_first(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD, usage=(12, 100)), batches=[Batch(polls=3)] * 12) as server:
        pipeline = write(tmp_path / "pipeline", server.url, size=1, max_tokens=100, max_inflight_batches=3)
        path = start(pipeline, tmp_path / "run")
        with pytest.raises(Crash):
            go(path, OPTIONS, disk=BreakingDisk(45, 1))
        most = max(4, created(server))
        ran = go(path, OPTIONS._replace(max_cost=0.001))
        assert created(server) == most
    assert (ran.result.code, ran.money.calls) == (3, most)
    assert_whole(path)


class GeminiBatchesServer:
    """Gemini's batches as documented: inline requests, an operation, inline responses."""

    def __init__(self) -> None:
        self.batches: dict[str, dict[str, Any]] = {}
        self.app = web.Application()
        self.app.router.add_post("/v1beta/models/{call}", self.create)
        self.app.router.add_get("/v1beta/batches", self.list)
        self.app.router.add_get("/v1beta/batches/{name}", self.get)

    async def create(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert request.match_info["call"] == "m:batchGenerateContent"
        name = f"batches/{len(self.batches) + 1}"
        answers = []
        for row in body["batch"]["input_config"]["requests"]["requests"]:
            said = row["request"]["contents"][0]["parts"][0]["text"]
            text = json.dumps({"answer": said.split("unit_")[1][:2]})
            candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
            usage = {"promptTokenCount": 5, "candidatesTokenCount": 3}
            response = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
            answers.append({"response": response, "metadata": row["metadata"]})
        about = {"state": "BATCH_STATE_RUNNING", "displayName": body["batch"]["display_name"]}
        self.batches[name] = {"name": name, "metadata": about, "answers": answers[::-1]}
        return web.json_response({"name": name, "metadata": about})

    async def list(self, request: web.Request) -> web.Response:
        rows = [{"name": name, "metadata": row["metadata"]} for name, row in self.batches.items()]
        return web.json_response({"operations": rows})

    async def get(self, request: web.Request) -> web.Response:
        row = self.batches[f"batches/{request.match_info['name']}"]
        about = {**row["metadata"], "state": "BATCH_STATE_SUCCEEDED"}
        inlined = {"inlinedResponses": {"inlinedResponses": row["answers"]}}
        return web.json_response({"name": row["name"], "metadata": about, "done": True, "response": inlined})


def test_gemini_batches_are_sent_and_read(tmp_path: Path) -> None:
    import asyncio
    import threading

    server, ready, stop, address = GeminiBatchesServer(), threading.Event(), threading.Event(), list[str]()

    async def serve() -> None:
        runner = web.AppRunner(server.app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address.append(str(site.name))
        sockets = site._server.sockets  # type: ignore[union-attr]
        address[0] = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        ready.set()
        await asyncio.to_thread(stop.wait)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        settings = {"provider": "gemini", "model": "m", "base_url": address[0]}
        pipeline = write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, (), api=settings, chunk_size=20)
        ran = run_pipeline(pipeline, tmp_path / "run", OPTIONS)
    finally:
        stop.set()
        thread.join()
    assert [unit["answer"] for unit in ran.valid] == [f"{n:02d}" for n in range(12)]
    assert ran.money.input_tokens == 60
    assert ran.money.unpriced == 12  # no price is set, and no default is assumed


def test_replay_in_batch_mode_needs_no_network(tmp_path: Path) -> None:
    rows = [{"step": "ask", "unit_id": "*", "raw_response": GOOD}]
    pipeline = write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, rows)
    ran = run_pipeline(pipeline, tmp_path / "run", OPTIONS)
    assert len(ran.valid) == 12
    journal = [row["kind"] for row in lines(ran.path / "journal.jsonl")]
    assert journal.index("intent") < journal.index("sent") < journal.index("collected") < journal.index("done")


def _line(cid: str, text: str = "", status: int = 200) -> bytes:
    body: Any = {"error": {"message": "too slow", "type": "server_error"}}
    if status == 200:
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        body = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    return json.dumps({"custom_id": cid, "response": {"status_code": status, "body": body}, "error": None}).encode()


@given(st.permutations([_line("a", "first"), _line("a", status=500), _line("b", status=500), _line("b", status=500)]))
def test_a_paid_reply_takes_precedence_over_an_error_of_the_same_request(lines: list[bytes]) -> None:
    found, odd = sorted_out(lines, {"a", "b"})
    assert found["a"]["raw_response"] == "first"
    assert "transport" in found["b"]
    assert odd == 2


ODD = [
    b"", b"   ", b"\xef\xbb\xbf", b"null", b"[1]", b'"a"', b"{", b'{"custom_id": 7}', b'{"custom_id": "a"}', b"\xff\xfe",
    b'{"custom_id": "a", "response": null, "error": null}', b'{"custom_id": "a", "response": {"status_code": 200, "body": null}}',
    b"[" * 5000, _line("nobody", "x"),
]  # fmt: skip


@given(st.lists(st.sampled_from(ODD), max_size=20), st.integers(0, 20))
def test_lines_without_content_affect_no_unit(odd: list[bytes], at: int) -> None:
    found, _ = sorted_out([*odd[:at], _line("a", "the one"), *odd[at:]], {"a"})
    assert found["a"].get("raw_response") == "the one"
