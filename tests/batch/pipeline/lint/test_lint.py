"""Lint of pipelines: everything that would fail later is reported first, with file, line and column."""

import copy
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import EXAMPLES, asking, reply, run_pipeline, write_pipeline
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.lint.run import check_pipeline, lint_pipeline
from trueup.batch.pipeline.providers.choose import NoProvider
from trueup.batch.pipeline.rundir.create import CannotCreate, create_run
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.running.run import execute
from trueup.contract.files.faults import ContractError

BASE = """
pipeline:
  steps:
    - name: roll
      scope: expression
      expressions:
        dice: random.randint(1, 6)
    - name: ask
processing:
  strategy: direct
  chunk_size: 10
  items: {source: items.json, name_field: id}
prompts:
  templates: {ask: ask.jinja2}
schemas:
  files: {ask: ask.json}
validation:
  ask:
    required: [answer]
    rules:
      - name: long
        expr: len(answer) > 2
api: {}
"""


def write(folder: Path, config: str = BASE) -> Path:
    write_pipeline(folder, [asking("ask")])
    (folder / "config.yaml").write_text(textwrap.dedent(config), "utf-8")
    return folder


def fault_lines(folder: Path) -> list[str]:
    return [str(found).removeprefix(f"{folder.as_posix()}/") for found in lint_pipeline(folder)]


@pytest.mark.spec("B15")
@pytest.mark.parametrize("name", ["random_walk", "npc_dialogue", "reviews"])
def test_the_shipped_pipelines_have_no_faults(name: str) -> None:
    assert fault_lines(EXAMPLES / name) == []


def test_a_correct_pipeline_has_no_faults(tmp_path: Path) -> None:
    assert fault_lines(write(tmp_path)) == []
    assert [step.name for step in check_pipeline(tmp_path).steps] == ["roll", "ask"]


@pytest.mark.spec("B15")
@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("api: {}", "apy: {}", "config.yaml:1:1: N030 section 'api' is missing. Did you mean 'apy'?"),
        ("  chunk_size: 10\n", "", "config.yaml:10:3: N030 processing.chunk_size is missing. Write chunk_size: 100."),
        ("templates: {ask:", "templates: {aks:", "config.yaml:14:15: N031 prompts.templates names step 'aks', which does not exist. Did you mean 'ask'?"),
        ("files: {ask: ask.json}", "files: {}", "config.yaml:8:13: N031 step 'ask' has no entry in schemas.files. Add it to schemas.files."),
        ("files: {ask: ask.json}", "files: {ask: aks.json}", "config.yaml:16:16: N007 the schema 'schemas/aks.json' cannot be read: there is no such file. Did you mean 'ask.json'?"),
        ("{ask: ask.jinja2}", "{ask: as.jinja2}", "config.yaml:14:20: N032 there is no template 'templates/as.jinja2'. Did you mean 'ask.jinja2'?"),
        ("{ask: ask.jinja2}", "{ask: ../config.yaml}", "config.yaml:14:20: N032"),
        ("random.randint(1, 6)", "random.randit(1, 6)", "config.yaml:7:15: N012"),
        ("random.randint(1, 6)", "1 +", "config.yaml:7:"),
        ("random.randint(1, 6)", "idd + 'x'", "config.yaml:7:15: N012 there is no field 'idd'. Did you mean 'id'?"),
        ("expr: len(answer) > 2", "expr: len(answr) > 2", "config.yaml:22:19: N013 no schema has the field 'answr'. Did you mean 'answer'?"),
        ("expr: len(answer) > 2", "expr: len(answer > 2", "config.yaml:22:"),
        ("required: [answer]", "required: [anwser]", "config.yaml:19:16: N013 no schema has the field 'anwser'. Did you mean 'answer'?"),
        ("required: [answer]", "requird: [answer]", "config.yaml:19:5: N005"),
        ("items.json", "itms.json", "config.yaml:12:19: N033 the items 'itms.json' cannot be read: there is no such file. Did you mean 'items.json'?"),
        ("name: ask", "name: a/b", "config.yaml:8:13: N006 the name of a step may have letters, digits, '_' and '-', at most 64; got 'a/b'"),
        ("name: ask", "name: Roll", "config.yaml:8:13: N034 two steps have the name 'Roll'"),
        ("scope: expression", "scope: expresion", "config.yaml:5:14: N006 scope must be one of chunk, expression, fan_out, run; got 'expresion'. Did you mean 'expression'?"),
        ("chunk_size: 10", "chunk_size: many", "config.yaml:11:15: N006 processing.chunk_size must be a number of at least 1; got 'many'"),
        ("  steps:\n", "  stps:\n", "config.yaml:3:3: N006 pipeline.steps must be a list of at least one step. Did you mean 'stps'?"),
        ("api: {}", "api: {}\nextra: 1", "config.yaml:24:1: N036 unknown section 'extra'. This section is not used."),
        ("api: {}", "api: {realtime: {cost_cap: 5}}", "config.yaml:23:18: N036 unknown key 'cost_cap' in api.realtime. Did you mean 'cost_cap_usd'?"),
        ("api: {}", "api: {provider: opanai}", "config.yaml:23:17: N036 unknown provider 'opanai'. Did you mean 'openai'?"),
        ("api: {}", "api: {mode: json_shema}", "config.yaml:23:13: N036 unknown mode 'json_shema'. Did you mean 'json_schema'?"),
        ("name: ask", "name: ask\n      mode: [text]", "config.yaml:9:13: N036 unknown mode \"['text']\"."),
        ("api: {}", "api: 5", "config.yaml:23:6: N006 api must be a mapping."),
        ("api: {}", "api: {retry: 3}", "config.yaml:23:14: N006 api.retry must be a mapping."),
        ("  ask:\n    required: [answer]\n    rules:\n      - name: long\n        expr: len(answer) > 2", "  ask: [answer]",
         "config.yaml:18:8: N006 validation.ask must be a mapping."),
        ("api: {}", "api: {window: 24h}", "config.yaml:23:7: N036 unknown key 'window' in api. This key is not used."),
        ("scope: expression", "scope: expression\n      max_iteration: 3", "config.yaml:6:7: N036 unknown key 'max_iteration' in step 'roll'. Did you mean 'max_iterations'?"),
        ("api: {}", "api: {}\npost_process: [gone.py]", "config.yaml:24:16: N038 there is no script 'gone.py' in the folder of the pipeline."),
        ("api: {}", "api: {}\npost_process: gzip", "config.yaml:24:15: N006 post_process must be a list of scripts, or gzip."),
        ("api: {}", "api: [", "config.yaml:24:1: N002"),
        ("schemas:", f"schemas:\n  schema_dir: {'x' * 300}", "config.yaml:17:16: N007 the schema 'xxx"),
        ("prompts:", f"prompts:\n  template_dir: {'x' * 300}", "config.yaml:15:20: N032 "),
        ("api: {}", "api: {rate_limit: {requests_per_minute: 0}}", "config.yaml:23:41: N006 api.rate_limit.requests_per_minute must be a number"),
        ("api: {}", "api: {poll_interval_seconds: often}", "config.yaml:23:30: N006 api.poll_interval_seconds must be a number of at least 0"),
        ("api: {}", "api: {prices: {m: {input: -1, output: 2}}}", "config.yaml:23:15: N006 api.prices: the price of 'm' must be {input: …, output: …}"),
        ("api: {}", "api: {prices: {m: {input: 1, output: 2, cache: 1}}}", "config.yaml:23:15: N006 api.prices: the price of 'm' must be {input: …, output: …} per million tokens; Price has no option 'cache'; did you mean 'cached'?"),
        ("api: {}", "api: {}\napi: {}", "config.yaml:24:1: N004 key 'api' is given twice; the first is in line 23. Keep one of them."),
    ],
)  # fmt: skip
def test_each_fault_is_reported_with_its_position(tmp_path: Path, before: str, after: str, fault: str) -> None:
    assert before in BASE
    found = fault_lines(write(tmp_path, BASE.replace(before, after, 1)))
    assert any(each.startswith(fault) for each in found), found


@pytest.mark.spec("B15", "B16")
def test_an_expression_that_fails_only_on_sample_values_does_not_stop_a_run(tmp_path: Path) -> None:
    counted = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "xs": {"type": "array"}},
        "required": ["n", "xs"],
    }
    steps = [
        asking("count", counted, rules={"required": ["n"]}),
        {"name": "each", "scope": "fan_out", "field": "xs", "child_field": "x"},
        {"name": "share", "scope": "expression", "expressions": {"part": "x * x / n"}},
    ]
    folder = write_pipeline(tmp_path / "p", steps, [{"id": "a"}], reply("count", "a", '{"n": 2, "xs": [2, 4]}'))
    (found,) = lint_pipeline(folder)
    assert (found.code, found.level) == ("N039", "warning")
    assert "the expression fails on made-up data" in str(found)
    assert [unit["part"] for unit in run_pipeline(folder, tmp_path / "run").valid] == [2.0, 8.0]
    steps[2]["expressions"] = {"part": "x / m"}
    write_pipeline(folder, steps)
    assert [found.code for found in lint_pipeline(folder) if found.level == "error"] == ["N012"], (
        "a name that is nowhere"
    )
    real = {"name": "share", "scope": "expression", "expressions": {"part": "1 / n"}}
    write_pipeline(folder, [real], [{"id": "a", "n": 0}])
    assert [found.code for found in lint_pipeline(folder) if found.level == "error"] == ["N012"], (
        "a unit that will come"
    )


def test_rules_with_the_same_name_are_reported(tmp_path: Path) -> None:
    again = BASE.replace("expr: len(answer) > 2", "expr: len(answer) > 2\n      - name: long\n        expr: answer")
    assert any("N011" in each for each in fault_lines(write(tmp_path, again)))


def test_faults_inside_files_are_reported_in_those_files(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "templates" / "ask.jinja2").write_text("one\n{{ dice }}\n{% if x %}", "utf-8")
    (tmp_path / "schemas" / "ask.json").write_text('{\n "type": "object",\n "type" "x"}', "utf-8")
    found = fault_lines(tmp_path)
    assert any(each.startswith("templates/ask.jinja2:3:1: N032") for each in found)
    assert any(each.startswith("schemas/ask.json:3:") for each in found)
    (tmp_path / "templates" / "ask.jinja2").write_text("one\n two {{ dicee }}", "utf-8")
    (tmp_path / "schemas" / "ask.json").write_text('{"type": "objekt"}', "utf-8")
    found = fault_lines(tmp_path)
    assert (
        "templates/ask.jinja2:2:9: N037 no item, expression or earlier step has 'dicee'. Did you mean 'dice'?" in found
    )
    assert any("N007" in each for each in found)


def test_the_exception_lists_every_error(tmp_path: Path) -> None:
    write(tmp_path, BASE.replace("api: {}", "").replace("chunk_size: 10", "chunk_size: 0"))
    with pytest.raises(ContractError) as refused:
        check_pipeline(tmp_path)
    assert {fault.code for fault in refused.value.faults} == {"N030", "N006"}


def test_a_missing_pipeline_file_is_reported_with_an_example(tmp_path: Path) -> None:
    assert fault_lines(tmp_path) == [
        "config.yaml:1:1: N001 there is no such file. A pipeline is a folder with a config.yaml in it."
    ]


@pytest.mark.spec("X6")
def test_yaml_has_limits_and_follows_version_1_2(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert any("N003" in each for each in fault_lines(write(tmp_path / "bomb", bomb)))
    assert any("N00" in each for each in fault_lines(write(tmp_path / "deep", "a: " + "[" * 5000)))
    assert any("N003" in each for each in fault_lines(write(tmp_path / "large", BASE + "#" * 1_100_000)))
    assert any(
        "N002" in each for each in fault_lines(write(tmp_path / "tag", "a: !!python/object/apply:os.system [id]"))
    )
    write(tmp_path / "words", BASE.replace("id}", "id}\n  description: no\n  at: 1:30"))
    processing = read_config(tmp_path / "words").section("processing")
    assert (processing["description"], processing["at"]) == ("no", "1:30")


def test_items_may_be_yaml_or_json_lines(tmp_path: Path) -> None:
    for name, text in (
        ("items.yaml", "- {id: a}\n- {id: b}\n"),
        ("items.jsonl", '{"id": "a"}\n\n{"id": "b"}\n'),
        ("items.json", json.dumps([{"id": "a"}])),
    ):
        folder = write(tmp_path / name, BASE.replace("items.json", name))
        (folder / name).write_text(text, "utf-8")
        assert fault_lines(folder) == []
        (folder / name).write_text("{", "utf-8")
        assert fault_lines(folder)


def test_expressions_of_processing_are_tried_out(tmp_path: Path) -> None:
    config = BASE.replace(
        "strategy: direct", "strategy: direct\n  expressions: {card: 'random.choice([1,2])', more: 'cart + 1'}"
    )
    found = fault_lines(write(tmp_path, config))
    assert any("N012 there is no field 'cart'. Did you mean 'card'?" in each for each in found), found


def test_a_rule_sees_the_values_of_earlier_steps(tmp_path: Path) -> None:
    rules: Any = {"required": ["answer"], "rules": [{"name": "r", "expr": "dice > 0 and len(answer) > 0 and unit_id"}]}
    steps = [{"name": "roll", "scope": "expression", "expressions": {"dice": "1"}}, asking("ask", rules=rules)]
    assert fault_lines(write_pipeline(tmp_path, steps)) == []


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=8),
    st.just([]), st.just({}), st.just([1]), st.just({"a": 1}), st.just("../x"), st.just("{{"), st.just("a" * 300),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += places(part, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], odd: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = copy.deepcopy(odd)


@given(st.data())
def test_a_configuration_of_any_shape_is_linted_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("p")
    steps = [
        {
            "name": "roll",
            "scope": "expression",
            "init": {"n": "0"},
            "expressions": {"n": "n + 1"},
            "loop_until": "n > 2",
        },
        {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"},
        asking("ask", rules={"required": ["answer"], "rules": [{"name": "r", "expr": "len(answer) > 0"}]}),
        {"name": "end", "scope": "run", "script": "end.py"},
    ]
    items = [{"id": "a", "parts": [1, 2]}]
    write_pipeline(
        folder, steps, items, file="config.json", post_process=[{"name": "x", "type": "gzip", "files": ["*"]}]
    )
    (folder / "end.py").write_text("", "utf-8")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    for _ in range(data.draw(st.integers(1, 2))):
        put(config, data.draw(st.sampled_from(places(config))), data.draw(ODD))
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    faults = lint_pipeline(folder / "config.json")
    assert all(fault.line >= 1 and fault.message for fault in faults)
    if any(fault.level == "error" for fault in faults):
        return
    try:
        path = create_run(read_config(folder / "config.json"), folder / "run")
        execute(path, disk=Disk())
    except (ContractError, NoProvider, CannotCreate):
        pass  # reported, with the reason
