"""Runs of pipelines: a step without a valid unit ends a run, and after a change of the contract files, counts and `verify` agree."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, change, lines, log_of, rows
from tests.cli.running import Run
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

GOOD = {"personality_consistency": 0.9, "mood_responsiveness": 0.8, "tone": "warm", "score": 7}


@pytest.fixture
def npc(run: Run, folder: Path) -> Path:
    """Three units are valid; one breaks a rule, one the schema."""
    assert run("run", "npc", "--run-dir", "run").code == 1
    return folder / "run"


def status(run: Run) -> dict[str, Any]:
    (found,) = json.loads(run("status", "run", "--json").out)
    return dict(found)


def limit(pipeline: Path, **words: float) -> None:
    """Change the rule about the consistency of a character."""
    file = pipeline / "schemas/score.json"
    schema = json.loads(file.read_text())
    schema["properties"]["personality_consistency"].update(words)
    file.write_text(json.dumps(schema))


# Judging again ------------------------------------------------------------------------------------------------------


def stricter_schema(pipeline: Path) -> None:
    limit(pipeline, minimum=0.95)


def stricter_rule(pipeline: Path) -> None:
    rule = "personality_consistency >= 0.95"
    change(pipeline / "config.yaml", "validation", "score", "rules", 0, "expr", to=rule)


def looser_rule(pipeline: Path) -> None:
    rule = "personality_consistency >= 0.4"
    change(pipeline / "config.yaml", "validation", "score", "rules", 0, "expr", to=rule)


def looser_schema(pipeline: Path) -> None:
    """`bard` said "high" for a number."""
    file = pipeline / "schemas/score.json"
    schema = json.loads(file.read_text())
    schema["properties"]["score"] = {"anyOf": [{"type": "number"}, {"const": "high"}]}
    file.write_text(json.dumps(schema))
    config = pipeline / "config.yaml"
    change(config, "validation", "score", "types", "score")
    change(config, "validation", "score", "ranges", "score")


VALID = {"smith", "elder", "guard"}
CHANGES = {
    "stricter-schema": (stricter_schema, VALID, "failed", "V004"),
    "stricter-rule": (stricter_rule, VALID, "failed", "B005"),
    "looser-rule": (looser_rule, {"pedlar"}, "valid", "B005"),
    "looser-schema": (looser_schema, {"bard"}, "valid", "V001"),
}


@pytest.mark.spec("B14")
@pytest.mark.parametrize(("changed", "flips", "now", "code"), CHANGES.values(), ids=CHANGES)
def test_stored_replies_are_judged_again_and_flips_are_shown(
    run: Run, folder: Path, npc: Path, changed: Any, flips: set[str], now: str, code: str
) -> None:
    changed(folder / "npc")
    (folder / "npc/replies.jsonl").write_text("")  # asking again would get nothing
    before = {path: path.read_bytes() for path in npc.rglob("*") if path.is_file()}
    shown = run("revalidate", "run", "--pipeline", "npc")
    was = "valid" if now == "failed" else "failed"
    head, *told = shown.out.splitlines()
    noun = "unit" if len(flips) == 1 else "units"
    code_of_exit = 1 if now == "failed" else 0
    assert (shown.code, head) == (code_of_exit, f"{was} → {now}: {len(flips)} {noun}")
    units = [line.split() for line in told if line.startswith("  ")]
    assert {unit_id for _, unit_id, *_ in units} == flips
    assert {why[0] for _, _, *why in units} == {code}
    assert f"5 replies judged again, {len(flips)} flip" in told
    found = json.loads(run("revalidate", "run", "--pipeline", "npc", "--json").out)["flips"]
    assert {flip["unit_id"]: (flip["was"], flip["now"]) for flip in found} == dict.fromkeys(flips, (was, now))
    for flip in found:
        assert [error["code"] for error in flip["errors_now" if now == "failed" else "errors_before"]] == [code]
    after = {path: path.read_bytes() for path in npc.rglob("*") if path.is_file()}
    assert after == before, "showing changes nothing"


@pytest.mark.spec("B14", "B18")
@pytest.mark.parametrize(("changed", "flips", "now", "code"), CHANGES.values(), ids=CHANGES)
def test_once_applied_files_counts_and_verify_agree_with_the_new_contract(
    run: Run, folder: Path, npc: Path, changed: Any, flips: set[str], now: str, code: str
) -> None:
    replies = {path.name: path.read_bytes() for path in npc.glob("chunks/chunk_*/*_results.jsonl")}
    spent = status(run)["money"]["calls"]
    changed(folder / "npc")
    (folder / "npc/replies.jsonl").write_text("")
    run("revalidate", "run", "--pipeline", "npc", "--apply")
    for resumed in (False, True):
        if resumed:
            run("run", "run")
        told = status(run)
        (step,) = told["steps"]
        valid, failed = by_id(npc / "validated.jsonl"), by_id(npc / "failures.jsonl")
        assert [told[name] for name in ("valid", "failed", "units")] == [len(valid), len(failed), 5]
        assert [step[name] for name in ("valid", "failed")] == [len(valid), len(failed)]
        assert told["pending"] == 5 - len(valid) - len(failed)
        assert not flips & (valid.keys() if now == "failed" else failed.keys()), "nothing is left as it was"
        assert run("verify", "run", "--all").code == 0
    wanted = VALID - flips if now == "failed" else VALID | flips
    assert (set(valid), set(failed)) == (wanted, {*VALID, "pedlar", "bard"} - wanted)
    assert told["pending"] == 0
    for uid in flips & failed.keys():
        assert [error["code"] for error in failed[uid]["errors"]] == [code]
        assert json.loads(failed[uid]["raw_response"])["personality_consistency"] == 0.9
    assert told["money"]["calls"] == spent, "no model was called"
    assert {path.name: path.read_bytes() for path in npc.glob("chunks/chunk_*/*_results.jsonl")} == replies


@pytest.mark.spec("B14")
def test_revalidating_sends_no_request_to_a_server(run: Run, folder: Path) -> None:
    with ScriptedServer(lambda _: Say(json.dumps({**GOOD, "score": "8"}))) as server:
        where = ("--provider", "url", "--base-url", f"{server.url}/v1", "--model", "m")
        assert run("run", "npc", *where, "--run-dir", "run", TRUEUP_API_KEY="none").code == 0
        asked = len(server.requests)
        assert asked == 5
        stricter_schema(folder / "npc")
        assert "valid → failed: 5 units" in run("revalidate", "run", "--pipeline", "npc", "--apply").out
        assert len(server.requests) == asked
    assert (by_id(folder / "run/validated.jsonl"), len(by_id(folder / "run/failures.jsonl"))) == ({}, 5)


@pytest.mark.spec("B14")
def test_a_sift_is_judged_again_and_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    age: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}
    stricter = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 40, "minimum": -5}}}
    units = [{"unit_id": f"u{number}", "raw_response": f'{{"age": {number}}}'} for number in (-3, 7, 36, 50)]
    (tmp_path / "u.jsonl").write_text(lines(*units))
    run("sift", "u.jsonl", "-s", json.dumps(age), "-o", "out", "-w", "1")
    (tmp_path / "u.jsonl").unlink()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    run("revalidate", "out", "-s", json.dumps(stricter), "-o", "again", "-w", "1")
    flips = {
        row["unit_id"]: (bool(row["errors_before"]), bool(row["errors_now"]))
        for row in rows(tmp_path / "again/flips.jsonl")
    }
    assert flips == {"u-3": (True, False), "u50": (False, True)}
    assert set(by_id(tmp_path / "again/validated.jsonl")) == {"u-3", "u7", "u36"}
    assert set(by_id(tmp_path / "again/failures.jsonl")) == {"u50"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == before


@pytest.mark.spec("B14", "B18")
def test_verify_judges_a_sample_again(run: Run, npc: Path) -> None:
    """A run whose contract refuses what is stored as valid does not verify."""
    limit(npc / "config", minimum=100)
    ran = run("verify", "run", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["ok"], found["judged"], found["stored"]) == (1, False, 5, 5)
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "refused"]
    assert (problem["step"], set(problem["units"])) == ("score", VALID)
    assert "3 stored as valid, but refused" in run("verify", "run").out
    unjudged = json.loads(run("verify", "run", "--json", "--sample", "0").out)
    assert [problem["kind"] for problem in unjudged["problems"]] == ["changed"], "it is judging that finds them"


# No valid unit ------------------------------------------------------------------------------------------------------


def two_steps(folder: Path, *replies: dict[str, Any]) -> None:
    """The pipeline with a second step that asks, and these replies."""
    config = folder / "npc/config.yaml"
    change(config, "pipeline", "steps", to=[{"name": "score"}, {"name": "again"}])
    for section, name in (("prompts", "templates"), ("schemas", "files")):
        ending = "jinja2" if section == "prompts" else "json"
        change(config, section, name, to=dict.fromkeys(("score", "again"), f"score.{ending}"))
    change(config, "validation", "again", to={})
    change(config, "processing", "chunk_size", to=2)
    change(config, "api", "retry", "max_attempts", to=1)
    (folder / "npc/replies.jsonl").write_text(lines(*replies))


NONE = {
    "parse": ("I have no idea.", "P001"),
    "schema_validation": ('{"personality_consistency": "none"}', "V001"),
    "validation": (json.dumps({**GOOD, "personality_consistency": 0.1}), "B005"),
}


@pytest.mark.spec("B13", "B21")
@pytest.mark.parametrize("mode", ["--no-batch", "--batch"])
@pytest.mark.parametrize("stage", NONE)
def test_without_a_valid_unit_the_run_fails_and_the_next_step_does_not_start(
    run: Run, folder: Path, stage: str, mode: str
) -> None:
    text, code = NONE[stage]
    two_steps(folder, *({"step": step, "unit_id": "*", "raw_response": text} for step in ("score", "again")))
    ran = run("run", "npc", mode, "--poll", "0.01", "--run-dir", "run")
    assert ran.code == 1
    for _ in range(2):
        told = status(run)
        assert (told["status"], told["valid"], told["failed"], told["pending"]) == ("failed", 0, 5, 0)
        assert told["reason"].startswith("step score: none of 5 units is valid (")
        assert code in told["reason"]
        assert told["reason"] in ran.out, "the reason is shown by the run"
        assert told["reason"] in run("status", "run").out, "and by the status"
        assert run("status", "run").code == 1
        manifest = json.loads((folder / "run/MANIFEST.json").read_text())
        assert {chunk["state"] for chunk in manifest["chunks"].values()} == {"FAILED"}
        assert told["money"]["calls"] == 5, "nobody was asked at the next step"
        assert not list((folder / "run/chunks").glob("*/again_*")), "it was not even prepared"
        assert {row["failure_stage"] for row in rows(folder / "run/failures.jsonl")} == {stage}
        ran = run("run", "run")  # nor does it start when the run is started again
        assert ran.code == 1
    for chunk in ("chunk_000", "chunk_001", "chunk_002"):
        assert any(line.startswith(f"{chunk} FAILED: no unit passed score (") for line in log_of(folder / "run"))


@pytest.mark.spec("B13")
def test_without_a_valid_unit_at_a_later_step_the_run_fails_as_well(run: Run, folder: Path) -> None:
    good, bad = json.dumps(GOOD), "no idea"
    two_steps(
        folder,
        {"step": "score", "unit_id": "*", "raw_response": good},
        {"step": "again", "unit_id": "*", "raw_response": bad},
    )
    steps = [{"name": "score"}, {"name": "again"}, {"name": "sum", "scope": "expression", "expressions": {"x": "1"}}]
    change(folder / "npc/config.yaml", "pipeline", "steps", to=steps)
    assert run("run", "npc", "--run-dir", "run").code == 1
    told = status(run)
    assert told["status"] == "failed"
    assert told["reason"].startswith("step again: none of 5 units is valid (")
    assert [step["valid"] for step in told["steps"]] == [5, 0, 0]
    assert not list((folder / "run/chunks").glob("*/sum_*"))


@pytest.mark.spec("B13")
def test_the_reason_is_reported_for_a_single_unit_as_well(run: Run, folder: Path) -> None:
    two_steps(folder, {"step": "score", "unit_id": "*", "raw_response": "no idea"})
    assert run("run", "npc", "--run-dir", "run", "--max-units", "1").code == 1
    assert status(run)["reason"] == "step score: its only unit is not valid (P001 1)"


@pytest.mark.spec("B13")
def test_one_valid_unit_is_enough_for_the_next_step(run: Run, folder: Path) -> None:
    two_steps(
        folder,
        {"step": "score", "unit_id": "smith", "raw_response": json.dumps(GOOD)},
        {"step": "score", "unit_id": "*", "raw_response": "no idea"},
        {"step": "again", "unit_id": "*", "raw_response": json.dumps(GOOD)},
    )
    assert run("run", "npc", "--run-dir", "run").code == 1
    told = status(run)
    assert (told["status"], told["valid"], told["failed"]) == ("done", 1, 4)
    assert set(by_id(folder / "run/validated.jsonl")) == {"smith"}


# A stopped run ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("B10", "B17", "B18", "B21")
def test_a_stopped_run_has_its_failures_in_one_file(run: Run, folder: Path) -> None:
    """Two units in each chunk of four fail; a cost cap stops the run in the middle."""
    config = folder / "npc/config.yaml"
    change(config, "processing", "chunk_size", to=4)
    change(config, "api", "retry", "max_attempts", to=1)
    items = [{"id": f"npc{number:02d}", "mood": "calm"} for number in range(40)]
    (folder / "npc/items.jsonl").write_text(lines(*items))
    usage = {"input_tokens": 100, "output_tokens": 50}
    replies = [GOOD, {**GOOD, "tone": "vague"}, GOOD, {**GOOD, "score": "high"}]
    (folder / "npc/replies.jsonl").write_text(
        lines(
            *(
                {"step": "score", "unit_id": item["id"], "raw_response": json.dumps(replies[n % 4]), "usage": usage}
                for n, item in enumerate(items)
            )
        )
    )
    ran = run("run", "npc", "--run-dir", "run", "-j", "1", "--max-cost", "0.03", "--price", "10/10")
    assert ran.code == 3
    told = status(run)
    assert 0 < told["failed"] < 20
    assert told["money"]["usd"] <= 0.03
    assert "the cost cap of $0.03 is reached" in told["reason"]
    failed = by_id(folder / "run/failures.jsonl")
    in_chunks = [row for path in (folder / "run/chunks").glob("*/*_failures.jsonl") for row in rows(path)]
    assert in_chunks
    assert all(failed[row["unit_id"]] == row for row in in_chunks)
    assert len(rows(folder / "run/failures.jsonl")) == len(failed) == told["failed"], "those of an open chunk, too"
    assert set(failed) <= {item["id"] for item in items[1::2]}
    assert all(row["raw_response"] and row["errors"] for row in failed.values())
    assert run("run", "run", "--max-cost", "1").code == 1
    assert len(by_id(folder / "run/failures.jsonl")) == len(by_id(folder / "run/validated.jsonl")) == 20


@pytest.mark.spec("B18")
def test_a_run_has_its_manifest_from_the_start(run: Run, folder: Path) -> None:
    assert run("init", "npc", "--run-dir", "run").code == 0
    manifest = json.loads((folder / "run/MANIFEST.json").read_text())
    chunks = manifest.pop("chunks")
    assert {**manifest, "path": "run", "running": False} == status(run)
    assert (manifest["valid"], manifest["failed"], manifest["pending"]) == (0, 0, manifest["units"])
    assert manifest["pending"] == sum(len(rows(folder / f"run/chunks/{name}/units.jsonl")) for name in chunks) > 0
