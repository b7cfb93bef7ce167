"""Contract texts from a browser: judged by the linter of files, confined to the folders of the studio, compiled once."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.studio.judging.conftest import Bench, Write
from trueup.studio.judging import drafts
from trueup.studio.refusal import RequestRefused

SECRET = "schema: {type: object, required: [secret]}\n"
READS = ["extends: {}", "extends: [{}]", "schema: {}", "tools: {}", "schema: true\nquality: {{model: {}}}"]


def test_an_empty_contract_accepts_any_json(bench: Bench) -> None:
    for kind in (".yaml", ".json", ".toml"):
        assert bench.judge('{"a": 1}', " \n", kind=kind)["verdict"]["ok"]
    assert not bench.judge("no value", "")["verdict"]["ok"]


def test_positions_of_faults_are_in_utf16_units(bench: Bench) -> None:
    assert bench.faults("shema: true\n") == ["N005 1:1-6"]
    assert bench.faults('{"😀": 1, "shema": true}', kind=".json") == ["N005 1:2-6", "N005 1:11-18"]
    assert bench.faults("name: x\r\nrules: ['1 +']\r\nschema: true\r\n")[0].startswith("N012 2:13")
    assert bench.faults("\ufeffshema: true") == ["N005 1:1-6"]
    known = "schema: {additionalProperties: false, properties: {name: {}}}\n"
    assert bench.faults(known + "rules: ['nam > 3 and name']\n") == ["N026 2:10-13"]
    # if only the quotes of an expression are known: all of it
    assert bench.faults("schema: true\nreply: {rules: [{name: x, expr: 'txt == 1'}]}\n") == ["N012 2:33-43"]


def test_a_warning_does_not_stop_the_judging(bench: Bench) -> None:
    answer = bench.judge('{"a": 1}', "schema: {type: object, propertys: {}}\n")
    assert [one["level"] for one in answer["faults"]] == ["warning"]
    assert answer["verdict"]["ok"]


@pytest.mark.parametrize("contract", READS)
@pytest.mark.parametrize(
    "way", ["../outside.yaml", "{root}/outside.yaml", "link.yaml", "linked/outside.yaml", "missing/../../outside.yaml"]
)
def test_nothing_outside_the_folders_is_read(bench: Bench, write: Write, contract: str, way: str) -> None:
    outside = write("outside.yaml", SECRET)
    write("contracts/own.yaml", "schema: true\n")
    (bench.folder / "link.yaml").symlink_to(outside)
    (bench.folder / "linked").symlink_to(outside.parent)
    text = contract.format(way.format(root=outside.parent))
    for file in ("contracts/own.yaml", ""):
        answer = bench.judge("{}", text, file=file)
        assert answer["contract"] is None
        assert [one["code"] for one in answer["faults"]] in (["N008"], ["N007"], ["N009"], ["N028"])
        assert "secret" not in str(answer).replace("is not a secret", "")
        assert "there is no" in answer["faults"][0]["message"], "whether it exists must not be told"


@pytest.mark.parametrize(
    "name", ["\0.yaml", "x" * 5000 + ".yaml", "~/x.yaml", "/dev/zero", "file:///etc/passwd", "\\\\host\\x.yaml"]
)
def test_unusual_file_names_are_faults(bench: Bench, write: Write, name: str) -> None:
    write("contracts/own.yaml", "schema: true\n")
    for key in ("extends", "schema", "tools"):
        import json

        answer = bench.judge("{}", f"{key}: {json.dumps(name)}\n", file="contracts/own.yaml")
        assert answer["contract"] is None
        assert answer["faults"]


def test_a_schema_file_that_contains_a_file_name_opens_no_other_file(bench: Bench, write: Write) -> None:
    outside = write("outside.json", '{"type": "object"}')
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/name.json", f'"{outside}"')
    for key in ("schema", "tools"):
        (found,) = bench.judge("{}", f"{key}: name.json", file="contracts/own.yaml")["faults"]
        assert "contains a text" in found["message"]


@pytest.mark.parametrize(
    "contract",
    [
        'checks: ["os:system"]',
        "checks: [{subprocess: {args: ls}}]",
        'tools: ["os:system"]',
        'schema: "json:JSONEncoder"',
        "schema: !!python/name:os.system",
        "schema: true\nrules: [\"__import__('os').system('true')\"]",
    ],
)
def test_a_contract_text_runs_no_python(bench: Bench, contract: str) -> None:
    answer = bench.judge("{}", contract)
    assert answer["contract"] is None
    assert answer["verdict"] is None


def test_the_text_of_a_file_can_refer_to_files_next_to_it(bench: Bench, write: Write) -> None:
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/base/base.yaml", "name: base\nschema: ../schemas/a.json\n")
    write("contracts/schemas/a.json", '{"required": ["a"]}')
    answer = bench.judge("{}", "extends: base/base.yaml\n", file="contracts/own.yaml")
    assert answer["contract"]["name"] == "base"
    assert [one["code"] for one in answer["verdict"]["facts"]] == ["V002"]


def test_a_fault_in_another_file_is_reported_without_its_path_on_disk(
    bench: Bench, write: Write, tmp_path: Path
) -> None:
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/base.yaml", "shema: true\n")
    answer = bench.judge("{}", "extends: base.yaml\nschema: true\n", file="contracts/own.yaml")
    assert [one["file"] for one in answer["faults"]] == ["contracts/base.yaml"]
    assert str(tmp_path) not in str(answer)


def test_hidden_files_are_not_read(bench: Bench, write: Write) -> None:
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/.secret/base.yaml", SECRET)
    answer = bench.judge("{}", "extends: .secret/base.yaml\n", file="contracts/own.yaml")
    assert answer["contract"] is None
    assert "folders" in answer["faults"][0]["hint"]
    missing = bench.judge("{}", "extends: none.yaml\n", file="contracts/own.yaml")
    assert "relative" in missing["faults"][0]["hint"]


def test_a_contract_that_extends_itself_is_a_fault(bench: Bench, write: Write) -> None:
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/other.yaml", "extends: own.yaml\n")
    answer = bench.judge("{}", "extends: other.yaml\n", file="contracts/own.yaml")
    assert "extends itself" in answer["faults"][0]["message"]
    assert "extends itself" in bench.judge("{}", "extends: contract.yaml\n")["faults"][0]["message"]


def test_the_edited_text_replaces_the_file_on_disk(bench: Bench, write: Write) -> None:
    write("contracts/own.yaml", "schema: {required: [old]}\n")
    answer = bench.judge("{}", "schema: {required: [new]}\n", file="contracts/own.yaml")
    assert [one["path"] for one in answer["verdict"]["facts"]] == ["$.new"]


def test_an_unknown_file_or_kind_is_refused(bench: Bench) -> None:
    for asked in ({"file": "contracts/none.yaml"}, {"file": "../x.yaml"}, {"file": "contracts"}, {"kind": ".py"}):
        with pytest.raises(RequestRefused):
            bench.judge("{}", "schema: true", **asked)


def test_a_contract_is_compiled_once_and_again_if_a_referenced_file_changes(
    bench: Bench, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    lint = drafts.lint_contract
    monkeypatch.setattr(drafts, "lint_contract", lambda path, **more: compiled.append(path) or lint(path, **more))
    write("contracts/own.yaml", "schema: true\n")
    text = "extends: base.yaml\n"

    def refused() -> bool | None:
        verdict = bench.judge("{}", text, file="contracts/own.yaml")["verdict"]
        return None if verdict is None else not verdict["ok"]

    assert [refused(), refused()] == [None, None], "there is no base yet"
    assert len(compiled) == 1
    base = write("contracts/base.yaml", "schema: {type: object}\n")
    assert [refused(), refused()] == [False, False]
    assert len(compiled) == 2
    write("contracts/base.yaml", "schema: {required: [a]}\n")
    os.utime(base, ns=(1, 1))
    assert [refused(), refused()] == [True, True]
    assert len(compiled) == 3


def test_the_number_of_cached_drafts_is_limited(bench: Bench) -> None:
    for number in range(100):
        bench.judge("{}", f"name: c{number}\nschema: true\n")
    assert len(drafts._kept) <= 32


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("type: object\nrequired: [name]\nproperties:\n  name: {type: strin}\n", ".yaml"),
        ('{"type": "object", "required": ["name"]}', ".yaml"),
        ('{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n  "properties": {"name": {"type": "string"}}, "required": ["name"]\n}', ".json"),
        ('type = "object"\nrequired = ["name"]\n', ".toml"),
    ],
)  # fmt: skip
def test_a_json_schema_gets_a_hint_how_to_make_it_a_contract(bench: Bench, text: str, kind: str) -> None:
    answer = bench.judge("{}", text, kind=kind)
    first = answer["faults"][0]
    assert "JSON Schema" in first["message"]
    assert "schema" in first["hint"]
