"""A live server on loopback: its error pages are kept, a unit without a reply is the pipeline's failure, times are recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, change, rows
from tests.cli.running import Ran, Run
from trueup.testing.script import Cut, Fail, Raw, Say
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

GOOD = '{"personality_consistency": 0.9, "mood_responsiveness": 0.9, "tone": "warm"}'
PAGE = "<html><body><h1>500 Internal Server Error</h1></body></html>"


class Answers:
    """The server's reply about one unit; all others get a good reply."""

    def __init__(self) -> None:
        self.fault: Any = Say(GOOD)
        self.then = lambda: self.fault

    def __call__(self, request: Request) -> Any:
        return self.then() if "elder" in json.dumps(request.fields["messages"]) else Say(GOOD, usage=(20, 8))


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def server(answers: Answers) -> Iterator[ScriptedServer]:
    with ScriptedServer(answers) as server:
        yield server


def ask(run: Run, folder: Path, server: ScriptedServer, *more: str, attempts: int = 1) -> Ran:
    change(folder / "npc/config.yaml", "api", "retry", to={"max_attempts": attempts, "initial_delay_seconds": 0})
    return run(
        "run", "npc", "--provider", "url", "--base-url", f"{server.url}/v1", "--model", "m", "--run-dir", "run", *more,
        TRUEUP_API_KEY="none",
    )  # fmt: skip


@pytest.mark.spec("B1", "B10")
@pytest.mark.parametrize(
    ("fault", "raw"),
    [
        (Raw(PAGE, 500, "text/html"), PAGE),
        (Raw(PAGE, 200, "text/html"), PAGE),
        (Raw('{"half": ', 200), '{"half": '),
        (Fail(503, "overloaded"), "overloaded"),
        (Fail(400, "bad request"), "bad request"),
    ],
    ids=["500-html", "200-html", "half-json", "503", "400"],
)
def test_an_error_page_is_kept_as_the_raw_response(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers, fault: Any, raw: str
) -> None:
    answers.fault = fault
    assert ask(run, folder, server).code == 1
    (record,) = rows(folder / "run/failures.jsonl")
    assert (record["unit_id"], record["failure_stage"]) == ("elder", "pipeline_internal")
    assert raw == record["raw_response"] or raw in record["raw_response"]
    assert record["tries"] == {"transport": 1}
    assert record["errors"][0]["code"] == "R002"
    assert run("verify", "run").code == 0
    # No reply was ever judged: once the server is back, the unit can be asked about again.
    answers.fault = Say(GOOD)
    assert "1 unit to retry" in run("retry", "run").out
    assert run("run", "run", TRUEUP_API_KEY="none").code == 0
    assert len(rows(folder / "run/validated.jsonl")) == 5


@pytest.mark.parametrize(
    ("fault", "raw"),
    [
        (Say("I am sorry, I cannot help with that."), "I am sorry, I cannot help with that."),
        (Say('{"personality_consistency": 0.9, "mood', finish="length"), '{"personality_consistency": 0.9, "mood'),
    ],
    ids=["apology", "truncated"],
)
def test_a_model_reply_that_is_not_json_is_kept(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers, fault: Any, raw: str
) -> None:
    answers.fault = fault
    ask(run, folder, server)
    (record,) = rows(folder / "run/failures.jsonl")
    assert (record["raw_response"], record["failure_stage"]) == (raw, "parse")


def test_a_filter_and_a_sift_report_the_same_failure(run: Run, tmp_path: Path) -> None:
    """A provider's line with an error in place of a reply is a failure of the pipeline for every reader."""
    line = json.dumps({"custom_id": "a", "response": None, "error": {"code": "server_error", "message": "down"}})
    (tmp_path / "batch.jsonl").write_text(line + "\n")
    (filtered,) = rows(run("schema", "any", stdin=line + "\n").err)
    run("sift", "batch.jsonl", "--schema", "any", "--out", "out")
    (sifted,) = rows(tmp_path / "out/failures.jsonl")
    for record in (filtered, sifted):
        assert (record["unit_id"], record["failure_stage"]) == ("a", "pipeline_internal")
        assert record["raw_response"] == line


def test_a_reply_counts_although_the_server_died_after_it(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers
) -> None:
    replies = iter([Say('{"tone": 5}')])
    answers.then = lambda: next(replies, Raw(PAGE, 500, "text/html"))
    ask(run, folder, server, attempts=3)
    (record,) = rows(folder / "run/failures.jsonl")
    assert (record["failure_stage"], record["raw_response"]) == ("schema_validation", '{"tone": 5}')
    assert record["tries"] == {"schema_validation": 1, "transport": 1}


def test_metadata_has_the_time_the_model_and_the_tokens(run: Run, folder: Path, server: ScriptedServer) -> None:
    assert ask(run, folder, server).code == 0
    units = by_id(folder / "run/validated.jsonl")
    about = units["smith"]["_metadata"]["score"]
    assert (about["model"], about["input_tokens"], about["output_tokens"]) == ("m", 20, 8)
    recorded = {
        row["unit_id"]: row["at"] for row in rows(folder / "run/chunks/chunk_000/score_results.jsonl") if "at" in row
    }
    assert recorded == {unit_id: unit["_metadata"]["score"]["at"] for unit_id, unit in units.items()}


def test_a_line_that_a_batch_reports_as_failed_is_kept(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers
) -> None:
    answers.fault = Fail(400, "too long", "context_length_exceeded")
    assert ask(run, folder, server, "--batch", "--poll", "0.01").code == 1
    (record,) = rows(folder / "run/failures.jsonl")
    assert (record["unit_id"], record["failure_stage"]) == ("elder", "pipeline_internal")
    assert "too long" in record["raw_response"]


def test_a_reply_interrupted_in_transit_is_requested_again(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers
) -> None:
    answers.fault = Cut(Say(GOOD), 0.5)
    assert ask(run, folder, server).code == 1
    assert rows(folder / "run/failures.jsonl")[0]["failure_stage"] == "pipeline_internal"


@pytest.mark.spec("B12")
def test_a_retry_is_a_file_in_the_batch_format_of_the_provider_with_the_repair_prompt(
    run: Run, folder: Path, server: ScriptedServer, answers: Answers
) -> None:
    answers.fault = Say('{"personality_consistency": 0.1, "mood_responsiveness": 0.9, "tone": "warm"}')
    assert ask(run, folder, server).code == 1
    before = rows(folder / "run/failures.jsonl")
    assert "1 unit to retry in retry_000" in run("retry", "run", "--attempts", "2").out
    (request,) = rows(folder / "run/chunks/retry_000/score_batch.jsonl")
    assert request.keys() == {"custom_id", "method", "url", "body"}
    assert (request["method"], request["url"], request["body"]["model"]) == ("POST", "/v1/chat/completions", "m")
    prompt = request["body"]["messages"][-1]["content"]
    assert "Score what elder says in the mood cheerful." in prompt, "what was asked"
    assert before[0]["raw_response"] in prompt, "what was replied"
    assert before[0]["errors"][0]["message"] in prompt, "what was wrong"
    assert rows(folder / "run/chunks/chunk_000/score_failures.jsonl.bak") == before, "archived first"
    sent = len(server.requests)
    answers.fault = Say(GOOD)
    assert run("run", "run", TRUEUP_API_KEY="none").code == 0
    assert len(server.requests) == sent + 1, "what passed is not asked again"
    assert server.requests[-1].fields["messages"] == request["body"]["messages"], "the file holds what is sent"
