"""Lint of pipelines: fields that are gone, ids that collide, values that no schema allows, names in messages and templates, and items."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import asking, start, write_pipeline
from trueup.batch.pipeline.lint.run import check_pipeline, lint_pipeline
from trueup.contract.files.faults import ContractError, Fault

TONE: dict[str, Any] = {
    "type": "object",
    "properties": {"tone": {"enum": ["warm", "cold"]}, "points": {"type": "integer"}, "n": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["tone"],
}  # fmt: skip


def faults_of(folder: Path) -> list[Fault]:
    """The faults, each with its place."""
    faults = list(lint_pipeline(folder))
    assert all(fault.line >= 1 and fault.column >= 1 and fault.file for fault in faults)
    return faults


def fault_lines(folder: Path) -> list[str]:
    return [f"{fault.level} {str(fault).removeprefix(f'{folder.as_posix()}/')}" for fault in faults_of(folder)]


def text_at(fault: Fault) -> str:
    """The text at the place of a fault."""
    return Path(fault.file).read_text("utf-8").splitlines()[fault.line - 1][fault.column - 1 :]


def ruled(folder: Path, rules: Any, schema: Any = None, **more: Any) -> Path:
    """A pipeline of one step with these rules."""
    return write_pipeline(folder, [asking("ask", schema or TONE, rules=rules)], **more)


# -- fields that a fan-out takes -----------------------------------------------------------------


@pytest.mark.spec("B15", "B16")
@pytest.mark.parametrize(
    "later",
    [
        asking("ask", template="All of {{ parts }}."),
        {"name": "count", "scope": "expression", "expressions": {"many": "len(parts)"}},
        asking("ask", rules={"required": ["answer"], "rules": [{"name": "r", "expr": "len(parts) > 0"}]}),
        {"name": "again", "scope": "fan_out", "field": "parts", "child_field": "one"},
    ],
)
def test_a_field_consumed_by_a_fan_out_is_missing_later(tmp_path: Path, later: dict[str, Any]) -> None:
    steps = [{"name": "split", "scope": "fan_out", "field": "parts", "child_field": "part"}, later]
    (fault,) = faults_of(write_pipeline(tmp_path, steps, [{"id": "a", "parts": [1, 2]}]))
    assert "'parts'" in fault.message
    assert fault.hint == "Step 'split' fans it out: each unit has one item of it, as 'part'."
    assert text_at(fault).startswith(("parts", '"parts', '"len(parts'))


@pytest.mark.spec("B15")
def test_the_child_of_a_fan_out_and_a_field_that_is_set_again_are_known(tmp_path: Path) -> None:
    again = {"type": "object", "properties": {"parts": {"type": "array"}}, "required": ["parts"]}
    steps = [
        {"name": "split", "scope": "fan_out", "field": "parts", "child_field": "part"},
        asking("again", again, template="{{ part }}", rules={"required": ["parts"]}),
        asking("ask", template="{{ part }} of {{ parts }}"),
        {"name": "same", "scope": "fan_out", "field": "parts", "child_field": "parts"},
        asking("last", template="{{ parts }}"),
    ]
    assert fault_lines(write_pipeline(tmp_path, steps, [{"id": "a", "parts": [1, 2]}])) == []


# -- providers -----------------------------------------------------------------------------------


@pytest.mark.spec("B15", "B17")
def test_a_provider_by_address_needs_an_address(tmp_path: Path) -> None:
    (fault,) = faults_of(write_pipeline(tmp_path, [asking("ask")], api={"provider": "url"}))
    assert (fault.code, fault.level, text_at(fault)[:5]) == ("N030", "error", '"url"')
    (fault,) = faults_of(write_pipeline(tmp_path, [{**asking("ask"), "provider": "url"}]))
    assert "step 'ask'" in fault.message
    assert (
        fault_lines(
            write_pipeline(tmp_path, [asking("ask")], api={"provider": "url", "base_url": "http://127.0.0.1:1/v1"})
        )
        == []
    )
    (fault,) = faults_of(write_pipeline(tmp_path, [asking("ask")], api={"provider": "url", "base_url": "127.0.0.1:1"}))
    assert (fault.code, text_at(fault)[:10]) == ("N006", '"127.0.0.1')


def test_the_command_line_may_give_the_address(tmp_path: Path) -> None:
    folder = write_pipeline(tmp_path, [asking("ask")], api={"provider": "url"})
    assert [step.name for step in check_pipeline(folder).steps] == ["ask"]


# -- items ---------------------------------------------------------------------------------------


def with_items(folder: Path, name: str, text: str | bytes, **processing: Any) -> Path:
    """A pipeline with a file of items, written unchanged."""
    where = {"items": {"source": name, "name_field": "id"}, **processing}
    write_pipeline(folder, [asking("ask")], processing=where)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.spec("B15", "B16")
@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("items.jsonl", '{"id": "a b"}\n\n{"id": "c"}\n{"id": "a_b"}\n', "items.jsonl:4:1"),
        ("items.yaml", "- {id: a b}\n- {id: c}\n- {id: a_b}\n", "items.yaml:3:3"),
        ("items.json", '[{"id": "a/b"},\n {"id": "c"},\n  {"id": "a-b"}]', "items.json:3:3"),
        ("items.yaml", "cards:\n  - {id: a}\n  - {id: a}\n", "items.yaml:3:5"),
    ],
)
def test_items_with_the_same_id_are_found_before_a_run(tmp_path: Path, name: str, text: str, place: str) -> None:
    folder = with_items(tmp_path, name, text)
    (fault,) = fault_lines(folder)
    assert fault.startswith(f"error {place}: N033 item ")
    assert ", like item 1: names must differ in more than spaces and slashes" in fault
    with pytest.raises(ContractError, match="like item 1"):
        start(folder, tmp_path / "run")


@pytest.mark.spec("B15", "B16")
def test_ids_that_collide_only_when_joined_are_found_too(tmp_path: Path) -> None:
    where = {"strategy": "cross_product", "positions": ["x", "y"]}
    folder = with_items(tmp_path, "items.json", json.dumps({"xs": ["a", "a-b"], "ys": ["b-c", "c"]}), **where)
    (fault,) = fault_lines(folder)
    assert "two units have the id 'a-b-c'" in fault


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("items.jsonl", '{"id": "a"}\r\n{"id": "b"}\r\n'),
        ("items.json", '[{"id": "a"}, {"id": "b"}]'),
        ("items.yaml", "- {id: a}\r\n- {id: b}\r\n"),
    ],
)
def test_items_saved_with_a_byte_order_mark_are_read(tmp_path: Path, name: str, text: str) -> None:
    folder = with_items(tmp_path / "p", name, text.encode("utf-8-sig"))
    assert fault_lines(folder) == []
    made = start(folder, tmp_path / "run") / "input/units.jsonl"
    assert [json.loads(line)["unit_id"] for line in made.read_text("utf-8").splitlines()] == ["a", "b"]


def test_fields_come_from_the_list_that_the_key_names(tmp_path: Path) -> None:
    """A field that only some items have is known; a field that only another list has is not."""
    lists = {"others": [{"id": "z", "colour": "red"}], "mine": [{"id": "a"}, {"id": "b", "size": 1}]}
    where = {"items": {"source": "items.json", "name_field": "id", "key": "mine"}}
    write_pipeline(tmp_path, [asking("ask", template="{{ size }} {{ colour }}")], processing=where)
    (tmp_path / "items.json").write_text(json.dumps(lists), "utf-8")
    (fault,) = faults_of(tmp_path)
    assert (fault.code, fault.message) == ("N037", "no item, expression or earlier step has 'colour'")


def test_every_item_without_a_name_is_reported_at_its_position(tmp_path: Path) -> None:
    folder = with_items(tmp_path, "items.jsonl", '{"id": "a"}\n{"n": 1}\n{"n": 2}\n')
    assert [(fault.line, fault.code) for fault in faults_of(folder)] == [(2, "N033"), (3, "N033")]


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("items.jsonl", '{"id": "a"}\n{"id": b}\n\n{"id"}\n', ["items.jsonl:2:8: N002", "items.jsonl:4:6: N002"]),
        ("items.jsonl", b'{"id": "a"}\n{"id": "\xff"}\n', ["items.jsonl:2:9: N001"]),
        ("items.json", '[{"id": "a"},\n {"id" 1}]', ["items.json:2:8: N002"]),
        ("items.json", b'[{"id": "a"},\n {"id": "\xff"}]', ["items.json:2:10: N001"]),
        ("items.yaml", "- {id: a}\n- {id: [}\n", ["items.yaml:2:9: N002"]),
        ("items.yaml", "- {id: a}\n- {id: b, id: c}\n", ["items.yaml:2:11: N004"]),
        ("items.json", '[{"id": "a"},\n {"id": "b", "id": "c"}]', ["items.json:2:14: N004"]),
        ("items.jsonl", '{"id": "a"}\n{"id": "b", "id": "c"}\n', ["items.jsonl:2:1: N004"]),
        ("items.jsonl", '{"id": "a"}\n{"id": "b", "x": {"y": 1, "y": 2}}\n', ["items.jsonl:2:1: N004"]),
        ("items.yaml", b"- {id: a}\n- {id: \xff}\n", ["items.yaml:2:8: N001"]),
        ("items.jsonl", '{"id": "a"}\n3\n', ["items.jsonl:2:1: N033"]),
    ],
)
def test_a_wrong_path_to_the_items_is_reported_at_its_position(
    tmp_path: Path, name: str, text: str | bytes, places: Sequence[str]
) -> None:
    faults = fault_lines(with_items(tmp_path, name, text))
    assert [fault[: len(f"error {place}")] for fault, place in zip(faults, places, strict=True)] == [
        f"error {place}" for place in places
    ]


@pytest.mark.spec("B15", "B16")
@pytest.mark.parametrize(
    "more", [{"repeat": 11**29}, {"strategy": "permutation", "positions": [f"p{n}" for n in range(20)]}]
)
def test_an_absurd_number_of_units_is_refused_by_lint_and_by_a_run(tmp_path: Path, more: dict[str, Any]) -> None:
    items = [{"id": str(n)} for n in range(40)]
    folder = write_pipeline(tmp_path / "p", [asking("ask")], items, processing=more)
    number = f"{40 * 11**29:,}" if "repeat" in more else f"{335367096786357081410764800000:,}"
    (fault,) = faults_of(folder)
    assert (fault.code, fault.level) == ("N033", "error")
    assert f"make {number} units; the limit is 10,000,000" in fault.message
    with pytest.raises(ContractError, match=f"make {number} units"):
        start(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert start(folder, tmp_path / "few", max_units=3).is_dir(), "units that nobody asks for do not count"


# -- values of enums -----------------------------------------------------------------------------


@pytest.mark.spec("B6", "B15")
@pytest.mark.parametrize(
    ("rules", "code", "at"),
    [
        ({"enums": {"tone": ["warm", "cold", "hot"]}}, "N040", '"hot"'),
        ({"enums": {"tone": ["hot"]}}, "N006", "["),
        ({"rules": [{"name": "r", "expr": "tone == 'wram'"}]}, "N040", "'wram'"),
        ({"rules": [{"name": "r", "expr": "'Warm' != tone"}]}, "N040", "'Warm'"),
        ({"rules": [{"name": "r", "expr": "tone in ('warm', 'hot')"}]}, "N040", "'hot'"),
        ({"rules": [{"name": "r", "expr": "n > 1", "when": "tone == 'hot'"}]}, "N040", "'hot'"),
        ({"rules": [{"name": "r", "expr": "n > 1 and (tone not in ['hot'] or n == 3)"}]}, "N040", "'hot'"),
        ({"rules": ["tone == 'hot'"]}, "N040", "'hot'"),
    ],
)
def test_a_value_that_the_schema_does_not_allow_is_found(tmp_path: Path, rules: Any, code: str, at: str) -> None:
    (fault,) = [one for one in faults_of(ruled(tmp_path, {"required": ["tone"], **rules})) if one.code != "N039"]
    assert fault.code == code
    assert text_at(fault).startswith(at)


@pytest.mark.spec("B6", "B15")
@pytest.mark.parametrize(
    "rules",
    [
        {"enums": {"tone": ["WARM", "Cold"]}},
        {"rules": ["tone == 'warm' or points == 7 or answer_kind == 'x' if 'answer_kind' in dir() else True"]},
        {"rules": ["all(tone != 'hot' for tone in tags)"]},
        {"rules": ["unit_id == 'hot'"]},
    ],
)
def test_possible_values_are_not_a_fault(tmp_path: Path, rules: Any) -> None:
    assert [
        fault for fault in faults_of(ruled(tmp_path, {"required": ["tone"], **rules})) if fault.code in ("N040", "N006")
    ] == []


def test_values_of_a_step_are_known_in_later_steps(tmp_path: Path) -> None:
    later = asking("later", rules={"required": ["answer"], "rules": [{"name": "r", "expr": "tone != 'hot'"}]})
    steps = [asking("ask", TONE, rules={"required": ["tone"]}), later]
    assert [fault.code for fault in faults_of(write_pipeline(tmp_path, steps))] == ["N040"]
    told = {"name": "set", "scope": "expression", "expressions": {"tone": "'hot'"}}
    assert fault_lines(write_pipeline(tmp_path, [steps[0], told, later])) == []


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.spec("B8", "B15")
def test_an_unknown_name_in_a_message_is_a_warning_at_its_position(tmp_path: Path) -> None:
    rule = {"name": "r", "expr": "n > 1", "error": "only {n} of {pionts} for {unit_id}, {_computed}"}
    (fault,) = [one for one in faults_of(ruled(tmp_path, {"rules": [rule]})) if one.code == "N013"]
    assert (fault.level, fault.hint) == ("warning", "Did you mean 'points'?")
    assert text_at(fault).startswith("{pionts}")


@pytest.mark.spec("B15")
@pytest.mark.parametrize("where", ["rule", "required", "template", "expression"])
def test_the_suggestion_for_swapped_letters_is_the_name_and_not_one_of_its_letters(tmp_path: Path, where: str) -> None:
    steps: list[dict[str, Any]] = [asking("ask", TONE, rules={"required": ["tone"]})]
    if where == "rule":
        steps[0]["_rules"] = {"rules": [{"name": "r", "expr": "pionts > 3"}]}
    elif where == "required":
        steps[0]["_rules"] = {"required": ["pionts"]}
    elif where == "template":
        steps.append(asking("more", template="{{ pionts }}"))
    else:
        steps.append({"name": "sum", "scope": "expression", "expressions": {"all": "pionts + 1"}})
    (fault,) = faults_of(write_pipeline(tmp_path, steps))
    assert fault.hint == "Did you mean 'points'?"


@pytest.mark.spec("B15")
@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("template", "part", "faults"),
    [
        ("{% include 'part.jinja2' %}", "\n{{ idd }}", ["part.jinja2:2:4: N037 no item, expression or earlier step has 'idd'."]),
        ("{% extends 'part.jinja2' %}", "{{ idd }}", ["part.jinja2:1:4: N037 no item, expression or earlier step has 'idd'."]),
        ("{% include 'part.jinja2' %}", "{{ id }}{% include 'ask.jinja2' %}", []),
        ("{% set idd = 1 %}{% include 'part.jinja2' %}", "{{ idd }}", []),
        ("{% for idd in [1] %}{% include 'part.jinja2' %}{% endfor %}", "{{ idd }}", []),
        ("{% if idd is defined %}{% include 'part.jinja2' %}{% endif %}", "{{ idd }}", []),
        ("{% include 'gone.jinja2' ignore missing %}{% include ['gone.jinja2', 'part.jinja2'] %}", "", []),
        ("{{ id }}{% include 'gone.jinja2' %}", "", ["config.yaml:29:11: N032 there is no template 'gone.jinja2', which 'ask.jinja2' names"]),
        ("{% include 'part.jinja2' %}", "{% if %}", ["part.jinja2:1:1: N032 the template does not parse: Expected an expression, got 'end of statement block'"]),
    ],
)  # fmt: skip
def test_included_templates_are_linted_too(tmp_path: Path, template: str, part: str, faults: list[str]) -> None:
    folder = write_pipeline(tmp_path, [asking("ask", template=template)])
    (folder / "templates/part.jinja2").write_text(part, "utf-8")
    told = [line.removeprefix("error ").removeprefix("templates/") for line in fault_lines(folder)]
    assert [line[: len(fault)] for line, fault in zip(told, faults, strict=True)] == faults


def test_an_undefined_name_in_a_template_is_an_error_and_stops_a_run(tmp_path: Path) -> None:
    folder = write_pipeline(tmp_path, [asking("ask", template="One\nfor {{ idd }}")])
    assert fault_lines(folder) == [
        "error templates/ask.jinja2:2:8: N037 no item, expression or earlier step has 'idd'. Did you mean 'id'?"
    ]
    with pytest.raises(ContractError):
        check_pipeline(folder)


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    "template",
    [
        "{% if town is defined %}{{ town }}{% endif %}", "{{ town | default('nowhere') }}", "{% set town = 1 %}{{ town }}",
        "{% for town in [1] %}{{ town }}{% endfor %}", "{{ note }}", "{{ range(3) | list }}", "{{ config.api }}",
    ],
)  # fmt: skip
def test_a_name_that_is_optional_or_in_only_some_items_is_not_a_fault(tmp_path: Path, template: str) -> None:
    items = [{"id": "a"}, {"id": "b", "note": "x"}]
    assert fault_lines(write_pipeline(tmp_path, [asking("ask", template=template)], items)) == []


@pytest.mark.spec("B15")
def test_a_field_that_nothing_can_give_is_an_error_if_the_schema_is_closed(tmp_path: Path) -> None:
    rules = {"required": ["pionts"], "rules": [{"name": "r", "expr": "pionts > 3"}]}
    faults = faults_of(ruled(tmp_path, rules, {**TONE, "additionalProperties": False}))
    assert [(fault.code, fault.level) for fault in faults] == [("N026", "error")] * 2
    assert {fault.code for fault in faults_of(ruled(tmp_path, rules))} == {"N013"}


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("schema", "at"),
    [
        (False, "false"),
        ({"type": "object", "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 1}}, "required": ["n"]}, '"minimum"'),
        ({"type": "object", "properties": {}, "required": ["n"], "additionalProperties": False}, '"n"'),
        ({"type": "object", "properties": {"n": {"enum": []}}, "required": ["n"]}, '"enum"'),
    ],
)  # fmt: skip
def test_a_schema_that_no_reply_fits_is_an_error(tmp_path: Path, schema: Any, at: str) -> None:
    folder = ruled(tmp_path, {"required": ["unit_id"]}, TONE)
    (folder / "schemas" / "ask.json").write_text(json.dumps(schema), "utf-8")
    fault = next(one for one in faults_of(folder) if one.code == "N007")
    assert fault.file.endswith("schemas/ask.json")
    assert text_at(fault).startswith(at)


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("part", "at"), [({"type": "objekt"}, '"objekt"'), ({"type": "string", "pattern": "("}, '"("'), ({"enum": 3}, "3")]
)
def test_a_bad_schema_is_reported_at_the_keyword(tmp_path: Path, part: Any, at: str) -> None:
    folder = ruled(tmp_path, {"required": ["tone"]})
    (folder / "schemas" / "ask.json").write_text(json.dumps({"properties": {"tone": part}}, indent=1), "utf-8")
    fault = next(one for one in faults_of(folder) if one.code == "N007")
    assert (fault.line > 1, text_at(fault).startswith(at)) == (True, True), fault
