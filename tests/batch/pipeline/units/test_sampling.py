"""Samples of a pipeline's units: of the requested size, the same for the same seed, in proportion if a field is named."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import GOOD, asking, reply, start, write_pipeline
from tests.cli.running import Run
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.units.sampling import BadSample, sampled


def units(number: int, kinds: str = "a") -> list[dict[str, Any]]:
    return [{"unit_id": f"u{n}", "kind": kinds[n % len(kinds)], "about": {"size": n % 2}} for n in range(number)]


def ids(found: Any) -> list[str]:
    return [unit["unit_id"] for unit in found]


@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 5))
def test_a_sample_has_the_requested_size_and_keeps_the_order(number: int, size: int, seed: int) -> None:
    rows = units(number)
    found = ids(sampled(lambda: rows, size, seed=seed))
    assert len(found) == min(number, size)
    assert found == sorted(set(found), key=lambda each: int(each[1:]))
    assert found == ids(sampled(lambda: iter(rows), size, seed=seed))


def test_every_unit_is_as_likely_as_any_other() -> None:
    rows = units(20)
    taken = Counter(each for seed in range(2000) for each in ids(sampled(lambda: rows, 5, seed=seed)))
    assert len(taken) == 20
    assert all(400 < number < 600 for number in taken.values()), taken  # 500 each, within five standard deviations


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=80), st.integers(1, 90))
def test_a_stratified_sample_contains_every_value_in_proportion(kinds: list[str], size: int) -> None:
    rows = [{"unit_id": f"u{n}", "kind": kind} for n, kind in enumerate(kinds)]
    counts = Counter(kinds)
    if len(counts) > size:
        with pytest.raises(BadSample, match="take at least"):
            sampled(lambda: rows, size, by="kind")
        return
    found = Counter(unit["kind"] for unit in sampled(lambda: rows, size, by="kind"))
    assert found.total() == min(size, len(rows))
    assert found.keys() == counts.keys()
    if size < len(rows):
        rest = (size - len(counts)) / (len(rows) - len(counts))
        assert all(abs(found[kind] - 1 - (number - 1) * rest) < 1 for kind, number in counts.items())


def test_a_field_may_be_nested_and_must_exist() -> None:
    rows = units(10)
    assert Counter(unit["about"]["size"] for unit in sampled(lambda: rows, 4, by="about.size")) == {0: 2, 1: 2}
    with pytest.raises(BadSample, match="to sample by"):
        sampled(lambda: rows, 4, by="about.weight")


@pytest.mark.spec("B16")
def test_the_units_of_a_sample_keep_the_ids_of_the_full_run(tmp_path: Path) -> None:
    items = [{"id": f"i{n}", "kind": "rare" if n == 31 else "common"} for n in range(40)]
    folder = write_pipeline(tmp_path / "pipeline", [asking("ask")], items, reply("ask", "i1", GOOD))
    whole = {unit["unit_id"]: unit for unit in _units(start(folder, tmp_path / "whole"))}
    few = _units(start(folder, tmp_path / "few", sample=5, by="kind", seed=3))
    assert len(few) == 5
    assert all(whole[unit["unit_id"]] == unit for unit in few)
    assert "i31" in ids(few)
    assert ids(_units(start(folder, tmp_path / "again", sample=5, by="kind", seed=3))) == ids(few)
    assert ids(_units(start(folder, tmp_path / "other", sample=5, by="kind", seed=4))) != ids(few)


def _units(path: Path) -> list[dict[str, Any]]:
    run = RunDir.look(path)
    return [unit for chunk in run.state.chunks.values() for unit in run.units(chunk, 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "kind"], "--by says how to choose a sample; give --sample N too"),
        (["--seed", "1"], "--seed says how to choose a sample; give --sample N too"),
        (["--sample", "2", "--by", "nothing"], "has no field 'nothing' to sample by"),
        (["--sample", "1", "--by", "kind"], "'kind' has 2 values; a sample of 1 cannot hold one unit of each: take at least 2"),
        (["--sample", "0"], "--sample"),
    ],
)  # fmt: skip
def test_a_sample_that_cannot_be_taken_is_a_clear_error(
    run: Run, tmp_path: Path, options: list[str], message: str
) -> None:
    items = [{"id": "x", "kind": "a"}, {"id": "y", "kind": "b"}]
    write_pipeline(tmp_path / "pipeline", [asking("ask")], items, reply("ask", "x", GOOD))
    ran = run("init", "pipeline", "--run-dir", "made", *options)
    assert ran.code == 2
    assert message in ran.err
    assert "the pipeline has" not in ran.err, "the command is wrong, not the pipeline"
    assert not (tmp_path / "made").exists()
