"""B16 from its words and the format notes: units, ids and seeds worked out here a second time, steps without a model."""

import hashlib
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.octobatch.reading import rows
from tests.cli.running import Run

pytestmark = pytest.mark.spec("B16")
ITEMS = {"heros": [{"id": "a b"}, {"id": "c/d"}, {"id": "e"}], "spots": [{"id": "x"}, {"id": "y"}]}
WALK = {
    "name": "walk",
    "scope": "expression",
    "init": {"total": "0", "rolls": "[]"},
    "expressions": {"roll": "random.randint(1, 6)", "total": "total + roll", "rolls": "rolls + [roll]"},
    "loop_until": "total >= 10",
    "max_iterations": 50,
}
SCRIPT = """
import pathlib, sys
run = pathlib.Path(sys.argv[1])
seen = [path.relative_to(run).as_posix() for path in sorted(run.rglob("*_validated.jsonl"))]
pathlib.Path(run, "seen.txt").write_text(" ".join(seen))
"""


def make(folder: Path, processing: dict[str, Any], *steps: dict[str, Any]) -> None:
    (folder / "p").mkdir()
    (folder / "p/items.yaml").write_text(yaml.safe_dump(ITEMS))
    (folder / "p/more.py").write_text(SCRIPT)
    config = {
        "pipeline": {"steps": list(steps)},
        "processing": {"chunk_size": 4, "items": {"source": "items.yaml", "name_field": "id"}, **processing},
        "prompts": {"templates": {}},
        "schemas": {"files": {}},
        "api": {"provider": "replay"},
    }
    (folder / "p/config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def ids(folder: Path) -> list[str]:
    return [row["unit_id"] for row in rows(folder / "run/input/units.jsonl")]


def digest(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) & 0x7FFFFFFF


def walked(seed: int) -> list[int]:
    """The rolls that a walk with this seed makes."""
    source, rolls = random.Random(seed), list[int]()
    while sum(rolls) < 10:
        rolls.append(source.randint(1, 6))
    return rolls


HEROS, SPOTS = ("a_b", "c-d", "e"), ("x", "y")
STRATEGIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "cross_product": (
        {"strategy": "cross_product", "positions": [{"name": "hero"}, {"name": "where", "source_key": "spots"}]},
        ["-".join(pair) for pair in itertools.product(HEROS, SPOTS)],
    ),
    "permutation": (
        {"strategy": "permutation", "positions": [{"name": "first"}, {"name": "second"}], "items": {"source": "items.yaml", "key": "heros", "name_field": "id"}},
        ["-".join(pair) for pair in itertools.permutations(HEROS, 2)],
    ),
    "permutation-by-default": (
        {"positions": [{"name": "first"}, {"name": "second"}], "items": {"source": "items.yaml", "key": "heros", "name_field": "id"}},
        ["-".join(pair) for pair in itertools.permutations(HEROS, 2)],
    ),
    "direct": ({"strategy": "direct", "items": {"source": "items.yaml", "key": "heros", "name_field": "id"}}, list(HEROS)),
}  # fmt: skip


@pytest.mark.parametrize(("processing", "wanted"), STRATEGIES.values(), ids=STRATEGIES)
def test_units_and_their_ids(run: Run, tmp_path: Path, processing: dict[str, Any], wanted: list[str]) -> None:
    make(tmp_path, processing, WALK)
    assert run("init", "p", "--run-dir", "run").code == 0
    assert ids(tmp_path) == wanted
    assert run("init", "p", "--run-dir", "few", "--max-units", "2").code == 0
    assert [row["unit_id"] for row in rows(tmp_path / "few/input/units.jsonl")] == wanted[:2]


def test_seeds_follow_the_format(run: Run, tmp_path: Path) -> None:
    make(tmp_path, STRATEGIES["direct"][0], WALK)
    assert run("run", "p", "--run-dir", "run").code == 0
    units = rows(tmp_path / "run/validated.jsonl")
    assert {unit["unit_id"]: unit["rolls"] for unit in units} == {uid: walked(digest(uid + "walk")) for uid in HEROS}
    assert all(unit["total"] == sum(unit["rolls"]) >= 10 for unit in units)


def test_repetitions_have_separate_ids_and_seeds(run: Run, tmp_path: Path) -> None:
    make(tmp_path, {**STRATEGIES["direct"][0], "repeat": 43}, WALK)
    assert run("run", "p", "--run-dir", "run").code == 0
    units = {unit["unit_id"]: unit for unit in rows(tmp_path / "run/validated.jsonl")}
    assert set(units) == {f"{uid}__rep{n:04d}" for uid in HEROS for n in range(43)}
    for uid in HEROS:
        for n in (0, 42):
            unit = units[f"{uid}__rep{n:04d}"]
            assert unit["_repetition_seed"] == digest(uid) + n
            assert unit["rolls"] == walked(digest(uid) + n)


def test_a_fan_out_makes_a_unit_of_each_part(run: Run, tmp_path: Path) -> None:
    out = {"name": "split", "scope": "fan_out", "field": "rolls", "child_field": "die"}
    make(tmp_path, STRATEGIES["direct"][0], WALK, out)
    assert run("run", "p", "--run-dir", "run").code == 0
    found = [
        (unit["unit_id"], unit["_fan_parent_id"], unit["_fan_index"], unit["die"], "rolls" in unit)
        for unit in rows(tmp_path / "run/validated.jsonl")
    ]
    assert sorted(found) == sorted(
        (f"{uid}__fan{n:03d}", uid, n, die, False)
        for uid in HEROS
        for n, die in enumerate(walked(digest(uid + "walk")))
    )
    assert run("verify", "run").code == 0


def test_a_loop_that_does_not_end_fails_its_unit(run: Run, tmp_path: Path) -> None:
    make(
        tmp_path, STRATEGIES["direct"][0], {**WALK, "loop_until": "total >= 10 and unit_id != 'e'", "max_iterations": 7}
    )
    assert run("run", "p", "--run-dir", "run").code == 1
    (failed,) = rows(tmp_path / "run/failures.jsonl")
    assert (failed["unit_id"], failed["failure_stage"]) == ("e", "pipeline_internal")
    assert "7" in failed["errors"][0]["message"]


def test_a_script_is_run_with_the_run_directory(run: Run, tmp_path: Path) -> None:
    make(tmp_path, STRATEGIES["direct"][0], WALK, {"name": "more", "scope": "run", "script": "more.py"})
    assert run("run", "p", "--run-dir", "run").code == 0
    assert (tmp_path / "run/seen.txt").read_text() == "chunks/chunk_000/walk_validated.jsonl"
    assert json.loads(run("status", "run", "--json").out)[0]["status"] == "done"
