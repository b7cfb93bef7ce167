"""Ray Data: `map_batches` with `Sift` gives the records of a sift, for every format of batches."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.batch.engines.nodes import ROOT
from tests.batch.sifting import SCHEMA, run_files, unit, write
from tests.effort import SOAK
from trueup.batch.engines.ray import _environment

pytest.importorskip("ray.data")
FORMATS = ("pyarrow", "pandas", "numpy", *(["default"] if SOAK else []))
REPLIES = ['{"name": "Ada", "age": 36}', "Sorry.", '```\n{"name": "Bo", "age": "7",}\n```', '{"name": 1}']


@pytest.mark.spec("B22")
def test_a_dataset_gets_the_records_of_a_sift_in_every_batch_format(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit(f"u{n}", REPLIES[n % 4]) for n in range(40)])
    contract = tmp_path / "contract.json"
    contract.write_text(json.dumps({"schema": SCHEMA}))
    ran = run_files(tmp_path, [str(file)], str(contract))
    expected = {
        row["unit_id"]: (valid, without_place(row))
        for valid, rows in ((True, ran.valid), (False, ran.failed))
        for row in rows
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.batch.engines.map_batches", str(file), str(contract), "2" if SOAK else "1", *FORMATS],
        cwd=ROOT, env={**os.environ, **_environment("")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    judged = json.loads(done.stdout.splitlines()[-1])
    assert set(judged) == set(FORMATS)
    for name, records in judged.items():
        assert {
            uid: (valid, without_place(json.loads(record))) for uid, (valid, record) in records.items()
        } == expected, name


def without_place(record: dict[str, Any]) -> dict[str, Any]:
    """A record without its place: a row of a dataset is not a line of a file."""
    return {name: value for name, value in record.items() if name != "place"}
