"""Configuration: both pipelines lint as they are, and each of the six checks of the document finds its fault."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import change
from tests.cli.running import Run


def lint(run: Run, pipeline: str) -> str:
    ran = run("lint", pipeline)
    assert ran.code == 1, ran.out
    return ran.out


@pytest.mark.spec("B15")
def test_the_pipelines_are_taken_unchanged(run: Run, folder: Path) -> None:
    # 'wounds' is in no schema: the condition of its rule asks for it with dir(), so that is no fault
    ran = run("lint", "tarot", "npc")
    assert (ran.code, ran.out) == (0, "✓ 2 files: nothing wrong\n")


@pytest.mark.spec("B15")
@pytest.mark.parametrize("section", ["pipeline", "prompts", "schemas", "api", "processing"])
def test_every_section_is_needed(run: Run, folder: Path, section: str) -> None:
    change(folder / "npc/config.yaml", section)
    ran = run("lint", "npc")
    assert ran.code == 1
    assert f"'{section}'" in ran.out or "pipeline.steps" in ran.out


@pytest.mark.spec("B15")
@pytest.mark.parametrize("link", [("prompts", "templates"), ("schemas", "files"), ("validation",)], ids=".".join)
def test_a_step_that_asks_has_four_links(run: Run, folder: Path, link: tuple[str, ...]) -> None:
    config = folder / "npc/config.yaml"
    change(config, *link, to={"skore": {} if link == ("validation",) else "score.json"})
    said = lint(run, "npc")
    assert f"step 'score' has no entry in {'.'.join(link)}. Did you mean 'skore'?" in said
    assert f"{'.'.join(link)} names step 'skore', which is not there" in said


def test_an_expression_step_needs_no_links(run: Run, folder: Path) -> None:
    steps = [{"name": "score"}, {"name": "twice", "scope": "expression", "expressions": {"x": "2 * score"}}]
    change(folder / "npc/config.yaml", "pipeline", "steps", to=steps)
    assert run("lint", "npc").code == 0


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("prompts", "templates", "score"), "scor.jinja2", "N032"),  # a template that is not there
        (("schemas", "files", "score"), "scor.json", "N007"),  # a schema that is not there
        (("pipeline", "steps"), [{"name": "score"}, {"name": "x", "scope": "expression", "expressions": {"a": "1 +"}}], "N012"),
        (("pipeline", "steps"), [{"name": "score"}, {"name": "x", "scope": "expression", "expressions": {"a": "[1][2]"}}], "N0"),
        (("validation", "score", "rules", 0, "expr"), "personality_consistency >=", "N012"),
        (("validation", "score", "rules", 2, "when"), "'wounds' in", "N012"),
        (("pipeline", "steps"), [{"name": "score", "coerce": {"enum_prefix": ["x"]}}], "Did you mean 'enum_prefixes'?"),
        (("pipeline", "steps"), [{"name": "score", "coerce": "eagre"}], "coerce is off, standard, eager"),
        (("pipeline", "steps"), [{"name": "score", "accept": "all"}], "accept is one of none, lossless, guess, lossy"),
    ],
    ids=["template", "schema", "expression", "mock", "rule", "when", "coerce-key", "coerce-profile", "accept"],
)  # fmt: skip
def test_faults_are_found_before_anything_runs(
    run: Run, folder: Path, path: tuple[str | int, ...], to: Any, said: str
) -> None:
    change(folder / "npc/config.yaml", *path, to=to)
    assert said in run("lint", "npc").out


def test_a_schema_that_does_not_parse_is_found(run: Run, folder: Path) -> None:
    (folder / "npc/schemas/score.json").write_text('{"type": "object",')
    assert "N002" in lint(run, "npc")


def test_a_guard_counts_for_its_own_rule_alone(run: Run, folder: Path) -> None:
    change(folder / "npc/config.yaml", "validation", "score", "rules", 1, "expr", to="len(wounds) < 9")
    assert "no schema has the field 'wounds'" in run("lint", "npc").out


def test_a_contract_file_may_guard_its_rules_in_the_same_way(run: Run, tmp_path: Path) -> None:
    rule = "{expr: 'wound_count == len(wounds)', error: '{wounds}', when: \"'wounds' in dir()\"}"
    schema = "{type: object, properties: {wound_count: {type: integer}}}"
    (tmp_path / "c.yaml").write_text(f"schema: {schema}\nrules: [{rule}]\n")
    assert run("lint", "c.yaml").out == "✓ 1 file: nothing wrong\n"
    (tmp_path / "c.yaml").write_text(f"schema: {schema}\nrules: [\"'wounds' in dir() and wounds and scars\"]\n")
    said = run("lint", "c.yaml").out
    assert "'scars'" in said
    assert "'wounds'" not in said


def test_what_a_step_coerces_is_read(run: Run, folder: Path) -> None:
    step = {"name": "score", "coerce": {"enum_prefixes": ["very "]}, "accept": "lossless", "strict": True}
    change(folder / "npc/config.yaml", "pipeline", "steps", to=[step])
    assert run("lint", "npc").out == "✓ 1 file: nothing wrong\n"
