"""Grounding meets its targets on a few hundred documents of the bench's material, and the material is consistent."""

import sys
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = 300
BAR = 0.97


@pytest.fixture(scope="module")
def bench(root: Path) -> Any:
    sys.path.insert(0, str(root / "bench"))
    import grounding

    yield grounding
    sys.path.remove(str(root / "bench"))
    for name in [name for name in sys.modules if name.startswith("grounding")]:
        sys.modules.pop(name)


@pytest.fixture(scope="module")
def run(bench: Any) -> Any:
    from grounding_records import HALVES, LANGUAGES
    from grounding_run import Engine, all_cases, judge

    tally = bench.Tally()
    for _, outcome in judge(all_cases(1, DOCUMENTS, LANGUAGES, HALVES), Engine()):
        tally.add(outcome)
    return tally


def test_true_values_are_grounded(run: Any) -> None:
    assert run.true["all", "all"].share >= BAR


def test_false_values_are_flagged(run: Any) -> None:
    assert run.false["all", "all"].share >= BAR


def test_booleans_are_not_flagged(run: Any) -> None:
    assert set(run.flags) == {"not checkable"}


def test_the_material_is_the_same_every_time(bench: Any) -> None:
    from grounding_run import all_cases

    def drawn() -> list[Any]:
        return [
            (one.kind, one.false, one.value, one.document.source) for one in all_cases(5, 20, ["en", "ja"], ["dev"])
        ]

    assert drawn() == drawn()


def test_the_halves_share_no_word_and_no_template(bench: Any) -> None:
    from grounding_records import DOMAINS, LANGUAGES, read

    for language in LANGUAGES:
        sections = read(language)
        names = [(f"{name} dev", f"{name} held") for name in ("words", "quotes", "labels", "misc", "ask")]
        names += [(f"dev {domain}", f"held {domain}") for domain in DOMAINS]
        for dev, held in names:
            assert set(sections[dev]) == set(sections[held]), (language, dev)
            for key, texts in sections[dev].items():
                assert not set(texts) & set(sections[held][key]), (language, dev, key)


def test_every_leaf_is_said_exactly_once(bench: Any) -> None:
    from grounding_records import HALVES, LANGUAGES
    from grounding_run import corpus

    for document, _ in corpus(2, 140, LANGUAGES, HALVES):
        for leaf in document.leaves:
            assert len(leaf.said) == (leaf.kind != "flag"), (document.name, leaf.path)
