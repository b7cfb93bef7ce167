"""The tuner with planted faults: it finds them with the right kind and place, and gives almost no false advice."""

from collections import Counter
from pathlib import Path

from tests.effort import SOAK
from tests.tuning.planting import Planted, World, make
from trueup.tuning.tune import Suggestion, Tuning, tune

SEEDS = 200 if SOAK else 18
CLEAN = 200 if SOAK else 8


def tuned(world: World, folder: Path) -> Tuning:
    file = folder / "contract.yaml"
    file.write_text(world.text)
    return tune(file, world.cases, backtest=False)


def is_found(planted: Planted, suggestion: Suggestion) -> bool:
    """Whether a suggestion is the right kind of change in the right place."""
    proposal = suggestion.proposal
    if proposal.kind != planted.kind or proposal.at[: len(planted.at)] != planted.at:
        return False
    if planted.kind == "threshold":  # at least half of the way to the correct value
        return abs(proposal.facts["to"] - planted.right) <= abs(planted.wrong - planted.right) / 2
    if planted.kind == "alias":
        return bool(proposal.facts["values"].get(planted.wrong) == planted.right)
    if planted.kind == "misfire" and isinstance(planted.right, str):  # the needlessly required key
        return repr(planted.right) in proposal.title
    return True


def test_planted_faults_are_found_and_nothing_else(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    missed: list[str] = []
    false: list[str] = []
    advice = 0
    for seed in range(SEEDS):
        world = make(seed)
        suggestions = tuned(world, tmp_path).suggestions
        used: set[int] = set()
        for planted in world.planted:
            hit = next((s for s in suggestions if s.number not in used and is_found(planted, s)), None)
            if hit is None:
                missed.append(f"{seed}: {planted}")
            else:
                used.add(hit.number)
                found[planted.kind] += 1
        advice += len(suggestions)
        false += [f"{seed}: {s.proposal.title}" for s in suggestions if s.number not in used]
        assert not [s.refusal for s in suggestions if s.refusal], "every suggestion has a diff"
    planted_in_all = found.total() + len(missed)
    assert set(found) == {"dead", "misfire", "threshold", "alias", "coercion"}
    assert len(missed) <= 0.05 * planted_in_all, missed
    assert len(false) <= 0.05 * advice, false


def test_a_contract_without_faults_gets_no_advice(tmp_path: Path) -> None:
    advised = [seed for seed in range(CLEAN) if tuned(make(seed, faults=0), tmp_path).suggestions]
    assert len(advised) <= 0.05 * CLEAN, advised


def test_the_same_world_gives_the_same_advice(tmp_path: Path) -> None:
    first, second = (tuned(make(3), tmp_path).suggestions for _ in range(2))
    assert [(s.proposal.title, s.p, s.diff) for s in first] == [(s.proposal.title, s.p, s.diff) for s in second]
