"""Runs of pipelines: after a change of the contract, files, counts and `verify` agree with it."""

import json
from pathlib import Path

import pytest

from tests.acceptance.octobatch.reading import by_id, change, rows
from tests.cli.running import Run


@pytest.fixture
def npc(run: Run, folder: Path) -> Path:
    assert run("run", "npc", "--run-dir", "run").code == 1
    return folder / "run"


def threshold(folder: Path, value: float) -> None:
    """Ask more, or less, of the consistency of a character."""
    schema = json.loads((folder / "npc/schemas/score.json").read_text())
    schema["properties"]["personality_consistency"]["minimum"] = value
    (folder / "npc/schemas/score.json").write_text(json.dumps(schema))


@pytest.mark.spec("B14")
def test_what_a_stricter_contract_refuses_does_not_stay_valid(run: Run, folder: Path, npc: Path) -> None:
    before = by_id(npc / "validated.jsonl")
    scores = {uid: row["personality_consistency"] for uid, row in before.items()}
    limit = sorted(scores.values())[1] + 0.001
    threshold(folder, limit)
    refused = {uid for uid, score in scores.items() if score < limit}
    told = run("revalidate", "run", "--pipeline", "npc", "--apply")
    assert str(len(refused)) in told.out
    run("run", "run")
    valid, failed = by_id(npc / "validated.jsonl"), by_id(npc / "failures.jsonl")
    assert refused
    assert not refused & valid.keys()
    assert refused <= failed.keys()
    assert all(failed[uid]["raw_response"] and failed[uid]["errors"] for uid in refused)
    assert len(valid) + len(failed) == len(before) + 2
    (status,) = json.loads(run("status", "run", "--json").out)
    assert json.dumps(status).count('"failed"')
    assert run("verify", "run").code == 0


@pytest.mark.spec("B14", "B18")
def test_verify_judges_a_sample_again(run: Run, folder: Path, npc: Path) -> None:
    """A run whose contract refuses what is stored as valid does not verify."""
    schema = json.loads((npc / "config/schemas/score.json").read_text())
    schema["properties"]["personality_consistency"]["minimum"] = 100
    text = json.dumps(schema)
    (npc / "config/schemas/score.json").write_text(text)
    ran = run("verify", "run", "--json")
    assert ran.code == 1
    assert "judged" in ran.out or "refused" in ran.out, ran.out


@pytest.mark.spec("B13")
def test_a_step_without_a_valid_unit_fails_at_once(run: Run, folder: Path) -> None:
    bad = [json.dumps({"step": "score", "unit_id": "*", "raw_response": "no idea"})]
    (folder / "npc/replies.jsonl").write_text("\n".join(bad) + "\n")
    ran = run("run", "npc", "--run-dir", "run")
    assert ran.code in (1, 3)
    (status,) = json.loads(run("status", "run", "--json").out)
    assert "FAILED" in json.dumps(status).upper()
    assert "no unit" in (ran.out + ran.err).lower() or "none" in (ran.out + ran.err).lower(), ran


@pytest.mark.spec("B10", "B18")
def test_a_stopped_run_has_its_failures_in_one_file(run: Run, folder: Path) -> None:
    change(folder / "npc/config.yaml", "processing", "chunk_size", to=1)
    ran = run("run", "npc", "--run-dir", "run", "--max-cost", "0.0000001", "--price", "1000/1000")
    if ran.code == 3:
        assert (folder / "run/failures.jsonl").exists()
    found = [row for path in (folder / "run/chunks").glob("*/*_failures.jsonl") for row in rows(path)]
    assert {row["unit_id"] for row in found} == set(by_id(folder / "run/failures.jsonl"))
