"""The coercion table, row by row, each as a filter and in a run; other values fail phase 1."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, change, lines, log_of, rows
from tests.cli.running import Run

CARD = {"enum": ["The Fool", "The Magician"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"}, "f": {"type": "number"}, "b": {"type": "boolean"}, "xs": {"type": "array"},
        "words": {"type": "array", "items": {"type": "string"}}, "card": CARD, "cards": {"type": "array", "items": CARD},
        "deep": {"$ref": "#/$defs/deep"},
    },
    "$defs": {"deep": {"type": "object", "properties": {"n": {"$ref": "#/$defs/whole"}}}, "whole": {"type": "integer"}},
}  # fmt: skip
TABLE: list[tuple[str, Any, Any, str]] = [
    ("n", "5", 5, '[COERCE] n: "5" → 5 (string → int)'),
    ("f", "3.14", 3.14, '[COERCE] f: "3.14" → 3.14 (string → number)'),
    ("b", "true", True, '[COERCE] b: "true" → true (string → bool)'),
    ("b", "false", False, '[COERCE] b: "false" → false (string → bool)'),
    ("n", 5.0, 5, "[COERCE] n: 5.0 → 5 (number → int)"),
    ("xs", "[1,2,3]", [1, 2, 3], '[COERCE] xs: "[1,2,3]" → [1,2,3] (string → array)'),
    ("words", "foo", ["foo"], '[COERCE] words: "foo" → ["foo"] (string → array)'),
    ("card", "shadow The Fool", "The Fool", '[COERCE] card: "shadow The Fool" → "The Fool" (string → string)'),
    ("card", "the fool", "The Fool", '[COERCE] card: "the fool" → "The Fool" (string → string)'),
    ("cards", "The Fool | The Magician", ["The Fool", "The Magician"],
     '[COERCE] cards: "The Fool | The Magician" → ["The Fool","The Magician"] (string → array)'),
    ("cards", ["shadow the fool"], ["The Fool"], '[COERCE] cards[0]: "shadow the fool" → "The Fool" (string → string)'),
    ("deep", {"n": "7"}, {"n": 7}, '[COERCE] deep.n: "7" → 7 (string → int)'),
    # further values of the same kinds
    ("n", "-7", -7, '[COERCE] n: "-7" → -7 (string → int)'),
    ("f", "0.5", 0.5, '[COERCE] f: "0.5" → 0.5 (string → number)'),
    ("b", "True", True, '[COERCE] b: "True" → true (string → bool)'),
    ("words", '["a","b"]', ["a", "b"], '[COERCE] words: "[\\"a\\",\\"b\\"]" → ["a","b"] (string → array)'),
    ("words", "rojo", ["rojo"], '[COERCE] words: "rojo" → ["rojo"] (string → array)'),
    ("card", "Shadow the magician", "The Magician", '[COERCE] card: "Shadow the magician" → "The Magician" (string → string)'),
]  # fmt: skip
STAYS = [
    ("n", "five"),
    ("n", 5.5),
    ("n", "5.5"),
    ("b", "maybe"),
    ("card", "The Tower"),
    ("deep", {"n": "x"}),
    ("f", "high"),
]
SHADOW = ("--enum-prefix", "shadow ", "--enum-delimiter", " | ")


@pytest.mark.spec("B3", "B4")
def test_the_filter_coerces_every_row_of_the_table_and_logs_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    units = [{"unit_id": str(i), "kept": i, field: given} for i, (field, given, _, _) in enumerate(TABLE)]
    ran = run("schema", "s.json", *SHADOW, "--log", "log.txt", stdin=lines(*units))
    assert (ran.code, ran.err) == (0, "")
    found = rows(ran.out)
    changed = [row.pop("_trueup") for row in found]
    assert found == [{"unit_id": str(i), "kept": i, field: gives} for i, (field, _, gives, _) in enumerate(TABLE)]
    assert [json.loads(trace["raw_response"]) for trace in changed] == units, "the unit as it was given goes along"
    assert (tmp_path / "log.txt").read_text("utf-8").splitlines() == [said for *_, said in TABLE]


def test_values_that_cannot_be_coerced_fail_the_schema(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    units = [{"unit_id": str(i), field: given} for i, (field, given) in enumerate(STAYS)]
    ran = run("schema", "s.json", *SHADOW, stdin=lines(*units))
    assert (ran.code, ran.out) == (1, "")
    assert [record["failure_stage"] for record in rows(ran.err)] == ["schema_validation"] * len(STAYS)


def test_without_the_options_no_prefix_means_anything(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    unit = lines({"unit_id": "a", "card": "shadow The Fool"})
    assert run("schema", "s.json", stdin=unit).code == 1
    assert run("schema", "s.json", *SHADOW[:2], stdin=unit).code == 0


@pytest.mark.spec("B4", "B5")
def test_the_tarot_pipeline_runs_unchanged_and_records_every_coercion(run: Run, folder: Path) -> None:
    assert run("run", "tarot", "--run-dir", "run").code == 1  # two of its units fail on purpose
    unit = by_id(folder / "run/validated.jsonl")["the_fool-the_magician-the_priestess"]
    assert (unit["main_card"], unit["cards"], unit["story_count"], unit["score"]) == (
        "The Fool", ["The Fool", "The Magician"], 4, 7.5
    )  # fmt: skip
    assert unit["mood"] == {"dark": True, "weight": 5}
    fixes = unit["_metadata"]["tell"]["fixes"]
    assert [(fix["code"], fix["path"], fix["before"], fix["after"]) for fix in fixes] == [
        ("C015", "$.main_card", '"shadow the fool"', '"The Fool"'),
        ("C015", "$.cards", '"The Fool | shadow The Magician"', '["The Fool","The Magician"]'),
        ("C001", "$.story_count", '"4"', "4"),
        ("C002", "$.score", '"7.5"', "7.5"),
        ("C003", "$.mood.dark", '"true"', "true"),
        ("C004", "$.mood.weight", "5.0", "5"),
    ]
    said = 'chunk_000 tell the_fool-the_magician-the_priestess: [COERCE] story_count: "4" → 4 (string → int)'
    assert said in log_of(folder / "run")


def test_a_step_can_say_how_its_enums_are_read(run: Run, folder: Path) -> None:
    step = {"name": "tell", "coerce": {"enum_prefixes": [], "enum_delimiters": []}}
    change(folder / "tarot/config.yaml", "pipeline", "steps", to=[step])
    run("run", "tarot", "--run-dir", "run")
    assert "the_fool-the_magician-the_priestess" in by_id(folder / "run/failures.jsonl")


# Phase 1 after coercion: the rest of the document's list.
@pytest.mark.spec("B3", "B10")
@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"required": ["a"]}, {}, ("V002", "$.a", "missing")),
        ({"properties": {"a": {"type": "number"}}}, {"a": "high"}, ("V001", "$.a", "wrong-type")),
        ({"properties": {"a": {"enum": ["x"]}}}, {"a": "y"}, ("V005", "$.a", "not-in-enum")),
        ({"properties": {"a": {"type": "array", "minItems": 2}}}, {"a": [1]}, ("V007", "$.a", "minItems")),
        ({"properties": {"a": {"type": "array", "maxItems": 2}}}, {"a": [1, 2, 3]}, ("V007", "$.a", "maxItems")),
        ({"properties": {"a": {"minimum": 1, "maximum": 10}}}, {"a": 0}, ("V004", "$.a", "minimum")),
        ({"properties": {"a": {"minimum": 1, "maximum": 10}}}, {"a": 11}, ("V004", "$.a", "maximum")),
        # words of draft 2020-12
        ({"properties": {"a": {"prefixItems": [{"const": 1}], "items": False}}}, {"a": [1, 2]}, ("V011", "$.a[1]", "false")),
        ({"dependentRequired": {"b": ["a"]}}, {"b": 1}, ("V002", "$.a", "missing")),
    ],
)  # fmt: skip
def test_faults_of_the_structure_are_reported(
    run: Run, tmp_path: Path, schema: dict[str, Any], value: dict[str, Any], said: tuple[str, str, str]
) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"type": "object", **schema}))
    ran = run("schema", "s.json", stdin=lines({"unit_id": "u", **value}))
    (record,) = rows(ran.err)
    assert record["failure_stage"] == "schema_validation"
    (error,) = record["errors"]
    assert (error["code"], error["path"], error["rule"]) == said
    assert error["message"]
