"""Grounded steps of a pipeline: the source of a unit, rates by step, field and model, and the faults that `lint` finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import asking, reply, run_pipeline, write_pipeline
from trueup.batch.pipeline.lint.run import lint_pipeline
from trueup.batch.pipeline.reporting.report import collect_run
from trueup.batch.pipeline.reporting.status import status
from trueup.batch.pipeline.retrying.retry import retry
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.running.metadata import METADATA
from trueup.batch.pipeline.verifying.verify import verify

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "total": {"type": "number"}}}
MAILS = {"a": "Ada Byron owes 12.50 EUR.", "b": "Luis Vega owes 99 EUR.", "c": "Ana Ruiz owes 7 EUR."}
PROMPT = "Extract name and total. Example: Grace Hopper, 85. Mail: {{ mail }}"


def step(**grounded: Any) -> dict[str, Any]:
    made = asking("one", SCHEMA, PROMPT, {"required": ["name"]})
    return {**made, "grounded": grounded or True}


def replies(model: str = "m") -> list[dict[str, Any]]:
    said = {
        "a": '{"name": "Ada Byron", "total": 12.5}', "b": '{"name": "Grace Hopper", "total": 99}', "c": '{"name": "Ana Ruiz", "total": 8}',
    }  # fmt: skip
    return [{**row, "model": model} for uid, text in said.items() for row in reply("one", uid, *[text] * 3)]


def made(folder: Path, asks: dict[str, Any], items: Any = None) -> Path:
    items = items or [{"id": uid, "mail": mail} for uid, mail in MAILS.items()]
    return write_pipeline(folder / "p", [asks], items=items, replies=replies())


def rates(run: RunDir) -> dict[str, Any]:
    (row,) = status(run.state)["steps"]
    return {path: {k: n for k, n in each.items() if k != "rate"} for path, each in row["grounded"]["fields"].items()}


@pytest.mark.parametrize("grounded", [{}, {"source": "mail"}])
def test_rates_are_counted_by_step_field_and_model(tmp_path: Path, grounded: dict[str, Any]) -> None:
    ran = run_pipeline(made(tmp_path, step(**grounded)), tmp_path / "run")
    assert ran.ids == (["a"], ["b", "c"])
    assert [[error["code"] for error in record["errors"]] for record in ran.failed] == [["E002"], ["E001"]]
    assert rates(ran.run) == {
        "$.name": {"values": 3, "exact": 2, "only_in_prompt": 1},
        "$.total": {"values": 3, "normalized": 2, "none": 1},
    }
    evidence = ran.valid[0][METADATA]["one"]["evidence"]
    assert evidence["$.total"]["places"][0]["document"] in ("mail", "source")
    assert list(verify(ran.run)) == []
    page = collect_run(ran.path)
    assert {(row["step"], row["key"]) for row in page["grounded"]} == {("one", "$.name"), ("one", "$.total")}
    shown = {unit["unit_id"]: unit for unit in page["units"]}
    assert shown["c"]["evidence"][1]["title"] == "no evidence"
    assert MAILS["c"] in str(shown["c"]["sources"])
    assert MAILS["a"] in str(shown["a"]["sources"])


def test_units_that_are_asked_again_count_with_their_last_reply(tmp_path: Path) -> None:
    ran = run_pipeline(made(tmp_path, step(source="mail")), tmp_path / "run")
    assert rates(ran.run)["$.name"]["values"] == 3
    owned = OwnedRun.open(ran.path)
    try:
        assert retry(owned, attempts=6).units == 2
    finally:
        owned.close()
    assert rates(RunDir.look(ran.path))["$.name"] == {"values": 1, "exact": 1}


def test_a_field_called_model_is_not_the_model_that_answered(tmp_path: Path) -> None:
    items = [{"id": uid, "mail": mail, "model": "Beetle"} for uid, mail in MAILS.items()]
    pipeline = made(tmp_path, step(source="mail"), items)
    rows = [{key: value for key, value in row.items() if key != "model"} for row in replies()]
    (pipeline / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (row,) = status(run_pipeline(pipeline, tmp_path / "run").run.state)["steps"]
    assert "models" not in row["grounded"]


def test_a_unit_without_its_source_is_not_asked_again(tmp_path: Path) -> None:
    items = [{"id": "a", "mail": MAILS["a"]}, {"id": "b", "mail": ""}, {"id": "c", "mail": None}]
    ran = run_pipeline(made(tmp_path, step(source="mail"), items), tmp_path / "run")
    assert ran.ids == (["a"], ["b", "c"])
    told = {record["unit_id"]: record for record in ran.failed}
    assert [told[uid]["errors"][0]["code"] for uid in "bc"] == ["E007", "E007"]
    assert "the field 'mail' of the unit is empty" in told["b"]["errors"][0]["message"]
    assert {record["failure_stage"] for record in ran.failed} == {"pipeline_internal"}
    assert ran.money.calls == 3  # one for each unit


def test_a_pipeline_without_grounding_has_no_rates(tmp_path: Path) -> None:
    asks = asking("one", SCHEMA, PROMPT, {"required": ["name"]})
    ran = run_pipeline(made(tmp_path, asks), tmp_path / "run")
    assert all("grounded" not in row for row in status(ran.run.state)["steps"])
    assert all("evidence" not in unit[METADATA]["one"] for unit in ran.valid)
    assert collect_run(ran.path)["grounded"] == []


@pytest.mark.parametrize(
    ("grounded", "code", "said"),
    [
        ({"source": "mial"}, "N026", "the field 'mial', the source of the replies, does not exist"),
        ({"fields": ["name", "totl"]}, "N013", "the schema has no field 'totl'"),
        ({"feilds": ["name"]}, "N006", "there is no such option"),
    ],
)
def test_lint_checks_the_grounding_of_a_step(tmp_path: Path, grounded: dict[str, Any], code: str, said: str) -> None:
    faults = [fault for fault in lint_pipeline(made(tmp_path, step(**grounded))) if fault.code == code]
    assert [said in fault.message for fault in faults] == [True]
    assert faults[0].line > 1


def test_lint_reports_nothing_about_correct_grounding(tmp_path: Path) -> None:
    found = lint_pipeline(made(tmp_path, step(source="mail", fields=["name"])))
    assert not [fault for fault in found if "ground" in json.dumps([fault.message, list(fault.path)])]
