"""A bug in the contract while files are judged fails only its unit, with X001, which names the line and quotes nothing."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import asking, reply, results, run_pipeline, write_pipeline
from tests.batch.sifting import bytes_of, run, unit
from trueup import Contract
from trueup.batch.judging.filters import Filter, RulesFilter
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.revalidating.revalidate import revalidate
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.contract.contract import Contract as Own
from trueup.contract.plugins import check
from trueup.verdict.bugs import pointed

CANARY = "sk-canary-of-the-check"


@check("BUG004", "told", "Does what the reply says.")
def told(verdict: Any, context: Any) -> Any:
    """A check that does what the reply says."""
    word = verdict.data[0]
    if word == "raise":
        raise KeyError(CANARY)
    if word == "leave":
        sys.exit(CANARY)
    if word == "refuse":
        raise ValueError("it says so itself")
    if word == "lie":
        yield False


CONTRACT = Contract({"type": "array"}, checks=[told], name="told")
WORDS = ["fine", "raise", "leave", "refuse", "lie", "fine"]


def assert_bug(row: dict[str, Any], kind: str) -> None:
    """The failure record of a unit that hit a bug."""
    (error,) = row["errors"]
    assert (error["code"], error["path"], row["failure_stage"]) == ("X001", "$", "pipeline_internal")
    assert f"The check 'told' raised {kind} (tests/batch/test_bugs_in_contracts.py:" in error["message"]
    assert CANARY not in json.dumps(row)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sifted_unit_fails_alone(tmp_path: Path, workers: int) -> None:
    lines = [unit(f"{n}", f'["{word}"]') for n, word in enumerate(WORDS)]
    ran = run(tmp_path, lines, CONTRACT, workers=workers)
    assert [row["unit_id"] for row in ran.valid] == ["0", "5"]
    assert ran.codes == {"1": ["X001"], "2": ["X001"], "3": ["BUG004"], "4": ["X001"]}
    for row, kind in zip(ran.failed, ("KeyError", "SystemExit", "", "TypeError"), strict=True):
        if kind:
            assert_bug(row, kind)
    assert CANARY.encode() not in b"".join(bytes_of(ran.out).values())


def test_a_unit_of_a_stream_fails_alone() -> None:
    for made in (Filter(CONTRACT, 1 << 20), RulesFilter(CONTRACT, 1 << 20)):
        assert made.sort(unit("a", '["fine"]').encode(), 0).valid
        assert_bug(json.loads(made.sort(unit("b", '["raise"]').encode(), 0).failed), "KeyError")
        assert_bug(json.loads(made.sort(unit("c", '["leave"]').encode(), 0).failed), "SystemExit")


def broken_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make unit b hit a bug while it is judged, like one in a type's validator."""
    judge = Own.check

    def broken(self: Own, source: Any, context: Any = None) -> Any:
        if (context or {}).get("input", {}).get("unit_id") == "b":
            raise pointed(KeyError(CANARY), "the check 'told'", told.function)
        return judge(self, source, context)

    monkeypatch.setattr(Own, "check", broken)


def test_a_unit_of_a_pipeline_fails_alone_and_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = '{"answer": "yes"}'
    pipeline = write_pipeline(tmp_path / "p", [asking("ask")], replies=reply("ask", "*", good))
    with monkeypatch.context() as patched:
        broken_contract(patched)
        ran = run_pipeline(pipeline, tmp_path / "run")
        assert ran.ids == (["a", "c"], ["b"])
        assert_bug(ran.failed[0], "KeyError")
        written = b"".join(file.read_bytes() for file in ran.path.rglob("*") if file.is_file())
        assert CANARY.encode() not in written
        assert [row["unit_id"] for row in results(ran.path) if "raw_response" in row].count("b") == 1
        assert revalidate(RunDir.look(ran.path), read_config(pipeline)).flips == ()
    (flip,) = revalidate(RunDir.look(ran.path), read_config(pipeline)).flips
    assert (flip.unit_id, flip.was, flip.now) == ("b", "failed", "valid")
    assert flip.errors_before[0]["code"] == "X001"
