"""Configuration: both pipelines lint as they are, and each of the six checks of the document finds its fault."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.octobatch.reading import change
from tests.cli.running import Run


def lint(run: Run, pipeline: str) -> str:
    ran = run("lint", pipeline)
    assert ran.code == 1, ran.out
    return ran.out


@pytest.mark.spec("B15")
def test_the_pipelines_are_taken_unchanged(run: Run, folder: Path) -> None:
    # 'wounds' is in no schema: the condition of its rule asks for it with dir(), so that is not a fault
    ran = run("lint", "tarot", "npc")
    assert (ran.code, ran.out) == (0, "✓ 2 files: nothing wrong\n")


CONFIG, SCHEMA, TEMPLATE = "npc/config.yaml", "npc/schemas/score.json", "npc/templates/score.jinja2"


class Fault(NamedTuple):
    """A change that causes a fault: in `file`, `old` becomes `new`; the fault is found in `there`, where `at` begins."""

    file: str
    old: str
    new: str
    code: str
    at: str
    there: str = CONFIG
    level: str = "error"


def section(name: str) -> Fault:
    """A missing section has no place: it is reported at the start of the file."""
    return Fault(CONFIG, f"\n{name}:", f"\nx_{name}:", "N030", "# A second model")


RULE = "personality_consistency >= 0.6"
FAULTS = {
    # required sections
    **{f"no-{name}": section(name) for name in ("pipeline", "prompts", "schemas", "api", "processing")},
    # the four-point link, in both directions
    "step-without-template": Fault(CONFIG, "templates: {score: score.jinja2}", "templates: {}", "N031", "score\n"),
    "step-without-schema": Fault(CONFIG, "files: {score: score.json}", "files: {}", "N031", "score\n"),
    "step-without-validation": Fault(CONFIG, "validation:\n  score:", "validation:\n  skore:", "N031", "score\n"),
    "template-without-step": Fault(CONFIG, "{score: score.jinja2}", "{score: score.jinja2, skore: score.jinja2}", "N031", "skore"),
    "schema-without-step": Fault(CONFIG, "{score: score.json}", "{score: score.json, skore: score.json}", "N031", "skore"),
    "validation-without-step": Fault(CONFIG, "validation:\n", "validation:\n  skore: {}\n", "N031", "skore"),
    # templates exist and parse
    "no-such-template": Fault(CONFIG, "{score: score.jinja2}", "{score: skore.jinja2}", "N032", "skore.jinja2"),
    "template-that-does-not-parse": Fault(TEMPLATE, "{{ mood }}", "\n{% if mood %}", "N032", "{% if mood", TEMPLATE),
    "template-with-an-unknown-name": Fault(TEMPLATE, "{{ mood }}", "{{ moood }}", "N037", "moood", TEMPLATE),
    # schemas are valid
    "no-such-schema": Fault(CONFIG, "{score: score.json}", "{score: skore.json}", "N007", "skore.json"),
    "schema-that-is-not-json": Fault(SCHEMA, '"score": {"type": "number"},', '"score": {"type" "number"},', "N002", '"number"},\n    "probability"', SCHEMA),
    "schema-with-an-unknown-type": Fault(SCHEMA, '"score": {"type": "number"}', '"score": {"type": "nummer"}', "N007", '"nummer"', SCHEMA),
    # expressions parse and run on mock data
    "expression-that-does-not-parse": Fault(CONFIG, RULE, "personality_consistency >=", "N012", "\"\n        error: \"Personality"),
    "expression-that-does-not-run": Fault(CONFIG, RULE, "personality_consistency[0] > 1", "N039", "personality_consistency[0]", level="warning"),
    "condition-that-does-not-parse": Fault(CONFIG, "'wounds' in dir() and", "'wounds' in dir( and", "N012", "and 'wound"),
    # rule names are unique
    "rule-of-the-same-name": Fault(CONFIG, "name: mood_warning", "name: personality_threshold", "N011", "personality_threshold\n        expr: \"mood"),
    # names of fields that no schema has
    "unknown-field-in-a-rule": Fault(CONFIG, RULE, "personality_konsistency >= 0.6", "N013", "personality_konsistency", level="warning"),
    "unknown-required-field": Fault(CONFIG, "required: [personality_consistency, tone]", "required: [personality_consistency, tune]", "N013", "tune", level="warning"),
    "unknown-field-in-types": Fault(CONFIG, "reasoning: string", "raisoning: string", "N013", "raisoning", level="warning"),
    "unknown-field-in-ranges": Fault(CONFIG, "probability: [0.0", "probabilty: [0.0", "N013", "probabilty", level="warning"),
    "unknown-field-in-enums": Fault(CONFIG, "      tone: [warm", "      tune: [warm", "N013", "tune", level="warning"),
    "unknown-field-in-a-message": Fault(CONFIG, "{mood_responsiveness}", "{mood_responsivness}", "N013", "{mood_responsivness", level="warning"),
}  # fmt: skip


@pytest.mark.spec("B15")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_every_fault_has_its_file_line_and_column(run: Run, folder: Path, fault: Fault) -> None:
    file = folder / fault.file
    text = file.read_text("utf-8")
    assert text.count(fault.old) >= 1
    file.write_text(text.replace(fault.old, fault.new, 1), "utf-8")
    there = (folder / fault.there).read_text("utf-8")
    assert there.count(fault.at) >= 1
    before = there[: there.index(fault.at)]
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    ran = run("lint", "npc", "--json")
    faults = json.loads(ran.out)["faults"]
    found = [(row["file"], row["line"], row["column"]) for row in faults if (row["code"], row["level"]) == (fault.code, fault.level)]  # fmt: skip
    assert (fault.there, *place) in found, faults
    assert all(row["file"] and row["line"] >= 1 and row["column"] >= 1 and row["message"] for row in faults)
    assert ran.code == (1 if any(row["level"] == "error" for row in faults) else 0)
    line = f"{fault.there}:{place[0]}:{place[1]}: {fault.level}[{fault.code}] "
    assert any(said.startswith(line) for said in run("lint", "npc").out.splitlines())
    assert run("lint", "npc", "--strict").code == 1
    if fault.level == "error":
        ran = run("run", "npc", "--run-dir", "run")
        assert (ran.code, (folder / "run").exists()) == (2, False), "nothing runs"
        assert f"{fault.there}:{place[0]}:{place[1]}" in ran.err
        assert run("init", "npc", "--run-dir", "run").code == 2


@pytest.mark.spec("B15")
@pytest.mark.parametrize("link", [("prompts", "templates"), ("schemas", "files"), ("validation",)], ids=".".join)
def test_a_step_that_asks_has_four_links(run: Run, folder: Path, link: tuple[str, ...]) -> None:
    config = folder / "npc/config.yaml"
    change(config, *link, to={"skore": {} if link == ("validation",) else "score.json"})
    said = lint(run, "npc")
    assert f"step 'score' has no entry in {'.'.join(link)}. Did you mean 'skore'?" in said
    assert f"{'.'.join(link)} names step 'skore', which does not exist" in said


EXEMPT: dict[str, dict[str, Any]] = {
    "expression": {"scope": "expression", "expressions": {"x": "2 * score"}},
    "fan_out": {"scope": "fan_out", "field": "items", "child_field": "item"},
    "run": {"scope": "run", "script": "more.py"},
}


@pytest.mark.spec("B15")
@pytest.mark.parametrize("scope", EXEMPT)
def test_steps_that_ask_nobody_are_exempt_from_the_link(run: Run, folder: Path, scope: str) -> None:
    (folder / "npc/more.py").write_text("import sys\nsys.stdout.write(sys.stdin.read())\n")
    change(folder / "npc/config.yaml", "pipeline", "steps", to=[{"name": "score"}, {"name": "more", **EXEMPT[scope]}])
    assert run("lint", "npc").out == "✓ 1 file: nothing wrong\n"
    change(folder / "npc/config.yaml", "pipeline", "steps", to=[{"name": "score"}, {"name": "more"}])
    assert lint(run, "npc").count("step 'more' has no entry in ") == 3, "one that asks is not"


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
        (("pipeline", "steps"), [{"name": "score"}, {"name": "x", "scope": "expression", "expressions": {"a": "[1][2]"}}], "warning[N039]"),
        (("validation", "score", "rules", 0, "expr"), "personality_consistency >=", "N012"),
        (("validation", "score", "rules", 2, "when"), "'wounds' in", "N012"),
        (("pipeline", "steps"), [{"name": "score", "coerce": {"enum_prefix": ["x"]}}], "Did you mean 'enum_prefixes'?"),
        (("pipeline", "steps"), [{"name": "score", "coerce": "eagre"}], "coerce must be off, standard, eager"),
        (("pipeline", "steps"), [{"name": "score", "accept": "all"}], "accept must be one of none, lossless, guess, lossy"),
    ],
    ids=["template", "schema", "expression", "mock", "rule", "when", "coerce-key", "coerce-profile", "accept"],
)  # fmt: skip
def test_faults_are_found_before_anything_runs(
    run: Run, folder: Path, path: tuple[str | int, ...], to: Any, said: str
) -> None:
    change(folder / "npc/config.yaml", *path, to=to)
    ran = run("lint", "npc", "--strict")
    assert ran.code == 1
    assert said in ran.out


def test_a_schema_that_does_not_parse_is_found(run: Run, folder: Path) -> None:
    (folder / "npc/schemas/score.json").write_text('{"type": "object",')
    assert "N002" in lint(run, "npc")


def test_a_guard_counts_only_for_its_own_rule(run: Run, folder: Path) -> None:
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


def test_coerced_values_of_a_step_are_read(run: Run, folder: Path) -> None:
    step = {"name": "score", "coerce": {"enum_prefixes": ["very "]}, "accept": "lossless", "strict": True}
    change(folder / "npc/config.yaml", "pipeline", "steps", to=[step])
    assert run("lint", "npc").out == "✓ 1 file: nothing wrong\n"
