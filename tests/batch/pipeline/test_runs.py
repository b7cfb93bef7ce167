"""Whole runs: the shipped pipelines, every kind of step, the guard, retries, verify and repair, and hostile names."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import (
    ANSWER,
    EXAMPLES,
    GOOD,
    Counting,
    asking,
    assert_whole,
    go,
    lines,
    reply,
    results,
    run_pipeline,
    start,
    write_pipeline,
)
from tests.effort import SOAK
from trueup.batch.pipeline.reporting.status import standing
from trueup.batch.pipeline.retrying.retry import retry
from trueup.batch.pipeline.rundir.create import CannotCreate
from trueup.batch.pipeline.rundir.directory import NoRun, OwnedRun, RunDir
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.running.run import PipelineOptions, asking_steps
from trueup.batch.pipeline.units.seeds import base_seed
from trueup.batch.pipeline.verifying.repair import repair
from trueup.batch.pipeline.verifying.verify import verify
from trueup.cli.commands.retry import retry as retry_command


@pytest.mark.spec("B16")
def test_the_random_walk_is_the_same_in_every_run(tmp_path: Path) -> None:
    one = run_pipeline(EXAMPLES / "random_walk", tmp_path / "one")
    other = run_pipeline(EXAMPLES / "random_walk", tmp_path / "other")
    assert one.valid == other.valid
    assert len(one.valid) == 150
    first = one.valid[0]
    assert first["_repetition_seed"] == base_seed("start_at_5") == 1148893718
    assert first["path"] == [5, 6, 5, 4, 5, 6, 7, 8, 7, 6, 7, 8, 9, 10]
    assert first["_metadata"] == {"iterations": 13}
    assert_whole(one.path)


@pytest.mark.spec("B16", "B17")
@pytest.mark.parametrize("batch", [False, True])
def test_the_dialogue_runs_on_recorded_replies_in_both_modes(tmp_path: Path, *, batch: bool) -> None:
    ran = run_pipeline(EXAMPLES / "npc_dialogue", tmp_path / "run", PipelineOptions(batch=batch, poll=0.001))
    assert ran.ids == (
        ["smith-friendly", "smith-desperate", "elder-friendly", "elder-desperate", "pedlar-friendly"],
        ["pedlar-desperate"],
    )
    assert ran.valid[0]["in_character"] == 9  # the reply has "9", the schema wants a number
    assert ran.result.code == 1
    assert_whole(ran.path)


@pytest.mark.spec("B16")
def test_a_list_is_fanned_out(tmp_path: Path) -> None:
    ran = run_pipeline(EXAMPLES / "reviews", tmp_path / "run")
    assert ran.ids[0] == ["r1__fan000", "r1__fan001", "r1__fan002", "r2__fan000", "r2__fan001", "r3__fan000"]
    child = ran.valid[4]
    assert (child["_fan_parent_id"], child["_fan_index"], child["points"]) == ("r2", 1, -2)
    assert "statements" not in child
    assert_whole(ran.path)


def test_the_layout_of_a_run_follows_the_format(tmp_path: Path) -> None:
    ran = run_pipeline(EXAMPLES / "npc_dialogue", tmp_path / "run")
    files = {path.relative_to(ran.path).as_posix() for path in ran.path.rglob("*") if path.is_file()}
    assert {
        "MANIFEST.json", "RUN_LOG.txt", "TRACE_LOG.txt", "orchestrator.pid", "journal.jsonl", "input/units.jsonl",
        "config/config.yaml", "config/templates/speak.jinja2", "config/schemas/speak.json", "config/items.yaml",
        "chunks/chunk_000/units.jsonl", "chunks/chunk_000/speak_prompts.jsonl", "chunks/chunk_000/speak_results.jsonl",
        "chunks/chunk_000/speak_validated.jsonl", "chunks/chunk_001/speak_failures.jsonl",
        "validated.jsonl", "failures.jsonl",
    } <= files  # fmt: skip
    manifest = json.loads((ran.path / "MANIFEST.json").read_text("utf-8"))
    assert manifest["chunks"]["chunk_000"]["state"] == "VALIDATED"
    assert (manifest["units"], manifest["valid"], manifest["failed"]) == (6, 5, 1)
    assert not [path for path in ran.path.rglob("*") if path.name.endswith(".new")]


@pytest.mark.spec("B18")
def test_states_are_named_after_the_step(tmp_path: Path) -> None:
    path = start(EXAMPLES / "npc_dialogue", tmp_path / "run")
    run = OwnedRun.open(path)
    chunk = run.state.chunks["chunk_000"]
    assert run.state.label(chunk) == "speak_PENDING"
    run.note("submitted", chunk="chunk_000", step="speak")
    assert run.state.label(chunk) == "speak_SUBMITTED"
    run.close()
    assert RunDir.look(path).state.label(chunk) == "speak_SUBMITTED"


@pytest.mark.spec("B18")
def test_a_run_has_its_own_copy_of_everything(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path / "pipeline", [asking("ask")], replies=reply("ask", "*", GOOD))
    path = start(pipeline, tmp_path / "run")
    (pipeline / "templates" / "ask.jinja2").write_text("{{ broken", "utf-8")
    (pipeline / "config.yaml").unlink()
    assert len(go(path).valid) == 3
    (path / "config" / "templates" / "ask.jinja2").write_text("changed", "utf-8")
    assert [problem.kind for problem in verify(RunDir.look(path))] == ["changed"]


def test_a_run_is_not_created_over_existing_files(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").touch()
    with pytest.raises(CannotCreate, match="it already exists and is not an empty folder"):
        start(EXAMPLES / "random_walk", tmp_path / "run")
    with pytest.raises(CannotCreate, match="s3://bucket/run: a run is kept in a local folder"):
        start(EXAMPLES / "random_walk", Path("s3://bucket/run"))
    with pytest.raises(NoRun):
        RunDir.look(tmp_path)
    assert [place.name for place in tmp_path.iterdir()] == ["run"]


def test_the_number_of_units_and_repetitions_can_be_set(tmp_path: Path) -> None:
    ran = go(start(EXAMPLES / "random_walk", tmp_path / "run", max_units=5, repeat=2))
    assert [unit["unit_id"] for unit in ran.valid] == [
        "start_at_5__rep0000", "start_at_2__rep0000", "start_at_8__rep0000", "start_at_5__rep0001", "start_at_2__rep0001",
    ]  # fmt: skip


@pytest.mark.spec("B13")
def test_if_no_unit_passes_a_step_the_next_does_not_start(tmp_path: Path) -> None:
    rows = [*reply("one", "*", "no JSON"), *reply("two", "*", GOOD)]
    items = [{"id": str(n)} for n in range(100)]
    pipeline = write_pipeline(tmp_path / "pipeline", [asking("one"), asking("two")], items, rows, chunk_size=25)
    provider = Counting(rows)
    ran = go(start(pipeline, tmp_path / "run"), PipelineOptions(workers=4), provider=provider)
    assert (ran.result.status, ran.result.code) == ("failed", 1)
    failed = standing(ran.run, running=False)["failed"]
    assert 25 <= failed == len(ran.failed)
    said = f"step one: none of the first {failed} units is valid (P001 {failed}); the rest was not started"
    assert ran.result.reason == ran.run.state.reason == said
    assert {step for step, _, _ in provider.asked} == {"one"}
    assert len(provider.asked) < 100 * 3  # the rest was not started
    assert ran.run.state.label(ran.run.state.chunks["chunk_000"]) == "FAILED"


@pytest.mark.spec("B13")
def test_the_reason_of_a_failed_step_counts_each_unit_once(tmp_path: Path) -> None:
    rows = reply("one", "*", *["no JSON"] * 9)
    items = [{"id": str(n)} for n in range(60)]
    pipeline = write_pipeline(tmp_path / "pipeline", [asking("one")], items, rows, chunk_size=10)
    path = start(pipeline, tmp_path / "run")
    ran = go(path, PipelineOptions(workers=1))
    assert ran.result.reason.startswith("step one: none of the first 20 units is valid (P001 20)")
    owned = OwnedRun.open(path)
    retry(owned, attempts=5)
    owned.close()
    ran = go(path, PipelineOptions(workers=1))
    assert ran.result.reason.startswith("step one: none of the first 20 units is valid (P001 20)")
    assert ran.run.state.status == "failed"


@pytest.mark.spec("B13")
def test_a_chunk_without_a_valid_unit_fails_alone(tmp_path: Path) -> None:
    rows = [*reply("one", "a", "no"), *reply("one", "b", GOOD), *reply("two", "*", GOOD)]
    pipeline = write_pipeline(
        tmp_path / "p", [asking("one"), asking("two")], [{"id": "a"}, {"id": "b"}], rows, chunk_size=1
    )
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert ran.ids == (["b"], ["a"])
    assert ran.run.state.label(ran.run.state.chunks["chunk_000"]) == "FAILED"
    assert not (ran.path / "chunks/chunk_000/two_prompts.jsonl").exists()


def retried(path: Path, **options: Any) -> Any:
    run = OwnedRun.open(path)
    try:
        return retry(run, makers=asking_steps(run), **options)
    finally:
        run.close()


@pytest.mark.spec("B12")
def test_each_unit_is_retried_with_its_own_faults(tmp_path: Path) -> None:
    items = [{"id": name} for name in "abcdef"]
    rows = [
        *reply("ask", "*", GOOD),
        *reply("ask", "b", "no", "no", "no", GOOD),
        *reply("ask", "d", "{}", "{}", '{"answer": ""}', '{"answer": ""}', GOOD),
    ]
    bad = {"name": "roll", "scope": "expression", "expressions": {"x": "1 / (0 if unit_id == 'f' else 1)"}}
    rules = {"required": ["answer"], "rules": [{"name": "long", "expr": "len(answer) > 1", "error": "too short"}]}
    pipeline = write_pipeline(tmp_path / "pipeline", [bad, asking("ask", rules=rules)], items, rows, chunk_size=3)
    path = start(pipeline, tmp_path / "run")
    ran = go(path)
    assert ran.ids == (["a", "c", "e"], ["b", "f", "d"])  # by chunk, then by step
    stages = {record["unit_id"]: record["failure_stage"] for record in ran.failed}
    assert stages == {"b": "parse", "d": "validation", "f": "pipeline_internal"}
    assert retried(path) == (0, 2, 1, (), 3)  # no attempts are left

    found = retried(path, attempts=4)
    assert (found.units, found.exhausted, found.kept, found.chunks) == (2, 0, 1, ("retry_000",))
    assert retried(path, attempts=4).units == 0  # they wait to be asked: nothing is moved twice
    bak = lines(path / "chunks/chunk_000/ask_failures.jsonl.bak")
    assert [record["unit_id"] for record in bak] == ["b"]
    assert not lines(path / "chunks/chunk_000/ask_failures.jsonl")
    requests = lines(path / "chunks/retry_000/ask_batch.jsonl")
    assert all(re.fullmatch(r"tu-[0-9a-f]{16}-[0-9a-f]{24}", request["custom_id"]) for request in requests)
    assert "too short" in requests[1]["body"]["messages"][0]["content"]

    ran = go(path)
    assert ran.ids == (["a", "c", "e", "b"], ["f", "d"])
    again = next(record for record in ran.failed if record["unit_id"] == "d")
    assert (again["retry_count"], again["tries"]) == (3, {"schema_validation": 2, "validation": 2})
    assert len(results(path)) == 3 + 3 + 3 + 2  # three at a time, three tries each, one more each
    assert_whole(path)

    assert retried(path, attempts=5).units == 1
    ran = go(path)
    assert ran.ids == (["a", "c", "e", "b", "d"], ["f"])
    assert ran.money.calls == len(results(path)) == 12
    assert retried(path, attempts=9) == (0, 0, 1, (), 9)
    assert_whole(path)


@pytest.mark.spec("B12")
def test_retries_are_in_chunks_that_are_never_empty(tmp_path: Path) -> None:
    items = [{"id": f"{n:02d}"} for n in range(10)]
    rows = [*reply("ask", "*", "no", "no", "no", GOOD), *reply("ask", "00", GOOD)]
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], items, rows, chunk_size=4), tmp_path / "run")
    go(path)
    found = retried(path, attempts=4)
    assert (found.units, found.chunks) == (9, ("retry_000", "retry_001", "retry_002"))
    assert len(go(path).valid) == 10
    assert retried(path).chunks == ()
    assert_whole(path)


@pytest.mark.spec("B12", "B20")
def test_a_run_with_units_to_retry_is_not_done_and_its_files_agree_with_the_table(tmp_path: Path) -> None:
    rows = [*reply("ask", "*", GOOD), *reply("ask", "b", "no", "no", "no", GOOD)]
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=rows), tmp_path / "run")
    assert go(path).ids == (["a", "c"], ["b"])
    retried(path, attempts=4)
    found = standing(RunDir.look(path), running=False)
    assert (found["status"], found["failed"], found["pending"]) == ("paused", 0, 1)
    assert found["reason"] == "failed units will be retried; run it again to resume"
    assert json.loads((path / "MANIFEST.json").read_bytes())["status"] == "paused"
    assert lines(path / "failures.jsonl") == []
    assert go(path).ids == (["a", "c", "b"], [])
    assert_whole(path)


@pytest.mark.spec("B12", "B20")
@pytest.mark.parametrize("command", ["retry", "repair"])
def test_a_command_that_finds_nothing_to_do_leaves_the_status_of_a_stopped_run(tmp_path: Path, command: str) -> None:
    """Only MANIFEST.json has the outcomes of units in the middle of a step."""
    items = [{"id": name} for name in "abcdef"]
    rows = [*reply("ask", "*", GOOD, tokens=1_000_000), *reply("ask", "b", "no", tokens=1_000_000)]
    settings = {"prices": {"*": {"input": 1, "output": 0}}, "retry": {"max_attempts": 1, "initial_delay_seconds": 0}}
    folder = write_pipeline(tmp_path / "p", [asking("ask")], items, rows, api=settings, chunk_size=6)
    path = start(folder, tmp_path / "run")
    assert go(path, PipelineOptions(max_cost=3.5, workers=1)).result.code == 3
    before = standing(RunDir.look(path), running=False)
    assert (before["failed"], before["steps"][0]["valid"], before["pending"]) == (1, 2, 3)
    if command == "retry":
        assert retry_command.callback is not None
        given: dict[str, Any] = {"step": "", "codes": (), "paths": (), "attempts": None}
        assert retry_command.callback(str(path), **given, start=False, max_cost=None) == 0
    else:
        assert repair(path) == ((), ())
    assert standing(RunDir.look(path), running=False) == before
    assert [row["unit_id"] for row in lines(path / "failures.jsonl")] == ["b"]


def test_a_retry_can_start_at_the_same_step(tmp_path: Path) -> None:
    rows = [*reply("one", "a", "no", "no", "no"), *reply("one", "*", GOOD), *reply("two", "*", "no")]
    path = start(write_pipeline(tmp_path / "p", [asking("one"), asking("two")], replies=rows), tmp_path / "run")
    go(path)
    assert retried(path, step="one", attempts=4).units == 1
    assert retried(path, step="two", attempts=4).units == 2


@pytest.mark.spec("B18")
def test_verify_finds_changes_to_the_files_and_repair_corrects_them(tmp_path: Path) -> None:
    items = [{"id": name} for name in "abcdef"]
    rows = [*reply("ask", "*", GOOD), *reply("ask", "c", "no")]
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], items, rows, chunk_size=3), tmp_path / "run")
    before = go(path)
    file = path / "chunks/chunk_000/ask_validated.jsonl"
    raw = file.read_bytes().splitlines(keepends=True)
    for changed, kinds in (
        (raw[:1], {"missing", "changed", "count"}),
        ([*raw, raw[0]], {"duplicate", "changed", "count"}),
        ([*raw, raw[0].replace(b'"a"', b'"z"')], {"orphan", "changed", "count"}),
        ([raw[0], b"{torn\n"], {"damaged"}),
        ([*raw, b"{torn"], {"damaged"}),
        ([*raw, b"[]\n"], {"damaged"}),
        ([*raw, b'{"answer": 1}\n'], {"damaged"}),
    ):
        file.write_bytes(b"".join(changed))
        problems = list(verify(RunDir.look(path)))
        assert {problem.kind for problem in problems} == kinds
        done, left = repair(path)
        assert "chunk_000 is open again at step ask" in done[0]
        assert not left
        provider = Counting([])
        again = go(path, provider=provider)
        assert provider.asked == []  # everything was recorded
        assert (again.valid, again.failed) == (before.valid, before.failed)
        assert_whole(path)


def test_a_journal_that_lacks_a_needed_record_is_reported_and_left_unchanged(tmp_path: Path) -> None:
    path = run_pipeline(EXAMPLES / "reviews", tmp_path / "run").path
    journal = path / "journal.jsonl"
    rows = journal.read_bytes().splitlines(keepends=True)
    made = next(number for number, row in enumerate(rows) if b'"chunk_001"' in row)
    rows[made] = b"{torn\n"
    journal.write_bytes(b"".join(rows))
    with pytest.raises(Damaged, match="the record that made 'chunk_001' is missing; start a new run"):
        repair(path)
    assert journal.read_bytes() == b"".join(rows)


def test_a_foreign_chunk_is_reported_when_it_is_run(tmp_path: Path) -> None:
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=reply("ask", "*", GOOD)), tmp_path / "run")
    (path / "chunks/chunk_000/units.jsonl").write_bytes(b"[]\n")
    with pytest.raises(Damaged, match=r"units\.jsonl: row 1 names no unit"):
        go(path)


def test_files_with_other_content_are_reported_and_break_nothing(tmp_path: Path) -> None:
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=reply("ask", "*", GOOD)), tmp_path / "run")
    (path / "config/HASHES.json").write_bytes(b"[]\n")
    (path / "input/units.jsonl").write_bytes(b"5\n")
    hashes, units = verify(RunDir.look(path))
    assert (hashes.kind, units.kind) == ("damaged", "damaged")
    assert hashes.message == "config/HASHES.json is not a list of files and their hashes"
    assert units.message.endswith("units.jsonl: row 1 names no unit; try `trueup repair`")
    (path / "journal.jsonl").write_bytes(b"")
    with pytest.raises(Damaged, match="the record of the run's creation is gone"):
        RunDir.look(path)


@pytest.mark.parametrize("damage", [b'{"n": 4, nonsense\n', b'{"n":4,"term":1,"kind":"done","sum":1}\n'])
def test_repair_moves_damaged_lines_of_the_journal_to_another_file(tmp_path: Path, damage: bytes) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=rows, chunk_size=1), tmp_path / "run")
    before = go(path)
    journal = path / "journal.jsonl"
    raw = journal.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(raw) if b'"done"' in line and b"chunk_001" in line)
    raw[at] = damage
    journal.write_bytes(b"".join(raw))
    with pytest.raises(Damaged, match="trueup repair"):
        go(path)
    done, left = repair(path)
    assert "1 damaged lines of the journal were put aside" in done[0]
    assert not left
    again = go(path, provider=Counting([]))
    assert again.valid == before.valid
    assert_whole(path)


@pytest.mark.spec("X45")
def test_unit_ids_are_data_and_never_file_names(tmp_path: Path) -> None:
    names = [
        "../../x",
        "/etc/passwd",
        "x" * 300,
        "cafe\u0301",
        "caf\u00e9",
        "a\nb",
        "con",
        "..",
        "\u202ereversed",
        "a\0b",
    ]
    rows = reply("ask", "*", "no", GOOD)
    pipeline = write_pipeline(tmp_path / "p", [asking("ask")], [{"id": name} for name in names], rows)
    before = set(tmp_path.rglob("*"))
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert len(ran.valid) == len(names)
    assert_whole(ran.path)
    made = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(tmp_path / "run") for path in made)
    assert all(re.fullmatch(r"[A-Za-z0-9_.]+", path.name) for path in made)
    log = (ran.path / "TRACE_LOG.txt").read_text("utf-8")
    assert "\x00" not in log
    assert "\u202e" not in log


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 65, "a\nb"])
def test_a_step_name_may_not_be_a_path(tmp_path: Path, name: str) -> None:
    from trueup.batch.pipeline.config import read_config
    from trueup.contract.files.faults import ContractError

    write_pipeline(tmp_path, [{"name": name, "scope": "expression", "expressions": {"x": "1"}}])
    with pytest.raises(ContractError, match="N006"):
        read_config(tmp_path)


@pytest.mark.spec("B9")
def test_a_reply_does_not_replace_fields_of_the_unit(tmp_path: Path) -> None:
    text = json.dumps({"answer": "yes", "unit_id": "other", "_repetition_seed": 1, "retry_count": 9, "id": "mine"})
    rows = reply("ask", "*", text)
    ran = run_pipeline(write_pipeline(tmp_path / "p", [asking("ask")], [{"id": "a"}], rows), tmp_path / "run")
    about = {"ask": {"input_tokens": 10, "output_tokens": 10}}
    assert ran.valid == [{"unit_id": "a", "id": "mine", "_metadata": about, "answer": "yes"}]
    strict = {**ANSWER, "additionalProperties": False}
    ran = run_pipeline(
        write_pipeline(tmp_path / "q", [asking("ask", strict)], [{"id": "a"}], reply("ask", "*", GOOD)),
        tmp_path / "run2",
    )
    assert ran.ids[0] == ["a"]  # the schema does not see fields of the unit


@pytest.mark.spec("B16")
def test_a_script_is_a_step_that_waits_for_all_chunks(tmp_path: Path) -> None:
    script = (
        "import json, sys, pathlib\n"
        "run = pathlib.Path(sys.argv[1])\n"
        "units = [json.loads(l) for f in sorted(run.glob('chunks/*/double_validated.jsonl')) for l in f.open()]\n"
        "print(sum(u['twice'] for u in units), sys.argv[2])\n"
    )
    steps = [
        {"name": "double", "scope": "expression", "expressions": {"twice": "n * 2"}},
        {"name": "total", "scope": "run", "script": "total.py", "args": ["extra"], "output": "total.txt"},
        {"name": "more", "scope": "expression", "expressions": {"more": "twice + 1"}},
    ]
    items = [{"id": str(n), "n": n} for n in range(10)]
    pipeline = write_pipeline(tmp_path / "p", steps, items, chunk_size=3)
    (pipeline / "total.py").write_text(script, "utf-8")
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert (ran.path / "outputs" / "total.txt").read_text("utf-8") == "90 extra\n"
    assert [unit["more"] for unit in ran.valid] == [2 * n + 1 for n in range(10)]
    assert_whole(ran.path)


@pytest.mark.parametrize(
    ("body", "said"), [("raise SystemExit('no luck')", "no luck"), ("import time; time.sleep(3600)", "longer than 0.5")]
)
def test_a_script_that_fails_stops_the_run_with_its_last_output(tmp_path: Path, body: str, said: str) -> None:
    steps = [{"name": "total", "scope": "run", "script": "total.py"}]
    pipeline = write_pipeline(tmp_path / "p", steps, api={"subprocess_timeout_seconds": 0.5 if "sleep" in body else 60})
    (pipeline / "total.py").write_text(body, "utf-8")
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert (ran.result.status, ran.result.code) == ("failed", 1)
    assert said in ran.result.reason
    (ran.path / "config" / "total.py").write_text("pass", "utf-8")
    config = ran.path / "config" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace('seconds": 0.5', 'seconds": 60'), "utf-8")
    log: list[str] = []
    assert len(go(ran.path, on_log=log.append).valid) == 3  # repaired, it continues
    assert "config/total.py was changed after the run was made; the changed version is used" in log


def test_a_failing_post_process_stops_nothing(tmp_path: Path) -> None:
    steps = [{"name": "one", "scope": "expression", "expressions": {"x": "1"}}]
    post = [
        {"name": "table", "script": "table.py", "output": "table.txt"},
        {"name": "gone", "script": "gone.py"},
        {"name": "small", "type": "gzip", "files": ["chunks/*/*_validated.jsonl"]},
        {"name": "out", "script": "../out.py"},
    ]
    pipeline = write_pipeline(tmp_path / "p", steps, post_process=post)
    (pipeline / "table.py").write_text("import sys; print(len(sys.argv))", "utf-8")
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert ran.result.code == 0
    assert (ran.path / "table.txt").read_text("utf-8") == "2\n"
    assert (ran.path / "chunks/chunk_000/one_validated.jsonl.gz").exists()
    log = (ran.path / "RUN_LOG.txt").read_text("utf-8")
    assert "there is no script 'gone.py'" in log
    assert "is outside the folder" in log
    assert_whole(ran.path)


def test_a_bare_word_of_post_process_is_gzip_or_a_script(tmp_path: Path) -> None:
    steps = [{"name": "one", "scope": "expression", "expressions": {"x": "1"}}]
    pipeline = write_pipeline(tmp_path / "p", steps, post_process=["gzip", "note.py"])
    (pipeline / "note.py").write_text("import sys, pathlib; (pathlib.Path(sys.argv[1]) / 'note').touch()", "utf-8")
    ran = run_pipeline(pipeline, tmp_path / "run")
    assert (
        gzip.decompress((ran.path / "validated.jsonl.gz").read_bytes()) == (ran.path / "validated.jsonl").read_bytes()
    )
    assert (ran.path / "note").exists(), "the script was taken along"
    assert_whole(ran.path)


def test_random_numbers_in_expressions_come_from_the_seed_of_the_unit(tmp_path: Path) -> None:
    steps = [{"name": "one", "scope": "expression", "expressions": {"x": "card"}}]
    settings = {"expressions": {"card": "random.choice(['A', 'K', 'Q'])"}, "repeat": 20}
    one = run_pipeline(write_pipeline(tmp_path / "p", steps, processing=settings), tmp_path / "one")
    other = run_pipeline(tmp_path / "p", tmp_path / "other")
    assert one.valid == other.valid
    assert {unit["card"] for unit in one.valid} == {"A", "K", "Q"}


def test_a_step_may_have_its_own_model(tmp_path: Path) -> None:
    from trueup.batch.pipeline.config import read_config
    from trueup.batch.pipeline.providers.choose import NoProvider, chosen

    steps = [asking("one"), {**asking("two"), "provider": "anthropic", "model": "c"}]
    pipeline = read_config(write_pipeline(tmp_path, steps, api={"provider": "openai", "model": "g"}))
    one, two = pipeline.steps
    assert chosen(pipeline, one, {}) == ("openai", "g")
    assert chosen(pipeline, two, {}) == ("anthropic", "c")
    assert chosen(pipeline, two, {"provider": "gemini", "model": "m"}) == ("gemini", "m")
    assert chosen(pipeline, one, {"provider": "local"}) == ("local", "")
    with pytest.raises(NoProvider, match="did you mean 'openai'"):
        chosen(pipeline, one, {"provider": "opnai"})


def test_memory_does_not_grow_with_the_units(tmp_path: Path) -> None:
    """Only the chunks in progress are in memory."""
    import tracemalloc

    rows = reply("ask", "*", json.dumps({"answer": "x" * 2000}))
    items = [{"id": str(n)} for n in range(600)]
    pipeline = write_pipeline(
        tmp_path / "p", [asking("ask"), asking("more")], items, [*rows, *reply("more", "*", GOOD)], chunk_size=20
    )
    path = start(pipeline, tmp_path / "run")
    tracemalloc.start()
    try:
        go(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 12_000_000, f"{most:,} bytes for 600 units of 2 KB twice"


@pytest.mark.spec("B14")
def test_stored_replies_are_judged_by_new_rules_and_units_that_pass_continue(tmp_path: Path) -> None:
    from trueup.batch.pipeline.config import read_config
    from trueup.batch.pipeline.revalidating.adopting import adopt
    from trueup.batch.pipeline.revalidating.revalidate import revalidate

    items = [{"id": name} for name in "abcd"]
    rows = [
        *reply("one", "a", '{"answer": "yes"}'),
        *reply("one", "b", '{"answer": "perhaps"}'),
        *reply("one", "c", '{"answer": "no"}'),
        *reply("one", "d", "nothing"),
        *reply("two", "*", GOOD),
    ]
    long = {"required": ["answer"], "rules": [{"name": "long", "expr": "len(answer) > 2"}]}
    short = {"required": ["answer"], "rules": [{"name": "short", "expr": "len(answer) < 5"}]}
    old = write_pipeline(tmp_path / "old", [asking("one", rules=long), asking("two")], items, rows)
    new = read_config(write_pipeline(tmp_path / "new", [asking("one", rules=short), asking("two")], items, rows))
    path = start(old, tmp_path / "run")
    ran = go(path)
    assert ran.ids == (["a", "b"], ["c", "d"])
    calls = ran.money.calls

    looked = revalidate(RunDir.look(path), new)
    assert looked.replies == 5  # what was made of b in step two is withdrawn with it
    flips = {(flip.step, flip.unit_id): (flip.was, flip.now) for flip in looked.flips}
    assert flips == {("one", "b"): ("valid", "failed"), ("one", "c"): ("failed", "valid")}
    assert revalidate(RunDir.look(path), RunDir.look(path).pipeline).flips == ()

    owned = OwnedRun.open(path)
    adopted = adopt(owned, new)
    assert (adopted.units, adopted.refused, adopted.withdrawn) == (1, 1, 1)
    assert lines(path / "validated.jsonl")[0]["unit_id"] == "a"
    assert len(lines(path / "validated.jsonl")) == 1
    assert [row["unit_id"] for row in lines(path / "failures.jsonl")] == ["b", "d"]
    assert (adopt(owned, new).units, adopt(owned, new).refused) == (0, 0)
    owned.close()
    assert_whole(path)
    provider = Counting(rows)
    ran = go(path, provider=provider)
    assert ran.ids == (["a", "c"], ["b", "d"])
    assert [(step, unit) for step, unit, _ in provider.asked] == [("two", "c")]  # step one asked nothing again
    assert ran.money.calls == calls + 1
    assert_whole(path)


@pytest.mark.needs("model")
@pytest.mark.parametrize("name", ["reviews", "npc_dialogue"] if SOAK else ["reviews"])
def test_the_shipped_pipelines_run_on_the_bundled_model(tmp_path: Path, name: str) -> None:
    ran = go(start(EXAMPLES / name, tmp_path / "run", max_units=1, provider="local"))
    assert ran.result.status in {"done", "failed"}  # the answers of such a small model do not matter here
    assert ran.money.calls >= 1
    assert_whole(ran.path)


@pytest.mark.parametrize(
    "text", ['{"answer": "\ud800"}', "\udfff", '{"answer": ' + str(2**90) + "}", "\x00\x1b[2J", "[" * 600]
)
def test_a_reply_of_any_text_is_recorded_and_read_again(tmp_path: Path, text: str) -> None:
    rows = [*reply("ask", "*", GOOD), *reply("ask", "b", text)]
    any_answer = {"type": "object", "properties": {"answer": {}}, "required": ["answer"]}
    pipeline = write_pipeline(
        tmp_path / "p",
        [asking("ask", any_answer), asking("more", any_answer)],
        replies=[*rows, *reply("more", "*", GOOD)],
    )
    path = start(pipeline, tmp_path / "run")
    ran = go(path, provider=Counting([*rows, *reply("more", "*", GOOD)]))
    assert_whole(path)
    assert len(ran.valid) + len(ran.failed) == 3
    assert text in {row["raw_response"] for row in results(path)}
    owned = OwnedRun.open(path)
    owned.commit("reopened", chunk="chunk_000", step="ask")
    owned.close()
    again = go(path, provider=Counting([]))
    assert (again.valid, again.failed) == (ran.valid, ran.failed)


def test_a_unit_that_breaks_the_judge_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trueup.contract.contract import Contract

    check = Contract.check

    def broken(self: Contract, source: Any, context: Any = None) -> Any:
        if (context or {}).get("input", {}).get("unit_id") == "b":
            raise ZeroDivisionError("poison")
        return check(self, source, context)

    monkeypatch.setattr(Contract, "check", broken)
    ran = run_pipeline(
        write_pipeline(tmp_path / "p", [asking("ask")], replies=reply("ask", "*", GOOD)), tmp_path / "run"
    )
    assert ran.ids == (["a", "c"], ["b"])
    assert ran.failed[0]["errors"][0]["code"] == "U009"
    assert ran.failed[0]["failure_stage"] == "pipeline_internal"
    assert_whole(ran.path)


def test_an_error_of_the_program_is_logged_and_the_run_continues(tmp_path: Path) -> None:
    class Odd(Counting):
        async def send(self, *given: Any) -> Any:
            raise LookupError("not a failure of a call")

    path = start(write_pipeline(tmp_path / "p", [asking("ask")]), tmp_path / "run")
    ran = go(path, provider=Odd([]))
    assert ran.result.code == 3
    assert "LookupError: not a failure of a call" in ran.result.reason
    assert "Traceback" in (path / "RUN_LOG.txt").read_text("utf-8")
    assert len(go(path, provider=Counting(reply("ask", "*", GOOD))).valid) == 3
