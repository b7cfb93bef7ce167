"""Judge a file of lines as a Ray Dataset in some formats of batches, and print the records of each as one line of JSON."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import ray
import ray.data

from trueup.batch.engines.driver_process import _leave_out
from trueup.batch.engines.ray import Sift


def main(file: str, contract: str, actors: str, *formats: str) -> None:
    logging.disable(logging.WARNING)
    _leave_out()
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    dataset = ray.data.from_items(rows, override_num_blocks=4)
    records = {}
    for name in formats:
        options: dict[str, Any] = {"batch_size": 7, "batch_format": name, "fn_constructor_args": (contract,)}
        judged = dataset.map_batches(Sift, concurrency=int(actors), **options).take_all()
        records[name] = {row["unit_id"]: [bool(row["valid"]), row["record"]] for row in judged}
        assert len(records[name]) == len(rows)
    print("\n" + json.dumps(records))


if __name__ == "__main__":
    main(*sys.argv[1:])
