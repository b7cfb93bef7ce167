"""Adding `grounded` to a contract flips exactly the replies with planted wrong values, from any source."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trueup
from tests.backtesting.making import write_contract
from tests.batch.pipeline.making import asking, reply, run_pipeline, write_pipeline
from trueup import Contract
from trueup.backtesting.backtest import backtest
from trueup.backtesting.markdown import markdown
from trueup.backtesting.result import Backtest
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import SiftOptions, sift
from trueup.cli.main import main as commands
from trueup.store.open import open_store

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "total": {"type": "number"}}}
OLD, NEW = Contract(SCHEMA, name="old"), Contract(SCHEMA, name="new", grounded=True)
WRONG = {0, 4, 5, 9}


def source(number: int) -> str:
    return f"Ada Byron wrote on letter {number}: we owe {number + 100}.50 EUR."


def answer(number: int) -> str:
    return json.dumps({"name": "Ada Byron", "total": 999.25 if number in WRONG else number + 100.5})


def units() -> list[dict[str, Any]]:
    return [{"unit_id": f"u{at}", "input": {"source": source(at)}, "raw_response": answer(at)} for at in range(12)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_file(folder: Path) -> str:
    return str(write(folder / "units.jsonl", units()))


def in_sift(folder: Path) -> str:
    sift([in_file(folder)], spec_of(OLD), folder / "out", SiftOptions(workers=1))
    return str(folder / "out")


def in_conversations(folder: Path) -> str:
    rows = [
        {
            "unit_id": row["unit_id"],
            "messages": [
                {"role": "user", "content": row["input"]["source"]},
                {"role": "assistant", "content": row["raw_response"]},
            ],
        }
        for row in units()
    ]
    return str(write(folder / "talk.jsonl", rows))


def in_store(folder: Path) -> str:
    with open_store(folder / "s.db", keep_context=True) as store:
        for row in units():
            context = {"history": [{"role": "user", "content": row["input"]["source"]}]}
            store.record_verdict(OLD.check(row["raw_response"], context), context=context)
    return str(folder / "s.db")


def in_run(folder: Path) -> str:
    items = [{"id": f"u{at}", "source": source(at)} for at in range(12)]
    replies = [row for at in range(12) for row in reply("one", f"u{at}", answer(at))]
    step = asking("one", SCHEMA, "{{ source }}", {"required": ["name"]})
    pipeline = write_pipeline(folder / "p", [step], items=items, replies=replies, chunk_size=5)
    return str(run_pipeline(pipeline, folder / "run").path)


@pytest.mark.parametrize("stored", [in_file, in_sift, in_conversations, in_store, in_run])
def test_planted_wrong_values_are_found_and_nothing_else(stored: Callable[[Path], str], tmp_path: Path) -> None:
    found = trueup.backtest(NEW, stored(tmp_path), against=OLD)
    assert (found.newly_refused, found.newly_accepted, found.value_changed) == (len(WRONG), 0, 0)
    assert (found.judged, found.unchanged, dict(found.unjudgeable)) == (12, 12 - len(WRONG), {})
    (row,) = found.groups["reason"]
    assert (row["key"], row["count"]) == ("E001 $.total", len(WRONG))
    assert "999.25 is not in the source; the nearest there is" in row["example"]["message"]


def test_a_reply_whose_source_was_not_stored_is_counted_with_its_reason(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        for row in units():
            context = {"history": [{"role": "user", "content": row["input"]["source"]}]}
            store.record_verdict(OLD.check(row["raw_response"], context), context=context)
    found = trueup.backtest(NEW, str(tmp_path / "s.db"), against=OLD)
    assert (found.judged, dict(found.unjudgeable)) == (0, {"context_not_kept": 12})
    rows = [{**row, "input": row["input"] if at % 2 else {}} for at, row in enumerate(units())]
    found = backtest(NEW, write(tmp_path / "half.jsonl", rows), against=OLD)
    assert (found.judged, dict(found.unjudgeable)) == (6, {"no_source": 6})
    assert found.newly_refused == len([number for number in WRONG if number % 2])


def test_removing_grounding_is_judged_in_the_same_way(tmp_path: Path) -> None:
    found = backtest(OLD, write(tmp_path / "u.jsonl", units()), against=NEW)
    assert (found.newly_accepted, found.newly_refused) == (len(WRONG), 0)
    found = backtest(OLD, write(tmp_path / "n.jsonl", [{**row, "input": {}} for row in units()]), against=NEW)
    assert dict(found.unjudgeable) == {"no_source": 12}


def test_a_recorded_refusal_without_a_source_is_an_outcome(tmp_path: Path) -> None:
    file = write(tmp_path / "n.jsonl", [{**row, "input": {}} for row in units()])
    sift([str(file)], spec_of(NEW), tmp_path / "out", SiftOptions(workers=1))
    found = backtest(OLD, tmp_path / "out")
    assert (found.newly_accepted, found.judged) == (12, 12)


def test_the_evidence_is_next_to_the_example(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found: Backtest = backtest(NEW, write(tmp_path / "u.jsonl", units()), against=OLD)
    assert "the nearest there is" in markdown(found)
    old, new = (
        write_contract(tmp_path / "old.json", SCHEMA),
        write_contract(tmp_path / "new.json", SCHEMA, grounded=True),
    )
    arguments = ["backtest", str(new), "--against", str(old), str(tmp_path / "u.jsonl"), "--progress", "none"]
    with pytest.raises(SystemExit):
        commands.main(arguments)
    assert "the nearest there is '1" in " ".join(capfd.readouterr().out.split())
    page = tmp_path / "b.html"
    with pytest.raises(SystemExit):
        commands.main([*arguments, "--html", str(page), "--json"])
    assert "the nearest there is" in page.read_text("utf-8")
    assert "the nearest there is" in capfd.readouterr().out
