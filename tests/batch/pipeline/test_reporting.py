"""The page about a run: a unit counts once, however many steps noted something about it."""

import json
from pathlib import Path

from tests.batch.pipeline.making import asking, reply, run_pipeline, write_pipeline
from trueup.batch.pipeline.reporting import report_run

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LOW = {"rules": [{"name": "low", "expr": "n > 9", "error": "n is {n}", "level": "warning"}]}


def test_a_unit_counts_once_for_all_its_steps(tmp_path: Path) -> None:
    steps = [asking("one", SCHEMA, "1 {{ unit_id }}", LOW), asking("two", SCHEMA, "2 {{ unit_id }}", LOW)]
    replies = [*reply("one", "*", '{"n": "1",}'), *reply("two", "*", '{"n": "2"}'), *reply("two", "c", '{"n": "none"}')]
    pipeline = write_pipeline(tmp_path / "p", steps, replies=replies)
    page = report_run(run_pipeline(pipeline, tmp_path / "run").path).read_text("utf-8")
    data = json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    counts, fixes, codes = (data["summary"][name] for name in ("counts", "fixes", "codes"))
    assert [counts[name] for name in ("units", "valid", "failed", "fixed", "warned")] == [3, 2, 1, 3, 3]
    assert (fixes["C001"]["units"], fixes["C001"]["times"], fixes["C001"]["examples"]) == (3, 5, ["a", "b", "c"])
    assert (codes["B005"]["units"], codes["B005"]["times"], codes["V001"]["units"]) == (3, 5, 1)
    shown = [(unit["unit_id"], unit["place"], unit["kind"]) for unit in data["units"]]
    assert ("c", "chunk_001 two", "failed") in shown
    assert ("a", "chunk_000 one", "valid") in shown
    assert ("a", "chunk_000 two", "valid") in shown
