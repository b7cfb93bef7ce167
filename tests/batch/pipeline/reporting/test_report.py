"""The page about a run: the same as for a sift, with its steps and their cost; a unit counts once over all steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import asking, reply, run_pipeline, start, write_pipeline
from trueup.batch.compare import compare
from trueup.batch.pipeline.reporting.report import collect_run, report_run
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.running.run import PipelineOptions

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LOW = {"rules": [{"name": "low", "expr": "n > 9", "error": "n is {n}", "level": "warning"}]}
STRICT = {"rules": [{"name": "positive", "expr": "n > 0", "error": "n is {n}"}, *LOW["rules"]]}
PRICES = {"prices": {"*": {"input": 1000, "output": 1000}}, "model": "m"}


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    steps = [asking("one", SCHEMA, "1 {{ unit_id }}", LOW), asking("two", SCHEMA, "2 {{ unit_id }}", STRICT)]
    replies = [
        *reply("one", "*", '{"n": "1",}'),
        *reply("two", "*", '{"n": "2"}'),
        *reply("two", "b", '{"n": -1}'),
        *reply("two", "c", '{"n": "none"}'),
    ]
    return write_pipeline(tmp_path / "p", steps, replies=replies, api=PRICES)


def test_a_unit_is_counted_once_for_all_its_steps(tmp_path: Path) -> None:
    steps = [asking("one", SCHEMA, "1 {{ unit_id }}", LOW), asking("two", SCHEMA, "2 {{ unit_id }}", LOW)]
    replies = [*reply("one", "*", '{"n": "1",}'), *reply("two", "*", '{"n": "2"}'), *reply("two", "c", '{"n": "none"}')]
    pipeline = write_pipeline(tmp_path / "p", steps, replies=replies)
    page = report_run(run_pipeline(pipeline, tmp_path / "run").path).read_text("utf-8")
    data = json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    counts, fixes, codes = (data["summary"][name] for name in ("counts", "fixes", "codes"))
    assert [counts[name] for name in ("units", "valid", "failed", "fixed", "warned")] == [3, 2, 1, 3, 3]
    assert (fixes["C001"]["units"], fixes["C001"]["times"], fixes["C001"]["examples"]) == (3, 5, ["a", "b", "c"])
    assert (codes["B005"]["units"], codes["B005"]["times"], codes["V001"]["units"]) == (3, 5, 1)
    assert (codes["B005"]["level"], codes["B005"]["failed"], codes["B005"]["warned"]) == ("warning", 0, 3)
    shown = [(unit["unit_id"], unit["place"], unit["kind"]) for unit in data["units"]]
    assert ("c", "chunk_001 two", "failed") in shown
    assert ("a", "chunk_000 one", "valid") in shown
    assert ("a", "chunk_000 two", "valid") in shown


def test_findings_are_reported_by_step_field_and_rule_and_steps_with_their_cost(pipeline: Path, tmp_path: Path) -> None:
    data = collect_run(run_pipeline(pipeline, tmp_path / "run").path)
    paths = {(row["step"], row["key"]): (row["failed"], row["warned"]) for row in data["paths"]}
    assert paths == {("one", "$.n"): (0, 3), ("two", "$.n"): (2, 2)}
    rules = {(row["step"], row["key"]): (row["failed"], row["warned"]) for row in data["rules"]}
    assert rules == {("one", "low"): (0, 3), ("two", "positive"): (1, 0), ("two", "low"): (0, 2)}
    steps = [{name: row[name] for name in ("step", "valid", "failed", "fixed", "warned")} for row in data["steps"]]
    assert steps == [
        {"step": "one", "valid": 3, "failed": 0, "fixed": 3, "warned": 3},
        {"step": "two", "valid": 1, "failed": 2, "fixed": 1, "warned": 1},
    ]
    assert data["steps"][0]["calls"] == 3
    assert float(data["steps"][0]["cost"].removeprefix("$")) == pytest.approx(0.06)
    assert data["cost"].startswith("$")
    assert set(data["explained"]) >= {"B005", "V001", "C001"}
    assert data["notes"] == []


def test_an_unfinished_run_is_shown_as_far_as_it_is(pipeline: Path, tmp_path: Path) -> None:
    path = start(pipeline, tmp_path / "run")
    data = collect_run(path)
    assert data["notes"][0].startswith("This run is not started: ")
    assert (data["summary"]["counts"]["units"], data["summary"]["counts"]["pending"]) == (3, 3)
    owned = OwnedRun.open(path)
    try:
        assert collect_run(path)["notes"][0].startswith("This run is running: ")
        assert report_run(path).is_file()
    finally:
        owned.close()


def test_a_stopped_run_is_shown_with_what_it_finished(pipeline: Path, tmp_path: Path) -> None:
    stopped = run_pipeline(pipeline, tmp_path / "run", PipelineOptions(workers=1, max_cost=0.05))
    assert stopped.result.code == 3
    data = collect_run(stopped.path)
    counts = data["summary"]["counts"]
    assert counts["pending"] > 0
    assert counts["units"] == counts["valid"] + counts["failed"] + counts["pending"] == 3
    assert data["notes"][0].startswith("This run is paused (")
    assert report_run(stopped.path).is_file()


def test_the_cost_includes_every_call_also_in_chunks_that_have_not_finished_a_step(tmp_path: Path) -> None:
    """A process that was killed: one reply is recorded, one request was sent and its reply is lost."""
    path = start(write_pipeline(tmp_path / "p", [asking("one", SCHEMA)], api=PRICES), tmp_path / "run")
    owned = OwnedRun.open(path)
    owned.note("submitted", chunk="chunk_000", step="one")
    owned.close()
    rows = [
        {"unit_id": "a", "sent": True},
        {"unit_id": "a", "raw_response": '{"n": 1}', "usage": {"input_tokens": 10, "output_tokens": 10}, "usd": 0.02},
        {"unit_id": "b", "sent": True},
    ]
    results = path / "chunks" / "chunk_000" / "one_results.jsonl"
    results.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    data = collect_run(path)
    assert data["cost"] == data["steps"][0]["cost"] == "$0.0200 + unknown for 1 call"
    assert "1 call was in progress when the run was interrupted; the cost is not known." in data["notes"]
    (side, _) = compare(path, path).sides
    assert (side["money"]["calls"], side["money"]["unpriced"], side["money"]["usd"]) == (2, 1, pytest.approx(0.02))
    assert side["counts"] == {"units": 0, "valid": 0, "failed": 0, "pending": 3}


@pytest.mark.parametrize(
    ("file", "before", "after", "lost"),
    [
        ("two_failures.jsonl", '"errors":[', '"errors":"none","was":[', 2),
        ("two_failures.jsonl", '"code":"V001"', '"code":5', 1),
        ("two_failures.jsonl", '"raw_response":"', '"raw_response":0,"was":"', 2),
        ("one_validated.jsonl", '"fixes":[', '"fixes":[7,null],"was":[', 3),
    ],
)
def test_changed_records_are_left_out_and_counted(
    pipeline: Path, tmp_path: Path, file: str, before: str, after: str, lost: int
) -> None:
    path = run_pipeline(pipeline, tmp_path / "run").path
    whole = collect_run(path)
    for changed in (path / "chunks").glob(f"*/{file}"):
        changed.write_text(changed.read_text("utf-8").replace(before, after), "utf-8")
    data = collect_run(path)
    lines = "1 line is not a record of a run and is" if lost == 1 else f"{lost} lines are not records of a run and are"
    assert data["notes"] == [f"{lines} not shown here."]
    assert len(data["units"]) == len(whole["units"]) - lost
    assert data["summary"]["counts"]["units"] == 3
    assert report_run(path).is_file()


@pytest.mark.needs("browser")
def test_the_page_of_a_run_works_by_click(pipeline: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    page = report_run(run_pipeline(pipeline, tmp_path / "run").path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            click_through(browser, page)
        finally:
            browser.close()


def click_through(browser: Any, page: Path) -> None:
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    assert tab.locator("#steps tbody tr").count() == 2
    assert [text.split("\n")[0] for text in tab.locator("#funnel li").all_inner_texts()] == [
        "units",
        "passed one",
        "passed two",
    ]
    tab.locator("#rules tr", has_text="two").locator("button", has_text="low").click()
    assert tab.locator("#step").input_value() == "two"
    assert {text.split("\n")[0] for text in tab.locator("#list li").all_inner_texts()} == {"a", "b"}
    tab.locator("#kind").select_option("failed")
    assert "failed at validation · chunk_000 two" in tab.locator("#unit").inner_text()
    assert "n is -1" in tab.locator("#unit").inner_text()
    tab.locator("#steps th", has_text="cost").locator("button").click()
    assert tab.locator("#steps th", has_text="cost").get_attribute("aria-sort") == "descending"
    assert said == []
