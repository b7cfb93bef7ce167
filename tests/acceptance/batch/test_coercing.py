"""B4 word by word: every value that is coerced and every value that never is, under every form of a type in a schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, lines, rows
from tests.cli.running import Run

pytestmark = pytest.mark.spec("B4")
INTEGER, NUMBER, BOOLEAN, ARRAY = ({"type": name} for name in ("integer", "number", "boolean", "array"))
TONE = {"type": "string", "enum": ["warm", "cold"]}
TONES = {"type": "array", "items": TONE}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The same with null in addition to its type, and in its list of values if it has one."""
    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **enum, "type": [schema["type"], "null"]}


# Each form that the requirement names, and two nested ones.
FORMS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "plain": lambda schema, _: schema,
    "$ref": lambda _, ref: {"$ref": ref},
    "anyOf": lambda schema, _: {"anyOf": [schema, {"type": "null"}]},
    "oneOf": lambda schema, _: {"oneOf": [{"type": "null"}, schema]},
    "allOf": lambda schema, _: {"allOf": [{"description": "it"}, schema]},
    "nullable": lambda schema, _: nullable(schema),
    "anyOf-$ref": lambda _, ref: {"anyOf": [{"$ref": ref}, {"type": "null"}]},
    "allOf-oneOf-$ref": lambda _, ref: {"allOf": [{"oneOf": [{"$ref": ref}, {"type": "null"}]}]},
}


def schema_file(folder: Path, form: str, *schemas: dict[str, Any]) -> str:
    """A schema with a field of the form for each of `schemas`: `score0`, `score1` …, at the top, in objects and in lists."""
    fields = {f"score{n}": FORMS[form](schema, f"#/$defs/it{n}") for n, schema in enumerate(schemas)}
    deep = {name: {"type": "array", "items": field} for name, field in fields.items()}
    properties = {**fields, "deep": {"type": "object", "properties": deep}}
    defs = {f"it{n}": schema for n, schema in enumerate(schemas)}
    (folder / "s.json").write_text(json.dumps({"type": "object", "properties": properties, "$defs": defs}))
    return "s.json"


CONFIGURED = ("--enum-prefix", "shadow ", "--enum-delimiter", " | ")
# the schema, the given value, the result, and the words of the log
COERCED: list[tuple[dict[str, Any], Any, Any, str]] = [
    (INTEGER, "5", 5, "string → int"),
    (INTEGER, " 7 ", 7, "string → int"),
    (INTEGER, "5.0", 5, "string → int"),
    (INTEGER, 5.0, 5, "number → int"),
    (NUMBER, "3.14", 3.14, "string → number"),
    (BOOLEAN, "true", True, "string → bool"),
    (BOOLEAN, "FALSE", False, "string → bool"),
    (ARRAY, "[1,2,3]", [1, 2, 3], "string → array"),
    (ARRAY, "foo", ["foo"], "string → array"),
    (TONE, "WARM", "warm", "string → string"),
    (TONE, "shadow cold", "cold", "string → string"),
    (TONES, "warm | cold", ["warm", "cold"], "string → array"),
    (TONES, "warm | shadow COLD", ["warm", "cold"], "string → array"),
]


@pytest.mark.parametrize("form", FORMS)
def test_each_value_is_coerced_logged_and_recorded(run: Run, tmp_path: Path, form: str) -> None:
    units = [
        {"unit_id": json.dumps(given), "city": "Oslo", f"score{n}": given, "deep": {f"score{n}": [given], "kept": None}}
        for n, (_, given, *_) in enumerate(COERCED)
    ]
    file = schema_file(tmp_path, form, *(schema for schema, *_ in COERCED))
    ran = run("schema", file, *CONFIGURED, "--log", "log.txt", stdin=lines(*units))
    assert (ran.code, ran.err) == (0, "")
    said = []
    for n, (unit, out, (_, given, value, words)) in enumerate(zip(units, rows(ran.out), COERCED, strict=True)):
        trace = out.pop("_trueup")
        wanted = {**unit, f"score{n}": value, "deep": {f"score{n}": [value], "kept": None}}
        assert json.dumps(out) == json.dumps(wanted), "types count: 5 is not 5.0, true is not 1"
        assert json.loads(trace["raw_response"]) == unit
        before, after = json.dumps(given), json.dumps(value, separators=(",", ":"))
        assert [(fix["path"], fix["before"], fix["after"]) for fix in trace["fixes"]] == [
            (f"$.score{n}", before, after),
            (f"$.deep.score{n}[0]", before, after),
        ]
        said += [f"[COERCE] {where}: {before} → {after} ({words})" for where in (f"score{n}", f"deep.score{n}[0]")]
    assert (tmp_path / "log.txt").read_text("utf-8").splitlines() == said


NEVER: list[tuple[dict[str, Any], Any]] = [
    (INTEGER, "high"), (NUMBER, "high"),
    (INTEGER, "1_000"), (NUMBER, "1_000"),
    (INTEGER, "NaN"), (NUMBER, "NaN"),
    (BOOLEAN, "yes"), (BOOLEAN, "no"),
    (INTEGER, 5.5), (INTEGER, "5.5"),
    (INTEGER, True), (NUMBER, True), (NUMBER, False),
    (TONE, "lukewarm"), (TONE, "shadow lukewarm"), (TONE, "warm | cold"), (TONES, "warm | cold | lukewarm"),
]  # fmt: skip


@pytest.mark.parametrize("profile", ["off", "standard", "eager"])
@pytest.mark.parametrize("form", FORMS)
def test_these_are_never_coerced(run: Run, tmp_path: Path, form: str, profile: str) -> None:
    # `eager` is how "yes" is configured: see below
    cases = [(schema, given) for schema, given in NEVER if profile != "eager" or schema is not BOOLEAN]
    units = [{"unit_id": json.dumps(given), f"score{n}": given} for n, (_, given) in enumerate(cases)]
    file = schema_file(tmp_path, form, *(schema for schema, _ in cases))
    ran = run("schema", file, *CONFIGURED, "--coerce", profile, "--log", "log.txt", stdin=lines(*units))
    assert (ran.code, ran.out) == (1, "")
    for n, (unit, failed) in enumerate(zip(units, rows(ran.err), strict=True)):
        assert (failed["unit_id"], failed["failure_stage"]) == (unit["unit_id"], "schema_validation")
        assert [error["path"] for error in failed["errors"]] == [f"$.score{n}"], failed
        assert json.loads(failed["raw_response"]) == unit
    assert (tmp_path / "log.txt").read_text("utf-8") == "", "nothing was coerced"


@pytest.mark.parametrize("form", FORMS)
def test_yes_is_true_only_if_configured(run: Run, tmp_path: Path, form: str) -> None:
    schema, given = schema_file(tmp_path, form, BOOLEAN), lines({"unit_id": "a", "score0": "yes"})
    assert run("schema", schema, stdin=given).code == 1
    ran = run("schema", schema, "--coerce", "eager", "--log", "log.txt", stdin=given)
    assert [row["score0"] for row in rows(ran.out)] == [True]
    assert (tmp_path / "log.txt").read_text("utf-8") == '[COERCE] score0: "yes" → true (string → bool)\n'


def test_prefixes_and_delimiters_count_only_if_configured(run: Run, tmp_path: Path) -> None:
    file = schema_file(tmp_path, "plain", TONE, TONES)
    texts = ("shadow warm", "warm | cold")
    units = [{"unit_id": f"{text} {name}", name: text} for text in texts for name in ("score0", "score1")]
    ran = run("schema", file, stdin=lines(*units))
    assert (ran.out, list(by_id(ran.err))) == ("", [unit["unit_id"] for unit in units])
    ran = run("schema", file, "--enum-prefix", "shadow ", stdin=lines(*units))
    assert list(by_id(ran.out)) == ["shadow warm score0", "shadow warm score1"]
    ran = run("schema", file, "--enum-delimiter", " | ", stdin=lines(*units))
    assert list(by_id(ran.out)) == ["warm | cold score1"], "one value cannot be two"


@pytest.mark.parametrize("form", FORMS)
def test_values_that_fit_are_not_changed(run: Run, tmp_path: Path, form: str) -> None:
    fits = [
        (INTEGER, 5),
        (NUMBER, 3.5),
        (NUMBER, 5.0),
        (BOOLEAN, False),
        (ARRAY, []),
        (TONE, "warm"),
        (TONES, ["cold"]),
    ]
    file = schema_file(tmp_path, form, *(schema for schema, _ in fits))
    given = lines(*({"unit_id": str(n), f"score{n}": value} for n, (_, value) in enumerate(fits)))
    assert run("schema", file, *CONFIGURED, stdin=given) == (0, given, "")


def test_a_string_that_may_be_a_string_stays_one(run: Run, tmp_path: Path) -> None:
    for field in ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}):
        (tmp_path / "s.json").write_text(json.dumps({"type": "object", "properties": {"score": field}}))
        given = lines({"unit_id": "a", "score": "5"})
        assert run("schema", "s.json", stdin=given) == (0, given, "")


INNER = {"score": "5"}
TWICE = json.dumps(json.dumps(INNER))
ENVELOPES = {
    "response": json.dumps({"response": json.dumps(INNER)}),
    "response-object": json.dumps({"response": INNER}),
    "encoded-twice": TWICE,
    "both": json.dumps({"response": TWICE}),
}


@pytest.mark.parametrize("text", ENVELOPES.values(), ids=ENVELOPES)
def test_envelopes_and_doubly_encoded_json_are_unwrapped(run: Run, tmp_path: Path, text: str) -> None:
    unit = {"unit_id": "a", "raw_response": text}
    schema = {"type": "object", "properties": {"score": INTEGER}, "required": ["score"]}
    ran = run("schema", json.dumps(schema), "--log", "log.txt", stdin=lines(unit))
    assert (ran.code, ran.err) == (0, "")
    (out,) = rows(ran.out)
    assert (out["data"], out["raw_response"]) == ({"score": 5}, text)
    codes = {fix["code"] for fix in out["fixes"]}
    wanted = {"response": {"W007"}, "response-object": {"W007"}, "encoded-twice": {"W008"}, "both": {"W007", "W008"}}
    name = next(name for name, known in ENVELOPES.items() if known == text)
    assert codes >= {"C001"} | wanted[name]
    log = (tmp_path / "log.txt").read_text("utf-8")
    assert '[COERCE] score: "5" → 5 (string → int)\n' in log
    assert all(f"[FIX] {code} $ " in log for code in wanted[name])


@pytest.mark.parametrize("form", FORMS)
def test_a_field_that_contains_its_object_as_text_is_unwrapped(run: Run, tmp_path: Path, form: str) -> None:
    schema = {"type": "object", "properties": {"n": INTEGER}, "required": ["n"]}
    unit = {"unit_id": "a", "score0": '{"n": "5"}'}
    ran = run("schema", schema_file(tmp_path, form, schema), "--log", "log.txt", stdin=lines(unit))
    assert [row["score0"] for row in rows(ran.out)] == [{"n": 5}]
    assert (tmp_path / "log.txt").read_text("utf-8").splitlines() == [
        '[COERCE] score0: "{\\"n\\": \\"5\\"}" → {"n":"5"} (string → object)',
        '[COERCE] score0.n: "5" → 5 (string → int)',
    ]
