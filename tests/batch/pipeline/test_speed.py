"""The orchestration is cheap: what a unit and a step cost beside the model, and that memory does not grow with the units."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench" / "pipelines.py"


def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_pipelines", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.perf
def test_a_unit_and_step_take_less_than_150_microseconds() -> None:
    room = bench()
    found = [room.measure(2000) for _ in range(3)]
    assert min(each["cpu_us"] for each in found) < room.LIMIT
    assert found[0]["memory_most_mb"] - found[0]["memory_mb"] < 40
