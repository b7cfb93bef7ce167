"""The JSON Schemas for editors agree with the code that reads contract, pipeline and gateway files, in both directions."""

import copy
import json
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from editor import gateway_file, pipeline_file
from tests.batch.pipeline.lint.test_lint import BASE
from tests.batch.pipeline.making import asking, write_pipeline
from tests.gateway.test_settings import ENVIRON, GOOD
from trueup.ask.policy import Policy, Price
from trueup.batch.pipeline.lint import keys, run
from trueup.batch.pipeline.lint.run import lint_pipeline
from trueup.checks.rules import SECTIONS
from trueup.cli.commands.lint import SCHEMAS
from trueup.conform.options import Options
from trueup.contract.files import shape
from trueup.contract.files.documents import parse_document, read_document
from trueup.contract.lint.run import lint_contract
from trueup.contract.options import FILE_KEYS
from trueup.gateway import settings
from trueup.gateway.client.tls import Tls
from trueup.gateway.config import Limits, Logs
from trueup.gateway.file import access, clients, fallbacks, studio
from trueup.gateway.settings import read_config
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention

ROOT = Path(__file__).resolve().parent.parent
MADE = {"contract": shape.file_schema, "pipeline": pipeline_file.file_schema, "gateway": gateway_file.file_schema}
Shape = dict[str, Any]


def shipped(kind: str) -> Path:
    return Path(str(files(SCHEMAS[kind]) / f"{kind}.schema.json"))


@cache
def schema(kind: str) -> Shape:
    """The schema that the code generates; the shipped one is the same."""
    return MADE[kind]()


@cache
def editor(kind: str) -> Any:
    return jsonschema_rs.validator_for(schema(kind))


def faults(kind: str, data: Any) -> list[str]:
    return [str(error) for error in editor(kind).iter_errors(data)]


# -- the shipped files -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipeline", "gateway"])  # that of contracts: tests/contract/files/test_shape.py
def test_the_shipped_schema_is_fresh(kind: str, request: pytest.FixtureRequest) -> None:
    text = json.dumps(MADE[kind](), indent=2, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-snapshots"):
        shipped(kind).write_text(text, "utf-8")
    assert shipped(kind).read_text("utf-8") == text, "run `make snapshots`"
    jsonschema_rs.meta.validate(json.loads(text))


def objects(shape: Any, place: str = "") -> Iterator[tuple[str, Shape]]:
    """Every object of a schema that has named keys."""
    if isinstance(shape, dict):
        if "properties" in shape and ("additionalProperties" in shape or "title" in shape):
            yield place, shape
        for name, part in shape.items():
            if name not in ("default", "if", "then"):
                yield from objects(part, f"{place}/{name}")
    elif isinstance(shape, list):
        for index, part in enumerate(shape):
            yield from objects(part, f"{place}/{index}")


@pytest.mark.parametrize("kind", MADE)
def test_editors_can_describe_every_key(kind: str) -> None:
    for place, each in objects(schema(kind)):
        for name, part in each["properties"].items():
            assert part.get("description") or "$ref" in part, f"{place}: {name}"
            assert "None" not in part.get("description", ""), f"{place}: {name} names a value of Python"


# -- the schema and the code have the same keys ------------------------------------------


def properties(kind: str, *path: str) -> set[str]:
    """The keys of an object in a schema; a step that is not in the schema looks into the alternatives."""
    here = schema(kind)
    for step in path:
        here = here[step] if isinstance(here, dict) and step in here else here["properties"][step]
        while isinstance(here, dict) and "properties" not in here:
            inner = [part for part in here.get("anyOf", []) if "properties" in part or "$ref" in part]
            if "$ref" in here:
                here = schema(kind)["$defs"][here["$ref"].rpartition("/")[2]]
            elif len(inner) == 1:
                here = inner[0]
            elif isinstance(here.get("items"), dict):
                here = here["items"]
            else:
                break
    assert here.get("additionalProperties") is False, f"{path} takes any key"
    return set(here["properties"])


def test_a_contract_has_the_keys_of_the_code() -> None:
    assert properties("contract") == set(FILE_KEYS)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ((), settings._TOP),
        (("$defs", "Upstream"), settings._UPSTREAM),
        (("$defs", "Route"), settings._ROUTE),
        (("$defs", "Route", "fallback"), fallbacks._SPARE),
        (("$defs", "Client"), clients._CLIENT),
        (("$defs", "Client", "keys"), clients._ONE),
        (("$defs", "Client", "limits"), clients._LIMITS),
        (("$defs", "Studio"), studio._SECTION),
        (("$defs", "Studio", "keys"), studio._KEY),
        (("$defs", "Token"), access._SOURCE),
        (("$defs", "Tls"), Tls.__struct_fields__),
        (("$defs", "Policy"), Policy.__struct_fields__),
        (("$defs", "Price"), Price.__struct_fields__),
        (("$defs", "Limits"), Limits.__struct_fields__),
        (("$defs", "Logs"), Logs.__struct_fields__),
        (("$defs", "Redaction"), Redaction.__struct_fields__),
        (("$defs", "Retention"), Retention.__struct_fields__),
    ],
    ids=lambda value: "/".join(value) if value and value[0] == "$defs" else "",
)
def test_a_gateway_has_the_keys_of_the_code(path: tuple[str, ...], known: tuple[str, ...]) -> None:
    assert properties("gateway", *path) == set(known)


def test_each_cloud_has_the_keys_of_the_code() -> None:
    kinds = [part for part in schema("gateway")["$defs"]["Upstream"]["properties"]["auth"]["anyOf"] if "title" in part]
    assert {part["title"]: set(part["properties"]) for part in kinds} == {
        kind: set(names) for kind, names in access._KINDS.items()
    }


@pytest.mark.parametrize("place", keys._SECTIONS, ids=".".join)
def test_a_section_of_a_pipeline_has_the_keys_of_the_code(place: tuple[str, ...]) -> None:
    assert properties("pipeline", *place) - keys._REMARKS == set(keys._SECTIONS[place].split()) - keys._REMARKS


def test_a_pipeline_has_the_keys_of_the_code() -> None:
    position = next(part for _, part in objects(schema("pipeline")) if part.get("title") == "Position")
    assert properties("pipeline") == set(run._KNOWN)
    assert properties("pipeline", "$defs", "Step") - keys._REMARKS == set(keys._STEP.split())
    assert set(position["properties"]) - keys._REMARKS == set(keys._POSITION.split())
    assert properties("pipeline", "$defs", "Rules") == set(SECTIONS)
    assert properties("pipeline", "$defs", "Options") == set(Options.__struct_fields__)
    assert properties("pipeline", "$defs", "Price") == set(Price.__struct_fields__)


# -- right files are right in an editor too ----------------------------------------------


def yaml_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.yaml") if "faulty" not in path.parts)


def kind_of(data: Any) -> str:
    """The kind of a file, by its keys; empty for other files."""
    if not isinstance(data, dict):
        return ""
    fitting = [kind for kind in MADE if data.keys() <= schema(kind)["properties"].keys()]
    marks = {"pipeline": {"pipeline", "processing"}, "gateway": {"upstreams"}}
    return next((kind for kind in fitting if marks.get(kind, set()) & data.keys()), "contract" if fitting else "")


KINDS = {
    path: kind_of(read_document(path).data)
    for folder in ("examples", "tests")
    for path in yaml_files(folder)
    if b"\n---" not in path.read_bytes()  # several documents in one file
}


EXAMPLES = [path for path, kind in KINDS.items() if kind and path.is_relative_to(ROOT / "examples")]
EXAMPLES += sorted((ROOT / "examples" / "faulty").glob("*.yaml"))


@pytest.mark.parametrize(
    "path", [path for path, kind in KINDS.items() if kind], ids=lambda p: p.relative_to(ROOT).as_posix()
)
def test_every_example_is_valid(path: Path) -> None:
    assert not faults(KINDS[path], read_document(path).data)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_first_line_of_an_example_names_the_schema(path: Path) -> None:
    line = path.read_text("utf-8").partition("\n")[0]
    assert line.startswith("# yaml-language-server: $schema=")
    assert (path.parent / line.partition("=")[2]).resolve() == shipped(KINDS.get(path, "contract")).resolve()


def test_every_kind_has_examples() -> None:
    found = [KINDS[path] for path in KINDS if path.is_relative_to(ROOT / "examples")]
    assert (found.count("contract") > 10, found.count("pipeline"), found.count("gateway")) == (True, 3, 4)


def page_blocks() -> Iterator[Any]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, block in enumerate(
            re.finditer(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        ):
            document = parse_document(block[1], "page.yaml", ".yaml")
            if isinstance(document.data, dict) and not document.faults:
                kinds = [kind for kind in MADE if document.data.keys() <= schema(kind)["properties"].keys()]
                if kinds:
                    yield pytest.param(document.data, kinds, id=f"{page.relative_to(ROOT).as_posix()}-{number}")


@pytest.mark.parametrize(("data", "kinds"), [*page_blocks()])
def test_every_yaml_of_the_pages_is_valid(data: dict[str, Any], kinds: list[str]) -> None:
    """A page may show a part of a file, so required keys may be missing."""
    partial = {kind: {name: part for name, part in schema(kind).items() if name != "required"} for kind in kinds}
    if "extends" in data:
        data = {name: part for name, part in data.items() if part is not None}  # null takes a key away there
    if "rules" in data and any("reason" in rule for rule in data["rules"] if isinstance(rule, dict)):
        data = {"reply": data}  # rules of `reply`
    assert any(jsonschema_rs.validator_for(part).is_valid(data) for part in partial.values()), kinds


def test_the_good_files_of_other_tests_are_valid() -> None:
    assert not faults("gateway", parse_document(GOOD, "gateway.yaml").data)
    assert not faults("pipeline", parse_document(BASE, "config.yaml").data)


# -- wrong files are wrong in both ---------------------------------------------------------


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path; a missing value takes the key away."""
    data = copy.deepcopy(data)
    here = data
    for step in path[:-1]:
        here = here[step]
    if value is ...:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return data


GATEWAY_FAULTS: list[tuple[tuple[Any, ...], Any]] = [
    (("upstream",), {}),
    (("upstreams",), ...),
    (("upstreams",), {}),
    (("listen",), "nowhere"),
    (("server",), "nginx"),
    (("workers",), 0),
    (("workers",), "many"),
    (("quota",), "often"),
    (("choose",), 1),
    (("store",), 5),
    (("models", "*"), ["main"]),
    (("contracts", "person"), 3),
    (("routes",), 5),
    (("routes", 0, "hold"), "later"),
    (("routes", 0, "unknown_state"), "ask"),
    (("routes", 0, "contracts"), "person"),
    (("routes", 0, "share"), 2),
    (("routes", 0, "fallback"), [{"upstream": "claude", "modle": "x"}]),
    (("routes", 0, "fallback"), [{"model": "x"}]),
    (("routes", 0, "policy", "repairs"), -1),
    (("routes", 0, "policy", "atempts"), 3),
    (("routes", 0, "policy", "otherwise"), "nothing"),
    (("routes", 0, "policy", "models"), [1]),
    (("routes", 0, "policy", "prices"), {"m": {"input": 1}}),
    (("routes", 1, "models"), ...),
    (("upstreams", "main", "protocol"), "gemini"),
    (("upstreams", "main", "private"), "yes"),
    (("upstreams", "main", "url"), ...),
    (("upstreams", "main", "auth"), "gcp"),
    (("upstreams", "main", "auth"), {"kind": "azure", "region": "eu"}),
    (("upstreams", "main", "tls"), {"verfy": False}),
    (("clients",), []),
    (("clients", 0, "tenant"), ...),
    (("clients", 0, "limits"), {"replies": "5 a day"}),
    (("clients", 0, "limits"), {"requests_per_minute": 0}),
    (("clients", 0, "routes"), []),
    (("clients", 0, "role"), "editor"),
    (("limits", "request"), "lots"),
    (("limits", "total_seconds"), 0),
    (("redaction", "bodies"), "some"),
    (("retention", "replies"), -7),
    (("retention", "reply"), 7),
    (("keep_context",), -1),
    (("logs",), {"format": "xml"}),
    (("endpoints",), ["embedings"]),
    (("studio",), {"keys": []}),
    (("studio",), {"keys": [{"name": "ana", "role": "boss", "key": "x" * 30}]}),
]


@pytest.mark.parametrize(("path", "value"), GATEWAY_FAULTS, ids=lambda part: str(part)[:50])
def test_a_wrong_gateway_is_refused_by_both(path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text("schema: {type: object, required: [age]}\n")
    data = changed(parse_document(GOOD, "gateway.yaml").data, path, value)
    (tmp_path / "gateway.json").write_text(json.dumps(data))
    assert read_config(tmp_path / "gateway.json", ENVIRON)[0] is None
    assert not editor("gateway").is_valid(data)


PIPELINE_FAULTS: list[tuple[tuple[Any, ...], Any]] = [
    (("pipeline",), ...),
    (("schemas",), ...),
    (("sections",), {}),
    (("pipeline", "steps"), []),
    (("pipeline", "steps"), "ask"),
    (("pipeline", "step"), []),
    (("pipeline", "steps", 0, "name"), "a name"),
    (("pipeline", "steps", 0, "scope"), "expresion"),
    (("pipeline", "steps", 0, "scope"), "fan_out"),
    (("pipeline", "steps", 0, "scope"), "run"),
    (("pipeline", "steps", 0, "expressions"), ...),
    (("pipeline", "steps", 0, "max_iterations"), 0),
    (("pipeline", "steps", 0, "loop"), "x"),
    (("pipeline", "steps", 1, "provider"), "opnai"),
    (("pipeline", "steps", 1, "mode"), "json"),
    (("pipeline", "steps", 1, "accept"), "all"),
    (("pipeline", "steps", 1, "strict"), "yes"),
    (("pipeline", "steps", 1, "coerce"), {"profil": "off"}),
    (("pipeline", "steps", 1, "grounded"), {"feilds": []}),
    (("processing", "chunk_size"), ...),
    (("processing", "chunk_size"), 0),
    (("processing", "repeat"), 0),
    (("processing", "unit_limit"), 0),
    (("processing", "strategy"), "random"),
    (("processing", "items"), {"key": "x"}),
    (("processing", "items"), {"source": "items.json", "names": "id"}),
    (("processing", "positions"), [{"name": "a", "sourcekey": "b"}]),
    (("processing", "validation_retry"), 3),
    (("prompts", "template"), {}),
    (("schemas", "coerce"), "never"),
    (("validation", "ask"), [1]),
    (("validation", "ask", "requird"), []),
    (("validation", "ask", "rules"), [{"name": "x"}]),
    (("api", "provider"), "open-ai"),
    (("api", "base_url"), "localhost"),
    (("api", "mode"), "json"),
    (("api", "retry"), {"max_attempts": 0}),
    (("api", "retry"), {"attempts": 3}),
    (("api", "rate_limit"), 5),
    (("api", "realtime"), {"cost_cap_usd": "5"}),
    (("api", "prices"), {"m": {"input": 1}}),
    (("api", "prices"), {"m": {"input": 1, "output": 2, "ouput": 2}}),
    (("post_process",), "gzip"),
    (("post_process",), [{"files": "x"}]),
]


@pytest.mark.parametrize(("path", "value"), PIPELINE_FAULTS, ids=lambda part: str(part)[:50])
def test_a_wrong_pipeline_is_refused_by_both(path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    write_pipeline(tmp_path, [asking("ask")])
    data = changed(parse_document(BASE, "config.yaml").data, path, value)
    (tmp_path / "config.yaml").write_text(json.dumps(data))
    assert lint_pipeline(tmp_path)
    assert not editor("pipeline").is_valid(data)


def test_other_tools_may_add_their_keys_to_a_pipeline(tmp_path: Path) -> None:
    write_pipeline(tmp_path, [asking("ask")])
    data = parse_document(BASE, "config.yaml").data
    data["api"] |= {"x-team": "search", "notes": "free text"}
    (tmp_path / "config.yaml").write_text(json.dumps(data))
    assert not lint_pipeline(tmp_path)
    assert not faults("pipeline", data)


CONTRACT = """
name: shop
schema: {type: object, properties: {price: {type: number}}}
tools: [{name: look}]
order: [look]
rules: [{name: cheap, expr: price < 5, error: too much}]
reply: {min_text: 5}
accept: guess
"""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("shema",), True),
        (("schema",), 5),
        (("tools",), 5),
        (("order",), 5),
        (("rules", 0, "expression"), "x"),
        (("rules", 0, "expr"), ...),
        (("rules", 0, "level"), "fatal"),
        (("reply", "min_text"), "five"),
        (("reply", "no_emtpy"), True),
        (("accept",), "everything"),
        (("coerce",), "never"),
        (("coerce",), {"profil": "off"}),
        (("strict",), "yes"),
        (("max_size",), "big"),
        (("states",), {"start": 5}),
        (("grounded",), {"least": "some"}),
        (("examples",), [{"ok": True}]),
        (("checks",), "email"),
    ],
    ids=lambda part: str(part)[:50],
)
def test_a_wrong_contract_is_refused_by_both(path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    good = parse_document(textwrap.dedent(CONTRACT), "shop.yaml").data
    assert not faults("contract", good)
    data = changed(good, path, value)
    (tmp_path / "shop.json").write_text(json.dumps(data))
    assert [found for found in lint_contract(str(tmp_path / "shop.json")).faults if found.level == "error"]
    assert not editor("contract").is_valid(data)
