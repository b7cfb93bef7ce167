"""Whole runs: failure records, retries, counts, `_metadata`, the log, and that the commands agree."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, change, log_of, rows
from tests.cli.running import Run

FIELDS = {"unit_id", "failure_stage", "input", "raw_response", "errors", "retry_count"}
APOLOGY = "I am sorry, I cannot do that."


@pytest.fixture
def npc(run: Run, folder: Path) -> Path:
    """A finished run of the NPC pipeline: three valid, one below the threshold, one with a score that is not a number."""
    assert run("run", "npc", "--run-dir", "run").code == 1
    return folder / "run"


def status(run: Run, path: str = "run") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("status", path, "--json").out)[0]
    return found


@pytest.mark.spec("B10")
def test_a_failure_record_has_every_field(npc: Path) -> None:
    failed = by_id(npc / "failures.jsonl")
    low, high = failed["pedlar"], failed["bard"]
    assert low.keys() >= FIELDS
    assert (low["failure_stage"], high["failure_stage"]) == ("validation", "schema_validation")
    assert low["input"] == {"unit_id": "pedlar", "id": "pedlar", "mood": "cheerful", "tone": "from the input"}
    assert low["raw_response"].startswith('{"personality_consistency": 0.4')  # the text, not a value read from it
    assert low["errors"] == [
        {
            "code": "B005", "path": "$.personality_consistency", "rule": "personality_threshold",
            "message": "Personality consistency 0.4 is below threshold 0.6",
        }
    ]  # fmt: skip
    # the document's words come from a library: "'high' is not of type 'number'"
    assert (high["errors"][0]["path"], high["errors"][0]["rule"]) == ("$.score", "wrong-type")
    assert high["errors"][0]["message"] == 'Field "score": Expected number, got string'
    assert low["retry_count"] == high["retry_count"] == 2  # three replies: the first, and two more


def test_the_record_of_the_document_s_example(run: Run, folder: Path) -> None:
    unit_id = "the_fool-the_magician-the_priestess"
    stories = {
        "main_card": "The Fool",
        "cards": ["The Fool"],
        "all_stories": ["a"] * 4,
        "story_count": 4,
        "score": "high",
    }
    rule = {"step": "tell", "unit_id": unit_id, "raw_response": json.dumps(stories)}
    (folder / "tarot/replies.jsonl").write_text(json.dumps(rule))
    change(
        folder / "tarot/config.yaml", "processing", "validation_retry", to={"max_attempts": 1}
    )  # wins over api.retry
    run("run", "tarot", "--max-units", "1", "--run-dir", "run")
    (record,) = rows(folder / "run/failures.jsonl")
    assert (record["unit_id"], record["failure_stage"], record["retry_count"]) == (unit_id, "schema_validation", 0)
    assert [(error["path"], error["rule"]) for error in record["errors"]] == [("$.score", "wrong-type")]
    assert record["input"].keys() == {"unit_id", "first", "second", "third"}
    assert json.loads((folder / "run/config/schemas/tell.json").read_text())["type"] == "object"  # the run's own copy


@pytest.mark.spec("B9")
def test_the_reply_wins_over_the_input_but_not_over_the_unit(run: Run, folder: Path) -> None:
    text = '{"personality_consistency": 1, "mood_responsiveness": 1, "tone": "hostile", "unit_id": "x", "_metadata": 1}'
    (folder / "npc/replies.jsonl").write_text(json.dumps({"step": "score", "unit_id": "*", "raw_response": text}))
    assert run("run", "npc", "--run-dir", "run").code == 0
    unit = by_id(folder / "run/validated.jsonl")["smith"]
    assert (unit["tone"], unit["mood"], unit["_metadata"]) == ("hostile", "cheerful", {"score": {}})


@pytest.mark.spec("B9")
def test_metadata_is_added_before_the_rules_run(run: Run, folder: Path) -> None:
    rules = [
        {
            "name": "short",
            "expr": "_metadata.score.output_tokens <= 9",
            "error": "{_metadata.score.output_tokens} tokens",
        }
    ]
    change(folder / "npc/config.yaml", "validation", "score", "rules", to=rules)
    assert run("lint", "npc").code == 0
    run("run", "npc", "--run-dir", "run")
    assert {error["message"] for row in rows(folder / "run/failures.jsonl") for error in row["errors"]} >= {"10 tokens"}
    assert "judged again, 0 flip\n" in run("revalidate", "run").out  # and they see the same metadata


def test_a_closed_schema_does_not_fail(run: Run, folder: Path) -> None:
    # In the document `additionalProperties: false` refuses the fields that the orchestrator injects.
    # Here the schema judges what the model wrote, and nothing else.
    file = folder / "npc/schemas/score.json"
    schema = json.loads(file.read_text())
    file.write_text(json.dumps({**schema, "additionalProperties": False}))
    run("run", "npc", "--run-dir", "run")
    assert {"smith", "elder"} <= set(by_id(folder / "run/validated.jsonl"))


@pytest.mark.spec("B4", "B6", "B20")
def test_warnings_and_coercions_are_in_the_unit_the_log_and_the_report(run: Run, npc: Path) -> None:
    unit = by_id(npc / "validated.jsonl")["elder"]
    about = unit.pop("_metadata")["score"]
    assert unit == {
        "unit_id": "elder", "id": "elder", "mood": "cheerful", "tone": "COLD", "personality_consistency": 0.9,
        "mood_responsiveness": 0.2, "score": 8,
    }  # fmt: skip
    assert [(fix["code"], fix["path"], fix["before"], fix["after"]) for fix in about["fixes"]] == [
        ("C002", "$.score", '"8"', "8")
    ]
    message = "Low mood responsiveness: 0.2"
    assert about["warnings"] == [
        {"code": "B005", "path": "$.mood_responsiveness", "rule": "mood_warning", "message": message}
    ]
    assert (about["input_tokens"], about["output_tokens"]) == (30, 10)
    log = log_of(npc)
    assert 'chunk_000 score elder: [COERCE] score: "8" → 8 (string → int)' in log
    assert f"chunk_000 score elder: [WARN] B005 mood_warning: {message}" in log
    shown = run("status", "run").out
    assert "warnings in score: B005×1\nfixes in score: C002×1\n" in shown
    (step,) = status(run)["steps"]
    assert (step["warned"], step["warnings"], step["fixed"], step["fixes"]) == (1, {"B005": 1}, 1, {"C002": 1})
    assert json.loads((npc / "MANIFEST.json").read_text())["steps"] == [step]
    assert json.loads(run("revalidate", "run", "--json").out)["warnings"] == {"B005": 1}
    page = folder_of(run("report", "run").out, npc).read_text("utf-8")
    data = json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    counts = data["summary"]["counts"]
    assert [counts[name] for name in ("units", "valid", "failed", "fixed", "warned")] == [5, 3, 2, 1, 1]
    shown_unit = next(unit for unit in data["units"] if unit["unit_id"] == "elder")
    assert [warning["message"] for warning in shown_unit["warnings"]] == [message]
    assert data["summary"]["fixes"]["C002"]["examples"] == ["elder"]


def folder_of(said: str, run: Path) -> Path:
    assert said == "run/report.html\n"
    return run / "report.html"


def test_verify_counts_warnings_and_fixes(run: Run, npc: Path) -> None:
    assert run("verify", "run").code == 0
    file = npc / "chunks/chunk_000/score_validated.jsonl"
    units = rows(file)
    for unit in units:
        unit["_metadata"]["score"].pop("warnings", None)
    file.write_text("".join(json.dumps(unit) + "\n" for unit in units))
    said = run("verify", "run")
    assert said.code == 1
    assert "0 units with a warning, the journal says 1" in said.out


@pytest.mark.spec("B20")
def test_the_log_counts_and_times_each_phase(npc: Path) -> None:
    (said,) = [line for line in log_of(npc) if "schema validation:" in line]
    # smith 1, elder 1, pedlar 3, guard 2, bard 3 replies; those of bard fail the schema
    phases = r"schema validation: 7 of 10 passed in \d+\.\d{3}s; business rules: 3 of 7 passed in \d+\.\d{3}s"
    assert re.fullmatch(f"chunk_000 score {phases}", said)


def test_rules_see_fields_of_earlier_steps(run: Run, folder: Path) -> None:
    rule = {"name": "first", "expr": "first.id != 'the_fool' or story_count == 4", "error": "no"}
    change(folder / "tarot/config.yaml", "validation", "tell", "rules", to=[rule])
    assert run("lint", "tarot").code == 0
    run("run", "tarot", "--run-dir", "run")
    assert len(rows(folder / "run/validated.jsonl")) == 4


def test_stories_are_counted_not_assumed(run: Run, folder: Path) -> None:
    run("run", "tarot", "--run-dir", "run")
    units, failed = by_id(folder / "run/validated.jsonl"), by_id(folder / "run/failures.jsonl")
    assert {unit["num_stories"] for unit in units.values()} == {4, 6}
    assert units["the_magician-the_priestess-the_fool"]["label"] == "The Fool: 6 stories, score 7.0"
    stages = {unit_id.split("-")[1]: record["failure_stage"] for unit_id, record in failed.items()}
    # The document calls a reply that is not JSON `pipeline_internal` and never asks again. It is the model's fault, and asking
    # again may help: here it has a separate stage, `parse`, and is retried.
    assert stages == {"the_fool": "schema_validation", "the_magician": "parse"}


@pytest.mark.spec("B12")
def test_retries_are_routed_by_unit(run: Run, folder: Path) -> None:
    steps = [
        {"name": "score"},
        {"name": "odd", "scope": "expression", "expressions": {"x": "1 / (0 if unit_id == 'smith' else 1)"}},
    ]
    change(folder / "npc/config.yaml", "pipeline", "steps", to=steps)
    run("run", "npc", "--run-dir", "run")
    failed = by_id(folder / "run/failures.jsonl")
    assert failed["smith"]["failure_stage"] == "pipeline_internal"
    assert failed["pedlar"]["retry_count"] == 2
    # all attempts are used up: they stay where they are
    assert "nothing to retry" in run("retry", "run").out
    assert "2 units to retry in retry_000" in run("retry", "run", "--attempts", "4").out
    chunk = folder / "run/chunks/chunk_000"
    assert set(by_id(chunk / "score_failures.jsonl.bak")) == {"pedlar", "bard"}  # archived first
    assert set(by_id(chunk / "odd_failures.jsonl")) == {"smith"}  # units that asking again cannot help stay
    manifest = json.loads(run("run", "run", "--json").out)
    assert manifest["retries"] == 1
    assert "pedlar" in by_id(folder / "run/validated.jsonl")
    left = by_id(folder / "run/failures.jsonl")
    assert (left["bard"]["retry_count"], left["smith"]["failure_stage"]) == (3, "pipeline_internal")
    assert run("verify", "run").code == 0


def test_a_retried_chunk_is_pending_until_it_runs(run: Run, npc: Path) -> None:
    run("retry", "run", "--attempts", "4")
    manifest = json.loads((npc / "MANIFEST.json").read_text())
    assert manifest["chunks"]["retry_000"]["state"] == "score_PENDING"


@pytest.mark.spec("B13")
@pytest.mark.parametrize("mode", ["--no-batch", "--batch"])
def test_a_chunk_without_a_valid_unit_has_failed(run: Run, folder: Path, mode: str) -> None:
    change(folder / "tarot/config.yaml", "processing", "chunk_size", to=6)
    (folder / "tarot/replies.jsonl").write_text(json.dumps({"step": "tell", "unit_id": "*", "raw_response": "{}"}))
    ran = run("run", "tarot", mode, "--poll", "0.01", "--run-dir", "run")
    assert ran.code == 1
    manifest = json.loads((folder / "run/MANIFEST.json").read_text())
    assert manifest["chunks"]["chunk_000"]["state"] == "FAILED"
    assert "step tell: none of 6 units is valid" in manifest["reason"]
    assert not (folder / "run/chunks/chunk_000/weigh_validated.jsonl").exists()


@pytest.mark.spec("B1", "B17")
@pytest.mark.parametrize("mode", ["--no-batch", "--batch"])
def test_the_text_of_the_model_is_kept_in_both_modes(run: Run, folder: Path, mode: str) -> None:
    text = f"```json\n{{'score': }}\n``` {APOLOGY}"
    (folder / "npc/replies.jsonl").write_text(json.dumps({"step": "score", "unit_id": "*", "raw_response": text}))
    run("run", "npc", mode, "--poll", "0.01", "--run-dir", "run")
    assert {record["raw_response"] for record in rows(folder / "run/failures.jsonl")} == {text}
    # In the document every response carries its text as `_raw_text`. Here each reply is a line of the step's results.
    results = rows(folder / "run/chunks/chunk_000/score_results.jsonl")
    assert {row["raw_response"] for row in results if "raw_response" in row} == {text}


@pytest.mark.spec("B14")
def test_stored_replies_are_judged_by_new_rules(run: Run, folder: Path, npc: Path) -> None:
    change(folder / "npc/config.yaml", "validation", "score", "rules", 0, "expr", to="personality_consistency >= 0.4")
    ran = run("revalidate", "run", "--pipeline", "npc", "--apply")
    assert "failed → valid: 1 unit\n  score  pedlar" in ran.out
    run("run", "run")
    assert "pedlar" in by_id(npc / "validated.jsonl")
    assert run("verify", "run").code == 0
