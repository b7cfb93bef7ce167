"""The two phases as filters: every field that goes in comes out, coerced values reach phase 2, and failures say everything."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import lines, rows
from tests.cli.running import Run

CARD = {
    "type": "object",
    "properties": {
        "score": {"type": "integer"},
        "ratio": {"type": "number"},
        "done": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": ["integer", "string"]}},
        "tone": {"enum": ["warm", "cold"]},
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
    },
    "$defs": {"count": {"type": "integer"}},
}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    (tmp_path / "s.json").write_text(json.dumps(CARD))
    return "s.json"


@pytest.mark.spec("B3", "B4")
@pytest.mark.parametrize(
    ("field", "given", "value"),
    [
        ("score", "5", 5), ("score", " 7 ", 7), ("score", "5.0", 5), ("score", 5.0, 5), ("ratio", "3.14", 3.14),
        ("done", "true", True), ("done", "FALSE", False), ("tags", "[1,2,3]", [1, 2, 3]), ("tags", "foo", ["foo"]),
        ("tone", "WARM", "warm"), ("tone", "shadow cold", "cold"), ("maybe", "4", 4), ("either", "6", 6),
    ],
)  # fmt: skip
def test_coercions_are_made_logged_and_recorded(
    run: Run, tmp_path: Path, schema: str, field: str, given: Any, value: Any
) -> None:
    row = {"unit_id": "a", "city": "Oslo", field: given}
    ran = run("schema", schema, "--enum-prefix", "shadow ", "--log", "log.txt", stdin=lines(row))
    assert ran.code == 0, ran
    (out,) = rows(ran.out)
    assert out[field] == value
    assert type(out[field]) is type(value)
    assert {**out, field: None}.items() >= {"unit_id": "a", "city": "Oslo"}.items()
    assert f"[COERCE] {field}: " in (tmp_path / "log.txt").read_text("utf-8")
    stored = run(
        "schema",
        schema,
        "--enum-prefix",
        "shadow ",
        stdin=lines({"unit_id": "a", "raw_response": json.dumps({field: given})}),
    )
    (out,) = rows(stored.out)
    assert [fix["path"] for fix in out["fixes"]] == [f"$.{field}"]


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("score", "high"),
        ("score", "1_000"),
        ("ratio", "NaN"),
        ("done", "yes"),
        ("score", 5.5),
        ("score", True),
        ("ratio", True),
    ],
)
def test_what_is_never_coerced(run: Run, schema: str, field: str, given: Any) -> None:
    ran = run("schema", schema, stdin=lines({"unit_id": "a", field: given}))
    assert (ran.code, ran.out) == (1, "")
    (failed,) = rows(ran.err)
    assert failed["errors"][0]["path"] == f"$.{field}"


@pytest.mark.spec("B3", "B10")
def test_standard_error_carries_failure_records_and_nothing_else(run: Run, schema: str) -> None:
    given = lines({"unit_id": "a", "score": "x"}, {"unit_id": "b", "score": "1"}) + "[1]\nnot json\n"
    ran = run("schema", schema, stdin=given)
    failed = rows(ran.err)
    assert [row["unit_id"] for row in rows(ran.out)] == ["b"]
    assert len(failed) == 3
    assert all(
        {"unit_id", "failure_stage", "input", "raw_response", "errors", "fixes", "retry_count"} <= row.keys()
        for row in failed
    )


@pytest.mark.spec("B5", "B10")
@pytest.mark.parametrize("flat", [True, False])
def test_the_second_phase_sees_what_the_first_made_and_keeps_its_fixes(
    run: Run, tmp_path: Path, schema: str, flat: bool
) -> None:
    (tmp_path / "r.yaml").write_text("rules:\n  - {name: small, expr: score + 1 < 5, error: 'too large: {score}'}\n")
    values = {"a": {"score": "2"}, "b": {"score": "9"}}
    units = [
        {"unit_id": uid, **value} if flat else {"unit_id": uid, "raw_response": f"```json\n{json.dumps(value)}\n```"}
        for uid, value in values.items()
    ]
    first = run("schema", schema, stdin=lines(*units))
    second = run("rules", "r.yaml", stdin=first.out)
    (valid,), (failed,) = rows(second.out), rows(second.err)
    assert (valid["unit_id"], failed["unit_id"]) == ("a", "b")
    assert failed["errors"][0]["message"] == "too large: 9"
    codes = [fix["code"] for fix in failed["fixes"]]
    assert "C001" in codes, "what phase 1 fixed is in the failure record of phase 2"
    assert failed["raw_response"], "the text is always kept"
    assert '"9"' in failed["raw_response"], "as it came"
