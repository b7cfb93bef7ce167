"""B22: the same contract over Ray and Ray Data gives the same results and the same failure records as on one machine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import lines, rows
from tests.batch.engines.nodes import ROOT
from tests.cli.running import COMMAND, clean_environment
from trueup.batch.engines.ray import _environment

pytest.importorskip("ray.data")
pytestmark = pytest.mark.spec("B22")

SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}, "pets": {"type": "array", "items": {"type": "string"}}},
    "required": ["age"],
}
RULES = [
    {"name": "grown", "expr": "age >= 18", "error": "{n} is {age}"},
    {"name": "old", "expr": "age < 90", "error": "{age} is old", "level": "warning"},
]
REPLIES = [
    '{"age": 36}',  # valid
    '```json\n{"age": "40", "pets": "cat",}\n```',  # valid after fixes
    '{"age": 95}',  # valid with a warning
    "I am sorry.",  # parse
    "<html>500</html>",  # parse
    '{"age": 5, "pets": [1]}',  # coerced, then a rule
    '{"age": "high", "pets": ["cat", {}]}',  # schema
    '```json\n{"age": "7"}\n```',  # fixes, then a rule
    "",  # parse
]
# As a user would write it: a Dataset of the lines, and `Sift` mapped over its batches.
PROGRAM = """
import json, logging, sys
import ray, ray.data
from trueup.batch.frames import Sift

logging.disable(logging.WARNING)
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
ray.data.DataContext.get_current().enable_progress_bars = False
rows = [json.loads(line) for line in open(sys.argv[1])]
judged = ray.data.from_items(rows, override_num_blocks=3).map_batches(
    Sift, fn_constructor_args=("c.json",), batch_size=5, batch_format="pyarrow", concurrency=1
)
for row in judged.take_all():
    print("judged " + json.dumps([row["unit_id"], bool(row["valid"]), json.loads(row["record"])]))
"""


@pytest.fixture
def units(tmp_path: Path) -> list[dict[str, Any]]:
    (tmp_path / "c.json").write_text(json.dumps({"schema": SCHEMA, "rules": RULES, "input": ["n"]}))
    made = [
        {"unit_id": f"u{n}", "input": {"n": n}, "raw_response": REPLIES[n % len(REPLIES)], "retry_count": n % 3}
        for n in range(3 * len(REPLIES))
    ]
    (tmp_path / "u.jsonl").write_text(lines(*made))
    return made


def sift(folder: Path, *args: str) -> int:
    command = [*COMMAND, "sift", "u.jsonl", "-c", "c.json", "--progress", "none", *args]
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode


def without_place(record: dict[str, Any]) -> dict[str, Any]:
    """A record without its place: a row of a dataset is not a line of a file."""
    return {name: value for name, value in record.items() if name != "place"}


def test_ray_data_gives_the_records_of_a_sift(tmp_path: Path, units: list[dict[str, Any]]) -> None:
    assert sift(tmp_path, "-o", "out", "-w", "1") == 1
    expected = {
        row["unit_id"]: (name == "validated", without_place(row))
        for name in ("validated", "failures")
        for row in rows(tmp_path / f"out/{name}.jsonl")
    }
    assert {row.get("failure_stage") for _, row in expected.values()} == {
        None,
        "parse",
        "schema_validation",
        "validation",
    }
    assert any(row["fixes"] for valid, row in expected.values() if valid)
    assert any(row["fixes"] for valid, row in expected.values() if not valid)
    assert any(row.get("warnings") for _, row in expected.values())
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, **_environment(""), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "program.py", "u.jsonl"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    judged = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("judged ")]
    assert len(judged) == len(units)
    assert {uid: (valid, without_place(record)) for uid, valid, record in judged} == expected


def test_the_ray_engine_writes_the_same_bytes(tmp_path: Path, units: list[dict[str, Any]]) -> None:
    bad = b'[1]\nnull\nnot json\n{"unit_id": "x", "raw_response": "\xff"}\n'
    bad += lines(units[0]).encode() + b'{"unit_id": "long", "raw_response": "' + b"x" * (9 << 20) + b'"}\n'
    with (tmp_path / "u.jsonl").open("ab") as file:
        file.write(bad)
    assert sift(tmp_path, "-o", "local", "-w", "2") == 1
    assert sift(tmp_path, "-o", "ray", "--engine", "ray", "-w", "2") == 1
    for name in ("validated.jsonl", "failures.jsonl"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    codes = [row["errors"][0]["code"] for row in rows(tmp_path / "ray/failures.jsonl")][-6:]
    assert codes == ["U002", "U002", "U001", "U001", "U003", "U004"]
    counts = [json.loads((tmp_path / name / "summary.json").read_text())["counts"] for name in ("local", "ray")]
    assert counts[0] == counts[1]
    assert counts[0]["valid"] + counts[0]["failed"] == counts[0]["lines"] == len(units) + 6
