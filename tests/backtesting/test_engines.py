"""Engines: several processes count the same as one process (tests/batch/engines tests the cluster). If a reply hangs or
ends its process, only this reply is counted as such."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backtesting.making import NEW, OLD, REPLIES, contracts, write_contract, write_units
from trueup.backtesting import backtest as room
from trueup.backtesting.backtest import backtest
from trueup.backtesting.result import Backtest
from trueup.batch.judging.work import EngineFailed, UnitLimits

TEXTS = [text for texts in REPLIES.values() for text in texts]

# A contract with its own code: "fatal" ends the process, "hang" never returns, "raise" raises.
CODE = """
import os, signal, time
from trueup import Contract

def check(verdict, context):
    text = verdict.reply.text
    if "fatal" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang" in text:
        time.sleep(1000)
    if "raise" in text:
        raise KeyError(text)

made = Contract({NEW!r}, checks=[check], name="own")
"""


def told(found: Backtest) -> dict[str, Any]:
    """The parts of a result that must not depend on the engine."""
    row = found.to_dict()
    for name in ("seconds", "sources"):
        del row[name]
    return row


def own_contract(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / f"{name}.py").write_text(CODE.replace("{NEW!r}", repr(NEW)))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return f"{name}:made"


def test_several_processes_count_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_units(tmp_path / "units.jsonl", TEXTS * 100)
    new, old = write_contract(tmp_path / "new.json", NEW), write_contract(tmp_path / "old.json", OLD)
    seen: list[Path] = []
    monkeypatch.setattr("trueup.material.blocks._SMALLEST", 8 << 10)  # many blocks of few replies
    flips: dict[str, list[bytes]] = {"alone": [], "shared": []}
    monkeypatch.setattr(room, "_ALONE", 1e9)
    alone = backtest(new, file, against=old, on_flips=flips["alone"].extend)
    monkeypatch.setattr(room, "_ALONE", -1.0)
    shared = backtest(
        new, file, against=old, workers=2, on_progress=lambda found: seen.append(file), on_flips=flips["shared"].extend
    )
    assert flips["shared"] == flips["alone"]
    assert [int(json.loads(flip)["id"][1:]) for flip in flips["alone"]] == [
        number for number in range(len(TEXTS) * 100) if number % len(TEXTS) >= len(REPLIES["same"])
    ]
    assert len(seen) > 5
    assert told(shared) == told(alone)
    assert alone.total == len(TEXTS) * 100
    held = backtest(contracts()[0], (text for text in TEXTS * 200), against=contracts()[1], workers=2)
    assert (held.newly_refused, held.total) == (200 * len(REPLIES["newly_refused"]), 200 * len(TEXTS))


def test_a_reply_that_hangs_raises_or_ends_its_process_is_counted_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = own_contract(tmp_path, "own_local", monkeypatch)
    lines = [*TEXTS * 3, '{"n": 20, "s": "fatal"}', *TEXTS, '{"n": 20, "s": "hang"}', '{"n": 20, "s": "raise"}', *TEXTS]
    file = write_units(tmp_path / "units.jsonl", lines)
    found = backtest(
        contract, file, against=write_contract(tmp_path / "old.json", OLD), workers=1, guard=UnitLimits(seconds=1.0)
    )
    assert dict(found.unjudgeable) == {"crashed": 1, "timed_out": 1, "check_raised": 1}
    assert (found.total, found.judged) == (len(lines), len(TEXTS) * 5)
    assert found.newly_refused == 5 * len(REPLIES["newly_refused"])
    ((said, count),) = found.tally.errors.items()
    assert count == 1
    assert "KeyError" in said
    assert "raise" not in said.partition("(")[0].replace("raised", "")


def test_values_that_cannot_leave_this_process_are_judged_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_ALONE", -1.0)
    monkeypatch.setattr(room, "_FEW", 0)
    new, old = contracts()
    given = [(text, {"deps": lambda: None}) for text in TEXTS * 100]
    found = backtest(new, given, against=old, workers=1)
    assert found.newly_refused == 100 * len(REPLIES["newly_refused"])
    assert found.total == len(given)


def test_a_missing_cluster_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    file = write_units(tmp_path / "units.jsonl", TEXTS)
    with pytest.raises(EngineFailed, match="Ray cannot be reached at"):
        backtest(contracts()[0], file, against=contracts()[1], engine="ray", address="127.0.0.1:1")
