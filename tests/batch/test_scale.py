"""The model of docs/scale.md: its tables follow from the stored parameters, and a simulation of small runs agrees with it."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from trueup.batch.merging import duplicates

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("scale", "scale_model", "scale_simulation", "sift_ways", "tree", "cases")


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """The script, with the folder of its modules on the path."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        yield importlib.import_module("scale")
    finally:
        sys.path.remove(str(ROOT / "bench"))
        for name in MODULES:
            sys.modules.pop(name, None)


def test_the_tables_of_the_page_follow_from_the_stored_parameters(bench: ModuleType) -> None:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    stored = json.loads((ROOT / "bench" / "data" / "scale.json").read_text("utf-8"))
    for name, text in bench.sections(stored):
        assert bench.written(page, name, text) == page, (
            f"python bench/scale.py --no-measure --markdown docs/scale.md: {name}"
        )


@pytest.mark.parametrize("replies", [40_000, 1_000_000])
def test_a_simulated_run_takes_as_long_as_the_model_says(bench: ModuleType, replies: int) -> None:
    parameters = bench.model.read_parameters()
    for setup in bench.model.SETUPS:
        said = bench.model.predict(parameters, replies, setup)
        ran = bench.simulate(parameters, replies, setup)
        assert ran.wall == pytest.approx(said.wall, rel=0.1), setup.name
        assert bench.simulate(parameters, replies, setup) == ran  # the same seed, the same run


def test_lost_nodes_cost_time_and_lose_no_range(bench: ModuleType) -> None:
    model = bench.model
    # judging takes long compared to everything else, so that nodes die while they judge
    parameters = model.read_parameters()._replace(clean=0.01, courier=0.0, driver=0.0, ray_byte=0.0)
    setup = model.Setup("a small cluster", 4, 4, 1e12, 1e12)
    calm = bench.simulate(parameters, 1_000_000, setup)
    rough = [bench.simulate(parameters, 1_000_000, setup, hours=0.1, seed=seed) for seed in range(5)]
    assert all(ran.deaths and ran.again for ran in rough)
    assert all(ran.wall > calm.wall for ran in rough)


def test_the_bottleneck_moves_from_judging_to_the_steps_of_one_process(bench: ModuleType) -> None:
    model = bench.model
    parameters = model.read_parameters()
    laptop, server = model.SETUPS[:2]
    assert model.predict(parameters, 10**6, laptop._replace(cores=2)).holds_up == "judging"
    assert model.predict(parameters, 10**9, server).holds_up == "merging"


def test_the_first_limit_on_the_page_follows_from_the_model(bench: ModuleType) -> None:
    """Each sentence of "What breaks first" that compares figures, in the order of the page."""
    model = bench.model
    p = model.read_parameters()
    laptop, server, ten, hundred = ({n: model.predict(p, 10**n, setup) for n in range(6, 10)} for setup in model.SETUPS)
    assert ten[6].wall > laptop[6].wall
    assert laptop[9].judging == pytest.approx(laptop[9].wall / 3, rel=0.15)
    assert laptop[9].merging == pytest.approx(laptop[9].wall / 2, rel=0.1)
    assert server[7].holds_up == "merging"
    disk = {name: 2 * 10**9 * p.part / setup.disk for name, setup in zip("ls", model.SETUPS, strict=False)}
    assert (laptop[9].merging, server[9].merging) == (disk["l"], disk["s"]), "both merge as fast as their disk"
    for n in range(7, 10):
        assert hundred[n].wall == pytest.approx(ten[n].wall, rel=0.01)
        assert ten[n].wall > server[n].wall
    for n in (8, 9):
        stages = server[n]
        assert stages.merging > stages.comparing > stages.first
        assert ten[n].holds_up == "driver"
        assert ten[n].driver > ten[n].merging > ten[n].judging
    assert server[9].comparing / server[8].comparing == pytest.approx(15, rel=0.05)
    assert server[9].wall < 3600
    for setup in model.SETUPS:
        whole, hour = (model.predict(p, amount, setup).wall for amount in (10**9, 10**9 // 24))
        assert 24 * hour <= whole * 1.01


def test_the_comparison_of_ids_grows_with_their_number(bench: ModuleType) -> None:
    model = bench.model
    parameters, server = model.read_parameters(), model.SETUPS[1]
    day = model.predict(parameters, 10**9, server).comparing
    assert day < 2 * 24 * model.predict(parameters, 10**9 // 24, server).comparing, "split twice instead of once"


def test_the_model_splits_ids_as_the_code_does(bench: ModuleType) -> None:
    model = bench.model
    assert (model.AT_ONCE, model.BUCKETS) == (duplicates.AT_ONCE, duplicates.MOST_BUCKETS)
    assert duplicates._ROW.size == model.BUCKET_ROW
    assert [model.splits_of(amount) for amount in (10**5, 250_000, 250_001, 10**8, 10**9)] == [0, 0, 1, 1, 2]
