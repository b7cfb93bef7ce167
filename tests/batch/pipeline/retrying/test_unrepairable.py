"""A fault that only another configuration can repair is never asked about again; a fault that a model can repair is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import Ran, asking, go, lines, reply, results, run_pipeline, start, write_pipeline
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.retrying.retry import retry
from trueup.batch.pipeline.revalidating.revalidate import revalidate
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.running.run import PipelineOptions

SCORE: dict[str, Any] = {
    "type": "object",
    "properties": {"points": {"type": "integer"}, "n": {"type": "integer"}, "code": {"type": "string"}, "more": {"type": "array", "items": {"type": "integer"}}, "loose": {}, "either": {"type": ["string", "integer"]}, "maybe": {"type": ["null", "integer"]}},
    "required": ["points"],
}  # fmt: skip
FINE = '{"points": 4, "n": 2, "code": "7", "more": [1]}'
BETTER = '{"points": 4, "n": 2, "code": "7", "more": [1], "loose": 4, "either": 4, "maybe": 4, "text": "Over there", "note": "x"}'
ONE = PipelineOptions(workers=1)


def ran(folder: Path, expr: str, *texts: str, units: int = 2, options: PipelineOptions = ONE, **more: Any) -> Ran:
    """A run of one step with one rule; every unit gets these replies in turn."""
    names = [f"u{n:02d}" for n in range(units)]
    step = asking(
        "ask", SCORE, "Translate the text of {{ unit_id }}.", {"rules": [{"name": "r", "expr": expr, **more}]}
    )
    replies = [row for name in names for row in reply("ask", name, *(texts or (FINE, FINE, FINE)))]
    for row in replies:
        row["usage"] = {**row["usage"], "output_tokens": 40 if '"n": 40' in row["raw_response"] else 10}
    items = [{"id": name, "limit": 3, "empty": None, "prices": {"7": 9}, "text": "Under"} for name in names]
    return run_pipeline(write_pipeline(folder / "p", [step], items, replies, chunk_size=5), folder / "run", options)


@pytest.mark.spec("B12", "B15")
@pytest.mark.parametrize(
    ("expr", "why"),
    [
        ("pionts > 3", "neither the schema nor the unit has the field 'pionts'; did you mean 'points'?"),
        ("points > pionts", "neither the schema nor the unit has the field 'pionts'"),
        ("1 / 0 > 1", "it uses nothing from the reply"),
        ("limit > 5", "it uses nothing from the reply"),
        ("len(empty) > 1", "it uses nothing from the reply"),
        ("len(points) > 1", "its fields have types that it cannot use (object of type 'int' has no len())"),
        ("code > limit", "its fields have types that it cannot use ('>' cannot compare text with a number)"),
        ("points.strip() == 'x'", "its fields have types that it cannot use (a number has no method 'strip')"),
    ],
)
def test_a_rule_that_no_reply_can_satisfy_is_not_asked_about_again(tmp_path: Path, expr: str, why: str) -> None:
    done = ran(tmp_path, expr)
    assert len(results(done.path)) == 2, "one call for each unit, and no more"
    for record in done.failed:
        assert record["failure_stage"] == "pipeline_internal"
        assert [error["code"] for error in record["errors"]][-1] == "U035"
        assert why in record["errors"][-1]["message"]
        assert record["raw_response"] == FINE, "there to be judged again"
    owned = OwnedRun.open(done.path)
    try:
        assert retry(owned).units == 0
    finally:
        owned.close()


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("expr", "first"),
    [
        ("points > 3", '{"points": 1}'),
        ("int(code) > 3", '{"points": 4, "code": "seven"}'),
        ("code.startswith('7')", '{"points": 4}'),
        ("more[1] == 1 if len(more) > 1 else more[0] > 0", '{"points": 4, "more": []}'),
        ("note == 'x' if 'note' in dir() else points > 3", '{"points": 1}'),
        ("points > limit", '{"points": 1}'),
        ("points > 3 or bonus > 2", '{"points": 1}'),
        ("bonus > 2 if points < 3 else n > 1", '{"points": 1}'),
        ("0 < n < bonus if points < 3 else True", '{"points": 1, "n": 2}'),
        ("all(m < bonus for m in more) if n < 2 else True", '{"points": 4, "n": 1, "more": [1]}'),
        ("code == '7' or len(points) > 1", '{"points": 4, "code": "8"}'),
        ("8 / (points - limit) > 1", '{"points": 3}'),
        ("int(code[-1]) == 7 and int(code * 3) == 777", '{"points": 3, "code": "x"}'),
        ("prices[code] > 3", '{"points": 4, "code": "nothing"}'),
        ("more[0] + 1 == 2", '{"points": 4, "more": []}'),
        ("loose > 3", '{"points": 4, "loose": "no"}'),
        ("either > 3", '{"points": 4, "either": "no"}'),
        ("maybe > 3", '{"points": 4, "maybe": null}'),
        ("text.startswith('Over')", '{"points": 4}'),
        ("_metadata.ask.output_tokens < 20", '{"points": 3, "n": 40}'),
        ("'note' in dir() or len(dir()) > 14", '{"points": 3}'),
    ],
)
def test_a_fault_of_the_reply_is_asked_about_again(tmp_path: Path, expr: str, first: str) -> None:
    done = ran(tmp_path, expr, first, BETTER)
    assert (len(done.valid), len(results(done.path))) == (2, 4)


@pytest.mark.spec("B12")
def test_a_rule_that_would_not_apply_to_another_reply_is_asked_about_again(tmp_path: Path) -> None:
    done = ran(tmp_path, "len(points) > 1", '{"points": 1, "n": 1}', FINE, when="n < 2")
    assert (len(done.valid), len(results(done.path))) == (2, 4)


@pytest.mark.spec("B12")
def test_a_name_only_in_the_condition_is_not_to_blame(tmp_path: Path) -> None:
    done = ran(tmp_path, "int(code) > 3", '{"points": 1, "code": "x"}', FINE, when="points > 0 or bonus > 2")
    assert (len(done.valid), len(results(done.path))) == (2, 4)


@pytest.mark.spec("B12")
def test_a_reply_cannot_add_a_field_to_a_closed_schema(tmp_path: Path) -> None:
    """Here the prompt asks for it, but such a reply would be refused."""
    step = asking("ask", {**SCORE, "additionalProperties": False}, "Give text.", {"rules": ["text == 'Over'"]})
    items = [{"id": "a", "text": "Under"}]
    done = run_pipeline(
        write_pipeline(tmp_path / "p", [step], items, reply("ask", "a", FINE, FINE)), tmp_path / "run", ONE
    )
    assert (len(done.failed), len(results(done.path))) == (1, 1)
    assert "it uses nothing from the reply" in done.failed[0]["errors"][-1]["message"]


def test_a_reply_may_add_a_field_to_an_open_schema(tmp_path: Path) -> None:
    step = asking("ask", {"type": "object"}, rules={"rules": [{"name": "r", "expr": "mood == 'glad'"}]})
    replies = reply("ask", "a", "{}", '{"mood": "glad"}')
    done = run_pipeline(write_pipeline(tmp_path / "p", [step], [{"id": "a"}], replies), tmp_path / "run")
    assert [unit["mood"] for unit in done.valid] == ["glad"]


@pytest.mark.spec("B13", "B15", "B21")
@pytest.mark.parametrize("batch", [False, True])
def test_a_run_stops_if_the_configuration_is_to_blame_for_every_unit(tmp_path: Path, *, batch: bool) -> None:
    done = ran(tmp_path, "pionts > 3", units=40, options=PipelineOptions(workers=1, batch=batch))
    assert (done.result.status, done.result.code) == ("failed", 2)
    assert done.result.reason.startswith(
        "step ask: No reply can pass the rule 'r': neither the schema nor the unit has the field 'pionts'"
    )
    assert len(results(done.path)) <= 10, "nothing more is spent"
    assert json.loads((done.path / "MANIFEST.json").read_text())["status"].lower() == "failed"


def test_one_unit_with_unusual_input_stops_nothing(tmp_path: Path) -> None:
    step = asking("ask", SCORE, rules={"rules": [{"name": "r", "expr": "limit > 2"}]})
    items = [{"id": f"u{n}", "limit": 1 if n < 1 else 9} for n in range(5)]
    folder = write_pipeline(tmp_path / "p", [step], items, reply("ask", "*", FINE, FINE, FINE))
    done = go(start(folder, tmp_path / "run"), ONE)
    assert done.result.code == 1
    assert (done.ids, len(lines(done.path / "validated.jsonl"))) == ((["u1", "u2", "u3", "u4"], ["u0"]), 4)


@pytest.mark.spec("B13")
@pytest.mark.parametrize(
    ("expr", "odd", "others"),
    [
        ("limit > 2", {"limit": 1}, {"limit": 9}),
        ("discount < points", {}, {"discount": 1}),
        ("points > limit", {"limit": "three"}, {"limit": 3}),
    ],
)
def test_a_field_that_only_some_units_have_never_stops_a_run(
    tmp_path: Path, expr: str, odd: dict[str, Any], others: dict[str, Any]
) -> None:
    step = asking("ask", SCORE, rules={"rules": [{"name": "r", "expr": expr}]})
    items = [{"id": f"u{n}", **(odd if n < 4 else others)} for n in range(7)]
    folder = write_pipeline(tmp_path / "p", [step], items, reply("ask", "*", FINE, FINE, FINE), chunk_size=10)
    done = go(start(folder, tmp_path / "run"), ONE)
    assert done.result.code == 1
    assert done.ids == (["u4", "u5", "u6"], ["u0", "u1", "u2", "u3"])
    assert len(results(done.path)) == 7, "and no unit is asked about twice"


@pytest.mark.spec("B14")
def test_the_replies_are_judged_again_once_the_rule_is_corrected(tmp_path: Path) -> None:
    done = ran(tmp_path, "pionts > 3")
    config = (tmp_path / "p" / "config.yaml").read_text("utf-8").replace("pionts", "points")
    (tmp_path / "p" / "config.yaml").write_text(config, "utf-8")
    looked = revalidate(RunDir.look(done.path), read_config(tmp_path / "p"))
    assert [(flip.unit_id, flip.was, flip.now) for flip in looked.flips] == [
        ("u00", "failed", "valid"),
        ("u01", "failed", "valid"),
    ]
