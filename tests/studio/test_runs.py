"""Runs in the studio: real sifts, real runs of pipelines, real processes; broken and hostile folders; the page about them."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from tests.batch import sifting
from tests.batch.pipeline.making import GOOD, asking, go, reply, start, write_pipeline
from tests.cli.conftest import run, starter
from tests.cli.running import Run
from tests.studio.conftest import KEYS, Desk, axe
from tests.studio.driving import expect
from tests.waiting import wait_for
from trueup import Contract
from trueup.batch.pipeline.reporting.status import status
from trueup.batch.pipeline.rundir.directory import MANIFEST, OwnedRun, RunDir
from trueup.batch.pipeline.rundir.journal import JOURNAL, read_journal, sealed
from trueup.batch.pipeline.rundir.state import RunState
from trueup.batch.pipeline.running.run import PipelineOptions
from trueup.batch.sift import OutOfTime
from trueup.studio.door.sessions import digest_of
from trueup.studio.runs import causes, guarding
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.following import following
from trueup.studio.settings import Key

__all__ = ["run", "starter"]

HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>'
PRICES = {"*": {"input": 1000.0, "output": 1000.0}}
ONCE = {"retry": {"max_attempts": 1, "initial_delay_seconds": 0}, "prices": PRICES}
SCORED = {
    "type": "object", "properties": {"answer": {"type": "string"}, "score": {"enum": [1, 2]}}, "required": ["answer"],
}  # fmt: skip
WRONG = '{"answer": "yes", "score": 9}'


def pipeline(folder: Path, units: int = 6, delay: float = 0.0) -> Path:
    """Two steps. The first unit's reply is not JSON; the second and third have a wrong score in both first replies."""
    rows = []
    for number in range(units):
        first = {0: f"no {HOSTILE}", 1: WRONG, 2: WRONG}.get(number, f"```json\n{GOOD}\n```" if number == 3 else GOOD)
        rows += reply("ask", f"u{number}", first, GOOD)
        rows += reply("then", f"u{number}", GOOD)
    api = {**ONCE, "replay": {"source": "replies.jsonl", "delay_seconds": delay}}
    items = [{"id": f"u{number}"} for number in range(units)]
    return write_pipeline(
        folder, [asking("ask", SCORED), asking("then")], items, rows, api=api, chunk_size=max(2, units // 3)
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sifts and two runs that are done, and one run that was only created."""
    root = tmp_path_factory.mktemp("world")
    go(start(pipeline(root / "p"), root / "runs" / "first"))
    better = write_pipeline(root / "q", [asking("ask", SCORED), asking("then")], [{"id": f"u{n}"} for n in range(6)],
                            [*reply("ask", "u0", "nothing"), *reply("ask", "*", GOOD), *reply("then", "*", GOOD)], api=ONCE)  # fmt: skip
    go(start(better, root / "runs" / "second"))
    start(better, root / "runs" / "made")
    lines = [
        sifting.unit(f"s{n}", '{"name": "Ada", "age": 36,}' if n % 2 else f'{{"name": "Ada", "age": -{n + 1}}}')
        for n in range(40)
    ]
    (root / "sifts").mkdir()
    sifting.run(root / "sifts", [*lines, sifting.unit(HOSTILE, HOSTILE)], out="strict")
    loose = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    sifting.run_files(root / "sifts", [str(root / "sifts" / "lines.jsonl")], Contract(loose), out="loose")
    return root


@pytest.fixture
def desk(world: Path, served: Callable[..., Desk]) -> Desk:
    return served(folders=(world / "runs", world / "sifts"))


def by_name(desk: Desk) -> dict[str, Any]:
    return {row["run"]: row for row in desk.get("/runs")["runs"]}


def test_the_numbers_equal_the_status_command(desk: Desk, world: Path, run: Run) -> None:
    rows = by_name(desk)
    assert {name: (row["kind"], row["state"]) for name, row in rows.items()} == {
        "runs/first": ("run", "done"), "runs/second": ("run", "done"), "runs/made": ("run", "ready"),
        "sifts/strict": ("sift", "done"), "sifts/loose": ("sift", "done"),
    }  # fmt: skip
    for told in json.loads(
        run("status", *(str(world / "runs" / name) for name in ("first", "second", "made")), "--json").out
    ):
        row = desk.get("/runs/one", run=f"runs/{Path(told['path']).name}")
        names = {"waiting": "pending"} | {
            name: name for name in ("units", "valid", "failed", "done", "total", "reason", "pipeline")
        }
        assert {name: row[name] for name in names} == {name: told[other] for name, other in names.items()}
        assert row["cost"] == (round(told["money"]["usd"] * 1e6) if told["money"]["calls"] else None)
        for step, of in zip(row["steps"], told["steps"], strict=True):
            assert [step[name] for name in ("step", "valid", "failed", "waiting", "retried", "calls")] == [
                *(of[name] for name in ("step", "valid", "failed", "pending", "retried")), of["money"]["calls"],
            ]  # fmt: skip
            assert step["in"] == of["valid"] + of["failed"] + of["pending"]
            found = {
                fact["code"]: fact["units"]
                for fact in row["facts"]
                if fact["step"] == step["step"] and fact["kind"] == "failure"
            }
            assert found == of["codes"]
    summary = json.loads((world / "sifts/strict/summary.json").read_text("utf-8"))
    sift = desk.get("/runs/one", run="sifts/strict")
    assert [sift[name] for name in ("units", "valid", "failed")] == [
        summary["counts"][name] for name in ("units", "valid", "failed")
    ]
    assert sift["steps"][-1]["valid"] == sift["valid"]
    assert [step["failed"] for step in sift["steps"]] == [0, 1, 20, 0]
    assert str(world) not in json.dumps([rows, sift])


def test_failures_are_grouped_by_cause(desk: Desk) -> None:
    found = desk.get("/runs/causes", run="runs/first")
    assert (found["read"], found["complete"]) == (3, True)
    told = [
        (cause["step"], cause["code"], cause["path"], cause["units"], cause["retryable"]) for cause in found["causes"]
    ]
    assert told == [("ask", "V005", "$.score", 2, 2), ("ask", "P001", "$", 1, 1)]
    assert [example["unit"] for example in found["causes"][0]["examples"]] == ["u1", "u2"]
    sift = desk.get("/runs/causes", run="sifts/strict")["causes"]
    assert [(cause["code"], cause["units"], len(cause["patterns"])) for cause in sift] == [
        ("V004", 20, 1),
        ("P001", 1, 1),
    ]
    pattern = sift[0]["patterns"][0]
    assert (pattern["units"], pattern["alike"]) == (20, False), "the numbers differ, the pattern does not"
    assert desk.get("/runs/causes", run="runs/second", step="then") == {"causes": [], "read": 0, "complete": True}


def test_grouping_failures_continues_where_the_last_request_stopped(
    world: Path, tmp_path: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = desk.get("/runs/causes", run="sifts/strict")
    shutil.copytree(world / "sifts/strict", tmp_path / "sift")
    monkeypatch.setattr(causes, "_BETWEEN", 4)
    place = RunPlace("sift", tmp_path / "sift", "sift")
    looks = [causes.causes_of(place, seconds=-1.0) for _ in range(6)]
    assert [(look["read"], look["complete"]) for look in looks] == [
        (4, False),
        (8, False),
        (12, False),
        (16, False),
        (20, False),
        (21, True),
    ]
    assert looks[-1] == whole


def test_units_are_paged_and_searched(desk: Desk) -> None:
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = desk.get("/runs/units", run="sifts/strict", limit=7, cursor=cursor)
        seen += [row["unit"] for row in page["rows"]]
        cursor = page["next"]
    assert len(seen) == len(set(seen)) == 41
    assert seen[0] == "s0", "those that failed come first"

    def ids(**given: Any) -> list[str]:
        return [row["unit"] for row in desk.client.get("/runs/units", params=given).json()["rows"]]

    assert ids(run="runs/first", kind="failed", code="V005") == ["u1", "u2"]
    assert ids(run="runs/first", kind="failed", path="$.score", code="P001") == []
    assert ids(run="runs/first", text="NO <IMG") == ["u0"]
    assert (
        ids(run="runs/first", kind="valid", code="W001")
        == ids(run="runs/first", kind="valid", step="ask", code="W001")
        == ["u3"]
    )
    assert ids(run="sifts/strict", text=HOSTILE[:20]) == [HOSTILE]
    for bad in ({"cursor": "nowhere"}, {"cursor": "failed~a~b~-1"}, {"limit": 5000}, {"kind": "all"}):
        assert desk.client.get("/runs/units", params={"run": "runs/first", **bad}).status_code == 400
    gone = desk.client.get("/runs/units", params={"run": "runs/first", "cursor": "failed~chunk_999~ask~0"})
    assert (gone.status_code, gone.json()["error"]["code"]) == (409, "changed")


def test_each_number_opens_the_units_that_it_counts(tmp_path: Path, served: Callable[..., Desk]) -> None:
    fixed = '{"name": "Ada", "age": -1,}'
    lines = [
        sifting.unit("a", fixed),
        sifting.unit("b", '{"name": "Ada",}'),
        sifting.unit("c", "no"),
        sifting.unit("d"),
    ]
    sifting.run(tmp_path, [*lines, sifting.unit("e", '{"name": "Ada", "age": 3,}')], out="sift")
    desk = served(folders=(tmp_path / "sift",))
    row = desk.get("/runs/one", run="sift")

    def ids(**given: Any) -> list[str]:
        return [row["unit"] for row in desk.get("/runs/units", run="sift", **given)["rows"]]

    for stage in row["steps"]:
        assert len(ids(kind="failed", step=stage["step"])) == stage["failed"]
    assert ids(step="parse") == ["c"]
    counted = {(fact["kind"], fact["code"]): fact["units"] for fact in row["facts"]}
    assert counted["fix", "S001"] == 3
    assert ids(code="S001") == ["a", "b", "e"], "a sift counts the fixes of units that failed, too"
    shown = {row["unit"]: row["codes"] for row in desk.get("/runs/units", run="sift")["rows"]}
    assert (shown["a"], shown["e"]) == (["V004"], ["S001"]), "what a unit failed for is not hidden among its fixes"


def test_a_unit_is_listed_with_its_own_fields(desk: Desk) -> None:
    rows = desk.get("/runs/units", run="runs/first", kind="valid")["rows"]
    assert [json.loads(row["excerpt"]) for row in rows] == [{"id": row["unit"], **json.loads(GOOD)} for row in rows]
    unit = desk.get("/runs/unit", run="runs/first", unit="u3")
    assert json.loads(unit["value"]) == {"id": "u3", **json.loads(GOOD)}


def test_a_stopped_sift_says_when_it_stopped(tmp_path: Path, served: Callable[..., Desk]) -> None:
    lines = [sifting.unit(f"s{number}") for number in range(40)]
    with pytest.raises(OutOfTime):
        sifting.run(tmp_path, lines, out="sift", range_size=400, time_limit=1e-9)
    work = tmp_path / "sift" / ".sift"
    os.utime(work / "manifest.db", (1000, 1000))  # a database writes to its log first
    row = served(folders=(tmp_path / "sift",)).get("/runs/one", run="sift")
    assert row["state"] == "interrupted"
    assert row["updated"] >= row["started"] > 1000


def test_one_unit_is_shown_in_full(desk: Desk) -> None:
    row = desk.get("/runs/units", run="runs/first", kind="failed")["rows"][1]
    unit = desk.get("/runs/unit", run="runs/first", unit=row["unit"], at=row["at"])
    assert (unit["unit"], unit["state"], unit["step"], unit["prompt"]) == ("u1", "failed", "ask", "Say u1.")
    (replied,) = unit["replies"]
    assert replied["usage"] == {"input_tokens": 10, "output_tokens": 10}
    drawn = replied["verdict"]
    assert (drawn["text"], drawn["ok"], [fact["code"] for fact in drawn["facts"]]) == (WRONG, False, ["V005"])
    (start_, end, fact) = drawn["marks"][0]
    assert (WRONG[start_:end], fact) == ("9", 0)
    assert desk.get("/runs/unit", run="runs/first", unit="u1") == unit, "it is found by its id alone"
    moved = desk.get("/runs/unit", run="runs/first", unit="u1", at="failed~chunk_000~ask~0")
    assert moved == unit, "a place that holds another unit by now is not believed"
    fixed = desk.get("/runs/unit", run="runs/first", unit="u3", step="ask")
    assert [each["code"] for each in fixed["replies"][-1]["verdict"]["facts"]] == ["W001", "W001"]
    sift = desk.get("/runs/unit", run="sifts/strict", unit="s1")
    assert ([each["code"] for each in sift["replies"][0]["verdict"]["facts"]], json.loads(sift["value"])) == (
        ["S001"],
        {"name": "Ada", "age": 36},
    )
    assert desk.get("/runs/unit", run="sifts/strict", unit=HOSTILE)["replies"][0]["text"] == HOSTILE
    missing = desk.client.get("/runs/unit", params={"run": "runs/first", "unit": "u99"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_unit")
    assert "retry: " not in desk.get("/runs/log", run="runs/first")["text"]
    assert desk.get("/runs/log", run="runs/first", which="studio") == {"text": "", "size": 0, "cut": False}


def test_a_run_is_started_once_paused_killed_and_resumed(tmp_path: Path, served: Callable[..., Desk]) -> None:
    path = start(pipeline(tmp_path / "p", 60, delay=0.2), tmp_path / "runs" / "slow")
    desk = served(folders=(tmp_path / "runs",))
    answers: list[Any] = []

    def press(what: str) -> Any:
        return desk.client.post(f"/runs/{what}", json={"run": "runs/slow"})

    both = [threading.Thread(target=lambda: answers.append(press("resume"))) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(answer.status_code for answer in answers) == [200, 409], [answer.text for answer in answers]
    assert next(answer for answer in answers if answer.status_code == 409).json()["error"]["code"] == "running"
    live = wait_for(lambda: (row := desk.get("/runs/one", run="runs/slow"))["done"] > 0 and row)
    assert (live["state"], live["running"]) == ("running", True)
    assert live["done"] < live["total"]
    assert press("retry").status_code == 409
    assert press("pause").json()["started"]
    wait_for(lambda: by_name(desk)["runs/slow"]["state"] == "paused")
    assert [press(what).json()["started"] for what in ("pause", "kill")] == [False, False], "it is stopped already"
    assert press("resume").status_code == 200
    wait_for(lambda: desk.get("/runs/one", run="runs/slow")["running"])
    assert press("kill").json()["started"]
    assert desk.get("/runs/one", run="runs/slow")["state"] in {"paused", "interrupted"}
    assert press("resume").status_code == 200
    row = wait_for(lambda: (row := desk.get("/runs/one", run="runs/slow"))["state"] == "done" and row)
    assert (row["valid"], row["failed"], row["waiting"]) == (57, 3, 0)
    assert "studio" in {log["which"] for log in row["logs"]}
    assert row["done"] == status(RunDir.look(path).state)["done"]


@pytest.fixture
def to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter of a command waits until it has ended, even on a slow machine."""
    monkeypatch.setattr("trueup.studio.runs.acting._AT_WORK", 60.0)


@pytest.mark.usefixtures("to_the_end")
def test_failed_units_are_retried_all_or_by_cause(world: Path, tmp_path: Path, served: Callable[..., Desk]) -> None:
    shutil.copytree(world / "runs" / "first", tmp_path / "runs" / "again")
    desk = served(folders=(tmp_path / "runs",))
    answer = desk.post("/runs/retry", {"run": "runs/again"})
    assert (answer["started"], answer["exhausted"], answer["limit"]) == (False, 3, 1), (
        "a pipeline says how often a unit is asked"
    )

    def retried(**given: Any) -> Any:
        desk.post("/runs/retry", {"run": "runs/again", "attempts": 3, **given})
        return wait_for(
            lambda: (row := desk.get("/runs/one", run="runs/again"))["state"] == "done" and not row["running"] and row
        )

    row = retried(step="ask", code="V005", path="$.score")
    assert (row["valid"], row["failed"], row["steps"][0]["retried"]) == (5, 1, 2)
    assert [cause["code"] for cause in desk.get("/runs/causes", run="runs/again")["causes"]] == ["P001"]
    unit = desk.get("/runs/unit", run="runs/again", unit="u1", step="ask")
    assert [each["text"] for each in unit["replies"]] == [WRONG, GOOD], "the reply of before is there too"
    row = retried()
    assert (row["valid"], row["failed"], row["retries"]) == (6, 0, 2)
    assert desk.post("/runs/retry", {"run": "runs/again"})["started"] is False
    assert str(tmp_path) not in json.dumps([answer, desk.get("/runs/log", run="runs/again", which="studio")])


@pytest.mark.usefixtures("to_the_end")
def test_a_run_that_stops_immediately_says_why(tmp_path: Path, served: Callable[..., Desk]) -> None:
    go(start(pipeline(tmp_path / "p"), tmp_path / "runs" / "poor"), PipelineOptions(max_cost=0.0001))
    one_chunk = write_pipeline(
        tmp_path / "q", [asking("ask", SCORED)], [{"id": f"u{n}"} for n in range(12)], reply("ask", "*", WRONG), api=ONCE, chunk_size=12
    )  # fmt: skip
    go(start(one_chunk, tmp_path / "runs" / "torn"), PipelineOptions(max_cost=0.49))
    dear = {"provider": "openai", "model": "gpt-4o-mini", "base_url": "http://127.0.0.1:9"}
    start(write_pipeline(tmp_path / "r", [asking("ask")], api=dear), tmp_path / "runs" / "locked")
    desk = served(folders=(tmp_path / "runs",))
    answer = desk.post("/runs/resume", {"run": "runs/poor"})
    assert (answer["started"], "--max-cost" in answer["said"]) == (False, True)
    assert answer["said"].startswith("It stopped: the cost cap of $0.0001 is reached")
    torn = desk.get("/runs/one", run="runs/torn")
    assert (torn["state"], torn["failed"] > 0, torn["waiting"] > 0) == ("paused", True, True)
    answer = desk.post("/runs/retry", {"run": "runs/torn"})
    assert (answer["started"], "Resume the run first" in answer["said"]) == (False, True)
    locked = desk.client.post("/runs/resume", json={"run": "runs/locked"})
    error = locked.json()["error"]
    assert (locked.status_code, error["code"]) == (409, "not_started")
    assert error["message"].startswith("provider 'openai' needs a key: set OPENAI_API_KEY")
    assert "the environment of the studio" in error["hint"]


def test_nothing_is_started_before_the_journal_is_read(
    world: Path, tmp_path: Path, served: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost cap is in it."""
    shutil.copytree(world / "runs" / "first", tmp_path / "runs" / "first")
    monkeypatch.setattr("trueup.studio.runs.acting.following", lambda path: following(path, seconds=-1.0))
    monkeypatch.setattr("trueup.studio.runs.following._BETWEEN", 1)
    desk = served(folders=(tmp_path / "runs",))
    answer = desk.client.post("/runs/retry", json={"run": "runs/first"})
    assert (answer.status_code, "try again in a moment" in answer.text) == (409, True)


def test_two_runs_are_compared(desk: Desk, run: Run, world: Path) -> None:
    *_, last = desk.lines("/runs/compare", {"a": "runs/first", "b": "runs/second"})
    result = last["result"]
    assert {kind: row["units"] for kind, row in result["flips"].items()} == {
        "valid_to_failed": 0,
        "failed_to_valid": 2,
        "other_value": 0,
    }
    assert [flip["unit_id"] for flip in result["flips"]["failed_to_valid"]["examples"]] == ["u1", "u2"]
    assert (result["a"]["run"], result["a"]["cost"] > 0, result["b"]["counts"]["valid"]) == ("runs/first", True, 5)
    told = json.loads(run("compare", str(world / "sifts/strict"), str(world / "sifts/loose"), "--json").out)
    *_, last = desk.lines("/runs/compare", {"a": "sifts/strict", "b": "sifts/loose"})
    assert last["result"]["flips"]["failed_to_valid"]["units"] == told["flips"]["failed_to_valid"]["units"] == 20
    (codes,) = (row for row in last["result"]["findings"]["codes"] if row["key"] == "V004")
    assert codes["failed"] == {"a": 20, "b": 0, "difference": -20}
    *_, refused = desk.lines("/runs/compare", {"a": "runs/first", "b": "runs/made"})
    assert refused["result"]["only_in_a"]["units"] == 6, "nothing of the other is judged yet"


def test_rights_and_tenants_limit_what_is_shown(world: Path, served: Callable[..., Desk]) -> None:
    reader = served(role="reader", folders=(world / "runs",))
    for what in ("retry", "resume", "pause", "kill"):
        assert reader.client.post(f"/runs/{what}", json={"run": "runs/first"}).status_code == 403
    key = Key("north", digest_of("secret-of-north"), "editor", tenant="north")
    desk = served(folders=(world / "runs",), keys=(*KEYS, key))
    desk.client.headers["authorization"] = "Bearer secret-of-north"
    for path in ("/runs", "/runs/one?run=runs/first", "/runs/units?run=runs/first", "/runs/log?run=runs/first"):
        assert desk.client.get(path).status_code == 403
    sift = served(folders=(world / "sifts",)).client.post("/runs/retry", json={"run": "sifts/strict"})
    assert (sift.status_code, sift.json()["error"]["code"]) == (400, "not_a_run")


# Damaged and hostile folders -----------------------------------------------------------------------------------


def _rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the records of a journal, with valid checksums."""
    records = list(read_journal(path))
    for record in records:
        record.pop("sum", None)
        change(record)
    (path / JOURNAL).write_bytes(b"".join(map(sealed, records)))


def _escape(record: dict[str, Any]) -> None:
    if record["kind"] == "created":
        record["chunks"] = [["../../../outside", 2]]
    elif "chunk" in record:
        record["chunk"] = "../../../outside"


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def _steps(record: dict[str, Any]) -> None:
    if record["kind"] == "created":
        record["steps"] = [{"name": HOSTILE, "scope": "chunk"}]
        record["pipeline"] = HOSTILE * 1000


def _numbers(record: dict[str, Any]) -> None:
    if record["kind"] == "created":
        record["units"] = 1e999 if record["n"] else "many"


BROKEN: dict[str, Callable[[Path], Any]] = {
    "empty journal": lambda path: (path / JOURNAL).write_bytes(b""),
    "no journal at all": lambda path: (path / JOURNAL).write_bytes(os.urandom(5000)),
    "a line without an end": lambda path: (path / JOURNAL).write_bytes((path / JOURNAL).read_bytes() + b'{"n": 99'),
    "a changed line": lambda path: (path / JOURNAL).write_bytes((path / JOURNAL).read_bytes().replace(b'"valid":', b'"valix":', 1)),
    "chunks outside": lambda path: _rewrite(path, _escape),
    "odd steps": lambda path: _rewrite(path, _steps),
    "odd numbers": lambda path: _rewrite(path, _numbers),
    "a manifest of another kind": lambda path: (path / MANIFEST).write_text('{"live": {"term": 1, "open": 7, "per_second": "x"}}'),
    "no chunks": lambda path: shutil.rmtree(path / "chunks"),
    "a pipe in place of failures": lambda path: _fifo(path / "chunks/chunk_000/ask_failures.jsonl"),
    "a link in place of failures": lambda path: _link(path / "chunks/chunk_000/ask_failures.jsonl"),
    "a link in place of the log": lambda path: _link(path / "RUN_LOG.txt"),
    "other records": lambda path: (path / "chunks/chunk_000/ask_failures.jsonl").write_text('[1]\n{"unit_id": 7}\n\xff\n' + "[" * 5000 + "\n"),
    "a broken pipeline": lambda path: (path / "config/config.yaml").write_text("pipeline: [}"),
}  # fmt: skip


@pytest.mark.spec("X21")
def test_a_broken_run_is_reported(world: Path, tmp_path: Path, served: Callable[..., Desk]) -> None:
    for number, breaks in enumerate(BROKEN.values()):
        breaks(Path(shutil.copytree(world / "runs" / "first", tmp_path / "runs" / f"b{number}")))
    for name, text in {"list": "[]", "odd": '{"counts": {}}', "deep": "[" * 100_000}.items():
        (tmp_path / "runs" / f"sift-{name}").mkdir()
        (tmp_path / "runs" / f"sift-{name}" / "summary.json").write_text(text, "utf-8")
    (tmp_path / "runs" / "linked").symlink_to(world / "runs" / "first")
    desk = served(folders=(tmp_path / "runs",))
    rows = by_name(desk)
    assert set(rows) == {
        *(f"runs/b{number}" for number in range(len(BROKEN))),
        "runs/sift-list",
        "runs/sift-odd",
        "runs/sift-deep",
    }
    names = dict(zip(BROKEN, (rows[f"runs/b{number}"] for number in range(len(BROKEN))), strict=True))
    for what in ("empty journal", "no journal at all", "a changed line", "odd numbers"):
        assert names[what]["state"] == "damaged", (what, names[what])
        assert names[what]["fault"]
    assert names["a line without an end"]["state"] == "done", "somebody may be writing it"
    for name in rows:
        for path, given in (
            ("one", {}),
            ("causes", {}),
            ("units", {}),
            ("unit", {"unit": "u1"}),
            ("log", {}),
            ("units", {"text": "x", "step": "ask"}),
        ):
            answer = desk.client.get(f"/runs/{path}", params={"run": name, **given})
            assert answer.status_code in {200, 404, 409}, (name, path, answer.text)
            assert str(tmp_path) not in answer.text
        assert (
            Path("/etc/hostname").read_text("utf-8").strip()
            not in desk.client.get("/runs/log", params={"run": name}).text
        )
    for name in ("runs", "runs/b99", "runs/../runs/b1/../..", "other", "runs/linked", "runs/b1/chunks", ""):
        assert desk.client.get("/runs/one", params={"run": name}).status_code == 404


def test_a_journal_is_read_once(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (world / "runs" / "first" / JOURNAL).read_bytes().splitlines(keepends=True)
    copy = tmp_path / "run"
    copy.mkdir()
    starts: list[int] = []
    opens = guarding.open_plain

    def opened(root: Path, file: Path) -> Any:
        made = opens(root, file)
        seek = made.seek
        made_at = lambda at, *rest: (starts.append(at), seek(at, *rest))[1]  # noqa: E731
        return _Watched(made, made_at)

    monkeypatch.setattr("trueup.studio.runs.following.open_plain", opened)
    size = 0
    for count in range(1, len(whole) + 1):
        torn = whole[count][:7] if count < len(whole) else b""
        (copy / JOURNAL).write_bytes(b"".join(whole[:count]) + torn) if count == 1 else _grow(
            copy / JOURNAL, size, whole[count - 1] + torn
        )
        with following(copy) as (state, _):
            assert status(state) == status(RunState.of(read_journal(copy)))
        assert starts[-1] == size, "it goes on where the last look ended"
        size += len(whole[count - 1])
    (copy / JOURNAL).write_bytes(b"".join(whole[:2]))  # shorter than the part that was read: another journal
    with following(copy) as (state, _):
        assert state.number == 2


def test_a_record_written_during_reading_is_not_damage(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (world / "runs" / "first" / JOURNAL).read_bytes().splitlines(keepends=True)
    copy = tmp_path / "run"
    copy.mkdir()
    (copy / JOURNAL).write_bytes(whole[0])
    rest = iter(whole[1:])
    opens = guarding.open_plain

    def opened(root: Path, file: Path) -> Any:
        made = opens(root, file)

        def seek(at: int) -> int:
            """The size of the journal is known by now; its owner continues writing, sometimes two records."""
            with file.open("ab") as journal:
                journal.write(next(rest, b"") + (next(rest, b"") if at % 2 else b""))
            return made.seek(at)

        return _Watched(made, seek)

    monkeypatch.setattr("trueup.studio.runs.following.open_plain", opened)
    for _ in whole:
        with following(copy) as (state, share):
            assert share == 1.0
    assert status(state) == status(RunState.of(read_journal(copy)))
    assert next(rest, None) is None


class _Watched:
    def __init__(self, opened: Any, seek: Callable[..., int]) -> None:
        self._opened, self.seek = opened, seek

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _grow(file: Path, size: int, more: bytes) -> None:
    with file.open("r+b") as opened:
        opened.truncate(size)
        opened.seek(size)
        opened.write(more)


# The page -----------------------------------------------------------------------------------------------------------


@pytest.mark.needs("browser")
@pytest.mark.spec("X21")
def test_the_page_shows_a_run(
    world: Path, tmp_path: Path, served: Callable[..., Desk], look: Callable[..., Any]
) -> None:
    shutil.copytree(world / "runs" / "first", tmp_path / "runs" / "first")
    (tmp_path / "runs" / "odd").mkdir()
    (tmp_path / "runs" / "odd" / JOURNAL).write_text("no", "utf-8")
    desk = served(folders=(tmp_path / "runs", world / "sifts"))
    tab = look(desk, "/runs")
    expect(tab.locator("table.runs tbody tr")).to_have_count(4)
    expect(tab.locator("[data-run='runs/odd'] .fault")).to_contain_text("creation is gone")
    assert axe(tab) == []
    tab.keyboard.press("/")
    tab.keyboard.type("first")
    expect(tab.locator("table.runs tbody tr")).to_have_count(1)
    tab.keyboard.press("Tab")
    tab.locator("main").focus()
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/runs/runs/first")
    expect(tab.locator(".funnel li")).to_have_count(2)
    expect(tab.locator(".funnel li").first).to_contain_text("6 in3 valid3 failed")
    cause = tab.locator(".cause").nth(1)
    cause.locator(".head").press("Enter")
    expect(cause.locator(".patterns")).to_contain_text("contains no JSON value")
    expect(cause.locator(".examples")).to_contain_text(HOSTILE)
    assert axe(tab) == []
    cause.get_by_role("link", name="u0").click()
    expect(tab.locator(".unit .cm-content")).to_contain_text(HOSTILE)
    expect(tab.locator(".unit .fact .code")).to_have_text("P001")
    assert axe(tab) == []
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("grid")).to_contain_text("u0")
    tab.get_by_label("Text, message or id").fill("u2")
    expect(tab.locator("#run-detail")).to_contain_text("No unit matches.")  # the filter still has the code of the cause
    tab.reload()
    expect(tab.locator("#run-detail")).to_contain_text("No unit matches.")
    tab.get_by_label("Code", exact=True).select_option("")
    tab.locator(".chip").click()
    expect(tab.locator(".grid .rows .tr")).to_have_count(1)
    expect(tab.locator(".grid .rows .tr")).to_contain_text("u2")
    for name, text in (("Codes", "V005"), ("Cost", "$0.18"), ("Log", "chunk_000")):
        tab.get_by_role("tab", name=name, exact=True).click()
        expect(tab.locator("#run-detail")).to_contain_text(text)
    # one button says what prevents it, one more starts it, and the numbers follow automatically
    tab.get_by_role("button", name="Retry 3 failed").click()
    tab.get_by_role("button", name="Allow 2 more each and retry").click()
    expect(tab.locator(".figures")).to_contain_text("Failed0")
    expect(tab.locator(".run-head .tag")).to_have_text("done")
    expect(tab.locator(".causes")).to_contain_text("No unit has failed.")


@pytest.mark.needs("browser")
def test_the_page_follows_a_run_and_compares_two(
    world: Path, tmp_path: Path, served: Callable[..., Desk], look: Callable[..., Any]
) -> None:
    path = Path(shutil.copytree(world / "runs" / "made", tmp_path / "runs" / "made"))
    desk = served(folders=(tmp_path / "runs", world / "sifts"))
    owned = OwnedRun.open(path)
    owned.commit("began", mode="realtime", cap=2.0)

    def work(valid: int, left: float | None) -> None:
        """The report of a run's owner about its work."""
        money = dict.fromkeys(("calls", "input_tokens", "output_tokens", "unpriced", "lost", "cached"), 0) | {
            "calls": valid,
            "usd": 0.5 * valid,
        }
        opened = {"chunk_000": {"step": "ask", "valid": valid, "failed": 0, "codes": {}, "money": money}}
        owned.write_manifest(
            {
                "term": owned.state.term,
                "seconds": 1.0,
                "per_second": 2.5,
                "seconds_left": left,
                "under_way": 3,
                "estimated_usd": 4.0,
                "open": opened,
            }
        )

    work(0, None)
    tab = look(desk, "/runs/runs/made", width=400, height=800, dark=True)
    expect(tab.locator(".run-head .tag")).to_have_text("running")
    place = tab.locator(".run-columns").bounding_box()
    work(1, 7.0)
    expect(tab.locator(".work")).to_contain_text("2.5 a second · 7 s left")
    expect(tab.locator(".funnel li").first).to_contain_text("1 valid")
    work(2, 3.0)
    expect(tab.locator(".funnel li").first).to_contain_text("2 valid")
    assert tab.locator(".run-columns").bounding_box() == place, "nothing moves while numbers change"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert axe(tab) == []
    tab.get_by_role("button", name="Pause").click()
    expect(tab.get_by_text("It stops after its calls in progress.")).to_be_visible()
    assert (path / "PAUSE").exists()
    owned.commit("ended", status="paused", reason="paused by request")
    owned.close()
    expect(tab.get_by_role("button", name="Resume")).to_be_visible()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for _ in range(20):  # the last request may still be pending
        asked.clear()
        tab.wait_for_timeout(1300)
        if not asked:
            break
    assert asked == [], "a run that stands still is looked at less often"
    tab.goto(f"{desk.url}/runs/compare?a=sifts/strict&b=sifts/loose")
    expect(tab.locator(".cards")).to_contain_text("20newly valid")
    tab.locator(".run-flips td.name button").first.click()
    expect(tab.locator(".side-of").first).to_contain_text("Refused")
    expect(tab.locator(".side-of").last).to_contain_text("Accepted")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert axe(tab) == []


@pytest.mark.needs("browser")
def test_the_list_follows_changes_by_others(
    world: Path, tmp_path: Path, served: Callable[..., Desk], look: Callable[..., Any]
) -> None:
    (tmp_path / "runs").mkdir()
    tab = look(served(folders=(tmp_path / "runs",)), "/runs", width=400, height=800)
    expect(tab.locator("main")).to_contain_text("trueup sift replies.jsonl")
    shutil.copytree(world / "runs" / "second", tmp_path / "runs" / "second")
    expect(tab.locator("table.runs tbody tr")).to_have_count(1)
    tab.keyboard.press("j")
    owned = OwnedRun.open(Path(shutil.copytree(world / "runs" / "made", tmp_path / "runs" / "made")))
    expect(tab.locator("table.runs tbody tr").first).to_contain_text("running")
    expect(tab.locator("tr[aria-current]")).to_contain_text("runs/second")  # another one has appeared above it
    row = tab.locator("table.runs tbody tr").first
    assert row.locator(".tag").bounding_box()["height"] < 24, "no style of another view reaches it"
    right = row.bounding_box()["x"] + row.bounding_box()["width"]
    bar = row.locator(".outcomes").bounding_box()
    assert bar["x"] + bar["width"] < right <= 400
    assert axe(tab) == []
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/runs/runs/second")
    tab.goto(f"{tab.url.partition('/runs')[0]}/runs/runs/made")
    expect(tab.locator(".run-head .tag")).to_have_text("running")
    owned.close()
    expect(tab.locator(".run-head .tag")).not_to_have_text("running")
    again = OwnedRun.open(tmp_path / "runs" / "made")  # as another process would, long after the page was opened
    expect(tab.locator(".run-head .tag")).to_have_text("running")
    again.close()
